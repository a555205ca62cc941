//! The system call `bpf(2)`: maps, programs and hooks, each a descriptor that dies with its owner.
//!
//! `include/uapi/linux/bpf.h`. Nothing is pinned: when the process ends, however it ends, the
//! kernel detaches the programs and frees the maps.
#![allow(unsafe_code, reason = "bpf(2) takes addresses, which no safe function offers")]

use std::fs;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use thiserror::Error;

const MAP_CREATE: i32 = 0;
const MAP_LOOKUP: i32 = 1;
const MAP_UPDATE: i32 = 2;
const MAP_NEXT_KEY: i32 = 4;
const PROG_LOAD: i32 = 5;
const PROG_NEXT_ID: i32 = 11;
const INFO_BY_FD: i32 = 15;
const RAW_TRACEPOINT_OPEN: i32 = 17;
const ENABLE_STATS: i32 = 32;

const PROG_RAW_TRACEPOINT: u32 = 17;
/// The helpers that read the kernel's memory and its stacks are for programs whose licence agrees
/// with the kernel's. This code is offered under MIT as well, which does.
const LICENSE: &[u8] = b"Dual MIT/GPL\0";
/// Room for the verifier's log, bytes: its end has the reason.
const LOG_BYTES: usize = 1 << 20;
/// Lines of that log that are shown.
const LOG_LINES: usize = 6;
/// The longest name of a map or program with its final zero, bytes.
const NAME_BYTES: usize = 16;
/// The size of `struct bpf_prog_info` that is read, bytes; older kernels fill less.
const INFO_BYTES: usize = 216;
/// Where the nanoseconds, the runs and the missed runs are in it.
const INFO_TIME: usize = 192;
const INFO_RUNS: usize = 200;
const INFO_MISSED: usize = 208;

/// Why the kernel took no program.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum BpfError {
    /// This user may not.
    #[error("this user may not load programs into the kernel: {0}")]
    NotAllowed(String),
    /// This kernel has no such hook.
    #[error("this kernel has no hook {0}")]
    NoHook(String),
    /// The kernel's verifier refused a program.
    #[error("the kernel refused the program: {0}")]
    Refused(String),
    /// Anything else, by what was tried.
    #[error("{0}: {1}")]
    Failed(&'static str, String),
}

/// Kinds of maps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MapKind {
    /// Values by key.
    Hash = 1,
    /// Values by index, each CPU its own.
    PerCpuArray = 6,
    /// Addresses of functions by the number of a stack.
    Stacks = 7,
    /// Values by key; when it is full, those used longest ago make room.
    Recent = 9,
}

/// What a map holds.
#[derive(Debug, Clone, Copy)]
pub struct Shape {
    /// Its kind.
    pub kind: MapKind,
    /// The size of a key, bytes.
    pub key: u32,
    /// The size of a value, bytes; for [`MapKind::PerCpuArray`] a multiple of 8.
    pub value: u32,
    /// How many.
    pub entries: u32,
}

/// A map.
#[derive(Debug)]
pub struct Map {
    fd: OwnedFd,
    shape: Shape,
}

/// A program that was loaded.
#[derive(Debug)]
pub struct Program {
    fd: OwnedFd,
}

/// What a program cost, by the kernel's own account.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Cost {
    /// How often it ran.
    pub runs: u64,
    /// For how long in total, nanoseconds.
    pub ns: u64,
    /// How often it did not, because it was running on that CPU already; zero before Linux 5.12.
    pub missed: u64,
}

/// The arguments of one call.
struct Attr([u8; 128]);

impl Attr {
    fn new() -> Self {
        Self([0; 128])
    }

    fn word(mut self, at: usize, value: u32) -> Self {
        self.0[at..at + 4].copy_from_slice(&value.to_ne_bytes());
        self
    }

    fn address<T>(mut self, at: usize, of: *const T) -> Self {
        self.0[at..at + 8].copy_from_slice(&(of as u64).to_ne_bytes());
        self
    }

    fn name(mut self, at: usize, name: &str) -> Self {
        let bytes = name.bytes().take(NAME_BYTES - 1);
        self.0[at..].iter_mut().zip(bytes).for_each(|(to, byte)| *to = byte);
        self
    }

    /// Makes the call. Addresses in it must be valid for what the command reads and writes.
    fn call(&mut self, command: i32) -> io::Result<i32> {
        let (attr, size) = (self.0.as_mut_ptr(), self.0.len());
        // SAFETY: the attributes are as long as stated; the kernel reads and writes only there and
        // at the addresses in them, which each caller takes from slices that live until after.
        let result = unsafe { libc::syscall(libc::SYS_bpf, command, attr, size) };
        if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result as i32) }
    }

    /// [`Attr::call`], for one that writes nothing into its arguments.
    fn run(mut self, command: i32) -> io::Result<i32> {
        self.call(command)
    }

    fn descriptor(self, command: i32) -> io::Result<OwnedFd> {
        // SAFETY: these commands respond with a new descriptor that has no other owner.
        self.run(command).map(|fd| unsafe { OwnedFd::from_raw_fd(fd) })
    }
}

/// What an error number of `bpf(2)` means.
fn failed(what: &'static str, error: &io::Error) -> BpfError {
    match error.raw_os_error() {
        Some(libc::EPERM | libc::EACCES) => BpfError::NotAllowed(why_not_allowed()),
        Some(libc::ENOSYS) => BpfError::Failed(what, "this kernel has no bpf(2)".to_string()),
        _ => BpfError::Failed(what, error.to_string()),
    }
}

/// The likely reason of EPERM: capabilities, or a kernel that is locked down.
fn why_not_allowed() -> String {
    let lockdown = fs::read_to_string("/sys/kernel/security/lockdown").unwrap_or_default();
    if lockdown.contains("[confidentiality]") {
        return "the kernel is locked down (/sys/kernel/security/lockdown)".to_string();
    }
    "that needs root, or CAP_BPF and CAP_PERFMON, which containers rarely have".to_string()
}

impl Map {
    /// A new map, with zeros.
    pub fn new(name: &str, shape: Shape) -> Result<Self, BpfError> {
        let Shape { kind, key, value, entries } = shape;
        let attr = Attr::new().word(0, kind as u32).word(4, key).word(8, value);
        let fd = attr.word(12, entries).name(28, name).descriptor(MAP_CREATE);
        Ok(Self { fd: fd.map_err(|error| failed("a map", &error))?, shape })
    }

    /// The descriptor, for a program that uses it.
    pub fn descriptor(&self) -> i32 {
        self.fd.as_raw_fd()
    }

    fn attr(&self, key: &[u8]) -> Attr {
        assert_eq!(key.len(), self.shape.key as usize, "the size of the key");
        Attr::new().word(0, self.fd.as_raw_fd() as u32).address(8, key.as_ptr())
    }

    /// Puts a value.
    pub fn put(&self, key: &[u8], value: &[u8]) -> Result<(), BpfError> {
        assert_eq!(value.len(), self.shape.value as usize, "the size of the value");
        let done = self.attr(key).address(16, value.as_ptr()).run(MAP_UPDATE);
        done.map(|_| ()).map_err(|error| failed("an entry of a map", &error))
    }

    /// The value of a key; for [`MapKind::PerCpuArray`] those of all CPUs one after the other.
    pub fn get(&self, key: &[u8]) -> Option<Vec<u8>> {
        let copies = match self.shape.kind {
            MapKind::PerCpuArray => possible_cpus()?,
            MapKind::Hash | MapKind::Stacks | MapKind::Recent => 1,
        };
        let mut value = vec![0; self.shape.value as usize * copies];
        self.attr(key).address(16, value.as_mut_ptr()).run(MAP_LOOKUP).ok()?;
        Some(value)
    }

    /// The words of a value of [`MapKind::PerCpuArray`], added up over the CPUs.
    pub fn sums(&self, index: u32) -> Option<Vec<u64>> {
        let value = self.get(&index.to_ne_bytes())?;
        let words = words(&value);
        let each = self.shape.value as usize / 8;
        let of_cpus = |at: usize| words.iter().skip(at).step_by(each);
        Some((0..each).map(|at| of_cpus(at).sum::<u64>()).collect())
    }

    /// All keys and their values, of maps with keys.
    pub fn entries(&self) -> Vec<(Vec<u8>, Vec<u8>)> {
        let mut entries = Vec::new();
        let mut next = vec![0; self.shape.key as usize];
        let first = Attr::new().word(0, self.fd.as_raw_fd() as u32);
        let mut found = first.address(16, next.as_mut_ptr()).run(MAP_NEXT_KEY);
        // A map that changes meanwhile could be walked without end.
        while found.is_ok() && entries.len() < 2 * self.shape.entries as usize {
            let key = next.clone();
            if let Some(value) = self.get(&key) {
                entries.push((key.clone(), value));
            }
            found = self.attr(&key).address(16, next.as_mut_ptr()).run(MAP_NEXT_KEY);
        }
        entries
    }
}

/// Eight-byte words in the order of the machine; a rest is left out.
pub fn words(bytes: &[u8]) -> Vec<u64> {
    bytes
        .chunks_exact(8)
        .filter_map(|word| Some(u64::from_ne_bytes(word.try_into().ok()?)))
        .collect()
}

/// CPUs that the kernel may ever have: a value of a per-CPU map has as many copies.
fn possible_cpus() -> Option<usize> {
    let list = fs::read_to_string("/sys/devices/system/cpu/possible").ok()?;
    // The list ends with the highest: `0-127`.
    let last = list.trim().rsplit([',', '-']).next()?;
    last.parse::<usize>().ok()?.checked_add(1)
}

impl Program {
    /// Has the kernel verify and compile a program for a raw tracepoint.
    pub fn load(name: &str, code: &[[u8; 8]]) -> Result<Self, BpfError> {
        let count = code.len() as u32;
        let attr = || {
            let attr = Attr::new().word(0, PROG_RAW_TRACEPOINT).word(4, count);
            attr.address(8, code.as_ptr()).address(16, LICENSE.as_ptr()).name(48, name)
        };
        let error = match attr().descriptor(PROG_LOAD) {
            Ok(fd) => return Ok(Self { fd }),
            Err(error) => error,
        };
        // Only a second time with a log: a log that is too small would be a failure of its own.
        let mut log = vec![0_u8; LOG_BYTES];
        let logged = attr().word(24, 1).word(28, LOG_BYTES as u32).address(32, log.as_mut_ptr());
        if let Ok(fd) = logged.descriptor(PROG_LOAD) {
            return Ok(Self { fd });
        }
        let text = String::from_utf8_lossy(log.split(|byte| *byte == 0).next().unwrap_or_default());
        let lines: Vec<&str> = text.lines().filter(|line| !line.is_empty()).collect();
        match lines.len() {
            0 => Err(failed("a program", &error)),
            all => Err(BpfError::Refused(lines[all.saturating_sub(LOG_LINES)..].join("; "))),
        }
    }

    /// Attaches the program to a raw tracepoint until what is returned is dropped.
    pub fn attach(&self, hook: &str) -> Result<OwnedFd, BpfError> {
        let name = format!("{hook}\0");
        let attr = Attr::new().word(8, self.fd.as_raw_fd() as u32).address(0, name.as_ptr());
        attr.descriptor(RAW_TRACEPOINT_OPEN).map_err(|error| match error.raw_os_error() {
            Some(libc::ENOENT) => BpfError::NoHook(hook.to_string()),
            _ => failed("a hook", &error),
        })
    }

    /// Its cost so far, which counts only while [`statistics`] are on; none where the kernel keeps
    /// none.
    pub fn cost(&self) -> Option<Cost> {
        let mut info = [0_u8; INFO_BYTES];
        let attr = Attr::new().word(0, self.fd.as_raw_fd() as u32).word(4, INFO_BYTES as u32);
        attr.address(8, info.as_mut_ptr()).run(INFO_BY_FD).ok()?;
        let at = |offset: usize| words(&info[offset..offset + 8]).first().copied();
        Some(Cost { ns: at(INFO_TIME)?, runs: at(INFO_RUNS)?, missed: at(INFO_MISSED)? })
    }
}

/// Has the kernel count what programs cost, until what is returned is dropped; since Linux 5.8.
pub fn statistics() -> Result<OwnedFd, BpfError> {
    Attr::new().descriptor(ENABLE_STATS).map_err(|error| failed("statistics", &error))
}

/// The numbers of all programs in the kernel: for tests that none remains.
pub fn program_ids() -> Result<Vec<u32>, BpfError> {
    let (mut ids, mut last) = (Vec::new(), 0);
    loop {
        let mut attr = Attr::new().word(0, last);
        match attr.call(PROG_NEXT_ID) {
            Ok(_) => last = u32::from_ne_bytes([attr.0[4], attr.0[5], attr.0[6], attr.0[7]]),
            Err(error) if error.raw_os_error() == Some(libc::ENOENT) => return Ok(ids),
            Err(error) => return Err(failed("the list of programs", &error)),
        }
        ids.push(last);
    }
}
