//! Connections that the server closes after a few requests. Its acceptor sleeps before each: from
//! outside that is a server without a free place.

use super::{Scenario, Truth};
use crate::dice::Dice;
use crate::proof::{Measure, Proof};
use crate::setup::Setup;
use model::wall::WallId;

/// See the module.
pub const SCENARIO: Scenario = Scenario {
    name: "capped-keep-alive",
    truth: Truth::Wall(&[WallId::A8, WallId::A2]),
    construction: "server closes each connection after some ten requests, accepting takes a while",
    trap: "the handler is blamed",
    proof: Proof::Moves(Measure::Rate),
    set_up,
};

fn set_up(dice: &mut Dice, factor: f64) -> Setup {
    let requests = f64::from(dice.whole("requests", 8, 16)) * factor;
    let delay_ms = dice.real("accept_delay_ms", 2.0, 4.0);
    let accepting = format!("--accept-delay {delay_ms}ms --backlog 4096");
    let server = format!("--workers 8 --requests-per-connection {requests:.0} {accepting}");
    Setup::new(&server, "load {url} -c 16 -d 3s")
}
