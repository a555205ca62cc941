//! T48: fewer copies: sendfile, zero copy, larger writes, io_uring.
//!
//! Path: the application: sendfile(2), MSG_ZEROCOPY, writev(2), io_uring.
//! Matters when: the server's CPUs limit (S1, S2) and copies or system calls are a large share of
//! its profile.
//! Predicts: with m microseconds of copies of c per request, at most c / (c - m) - 1; unknown
//! without a profile.
//! Risk: for responses below some 10 kB zero copy costs more than the copy.
//! Verify: the share of copies in a profile, before and after.
//! With: none.
//! Source: Linux Documentation/networking/msg_zerocopy.rst.

use crate::host::Host;
use crate::knob::{Act, Knob};
use crate::predict;
use model::tuning::{Prediction, Scope, Signals, TakesEffect};
use model::wall::WallId;

pub const KNOB: Knob = Knob {
    id: "T48",
    name: "zero-copy",
    about: "copies and system calls per response",
    scope: Scope::Process,
    takes_effect: TakesEffect::Restart,
    is_disruptive: false,
    relieves: WALLS,
    risk: "small responses cost more than their copy",
    act: Act::Advice { now, advice: ADVICE },
    predict,
};

const WALLS: &[WallId] = &[WallId::S1, WallId::S2, WallId::S8];

const ADVICE: &str = "Take a profile; where copies or system calls are above a tenth, write \
     larger or without a copy.";

fn now(_: &Host) -> Option<String> {
    None
}

fn predict(signals: &Signals) -> Prediction {
    let reconsider = "copies or system calls above 10 % of a profile at a CPU wall";
    let what = "copies and system calls";
    predict::work(signals, WALLS, None, what, reconsider)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use model::tuning::Basis;

    #[test]
    fn only_a_cpu_that_limits_is_relieved() {
        let at = |wall| predict(&testing::at_wall(wall)).basis;
        assert_eq!(at(WallId::C1), Basis::NoEffect);
        assert_eq!(at(WallId::S1), Basis::Unknown);
        assert_eq!(predict(&Signals::default()).basis, Basis::Unknown);
    }
}
