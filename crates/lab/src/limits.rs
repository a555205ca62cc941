//! Limits of this host that a trial would run into: checked, and raised if allowed, before load.

use crate::ports::{Ports, PortsError};
use engine::driver::uring::{self, Removal};
use model::load::{DriverKind, Level};
use model::route::Route;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::thread;
use std::time::{Duration, Instant};

/// Descriptors that a run needs besides its connections: rings, files, telemetry.
const FILES_BESIDE: u64 = 100;
/// How long to wait for ports in TIME_WAIT: the second of tcp_tw_reuse_delay, and a little more.
const PORTS_WAIT: Duration = Duration::from_millis(1500);
/// How often they are checked.
const PORTS_LOOK: Duration = Duration::from_millis(100);

/// What prevents a trial.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LimitError {
    /// Not enough file descriptors (wall C8).
    #[error(
        "{connections} connections need {needed} open files and the hard limit is {hard} (C8); \
         raise it with 'ulimit -Hn {needed}' as root, {way_out} use at most -c {possible}"
    )]
    Files {
        /// Connections asked for.
        connections: u64,
        /// Descriptors needed.
        needed: u64,
        /// The hard limit.
        hard: u64,
        /// What else would help.
        way_out: &'static str,
        /// Connections that would fit.
        possible: u64,
    },
    /// Not enough local ports (wall C7).
    #[error("{0}")]
    Ports(Box<PortsError>),
}

/// Where the sockets of connections are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tables {
    /// Among the descriptors of the process: epoll, and io_uring where the kernel closes sockets of
    /// its tables late.
    OfProcess,
    /// In a table of each of so many workers: io_uring.
    OfWorkers(u64),
}

impl Tables {
    /// The tables of a driver with this many workers.
    pub fn of(driver: DriverKind, workers: u32) -> Self {
        match driver {
            DriverKind::Uring if uring::removal() == Removal::Closes => {
                Self::OfWorkers(u64::from(workers))
            }
            _ => Self::OfProcess,
        }
    }
}

/// Makes sure that `connections` can be open at once. Returns a note about the limit that it
/// raised, if any.
pub fn allow_files(connections: u64, tables: Tables) -> Result<Option<String>, LimitError> {
    let (tables, way_out) = match tables {
        Tables::OfProcess => (1, "or"),
        Tables::OfWorkers(workers) => (workers, "use more workers (-t N), or"),
    };
    let needed = connections.div_ceil(tables) + FILES_BESIDE;
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let (soft, hard) = (current.unwrap_or(u64::MAX), maximum.unwrap_or(u64::MAX));
    if soft >= needed {
        return Ok(None);
    }
    let wanted = Rlimit { current: Some(needed), maximum: Some(hard.max(needed)) };
    // Raising the hard limit works for root only; the attempt is the test.
    if setrlimit(Resource::Nofile, wanted).is_ok() {
        let which = if needed > hard { "soft and hard limits" } else { "soft limit" };
        return Ok(Some(format!("raised the {which} of open files from {soft} to {needed}")));
    }
    let possible = hard.saturating_sub(FILES_BESIDE) * tables;
    Err(LimitError::Files { connections, needed, hard, way_out, possible })
}

/// Makes sure that there are local ports for the connections of all levels, which take the routes
/// in turn. Waits for ports of a run just before this one if they are free again in a moment.
pub fn allow_ports(levels: &[Level], routes: &[Route]) -> Result<(), LimitError> {
    let addresses: Vec<_> = routes.iter().map(|route| route.to.clone()).collect();
    let begin = Instant::now();
    loop {
        let Some(ports) = Ports::look(&addresses) else { return Ok(()) };
        let connections = ports.needed(levels, &addresses);
        match ports.allow(connections, routes) {
            Ok(()) => return Ok(()),
            Err(_) if ports.would_do(connections, routes) && begin.elapsed() < PORTS_WAIT => {
                thread::sleep(PORTS_LOOK);
            }
            Err(mut error) => {
                // The advice uses the unit of the option: devices also need ports for connections
                // in TIME_WAIT.
                let asked = levels.iter().map(Level::connections_max).max().unwrap_or(0);
                let asked = u64::from(asked);
                error.possible = error.possible * asked / connections.max(1);
                return Err(LimitError::Ports(Box::new(error)));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::load::{Arrival, Hold, Life};

    #[test]
    fn small_needs_pass_and_huge_ones_say_what_they_need() {
        assert_eq!(allow_files(1, Tables::OfProcess), Ok(None));
        let error = allow_files(1 << 40, Tables::OfWorkers(2)).unwrap_err().to_string();
        assert!(error.contains("C8") && error.contains("ulimit"), "{error}");
        let here = [Route::to("127.0.0.1:1".parse::<std::net::SocketAddr>().unwrap())];
        let kept = |connections: u32| Level {
            connections,
            spare: 0,
            depth: 1,
            arrival: Arrival::Closed,
            life: Life::default(),
        };
        assert_eq!(allow_ports(&[kept(1)], &here), Ok(()));
        // 40,000 connections per second that are held for a second each, and then are in TIME_WAIT.
        let hold = Some(Hold::For { ns: 1_000_000_000, jitter: 0.0 });
        let devices = Level { life: Life { hold, ..Life::default() }, ..kept(40_000) };
        assert!(allow_ports(&[devices], &here).is_err());
        let error = allow_ports(&[kept(1 << 20)], &here).unwrap_err().to_string();
        assert!(error.contains("C7") && error.contains("at most"), "{error}");
    }
}
