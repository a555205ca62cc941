//! A server's host that keeps no connections in TIME_WAIT: a cap that counts, and is no wall.

use super::{Scenario, Truth};
use crate::dice::Dice;
use crate::proof::{Measure, Proof};
use crate::setup::{Host, Setup};

/// See the module.
pub const SCENARIO: Scenario = Scenario {
    name: "time-wait-cap",
    truth: Truth::NoWall,
    construction: "a few places for connections in TIME_WAIT, a server that closes each connection \
        after one request, and an offered rate far below what it can do",
    trap: "TCPTimeWaitOverflow rises with every connection",
    proof: Proof::Moves(Measure::Rate),
    set_up,
};

fn set_up(dice: &mut Dice, factor: f64) -> Setup {
    let places = dice.whole("places", 2, 20);
    let rate = dice.real("rate", 400.0, 800.0) / dice.patience;
    let client = format!("load {{url}} -c 64 -R {:.0} -d 3s", rate * factor);
    let mut setup = Setup::new("--workers 8 --requests-per-connection 1", &client);
    setup.sysctls = vec![(Host::Server, "net.ipv4.tcp_max_tw_buckets", places.to_string())];
    setup
}
