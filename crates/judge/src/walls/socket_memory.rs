//! K11: the sockets of a host use all the memory that TCP may have, and data is refused.
//!
//! Signals: pages of TCP's sockets against the limits of tcp_mem, time that the kernel spent under
//! memory pressure (TCPMemoryPressuresChrono), segments that were received and thrown away for want
//! of memory (TCPRcvQDrop, RcvPruned, OfoPruned), connections aborted for it (TCPAbortOnMemory),
//! segments sent again.
//! Rule: TCP was under pressure for more than 5 % of the window, or its sockets held more pages
//! than the second number of tcp_mem, where pressure begins (the time is counted when pressure
//! ends); and the segments thrown away, or those sent again if they are fewer, cost at least 10 %
//! of the time of all requests at 200 ms each, or at least 20 % of the time with responses
//! outstanding went by behind a full send buffer or a closed window, which pressure shrinks. The
//! limits are those of the whole host; if only the generator's host shows it, it is a wall of the
//! client.
//! Mimics: K12 (buffers that are small without pressure), C9 (a generator that reads slowly fills
//! them), a limit of the server's control group (A9; tcp_mem does not know it).
//! Confirm: with half the connections, or shorter responses, the pressure ends.
//! Source: Linux networking/ip-sysctl.rst (tcp_mem), net/ipv4/tcp.c (tcp_enter_memory_pressure),
//! net/ipv4/tcp_input.c (tcp_prune_queue).
//! Name: socket memory
//! Reason: sockets use all the memory that they may
//! Fix: raise net.ipv4.tcp_mem, or use fewer connections or shorter responses

use super::loss::{self, WAITED_MIN};
use super::windows::{LIMITED_MIN, limited};
use super::{Family, Seen, Test};
use crate::case::{Case, percent};
use model::facts::HostFacts;
use model::units::show_things;
use model::wall::Side;
use observe::Observed;

/// Share of the window under pressure that matters, as for stalls of memory (A9).
const PRESSED_MIN: f64 = 0.05;

/// What a host had of its socket memory.
struct Memory {
    /// Most pages that sockets of TCP held.
    pages: u64,
    /// Pages from which the kernel is under pressure.
    pressure_pages: u64,
    /// Share of the window under pressure that ended in it.
    pressed: f64,
    /// Segments that were thrown away, and connections aborted.
    refused: u64,
}

impl Memory {
    /// None where one of these was not read.
    fn of(case: &Case<'_>, host: &HostFacts, observed: &Observed) -> Option<Self> {
        let tcp = observed.tcp.as_ref()?;
        let count = |name: &str| tcp.get(name).copied().unwrap_or(0);
        let refused = ["TCPRcvQDrop", "RcvPruned", "OfoPruned", "TCPAbortOnMemory"]
            .iter()
            .map(|name| count(&format!("TcpExt.{name}")));
        let limits = host.sysctls.get("net.ipv4.tcp_mem")?;
        let pressed_ms = *tcp.get("TcpExt.TCPMemoryPressuresChrono")?;
        Some(Self {
            pages: *observed.sockets.as_ref()?.get("TCP.mem")?,
            pressure_pages: limits.split_whitespace().nth(1)?.parse().ok()?,
            pressed: (pressed_ms as f64 / 1e3 / case.window_s()).min(1.0),
            refused: refused.sum(),
        })
    }

    fn is_pressed(&self) -> bool {
        self.pressed >= PRESSED_MIN || self.pages >= self.pressure_pages
    }
}

pub fn test(case: &Case<'_>) -> Test {
    let far = case.server_host.zip(case.server_side());
    let far = far.and_then(|(host, observed)| Memory::of(case, host, observed));
    let near = Memory::of(case, case.host, case.observed).filter(|_| !case.is_one_kernel());
    let place = case.server_host_name();
    if let Some(seen) = far.as_ref().and_then(|memory| seen(case, memory, place)) {
        return Test::Seen(seen);
    }
    match near.and_then(|memory| seen(case, &memory, "client")) {
        Some(seen) => Test::Seen(seen.at(Side::Client, "socket memory of the client")),
        None if far.is_none() => Test::Untested,
        None => Test::NotSeen,
    }
}

/// The evidence of a host under pressure, where requests waited for it.
fn seen(case: &Case<'_>, memory: &Memory, host: &str) -> Option<Seen> {
    let resent = loss::resent_by_both(case).map_or(0, |(resent, _)| resent);
    let waited = loss::waited_for(case, memory.refused.min(resent)).unwrap_or(0.0);
    let held = limited(case).map_or(0.0, |limited| limited.by_buffer.max(limited.by_window));
    if !memory.is_pressed() || waited < WAITED_MIN && held < LIMITED_MIN {
        return None;
    }
    let of = if host == "client" { "the generator's host" } else { "the server's host" };
    let seen = Seen::default()
        .with(
            Family::HardCounter,
            host,
            ("/proc/net/sockstat, netstat", ["tcp"]),
            "most pages of TCP's sockets, of those where pressure begins; time under pressure",
            format!("{} of {}; {}", memory.pages, memory.pressure_pages, percent(memory.pressed)),
            "all of them, or over 5 % of the window",
        )
        .with(
            Family::QueueLocation,
            "both",
            ("/proc/net/netstat, sock_diag", ["tcp"]),
            "segments refused for want of memory; time of requests that they cost; time of \
             responses behind a full buffer or a closed window",
            format!("+{}; {}; {}", memory.refused, percent(waited), percent(held)),
            "over 10 %, or over 20 %",
        )
        .saying(format!(
            "TCP on {of} uses {} of memory, and is under pressure from {}: data was refused {}",
            show_things(memory.pages, "page"),
            memory.pressure_pages,
            show_things(memory.refused, "time")
        ));
    Some(seen.next("use half the connections, or request shorter responses: the pressure ends"))
}

#[cfg(test)]
pub(super) mod tests {
    use crate::fixture::Fixture;
    use crate::walls::Test;
    use crate::walls::evidence_tests::Signs;
    use model::wall::{Side, WallId};

    pub const SIGNS: Signs = Signs {
        shown: |scene| press(&mut scene.fixture),
        without: &[
            ("pages and time under pressure", |scene| pages(&mut scene.fixture, 1999)),
            ("refused segments", |scene| scene.fixture.tcp("TcpExt.TCPRcvQDrop", 0)),
            ("segments sent again", |scene| scene.fixture.loss(0, 0)),
            ("the limits", |scene| scene.fixture.host.sysctls.clear()),
            ("sockets", |scene| scene.fixture.observed.sockets = None),
        ],
    };

    fn pages(fixture: &mut Fixture, pages: u64) {
        fixture.far().sockets = Some([("TCP.mem".to_string(), pages)].into());
    }

    fn press(fixture: &mut Fixture) {
        let limits = ("net.ipv4.tcp_mem".to_string(), "1000\t2000\t3000".to_string());
        fixture.host.sysctls.extend([limits]);
        pages(fixture, 2000);
        fixture.loss(60, 0);
        fixture.tcp("TcpExt.TCPRcvQDrop", 60);
        fixture.tcp("TcpExt.TCPMemoryPressuresChrono", 0);
    }

    #[test]
    fn pressure_matters_where_requests_wait_for_what_was_refused() {
        let mut fixture = Fixture::good();
        press(&mut fixture);
        let Test::Seen(seen) = super::test(&fixture.case()) else { panic!("not seen") };
        assert_eq!((seen.families(), seen.side(WallId::K11)), (2, Side::Server));
        fixture.tcp("TcpExt.TCPRcvQDrop", 19);
        assert_eq!(super::test(&fixture.case()), Test::NotSeen, "a tenth of 40 s are 20 of 200 ms");
        fixture.limited(0.9, 0.0, 0.5);
        assert!(matches!(super::test(&fixture.case()), Test::Seen(_)), "buffers shrink as well");
        pages(&mut fixture, 1999);
        assert_eq!(super::test(&fixture.case()), Test::NotSeen, "K12");
        fixture.tcp("TcpExt.TCPMemoryPressuresChrono", 250);
        assert!(matches!(super::test(&fixture.case()), Test::Seen(_)), "5 % of 5 s");
    }

    #[test]
    fn a_host_of_the_generator_under_pressure_is_of_the_client() {
        let mut fixture = Fixture::good();
        press(&mut fixture);
        fixture.apart();
        pages(&mut fixture, 10);
        let Test::Seen(seen) = super::test(&fixture.case()) else { panic!("not seen") };
        assert_eq!(seen.side(WallId::K11), Side::Client);
        fixture.observed.far.as_mut().unwrap().sockets = None;
        fixture.observed.sockets = None;
        assert_eq!(super::test(&fixture.case()), Test::Untested);
    }
}
