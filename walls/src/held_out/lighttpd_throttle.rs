//! lighttpd with a limit of the bytes that it sends, which lets responses wait.

use crate::dice::Dice;
use crate::ordinary::{RAMP, placed};
use crate::proof::{Measure, Proof};
use crate::scenario::{Scenario, Truth};
use crate::setup::{Program, Setup};
use model::wall::WallId;

/// See the module.
pub const SCENARIO: Scenario = Scenario {
    name: "lighttpd-throttle",
    truth: Truth::Wall(&[WallId::A4]),
    construction: "lighttpd, server.kbytes-per-second below what the load asks for",
    trap: "one thread in its event loop, nothing busy: looks like a full link",
    proof: Proof::Moves(Measure::Rate),
    set_up,
};

fn set_up(dice: &mut Dice, factor: f64) -> Setup {
    let kbytes = f64::from(dice.whole("kbytes", 10, 30) * 100) * factor;
    let bytes = dice.whole("bytes", 8000, 16_000);
    let settings = format!("BYTES={bytes} KBYTES={kbytes:.0}");
    // It sends a second's bytes at once, and a short window may have a burst more or less.
    let proof = "load {url} -c 32 -d 10s";
    placed(dice, Program::held_out("lighttpd", &settings), RAMP).proven_by(proof)
}
