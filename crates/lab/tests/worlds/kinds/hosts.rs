//! Hosts whose counters do not add up, as virtual machines with tick accounting and steal show.

use super::{Kind, not_ours};
use crate::laws::{self, PUNCTUAL};
use crate::stage::{Drawn, closed, open, servers};
use engine::simulate::server::Service;
use model::load::Spacing;

/// `/proc/stat` adds up to 111 to 137 % of the time: figures that are not taken from it do not
/// suffer.
pub const TICKS: Kind = Kind {
    name: "tick-accounting",
    seeds: 40,
    draw: |dice| {
        let server = servers(2, Service::Exponential(dice.scale(0.5e6, 5e6)));
        let rate = server.capacity() * dice.scale(0.2, 0.7);
        let level = dice.one_of(&[closed(4), open(200, rate, Spacing::Fixed)]);
        let mut drawn = Drawn::new(dice.seed, server, level);
        drawn.plan.host.samples = true;
        drawn.plan.host.accounted = dice.scale(1.11, 1.37);
        drawn.plan.host.steal = dice.one_of(&[0.0, 0.03]);
        drawn
    },
    check: |seen, findings| {
        laws::hold(findings, seen, 0, PUNCTUAL);
        // There may be too few responses for a p99.
        for figure in ["rate", "latency_ns.mean", "latency_ns.p50", "latency_ns.p90"] {
            if !laws::standing(seen.point(), figure).is_sound() {
                findings.wrong(format!("{figure} is not sound for what the host accounts"));
            }
        }
        not_ours(seen, findings);
    },
};
