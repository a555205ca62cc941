//! How agents that their own hosts limit affect the verdict of the whole fleet.
//!
//! The whole fleet has no readings of client hosts: each agent judged its own host. If agents that
//! carry at least half of the load say that their host limits them, that is the wall of the whole,
//! unless the server's side is shown at least as well. If they carry less, they are named and
//! change nothing.

use model::fleet::AgentPoint;
use model::run::Point;
use model::verdict::{CeilingKind, Confidence, Evidence, Named, Verdict};
use model::wall::{Side, WallId};
use std::collections::BTreeMap;

/// Agents with this share of the load decide its wall.
const SHARE_MIN: f64 = 0.5;

/// The verdict of a point, or of a run whose rate is that of the point, with the agents' verdicts.
pub(crate) fn apply(mut verdict: Verdict, point: &Point) -> Verdict {
    let limited: Vec<(&AgentPoint, WallId)> = point.agents.iter().filter_map(limited).collect();
    let due = |agents: &mut dyn Iterator<Item = &AgentPoint>| {
        agents.map(AgentPoint::due).sum::<u64>() as f64
    };
    let share = due(&mut limited.iter().map(|(agent, _)| *agent))
        / due(&mut point.agents.iter()).max(f64::MIN_POSITIVE);
    let Some(wall) = most_of(&limited) else { return verdict };
    let who = agents_by_wall(&limited, point.agents.len());
    if share < SHARE_MIN || is_shown(&verdict) {
        verdict.against.push(format!("limited by their own hosts: {who}"));
        return verdict;
    }
    verdict.confidence = confidence(&limited, wall);
    (verdict.wall, verdict.side) = (Named::Wall(wall), Side::Client);
    verdict.name = name(wall);
    verdict.sentence = Some(format!("{}: {who}", wall.reason()));
    verdict.also.clear();
    verdict.alternatives.clear();
    if let Some(ceiling) = &mut verdict.ceiling {
        ceiling.kind = CeilingKind::AtLeast;
    }
    verdict.evidence.insert(
        0,
        Evidence {
            host: "client".to_string(),
            source: "agents".to_string(),
            field: "limited by their own hosts".to_string(),
            value: who,
            rule: "agents with at least half of the load name this side".to_string(),
            read: vec!["agents".to_string()],
        },
    );
    let fix = match wall {
        WallId::C1 | WallId::C2 | WallId::C4 | WallId::C9 | WallId::C10 | WallId::C11 => {
            "add agents, or give these agents more CPUs"
        }
        _ => "add agents, or raise this limit on the hosts of these agents",
    };
    verdict.fix = Some(fix.to_string());
    verdict
}

/// The name of a wall of an agent's host. Other walls than those of the client are named by what
/// they are on a server.
fn name(wall: WallId) -> String {
    match wall.side() {
        Side::Client => wall.name().to_string(),
        _ => format!("{} of the client", wall.name()),
    }
}

/// Whether the server's side or the path is shown as more than a suspicion.
fn is_shown(verdict: &Verdict) -> bool {
    matches!(verdict.side, Side::Server | Side::Path)
        && matches!(verdict.confidence, Confidence::Confirmed | Confidence::Probable)
}

/// An agent and the wall of its own host that it names.
fn limited(agent: &AgentPoint) -> Option<(&AgentPoint, WallId)> {
    let is_sure = agent.confidence.is_some_and(|confidence| confidence != Confidence::Unknown);
    Some((agent, agent.own_wall().filter(|_| is_sure)?))
}

/// The wall that these agents name for most of their load.
fn most_of(limited: &[(&AgentPoint, WallId)]) -> Option<WallId> {
    let mut walls: BTreeMap<WallId, u64> = BTreeMap::new();
    for (agent, wall) in limited {
        *walls.entry(*wall).or_default() += agent.due().max(1);
    }
    walls.into_iter().max_by_key(|(_, due)| *due).map(|(wall, _)| wall)
}

/// How sure the agent with the most load at this wall is.
fn confidence(limited: &[(&AgentPoint, WallId)], wall: WallId) -> Confidence {
    let of_wall = limited.iter().filter(|(_, named)| *named == wall);
    let most = of_wall.max_by_key(|(agent, _)| agent.due());
    most.and_then(|(agent, _)| agent.confidence).unwrap_or(Confidence::Unknown)
}

/// `client CPUs (C1): a1, a2 of 4; client late (C4): a3 of 4`.
fn agents_by_wall(limited: &[(&AgentPoint, WallId)], count: usize) -> String {
    let mut walls: BTreeMap<WallId, Vec<&str>> = BTreeMap::new();
    for (agent, wall) in limited {
        walls.entry(*wall).or_default().push(&agent.agent);
    }
    let each = walls
        .iter()
        .map(|(wall, names)| format!("{} ({wall}): {} of {count}", name(*wall), names.join(", ")));
    each.collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Fixture;
    use crate::undecided;

    fn agents(walls: &[Option<WallId>]) -> Point {
        let mut point = Fixture::point(8, 1000.0);
        let agent = |(number, wall): (usize, &Option<WallId>)| AgentPoint {
            agent: format!("a{}", number + 1),
            sent: 1000,
            wall: Some(wall.map_or(Named::None, Named::Wall)),
            confidence: Some(Confidence::Probable),
            ..AgentPoint::default()
        };
        point.agents = walls.iter().enumerate().map(agent).collect();
        point
    }

    #[test]
    fn the_wall_is_that_of_the_agents_with_half_of_the_load() {
        let (c1, c4) = (Some(WallId::C1), Some(WallId::C4));
        let verdict = apply(undecided(), &agents(&[c1, c1, c4, None]));
        assert_eq!((verdict.wall, verdict.side), (Named::Wall(WallId::C1), Side::Client));
        assert_eq!(
            verdict.evidence[0].value,
            "client CPUs (C1): a1, a2 of 4; client late (C4): a3 of 4"
        );
        let sentence = verdict.sentence.unwrap();
        assert!(
            sentence.ends_with(&verdict.evidence[0].value),
            "not that of the server: {sentence}"
        );
        let verdict = apply(undecided(), &agents(&[c1, None, None, None]));
        assert_eq!(verdict.wall, undecided().wall);
        assert_eq!(verdict.against, ["limited by their own hosts: client CPUs (C1): a1 of 4"]);
        assert_eq!(apply(undecided(), &agents(&[])), undecided());
    }

    #[test]
    fn a_full_connection_table_counts_for_the_side_that_the_agent_names() {
        let mut point = agents(&[Some(WallId::K10); 2]);
        assert_eq!(apply(undecided(), &point), undecided(), "the server's table");
        for agent in &mut point.agents {
            agent.side = Some(Side::Client);
        }
        let verdict = apply(undecided(), &point);
        assert_eq!((verdict.wall, verdict.side), (Named::Wall(WallId::K10), Side::Client));
        assert_eq!(verdict.name, "connection tracking table of the client");
        assert_eq!(
            verdict.fix.unwrap(),
            "add agents, or raise this limit on the hosts of these agents"
        );
    }

    #[test]
    fn a_server_that_is_shown_to_be_the_wall_stays_it() {
        let mut server = undecided();
        (server.wall, server.side) = (Named::Wall(WallId::S1), Side::Server);
        server.confidence = Confidence::Probable;
        let verdict = apply(server, &agents(&[Some(WallId::C1); 2]));
        assert_eq!((verdict.wall, verdict.against.len()), (Named::Wall(WallId::S1), 1));
    }
}
