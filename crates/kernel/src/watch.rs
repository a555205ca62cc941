//! Loads the programs, attaches them for a while, and reads what they saw.

use crate::bpf::{self, BpfError, Map, Program, words};
use crate::btf::{self, Btf, BtfError};
use crate::code::{Code, bucket_end};
use crate::disks::{self, Requests};
use crate::drops::{self, OF_SERVER, Packets};
use crate::maps::{BUCKETS, Counted, Maps, SUM, Timed};
use crate::sockets::{self, Sockets};
use crate::stacks::{self, Symbols};
use crate::threads::{self, Tasks};
use model::kernel::{
    ByConnection, DiskTime, DiskTimes, Dropped, Durations, KernelReadings, KernelWait, ProgramCost,
    RanInstead, RequestSplit, ThreadWaits, Unreadable, Whose,
};
use model::units::NS_PER_S;
use std::collections::BTreeMap;
use std::fs;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process;

/// Waits, tasks and devices that are kept, the largest of each.
const ROWS_MAX: usize = 24;
/// The state of a task that a signal cannot wake.
const UNINTERRUPTIBLE: u32 = 2;
/// The flag of a thread of the kernel in `/proc/PID/stat`.
const KERNEL_THREAD: u64 = 0x0020_0000;

/// What is watched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    /// The server's processes.
    pub pids: Vec<u32>,
    /// The port of this host that its connections come to; none when they do not come by TCP.
    pub port: Option<u16>,
    /// How much of it.
    pub scope: Scope,
}

/// How much is watched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// Everything that this kernel shows.
    All,
    /// The split of requests alone.
    Split,
}

/// What programs belong together: all of them, or none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    Threads,
    Split,
    Acknowledged,
    Drops,
    Retransmits,
    ResetsSent,
    ResetsReceived,
    Disks,
}

impl Part {
    fn name(self) -> &'static str {
        match self {
            Self::Threads => "what the server's threads waited for",
            Self::Split => "the split of requests",
            Self::Acknowledged => "when responses were acknowledged",
            Self::Drops => "dropped packets",
            Self::Retransmits => "retransmits",
            Self::ResetsSent => "resets sent",
            Self::ResetsReceived => "resets received",
            Self::Disks => "block requests",
        }
    }
}

/// A program and its hook.
struct Loaded {
    hook: &'static str,
    program: Program,
    /// Present while it is attached.
    link: Option<OwnedFd>,
}

/// Programs in the kernel.
pub struct Watch {
    asked: Asked,
    maps: Option<Maps>,
    programs: BTreeMap<Part, Vec<Loaded>>,
    unreadable: Vec<Unreadable>,
    /// Names of the reasons of drops.
    reasons: Vec<(String, u32)>,
    statistics: Option<OwnedFd>,
    begin_ns: u64,
}

/// Whether processes have the numbers here that the kernel's programs see: those of its first PID
/// namespace, which always has this inode (`PROC_PID_INIT_INO`, `include/linux/proc_ns.h`).
fn is_first_namespace() -> bool {
    const FIRST: &str = "pid:[4026531836]";
    fs::read_link("/proc/self/ns/pid").is_ok_and(|link| link.as_os_str() == FIRST)
}

/// Whether this process may have programs in the kernel that see a server: by its capabilities, by
/// its processes' numbers, and by the types of the kernel. Loading may be refused all the same.
pub fn may_watch() -> bool {
    /// Bits of `linux/capability.h`.
    const CAP_SYS_ADMIN: u64 = 1 << 21;
    const BOTH: u64 = 1 << 38 | 1 << 39;
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let held = line.and_then(|held| u64::from_str_radix(held.trim(), 16).ok()).unwrap_or(0);
    let is_allowed = held & CAP_SYS_ADMIN != 0 || held & BOTH == BOTH;
    is_allowed && is_first_namespace() && Path::new(btf::PATH).exists()
}

/// Programs of a part, by hook.
type Programs = Vec<(&'static str, Code)>;

impl Watch {
    /// Loads what this kernel takes; the rest is unreadable, with the reason.
    pub fn load(asked: Asked) -> Self {
        let mut watch = Self {
            asked,
            maps: None,
            programs: BTreeMap::new(),
            unreadable: Vec::new(),
            reasons: Vec::new(),
            statistics: None,
            begin_ns: 0,
        };
        if let Err(why) = watch.load_all() {
            watch.lack("evidence from the kernel", why);
        }
        watch
    }

    fn lack(&mut self, what: &str, why: String) {
        self.unreadable.push(Unreadable { what: what.to_string(), why });
    }

    fn load_all(&mut self) -> Result<(), String> {
        let maps = Maps::new().map_err(|error| error.to_string())?;
        let btf = Btf::of_this_kernel().map_err(|error| error.to_string())?;
        if !is_first_namespace() {
            let why = "this program is in a container, whose processes have other numbers there \
                       than in the kernel: run ceiling on the host itself";
            return Err(why.to_string());
        }
        for pid in &self.asked.pids {
            let put = maps.servers.put(&pid.to_ne_bytes(), &1_u32.to_ne_bytes());
            put.map_err(|error| error.to_string())?;
        }
        self.statistics = bpf::statistics().map_err(|error| error.to_string()).map_or_else(
            |why| {
                self.lack("what the programs cost", why);
                None
            },
            Some,
        );
        if self.asked.scope == Scope::All {
            self.take(Part::Threads, threads_programs(&maps, &btf));
            self.take(Part::Disks, disks_programs(&maps, &btf));
        }
        match self.asked.port {
            Some(port) => self.load_network(&maps, &btf, port),
            None => {
                let why = "requests do not come by TCP to a port of this host".to_string();
                self.lack("connections and packets", why);
            }
        }
        self.maps = Some(maps);
        Ok(())
    }

    fn load_network(&mut self, maps: &Maps, btf: &Btf, port: u16) {
        let found = Sockets::of(btf, port).and_then(|sockets| Ok((sockets, Packets::of(btf)?)));
        let (sockets, packets) = match found {
            Ok(found) => found,
            Err(error) => return self.lack("connections and packets", error.to_string()),
        };
        let split = vec![
            ("sk_data_ready", sockets::ready(maps, &sockets)),
            ("sock_recv_length", sockets::read(maps, &sockets)),
            ("sock_send_length", sockets::written(maps, &sockets)),
        ];
        self.take(Part::Split, Ok(split));
        if self.asked.scope == Scope::Split {
            return;
        }
        let received = sockets::received(maps, &sockets);
        self.take(Part::Acknowledged, Ok(vec![("tcp_probe", received)]));
        self.reasons = btf.values("skb_drop_reason").unwrap_or_default();
        let dropped = drops::dropped(maps, &sockets, packets);
        self.take(Part::Drops, Ok(vec![("kfree_skb", dropped)]));
        let again = drops::of_socket(maps, &sockets, Counted::Retransmits);
        self.take(Part::Retransmits, Ok(vec![("tcp_retransmit_skb", again)]));
        let sent = drops::reset_sent(maps, &sockets, packets);
        self.take(Part::ResetsSent, Ok(vec![("tcp_send_reset", sent)]));
        let received = drops::of_socket(maps, &sockets, Counted::ResetsReceived);
        self.take(Part::ResetsReceived, Ok(vec![("tcp_receive_reset", received)]));
    }

    /// Loads the programs of a part, all or none.
    fn take(&mut self, part: Part, programs: Result<Programs, BtfError>) {
        let loaded = programs.map_err(|error| error.to_string()).and_then(|programs| {
            programs.into_iter().map(|(hook, code)| load(hook, code)).collect()
        });
        match loaded {
            Ok(loaded) => {
                self.programs.insert(part, loaded);
            }
            Err(why) => self.lack(part.name(), why),
        }
    }

    /// Attaches the programs. `now_ns` is the monotonic clock.
    pub fn attach(&mut self, now_ns: impl Fn() -> u64) {
        let mut lacking = Vec::new();
        for (part, loaded) in &mut self.programs {
            // Wake-ups before switches: a wait whose end cannot be seen is not begun.
            for one in loaded.iter_mut() {
                match one.program.attach(one.hook) {
                    Ok(link) => one.link = Some(link),
                    Err(error) => {
                        lacking.push((*part, error.to_string()));
                        break;
                    }
                }
            }
        }
        for (part, why) in lacking {
            self.programs.remove(&part);
            self.lack(part.name(), why);
        }
        self.begin_ns = now_ns();
    }

    /// Detaches the programs and tells what they saw.
    pub fn finish(mut self, now_ns: impl Fn() -> u64) -> KernelReadings {
        let end_ns = now_ns();
        self.programs.values_mut().flatten().for_each(|one| one.link = None);
        let mut readings = KernelReadings {
            window_ns: (self.begin_ns, end_ns),
            pids: self.asked.pids.clone(),
            port: self.asked.port,
            ..KernelReadings::default()
        };
        if let Some(maps) = self.maps.take() {
            self.read(&maps, end_ns, &mut readings);
        }
        if self.statistics.is_some() {
            readings.programs = self.programs.values().flatten().filter_map(cost).collect();
        }
        readings.unreadable = self.unreadable;
        readings
    }

    fn read(&mut self, maps: &Maps, end_ns: u64, readings: &mut KernelReadings) {
        let has = |part| self.programs.contains_key(&part);
        let durations = |timed| durations(&maps.histograms, timed);
        readings.split = has(Part::Split).then(|| RequestSplit {
            unread: durations(Timed::Unread),
            inside: durations(Timed::Inside),
            acknowledged: has(Part::Acknowledged).then(|| durations(Timed::Acknowledged)),
        });
        let counters = maps.counters.sums(0).unwrap_or_default();
        let counter = |counted: Counted, next| {
            counters.get(counted as usize + next).copied().unwrap_or_default()
        };
        let by_connection = |part, counted| {
            has(part).then(|| ByConnection {
                of_server: counter(counted, 0),
                of_others: counter(counted, 1),
            })
        };
        readings.retransmits = by_connection(Part::Retransmits, Counted::Retransmits);
        readings.resets_sent = by_connection(Part::ResetsSent, Counted::ResetsSent);
        readings.resets_received = by_connection(Part::ResetsReceived, Counted::ResetsReceived);
        readings.drops = has(Part::Drops).then(|| self.dropped(maps));
        readings.disks = has(Part::Disks)
            .then(|| DiskTimes { all: durations(Timed::Disk), devices: devices(maps) });
        if has(Part::Threads) {
            let symbols = Symbols::of_this_kernel();
            readings.threads = Some(ThreadWaits {
                waits: waits(maps, end_ns, symbols.as_ref()),
                short_count: counter(Counted::ShortWaits, 0),
                short_s: counter(Counted::ShortWaitsNs, 0) as f64 / NS_PER_S as f64,
                run_queue: durations(Timed::RunQueue),
                ran_instead: ran_instead(maps, &self.asked.pids),
            });
            if symbols.is_none() {
                let why = "/proc/kallsyms hides addresses (kernel.kptr_restrict)".to_string();
                self.lack("where threads waited", why);
            }
        }
    }

    fn dropped(&self, maps: &Maps) -> Vec<Dropped> {
        let rows = maps.drops.entries().into_iter().filter_map(|(key, value)| {
            let (reason, class) = (word(&key, 0)?, word(&key, 4)?);
            let named = self.reasons.iter().find(|(_, value)| *value == reason);
            let name = named.map_or_else(
                || reason.to_string(),
                |(name, _)| name.trim_start_matches("SKB_DROP_REASON_").to_string(),
            );
            let count = *words(&value).first()?;
            Some(Dropped { reason: name, is_of_server: class == OF_SERVER, count })
        });
        let mut rows: Vec<Dropped> = rows.collect();
        rows.sort_by(|a, b| {
            let by = |one: &Dropped| (!one.is_of_server, std::cmp::Reverse(one.count));
            by(a).cmp(&by(b)).then_with(|| a.reason.cmp(&b.reason))
        });
        rows.truncate(ROWS_MAX);
        rows
    }
}

fn threads_programs(maps: &Maps, btf: &Btf) -> Result<Programs, BtfError> {
    let tasks = Tasks::of(btf)?;
    Ok(vec![
        ("sched_wakeup", threads::woken(maps, tasks)),
        ("sched_switch", threads::switched(maps, tasks)),
    ])
}

fn disks_programs(maps: &Maps, btf: &Btf) -> Result<Programs, BtfError> {
    let requests = Requests::of(btf)?;
    Ok(vec![
        ("block_rq_issue", disks::issued(maps)),
        ("block_rq_complete", disks::completed(maps, requests)),
    ])
}

fn load(hook: &'static str, code: Code) -> Result<Loaded, String> {
    let code = code.asm.finish().ok_or("a program of ceiling has a jump to nowhere")?;
    let loaded = Program::load(hook, &code).map(|program| Loaded { hook, program, link: None });
    loaded.map_err(|error: BpfError| format!("{hook}: {error}"))
}

fn cost(loaded: &Loaded) -> Option<ProgramCost> {
    let bpf::Cost { runs, ns, missed } = loaded.program.cost()?;
    Some(ProgramCost { hook: loaded.hook.to_string(), runs, ns, missed })
}

fn durations(histograms: &Map, timed: Timed) -> Durations {
    let words = histograms.sums(timed as u32).unwrap_or_else(|| vec![0; BUCKETS]);
    let buckets = words.iter().enumerate().take(SUM).filter(|(_, count)| **count > 0);
    let buckets: Vec<_> = buckets.map(|(at, count)| (bucket_end(at), *count)).collect();
    Durations::of(words[SUM], &buckets)
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

/// A count and nanoseconds as seconds.
fn pair(value: &[u8]) -> Option<(u64, f64)> {
    let [count, ns] = words(value)[..] else { return None };
    Some((count, ns as f64 / NS_PER_S as f64))
}

/// Waits by where, also those that have not ended: of these the time until the end.
fn waits(maps: &Maps, end_ns: u64, symbols: Option<&Symbols>) -> Vec<KernelWait> {
    let mut by_place: BTreeMap<(u32, u32), (u64, f64)> = BTreeMap::new();
    let ended = maps
        .waits
        .entries()
        .into_iter()
        .filter_map(|(key, value)| Some(((word(&key, 0)?, word(&key, 4)?), pair(&value)?)));
    let asleep = maps.threads.entries().into_iter().filter_map(|(_, value)| {
        let [out_ns, woken_ns, _] = words(&value)[..] else { return None };
        let place = (word(&value, 16)?, word(&value, 20)?);
        let ns = end_ns.saturating_sub(out_ns);
        let is_asleep = out_ns > 0 && woken_ns == 0 && place.1 != 0 && !is_ended(place.1);
        let is_long = ns >= threads::THRESHOLD_NS as u64;
        (is_asleep && is_long).then_some((place, (1, ns as f64 / NS_PER_S as f64)))
    });
    for (place, (count, seconds)) in ended.chain(asleep) {
        let sum = by_place.entry(place).or_default();
        (sum.0, sum.1) = (sum.0 + count, sum.1 + seconds);
    }
    let rows = by_place.into_iter().map(|((stack, state), (count, total_s))| {
        let addresses = maps.stacks.get(&stack.to_ne_bytes()).map(|stack| words(&stack));
        let functions = addresses.zip(symbols).map(|(stack, symbols)| symbols.functions(&stack));
        let functions = functions.unwrap_or_default();
        KernelWait {
            what: stacks::wait_for(&functions),
            functions: stacks::shown(functions),
            is_uninterruptible: state & UNINTERRUPTIBLE != 0,
            count,
            total_s,
        }
    });
    let mut rows: Vec<KernelWait> = together(rows);
    rows.sort_by(|a, b| b.total_s.total_cmp(&a.total_s));
    rows.truncate(ROWS_MAX);
    rows
}

/// Whether a task in this state has ended: EXIT_DEAD, EXIT_ZOMBIE or TASK_DEAD.
fn is_ended(state: u32) -> bool {
    state & 0xb0 != 0
}

/// Stacks that differ only where nothing is shown are one row.
fn together(rows: impl Iterator<Item = KernelWait>) -> Vec<KernelWait> {
    let mut all: Vec<KernelWait> = Vec::new();
    for row in rows {
        let is_same = |one: &&mut KernelWait| {
            (one.what, &one.functions, one.is_uninterruptible)
                == (row.what, &row.functions, row.is_uninterruptible)
        };
        match all.iter_mut().find(is_same) {
            Some(one) => {
                (one.count, one.total_s) = (one.count + row.count, one.total_s + row.total_s)
            }
            None => all.push(row),
        }
    }
    all
}

fn ran_instead(maps: &Maps, servers: &[u32]) -> Vec<RanInstead> {
    let mut rows: Vec<RanInstead> = Vec::new();
    for (key, value) in maps.ran_instead.entries() {
        let (Some(pid), Some((count, delayed_s))) = (word(&key, 0), pair(&value)) else { continue };
        let whose = whose(pid, servers);
        // All threads of a process are one row; an idle CPU has a task of its own for each CPU.
        let thread = key[4..].split(|byte| *byte == 0).next().unwrap_or_default();
        let name = match whose {
            Whose::Idle => "idle".to_string(),
            _ => process_name(pid).unwrap_or_else(|| String::from_utf8_lossy(thread).into_owned()),
        };
        match rows.iter_mut().find(|row| row.pid == pid) {
            Some(row) => {
                (row.count, row.delayed_s) = (row.count + count, row.delayed_s + delayed_s);
            }
            None => rows.push(RanInstead { name, pid, whose, count, delayed_s }),
        }
    }
    rows.sort_by(|a, b| b.delayed_s.total_cmp(&a.delayed_s));
    rows.truncate(ROWS_MAX);
    rows
}

fn whose(pid: u32, servers: &[u32]) -> Whose {
    match pid {
        0 => Whose::Idle,
        _ if servers.contains(&pid) => Whose::Server,
        _ if pid == process::id() => Whose::Generator,
        _ if is_of_kernel(pid) => Whose::Kernel,
        _ => Whose::Other,
    }
}

/// The name of a process; none when it is gone.
fn process_name(pid: u32) -> Option<String> {
    let name = fs::read_to_string(format!("/proc/{pid}/comm")).ok()?;
    Some(name.trim_end().to_string())
}

/// Whether a process is a thread of the kernel; one that is gone is none.
fn is_of_kernel(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // The name before it may contain anything; the flags are the seventh word after it.
    let flags = stat.rsplit(") ").next().and_then(|rest| rest.split(' ').nth(6));
    flags
        .and_then(|flags| flags.parse::<u64>().ok())
        .is_some_and(|flags| flags & KERNEL_THREAD != 0)
}

fn devices(maps: &Maps) -> Vec<DiskTime> {
    let rows = maps.devices.entries().into_iter().filter_map(|(key, value)| {
        let (number, (count, total_s)) = (word(&key, 0)?, pair(&value)?);
        Some(DiskTime { device: device_name(number), count, total_s })
    });
    let mut rows: Vec<DiskTime> = rows.collect();
    rows.sort_by(|a, b| b.total_s.total_cmp(&a.total_s).then_with(|| a.device.cmp(&b.device)));
    rows.truncate(ROWS_MAX);
    rows
}

/// A device's name; inside the kernel its number has twenty bits for the minor part.
fn device_name(number: u32) -> String {
    let numbers = format!("{}:{}", number >> 20, number & 0xf_ffff);
    let link = fs::read_link(format!("/sys/dev/block/{numbers}")).ok();
    let name = link.as_ref().and_then(|link| link.file_name());
    name.map_or(numbers, |name| name.to_string_lossy().into_owned())
}
