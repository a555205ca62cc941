//! Descriptors: as many as this process may have, divided among the clients.

use super::door::INSIDE_BESIDE_CLIENTS;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Files about threads of the server that stay open for one client, at most.
const KEPT_FILES_MAX: usize = 8192;
/// A sampler opens up to this many files for each that it may keep: two sources keep files of the
/// same threads, and one of them up to three of each thread.
const OPEN_PER_KEPT: usize = 3;
/// Descriptors of the process itself: standard streams, listeners, a certificate that is read.
const OWN_FILES: usize = 32;
/// Descriptors of a sampler without files of threads: sources of the host and the group, a folder
/// that is listed, sockets.
const SAMPLER_FILES: usize = 96;
/// Descriptors of a sampler for each CPU: its clock and its throttling.
const SAMPLER_FILES_PER_CPU: usize = 2;
/// A stranger has its connection, and the door has a copy to close it.
const FILES_PER_STRANGER: usize = 2;

/// Raises the soft limit of open files to the hard one. Returns the resulting limit.
pub fn raise() -> u64 {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let raised = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
    let holds = if raised.is_ok() { maximum } else { current };
    holds.unwrap_or(u64::MAX)
}

/// Files of threads that the readings for each client may keep open, so that with the maximum of
/// clients and strangers descriptors are left for new connections.
pub fn kept_files(limit: u64, clients_max: u32, cpus: usize) -> usize {
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let clients = clients_max.max(1) as usize;
    // The exporter for Prometheus has a sampler that keeps few files.
    let sampler = SAMPLER_FILES + SAMPLER_FILES_PER_CPU * cpus;
    let beside = OWN_FILES + FILES_PER_STRANGER * INSIDE_BESIDE_CLIENTS + 2 * sampler;
    let share = limit.saturating_sub(beside) / clients;
    (share.saturating_sub(sampler + 1) / OPEN_PER_KEPT).min(KEPT_FILES_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_clients_together_leave_descriptors_for_others() {
        assert_eq!(kept_files(1 << 20, 4, 128), KEPT_FILES_MAX);
        assert_eq!(kept_files(u64::MAX, 64, 2), KEPT_FILES_MAX);
        assert_eq!(kept_files(1024, 64, 2), 0, "each is opened again for each read");
        for (limit, clients) in [(1024, 1), (1024, 4), (4096, 8), (20_000, 64), (524_288, 64)] {
            let kept = kept_files(limit, clients, 8);
            let open = (OPEN_PER_KEPT * kept + SAMPLER_FILES + 16 + 1) * clients as usize;
            assert!(open + OWN_FILES <= limit as usize, "{limit} {clients}: {kept}");
        }
        assert!(kept_files(20_000, 4, 2) > 1000);
    }
}
