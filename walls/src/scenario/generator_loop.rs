//! Answers that cost the generator much more than the server, and one loop to read them.

use super::{Scenario, Truth};
use crate::dice::Dice;
use crate::proof::{Measure, Proof};
use crate::setup::Setup;
use model::wall::WallId;

/// See the module.
pub const SCENARIO: Scenario = Scenario {
    name: "generator-loop",
    truth: Truth::Wall(&[WallId::C2]),
    construction: "generator with one worker that may use two CPUs reads large chunked answers",
    trap: "the host of the generator is half idle",
    proof: Proof::Moves(Measure::Rate),
    set_up,
};

fn set_up(dice: &mut Dice, factor: f64) -> Setup {
    let body_bytes = dice.whole("body_bytes", 100_000, 200_000);
    let path = format!("chunked/{:.0}", f64::from(body_bytes) / factor);
    let mut setup = Setup::new("--threads 1", &format!("load {{url}}{path} -c 16 -d 3s"));
    setup.server.name = "target-sink";
    setup.client.cpus = "0,1";
    setup
}
