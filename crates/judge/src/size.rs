//! From the cost of a request to machines: how many clients make the server the wall at a rate.
//!
//! Everything is a product of measured figures: rate x CPU time per request = CPUs, rate x bytes =
//! bandwidth. CPU time and bytes are per response, good or not, and per request that was sent. The
//! interval is that of the cost, over the levels that were at least half as fast as the best one:
//! cost falls as load rises, because work comes in batches, so measure a level near the planned
//! load.

use crate::case::{online, usable_cpus};
use crate::{gates, last_visits, stats, steady};
use model::claim::Claim;
use model::facts::CpuQuota;
use model::run::{Point, Record};
use model::size::{Agent, Estimate, FleetFit, Machines, Sizing, Step, Traffic, Wish};
use model::units::{show_bytes, show_count};
use model::verdict::{Ceiling, CeilingKind, Confidence};
use model::wall::Side;

/// Levels at least this fast, as a share of the best, give the interval of the cost.
const BUSY: f64 = 0.5;
/// Headers of IPv4 and TCP with time stamps, which take part of the MTU.
const HEADERS_BYTES: f64 = 52.0;
/// Bytes of a frame on the wire on top of the MTU: Ethernet header, FCS, preamble and gap.
const FRAME_BYTES: f64 = 38.0;
/// MTU of Ethernet, if the host's is not known.
const MTU: u32 = 1500;
/// A plan for more than this many times the measured load is an extrapolation.
const FAR: f64 = 10.0;

/// What a run's host offers if a wish leaves it open: CPUs the generator may use, and the stated
/// speed of its link, else that of its fastest link, bits per second.
pub fn defaults(record: &Record) -> (u32, Option<f64>) {
    let host = &record.host;
    let stated = record.trial.links.client.and_then(|limits| limits.bits_s);
    let fastest = host.nics.iter().filter_map(|nic| nic.speed_mbps).max();
    let cpus = usable(usable_cpus(host).len(), &host.quotas).floor().max(1.0);
    let bits_s = stated.or(fastest.map(|mbps| u64::from(mbps) * 1_000_000));
    (cpus as u32, bits_s.map(|bits| bits as f64))
}

/// CPUs' worth of time that a process may use: those it is allowed, or less if the quotas of its
/// control groups say so.
fn usable(cpus: usize, quotas: &[CpuQuota]) -> f64 {
    let of_quota = |quota: &CpuQuota| {
        Some(quota.quota_us? as f64 / quota.period_us.filter(|period_us| *period_us > 0)? as f64)
    };
    quotas.iter().filter_map(of_quota).fold(cpus as f64, f64::min)
}

/// Computes the sizing, or says in one sentence why this run does not allow it.
pub fn size(record: &Record, wish: Wish) -> Result<Sizing, String> {
    if let Claim::NotKnown(why) = record.claim() {
        return Err(format!("the run is not a valid measurement: {why}"));
    }
    let points = &record.points;
    let is_valid = |index: &usize| gates::is_rate_known(&points[*index]);
    let valid: Vec<usize> = last_visits(points).into_iter().filter(is_valid).collect();
    if points.iter().any(Point::is_of_devices) {
        return Err("the run counts connections of devices, not requests".to_string());
    }
    let fastest = valid
        .iter()
        .copied()
        .max_by(|left, right| points[*left].rate.total_cmp(&points[*right].rate));
    let Some(best) = fastest.filter(|best| points[*best].rate > 0.0) else {
        return Err("no point of the run is a valid measurement with responses".to_string());
    };
    let is_busy = |point: &&Point| point.rate >= BUSY * points[best].rate;
    let levels = valid.iter().map(|index| &points[*index]).filter(is_busy).count();
    // A visit that was not steady, or was repeated, still cost what it cost.
    let busy: Vec<&Point> =
        points.iter().filter(|point| gates::is_rate_known(point)).filter(is_busy).collect();
    let Some(client) = cost(&points[best], &busy, client_us) else {
        return Err("the generator's CPU time was not measured".to_string());
    };
    let server = cost(&points[best], &busy, |point| point.cpu.server_us_per_request);
    let mtu = record.host.nics.iter().filter(|nic| nic.name != "lo").filter_map(|nic| nic.mtu);
    let traffic = traffic(&points[best], mtu.max().unwrap_or(MTU));
    let mut sizing = arithmetic(wish, client, server, traffic);
    sizing.point = best;
    sizing.server_full_at = full_at(record, server);
    explain(&mut sizing, record, levels);
    Ok(sizing)
}

/// CPU time of the generator per request, without the time spent asking the clock, which does not
/// depend on the rate.
fn client_us(point: &Point) -> Option<f64> {
    let spin_cpus =
        point.client_loop.spin_share.unwrap_or(0.0) * f64::from(point.load.threads.max(1));
    let each_us = point.cpu.client_us_per_request?;
    // Each is a part of the CPU time of all responses.
    let spin_us = spin_cpus * 1e6 / point.answered_rate();
    Some((each_us - spin_us).max(0.0)).filter(|us| *us > 0.0)
}

/// The cost at the fastest level. Its interval spans the costs of all busy visits, each with the
/// variation of its rate inside its window; it is not an interval of a mean.
fn cost(best: &Point, busy: &[&Point], of: impl Fn(&Point) -> Option<f64>) -> Option<Estimate> {
    let value = of(best)?;
    let (mut low, mut high) = (value, value);
    for point in busy {
        let Some(us) = of(point) else { continue };
        let rates = steady::independent_rates_of(point);
        let (least, most) = stats::mean_interval(&rates).unwrap_or((point.rate, point.rate));
        low = low.min(us * point.rate / most.max(f64::MIN_POSITIVE));
        high = high.max(us * point.rate / least.max(point.rate / 2.0));
    }
    Some(Estimate { value, low, high })
}

/// The fewest frames that hold the bytes; requests that leave together share frames. The bytes of a
/// point are those of all its requests and of all their responses, good or not.
fn traffic(point: &Point, mtu: u32) -> Traffic {
    let requests = point.requests.sent.max(1) as f64;
    let (answered, good) = point.responses();
    let responses = answered.max(good).max(1) as f64;
    let depth = f64::from(point.load.depth.max(1));
    let room = (f64::from(mtu) - HEADERS_BYTES).max(1.0);
    let packets = |bytes: f64| (bytes * depth / room).ceil().max(1.0) / depth;
    let (sent, received) =
        (point.bytes.sent as f64 / requests, point.bytes.received as f64 / responses);
    let (request_packets, answer_packets) = (packets(sent), packets(received));
    let framed = |bytes: f64, packets: f64| bytes + packets * (HEADERS_BYTES + FRAME_BYTES);
    Traffic {
        request_bytes: framed(sent, request_packets),
        answer_bytes: framed(received, answer_packets),
        request_packets,
        answer_packets,
    }
}

/// The products.
pub fn arithmetic(
    wish: Wish,
    client: Estimate,
    server: Option<Estimate>,
    traffic: Traffic,
) -> Sizing {
    let cpus = |us: Estimate| scaled(us, wish.rate / 1e6);
    let client_cpus = cpus(client);
    let share = f64::from(wish.client_cpus) * wish.headroom;
    let machines = |need: f64, of_one: f64| (need / of_one - 1e-9).ceil().max(1.0) as u64;
    let for_cpus = Machines {
        value: machines(client_cpus.value, share),
        low: machines(client_cpus.low, share),
        high: machines(client_cpus.high, share),
    };
    // Links carry both directions at once; the fuller one counts.
    let bits = wish.rate * traffic.request_bytes.max(traffic.answer_bytes) * 8.0;
    let for_link = wish.link_bits_per_s.map(|link| {
        let value = machines(bits, link * wish.headroom);
        Machines { value, low: value, high: value }
    });
    let most = |of: fn(Machines) -> u64| of(for_cpus).max(for_link.map_or(1, of));
    Sizing {
        point: 0,
        client_us_per_request: client,
        server_us_per_request: server,
        traffic,
        client_cpus,
        machines_for_cpus: for_cpus,
        machines_for_link: for_link,
        machines: Machines {
            value: most(|machines| machines.value),
            low: most(|machines| machines.low),
            high: most(|machines| machines.high),
        },
        fleet: None,
        server_cpus: server.map(cpus),
        server_full_at: None,
        steps: Vec::new(),
        cautions: Vec::new(),
        wish,
    }
}

/// Compares the agents of a fleet with the wish.
pub fn with_fleet(sizing: &mut Sizing, agents: &[Agent]) {
    let wish = &sizing.wish;
    let bits = sizing.traffic.request_bytes.max(sizing.traffic.answer_bytes) * 8.0;
    let of_host = |us: f64, cpus: u32, link: Option<f64>| {
        let of_cpus = f64::from(cpus) * 1e6 / us.max(f64::MIN_POSITIVE);
        of_cpus.min(link.map_or(f64::INFINITY, |link| link / bits)) * wish.headroom
    };
    let of_agent = |us: f64, agent: &Agent| {
        let most = agent.rate_max.map_or(f64::INFINITY, |rate| rate * wish.headroom);
        of_host(us, agent.cpus, agent.link_bits_per_s).min(most)
    };
    let all = |us: f64| agents.iter().map(|agent| of_agent(us, agent)).sum::<f64>();
    let Estimate { value, low, high } = sizing.client_us_per_request;
    let rate = Estimate { value: all(value), low: all(high), high: all(low) };
    let one_more = of_host(high, wish.client_cpus, wish.link_bits_per_s);
    let missing = ((wish.rate - rate.low).max(0.0) / one_more - 1e-9).ceil().max(0.0) as u64;
    sizing.steps.push(Step {
        what: "agents of the fleet".to_string(),
        arithmetic: format!(
            "{} of {} CPUs: {}/s; {missing} more machines for {}/s",
            agents.len(),
            agents.iter().map(|agent| agent.cpus).sum::<u32>(),
            counted(&rate),
            show_count(wish.rate),
        ),
    });
    let names = agents.iter().map(|agent| agent.name.clone()).collect();
    sizing.fleet = Some(FleetFit { agents: names, rate, missing });
}

fn scaled(estimate: Estimate, factor: f64) -> Estimate {
    let Estimate { value, low, high } = estimate;
    Estimate { value: value * factor, low: low * factor, high: high * factor }
}

/// The rate at which the CPUs of the run's server are full.
fn full_at(record: &Record, server: Option<Estimate>) -> Option<Estimate> {
    let probe = record.target.probe.as_ref();
    let facts = record.target.server.as_ref().or_else(|| probe?.server.as_ref())?;
    let host = probe.map_or(&record.host, |probe| &probe.host);
    let allowed = online(facts.cpus_allowed.clone(), Some(host));
    let cpus = usable(allowed.len(), &facts.quotas);
    let at = |us: f64| cpus * 1e6 / us.max(f64::MIN_POSITIVE);
    server.map(|us| Estimate { value: at(us.value), low: at(us.high), high: at(us.low) })
}

fn explain(sizing: &mut Sizing, record: &Record, levels: usize) {
    let point = &record.points[sizing.point];
    let wish = sizing.wish.clone();
    let rate = show_count(wish.rate);
    let mut steps = vec![
        Step {
            what: "client CPU per request".to_string(),
            arithmetic: format!(
                "{} us, measured at {}/s; the interval is of {levels} level{}",
                within(&sizing.client_us_per_request),
                show_count(point.rate),
                if levels == 1 { "" } else { "s" },
            ),
        },
        Step {
            what: "client CPUs".to_string(),
            arithmetic: format!(
                "{rate}/s x {} us = {} CPUs",
                figure(sizing.client_us_per_request.value),
                within(&sizing.client_cpus)
            ),
        },
        Step {
            what: "machines for CPU".to_string(),
            arithmetic: format!(
                "{} / ({} CPUs x {}) = {}",
                figure(sizing.client_cpus.value),
                wish.client_cpus,
                wish.headroom,
                machines_phrase(&sizing.machines_for_cpus)
            ),
        },
    ];
    steps.extend(traffic_steps(sizing));
    if let (Some(us), Some(cpus)) = (sizing.server_us_per_request, sizing.server_cpus) {
        let arithmetic = format!("{rate}/s x {} us = {} CPUs", within(&us), within(&cpus));
        steps.push(Step { what: "server CPUs".to_string(), arithmetic });
    }
    if let Some(full) = sizing.server_full_at {
        let mut arithmetic = format!("its CPUs are full at {}/s", counted(&full));
        if let Some(cap) = stops_before(&full, record) {
            arithmetic += &format!(", but its rate stopped growing at {}/s", show_count(cap.rate));
        }
        steps.push(Step { what: "server of the run".to_string(), arithmetic });
    }
    sizing.steps = steps;
    sizing.cautions = cautions(sizing, record, levels);
}

fn traffic_steps(sizing: &Sizing) -> Vec<Step> {
    let (wish, traffic) = (&sizing.wish, &sizing.traffic);
    let bits = |bytes: f64| format!("{}bit/s", show_count(wish.rate * bytes * 8.0));
    let packets = |packets: f64| show_count(wish.rate * packets);
    let line = |what: &str, bytes: f64, count: f64| Step {
        what: what.to_string(),
        arithmetic: format!(
            "{}/s x {} = {}, at least {} packets/s",
            show_count(wish.rate),
            show_bytes(bytes),
            bits(bytes),
            packets(count)
        ),
    };
    let mut steps = vec![
        line("requests on the wire", traffic.request_bytes, traffic.request_packets),
        line("responses on the wire", traffic.answer_bytes, traffic.answer_packets),
    ];
    if let (Some(link), Some(machines)) = (wish.link_bits_per_s, &sizing.machines_for_link) {
        let fuller = traffic.request_bytes.max(traffic.answer_bytes);
        steps.push(Step {
            what: "machines for link".to_string(),
            arithmetic: format!(
                "{} / ({}bit/s x {}) = {}",
                bits(fuller),
                show_count(link),
                wish.headroom,
                machines_phrase(machines)
            ),
        });
    }
    steps
}

fn cautions(sizing: &Sizing, record: &Record, levels: usize) -> Vec<String> {
    let mut cautions = Vec::new();
    let point = &record.points[sizing.point];
    let wish = &sizing.wish;
    if wish.rate > FAR * point.rate {
        let times = show_count(wish.rate / point.rate);
        cautions.push(format!(
            "{times} times the measured rate: cost per request may differ there, and packet rates \
             and more connections have their own walls"
        ));
    }
    if levels < 3 {
        cautions.push(
            "fewer than three busy levels: the interval only covers the scatter of the rate; use \
             a ramp for more"
                .to_string(),
        );
    }
    if wish.link_bits_per_s.is_none() {
        cautions.push("the speed of the link is not known: give --link, for example 10G".into());
    }
    if sizing.server_us_per_request.is_none() {
        cautions.push("the server was not watched: its CPU needs are not known".to_string());
    }
    if sizing.server_full_at.is_some_and(|full| full.high < wish.rate) {
        cautions.push(
            "the server of the run is full before the asked rate: fewer clients make it the wall"
                .to_string(),
        );
    }
    if let Some(cap) = sizing.server_full_at.and_then(|full| stops_before(&full, record)) {
        cautions.push(format!(
            "the run met another wall at {}/s, before the server's CPUs were full: {}",
            show_count(cap.rate),
            record.verdict.name
        ));
        if cap.high.unwrap_or(cap.rate) < wish.rate {
            let what = "no number of clients brings the server of the run to the asked rate";
            cautions.push(what.to_string());
        }
    }
    if record.verdict.confidence == Confidence::CoLimited || record.verdict.side == Side::Client {
        cautions
            .push("the generator was the wall of the run: its cost is that of a full host".into());
    }
    cautions
}

/// The ceiling of the run, named or not, if it is below the rate that fills the server's CPUs.
fn stops_before<'a>(full: &Estimate, record: &'a Record) -> Option<&'a Ceiling> {
    let ceiling = record.verdict.ceiling.as_ref()?;
    let is_cap = ceiling.kind == CeilingKind::Ceiling;
    (is_cap && ceiling.high.unwrap_or(ceiling.rate) < full.low).then_some(ceiling)
}

fn machines_phrase(machines: &Machines) -> String {
    let Machines { value, low, high } = machines;
    format!("{value} [{low}, {high}]")
}

fn within(estimate: &Estimate) -> String {
    let Estimate { value, low, high } = *estimate;
    format!("{} [{}, {}]", figure(value), figure(low), figure(high))
}

fn counted(estimate: &Estimate) -> String {
    let Estimate { value, low, high } = *estimate;
    format!("{} [{}, {}]", show_count(value), show_count(low), show_count(high))
}

/// Three digits.
fn figure(value: f64) -> String {
    match value {
        value if value < 10.0 => format!("{value:.2}"),
        value if value < 100.0 => format!("{value:.1}"),
        value => format!("{value:.0}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Fixture;
    use model::run::{Outcome, Target};
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    fn wish(rate: f64, cpus: u32) -> Wish {
        Wish { rate, client_cpus: cpus, link_bits_per_s: Some(25e9), headroom: 0.7 }
    }

    fn cost(value: f64) -> Estimate {
        Estimate { value, low: value * 0.9, high: value * 1.1 }
    }

    fn traffic() -> Traffic {
        Traffic {
            request_bytes: 150.0,
            answer_bytes: 220.0,
            request_packets: 1.0,
            answer_packets: 1.0,
        }
    }

    /// The published hosts of docs/size.md: how many clients fill the server.
    #[test]
    fn the_documented_examples_are_what_the_arithmetic_gives() {
        for (server_us, client_us, cpus, machines) in
            [(3.9, 12.9, 32, 19), (3.1, 6.8, 128, 4), (31.0, 194.0, 128, 9)]
        {
            let full = 128.0 / server_us * 1e6;
            let sizing =
                arithmetic(wish(full, cpus), cost(client_us), Some(cost(server_us)), traffic());
            assert_eq!(sizing.machines_for_cpus.value, machines);
            assert!((sizing.server_cpus.unwrap().value - 128.0).abs() < 0.1);
        }
    }

    #[test]
    fn agents_count_for_what_their_cpus_links_and_limits_let_through() {
        let agent = |cpus, link_bits_per_s, rate_max| Agent {
            name: "a".to_string(),
            cpus,
            link_bits_per_s,
            rate_max,
        };
        let fit = |agents: &[Agent]| {
            let mut sizing = arithmetic(wish(1e6, 4), cost(10.0), None, traffic());
            with_fleet(&mut sizing, agents);
            assert!(sizing.steps.last().unwrap().arithmetic.contains("more machines for"));
            sizing.fleet.unwrap()
        };
        let near = |value: f64, expected: f64| assert!((value / expected - 1.0).abs() < 1e-9);
        // 4 CPUs x 0.7 / 10 us.
        let both = fit(&[agent(4, None, None), agent(4, Some(25e9), None)]);
        near(both.rate.value, 560e3);
        near(both.rate.low, 560e3 / 1.1);
        // (1M - 509.1k) / 254.5k.
        assert_eq!((both.missing, both.agents.len()), (2, 2));
        near(fit(&[agent(4, Some(220.0 * 8.0 * 1e5), None)]).rate.value, 70e3);
        near(fit(&[agent(4, None, Some(1e5))]).rate.value, 70e3);
        assert_eq!(fit(&[agent(64, None, None)]).missing, 0);
        assert_eq!(fit(&[]).missing, 4);
    }

    #[test]
    fn a_link_decides_when_answers_are_large() {
        let large = Traffic { answer_bytes: 5_000.0, ..traffic() };
        let sizing = arithmetic(wish(1_000_000.0, 128), cost(5.0), None, large);
        // 40 Gbit/s over 17.5 usable ones, against 5 CPUs of 89.6.
        assert_eq!((sizing.machines_for_cpus.value, sizing.machines.value), (1, 3));
    }

    /// A ramp whose fastest level did 2000 requests per second for 10 us each.
    fn record() -> Record {
        let fixture = Fixture::good();
        let point = |connections: u32, rate: f64, us: f64| {
            let mut point = Fixture::point(connections, rate);
            point.cpu.client_us_per_request = Some(us);
            point.cpu.server_us_per_request = Some(2.0 * us);
            point
        };
        Record {
            schema: model::run::SCHEMA.to_string(),
            id: "run".to_string(),
            version: String::new(),
            started_at: String::new(),
            command: vec![],
            seed: 1,
            outcome: Outcome::Complete,
            trial: fixture.trial,
            host: fixture.host,
            target: Target { server: fixture.server, ..Target::default() },
            points: vec![
                point(8, 500.0, 30.0),
                point(16, 1200.0, 12.0),
                point(32, 2000.0, 10.0),
                point(64, 1900.0, 11.0),
            ],
            verdict: crate::undecided(),
            expectations: vec![],
            search: None,
            perturbations: vec![],
            fleet: None,
            profile: None,
            kernel: None,
            notices: vec![],
            tool: None,
            definitions: BTreeMap::new(),
        }
    }

    #[test]
    fn the_arithmetic_is_shown_line_by_line() {
        let wish = Wish { rate: 1e6, client_cpus: 4, link_bits_per_s: Some(10e9), headroom: 0.5 };
        let sizing = size(&record(), wish).unwrap();
        let said: Vec<String> =
            sizing.steps.iter().map(|step| format!("{}: {}", step.what, step.arithmetic)).collect();
        let expected = [
            "client CPU per request: 10.0 [9.88, 12.2] us, measured at 2000/s; the interval is of \
             3 levels",
            "client CPUs: 1.00M/s x 10.0 us = 10.0 [9.88, 12.2] CPUs",
            "machines for CPU: 10.0 / (4 CPUs x 0.5) = 5 [5, 7]",
            "requests on the wire: 1.00M/s x 140B = 1.12Gbit/s, at least 1.00M packets/s",
            "responses on the wire: 1.00M/s x 220B = 1.76Gbit/s, at least 1.00M packets/s",
            "machines for link: 1.76Gbit/s / (10.0Gbit/s x 0.5) = 1 [1, 1]",
            "server CPUs: 1.00M/s x 20.0 [19.8, 24.3] us = 20.0 [19.8, 24.3] CPUs",
            "server of the run: its CPUs are full at 100k [82.3k, 101k]/s",
        ];
        assert_eq!(said, expected);
        let times = "500 times the measured rate";
        assert!(sizing.cautions[0].starts_with(times), "{:?}", sizing.cautions);
        assert!(sizing.cautions[1].contains("full before the asked rate"), "{:?}", sizing.cautions);
    }

    #[test]
    fn cpus_that_are_switched_off_are_no_capacity() {
        let mut record = record();
        record.host.quotas.clear();
        let server = record.target.server.as_mut().unwrap();
        server.quotas.clear();
        let full =
            |record: &Record| size(record, wish(1e6, 4)).unwrap().server_full_at.unwrap().value;
        let before = (defaults(&record).0, full(&record));
        assert!((before.1 - 100_000.0).abs() < 1.0, "two CPUs, 20 us");
        record.host.cpus_allowed = vec![0, 1, 2, 3];
        record.target.server.as_mut().unwrap().cpus_allowed = vec![0, 1, 2, 3];
        assert_eq!((defaults(&record).0, full(&record)), before);
    }

    #[test]
    fn a_quota_is_all_the_cpu_there_is() {
        let mut record = record();
        let quota = |quota_us| CpuQuota {
            group: "/web".to_string(),
            quota_us,
            period_us: Some(100_000),
            version: 2,
        };
        record.target.server.as_mut().unwrap().quotas = vec![quota(Some(50_000)), quota(None)];
        record.verdict.ceiling = Some(Ceiling {
            low: Some(9_900.0),
            high: Some(10_100.0),
            ..Ceiling::at(10_000.0, CeilingKind::Ceiling)
        });
        let sizing = size(&record, wish(1e6, 4)).unwrap();
        assert!((sizing.server_full_at.unwrap().value - 25_000.0).abs() < 1.0, "0.5 CPUs, 20 us");
        let met = |caution: &String| caution.contains("met another wall at 10.0k/s");
        assert!(sizing.cautions.iter().any(met), "{:?}", sizing.cautions);
        record.host.quotas = vec![quota(Some(150_000))];
        assert_eq!(defaults(&record).0, 1, "one and a half of them");
    }

    #[test]
    fn the_clock_that_is_asked_in_open_loop_is_no_cost_of_requests() {
        let mut record = record();
        record.points[2].client_loop.spin_share = Some(0.01);
        let sizing = size(&record, wish(1e6, 4)).unwrap();
        // A hundredth of one worker over 2000 requests are 5 us of the 10.
        assert!((sizing.client_us_per_request.value - 5.0).abs() < 1e-9);
        // Over 4000 responses, half of which failed, they are 2.5 us.
        let point = &mut record.points[2];
        point.cpu.responses = Some((4000.0 * point.load.duration_s) as u64);
        let sizing = size(&record, wish(1e6, 4)).unwrap();
        assert!((sizing.client_us_per_request.value - 7.5).abs() < 1e-9);
    }

    #[test]
    fn a_request_is_as_large_as_all_requests_also_where_many_failed() {
        let good = traffic_of(&record().points[2]);
        assert_eq!(good, (140.0, 220.0));
        let mut failing = record().points.remove(2);
        // As many responses again, which failed.
        let again = failing.requests.completed;
        (failing.requests.sent, failing.requests.failed) = (2 * again, again);
        failing.status.insert("5xx".to_string(), again);
        failing.bytes.sent *= 2;
        failing.bytes.received *= 2;
        assert_eq!(traffic_of(&failing), good);
    }

    /// Bytes on the wire of a request and of a response.
    fn traffic_of(point: &Point) -> (f64, f64) {
        let of = super::traffic(point, MTU);
        (of.request_bytes, of.answer_bytes)
    }

    #[test]
    fn what_is_no_measurement_is_refused() {
        let mut broken = record();
        for point in &mut broken.points {
            crate::fixture::Fixture::strike(point);
        }
        let mut unread = record();
        unread.points.iter_mut().for_each(|point| point.cpu.client_us_per_request = None);
        for (record, why) in [
            (broken, "not a valid measurement: the rate is not known: two accounts disagree"),
            (unread, "CPU time was not measured"),
        ] {
            let refused = size(&record, wish(1e6, 4)).unwrap_err();
            assert!(refused.contains(why), "{refused}");
        }
    }

    proptest! {
        #[test]
        fn twice_the_rate_is_twice_the_machines(
            rate in 1e3f64..1e8,
            us in 1.0f64..500.0,
            cpus in 1u32..256,
        ) {
            let once = arithmetic(wish(rate, cpus), cost(us), None, traffic());
            let twice = arithmetic(wish(2.0 * rate, cpus), cost(us), None, traffic());
            let half = arithmetic(wish(rate, cpus), cost(us / 2.0), None, traffic());
            for pick in [|of: Machines| of.value, |of: Machines| of.low, |of: Machines| of.high] {
                let (one, two) = (pick(once.machines_for_cpus), pick(twice.machines_for_cpus));
                prop_assert!(two <= 2 * one && two + 1 >= 2 * one, "{} {}", one, two);
                prop_assert!(pick(half.machines_for_cpus) <= one);
            }
            let all = once.machines_for_cpus;
            prop_assert!(all.low <= all.value && all.value <= all.high);
            // The planned load does not fill them.
            let used = once.client_cpus.high / (all.high as f64 * f64::from(cpus));
            prop_assert!(used <= 0.7 + 1e-6, "{}", used);
        }
    }
}
