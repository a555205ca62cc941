//! T20: busy polling: a reader that finds nothing polls the device itself for a while.
//!
//! Path: `/proc/sys/net/core/busy_poll`, microseconds in poll and select, and `busy_read`, in
//! reads of sockets opened afterwards; zero is off.
//! Matters when: responses take less than 100 us, CPUs idle, and a real device is polled.
//! Predicts: at most half of the time that a response takes; a loss where CPUs limit.
//! Risk: CPUs look busy and are busy; where they limit, requests pay for it.
//! Verify: BusyPollRxPackets of /proc/net/netstat.
//! With: CPU use means nothing any more; CPUs do not enter idle states (T52).
//! Source: Linux Documentation/admin-guide/sysctl/net.rst, networking/napi.rst.

use crate::host::{Host, Profile, Wish};
use crate::knob::{Act, Ask, Effect, Knob, Proposal, Sign};
use crate::place::{Format, Place};
use crate::predict;
use model::tuning::{Prediction, Scope, Signals, TakesEffect};
use model::wall::WallId;

pub const KNOB: Knob = Knob {
    id: "T20",
    name: "busy-poll",
    about: "readers poll the device themselves",
    scope: Scope::Host,
    takes_effect: TakesEffect::NewSockets,
    is_disruptive: false,
    relieves: RELIEVES,
    risk: "CPU time of every reader; a loss where CPUs limit",
    act: Act::Settable { places, propose, sign: Some(SIGN) },
    predict,
};

/// Walls of concurrency: a shorter response is a higher rate there.
const RELIEVES: &[WallId] = &[WallId::C3, WallId::N1, WallId::S9];
/// The value that tuning guides recommend.
const POLL_US: u64 = 50;
/// Responses that take longer wait for something else.
const SHORT_NS: u64 = 100_000;
/// Mean use of CPUs above which no CPU has time to poll.
const IDLE_MIN: f64 = 0.7;
/// What polling may cost where CPUs limit.
const LOSS: f64 = -0.35;

fn places(_: &Host, _: &Wish) -> Vec<Place> {
    let path = |file| format!("/proc/sys/net/core/{file}");
    ["busy_poll", "busy_read"].map(|file| Place::file(path(file), Format::Number)).into()
}

fn propose(ask: &Ask<'_>) -> Proposal {
    let has_hardware = ask.host.wished_devices(ask.wish).any(|device| device.is_hardware);
    match ask.wish.profile {
        Profile::Latency if has_hardware => Proposal::at_least(ask.now, POLL_US),
        Profile::Latency => Proposal::Leave("no device here can be polled".to_string()),
        _ => Proposal::Leave("it takes CPU time that requests need".to_string()),
    }
}

/// Packets found by polling, in this namespace.
const SIGN: Sign = Sign { what: "BusyPollRxPackets", read: polled, judge };

fn polled(host: &Host, _: &Place) -> Option<String> {
    let text = host.text("/proc/net/netstat")?;
    let mut lines = text.lines().filter_map(|line| line.strip_prefix("TcpExt:"));
    let (names, values) = (lines.next()?, lines.next()?);
    let at = names.split_whitespace().position(|name| name == "BusyPollRxPackets")?;
    values.split_whitespace().nth(at).map(str::to_string)
}

fn judge(before: &str, now: &str, wanted: &str) -> Effect {
    match before.parse::<u64>().ok().zip(now.parse::<u64>().ok()) {
        _ if wanted == "0" => Effect::NotYet("off; the counter stays as it is".to_string()),
        Some((before, now)) if now > before => {
            Effect::Seen(format!("{} packets were found by polling", now - before))
        }
        _ => Effect::NotYet("BusyPollRxPackets will grow with sockets opened now".to_string()),
    }
}

fn predict(signals: &Signals) -> Prediction {
    let reconsider = "a median below 100 us at a wall of concurrency (C3, N1), with idle CPUs";
    let Some((p50_ns, busy)) = signals.p50_ns.zip(predict::mean_busy(signals)) else {
        return predict::unknown("the median, or shares of the server's CPUs", reconsider);
    };
    let shown = format!("median {} us, CPUs {:.0} % busy", p50_ns / 1000, busy * 100.0);
    if signals.client_is_wall {
        let nothing = predict::elsewhere(signals, RELIEVES, reconsider);
        return nothing.unwrap_or_else(|| Prediction::unknown(shown, reconsider));
    }
    if busy > IDLE_MIN {
        let arithmetic = format!("{shown}: polling takes the time that requests need");
        return Prediction::bounded(LOSS, Some(0.0), arithmetic, reconsider);
    }
    if let Some(nothing) = predict::elsewhere(signals, RELIEVES, reconsider) {
        return nothing;
    }
    if p50_ns > SHORT_NS {
        return Prediction::no_effect(predict::noise(signals), shown, reconsider);
    }
    let what = format!("{shown}; interrupts and wake-ups are at most half of it");
    predict::removed_waiting(signals, 0.5, &what, reconsider)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{self, MadeUp};

    #[test]
    fn latency_polls_where_a_device_can_be_polled() {
        let path = "/proc/sys/net/core/busy_poll";
        let wish = testing::wish(Profile::Latency);
        for (made, wanted) in [(MadeUp::c6i_2xlarge(), Some("50")), (MadeUp::two_cpus(), None)] {
            made.write(path, "0");
            assert_eq!(testing::wanted(&KNOB, &made.host(), &wish, path).as_deref(), wanted);
        }
    }

    #[test]
    fn the_counter_is_found_by_its_name() {
        let made = MadeUp::two_cpus();
        made.write("/proc/net/netstat", "TcpExt: A BusyPollRxPackets B\nTcpExt: 1 7 3");
        let host = made.host();
        let place = &places(&host, &Wish::default())[0];
        assert_eq!(polled(&host, place).as_deref(), Some("7"));
        assert!(matches!(judge("7", "9", "50"), Effect::Seen(_)));
        assert!(matches!(judge("7", "7", "50"), Effect::NotYet(_)));
    }

    #[test]
    fn it_helps_short_responses_and_harms_full_cpus() {
        let mut limit = testing::at(WallId::C3, 0.3, 0.1);
        limit.p50_ns = Some(60_000);
        let mut idle = limit.clone();
        idle.p50_ns = Some(5_000_000);
        testing::assert_predicts(&KNOB, &idle, &limit);
        let mut full = testing::at(WallId::S1, 1.0, 0.2);
        full.p50_ns = Some(60_000);
        assert_eq!(predict(&full).high, Some(0.0));
    }
}
