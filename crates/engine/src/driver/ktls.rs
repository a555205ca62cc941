//! Whether the kernel could encrypt TLS records itself (Linux, Documentation/networking/tls.rst).
//!
//! The answer is only reported: records are encrypted in user space on every kernel.

use std::io;
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsRawFd;

/// Whether a connected socket takes the upper layer `tls`, or the reason why not.
// Cold: once before a run.
pub fn check() -> Result<(), String> {
    let listener = TcpListener::bind("127.0.0.1:0").map_err(|error| error.to_string())?;
    let address = listener.local_addr().map_err(|error| error.to_string())?;
    let socket = TcpStream::connect(address).map_err(|error| error.to_string())?;
    let name = c"tls";
    let length = name.to_bytes().len() as libc::socklen_t;
    // SAFETY: the name outlives the call and `length` is its size.
    let result = unsafe {
        let pointer = name.as_ptr().cast();
        libc::setsockopt(socket.as_raw_fd(), libc::IPPROTO_TCP, libc::TCP_ULP, pointer, length)
    };
    match io::Error::last_os_error() {
        _ if result == 0 => Ok(()),
        error if error.raw_os_error() == Some(libc::ENOENT) => {
            Err("this kernel has no module tls (CONFIG_TLS), or it is not loaded".to_string())
        }
        error => Err(format!("setsockopt(TCP_ULP, \"tls\"): {error}")),
    }
}

#[cfg(test)]
mod tests {
    /// The kernel lists what it has, and does not load a module for an unprivileged user.
    #[test]
    fn the_response_is_that_of_the_kernel() {
        let listed = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_available_ulp");
        let checked = super::check();
        if listed.is_ok_and(|names| names.split_whitespace().any(|name| name == "tls")) {
            assert_eq!(checked, Ok(()));
        } else if let Err(reason) = checked {
            assert!(reason.contains("tls"), "{reason}");
        }
    }
}
