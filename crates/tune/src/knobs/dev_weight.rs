//! T27: the share of a round that one device gets, dev_weight and its two factors.
//!
//! Path: `/proc/sys/net/core/dev_weight`, packets, and the factors `dev_weight_rx_bias` for the
//! backlog of RPS and `dev_weight_tx_bias` for queueing disciplines.
//! Matters when: rounds of softirq end early (K6) while one device starves another, and the ring
//! drops packets meanwhile. Rare.
//! Predicts: as the budget (T26): nothing while the ring drops nothing, or while the wall is
//! elsewhere; then up to the next wall.
//! Risk: one device keeps the others waiting.
//! Verify: the third column of /proc/net/softnet_stat.
//! With: the budget (T26), of which it is a part.
//! Source: Linux Documentation/admin-guide/sysctl/net.rst.

use crate::host::{Host, Wish};
use crate::knob::{Act, Ask, Knob, Proposal};
use crate::place::Place;
use crate::predict;
use model::tuning::{Prediction, Scope, Signals, TakesEffect};
use model::wall::WallId;

pub const KNOB: Knob = Knob {
    id: "T27",
    name: "dev-weight",
    about: "packets per poll of one device",
    scope: Scope::Host,
    takes_effect: TakesEffect::Now,
    is_disruptive: false,
    relieves: WALLS,
    risk: "one device keeps the others waiting",
    act: Act::Settable { places, propose, sign: None },
    predict,
};

const WALLS: &[WallId] = &[WallId::K5, WallId::K6];

fn places(_: &Host, _: &Wish) -> Vec<Place> {
    let file = |name: &str| Place::number(format!("/proc/sys/net/core/{name}"));
    vec![file("dev_weight"), file("dev_weight_rx_bias"), file("dev_weight_tx_bias")]
}

fn propose(_: &Ask<'_>) -> Proposal {
    Proposal::Leave("no profile needs another share; one device carries the load".to_string())
}

fn predict(signals: &Signals) -> Prediction {
    predict::cut_rounds(signals, WALLS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    #[test]
    fn it_matters_only_when_packets_or_connections_were_refused() {
        testing::follows_count(&KNOB, |signals, hits| signals.server.time_squeezes = hits);
    }

    #[test]
    fn what_each_profile_sets() {
        let found = testing::sets(&KNOB, "/proc/sys/net/core/dev_weight", "64");
        assert_eq!(found, [None, None, None, None]);
    }
}
