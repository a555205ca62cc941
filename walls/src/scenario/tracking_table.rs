//! A connection tracking table with few entries, which stay for a second after a connection ended.

use super::{Scenario, Truth};
use crate::dice::Dice;
use crate::proof::{Measure, Proof};
use crate::setup::{Host, Setup};
use model::wall::WallId;

/// See the module.
pub const SCENARIO: Scenario = Scenario {
    name: "tracking-table",
    truth: Truth::Wall(&[WallId::K10]),
    construction: "nf_conntrack_max of a few hundred, a connection for each request",
    trap: "SYNs get lost: the accept queue or the path is blamed",
    proof: Proof::Moves(Measure::Rate),
    set_up,
};

fn set_up(dice: &mut Dice, factor: f64) -> Setup {
    let entries = f64::from(dice.whole("entries", 300, 600)) * factor;
    let client = "load {url} -c 16 -d 5s --warmup 1s --requests-per-conn 1";
    let mut setup = Setup::new("--workers 8", client);
    setup.tracked = Some(entries as u32);
    let stay = [
        "net.netfilter.nf_conntrack_tcp_timeout_time_wait",
        "net.netfilter.nf_conntrack_tcp_timeout_close",
        "net.netfilter.nf_conntrack_tcp_timeout_close_wait",
        "net.netfilter.nf_conntrack_tcp_timeout_fin_wait",
        "net.netfilter.nf_conntrack_tcp_timeout_last_ack",
    ];
    setup.sysctls = stay.map(|name| (Host::Server, name, "1".to_owned())).into();
    setup
}
