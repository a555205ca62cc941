//! Names of the functions of a stack, and what a thread waits for by them.

use model::kernel::WaitFor;
use std::fs;

/// Functions of a stack that are shown.
const SHOWN: usize = 6;
/// Functions that put any thread to sleep, lead there or belong to the hook: they tell nothing.
const COMMON: [&str; 14] = [
    "__schedule",
    "schedule",
    "schedule_preempt_disabled",
    "schedule_timeout",
    "schedule_hrtimeout_range_clock",
    "schedule_hrtimeout_range",
    "__traceiter_sched_switch",
    "__bpf_trace_sched_switch",
    "bpf_trace_run4",
    "bpf_get_stackid",
    "bpf_get_stackid_raw_tp",
    "__cond_resched",
    "do_syscall_64",
    "entry_SYSCALL_64_after_hwframe",
];

/// What a thread waits for when one of these begins the name of a function on its stack; the first
/// row that fits. A lock of the kernel comes last, because a disk is waited for below it.
const WAITS: [(&str, WaitFor); 36] = [
    ("futex_", WaitFor::Futex),
    ("__futex_", WaitFor::Futex),
    ("inet_csk_accept", WaitFor::Accept),
    ("io_schedule", WaitFor::Disk),
    ("jbd2_", WaitFor::Disk),
    ("submit_bio_wait", WaitFor::Disk),
    ("blk_", WaitFor::Disk),
    ("xfs_log", WaitFor::Disk),
    ("btrfs_", WaitFor::Disk),
    ("folio_wait_", WaitFor::Disk),
    ("balance_dirty_pages", WaitFor::Disk),
    ("ep_poll", WaitFor::Events),
    ("do_epoll_wait", WaitFor::Events),
    ("do_sys_poll", WaitFor::Events),
    ("do_poll", WaitFor::Events),
    ("do_select", WaitFor::Events),
    ("poll_schedule_timeout", WaitFor::Events),
    ("io_cqring_wait", WaitFor::Events),
    ("do_nanosleep", WaitFor::Timer),
    ("hrtimer_nanosleep", WaitFor::Timer),
    ("anon_pipe_read", WaitFor::Pipe),
    ("pipe_", WaitFor::Pipe),
    ("eventfd_read", WaitFor::Pipe),
    ("wait_woken", WaitFor::Socket),
    ("sk_wait_data", WaitFor::Socket),
    ("sk_stream_wait", WaitFor::Socket),
    ("inet_wait_for_connect", WaitFor::Socket),
    ("__inet_stream_connect", WaitFor::Socket),
    ("tcp_recvmsg", WaitFor::Socket),
    ("unix_stream_", WaitFor::Socket),
    ("__skb_wait_for_more_packets", WaitFor::Socket),
    ("do_wait", WaitFor::Child),
    ("rwsem_", WaitFor::KernelLock),
    ("__mutex_lock", WaitFor::KernelLock),
    ("percpu_down", WaitFor::KernelLock),
    ("__lock_sock", WaitFor::KernelLock),
];

/// Names of the kernel's functions by address.
pub struct Symbols {
    text: String,
    /// Addresses, and where the names are in the text; in order.
    places: Vec<(u64, (usize, usize))>,
}

impl Symbols {
    /// Of the running kernel; none when it hides its addresses.
    pub fn of_this_kernel() -> Option<Self> {
        Self::parse(fs::read_to_string("/proc/kallsyms").ok()?)
    }

    /// Lines of an address, a type and a name; those of functions are kept.
    fn parse(text: String) -> Option<Self> {
        let mut places = Vec::new();
        let mut begin = 0;
        for line in text.split_inclusive('\n') {
            let mut words = line.split_ascii_whitespace();
            let address = words.next().and_then(|word| u64::from_str_radix(word, 16).ok());
            let is_code = words.next().is_some_and(|kind| matches!(kind, "t" | "T" | "w" | "W"));
            if let (Some(address), true, Some(name)) = (address, is_code, words.next()) {
                let at = begin + (name.as_ptr() as usize - line.as_ptr() as usize);
                places.push((address, (at, at + name.len())));
            }
            begin += line.len();
        }
        places.sort_unstable();
        // Where addresses are hidden, all are zero.
        places.last().is_some_and(|(address, _)| *address != 0).then_some(Self { text, places })
    }

    /// The function that an address is in.
    fn name(&self, address: u64) -> Option<&str> {
        let after = self.places.partition_point(|(begin, _)| *begin <= address);
        let (_, (begin, end)) = self.places.get(after.checked_sub(1)?)?;
        Some(&self.text[*begin..*end])
    }

    /// The functions of a stack, the innermost first, without those that every sleeper has.
    pub fn functions(&self, addresses: &[u64]) -> Vec<String> {
        let names = addresses.iter().filter(|address| **address != 0);
        let names = names.filter_map(|address| self.name(*address));
        let tells = |name: &&str| !COMMON.contains(name) && !name.starts_with("bpf_prog_");
        names.filter(tells).map(ToString::to_string).collect()
    }
}

/// What a thread waits for.
pub fn wait_for(functions: &[String]) -> WaitFor {
    let begins = |begin: &str| functions.iter().any(|name| name.starts_with(begin));
    let row = WAITS.iter().find(|(begin, _)| begins(begin));
    row.map_or(WaitFor::Other, |(_, what)| *what)
}

/// The functions that are shown.
pub fn shown(mut functions: Vec<String>) -> Vec<String> {
    functions.truncate(SHOWN);
    functions
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "ffffffff81000000 T _text\nffffffff81000100 t schedule\n\
                        ffffffff81000200 T futex_wait\nffffffff81000300 D data\n";

    #[test]
    fn addresses_become_functions_and_sleepers_say_why() {
        let symbols = Symbols::parse(TEXT.to_string()).unwrap();
        let stack = [0xffff_ffff_8100_0150, 0xffff_ffff_8100_0210, 0, 0x10];
        let functions = symbols.functions(&stack);
        assert_eq!(functions, ["futex_wait"]);
        assert_eq!(wait_for(&functions), WaitFor::Futex);
        assert_eq!(wait_for(&[]), WaitFor::Other);
    }

    #[test]
    fn hidden_addresses_are_no_names() {
        let hidden = "0000000000000000 T _text\n0000000000000000 t schedule\n";
        assert!(Symbols::parse(hidden.to_string()).is_none());
        assert!(Symbols::parse(String::new()).is_none());
    }

    #[test]
    fn a_disk_below_a_lock_of_a_file_is_a_disk() {
        let stack = |names: &[&str]| names.iter().map(ToString::to_string).collect::<Vec<_>>();
        let fsync = stack(&["io_schedule", "folio_wait_bit_common", "file_write_and_wait_range"]);
        assert_eq!(wait_for(&fsync), WaitFor::Disk);
        let lock = stack(&["rwsem_down_write_slowpath", "ext4_file_write_iter"]);
        assert_eq!(wait_for(&lock), WaitFor::KernelLock);
        assert_eq!(wait_for(&stack(&["ep_poll", "do_epoll_wait"])), WaitFor::Events);
    }
}
