//! Responses that cost the generator much more than the server, with one worker to read them.

use super::{Scenario, Truth};
use crate::dice::Dice;
use crate::proof::{Measure, Proof};
use crate::setup::Setup;
use model::wall::WallId;
use sha2::{Digest, Sha256};

/// See the module.
pub const SCENARIO: Scenario = Scenario {
    name: "generator-loop",
    truth: Truth::Wall(&[WallId::C2]),
    construction: "generator with one worker that may use two CPUs takes the SHA-256 of \
        responses in chunks of one byte",
    trap: "the host of the generator is half idle",
    proof: Proof::Moves(Measure::Rate),
    set_up,
};

fn set_up(dice: &mut Dice, factor: f64) -> Setup {
    let chunks = (f64::from(dice.whole("chunks", 4000, 8000)) / factor).round();
    let server = format!("--workers 4 --chunks {chunks}");
    let hash = Sha256::digest(b".".repeat(chunks as usize));
    let client = format!("load {{url}} -c 16 -d 3s --check-sha256 {hash:x}");
    let mut setup = Setup::new(&server, &client);
    setup.client.cpus = "0,1";
    // The generator may use the server's CPU too, but must not take it from the server.
    setup.server.allowance.weight = Some(64 * 1024);
    setup
}
