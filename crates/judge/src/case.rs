//! One measured point with its readings, and the questions that gates and walls ask about it.

use crate::sides::Sides;
use crate::stats;
use model::facts::{ClockOffset, CpuAccounting, HostFacts, ServerFacts};
use model::figure::Figure;
pub use model::figure::Whose;
use model::histogram::Summary;
use model::load::{Hold, Life, Trial};
use model::run::Point;
use model::step::Step;
use model::tick::ErrorClass;
use model::tick::ThreadKind;
use model::units::NS_PER_S;
use model::verdict::Named;
use model::wall::WallId;
use observe::{Capacity, CpuShare, Observed, SocketCensus, ThreadShare, capacities};

/// A thread or CPU set that needs more than this share of its time is hot.
pub const HOT: f64 = 0.95;
/// Share of planned requests that waited for a connection, above which they are a queue.
const QUEUED: f64 = 0.05;
/// A worker that needs more than this share is so close to its limit that it limits together with
/// whatever else is hot.
pub const WARM: f64 = 0.90;
/// Below this share there is slack: what could do a third more cannot be the limit.
pub const SLACK: f64 = 0.75;

/// A thread that needs less than this share of its time does no work that matters.
const WORKS: f64 = 0.02;

/// A request stays at one thread for at most this many times the mean over all threads.
const STAYS: f64 = 4.0;

/// A duration as one types it, exactly.
fn typed(ns: u64) -> String {
    let units = [(1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "us"), (1, "ns")];
    let unit = units.into_iter().find(|(unit_ns, _)| ns.is_multiple_of(*unit_ns));
    let (unit_ns, name) = unit.unwrap_or((1, "ns"));
    format!("{}{name}", ns / unit_ns)
}

/// One point and its surroundings.
#[derive(Debug, Clone, Copy)]
pub struct Case<'a> {
    /// The load and the target that were requested.
    pub trial: &'a Trial,
    /// The generator's host.
    pub host: &'a HostFacts,
    /// The server, when it is watched, here or by a probe on its own host.
    pub server: Option<&'a ServerFacts>,
    /// The server's host: the generator's own if they share it, none if it is unknown.
    pub server_host: Option<&'a HostFacts>,
    /// The point.
    pub point: &'a Point,
    /// How far the clock of the server's host is off, if a probe runs there.
    pub clock: Option<&'a ClockOffset>,
    /// What the probe on the generator's host saw in its window.
    pub observed: &'a Observed,
    /// Points of this point's ramp, itself included; empty without a ramp.
    pub ramp: &'a [&'a Point],
}

impl<'a> Case<'a> {
    /// How connections live.
    pub fn life(&self) -> Option<&'a Life> {
        self.point.load.life.as_ref()
    }

    /// The same churn with `factor` times the devices, or times the rate if one is planned.
    pub fn churn_command(&self, factor: u64) -> Step {
        let (option, load) = match self.point.load.rate {
            Some(rate) => ("-R", format!("{:.0}", rate * factor as f64)),
            None => ("--devices", (u64::from(self.point.load.connections) * factor).to_string()),
        };
        let hold = self.life().and_then(|life| life.hold).map(|hold| match hold {
            Hold::Forever => "forever".to_string(),
            Hold::For { ns, jitter: 0.0 } => typed(ns),
            Hold::For { ns, jitter } => {
                format!("{}+-{:.4}%", typed(ns), jitter * 100.0).replace(".0000", "")
            }
        });
        let load = ["churn".to_string(), self.trial.url.clone(), option.to_string(), load];
        let hold = hold.into_iter().flat_map(|hold| ["--hold".to_string(), hold]);
        Step::command(load.into_iter().chain(hold))
    }

    /// Readings of the server's host. Figures of the server itself are absent if no probe watched
    /// it.
    pub fn far(&self) -> &'a Observed {
        self.observed.far.as_deref().unwrap_or(self.observed)
    }

    /// Readings of the server's host; none when no probe ran there.
    pub fn server_side(&self) -> Option<&'a Observed> {
        self.sides().server_side()
    }

    /// Links of the server's host whose limits are known.
    pub fn server_links(&self) -> Vec<Capacity<'a>> {
        let Some((host, seen)) = self.server_host.zip(self.server_side()) else { return vec![] };
        capacities(&host.nics, seen, self.trial.links.server.as_ref())
    }

    /// Links of the generator's host whose limits are known.
    pub fn client_links(&self) -> Vec<Capacity<'a>> {
        capacities(&self.host.nics, self.observed, self.trial.links.client.as_ref())
    }

    /// The generator's own link, with the limits that were stated for the server's: what arrives
    /// here left there.
    pub fn server_link_from_here(&self) -> Vec<Capacity<'a>> {
        let stated = self.trial.links.server.as_ref();
        stated.map_or(vec![], |limits| capacities(&self.host.nics, self.observed, Some(limits)))
    }

    /// The server's host, as evidence names it for host-wide sources.
    pub fn server_host_name(&self) -> &'static str {
        if self.is_one_host() { "both" } else { "server" }
    }

    /// Whether generator and server are known to share a host and a network namespace.
    pub fn is_one_host(&self) -> bool {
        self.sides().is_one_host()
    }

    /// Whether generator and server run under one kernel.
    pub fn is_one_kernel(&self) -> bool {
        self.sides().is_one_kernel()
    }

    /// The hosts of both sides.
    pub(crate) fn sides(&self) -> Sides<'a> {
        let Self { trial, host, server, server_host, clock, observed, .. } = *self;
        Sides { trial, host, server, server_host, clock, observed }
    }

    /// Whether the generator may run on CPUs that the server may use.
    pub fn shares_cpus(&self) -> bool {
        self.uses(&self.server_cpus().unwrap_or_default())
    }

    /// Whether the generator may run on one of these CPUs of the server's host.
    fn uses(&self, cpus: &[u32]) -> bool {
        self.is_one_kernel() && self.client_cpus().iter().any(|cpu| cpus.contains(cpu))
    }

    /// CPUs the workers may run on.
    pub fn client_cpus(&self) -> Vec<u32> {
        if self.trial.cpus.is_empty() {
            return usable_cpus(self.host);
        }
        self.trial.cpus.iter().map(|cpu| *cpu as u32).collect()
    }

    /// CPUs the server's working threads may run on: those of its settings and those they are
    /// pinned to. None if no probe watches the server.
    pub fn server_cpus(&self) -> Option<Vec<u32>> {
        let server = self.server?;
        let threads = self.far().server_threads.as_ref()?;
        let works = |thread: &&ThreadShare| thread.wanted() > WORKS;
        let mask = |thread: &ThreadShare| {
            server.pinned_threads.get(&thread.tid).unwrap_or(&server.cpus_allowed).clone()
        };
        let mut cpus: Vec<u32> = threads.iter().filter(works).flat_map(mask).collect();
        cpus.sort_unstable();
        cpus.dedup();
        let cpus = if cpus.is_empty() { server.cpus_allowed.clone() } else { cpus };
        Some(online(cpus, self.server_host))
    }

    /// Shares of a set of CPUs; none if one of them was not read, or if the CPU states of that host
    /// are struck.
    pub fn cpus(&self, host: Whose, set: &[u32]) -> Option<Vec<CpuShare>> {
        let (observed, figure) = match host {
            Whose::Client => (self.observed, Figure::ClientHost),
            Whose::Server if self.observed.far.is_none() => (self.observed, Figure::ClientHost),
            Whose::Server => (self.far(), Figure::ServerHost),
        };
        if self.point.standing.of(figure).is_not_known() {
            return None;
        }
        let all = observed.cpus.as_ref()?;
        let find = |cpu: &u32| all.iter().find(|share| share.cpu == *cpu).copied();
        set.iter().map(find).collect::<Option<Vec<_>>>().filter(|shares| !shares.is_empty())
    }

    /// Mean busy share of a set of CPUs.
    pub fn busy(&self, host: Whose, set: &[u32]) -> Option<f64> {
        let shares = self.cpus(host, set)?;
        Some(shares.iter().map(CpuShare::busy).sum::<f64>() / shares.len() as f64)
    }

    /// Whether another tool made the load, so that the figures are only what it reported.
    pub fn is_reported(&self) -> bool {
        self.trial.tool.is_some()
    }

    /// The generator's worker threads; for another tool, all its threads.
    pub fn workers(&self) -> Option<Vec<&'a ThreadShare>> {
        let threads = self.observed.client_threads.as_ref()?;
        let is_worker =
            |thread: &&ThreadShare| self.is_reported() || ThreadKind::of(&thread.name).is_some();
        Some(threads.iter().filter(is_worker).collect())
    }

    /// The worker that needed the most CPU.
    pub fn hottest_worker(&self) -> Option<&'a ThreadShare> {
        hottest(self.workers()?)
    }

    /// Share of its time in which the busiest worker had work: it ran or waited for a CPU, and did
    /// not merely ask the clock whether the next request is due. The runtime of another tool moves
    /// its work between threads: for such a tool, the CPUs it may use are as full as all threads
    /// together. For a fleet it is the busiest worker of all agents; none if one agent did not
    /// report it.
    pub fn worker_load(&self) -> Option<f64> {
        if !self.point.agents.is_empty() {
            let loads = self.point.agents.iter().map(|agent| agent.worker_busy);
            return loads.collect::<Option<Vec<_>>>()?.into_iter().reduce(f64::max);
        }
        let had_work = |worker: &&ThreadShare| (worker.wanted() - self.spin(worker)).max(0.0);
        let busiest = self.workers()?.iter().map(had_work).reduce(f64::max)?;
        if !self.is_reported() {
            return Some(busiest);
        }
        let all: f64 = self.workers()?.iter().map(|thread| thread.run).sum();
        Some(busiest.max(all / self.client_cpus().len().max(1) as f64))
    }

    /// Share of its time in which a worker polled the clock; the mean over all workers where each
    /// was not counted.
    fn spin(&self, worker: &ThreadShare) -> f64 {
        let info = &self.point.client_loop;
        let number = worker.name.rsplit_once('-').and_then(|(_, number)| number.parse().ok());
        let own = number.and_then(|number: usize| info.spin_by_worker.get(number)).copied();
        own.or(info.spin_share).unwrap_or(0.0)
    }

    /// Requests that the open connections can carry at a time. A tool opens as many connections as
    /// its command line says, and does not count them.
    pub fn requests_carried_max(&self) -> f64 {
        let opened = match self.is_reported() {
            true => u64::from(self.point.load.connections),
            false => self.point.connections.opened,
        };
        opened as f64 * f64::from(self.point.load.depth)
    }

    /// The server thread that needed the most CPU.
    pub fn hottest_server_thread(&self) -> Option<&'a ThreadShare> {
        hottest(self.far().server_threads.as_ref()?.iter().collect())
    }

    /// Whether a thread of the server can have held requests for as long as it was not waiting for
    /// new ones. It returns from each request after the request's time in the server, so if it
    /// serves one after the other it runs at least as often as Little's law says. Idle threads of a
    /// runtime sleep for longer. Threads whose slices were not counted pass.
    pub fn serves(&self, thread: &ThreadShare) -> bool {
        let doing = self.far().doing.as_ref();
        let occupied = doing.and_then(|doing| doing.occupied(thread.tid)).unwrap_or(0.0);
        let stay_s = self.point.service_ns.mean.unwrap_or(0) as f64 / 1e9;
        let is_counted = thread.slices_s > 0.0 && stay_s > 0.0;
        thread.run > 0.0 && (!is_counted || thread.slices_s * stay_s * STAYS >= occupied)
    }

    /// Whether the generator could have done clearly more: no worker near its limit, and no agent
    /// of a fleet that its own host limits. None if its threads were not read, or if time that was
    /// taken from its CPUs may hide a worker without slack. What agents' hosts took is not known.
    pub fn client_has_slack(&self) -> Option<bool> {
        let load = self.worker_load()?;
        if self.point.agents.iter().any(|agent| agent.own_wall().is_some()) {
            return Some(false);
        }
        let cpus = if self.point.agents.is_empty() { self.client_cpus() } else { Vec::new() };
        slack(load, most(&self.taken(Whose::Client, &cpus)))
    }

    /// Share of the time of each of these CPUs in which interrupts or the hypervisor had it and the
    /// kernel charged it to no thread: a thread that never slept then shows less than its whole
    /// time. Empty if the states of these CPUs were not read. Source: update_rq_clock_task() in
    /// Linux kernel/sched/core.c.
    fn taken(&self, whose: Whose, cpus: &[u32]) -> Vec<f64> {
        let host = match whose {
            Whose::Client => Some(self.host),
            Whose::Server => self.server_host,
        };
        let is_charged = host.is_some_and(|host| host.cpu_accounting == CpuAccounting::Tick);
        let of = |cpu: &CpuShare| match is_charged {
            true => cpu.shares.steal,
            false => cpu.shares.steal + cpu.shares.softirq + cpu.shares.irq,
        };
        self.cpus(whose, cpus).iter().flatten().map(of).collect()
    }

    /// CPUs' worth of time that the generator's threads used.
    pub fn client_computing(&self) -> f64 {
        if !self.point.agents.is_empty() {
            return self.point.cpu.client_cpus.unwrap_or(0.0);
        }
        self.observed.client_cpus().unwrap_or(0.0)
    }

    /// Where [`Self::worker_load`] is read from.
    pub fn worker_source(&self) -> (&'static str, [&'static str; 1]) {
        match self.point.agents.is_empty() {
            true => ("schedstat", ["client_threads"]),
            false => ("agents", ["agents"]),
        }
    }

    /// The longest time for which the generator is known to have stood still, nanoseconds, judged
    /// by its responses and by its sends.
    pub fn longest_stall_ns(&self) -> u64 {
        let longest = |of: &Option<Summary>| of.as_ref().and_then(|summary| summary.max);
        let (unseen, late) =
            (longest(&self.point.unseen_ns), longest(&self.point.generator_delay_ns));
        unseen.unwrap_or(0).max(late.unwrap_or(0))
    }

    /// Share of its allowed CPUs that the server used; none if it is not watched.
    pub fn server_utilisation(&self) -> Option<f64> {
        let allowed = self.server_cpus()?.len().max(1) as f64;
        Some(self.far().server_cpus()? / allowed)
    }

    /// Whether the server had CPU to spare: all its CPUs together, and the CPU of each thread. None
    /// if it is not watched, or if time that was taken from its CPUs may hide that it had none.
    pub fn server_has_slack(&self) -> Option<bool> {
        let (server, used) = (self.server?, self.server_utilisation()?);
        let taken = self.taken(Whose::Server, &self.server_cpus()?);
        let of_all = slack(used, stats::mean(&taken).unwrap_or(0.0));
        let taken_at = |cpus: &[u32]| {
            most(&self.taken(Whose::Server, &online(cpus.to_vec(), self.server_host)))
        };
        let anywhere = taken_at(&server.cpus_allowed);
        let of_thread = |thread: &ThreadShare| {
            let pinned = server.pinned_threads.get(&thread.tid);
            slack(thread.wanted(), pinned.map_or(anywhere, |cpus| taken_at(cpus)))
        };
        let threads = self.far().server_threads.iter().flatten();
        let working = threads.filter(|thread| thread.wanted() > WORKS);
        let each: Vec<_> = working.map(of_thread).chain([of_all]).collect();
        match each.contains(&Some(false)) {
            true => Some(false),
            false => (!each.contains(&None)).then_some(true),
        }
    }

    /// Share of the server's CPUs used by other processes: not by the server, the generator,
    /// interrupts or the hypervisor. None if no probe watches the server.
    pub fn neighbours(&self) -> Option<f64> {
        let cpus = self.server_cpus()?;
        let shares = self.cpus(Whose::Server, &cpus)?;
        let client = self.observed.client_cpus().filter(|_| self.shares_cpus()).unwrap_or(0.0);
        let server = self.far().server_cpus().unwrap_or(0.0);
        Some(used_by_others(&shares, server + client))
    }

    /// Share that other processes used of CPUs of its host that the server may not use.
    pub fn neighbours_outside(&self, outside: &[u32]) -> Option<f64> {
        let shares = self.cpus(Whose::Server, outside)?;
        let client = self.observed.client_cpus().filter(|_| self.uses(outside)).unwrap_or(0.0);
        Some(used_by_others(&shares, client))
    }

    /// Share of the CPUs that the generator may use that other processes used: not the generator,
    /// interrupts, the hypervisor or a watched server.
    pub fn client_neighbours(&self) -> Option<f64> {
        let shares = self.cpus(Whose::Client, &self.client_cpus())?;
        let client = self.observed.client_cpus()?;
        let server = self.far().server_cpus().filter(|_| self.shares_cpus()).unwrap_or(0.0);
        Some(used_by_others(&shares, server + client))
    }

    /// Increase of a TCP counter of the generator's namespace over the window.
    pub fn client_tcp(&self, name: &str) -> Option<u64> {
        self.observed.tcp.as_ref()?.get(name).copied()
    }

    /// The same for the server's namespace. None if that is another namespace that no probe
    /// watched.
    pub fn server_tcp(&self, name: &str) -> Option<u64> {
        self.server_side()?.tcp.as_ref()?.get(name).copied()
    }

    /// Where requests wait in sockets, each side as its own host saw it.
    pub fn census(&self) -> Option<SocketCensus> {
        let near = self.observed.census;
        let Some(far) = &self.observed.far else { return near };
        let (near, far) = (near.unwrap_or_default(), far.census.unwrap_or_default());
        let census = SocketCensus {
            client: near.client,
            client_unread: near.client_unread,
            client_rtts: near.client_rtts,
            client_rtt_sum_us: near.client_rtt_sum_us,
            ..far
        };
        (census.client + census.server > 0).then_some(census)
    }

    /// Share of sampled server sockets with requests the application has not read. None without
    /// samples.
    pub fn unread_share(&self) -> Option<f64> {
        let census = self.census().filter(|census| census.server > 0)?;
        Some(census.server_unread as f64 / census.server as f64)
    }

    /// Length of the window, seconds.
    pub fn window_s(&self) -> f64 {
        let (begin_ns, end_ns) = self.point.window_ns;
        end_ns.saturating_sub(begin_ns) as f64 / NS_PER_S as f64
    }

    /// The point of the ramp with the least load, if that is at most half of this one's.
    pub fn lightest(&self) -> Option<&'a Point> {
        let least = *self.ramp.iter().min_by_key(|point| point.load_size())?;
        (least.load_size() * 2 <= self.point.load_size()).then_some(least)
    }

    /// Share of the requests in flight whose connection waits to be accepted, where the accept
    /// queue was never seen empty: then no place is free, whatever the places are. None where it
    /// was, or was not read often enough to say so.
    pub fn never_accepted(&self) -> Option<f64> {
        let queue = self.far().listeners?;
        let is_never_empty = queue.reads >= READS_MIN && queue.empty_reads == 0;
        is_never_empty
            .then(|| queue.mean_queued / self.point.in_flight.mean.unwrap_or(0.0).max(1.0))
    }

    /// How many requests the server works on at once, over a ramp: the rate here times the duration
    /// of a request at the lightest level, where no request waits for another (Little). With that
    /// level. Nothing where its requests wait for a delayed acknowledgement: they hold no place
    /// then.
    pub fn places(&self) -> Option<(f64, &'a Point)> {
        let light = self.lightest()?;
        if light.verdict.wall == Named::Wall(WallId::A7) {
            return None;
        }
        Some((self.point.rate * light.service_ns.mean? as f64 / NS_PER_S as f64, light))
    }

    /// Whether the rate still followed the load up to this point: from the next lighter level it
    /// grew by more than half as much as the load did. None without a ramp.
    pub fn still_grows(&self) -> Option<bool> {
        let is_lighter = |point: &&&Point| point.load_size() * 4 <= self.point.load_size() * 3;
        let lighter = self.ramp.iter().filter(is_lighter).max_by_key(|point| point.load_size())?;
        let load = self.point.load_size() as f64 / lighter.load_size().max(1) as f64;
        let rate = self.point.headline_rate() / lighter.headline_rate().max(f64::MIN_POSITIVE);
        Some(rate.ln() > load.ln() / 2.0)
    }

    /// How much the load, the rate and the duration of a request grew over a ramp in closed loop,
    /// from its lightest level, where over half of the requests that were added only wait: by
    /// Little's law the duration of a request grows by what the rate does not. None where the rate
    /// followed the load, also only at the last step.
    pub fn queue_of_ramp(&self) -> Option<[f64; 3]> {
        if !self.point.is_closed_loop() || self.still_grows() != Some(false) {
            return None;
        }
        let light = self.lightest()?;
        let load = self.point.load_size() as f64 / light.load_size().max(1) as f64;
        let rate = self.point.headline_rate() / light.headline_rate().max(f64::MIN_POSITIVE);
        (rate.ln() <= load.ln() / 2.0).then_some([load, rate, load / rate])
    }

    /// Whether requests are due on a schedule. The schedule of devices is one of connections.
    pub fn is_open(&self) -> bool {
        self.point.is_open_loop()
    }

    /// Share of the planned requests that found no free slot: those that waited for one, and those
    /// that were never sent. None in closed loop.
    pub fn queued_share(&self) -> Option<f64> {
        let requests = &self.point.requests;
        let planned = requests.planned.filter(|planned| *planned > 0 && self.is_open())?;
        Some((requests.waited + requests.unsent) as f64 / planned as f64)
    }

    /// Whether so many planned requests waited for a free slot that they are a queue.
    pub fn has_queue(&self) -> bool {
        self.queued_share().is_some_and(|share| share > QUEUED)
    }

    /// Errors of a class, as the record names it.
    pub fn errors(&self, class: ErrorClass) -> u64 {
        self.point.errors_of(class).unwrap_or(0)
    }
}

/// Reads of a queue that tell whether it is ever empty: one that is empty half of the time is seen
/// so in all but one of sixteen cases.
const READS_MIN: u32 = 4;

/// Share of these CPUs that is used, but not by these CPUs' worth of known processes, interrupts or
/// the hypervisor.
fn used_by_others(cpus: &[CpuShare], known: f64) -> f64 {
    let of_processes =
        |cpu: &CpuShare| cpu.busy() - cpu.shares.softirq - cpu.shares.irq - cpu.shares.steal;
    let used: f64 = cpus.iter().map(of_processes).sum();
    ((used - known) / cpus.len().max(1) as f64).max(0.0)
}

/// CPUs of a host that we may use: allowed and online.
pub fn usable_cpus(host: &HostFacts) -> Vec<u32> {
    online(host.cpus_allowed.clone(), Some(host))
}

/// Those of a set of CPUs that are online: a mask also lists CPUs that are switched off. The whole
/// set if none of it is known to be online.
pub(crate) fn online(mut cpus: Vec<u32>, host: Option<&HostFacts>) -> Vec<u32> {
    let is_online = |cpu: &u32| host.is_none_or(|host| host.cpus_online.contains(cpu));
    if cpus.iter().any(is_online) {
        cpus.retain(is_online);
    }
    cpus
}

/// Whether what had work for this share of the time had slack, while another share of that time was
/// taken. Not known if it might have had none without that: the kernel leaves the time that was
/// taken out of the time of the thread.
fn slack(wanted: f64, taken: f64) -> Option<bool> {
    match wanted < SLACK {
        true => (wanted < SLACK * (1.0 - taken)).then_some(true),
        false => Some(false),
    }
}

/// The largest of these shares; zero without one.
fn most(shares: &[f64]) -> f64 {
    shares.iter().copied().fold(0.0, f64::max)
}

fn hottest(threads: Vec<&ThreadShare>) -> Option<&ThreadShare> {
    threads.into_iter().max_by(|left, right| left.wanted().total_cmp(&right.wanted()))
}

/// A share as a percentage, for evidence.
pub fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Fixture;
    use model::facts::CpuAccounting;
    use model::reading::CpuShares;

    #[test]
    fn places_are_not_counted_by_requests_that_wait_for_an_acknowledgement() {
        let fixture = Fixture::good();
        let mut light = Fixture::point(1, 250.0);
        light.service_ns.mean = Some(4_000_000);
        let places = |light: &Point| {
            let ramp = [light, &fixture.point];
            Case { ramp: &ramp, ..fixture.case() }.places().map(|(places, _)| places)
        };
        assert_eq!(places(&light), Some(4.0), "1000/s of 4 ms each");
        light.verdict.wall = Named::Wall(WallId::A7);
        assert_eq!(places(&light), None);
    }

    #[test]
    fn cpus_that_are_switched_off_do_no_work_and_are_not_spare() {
        let mut fixture = Fixture::good();
        fixture.host.cpus_allowed = vec![0, 1, 2, 3];
        fixture.server.as_mut().unwrap().cpus_allowed = vec![0, 1, 2, 3];
        fixture.server_threads(&[(7, 0.9), (7, 0.9)]);
        let case = fixture.case();
        assert_eq!((case.client_cpus(), case.server_cpus()), (vec![0, 1], Some(vec![0, 1])));
        assert!(case.busy(Whose::Server, &case.server_cpus().unwrap()).is_some());
        assert_eq!(case.server_utilisation(), Some(0.9), "of two CPUs, not of four");
        fixture.host.cpus_online = Vec::new();
        assert_eq!(fixture.case().client_cpus(), [0, 1, 2, 3], "it was not read");
    }

    #[test]
    fn what_interrupts_and_the_hypervisor_take_is_no_slack() {
        let mut fixture = Fixture::good();
        let slack = |fixture: &Fixture| {
            (fixture.case().client_has_slack(), fixture.case().server_has_slack())
        };
        fixture.worker(0.5, 0.1);
        fixture.server_thread(0.6, 0.0);
        assert_eq!(slack(&fixture), (Some(true), Some(true)));
        fixture.softirq(1, 0.3, 0.5);
        assert_eq!(slack(&fixture), (None, None), "0.6 of the 0.7 that were left");
        fixture.trial.cpus = vec![0];
        fixture.server.as_mut().unwrap().pinned_threads = [(7, vec![0])].into();
        assert_eq!(slack(&fixture), (Some(true), Some(true)), "they run elsewhere");
        fixture.server.as_mut().unwrap().pinned_threads = [(7, vec![1])].into();
        fixture.trial.cpus = vec![1];
        fixture.worker(0.1, 0.0);
        assert_eq!(slack(&fixture), (Some(true), None), "0.1 leaves enough");
        fixture.server_thread(0.8, 0.0);
        assert_eq!(slack(&fixture).1, Some(false));
        fixture.server_thread(0.6, 0.0);
        fixture.host.cpu_accounting = CpuAccounting::Tick;
        assert_eq!(slack(&fixture).1, Some(true), "interrupts are charged to the thread");
        for share in fixture.observed.cpus.iter_mut().flatten() {
            share.shares = CpuShares { user: 0.7, steal: 0.3, ..CpuShares::default() };
        }
        assert_eq!(slack(&fixture).1, None, "stolen time is not");
        fixture.observed.cpus = None;
        assert_eq!(slack(&fixture).1, Some(true), "it was not read");
    }

    /// Utilisation of all CPUs is of the time that they had for threads.
    #[test]
    fn one_cpu_of_interrupts_takes_little_from_many_threads() {
        let mut fixture = Fixture::good();
        fixture.server_threads(&[(7, 0.4), (7, 0.4), (7, 0.4)]);
        fixture.softirq(0, 0.3, 0.6);
        assert_eq!(fixture.case().server_has_slack(), Some(true), "0.6 of 0.85, 0.4 of 0.7");
        fixture.softirq(1, 0.3, 0.6);
        assert_eq!(fixture.case().server_has_slack(), None, "0.6 of 0.7");
    }
}
