//! Limits of this host that a trial would run into: checked, and raised if allowed, before load.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::fs;

/// Descriptors a run needs beside its connections: rings, files, telemetry.
const FILES_BESIDE: u64 = 100;

/// What stands in the way of a trial.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LimitError {
    /// Not enough file descriptors (wall C8).
    #[error(
        "{connections} connections need {needed} open files and the hard limit is {hard} (C8); \
         raise it with 'ulimit -Hn {needed}' as root, or use at most -c {possible}"
    )]
    Files {
        /// Connections asked for.
        connections: u64,
        /// Descriptors needed.
        needed: u64,
        /// The hard limit.
        hard: u64,
        /// Connections that would fit.
        possible: u64,
    },
    /// Not enough local ports (wall C7).
    #[error(
        "{connections} connections to {addresses} address(es) need as many local ports and \
         net.ipv4.ip_local_port_range has {ports} (C7); widen it, or use at most -c {possible}"
    )]
    Ports {
        /// Connections asked for.
        connections: u64,
        /// Target addresses.
        addresses: u64,
        /// Ports of the range.
        ports: u64,
        /// Connections that would fit.
        possible: u64,
    },
}

/// Makes sure that `connections` can be open at once. Says what was raised, if anything.
pub fn allow_files(connections: u64) -> Result<Option<String>, LimitError> {
    let needed = connections + FILES_BESIDE;
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
    let possible = hard.saturating_sub(FILES_BESIDE);
    Err(LimitError::Files { connections, needed, hard, possible })
}

/// Makes sure that there are local ports for `connections`, as far as the range tells.
pub fn allow_ports(connections: u64, addresses: u64) -> Result<(), LimitError> {
    let Some(ports) = local_ports() else { return Ok(()) };
    let possible = ports * addresses;
    if connections > possible {
        return Err(LimitError::Ports { connections, addresses, ports, possible });
    }
    Ok(())
}

/// Ports of `net.ipv4.ip_local_port_range`; nothing when it cannot be read.
fn local_ports() -> Option<u64> {
    let text = fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range").ok()?;
    let mut numbers = text.split_whitespace().map(str::parse::<u64>);
    let (first, last) = (numbers.next()?.ok()?, numbers.next()?.ok()?);
    Some((last + 1).saturating_sub(first))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_needs_pass_and_huge_ones_say_what_they_need() {
        assert_eq!(allow_files(1), Ok(None));
        let error = allow_files(1 << 40).unwrap_err().to_string();
        assert!(error.contains("C8") && error.contains("ulimit"), "{error}");
        assert_eq!(allow_ports(1, 1), Ok(()));
        let error = allow_ports(1 << 20, 1).unwrap_err().to_string();
        assert!(error.contains("C7") && error.contains("at most"), "{error}");
    }
}
