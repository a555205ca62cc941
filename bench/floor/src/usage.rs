//! CPU time of this process.

use std::io;

/// User and kernel time, nanoseconds.
#[derive(Debug, Clone, Copy)]
pub struct Usage {
    pub user_ns: u64,
    pub system_ns: u64,
}

impl Usage {
    /// Used so far.
    pub fn now() -> io::Result<Self> {
        // SAFETY: the structure outlives the call, and all-zero is a valid value.
        let usage = unsafe {
            let mut usage: libc::rusage = std::mem::zeroed();
            if libc::getrusage(libc::RUSAGE_SELF, &mut usage) != 0 {
                return Err(io::Error::last_os_error());
            }
            usage
        };
        let ns =
            |time: libc::timeval| (time.tv_sec as u64 * 1_000_000 + time.tv_usec as u64) * 1000;
        Ok(Self { user_ns: ns(usage.ru_utime), system_ns: ns(usage.ru_stime) })
    }

    /// Used after `earlier`.
    pub fn since(self, earlier: Self) -> Self {
        Self {
            user_ns: self.user_ns - earlier.user_ns,
            system_ns: self.system_ns - earlier.system_ns,
        }
    }
}
