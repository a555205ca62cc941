//! The text of `perf script -F comm,pid,tid,time,event,ip,sym,dso`.
//!
//! A sample is one line about the thread, then one indented line for each frame, the innermost
//! first, and an empty line. Names of threads and of functions may contain blanks and parentheses.
//! Other lines are skipped: newer versions may print more.

use crate::samples::{Samples, Spot, Sum, TooDeep};
use model::maps::IntoMap;
use std::collections::BTreeMap;

/// Fields to request from `perf script`.
pub const FIELDS: &str = "comm,pid,tid,time,event,ip,sym,dso";
/// Most frames of one sample; frames above are cut off.
const DEPTH_MAX: usize = 256;
/// Longest name kept of a function, bytes.
const NAME_MAX: usize = 512;
/// Most distinct processes.
const PROCESSES_MAX: usize = 4096;

/// What a text holds.
#[derive(Debug)]
pub struct Parsed {
    /// The samples by process.
    pub by_process: BTreeMap<u32, Samples>,
    /// Whether time in the kernel is not among them: `perf record` leaves it out, without a word,
    /// when the user may not sample the kernel (`kernel.perf_event_paranoid` above 1).
    pub lacks_kernel: bool,
}

/// Reads the samples. Each stands for `period_ns` of CPU time.
pub fn parse(text: &[u8], period_ns: i64) -> Result<Parsed, TooDeep> {
    let mut sums: BTreeMap<u32, Sum> = BTreeMap::new();
    let mut lacks_kernel = false;
    let mut open: Option<(u32, Vec<Spot>)> = None;
    for line in text.split(|&byte| byte == b'\n').chain([&b""[..]]) {
        let is_frame = line.first().is_some_and(|byte| matches!(byte, b'\t' | b' '));
        match &mut open {
            Some((_, places)) if is_frame && places.len() < DEPTH_MAX => {
                places.extend(frame(line));
            }
            // Beyond what is kept, or a frame without a sample.
            _ if is_frame && !line.trim_ascii().is_empty() => {}
            _ => {
                if let Some((pid, places)) = open.take()
                    && !places.is_empty()
                    && (sums.len() < PROCESSES_MAX || sums.contains_key(&pid))
                {
                    sums.entry(pid).or_default().add(places.iter(), (1, period_ns))?;
                }
                open = thread(line).map(|pid| (pid, Vec::new()));
                lacks_kernel |= open.is_some() && is_of_user_code(line);
            }
        }
    }
    let by_process = sums.into_iter().map(|(pid, sum)| (pid, sum.finish())).into_map();
    Ok(Parsed { by_process, lacks_kernel })
}

/// Whether the event of a sample, the last word of its line, excludes the kernel: it has the
/// modifier `u` and not `k`, as in `cpu-clock:u:` or `cpu_core/cycles/u:` (perf-list(1)).
fn is_of_user_code(line: &[u8]) -> bool {
    let word = line.trim_ascii_end().rsplit(|&byte| byte == b' ').next().unwrap_or_default();
    let event = word.strip_suffix(b":").unwrap_or(word);
    let Some(at) = event.iter().rposition(|byte| matches!(byte, b':' | b'/')) else {
        return false;
    };
    let modifiers = &event[at + 1..];
    modifiers.contains(&b'u') && !modifiers.contains(&b'k')
}

/// The process of a line such as `two words 17/18 48345.869379: cpu-clock:`.
fn thread(line: &[u8]) -> Option<u32> {
    let mut words = line.split(|&byte| byte == b' ').filter(|word| !word.is_empty());
    // A name may look like the ids, so the last such word counts.
    let ids = words.rfind(|word| word.contains(&b'/') && number(word).is_some())?;
    number(ids)
}

fn number(ids: &[u8]) -> Option<u32> {
    let (pid, tid) = std::str::from_utf8(ids).ok()?.split_once('/')?;
    tid.parse::<u32>().ok()?;
    pid.parse().ok()
}

/// The place of a line such as `ffffffff820281e0 name of it (/path/of/program)`, indented.
fn frame(line: &[u8]) -> Option<Spot> {
    let line = String::from_utf8_lossy(line);
    let (address, rest) = line.trim().split_once(' ')?;
    let address = u64::from_str_radix(address, 16).ok()?;
    // The file of a running program may be deleted or replaced.
    let rest = rest.strip_suffix(" (deleted))").map_or(rest, |before| before);
    let (name, object) = rest.rsplit_once(" (").unwrap_or((rest, ""));
    let object = object.strip_suffix(')').unwrap_or(object);
    // The upper half of all addresses is the kernel's. The name of the file does not tell: memory
    // of a process may have a name in brackets, such as `[uprobes]`, and the caller of a function
    // without a frame pointer is often in none.
    let is_kernel = address >> 63 == 1 || object.starts_with("[kernel.");
    let mut name: String = name.chars().take(NAME_MAX).collect();
    if name == "[unknown]" || name.is_empty() {
        let file = object.rsplit('/').next().unwrap_or_default();
        name = format!("[{}]", file.trim_matches(['[', ']']));
    }
    if is_kernel {
        name.push_str(" [k]");
    }
    Some(Spot { function: name.into(), line: 0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
odd 9/9 name 17/18 48345.869379: cpu-clock: 
\tffffffff820053db tcp_v4_rcv ([kernel.kallsyms])
\t         463cf0 main.(*T).serve (/tmp/aprogram (deleted))
\t         463cf1 ns::f(int, char) const (/usr/lib/libx.so)
\t              0 [unknown] (/usr/lib/libc.so.6)

:24219 17/24219 48345.871241: cpu-clock: 
\tffffffff820053db tcp_v4_rcv ([kernel.kallsyms])

idle 5/5 48346.0: cpu-clock: 

other 6/6 48346.0: cpu-clock: 
\t         10 f (/x)";

    #[test]
    fn samples_are_those_of_their_process() {
        let parsed = parse(TEXT.as_bytes(), 10).unwrap().by_process;
        assert_eq!(parsed.keys().copied().collect::<Vec<_>>(), [6, 17], "a sample needs a frame");
        let server = &parsed[&17];
        assert_eq!((server.count(), server.total()), (2, 20));
        let deepest = server.stacks.iter().max_by_key(|stack| stack.spots.len()).unwrap();
        let names: Vec<_> = server.places(deepest).map(|spot| &*spot.function).collect();
        let expected =
            ["tcp_v4_rcv [k]", "main.(*T).serve", "ns::f(int, char) const", "[libc.so.6]"];
        assert_eq!(names, expected);
    }

    #[test]
    fn a_frame_of_no_file_is_of_the_kernel_only_by_its_address() {
        let named = |line: &str| frame(line.as_bytes()).unwrap().function.to_string();
        assert_eq!(named("\t    7f12a3b4c5d6 [unknown] ([unknown])"), "[unknown]");
        assert_eq!(named("\tffffffffc0123456 [unknown] ([unknown])"), "[unknown] [k]");
        assert_eq!(named("\tffffffffc0123457 nf_hook ([nf_tables])"), "nf_hook [k]");
        assert_eq!(named("\t    7fffffffe000 [unknown] ([uprobes])"), "[uprobes]");
        assert_eq!(named("\t    55d0a3b4c5d6 stub ([anon:code])"), "stub");
        assert_eq!(named("\t    7ffcc53f9a10 __vdso_gettimeofday ([vdso])"), "__vdso_gettimeofday");
    }

    #[test]
    fn samples_of_user_code_alone_are_known_by_their_event() {
        let lacks_kernel = |event: &str| {
            let text = format!("a:u 1/1 2.0: {event}: \n\t1 f (/x)\n");
            parse(text.as_bytes(), 1).unwrap().lacks_kernel
        };
        for event in ["cpu-clock:u", "cycles:u", "cycles:uppp", "cycles:uH", "cpu_core/cycles/u"] {
            assert!(lacks_kernel(event), "{event}");
        }
        for event in ["cpu-clock", "cycles:P", "cycles:ku", "cpu_core/cycles/", "cpu/umask=1/k"] {
            assert!(!lacks_kernel(event), "{event}");
        }
        assert!(!parse(b"# cycles:u:\n", 1).unwrap().lacks_kernel, "no sample");
    }

    #[test]
    fn what_is_no_sample_is_skipped() {
        let parse = |text: &[u8]| parse(text, 1).unwrap().by_process;
        assert!(parse(b"").is_empty());
        assert!(parse(b"\tffff f (x)\n# comment\nname 1 2.0: x:\n\tffff f (x)\n").is_empty());
        let deep = format!("n 1/1 0: x:\n{}", "\t1 f (x)\n".repeat(DEPTH_MAX * 2));
        let parsed = parse(deep.as_bytes());
        assert_eq!(parsed[&1].stacks[0].spots.len(), DEPTH_MAX);
        assert_eq!(parsed[&1].count(), 1, "what is cut off is not a sample of its own");
    }
}
