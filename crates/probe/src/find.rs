//! Which process on this host listens on an address.
//!
//! sock_diag lists the listening sockets and their inodes, the links of `/proc/PID/fd` show which
//! processes hold them. There may be several: children inherit the socket, or open their own with
//! SO_REUSEPORT. The server is then the process at the top of them.
//!
//! We search our own network namespace first. An address that is not ours, or on which nothing
//! listens here, may be that of a container: then we search every other namespace that has a
//! process, through the files below `/proc/PID/net`, for this address and a listener. If that
//! fails, the port may be published: we search where the kernel or docker's proxy passes
//! connections on to. If there is a server in two places, the user has to name the one that is
//! meant. All of this happens once, before the load.

#![allow(unsafe_code, reason = "a question to a socket")]

use crate::network::Network;
use crate::socket::socket_inode;
use crate::source::sock_diag::{self, Socket};
use crate::tree;
use crate::{namespace, process, published, translated};
use ::host::addresses;
use model::facts::Unreadable;
use model::maps::IntoMap;
use model::root::Root;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

/// Why no server process was found. The text says what to do about it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FindError {
    /// The address belongs to another host.
    #[error(
        "{0} is not an address of this host, nor of a container here that we may inspect, so its \
         server cannot be observed from here"
    )]
    NotLocal(IpAddr),
    /// No socket listens there.
    #[error(
        "no process listens on {0} in this network namespace; is the server up? If it is in a \
         container, name it with --server-pid"
    )]
    NobodyListens(SocketAddr),
    /// A program that passes connections on listens, and its destination is not known.
    #[error(
        "{name} (process {pid}) listens on {address} for a container, but it is not known which \
         process serves there; name it with --server-pid"
    )]
    PassedOn {
        /// Where it listens.
        address: SocketAddr,
        /// The program.
        name: String,
        /// Its process.
        pid: u32,
    },
    /// Servers in several network namespaces have the address.
    #[error(
        "processes in several network namespaces listen on {address}: {}; name one with \
         --server-pid", list(.pids)
    )]
    SeveralNamespaces {
        /// The address that all of them have.
        address: SocketAddr,
        /// One process of each.
        pids: Vec<u32>,
    },
    /// A socket listens, and none of the processes that we may inspect holds it.
    #[error(
        "a process of user {uid} listens on {address} and is not visible to us; run as that user \
         or as root, or look from its own process namespace"
    )]
    OwnerNotVisible {
        /// Where it listens.
        address: SocketAddr,
        /// Who opened the socket.
        uid: u32,
    },
    /// Several processes listen and none of them is above the others.
    #[error(
        "several processes listen on {address} and none is the parent of the others: {}; name \
         one with --server-pid", list(.pids)
    )]
    Several {
        /// Where they listen.
        address: SocketAddr,
        /// The processes, without those below others.
        pids: Vec<u32>,
    },
    /// Connecting to a unix socket failed.
    #[error("cannot connect to {}: {why}", .path.display())]
    NoPeer {
        /// Path of the socket.
        path: PathBuf,
        /// The operating system's reason.
        why: String,
    },
    /// The process that listens on a unix socket has no pid here, or passes connections on.
    #[error(
        "the process that listens on {} is not visible, or is systemd for another process; name \
         the server with --server-pid", .0.display()
    )]
    PeerNotVisible(PathBuf),
    /// The system refused a part of the search.
    #[error("cannot look for the server: {}: {}; name it with --server-pid", .0.source, .0.why)]
    Unreadable(Unreadable),
}

fn list(pids: &[u32]) -> String {
    pids.iter().map(u32::to_string).collect::<Vec<_>>().join(", ")
}

/// The process that listens on `address`, in our network namespace or in another of this host. Of
/// several it is the one above all others, or the parent whose only children are the listeners.
pub fn find_server(address: SocketAddr) -> Result<u32, FindError> {
    let here = find_here(address);
    let missing = match here {
        Ok(pid) => match published::forwarder(pid) {
            None => return Ok(pid),
            Some(name) => FindError::PassedOn { address, name, pid },
        },
        Err(FindError::NotLocal(_) | FindError::NobodyListens(_)) => here.unwrap_err(),
        Err(other) => return Err(other),
    };
    if let FindError::NotLocal(_) = &missing
        && let Some(pid) = find_elsewhere(address)?
    {
        return Ok(pid);
    }
    match published::targets(address).into_iter().collect::<Vec<_>>()[..] {
        [target] => match find_elsewhere(target)? {
            Some(pid) => Ok(pid),
            None => find_here(target).map_err(|_| missing),
        },
        _ => Err(missing),
    }
}

/// The program that accepts the connections to `address` and passes them on to the server; nothing
/// when the server itself, or the kernel, does that.
pub fn passed_on_by(address: SocketAddr) -> Option<String> {
    let name = published::forwarder(find_here(address).ok()?)?;
    if name == published::HOLDER {
        return None;
    }
    translated::target(address).is_none().then_some(name)
}

/// The server at an address of our network namespace.
fn find_here(address: SocketAddr) -> Result<u32, FindError> {
    if !is_local(address).map_err(|why| refused("bind", &why))? {
        return Err(FindError::NotLocal(address.ip()));
    }
    let sockets = sock_diag::listening(Network::Shared, address.port());
    let accepting = accepting(&sockets.map_err(FindError::Unreadable)?, address.ip());
    let Some(first) = accepting.first() else {
        return Err(FindError::NobodyListens(address));
    };
    let pids = process::ids(Path::new("/proc")).map_err(|why| refused("/proc", &why))?;
    above_all(&pids, &accepting, address)?
        .ok_or(FindError::OwnerNotVisible { address, uid: first.uid })
}

/// The server at an address of another network namespace of this host; nothing when none has it.
fn find_elsewhere(address: SocketAddr) -> Result<Option<u32>, FindError> {
    let others = namespace::others().map_err(|why| refused("/proc", &why))?;
    let mut found = Vec::new();
    let mut hidden = None;
    for pids in others.values() {
        let Some(accepting) = accepting_inside(pids, address) else { continue };
        match above_all(pids, &accepting, address)? {
            Some(pid) => found.push(pid),
            None => hidden = accepting.first().map(|socket| socket.uid),
        }
    }
    match found[..] {
        [] => hidden.map_or(Ok(None), |uid| Err(FindError::OwnerNotVisible { address, uid })),
        [pid] => Ok(Some(pid)),
        _ => Err(FindError::SeveralNamespaces { address, pids: found }),
    }
}

/// The sockets that would get a connection to an address of the namespace that some processes
/// share.
fn accepting_inside(pids: &[u32], address: SocketAddr) -> Option<Vec<Socket>> {
    // The first process that has not ended meanwhile.
    let pid = *pids.iter().find(|pid| process::stat(**pid).is_ok())?;
    let ip = address.ip().to_canonical();
    if !addresses::of_folder(&process::path(pid, "net")).contains(&ip) {
        return None;
    }
    let sockets = sock_diag::listening(Network::Outside(pid), address.port()).ok()?;
    Some(accepting(&sockets, ip)).filter(|accepting| !accepting.is_empty())
}

/// Of the processes that hold one of the sockets, the one above all others.
fn above_all(
    pids: &[u32],
    sockets: &[Socket],
    address: SocketAddr,
) -> Result<Option<u32>, FindError> {
    let inodes = sockets.iter().map(|socket| socket.inode).collect();
    let owners = owners(pids, &inodes);
    if owners.is_empty() {
        return Ok(None);
    }
    let parents = tree::parents(&Root::default()).map_err(FindError::Unreadable)?;
    let found = top(&owners, &parents).map_err(|pids| FindError::Several { address, pids })?;
    found.map(Some).ok_or(FindError::NobodyListens(address))
}

/// The process that listens on a unix socket. The kernel records which process called listen and
/// reports it to every peer: SO_PEERCRED in unix(7).
pub fn find_unix_server(path: &Path) -> Result<u32, FindError> {
    let no_peer = |why: io::Error| FindError::NoPeer { path: path.into(), why: why.to_string() };
    let stream = UnixStream::connect(path).map_err(no_peer)?;
    // Not with `socket_peercred`: a process that is not visible from here has pid 0, which its type
    // cannot hold.
    let mut peer = libc::ucred { pid: 0, uid: 0, gid: 0 };
    let mut length = size_of_val(&peer) as libc::socklen_t;
    // SAFETY: both outlive the call, and `length` is the size of `peer`.
    let result = unsafe {
        let (fd, pointer) = (stream.as_raw_fd(), (&raw mut peer).cast());
        libc::getsockopt(fd, libc::SOL_SOCKET, libc::SO_PEERCRED, pointer, &mut length)
    };
    if result != 0 {
        return Err(no_peer(io::Error::last_os_error()));
    }
    // A process of another process namespace has pid 0.
    match u32::try_from(peer.pid) {
        Ok(1) if is_systemd() => Err(FindError::PeerNotVisible(path.into())),
        Ok(pid) if pid > 0 => Ok(pid),
        _ => Err(FindError::PeerNotVisible(path.into())),
    }
}

/// The addresses at which some processes listen and can be reached over loopback, each with the
/// process that has it; by address.
pub fn listened_by(pids: &[u32]) -> Result<BTreeMap<SocketAddr, u32>, Unreadable> {
    let sockets = sock_diag::all_listening(Network::Shared)?;
    let reach = |ip: IpAddr| match ip.to_canonical() {
        IpAddr::V4(ip) if ip.is_unspecified() => Some(IpAddr::from(Ipv4Addr::LOCALHOST)),
        IpAddr::V6(ip) if ip.is_unspecified() => Some(IpAddr::from(Ipv6Addr::LOCALHOST)),
        ip => ip.is_loopback().then_some(ip),
    };
    let address = |socket: &Socket| Some(SocketAddr::new(reach(socket.local)?, socket.local_port));
    let by_inode: BTreeMap<u32, SocketAddr> =
        sockets.iter().filter_map(|socket| Some((socket.inode, address(socket)?))).into_map();
    let mut found = BTreeMap::new();
    // Children come later in a tree, so a parent wins over children that inherited its socket.
    for pid in pids.iter().rev() {
        // Denied means another user's process, which is not ours to profile.
        let Ok(entries) = fs::read_dir(process::path(*pid, "fd")) else { continue };
        let links = entries.flatten().filter_map(|entry| fs::read_link(entry.path()).ok());
        let inodes = links.filter_map(|link| socket_inode(&link));
        found.extend(inodes.filter_map(|inode| Some((*by_inode.get(&inode)?, *pid))));
    }
    Ok(found)
}

fn refused(source: &str, why: &io::Error) -> FindError {
    FindError::Unreadable(Unreadable { source: source.to_string(), why: why.to_string() })
}

/// Whether packets to this address stay on this host, which is whether we can bind to it.
fn is_local(address: SocketAddr) -> io::Result<bool> {
    // The port does not matter; the scope of a link-local address does.
    let mut any_port = address;
    any_port.set_port(0);
    match UdpSocket::bind(any_port) {
        Ok(_) => Ok(true),
        Err(why) => match why.raw_os_error() {
            Some(libc::EADDRNOTAVAIL | libc::EAFNOSUPPORT) => Ok(false),
            _ => Err(why),
        },
    }
}

/// The sockets that would get a connection to `ip`. The kernel prefers one bound to the address
/// itself to one bound to any address, and of those one of the same family
/// (`net/ipv4/inet_hashtables.c`, `compute_score`).
fn accepting(sockets: &[Socket], ip: IpAddr) -> Vec<Socket> {
    let asked = ip.to_canonical();
    let score = |socket: &Socket| {
        let local = socket.local.to_canonical();
        let takes_other_family = socket.local.is_ipv6() && socket.v6_only != Some(true);
        match (asked.is_unspecified(), local.is_unspecified()) {
            // A connection to 0.0.0.0 goes to loopback, but any listener will do.
            (true, _) => Some(0),
            (false, false) => (local == asked).then_some(3),
            (false, true) if socket.local.is_ipv4() == asked.is_ipv4() => Some(2),
            (false, true) => (asked.is_ipv4() && takes_other_family).then_some(1),
        }
    };
    let best = sockets.iter().filter_map(score).max();
    sockets.iter().filter(|socket| best.is_some() && score(socket) == best).copied().collect()
}

/// The processes that hold one of the sockets, as far as we may inspect them.
fn owners(pids: &[u32], inodes: &BTreeSet<u32>) -> BTreeSet<u32> {
    let mut owners = BTreeSet::new();
    for &pid in pids {
        // Denied means another user's process, which matters only if no owner is found.
        let Ok(entries) = fs::read_dir(process::path(pid, "fd")) else {
            continue;
        };
        let mut links = entries.flatten().filter_map(|entry| fs::read_link(entry.path()).ok());
        if links.any(|link| socket_inode(&link).is_some_and(|inode| inodes.contains(&inode))) {
            owners.insert(pid);
        }
    }
    forget_socket_activation(&mut owners);
    owners
}

/// Whether the first process is systemd, which may listen for others.
fn is_systemd() -> bool {
    process::stat(1).is_ok_and(|stat| stat.name == "systemd")
}

/// systemd keeps the listening sockets it passed to a service, and is above every process.
fn forget_socket_activation(owners: &mut BTreeSet<u32>) {
    if owners.len() > 1 && owners.contains(&1) && is_systemd() {
        owners.remove(&1);
    }
}

/// The owner above all owners, or the parent of just the owners; otherwise the topmost owners. An
/// owner without a parent has ended since: a child that its parent was just starting had a copy of
/// the socket until it ran its own program. Nothing when all have.
fn top(owners: &BTreeSet<u32>, parents: &BTreeMap<u32, u32>) -> Result<Option<u32>, Vec<u32>> {
    let is_top = |pid: &u32| parents.contains_key(pid) && !has_ancestor_in(*pid, owners, parents);
    let topmost: Vec<u32> = owners.iter().copied().filter(is_top).collect();
    let first = match &topmost[..] {
        [] => return Ok(None),
        [only] => return Ok(Some(*only)),
        [first, ..] => first,
    };
    let siblings = |parent: &u32| {
        let children = parents.iter().filter(move |(_, above)| *above == parent);
        children.map(|(child, _)| *child).collect::<Vec<_>>()
    };
    // A shell that started two servers has other children, ourselves among them; a master of
    // prefork workers has only these.
    match parents.get(first).filter(|parent| **parent != 0) {
        Some(parent) if siblings(parent) == topmost => Ok(Some(*parent)),
        _ => Err(topmost),
    }
}

fn has_ancestor_in(pid: u32, owners: &BTreeSet<u32>, parents: &BTreeMap<u32, u32>) -> bool {
    let mut above = parents.get(&pid);
    // A snapshot of parents taken while processes end and start could hold a cycle.
    for _ in 0..parents.len() {
        match above {
            Some(parent) if owners.contains(parent) => return true,
            Some(parent) => above = parents.get(parent),
            None => return false,
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    fn top_of(owners: &[u32]) -> Result<Option<u32>, Vec<u32>> {
        // 1 init: 10 shell: (20 master: 21, 22 workers: 23), 30, 40 (ourselves).
        let parents = [(1, 0), (10, 1), (20, 10), (21, 20), (22, 20), (23, 22), (30, 10), (40, 10)];
        top(&owners.iter().copied().collect(), &parents.into_iter().collect())
    }

    #[test]
    fn the_server_is_the_one_above_the_others() {
        assert_eq!(top_of(&[30]), Ok(Some(30)));
        assert_eq!(top_of(&[20, 21, 22]), Ok(Some(20)), "a master that kept the socket");
        assert_eq!(top_of(&[21, 22]), Ok(Some(20)), "a master that did not");
        assert_eq!(top_of(&[21, 22, 23]), Ok(Some(20)), "workers that forked");
        assert_eq!(top_of(&[20, 30]), Err(vec![20, 30]), "two servers of one shell");
        assert_eq!(top_of(&[21, 30]), Err(vec![21, 30]), "unrelated");
        assert_eq!(top_of(&[10, 23]), Ok(Some(10)), "a grandchild, without an owner between");
        assert_eq!(top_of(&[30, 50]), Ok(Some(30)), "a child that ended meanwhile");
        assert_eq!(top_of(&[50]), Ok(None), "a server that ended meanwhile");
    }

    fn listener(local: &str, v6_only: Option<bool>, inode: u32) -> Socket {
        Socket {
            cookie: 0,
            local: local.parse().unwrap(),
            local_port: 80,
            remote: IpAddr::from([0, 0, 0, 0]),
            remote_port: 0,
            state: 10,
            expires_ms: 0,
            receive_queue: 0,
            send_queue: 128,
            uid: 0,
            inode,
            v6_only,
            tcp: None,
        }
    }

    #[test]
    fn the_kernel_prefers_the_closest_address() {
        let sockets = [
            listener("0.0.0.0", None, 1),
            listener("127.0.0.1", None, 2),
            listener("::", Some(false), 3),
            listener("::1", Some(true), 4),
        ];
        let inodes = |sockets: &[Socket], ip: &str| -> Vec<u32> {
            let accepting = accepting(sockets, ip.parse().unwrap());
            accepting.iter().map(|socket| socket.inode).collect()
        };
        assert_eq!(inodes(&sockets, "127.0.0.1"), [2]);
        assert_eq!(inodes(&sockets, "::ffff:127.0.0.1"), [2]);
        assert_eq!(inodes(&sockets, "127.0.0.2"), [1]);
        assert_eq!(inodes(&sockets[2..], "127.0.0.2"), [3]);
        assert_eq!(inodes(&sockets, "::1"), [4]);
        assert_eq!(inodes(&sockets, "fe80::1"), [3]);
        assert_eq!(inodes(&sockets, "0.0.0.0"), [1, 2, 3, 4]);
        assert!(inodes(&[listener("::", Some(true), 5)], "127.0.0.1").is_empty());
        assert!(inodes(&sockets[1..2], "127.0.0.2").is_empty());
    }

    #[test]
    fn addresses_of_this_host() {
        assert!(is_local("127.0.0.1:80".parse().unwrap()).unwrap());
        assert!(is_local("127.3.2.1:80".parse().unwrap()).unwrap());
        // No host has addresses that are reserved for documentation.
        assert!(!is_local("192.0.2.1:80".parse().unwrap()).unwrap());
        assert!(!is_local("[2001:db8::1]:80".parse().unwrap()).unwrap());
    }

    #[test]
    fn what_we_listen_on_is_ours() {
        let near = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let wide = std::net::TcpListener::bind("0.0.0.0:0").unwrap();
        let pid = std::process::id();
        let found = listened_by(&[pid]).unwrap();
        assert_eq!(found.get(&near.local_addr().unwrap()), Some(&pid));
        let mut reached = wide.local_addr().unwrap();
        assert_eq!(found.get(&reached), None, "0.0.0.0 is nowhere to connect to");
        reached.set_ip(IpAddr::from(Ipv4Addr::LOCALHOST));
        assert_eq!(found.get(&reached), Some(&pid));
        assert!(listened_by(&[u32::MAX - 1]).unwrap().is_empty());
    }

    #[test]
    fn a_unix_socket_tells_who_listens() {
        let name = format!("probe-find-{}.sock", std::process::id());
        let path = std::env::temp_dir().join(name);
        let listener = std::os::unix::net::UnixListener::bind(&path).unwrap();
        assert_eq!(find_unix_server(&path), Ok(std::process::id()));
        drop(listener);
        let refused = find_unix_server(&path).unwrap_err().to_string();
        assert!(refused.contains("refused") && refused.contains("probe-find"), "{refused}");
        fs::remove_file(&path).unwrap();
    }

    #[test]
    fn messages_say_what_to_do() {
        let address = "127.0.0.1:80".parse().unwrap();
        let several = FindError::Several { address, pids: vec![7, 9] }.to_string();
        assert!(several.contains("7, 9; name one with --server-pid"), "{several}");
        let everywhere = FindError::SeveralNamespaces { address, pids: vec![7, 9] }.to_string();
        assert!(everywhere.contains("7, 9; name one with --server-pid"), "{everywhere}");
        let name = "docker-proxy".to_string();
        let passed = FindError::PassedOn { address, name, pid: 7 }.to_string();
        assert!(passed.contains("docker-proxy (process 7)"), "{passed}");
        let hidden = FindError::OwnerNotVisible { address, uid: 33 }.to_string();
        assert!(hidden.contains("user 33") && hidden.contains("as root"), "{hidden}");
    }
}
