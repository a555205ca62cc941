//! What this process may see of others, from its capabilities.

use crate::process;
use model::facts::Privilege;
use std::fs;
use std::path::Path;

/// Bits of `linux/capability.h`: read any file, look into any process.
const CAP_DAC_OVERRIDE: u64 = 1 << 1;
const CAP_DAC_READ_SEARCH: u64 = 1 << 2;
const CAP_SYS_PTRACE: u64 = 1 << 19;

/// What may be seen of the server's process, and of any other when it is not known.
pub fn privilege(server_pid: Option<u32>) -> Privilege {
    let status = fs::read(Path::new("/proc/self/status")).unwrap_or_default();
    if process::capabilities(&status).is_some_and(sees_everything) {
        return Privilege::Root;
    }
    // The links of this folder are as closely guarded as anything that we read about a process.
    let may_look = |pid| fs::read_dir(process::path(pid, "fd")).is_ok();
    if server_pid.is_some_and(may_look) { Privilege::ReadOnly } else { Privilege::None }
}

fn sees_everything(capabilities: u64) -> bool {
    let reads_files = capabilities & (CAP_DAC_OVERRIDE | CAP_DAC_READ_SEARCH) != 0;
    reads_files && capabilities & CAP_SYS_PTRACE != 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use process::capabilities as parse;

    #[test]
    fn capabilities_decide_what_is_seen() {
        let root = parse(b"Name:\tx\nCapInh:\t0\nCapEff:\t000001ffffffffff\n").unwrap();
        assert!(sees_everything(root));
        assert!(!sees_everything(parse(b"CapEff:\t0000000000000000\n").unwrap()));
        assert!(!sees_everything(root & !CAP_SYS_PTRACE), "a container that may not look around");
        assert_eq!(parse(b"CapEff:\tzz\n"), None);
        assert_eq!(parse(b""), None);
    }

    #[test]
    fn ones_own_processes_may_be_read() {
        assert_ne!(privilege(Some(std::process::id())), Privilege::None);
    }
}
