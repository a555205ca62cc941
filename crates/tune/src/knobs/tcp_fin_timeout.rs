//! T36: how long orphans stay in FIN_WAIT_2, tcp_fin_timeout.
//!
//! Path: `/proc/sys/net/ipv4/tcp_fin_timeout`, seconds.
//! Matters when: orphans in FIN_WAIT_2 pile up because peers do not close. It does not shorten
//! TIME_WAIT, which is 60 s by the source of the kernel.
//! Predicts: nothing, and no port comes back sooner.
//! Risk: peers that response late find a reset.
//! Verify: the number of sockets in FIN_WAIT_2.
//! With: ports (T34, T35), for which it is turned in vain.
//! Source: Linux Documentation/networking/ip-sysctl.rst, include/net/tcp.h, TCP_TIMEWAIT_LEN.

use crate::host::Host;
use crate::knob::{Act, Knob};
use crate::predict;
use model::tuning::{Prediction, Scope, Signals, TakesEffect};
use model::wall::WallId;

pub const KNOB: Knob = Knob {
    id: "T36",
    name: "tcp-fin-timeout",
    about: "time of orphaned sockets in FIN_WAIT_2",
    scope: Scope::Namespace,
    takes_effect: TakesEffect::Now,
    is_disruptive: false,
    relieves: WALLS,
    risk: "peers that response late find a reset",
    act: Act::Advice { now, advice: ADVICE },
    predict,
};

const WALLS: &[WallId] = &[WallId::K13];

const ADVICE: &str = "Leave it. For ports in TIME_WAIT see ip-local-port-range and tcp-tw-reuse.";

fn now(host: &Host) -> Option<String> {
    let text = host.text("/proc/sys/net/ipv4/tcp_fin_timeout")?;
    Some(format!("{} s", text.trim()))
}

fn predict(signals: &Signals) -> Prediction {
    let reconsider = "thousands of orphans in FIN_WAIT_2 on the server";
    let held = predict::needed(signals.connection_rate, 60.0)
        .map(|held| format!(": {held:.0} sockets at this rate, before and after"));
    let arithmetic = format!("TIME_WAIT lasts 60 s whatever this says{}", held.unwrap_or_default());
    Prediction::no_effect(predict::noise(signals), arithmetic, reconsider)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    #[test]
    fn it_frees_no_port() {
        let signals = Signals { connection_rate: Some(100.0), ..Signals::default() };
        let response = predict(&signals);
        assert_eq!(response.basis, model::tuning::Basis::NoEffect);
        assert!(response.arithmetic.contains("6000 sockets"), "{}", response.arithmetic);
        let files = [("/proc/sys/net/ipv4/tcp_fin_timeout", "15")];
        assert_eq!(testing::now(&KNOB, &files).unwrap(), "15 s");
    }
}
