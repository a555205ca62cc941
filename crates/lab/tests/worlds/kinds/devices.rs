//! Devices whose connections are due on a schedule: enough of them, or too few.

use super::{Kind, not_ours};
use crate::laws::Findings;
use crate::stage::{Drawn, MS, S, Seen, open, servers};
use engine::simulate::server::Service;
use model::load::{Hold, Life, Question, Spacing};
use model::run::{StartInfo, TurnoverInfo};

/// Each connection has one request and is held for a while. A connect takes the path twice.
pub const OPEN: Kind = Kind {
    name: "devices-open",
    seeds: 30,
    draw: |dice| {
        let server = servers(4, Service::Fixed(0.1e6));
        let rate = dice.scale(50.0, 2000.0);
        let hold_ns = dice.scale(5.0, 200.0) * 1e6;
        let spacing = dice.one_of(&[Spacing::Fixed, Spacing::Poisson, Spacing::Uniform]);
        let needed = rate * (hold_ns / 1e9 + 0.002);
        let (enough, few) = ((3.0 * needed) as u32 + 20, (needed / 2.0) as u32 + 1);
        let devices = dice.one_of(&[enough, few]);
        let mut level = open(devices, rate, spacing);
        let hold = Some(Hold::For { ns: hold_ns as u64, jitter: 0.0 });
        let ramp_up_ns = hold_ns as u64;
        level.life = Life { requests: Some((1, 1)), hold, ramp_up_ns, ramp_down_ns: 0 };
        let mut drawn = Drawn::new(dice.seed, server, level).lasting(2 * S);
        drawn.trial.question = Question::Churn;
        drawn.trial.threads = dice.count(1, 3).min(devices);
        drawn.trial.cpus = (0..drawn.trial.threads as usize).collect();
        drawn
    },
    check: |seen, findings| {
        let Some(turnover) = seen.point().turnover() else {
            return findings.wrong("devices without figures of connections".to_string());
        };
        match &turnover.starts {
            Some(starts) => accounted(seen, starts, findings),
            None => findings.wrong("a planned rate without an account of it".to_string()),
        }
        in_every_second(seen, turnover, findings);
        not_ours(seen, findings);
    },
};

/// Every due connection was begun or is unsent, and every begun connection has one outcome.
fn accounted(seen: &Seen, starts: &StartInfo, findings: &mut Findings) {
    let StartInfo { planned, begun, established, failed, pending, unsent, waited, .. } = starts;
    if *planned != Some(begun + unsent) || *begun != established + failed + pending {
        findings.wrong(format!("connections do not add up: {starts:?}"));
    }
    if failed + pending > 0 {
        findings.wrong(format!("a server that takes every connection: {starts:?}"));
    }
    let level = &seen.drawn.trial.levels[0];
    let Some(Hold::For { ns: hold_ns, .. }) = level.life.hold else { return };
    let path_ns = seen.drawn.plan.server.path_ns;
    let rate = seen.point().load.rate.unwrap_or_default();
    let devices = f64::from(level.connections);
    let is_enough = devices > 2.0 * rate * (hold_ns as f64 / 1e9 + 0.002);
    if is_enough {
        let near = |ns: Option<u64>| ns.is_some_and(|ns| ns.abs_diff(2 * path_ns) < MS / 10);
        if waited + unsent > 0 || !near(starts.connect_ns.p50) {
            findings.wrong(format!("a path of {path_ns} ns and devices enough: {starts:?}"));
        }
        return;
    }
    // As many as the devices can hold one after another, and those under way at both ends.
    let most = devices * (1.0 + seen.point().load.duration_s * 1e9 / hold_ns as f64);
    if *begun as f64 > most || *waited == 0 {
        findings.wrong(format!("{devices} devices of {hold_ns} ns began too many: {starts:?}"));
    }
}

/// The seconds of the visit contain every connection, and the server saw a request on each.
fn in_every_second(seen: &Seen, turnover: &TurnoverInfo, findings: &mut Findings) {
    let by_second: u64 = turnover.openings.iter().map(|second| second.established).sum();
    let opened: u64 = seen.run.record.target.addresses_used.iter().map(|one| one.connections).sum();
    if by_second != opened {
        findings.wrong(format!("{opened} connections, {by_second} in the seconds of the visit"));
    }
    let requests = seen.account.len() as u64;
    // One that opens when the window is over sends no request.
    let slack = u64::from(seen.point().load.connections);
    if requests > opened || requests + slack < opened {
        findings.wrong(format!("{requests} requests on {opened} connections"));
    }
}
