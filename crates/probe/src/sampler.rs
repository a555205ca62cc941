//! The loop: a thread that reads every source at its cadence until it is told to stop.

use crate::clock;
use crate::network::Network;
use crate::queue::{self, Entrance, Exit, QUEUE_BYTES_MAX};
use crate::source::self_cost::{SelfCost, Timeliness};
use crate::source::{self, Cadence, Ends, READS_MIN, REGISTRY, Round, Scope, Source, SourceEntry};
use crate::tree::Tree;
use model::facts::Unreadable;
use model::order::OrderBy as _;
use model::reading::{Data, Reading};
use model::root::Root;
use model::units::{NS_PER_MS, NS_PER_S};
use std::convert::Infallible;
use std::net::{IpAddr, SocketAddr};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Files about threads kept open in a process with other uses for descriptors.
const KEPT_FILES: usize = 32;

/// What to read, and how often.
#[derive(Debug, Clone)]
pub struct Config {
    /// Time between rounds, nanoseconds; below one millisecond it is one millisecond. Some sources
    /// are read less often, as the registry says.
    pub period_ns: u64,
    /// Length of the shortest window that the readings are about, nanoseconds: a costly source is
    /// read at least four times in it, as long as it costs less than 1 % of a CPU.
    pub window_ns: u64,
    /// Root of the server's process tree, when it is on this host.
    pub server_pid: Option<u32>,
    /// The process of a tool that is the generator, when this process is not.
    pub tool_pid: Option<u32>,
    /// Port under test, for the sockets on either side of it.
    pub port: Option<u16>,
    /// Addresses that the generator connects to; empty when they are not known. Another program
    /// here may have connections to the same port of other hosts.
    pub addresses: Vec<IpAddr>,
    /// Port on which a server in another network namespace listens there, when it is known
    /// ([`model::facts::ServerNetwork`]).
    pub inner_port: Option<u16>,
    /// Address of the statistics of the server's runtime: `GET /debug/runtime` there.
    pub runtime: Option<SocketAddr>,
    /// Files about threads of the server that may stay open between rounds. A separate probe
    /// process may keep many, which makes reading thousands of threads cheap; in a generator
    /// descriptors belong to connections.
    pub kept_files: usize,
    /// Where the files of the host are; other than `/` only for a host made up for a test.
    pub root: Root,
    /// Which ends of the load are here.
    pub ends: Ends,
    /// Readings held at most while they are not taken, approximate bytes.
    pub queue_bytes_max: usize,
}

impl Default for Config {
    /// Ten rounds per second about this host only.
    fn default() -> Self {
        Self {
            period_ns: 100 * NS_PER_MS,
            window_ns: 2 * NS_PER_S,
            server_pid: None,
            tool_pid: None,
            port: None,
            addresses: Vec::new(),
            inner_port: None,
            runtime: None,
            kept_files: KEPT_FILES,
            root: Root::default(),
            ends: Ends::Both,
            queue_bytes_max: QUEUE_BYTES_MAX,
        }
    }
}

impl Config {
    /// What the probe's own thread reads.
    pub(crate) fn scope(&self) -> Scope {
        let Self { server_pid, tool_pid, port, runtime, kept_files, ends, .. } = *self;
        let watched = server_pid.filter(|_| ends != Ends::Client);
        let network = Network::of_probe(&self.root, watched);
        let (root, addresses) = (self.root.clone(), self.addresses.clone());
        Scope { server_pid, tool_pid, port, addresses, runtime, kept_files, ends, network, root }
    }

    /// What the thread in the server's network namespace reads.
    fn inner_scope(&self, network: Network) -> Scope {
        Scope { port: self.inner_port, ends: Ends::Server, network, ..self.scope() }
    }
}

/// A running probe. It stops when dropped.
#[derive(Debug)]
pub struct Sampler {
    /// Its own thread, and the one in the server's network namespace when that is another.
    threads: Vec<Reader>,
    arrived: Exit,
}

/// A thread that reads.
#[derive(Debug)]
struct Reader {
    /// Nothing is ever sent: hanging up is the signal.
    stop: Sender<Infallible>,
    thread: JoinHandle<()>,
}

impl Sampler {
    /// Starts to read; the first round, of all sources, is at once. If the system refuses a thread,
    /// the readings hold that error and nothing else.
    pub fn start(config: Config) -> Self {
        let (entrance, arrived) = queue::queue(config.queue_bytes_max);
        let scope = config.scope();
        let is_apart = scope.network == Network::Apart;
        let mut sampler = Self { threads: Vec::new(), arrived };
        let own = config.clone();
        sampler.spawn("probe", entrance.clone(), move |stopped, out| {
            run(&own, &scope, stopped, out);
        });
        if let Some(pid) = config.server_pid.filter(|_| is_apart) {
            sampler.spawn("probe-inside", entrance.labelled(Data::Inside), move |stopped, out| {
                let (network, why) = Network::enter(pid);
                why.into_iter().for_each(|why| push_read(out, || Data::Unreadable(why)));
                run(&config, &config.inner_scope(network), stopped, out);
            });
        }
        sampler
    }

    fn spawn(
        &mut self,
        name: &str,
        out: Entrance,
        body: impl FnOnce(&Receiver<Infallible>, &Entrance) + Send + 'static,
    ) {
        let (stop, stopped) = channel();
        let refused = out.clone();
        let thread = thread::Builder::new().name(name.to_string());
        match thread.spawn(move || body(&stopped, &out)) {
            Ok(thread) => self.threads.push(Reader { stop, thread }),
            Err(why) => refused.push(queue::notice("probe thread", why.to_string())),
        }
    }

    /// What has arrived since the last take, oldest first.
    pub fn take(&self) -> Vec<Reading> {
        let mut readings = self.arrived.take();
        // The readings of each thread are in order.
        if self.threads.len() > 1 {
            readings.order_by_key(|reading| reading.begin_ns);
        }
        readings
    }

    /// Makes the threads read everything once more and end, and returns what has arrived.
    pub fn stop(mut self) -> Vec<Reading> {
        let several = self.threads.len() > 1;
        let panicked = self.join();
        let mut readings = self.arrived.take();
        if several {
            readings.order_by_key(|reading| reading.begin_ns);
        }
        readings.extend(panicked);
        readings
    }

    /// Ends the threads; a panic in one, which would be our error, becomes a reading.
    fn join(&mut self) -> Vec<Reading> {
        let hang_up = |Reader { stop, thread }| {
            drop(stop);
            thread
        };
        let threads: Vec<JoinHandle<()>> = self.threads.drain(..).map(hang_up).collect();
        let panicked = threads.into_iter().filter_map(|thread| thread.join().err());
        panicked.map(|_| queue::notice("probe thread", "it panicked".to_string())).collect()
    }
}

impl Drop for Sampler {
    fn drop(&mut self) {
        self.join();
    }
}

/// A source and when to read it next.
struct Slot {
    source: Box<dyn Source>,
    cadence: Cadence,
    due_ns: u64,
    /// CPU time of the read before the last.
    cost_before_ns: u64,
}

/// Failures that were reported within the last [`RETRY_NS`], with the instant: each is reported as
/// often as it is tried again, by the source that met it first, so that every window has those that
/// last.
#[derive(Debug, Default)]
struct Failures(Vec<(u64, Unreadable)>);

impl Failures {
    /// More different failures than this say nothing new.
    const MAX: usize = 256;

    fn tell(&mut self, unreadable: Unreadable, at_ns: u64) -> Option<Data> {
        self.0.retain(|(reported_ns, _)| at_ns < reported_ns + RETRY_NS);
        if self.0.len() >= Self::MAX || self.0.iter().any(|(_, known)| *known == unreadable) {
            return None;
        }
        self.0.push((at_ns, unreadable.clone()));
        Some(Data::Unreadable(unreadable))
    }
}

/// A source may use one part in this many of one CPU; a source that costs more is read less often.
/// Together with the number of sources this bounds the cost on a host with thousands of threads or
/// interrupts.
const COST_SHARE: u64 = 800;
/// One part in this many for a source that would be read less than [`READS_MIN`] times in a window.
const COST_SHARE_MOST: u64 = 100;
/// Looking for new processes of the server, which are rare, may use one part in this many of one
/// CPU.
const TREE_COST_SHARE: u64 = 1000;
/// How often to look for them.
const TREE_NS: u64 = NS_PER_S;
/// How soon to try again what failed: twice in a window of a second.
const RETRY_NS: u64 = NS_PER_S / 2;

/// How long a source rests at least after a read of this cost, where windows are this long.
pub(crate) fn rest_ns(cost_ns: u64, window_ns: u64) -> u64 {
    let often_enough = (window_ns / READS_MIN).max(cost_ns.saturating_mul(COST_SHARE_MOST));
    cost_ns.saturating_mul(COST_SHARE).min(often_enough)
}

fn open(entry: &SourceEntry, scope: &Scope) -> Option<Slot> {
    let source = scope.open(entry)?;
    Some(Slot { source, cadence: entry.cadence, due_ns: 0, cost_before_ns: 0 })
}

fn run(config: &Config, scope: &Scope, stopped: &Receiver<Infallible>, out: &Entrance) {
    let mut slots: Vec<Slot> = REGISTRY.iter().filter_map(|entry| open(entry, scope)).collect();
    let mut server = config.server_pid.map(|pid| WatchedServer::on(&config.root, pid));
    let mut pace = Pace::start(clock::monotonic_ns(), config.period_ns.max(NS_PER_MS));
    let mut cost = SelfCost::start();
    let mut failures = Failures::default();
    if !scope.network.is_inside() {
        push_read(out, || Data::Declared(source::declared()));
    }
    loop {
        let wait_ns = pace.due_ns().saturating_sub(clock::monotonic_ns());
        let stopping = match stopped.recv_timeout(Duration::from_nanos(wait_ns)) {
            Ok(never) => match never {},
            Err(RecvTimeoutError::Timeout) => false,
            Err(RecvTimeoutError::Disconnected) => true,
        };
        let now_ns = clock::monotonic_ns();
        let (due_ns, timeliness) = if stopping {
            // The last round reads everything, so that every counter has a value at the end.
            slots.iter_mut().for_each(|slot| slot.due_ns = 0);
            (now_ns, Timeliness::OnTime)
        } else {
            (pace.due_ns(), pace.begin(now_ns))
        };
        cost.round(timeliness);
        if let Some(server) = &mut server {
            server.refresh(due_ns);
        }
        let round = Round { due_ns, server: server.as_ref().map(WatchedServer::tree) };
        for slot in slots.iter_mut().filter(|slot| slot.due_ns <= due_ns) {
            slot.read(&round, config.window_ns, &mut failures, out);
        }
        push_read(out, || cost.read());
        if stopping {
            return;
        }
    }
}

fn push_read(out: &Entrance, read: impl FnOnce() -> Data) {
    let begin_ns = clock::monotonic_ns();
    let data = read();
    out.push(Reading { begin_ns, end_ns: clock::monotonic_ns(), data });
}

impl Slot {
    /// Reads the source, passes the result on, and sets when to read it next.
    fn read(&mut self, round: &Round<'_>, window_ns: u64, failures: &mut Failures, out: &Entrance) {
        let begin_cpu_ns = clock::thread_cpu_ns();
        let begin_ns = clock::monotonic_ns();
        let result = self.source.read(round);
        let end_ns = clock::monotonic_ns();
        let every_ns = self.cadence.every_ns(window_ns);
        let cost_ns = clock::thread_cpu_ns() - begin_cpu_ns;
        // Soft interrupts that hit a read are charged to it, so one costly read proves nothing.
        let usual_cost_ns = cost_ns.min(self.cost_before_ns);
        self.cost_before_ns = cost_ns;
        let mut rest_ns = every_ns.max(rest_ns(usual_cost_ns, window_ns));
        let data = match result {
            Ok(data) => Some(data),
            Err(unreadable) => {
                rest_ns = rest_ns.max(RETRY_NS);
                failures.tell(unreadable, round.due_ns)
            }
        };
        if let Some(data) = data {
            out.push(Reading { begin_ns, end_ns, data });
        }
        self.due_ns = round.due_ns + rest_ns;
    }
}

/// The server's process tree, refreshed from time to time.
struct WatchedServer {
    tree: Tree,
    /// Why the last refresh failed, when it did.
    failed: Option<Unreadable>,
    due_ns: u64,
}

impl WatchedServer {
    fn on(host: &Root, pid: u32) -> Self {
        Self { tree: Tree::unseen(host, pid), failed: None, due_ns: 0 }
    }

    fn tree(&self) -> Result<&Tree, &Unreadable> {
        self.failed.as_ref().map_or(Ok(&self.tree), Err)
    }

    /// Scans the tree when it is time. What could not be read is tried again; once the server has
    /// ended it stays so.
    fn refresh(&mut self, now_ns: u64) {
        if now_ns < self.due_ns {
            return;
        }
        let begin_cpu_ns = clock::thread_cpu_ns();
        self.failed = self.tree.refresh().err();
        let cost_ns = clock::thread_cpu_ns() - begin_cpu_ns;
        self.due_ns = now_ns + TREE_NS.max(cost_ns.saturating_mul(TREE_COST_SHARE));
    }
}

/// Deadlines at fixed distances from the start. Rounds that were missed are left out, not made up
/// for: readings in a burst would say nothing new.
#[derive(Debug)]
struct Pace {
    start_ns: u64,
    period_ns: u64,
    next: u64,
}

impl Pace {
    fn start(start_ns: u64, period_ns: u64) -> Self {
        Self { start_ns, period_ns, next: 0 }
    }

    /// When the next round is due.
    fn due_ns(&self) -> u64 {
        self.start_ns + self.next * self.period_ns
    }

    /// Starts the round that is due, and sets the next deadline after `now_ns`.
    fn begin(&mut self, now_ns: u64) -> Timeliness {
        let late_ns = now_ns.saturating_sub(self.due_ns());
        self.next += 1 + late_ns / self.period_ns;
        if late_ns > self.period_ns { Timeliness::Late } else { Timeliness::OnTime }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Folder, fixture};

    #[test]
    fn deadlines_do_not_drift_and_missed_ones_are_left_out() {
        let mut pace = Pace::start(1000, 100);
        assert_eq!(pace.due_ns(), 1000);
        assert_eq!(pace.begin(1007), Timeliness::OnTime);
        assert_eq!(pace.due_ns(), 1100);
        assert_eq!(pace.begin(1199), Timeliness::OnTime);
        assert_eq!(pace.due_ns(), 1200);
        assert_eq!(pace.begin(1650), Timeliness::Late);
        assert_eq!(pace.due_ns(), 1700);
    }

    #[test]
    fn a_window_of_a_second_or_more_has_four_reads_of_each_source() {
        let every_ms = |window_ms: u64| {
            Cadence::AtMostEveryNs(NS_PER_S).every_ns(window_ms * NS_PER_MS) / NS_PER_MS
        };
        assert_eq!([300, 1000, 2000, 10_000].map(every_ms), [250, 250, 500, 1000]);
        assert_eq!(Cadence::EveryRound.every_ns(NS_PER_S), 0);
    }

    fn slot(source: Box<dyn Source>) -> Slot {
        Slot { source, cadence: Cadence::EveryRound, due_ns: 0, cost_before_ns: 0 }
    }

    struct Failing(&'static [&'static str], usize);

    impl Source for Failing {
        fn read(&mut self, _round: &Round<'_>) -> Result<Data, Unreadable> {
            let why = self.0[self.1].to_string();
            self.1 += 1;
            Err(Unreadable { source: "test".to_string(), why })
        }
    }

    #[test]
    fn a_failure_is_told_whenever_it_is_tried_again_which_is_slowly() {
        let mut slot = slot(Box::new(Failing(&["refused", "refused", "ended", "refused"], 0)));
        let (entrance, exit) = queue::queue(1 << 20);
        let mut failures = Failures::default();
        for due_ns in (0..4).map(|index| index * RETRY_NS) {
            slot.read(&Round { due_ns, server: None }, u64::MAX, &mut failures, &entrance);
            assert!(slot.due_ns >= due_ns + RETRY_NS);
        }
        let reports: Vec<String> =
            exit.take().iter().map(|reading| format!("{:?}", reading.data)).collect();
        let has = |words: [&str; 4]| {
            reports.iter().zip(words).all(|(report, word)| report.contains(word))
        };
        assert!(
            reports.len() == 4 && has(["refused", "refused", "ended", "refused"]),
            "{reports:?}"
        );
    }

    #[test]
    fn a_failure_that_several_sources_meet_is_told_once_a_time() {
        let mut slots = [(); 3].map(|()| slot(Box::new(Failing(&["refused"; 2], 0))));
        let (entrance, exit) = queue::queue(1 << 20);
        let mut failures = Failures::default();
        for (index, due_ns) in [0, 0, RETRY_NS / 2, RETRY_NS].into_iter().enumerate() {
            slots[index % 3].read(
                &Round { due_ns, server: None },
                u64::MAX,
                &mut failures,
                &entrance,
            );
        }
        assert_eq!(exit.take().len(), 2, "at the start and one retry later");
    }

    #[test]
    fn a_server_that_could_not_be_read_is_looked_at_again() {
        let host = Folder::new("sampler-again");
        host.write("proc/7/stat/none", "");
        host.write("proc/7/task/7/children", "");
        let mut server = WatchedServer::on(&Root::below(host.path()), 7);
        server.refresh(0);
        assert!(server.tree().is_err());
        std::fs::remove_dir_all(host.path().join("proc/7/stat")).unwrap();
        host.write("proc/7/stat", fixture("linux-6.18-vm/thread_stat"));
        // A look may have cost much, and then the next is not soon.
        server.refresh(u64::MAX / 2);
        assert_eq!(server.tree().unwrap().pids(), [7]);
    }

    struct Costly;

    impl Source for Costly {
        fn read(&mut self, _round: &Round<'_>) -> Result<Data, Unreadable> {
            let begin_ns = clock::thread_cpu_ns();
            while clock::thread_cpu_ns() < begin_ns + 2 * NS_PER_MS {}
            Ok(Data::Cpus(Vec::new()))
        }
    }

    #[test]
    fn a_source_that_stays_costly_is_read_less_often() {
        let mut slot = slot(Box::new(Costly));
        let (entrance, _exit) = queue::queue(1 << 20);
        let mut failures = Failures::default();
        slot.read(&Round { due_ns: 0, server: None }, u64::MAX, &mut failures, &entrance);
        assert_eq!(slot.due_ns, 0, "once may be an accident");
        slot.read(&Round { due_ns: 0, server: None }, u64::MAX, &mut failures, &entrance);
        assert!(slot.due_ns >= 2 * NS_PER_MS * COST_SHARE, "{}", slot.due_ns);
    }

    #[test]
    fn a_window_has_four_reads_of_a_source_that_costs_less_than_a_hundredth_of_a_cpu() {
        let rest = |cost_ms: u64, window_s: u64| {
            rest_ns(cost_ms * NS_PER_MS, window_s * NS_PER_S) / NS_PER_MS
        };
        assert_eq!(rest(3, 2), 500, "a dump of sockets");
        assert_eq!(rest(3, 60), 2400, "a long window has enough at the usual cost");
        assert_eq!(rest(20, 2), 2000, "thousands of threads");
        assert_eq!(rest(3, u64::MAX / NS_PER_S), 2400);
    }
}
