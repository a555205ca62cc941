//! The few system calls on sockets that both socket drivers share.

#![allow(unsafe_code, reason = "system calls without a safe wrapper")]

use model::route::{Address, Route};
use model::tick::ErrorClass;
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// A socket address as the kernel takes it.
pub struct RawAddress {
    storage: libc::sockaddr_storage,
    length: libc::socklen_t,
}

impl RawAddress {
    /// Converts an address; fails when a Unix path is too long for the kernel.
    pub fn new(address: &Address) -> io::Result<Self> {
        match address {
            Address::Tcp(address) => Ok(Self::of_tcp(address)),
            Address::Unix(path) => Self::of_unix(path),
        }
    }

    fn of_tcp(address: &SocketAddr) -> Self {
        match address {
            SocketAddr::V4(v4) => Self::holding(libc::sockaddr_in {
                sin_family: libc::AF_INET as libc::sa_family_t,
                sin_port: v4.port().to_be(),
                sin_addr: libc::in_addr { s_addr: u32::from_ne_bytes(v4.ip().octets()) },
                sin_zero: [0; 8],
            }),
            SocketAddr::V6(v6) => Self::holding(libc::sockaddr_in6 {
                sin6_family: libc::AF_INET6 as libc::sa_family_t,
                sin6_port: v6.port().to_be(),
                sin6_flowinfo: v6.flowinfo(),
                sin6_addr: libc::in6_addr { s6_addr: v6.ip().octets() },
                sin6_scope_id: v6.scope_id(),
            }),
        }
    }

    fn of_unix(path: &Path) -> io::Result<Self> {
        let bytes = path.as_os_str().as_bytes();
        let family = libc::AF_UNIX as libc::sa_family_t;
        let mut raw = libc::sockaddr_un { sun_family: family, sun_path: [0; 108] };
        // The last byte stays zero, which ends the path.
        if bytes.len() >= raw.sun_path.len() {
            let why = format!("{} is too long for the path of a socket", path.display());
            return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
        }
        for (to, from) in raw.sun_path.iter_mut().zip(bytes) {
            *to = *from as libc::c_char;
        }
        Ok(Self::holding(raw))
    }

    fn holding<T: Copy>(raw: T) -> Self {
        assert!(size_of::<T>() <= size_of::<libc::sockaddr_storage>());
        // SAFETY: all-zero bytes are a valid sockaddr_storage, which is aligned for every address
        // and, as asserted, large enough.
        let storage = unsafe {
            let mut storage: libc::sockaddr_storage = std::mem::zeroed();
            (&raw mut storage).cast::<T>().write(raw);
            storage
        };
        Self { storage, length: size_of::<T>() as libc::socklen_t }
    }

    /// Address family of the socket that can connect to it.
    pub fn family(&self) -> libc::c_int {
        libc::c_int::from(self.storage.ss_family)
    }

    /// The address, for calls that take a pointer.
    pub fn as_ptr(&self) -> *const libc::sockaddr {
        (&raw const self.storage).cast()
    }

    /// Its length, for calls that take one.
    pub fn length(&self) -> libc::socklen_t {
        self.length
    }
}

/// Both ends of a connection as the kernel takes them.
pub struct RawRoute {
    /// Where it goes.
    pub to: RawAddress,
    from: Option<RawAddress>,
}

impl RawRoute {
    /// Converts a route.
    pub fn new(route: &Route) -> io::Result<Self> {
        let source = |ip| RawAddress::of_tcp(&SocketAddr::new(ip, 0));
        Ok(Self { to: RawAddress::new(&route.to)?, from: route.from.map(source) })
    }
}

/// A non-blocking socket that can connect by a route: without Nagle's delay if it is TCP, and
/// bound to the route's source.
pub fn stream_socket(route: &RawRoute) -> io::Result<OwnedFd> {
    let kind = libc::SOCK_STREAM | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
    // SAFETY: no pointers.
    let fd = unsafe { libc::socket(route.to.family(), kind, 0) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor was just made and has no other owner.
    let socket = unsafe { OwnedFd::from_raw_fd(fd) };
    if route.to.family() != libc::AF_UNIX {
        set_option(&socket, libc::IPPROTO_TCP, libc::TCP_NODELAY, 1)?;
    }
    if let Some(from) = &route.from {
        bind(&socket, from)?;
    }
    Ok(socket)
}

/// Binds to an address and leaves the choice of a port to `connect`, which knows the other end: a
/// port chosen by bind serves one connection only, whatever its target. See IP_BIND_ADDRESS_NO_PORT
/// in ip(7); the option of the IP level works for IPv6 sockets too.
fn bind(socket: &OwnedFd, from: &RawAddress) -> io::Result<()> {
    set_option(socket, libc::IPPROTO_IP, libc::IP_BIND_ADDRESS_NO_PORT, 1)?;
    // SAFETY: the address outlives the call.
    let result = unsafe { libc::bind(socket.as_raw_fd(), from.as_ptr(), from.length()) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

fn set_option(
    socket: &OwnedFd,
    level: libc::c_int,
    name: libc::c_int,
    value: libc::c_int,
) -> io::Result<()> {
    let length = size_of_val(&value) as libc::socklen_t;
    let pointer = (&raw const value).cast();
    // SAFETY: `value` outlives the call and `length` is its size.
    let result = unsafe { libc::setsockopt(socket.as_raw_fd(), level, name, pointer, length) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Starts connecting; the socket becomes writable when that is done.
pub fn connect(socket: &OwnedFd, address: &RawAddress) -> io::Result<()> {
    // SAFETY: the address outlives the call.
    let result = unsafe { libc::connect(socket.as_raw_fd(), address.as_ptr(), address.length()) };
    match io::Error::last_os_error() {
        _ if result == 0 => Ok(()),
        error if error.raw_os_error() == Some(libc::EINPROGRESS) => Ok(()),
        error => Err(error),
    }
}

/// The pending error of a socket, 0 for none.
pub fn pending_error(fd: RawFd) -> i32 {
    let mut value: libc::c_int = 0;
    let mut length = size_of_val(&value) as libc::socklen_t;
    // SAFETY: both outlive the call, and `length` is the size of `value`.
    let result = unsafe {
        let pointer = (&raw mut value).cast();
        libc::getsockopt(fd, libc::SOL_SOCKET, libc::SO_ERROR, pointer, &mut length)
    };
    if result == 0 { value } else { libc::EBADF }
}

/// Bytes that a socket has to read now (`FIONREAD`); 0 when it cannot say.
pub fn readable(fd: RawFd) -> usize {
    let mut bytes: libc::c_int = 0;
    // SAFETY: the number outlives the call.
    let result = unsafe { libc::ioctl(fd, libc::FIONREAD, &raw mut bytes) };
    if result == 0 { bytes.max(0) as usize } else { 0 }
}

/// Sends as much as the kernel takes at once; returns how many bytes. The error is the `errno`.
pub fn send_now(fd: RawFd, bytes: &[u8]) -> Result<usize, i32> {
    let flags = libc::MSG_NOSIGNAL | libc::MSG_DONTWAIT;
    // SAFETY: the bytes outlive the call.
    let taken = unsafe { libc::send(fd, bytes.as_ptr().cast(), bytes.len(), flags) };
    if taken >= 0 { Ok(taken as usize) } else { Err(errno()) }
}

/// Ends a connection in both directions, also where others hold the socket: the peer reads an
/// orderly end. Nothing happens to one that has ended.
pub fn shut_down(socket: &OwnedFd) {
    // SAFETY: no pointers.
    unsafe { libc::shutdown(socket.as_raw_fd(), libc::SHUT_RDWR) };
}

/// The result of a call that fails with a negative number, or the errno.
pub fn checked(result: libc::c_int) -> Result<libc::c_int, i32> {
    if result >= 0 { Ok(result) } else { Err(errno()) }
}

fn errno() -> i32 {
    io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO)
}

/// The error class in the record of an operating-system error of a connection attempt.
pub fn attempt_class(errno: i32) -> ErrorClass {
    match errno {
        libc::EADDRNOTAVAIL => ErrorClass::Ports,
        libc::EMFILE | libc::ENFILE => ErrorClass::Fds,
        _ => ErrorClass::Connect,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{TcpListener, TcpStream};

    #[test]
    fn a_source_is_bound_and_its_port_left_to_connect() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let to = Address::Tcp(listener.local_addr().unwrap());
        let from = Some([127, 0, 0, 9].into());
        let raw = RawRoute::new(&Route { to, from }).unwrap();
        let stream = TcpStream::from(stream_socket(&raw).unwrap());
        let bound = stream.local_addr().unwrap();
        assert_eq!((Some(bound.ip()), bound.port()), (from, 0), "connect chooses the port");
        let socket = OwnedFd::from(stream);
        connect(&socket, &raw.to).unwrap();
        let (_, peer) = listener.accept().unwrap();
        assert_eq!(Some(peer.ip()), from);
        assert_eq!(TcpStream::from(socket).local_addr().unwrap(), peer);
    }

    #[test]
    fn an_address_that_is_not_ours_cannot_be_bound() {
        let to = Address::Tcp("127.0.0.1:1".parse().unwrap());
        let route = Route { to, from: Some([192, 0, 2, 1].into()) };
        let error = stream_socket(&RawRoute::new(&route).unwrap()).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::EADDRNOTAVAIL));
    }

    #[test]
    fn a_path_that_is_too_long_is_an_error() {
        let of_length = |length| Address::Unix("x".repeat(length).into());
        assert!(RawAddress::new(&of_length(107)).is_ok());
        assert!(RawAddress::new(&of_length(108)).is_err());
    }
}
