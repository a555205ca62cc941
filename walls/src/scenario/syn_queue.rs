//! Half-open connections that fill the queue of the listener.

use super::{Scenario, Truth};
use crate::dice::Dice;
use crate::proof::{Measure, Proof};
use crate::setup::{Actor, Door, Host, Setup};
use model::wall::WallId;

/// See the module.
pub const SCENARIO: Scenario = Scenario {
    name: "syn-queue",
    truth: Truth::Wall(&[WallId::K2]),
    construction: "SYN cookies off, few half-open connections allowed, a stranger whose responses \
        get lost",
    trap: "drops without a separate counter: the path is blamed",
    proof: Proof::Moves(Measure::Rate),
    set_up,
};

fn set_up(dice: &mut Dice, factor: f64) -> Setup {
    let half_open = f64::from(dice.whole("half_open", 24, 40)) * factor;
    let mut setup = Setup::new("--workers 8", "load {url} -c 40 -d 4s -H Connection:close");
    let rate = dice.real("knocks_over_room", 1.02, 1.12) * 0.75 * half_open / factor;
    setup.sysctls = vec![
        (Host::Server, "net.ipv4.tcp_syncookies", "0".to_owned()),
        (Host::Server, "net.ipv4.tcp_max_syn_backlog", format!("{half_open:.0}")),
        (Host::Server, "net.ipv4.tcp_synack_retries", "0".to_owned()),
        (Host::Server, "net.ipv4.tcp_no_metrics_save", "1".to_owned()),
    ];
    setup.stranger_is_deaf = true;
    setup.actors = vec![Actor::Knocker { from: Host::Stranger, rate, burst: 1, to: Door::Server }];
    setup
}
