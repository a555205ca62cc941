//! A process of ours that is the parent of one server, and outlives us: it ends the whole tree of
//! the server when we ask for it, and when we are gone for any reason.
//!
//! It is this program again, with a hidden subcommand. A socket between us carries the order, the
//! server's process ID and how it ended. The end of that socket is the order to end: the kernel
//! closes it even for a process that was killed. Processes that the server started and left behind
//! become the keeper's children, so nothing of the tree escapes; if the keeper is killed, they
//! become ours, and we end them.

#![allow(unsafe_code, reason = "a child between fork and exec")]

use host::Root;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{
    Pid, PidfdFlags, Resource, Rlimit, Signal, WaitOptions, getrlimit, kill_process, pidfd_open,
    setrlimit,
};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::fd::{AsFd, FromRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// The hidden subcommand.
pub const WORD: &str = "keep";

/// How often the keeper checks its flag; everything else wakes it.
const LOOK: Duration = Duration::from_secs(1);
/// How often it checks whether what it ends has ended.
const STEP: Duration = Duration::from_millis(10);
/// How long processes that a server left behind may take to end in order.
const REST_LIMIT: Duration = Duration::from_secs(2);
/// How long the kernel may take to end killed processes, and to empty a group.
const KILLED_LIMIT: Duration = Duration::from_secs(10);
/// How long the keeper may take to start the server.
const START_LIMIT: Duration = Duration::from_secs(30);
/// Orders are shorter.
const ORDER_BYTES_MAX: u64 = 4 << 20;
/// Asks to end at once instead of in order.
const AT_ONCE: u8 = b'k';

/// Our children that have a session of their own and are not to be ended with what a keeper left:
/// keepers and watchdogs. Held while one is started.
static APART: Mutex<BTreeSet<u32>> = Mutex::new(BTreeSet::new());

/// Starts a process of ours that leaves our session.
pub(crate) fn spawn_apart(command: &mut Command) -> io::Result<Child> {
    let mut apart = APART.lock().unwrap_or_else(PoisonError::into_inner);
    let child = command.spawn()?;
    apart.insert(child.id());
    Ok(child)
}

/// What a keeper must start.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Order {
    /// The command that starts it.
    pub words: Vec<String>,
    /// Added to the environment.
    pub env: BTreeMap<String, String>,
    /// Where it is run; empty for our current folder.
    pub folder: PathBuf,
    /// CPUs that it may use; none means all.
    pub cpus: Vec<usize>,
    /// Control groups that it joins; they are removed after it.
    pub groups: Vec<PathBuf>,
    /// Open files that it may have by default (the soft limit), if that is not ours.
    pub open_files: Option<u64>,
    /// How long it may take to end in order.
    pub patience: Duration,
}

/// What the keeper reports.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Report {
    Started(u32),
    Refused(Refused),
    Ended(Ended),
}

/// Why it was not started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Refused {
    /// This host has none of the CPUs.
    Cpus,
    /// Another reason.
    Other(String),
}

impl Refused {
    fn of(what: &str) -> impl Fn(io::Error) -> Self {
        move |error| Self::Other(format!("{what}: {error}"))
    }
}

/// How it ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ended {
    /// As wait(2) returns it.
    status: i32,
    /// Whether it had to be killed, because it did not end in order.
    pub was_killed: bool,
}

impl Ended {
    /// Its status.
    pub fn status(self) -> ExitStatus {
        ExitStatus::from_raw(self.status)
    }
}

/// Our side of a kept process. Dropping it ends the tree at once.
#[derive(Debug)]
pub struct KeptProcess {
    keeper: Child,
    socket: UnixStream,
    unread: Vec<u8>,
    pid: u32,
    /// The process, while it exists; this shows its end before its keeper reports it.
    handle: Option<OwnedFd>,
    ended: Option<Ended>,
    /// How many processes were left and ended, once the keeper has ended without a report.
    lost: Option<usize>,
}

impl KeptProcess {
    /// Starts it. Its standard output is `lines` if that is a pipe, and its standard error is
    /// `log`.
    pub fn start(order: &Order, lines: Stdio, log: Stdio) -> Result<(Self, Lines), Refused> {
        let failed = Refused::of("cannot start a keeper");
        let (ours, theirs) = UnixStream::pair().map_err(&failed)?;
        let mut command = program();
        command.stdin(Stdio::from(OwnedFd::from(theirs))).stdout(lines).stderr(log);
        // What a killed keeper leaves becomes ours.
        let us = rustix::process::getpid();
        let adopt = rustix::process::set_child_subreaper(Some(us)).map_err(io::Error::from);
        let mut keeper = adopt.and_then(|()| spawn_apart(&mut command)).map_err(&failed)?;
        // Only the keeper may have the socket's other end.
        drop(command);
        let lines = keeper.stdout.take();
        let socket = ours;
        let mut kept = Self {
            keeper,
            socket,
            unread: Vec::new(),
            pid: 0,
            handle: None,
            ended: None,
            lost: None,
        };
        let mut text = serde_json::to_vec(order).unwrap_or_default();
        text.push(b'\n');
        kept.socket.write_all(&text).map_err(&failed)?;
        match kept.report(START_LIMIT) {
            Some(Report::Started(pid)) => {
                kept.pid = pid;
                kept.handle = pid_of(pid).and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok());
            }
            Some(Report::Refused(why)) => return Err(why),
            Some(Report::Ended(_)) | None => {
                return Err(failed(io::Error::other("it does not respond")));
            }
        }
        Ok((kept, lines))
    }

    /// The process, not its keeper.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// How it ended, once it has; then this waits until nothing of its tree is left.
    pub fn ended(&mut self) -> Option<Ended> {
        let runs = self.handle.as_ref().is_some_and(|handle| {
            poll(&mut [PollFd::new(handle, PollFlags::IN)], Some(&span(Duration::ZERO))) != Ok(1)
        });
        self.wait(if runs { Duration::ZERO } else { 2 * KILLED_LIMIT })
    }

    /// Why its end is not known: its keeper ended without a report, which only a kill causes.
    pub fn lost(&self) -> Option<String> {
        let (left, keeper) = (self.lost?, self.keeper.id());
        let processes = if left == 1 { "process" } else { "processes" };
        Some(format!("its keeper, process {keeper}, was killed; {left} {processes} ended with it"))
    }

    /// Asks it to end in order.
    pub fn ask(&self) {
        let _ = self.socket.shutdown(std::net::Shutdown::Write);
    }

    /// Waits for its end.
    pub fn wait(&mut self, limit: Duration) -> Option<Ended> {
        if self.ended.is_none()
            && let Some(Report::Ended(ended)) = self.report(limit)
        {
            self.ended = Some(ended);
        }
        self.ended
    }

    /// The next report, if it comes in time.
    fn report(&mut self, limit: Duration) -> Option<Report> {
        let begin = Instant::now();
        while self.lost.is_none() {
            if let Some(end) = self.unread.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.unread.drain(..=end).collect();
                return serde_json::from_slice(&line).ok();
            }
            let left = limit.saturating_sub(begin.elapsed());
            let ready = poll(&mut [PollFd::new(&self.socket, PollFlags::IN)], Some(&span(left)));
            let mut piece = [0; 1024];
            match ready {
                Ok(0) => return None,
                Err(rustix::io::Errno::INTR) => continue,
                Err(_) => self.lose(),
                Ok(_) => match self.socket.read(&mut piece) {
                    Ok(0) | Err(_) => self.lose(),
                    Ok(count) => self.unread.extend_from_slice(&piece[..count]),
                },
            }
        }
        None
    }

    /// Ends what its keeper left.
    fn lose(&mut self) {
        let _ = self.keeper.kill();
        let _ = self.keeper.wait();
        self.lost = Some(end_left());
    }
}

impl Drop for KeptProcess {
    fn drop(&mut self) {
        if self.ended.is_none() {
            let _ = self.socket.write_all(&[AT_ONCE]);
            self.ask();
            let _ = self.wait(2 * KILLED_LIMIT);
        }
        if self.ended.is_none() && self.lost.is_none() {
            // It hangs.
            self.lose();
        }
        let _ = self.keeper.wait();
        APART.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.keeper.id());
    }
}

/// The standard output of the kept process, if it is a pipe.
pub type Lines = Option<ChildStdout>;

/// This same program, even if its file was replaced since it started.
#[cfg(not(test))]
fn program() -> Command {
    let mut command = Command::new("/proc/self/exe");
    command.arg(WORD);
    command
}

/// The program of these tests, in which one test is a keeper. What the harness prints is not from
/// the server.
#[cfg(test)]
fn program() -> Command {
    let mut command = Command::new("sh");
    let script = "exec \"$0\" --exact keeper::tests::a_keeper_of_other_tests \
                  --nocapture 3>&1 >/dev/null";
    command.args(["-c", script]).arg(std::env::current_exe().unwrap_or_default());
    command.env("CEILING_TEST_KEEPER", "1");
    command
}

fn span(duration: Duration) -> Timespec {
    Timespec {
        tv_sec: i64::try_from(duration.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: i64::from(duration.subsec_nanos()),
    }
}

/// The subcommand. Once `stop` is set it ends the server in order.
pub fn keep(stop: &AtomicBool) -> Result<(), String> {
    // SAFETY: nothing else in this process uses its standard output, which the server gets.
    keep_with(stop, unsafe { OwnedFd::from_raw_fd(1) })
}

/// The subcommand, with a descriptor for the server's standard output. It is closed here, so that
/// the output ends with the server.
fn keep_with(stop: &AtomicBool, lines: OwnedFd) -> Result<(), String> {
    let error_words = |error: io::Error| error.to_string();
    let socket = io::stdin().as_fd().try_clone_to_owned().map_err(error_words)?;
    let mut socket = UnixStream::from(socket);
    // Its own session, so that nothing on the terminal reaches it: a key there ends us, and we end
    // the server, which must be measured completely until then.
    rustix::process::setsid().map_err(|error| error.to_string())?;
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))
        .map_err(|error| error.to_string())?;
    let mut text = String::new();
    let stream = socket.try_clone().map_err(error_words)?;
    BufReader::new(stream.take(ORDER_BYTES_MAX)).read_line(&mut text).map_err(error_words)?;
    let order: Order = serde_json::from_str(&text).map_err(|error| error.to_string())?;
    let report = match start(&order, lines) {
        Ok(server) => {
            say(&mut socket, &Report::Started(server.pid));
            Report::Ended(attend(&server, &mut socket, &order, stop))
        }
        Err(why) => Report::Refused(why),
    };
    remove(&order.groups);
    say(&mut socket, &report);
    Ok(())
}

/// If the other side is gone, that changes nothing.
fn say(socket: &mut UnixStream, report: &Report) {
    let mut text = serde_json::to_vec(report).unwrap_or_default();
    text.push(b'\n');
    let _ = socket.write_all(&text);
}

/// The process at the top of the tree.
struct Server {
    pid: u32,
    /// A descriptor, unlike a number, always refers to the same process.
    handle: OwnedFd,
}

fn start(order: &Order, lines: OwnedFd) -> Result<Server, Refused> {
    stay_on(&order.cpus)?;
    if let Some(current) = order.open_files {
        let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
        let limit = Rlimit { current: Some(current), maximum };
        let set = setrlimit(Resource::Nofile, limit).map_err(io::Error::from);
        set.map_err(Refused::of("cannot set the limit of open files"))?;
    }
    let groups = order.groups.iter().map(|group| {
        let path = group.join(host::group::PROCESSES);
        let opened = OpenOptions::new().write(true).open(&path);
        opened.map_err(Refused::of(&path.display().to_string()))
    });
    let groups: Vec<File> = groups.collect::<Result<_, _>>()?;
    let (program, rest) = order.words.split_first().ok_or(Refused::Other("no words".into()))?;
    let what = format!("cannot start {program}");
    let cannot = Refused::of(&what);
    // A path is that of the list of servers; a name is looked for.
    let path = match program.contains('/') || order.env.contains_key("PATH") {
        true => PathBuf::from(program),
        false => host::program::find(program).map_err(&cannot)?,
    };
    let mut command = Command::new(path);
    command.arg0(program).args(rest).envs(&order.env).process_group(0);
    command.stdin(Stdio::null()).stdout(Stdio::from(lines));
    if !order.folder.as_os_str().is_empty() {
        command.current_dir(&order.folder);
    }
    end_with_us(&mut command, groups);
    let child = command.spawn().map_err(cannot)?;
    let pid = child.id();
    let handle = pid_of(pid).map(|pid| pidfd_open(pid, PidfdFlags::empty()));
    match handle {
        Some(Ok(handle)) => Ok(Server { pid, handle }),
        _ => {
            end_rest(Instant::now());
            Err(Refused::Other("the kernel has no process descriptors (Linux 5.3)".into()))
        }
    }
}

fn stay_on(cpus: &[usize]) -> Result<(), Refused> {
    if cpus.is_empty() {
        return Ok(());
    }
    let mut set = rustix::thread::CpuSet::new();
    for cpu in cpus.iter().filter(|cpu| **cpu < rustix::thread::CpuSet::MAX_CPU) {
        set.set(*cpu);
    }
    rustix::thread::sched_setaffinity(None, &set).map_err(|_| Refused::Cpus)
}

/// Joins the groups, and has the process killed if this one is killed.
fn end_with_us(command: &mut Command, groups: Vec<File>) {
    let parent = rustix::process::getpid();
    let prepare = move || {
        rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
        if rustix::process::getppid() != Some(parent) {
            // The parent ended in between, so no signal will come.
            return Err(io::Error::from(rustix::io::Errno::CHILD));
        }
        for group in &groups {
            // Zero means the writing process.
            rustix::io::write(group, b"0")?;
        }
        Ok(())
    };
    // SAFETY: between fork and exec the closure makes system calls only; it neither allocates nor
    // takes a lock.
    unsafe { command.pre_exec(prepare) };
}

fn pid_of(pid: u32) -> Option<Pid> {
    i32::try_from(pid).ok().and_then(Pid::from_raw)
}

fn send(pid: u32, signal: Signal) {
    if let Some(pid) = pid_of(pid) {
        let _ = kill_process(pid, signal);
    }
}

/// Waits for the end of the server, and ends it when asked to. Nothing of its tree is left then.
fn attend(server: &Server, socket: &mut UnixStream, order: &Order, stop: &AtomicBool) -> Ended {
    let mut asked: Option<Instant> = None;
    let mut at_once = false;
    let mut was_killed = false;
    let status = loop {
        let reaped = reap(server.pid);
        if reaped.status.is_some() || reaped.is_last {
            // Our child ends once, and this loop sees it.
            break reaped.status.unwrap_or_default();
        }
        let is_late = asked.is_some_and(|asked| asked.elapsed() >= order.patience);
        if (is_late || at_once) && !was_killed {
            was_killed = true;
            send(server.pid, Signal::KILL);
        }
        if asked.is_none() && stop.load(Ordering::Relaxed) {
            asked = Some(Instant::now());
            send(server.pid, Signal::TERM);
        }
        let mut sources = vec![PollFd::new(&server.handle, PollFlags::IN)];
        if asked.is_none() {
            sources.push(PollFd::new(&*socket, PollFlags::IN));
        }
        let left = asked
            .filter(|_| !was_killed)
            .map_or(LOOK, |asked| order.patience.saturating_sub(asked.elapsed()).min(LOOK));
        let _ = poll(&mut sources, Some(&span(left)));
        let is_reported = sources.get(1).is_some_and(|socket| !socket.revents().is_empty());
        drop(sources);
        let mut word = [0; 1];
        if is_reported {
            // Any other byte is no order.
            at_once = matches!(socket.read(&mut word), Ok(1..)) && word[0] == AT_ONCE;
            asked = Some(Instant::now());
            send(server.pid, if at_once { Signal::KILL } else { Signal::TERM });
        }
    };
    let now = Instant::now();
    end_rest(if was_killed || at_once { now } else { now + REST_LIMIT });
    Ended { status, was_killed: was_killed && !at_once }
}

/// The children that have ended.
struct Reaped {
    /// The status of the server, if it was among them.
    status: Option<i32>,
    /// Whether there is no child left.
    is_last: bool,
}

fn reap(server: u32) -> Reaped {
    let mut status = None;
    loop {
        match rustix::process::wait(WaitOptions::NOHANG) {
            Ok(Some((pid, ended))) => {
                if pid.as_raw_nonzero().get().unsigned_abs() == server {
                    status = Some(ended.as_raw());
                }
            }
            Err(rustix::io::Errno::INTR) => {}
            Ok(None) => return Reaped { status, is_last: false },
            Err(_) => return Reaped { status, is_last: true },
        }
    }
}

/// Ends everything that is left: in order until `until`, and at once after that. It only signals
/// our own children, because their numbers cannot be reused for other processes; their children
/// become ours.
fn end_rest(until: Instant) {
    let mut asked = BTreeSet::new();
    while !reap(0).is_last && until.elapsed() < KILLED_LIMIT {
        let is_over = Instant::now() >= until;
        for child in children() {
            match is_over {
                true => send(child, Signal::KILL),
                false if asked.insert(child) => send(child, Signal::TERM),
                false => {}
            }
        }
        thread::sleep(STEP);
    }
}

fn children() -> Vec<u32> {
    let us = std::process::id();
    let parents = host::tree::parents(&Root::default()).unwrap_or_default();
    parents.into_iter().filter(|(_, parent)| *parent == us).map(|(pid, _)| pid).collect()
}

/// Ends at once what a killed keeper left to us, and counts it: our children in another session,
/// because a keeper begins one, and their children, which become ours.
fn end_left() -> usize {
    // Not with getsid(2) of rustix: a session whose leader is not visible from here, as that of a
    // command in a container, is 0, which its type cannot hold.
    let session = |pid| host::process::stat(pid).map(|stat| stat.session).ok();
    let (begin, ours) = (Instant::now(), session(std::process::id()));
    let mut ended: BTreeSet<u32> = BTreeSet::new();
    loop {
        let apart = APART.lock().unwrap_or_else(PoisonError::into_inner);
        let is_other = |pid| session(pid).zip(ours).is_some_and(|(its, ours)| its != ours);
        let is_left = |pid: &u32| !apart.contains(pid) && is_other(*pid);
        let left: Vec<u32> = children().into_iter().filter(is_left).collect();
        if left.is_empty() || begin.elapsed() > KILLED_LIMIT {
            return ended.len();
        }
        ended.extend(&left);
        for pid in left.into_iter().filter_map(pid_of) {
            let _ = kill_process(pid, Signal::KILL);
            let _ = rustix::process::waitpid(Some(pid), WaitOptions::NOHANG);
        }
        drop(apart);
        thread::sleep(STEP);
    }
}

/// Removes the groups, which are empty a moment after their last process has ended.
fn remove(groups: &[PathBuf]) {
    let begin = Instant::now();
    let is_there = |group: &&PathBuf| fs::remove_dir(group).is_err() && Path::exists(group);
    while groups.iter().filter(is_there).count() > 0 && begin.elapsed() < KILLED_LIMIT {
        thread::sleep(STEP);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Not a test itself: see [`program`].
    #[test]
    fn a_keeper_of_other_tests() {
        if std::env::var_os("CEILING_TEST_KEEPER").is_some() {
            // SAFETY: the shell that became this process has made it, and nothing else uses it.
            let lines = unsafe { OwnedFd::from_raw_fd(3) };
            keep_with(&AtomicBool::new(false), lines).unwrap();
        }
    }

    fn order(script: &str) -> Order {
        let words = ["sh", "-c", script].map(str::to_string).to_vec();
        Order { words, patience: Duration::from_secs(60), ..Order::default() }
    }

    fn start(order: &Order) -> (KeptProcess, BufReader<ChildStdout>) {
        let (kept, lines) = KeptProcess::start(order, Stdio::piped(), Stdio::null()).unwrap();
        (kept, BufReader::new(lines.unwrap()))
    }

    fn line(lines: &mut BufReader<ChildStdout>) -> String {
        let mut line = String::new();
        lines.read_line(&mut line).unwrap();
        line.trim().to_string()
    }

    fn runs(pid: u32) -> bool {
        host::process::stat(pid).is_ok_and(|stat| !stat.has_ended())
    }

    /// A server with a child that left it for another parent and ignores SIGTERM.
    const WITH_ORPHAN: &str = "trap 'exit 7' TERM; \
                               (trap '' TERM; (sh -c 'echo $$; exec sleep 600' &) ); \
                               while :; do sleep 0.01; done";

    #[test]
    fn what_it_left_behind_ends_with_it() {
        let (mut kept, mut lines) = start(&order(WITH_ORPHAN));
        let orphan: u32 = line(&mut lines).parse().unwrap();
        assert!(runs(orphan) && runs(kept.pid()));
        assert_eq!(kept.ended(), None);
        kept.ask();
        let ended = kept.wait(Duration::from_secs(60)).unwrap();
        assert_eq!((ended.status().code(), ended.was_killed), (Some(7), false));
        assert!(!runs(orphan) && !runs(kept.pid()));
    }

    #[test]
    fn one_that_does_not_end_in_order_is_killed() {
        let mut order = order("trap '' TERM; echo on; while :; do sleep 0.01; done");
        order.patience = Duration::from_millis(50);
        let (mut kept, mut lines) = start(&order);
        assert_eq!(line(&mut lines), "on");
        kept.ask();
        let ended = kept.wait(Duration::from_secs(60)).unwrap();
        assert_eq!((ended.status().signal(), ended.was_killed), (Some(9), true));
    }

    #[test]
    fn dropped_it_ends_at_once_with_all_it_started() {
        let (kept, mut lines) = start(&order("trap '' TERM; sleep 600 & echo $!; wait; wait"));
        let (pid, child): (_, u32) = (kept.pid(), line(&mut lines).parse().unwrap());
        drop(kept);
        assert!(!runs(pid) && !runs(child));
    }

    #[test]
    fn its_limit_of_open_files_may_be_another_than_ours() {
        let order = Order { open_files: Some(77), ..order("ulimit -Sn; sleep 600") };
        let (_kept, mut lines) = start(&order);
        assert_eq!(line(&mut lines), "77");
    }

    #[test]
    fn one_that_ends_by_itself_is_known() {
        let (mut kept, _lines) = start(&order("exit 3"));
        let ended = kept.wait(Duration::from_secs(60)).unwrap();
        assert_eq!((ended.status().code(), ended.was_killed), (Some(3), false));
        assert_eq!(kept.lost(), None);
    }

    #[test]
    fn what_cannot_be_started_says_why() {
        let missing = Order { words: vec!["/no/such".to_string()], ..Order::default() };
        let why =
            KeptProcess::start(&missing, Stdio::piped(), Stdio::null()).map(drop).unwrap_err();
        assert!(matches!(&why, Refused::Other(why) if why.contains("/no/such")), "{why:?}");
        let far = Order { cpus: vec![1023], ..order("exit") };
        let why = KeptProcess::start(&far, Stdio::piped(), Stdio::null()).map(drop).unwrap_err();
        assert_eq!(why, Refused::Cpus, "on a host of 1024 CPUs this shows nothing");
        let group = Order { groups: vec!["/no/group".into()], ..order("exit") };
        let why = KeptProcess::start(&group, Stdio::piped(), Stdio::null()).map(drop).unwrap_err();
        assert!(matches!(&why, Refused::Other(why) if why.contains("/no/group")), "{why:?}");
    }

    #[test]
    fn a_keeper_that_is_killed_leaves_nothing_and_it_is_told() {
        let script = "setsid sh -c 'trap \"\" TERM HUP; echo $$; setsid sleep 601 & \
                      echo $!; while :; do sleep 0.01; done' & exec sleep 602";
        let (mut kept, mut lines) = start(&order(script));
        let (mut other, _lines) = start(&order("exec sleep 603"));
        let left: [u32; 2] = std::array::from_fn(|_| line(&mut lines).parse().unwrap());
        assert!(left.iter().all(|pid| runs(*pid)) && kept.lost().is_none());
        send(kept.keeper.id(), Signal::KILL);
        assert_eq!(kept.wait(Duration::from_secs(60)), None);
        assert!(!left.iter().any(|pid| runs(*pid)) && !runs(kept.pid()));
        let lost = kept.lost().unwrap();
        assert!(
            lost.starts_with("its keeper, process ") && lost.contains(" was killed; "),
            "{lost}"
        );
        assert_eq!((other.ended(), other.lost()), (None, None), "another one goes on");
    }

    /// As a command that is sent into a container: the leader of its session is not visible.
    #[test]
    #[ignore = "needs root: make test-host"]
    fn a_killed_keeper_is_told_in_a_session_that_is_not_ours() {
        let script = "read -r _ _ _ _ _ session _ </proc/self/stat && [ $session = 0 ] && \
                      exec \"$0\" --exact \"$1\"";
        let test = "a_keeper_that_is_killed_leaves_nothing_and_it_is_told";
        let mut words = Command::new("unshare");
        words.args(["--pid", "--fork", "--mount-proc", "sh", "-c", script]);
        words.arg(std::env::current_exe().unwrap());
        words.arg(format!("keeper::tests::{test}"));
        let output = words.output().unwrap();
        let error_words = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && error_words.contains("1 passed"), "{output:?}");
    }

    /// The kernel closes the socket of a killed process just as this test does.
    #[test]
    fn when_we_are_gone_the_tree_ends() {
        let (mut kept, mut lines) = start(&order(WITH_ORPHAN));
        let (pid, orphan): (_, u32) = (kept.pid(), line(&mut lines).parse().unwrap());
        let (other, _) = UnixStream::pair().unwrap();
        drop(std::mem::replace(&mut kept.socket, other));
        kept.keeper.wait().unwrap();
        assert!(!runs(pid) && !runs(orphan));
    }
}
