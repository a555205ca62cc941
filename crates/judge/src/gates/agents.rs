//! Every agent of a fleet did its part, and its own account holds.
//!
//! Requests that an agent sent late are in the merged distributions: the gate `release` of the
//! whole fleet bounds the latencies request by request, and this gate names the agents. If an agent
//! was lost, or its counts or stamps do not agree, nothing is known of its share of the requests.
//! Percentiles then keep a bound: at worst that share was faster than all others, or slower. The
//! lower bound of the rate is what is known; its upper bound is what was due. An agent without a
//! report of its own is named; what it counted is in the figures. So is what an agent counted that
//! was cut off; what it left of a number of requests is unsent, and slower than all others. In a
//! closed loop nothing says how many requests a lost agent still sent: the rate has no upper bound
//! then, and percentiles are not known.

use super::Checked;
use crate::case::Case;
use model::figure::Figure;
use model::fleet::{AgentEnd, AgentPoint};
use model::run::Point;
use model::standing::Standing;
use model::verdict::GateId;
use model::wall::WallId;

const BOUND: &str = "every agent complete, and its own checks passed";

/// Gates of one agent that leave its requests unknown when they break.
const OF_ACCOUNT: [GateId; 4] =
    [GateId::Conservation, GateId::LittlesLaw, GateId::Bytes, GateId::Samples];
/// Gates that show that the agent was late.
const OF_TIME: [GateId; 2] = [GateId::Release, GateId::Resolution];

pub fn check(case: &Case<'_>) -> Checked {
    let agents = &case.point.agents;
    let count = agents.len();
    let troubles: Vec<String> = agents.iter().filter_map(|agent| trouble(agent, count)).collect();
    let why = match troubles.as_slice() {
        [] => format!("all {count} agents did their part"),
        _ => {
            format!("{}; {}", troubles.join("; "), left(case.point))
        }
    };
    Checked {
        ok: Some(troubles.is_empty()),
        measured: Some(troubles.len() as f64),
        bound: BOUND.to_string(),
        why,
    }
}

/// What the figures have of the requests of agents that did not do their part, in words.
fn left(point: &Point) -> String {
    let percent = 100.0 * unknown_share(point);
    if percent > 0.0 {
        return format!("nothing is known of {percent:.1} % of the requests");
    }
    if let Some(lost) = point.agents.iter().find(|agent| has_no_plan(agent)) {
        return format!("what agent {} sent after its last report is not known", lost.agent);
    }
    let cut_off = point.agents.iter().filter(|agent| agent.ended == AgentEnd::CutOff);
    let unsent: u64 = cut_off.map(|agent| agent.unsent).sum();
    if unsent > 0 && !point.is_of_devices() {
        return format!("{unsent} requests were never sent and count as slower than all others");
    }
    let is_counted =
        |agent: &AgentPoint| matches!(agent.ended, AgentEnd::NoReport | AgentEnd::CutOff);
    match point.agents.iter().any(is_counted) {
        true => "what they counted is in the figures".to_string(),
        false => "their requests are within the bounds of the latency".to_string(),
    }
}

/// What is wrong with one agent of `count`, in words; nothing when all is well.
fn trouble(agent: &AgentPoint, count: usize) -> Option<String> {
    let name = format!("agent {} of {count}", agent.agent);
    let broken = |gates: &[GateId]| agent.broken.iter().find(|id| gates.contains(id));
    match agent.ended {
        AgentEnd::Lost => {
            return Some(format!(
                "{name} was lost, {} requests unaccounted for",
                agent.unaccounted
            ));
        }
        AgentEnd::CutOff => return Some(format!("{name} was cut off and stopped its load")),
        AgentEnd::Complete | AgentEnd::Late | AgentEnd::NoReport => {}
    }
    if agent.unaccounted > 0 {
        return Some(format!("{name} left {} requests unaccounted for", agent.unaccounted));
    }
    if agent.ended == AgentEnd::NoReport {
        return Some(format!("{name} gave no report, so its own checks are not known"));
    }
    if let Some(gate) = broken(&OF_ACCOUNT) {
        return Some(format!("the account of {name} does not hold ({gate})"));
    }
    broken(&OF_TIME).map(|_| format!("{name} was late ({})", WallId::C4))
}

/// Requests that were due at an agent and of which nothing is known.
fn unknown(agent: &AgentPoint) -> u64 {
    let is_unsound = agent.broken.iter().any(|id| OF_ACCOUNT.contains(id));
    if is_unsound { agent.due() } else { agent.unaccounted }
}

/// Their share of all requests that were due, 0 to 1.
fn unknown_share(point: &Point) -> f64 {
    let due: u64 = point.agents.iter().map(AgentPoint::due).sum();
    let unknown: u64 = point.agents.iter().map(unknown).sum();
    unknown as f64 / due.max(1) as f64
}

/// Whether it is not known how many requests a lost agent still sent.
fn has_no_plan(agent: &AgentPoint) -> bool {
    agent.ended == AgentEnd::Lost && agent.planned.is_none() && agent.unaccounted == 0
}

/// See the module.
pub fn leaves(case: &Case<'_>, figure: Figure) -> Option<Standing> {
    let point = case.point;
    let share = unknown_share(point);
    if matches!(figure, Figure::Rate | Figure::Ceiling) {
        return Some(rate(point, figure));
    }
    if let Some(lost) = point.agents.iter().find(|agent| has_no_plan(agent)) {
        let why = format!("what agent {} sent after its last report is not known", lost.agent);
        return quantile_of(figure).map(|_| Standing::NotKnown { why });
    }
    if share == 0.0 {
        return Some(Standing::Sound);
    }
    let quantile = quantile_of(figure)?;
    let by = format!("nothing is known of {:.1} % of the requests", 100.0 * share);
    let latency = &point.latency_ns;
    let known = |figure: &(Figure, f64)| Some((figure.1, latency.of(figure.0)?));
    let all: Vec<(f64, u64)> = QUANTILES.iter().filter_map(known).collect();
    let below = all.iter().rev().find(|(at, _)| *at <= quantile - share).map(|(_, ns)| *ns);
    let above = all.iter().find(|(at, _)| *at >= quantile + share).map(|(_, ns)| *ns as f64);
    let low = below.or(latency.min).unwrap_or(0) as f64;
    Some(Standing::Bounded { low, high: above, by })
}

/// From the rate without the agents whose counts do not hold to the rate with everything that was
/// due at them. If part of the load ended early, this rate is a lower bound of the ceiling.
fn rate(point: &Point, figure: Figure) -> Standing {
    let is_unsound = |agent: &&AgentPoint| agent.broken.iter().any(|id| OF_ACCOUNT.contains(id));
    let all = point.headline_rate();
    // The rates of agents are of requests: they do not say how many connections or events were an
    // agent's.
    let unsound: f64 = match point.is_of_requests() {
        true => point.agents.iter().filter(is_unsound).filter_map(|one| one.rate).sum(),
        false if point.agents.iter().any(|agent| is_unsound(&agent)) => all,
        false => 0.0,
    };
    let unaccounted: u64 = point.agents.iter().map(|agent| agent.unaccounted).sum();
    let ended_early = |agent: &AgentPoint| matches!(agent.ended, AgentEnd::Lost | AgentEnd::CutOff);
    let is_short = figure == Figure::Ceiling && point.agents.iter().any(ended_early)
        || point.agents.iter().any(has_no_plan);
    if unsound == 0.0 && unaccounted == 0 && !is_short {
        return Standing::Sound;
    }
    let low = (all - unsound).max(0.0);
    let more = unaccounted as f64 / point.load.duration_s.max(f64::MIN_POSITIVE);
    let high = (unsound == 0.0 && !is_short).then_some(all + more);
    Standing::Bounded { low, high, by: "not every agent could account for its part".to_string() }
}

/// The percentiles of a summary.
const QUANTILES: [(Figure, f64); 7] = [
    (Figure::P50, 0.5),
    (Figure::P75, 0.75),
    (Figure::P90, 0.9),
    (Figure::P95, 0.95),
    (Figure::P99, 0.99),
    (Figure::P99_9, 0.999),
    (Figure::P99_99, 0.9999),
];

fn quantile_of(figure: Figure) -> Option<f64> {
    QUANTILES.iter().find(|(listed, _)| *listed == figure).map(|(_, quantile)| *quantile)
}

#[cfg(test)]
mod tests {
    use crate::fixture::Fixture;
    use crate::gates;
    use model::fanout::EventInfo;
    use model::figure::Figure;
    use model::fleet::{AgentEnd, AgentPoint};
    use model::standing::Standing;
    use model::subject::Subject;
    use model::verdict::GateId;

    /// Four agents with a quarter of the load each.
    fn fleet() -> Fixture {
        let mut fixture = Fixture::good();
        let quarter = fixture.point.requests.sent / 4;
        let agent = |number: u32| AgentPoint {
            agent: format!("a{number}"),
            sent: quarter,
            completed: quarter,
            rate: Some(250.0),
            ..AgentPoint::default()
        };
        fixture.point.agents = (1..=4).map(agent).collect();
        fixture
    }

    #[test]
    fn a_late_agent_is_named_and_its_requests_stay_in() {
        let mut fixture = fleet();
        assert_eq!(super::check(&fixture.case()).ok, Some(true));
        fixture.point.agents[2].broken = vec![GateId::Release];
        let found = super::check(&fixture.case());
        assert_eq!(found.ok, Some(false));
        assert!(found.why.starts_with("agent a3 of 4 was late (C4); "), "{}", found.why);
        for figure in [Figure::Rate, Figure::P50, Figure::P99] {
            assert_eq!(super::leaves(&fixture.case(), figure), Some(Standing::Sound));
        }
    }

    #[test]
    fn an_agent_without_a_report_is_not_well() {
        let mut fixture = fleet();
        fixture.point.agents[1].ended = AgentEnd::NoReport;
        let found = super::check(&fixture.case());
        assert_eq!(found.ok, Some(false));
        assert!(found.why.starts_with("agent a2 of 4 gave no report"), "{}", found.why);
        let left = super::leaves(&fixture.case(), Figure::P99);
        assert_eq!(left, Some(Standing::Sound), "its counts are here");
    }

    #[test]
    fn what_an_agent_that_was_cut_off_left_is_said() {
        let mut fixture = fleet();
        fixture.point.agents[3].ended = AgentEnd::CutOff;
        let found = super::check(&fixture.case());
        let begin = "agent a4 of 4 was cut off and stopped its load; ";
        assert_eq!(found.why, format!("{begin}what they counted is in the figures"));
        fixture.point.agents[3].unsent = 30;
        let found = super::check(&fixture.case());
        let left = "30 requests were never sent and count as slower than all others";
        assert_eq!(found.why, format!("{begin}{left}"));
    }

    #[test]
    fn what_a_lost_agent_sent_without_a_plan_is_not_known() {
        let mut fixture = fleet();
        fixture.point.agents[0].ended = AgentEnd::Lost;
        let found = super::check(&fixture.case());
        assert!(found.why.ends_with("; what agent a1 sent after its last report is not known"));
        let rate = fixture.point.rate;
        let left = |figure| super::leaves(&fixture.case(), figure).unwrap();
        let Standing::Bounded { low, high, .. } = left(Figure::Rate) else { panic!("not bounded") };
        assert_eq!((low, high), (rate, None));
        for figure in [Figure::P50, Figure::P99] {
            let why = left(figure).reason_unknown().unwrap();
            assert_eq!(why, "what agent a1 sent after its last report is not known");
        }
    }

    #[test]
    fn bounds_of_a_fan_out_are_of_events() {
        let mut fixture = fleet();
        fixture.point.subject = Subject::Events(EventInfo { rate: 5000.0, ..EventInfo::default() });
        let low = |fixture: &Fixture| match super::leaves(&fixture.case(), Figure::Rate) {
            Some(Standing::Bounded { low, high: None, .. }) => low,
            other => panic!("{other:?}"),
        };
        fixture.point.agents[0].ended = AgentEnd::Lost;
        assert_eq!(low(&fixture), 5000.0);
        fixture.point.agents[1].broken = vec![GateId::Conservation];
        assert_eq!(low(&fixture), 0.0, "how many events were this agent's is not known");
    }

    #[test]
    fn a_lost_agent_leaves_bounds() {
        let mut fixture = fleet();
        let agent = &mut fixture.point.agents[0];
        (agent.ended, agent.unaccounted) = (AgentEnd::Lost, agent.sent / 2);
        agent.sent /= 2;
        (fixture.point.latency_ns.min, fixture.point.latency_ns.p50) = (Some(10), Some(500));
        fixture.point.latency_ns.p75 = Some(750);
        let found = super::check(&fixture.case());
        assert!(found.why.contains("agent a1 of 4 was lost"), "{}", found.why);
        // An eighth of the requests is unknown, in 5 s.
        let left = |figure| match super::leaves(&fixture.case(), figure) {
            Some(Standing::Bounded { low, high, .. }) => (low, high),
            other => panic!("{other:?}"),
        };
        assert_eq!(left(Figure::P50), (10.0, Some(750.0)));
        assert_eq!(left(Figure::P99).1, None);
        let (low, high) = left(Figure::Rate);
        assert!(low == 1000.0 && (high.unwrap() - 1125.0).abs() < 1.0, "{low} {high:?}");
        assert_eq!(super::leaves(&fixture.case(), Figure::MEAN), None, "nothing is known");
    }

    #[test]
    fn a_load_without_agents_has_no_such_gate() {
        let of_agents = |fixture: &Fixture| {
            let all = gates::check_all(&fixture.case());
            all.iter().filter(|gate| matches!(gate.id, GateId::Agents | GateId::Start)).count()
        };
        assert_eq!((of_agents(&Fixture::good()), of_agents(&fleet())), (0, 2));
    }
}
