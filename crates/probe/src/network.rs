//! Which network namespace a thread of the probe reads, and how much of it is visible.
//!
//! A server in another network namespace of this host has interfaces, counters and sockets of its
//! own. A second thread enters that namespace and reads them; the first continues to read ours,
//! which is the generator's. Without the right to enter, the files of `/proc/PID/net` give the
//! counters and, in part, the sockets; netlink, drivers and `/proc/sys` are then out of reach, and
//! the probe reports that. No figure is ever taken from another namespace than the one it is
//! reported for.

use crate::namespace;
use model::facts::Unreadable;
use model::root::Root;
use std::path::PathBuf;

/// A view of a network namespace.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Network {
    /// That of the calling thread. As far as is known the server is in it too.
    #[default]
    Shared,
    /// That of the calling thread; the server is in another.
    Apart,
    /// That of the server, which the calling thread has entered.
    Entered,
    /// That of the server, from outside: files of this process alone.
    Outside(u32),
}

impl Network {
    /// What the probe itself reads: whether the server is known to be elsewhere.
    pub fn of_probe(root: &Root, server_pid: Option<u32>) -> Self {
        // Processes of a host made up of files are in no namespace.
        let is_real = *root == Root::default();
        let apart = server_pid.filter(|_| is_real).and_then(|pid| namespace::apart(root, pid));
        if apart.is_some() { Self::Apart } else { Self::Shared }
    }

    /// Moves the calling thread into the namespace of a process, for the rest of its life. A thread
    /// that may not enter reads the files; the second value is why.
    pub fn enter(pid: u32) -> (Self, Option<Unreadable>) {
        match namespace::enter(pid) {
            Ok(()) => (Self::Entered, None),
            Err(why) => {
                let why = format!(
                    "{why}; only /proc/{pid}/net is read: queueing disciplines, drivers, \
                     conntrack, lengths of accept queues and times of connections are missing; \
                     root can read them"
                );
                let source = format!("network namespace of process {pid}");
                (Self::Outside(pid), Some(Unreadable { source, why }))
            }
        }
    }

    /// Whether the figures are those of the server's own namespace.
    pub fn is_inside(self) -> bool {
        matches!(self, Self::Entered | Self::Outside(_))
    }

    /// Whether netlink, sockets and `/proc/sys` of the calling thread belong to the namespace.
    pub fn is_ours(self) -> bool {
        !matches!(self, Self::Outside(_))
    }

    /// A file of `/proc/net` of the namespace.
    pub fn file(self, root: &Root, name: &str) -> PathBuf {
        match self {
            Self::Outside(pid) => root.process(pid, &format!("net/{name}")),
            _ => root.path(format!("/proc/thread-self/net/{name}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn files_are_those_of_the_thread_or_of_the_process() {
        let root = Root::default();
        let own = Path::new("/proc/thread-self/net/snmp");
        assert_eq!(Network::Entered.file(&root, "snmp"), own);
        assert_eq!(Network::Outside(7).file(&root, "snmp"), Path::new("/proc/7/net/snmp"));
        assert!(Network::Entered.is_inside() && !Network::Apart.is_inside());
        assert!(Network::Entered.is_ours() && !Network::Outside(7).is_ours());
    }

    #[test]
    fn we_share_our_own_namespace() {
        let root = Root::default();
        assert_eq!(Network::of_probe(&root, Some(std::process::id())), Network::Shared);
        assert_eq!(Network::of_probe(&root, None), Network::Shared);
    }

    #[test]
    fn what_cannot_be_entered_is_told() {
        let (network, why) = Network::enter(u32::MAX - 1);
        assert_eq!(network, Network::Outside(u32::MAX - 1));
        assert!(why.unwrap().why.contains("root can read them"));
    }
}
