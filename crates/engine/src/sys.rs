//! The few system calls on sockets that both socket drivers share.

use model::tick::ErrorClass;
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

/// A socket address as the kernel takes it.
pub struct RawAddress {
    storage: libc::sockaddr_storage,
    length: libc::socklen_t,
}

impl RawAddress {
    /// Converts an address.
    pub fn new(address: &SocketAddr) -> Self {
        // SAFETY: all-zero bytes are a valid sockaddr_storage.
        let mut storage: libc::sockaddr_storage = unsafe { std::mem::zeroed() };
        let length = match address {
            SocketAddr::V4(v4) => {
                let raw = libc::sockaddr_in {
                    sin_family: libc::AF_INET as libc::sa_family_t,
                    sin_port: v4.port().to_be(),
                    sin_addr: libc::in_addr { s_addr: u32::from_ne_bytes(v4.ip().octets()) },
                    sin_zero: [0; 8],
                };
                // SAFETY: a sockaddr_storage is large and aligned enough for every address.
                unsafe { (&raw mut storage).cast::<libc::sockaddr_in>().write(raw) };
                size_of::<libc::sockaddr_in>()
            }
            SocketAddr::V6(v6) => {
                let raw = libc::sockaddr_in6 {
                    sin6_family: libc::AF_INET6 as libc::sa_family_t,
                    sin6_port: v6.port().to_be(),
                    sin6_flowinfo: v6.flowinfo(),
                    sin6_addr: libc::in6_addr { s6_addr: v6.ip().octets() },
                    sin6_scope_id: v6.scope_id(),
                };
                // SAFETY: as above.
                unsafe { (&raw mut storage).cast::<libc::sockaddr_in6>().write(raw) };
                size_of::<libc::sockaddr_in6>()
            }
        };
        Self { storage, length: length as libc::socklen_t }
    }

    /// Address family of the socket that can connect to it.
    pub fn family(&self) -> libc::c_int {
        libc::c_int::from(self.storage.ss_family)
    }

    /// For calls that take a pointer.
    pub fn as_ptr(&self) -> *const libc::sockaddr {
        (&raw const self.storage).cast()
    }

    /// For calls that take a length.
    pub fn length(&self) -> libc::socklen_t {
        self.length
    }
}

/// A non-blocking TCP socket without Nagle's delay.
pub fn tcp_socket(family: libc::c_int) -> io::Result<OwnedFd> {
    let kind = libc::SOCK_STREAM | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
    // SAFETY: no pointers.
    let fd = unsafe { libc::socket(family, kind, 0) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor was just made and belongs to nobody else.
    let socket = unsafe { OwnedFd::from_raw_fd(fd) };
    set_option(&socket, libc::IPPROTO_TCP, libc::TCP_NODELAY, 1)?;
    Ok(socket)
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

/// Starts connecting; completion is announced by writability.
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

/// Ends both directions, so that every operation on the socket completes.
pub fn shut_down(fd: RawFd) {
    // SAFETY: no pointers; an error means that there is nothing left to end.
    unsafe { libc::shutdown(fd, libc::SHUT_RDWR) };
}

/// Which class of the record an operating-system error of a connection attempt belongs to.
pub fn attempt_class(errno: i32) -> ErrorClass {
    match errno {
        libc::EADDRNOTAVAIL => ErrorClass::Ports,
        libc::EMFILE | libc::ENFILE => ErrorClass::Fds,
        _ => ErrorClass::Connect,
    }
}
