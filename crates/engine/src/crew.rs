//! The workers of a run as the control plane uses them: it starts them, orders them, reads their
//! ticks.

use crate::driver::{Driver, epoll::Epoll, uring::Uring};
use crate::driver::{null::Null, null_streams::NullStreams};
use crate::driver::{tls::Tls, tunnel::Tunnel};
use crate::job::{Job, Order, Pace};
use crate::recorder::{Feed, Recorder, road};
use crate::shard::Shard;
use crate::subscriber::Subscriber;
use crate::worker::Worker;
use crate::{clock, pin};
use model::load::{Arrival, DriverKind, HttpVersion, Level};
use model::random::Random;
use model::tick::ThreadKind;
use model::tick::Tick;
use rtrb::{Consumer, Producer, RingBuffer};
use std::io;
use std::sync::{Arc, mpsc};
use std::thread::{self, JoinHandle};
use wire::http1::Http1;
use wire::http2::Http2;
use wire::solo::Solo;
use wire::sse::Events;

/// Orders that may be queued for a worker at once.
const ORDERS: usize = 8;

/// Why a crew did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// A worker could not be pinned.
    #[error("cannot run on CPU {cpu}: {error}")]
    Pin {
        /// The CPU.
        cpu: usize,
        /// The system's reason.
        error: io::Error,
    },
    /// The driver could not be set up.
    #[error("driver {driver}: {error}")]
    Driver {
        /// The driver's name.
        driver: &'static str,
        /// The system's reason.
        error: io::Error,
    },
    /// A thread could not be created.
    #[error("cannot start a worker thread: {0}")]
    Thread(io::Error),
    /// The driver runs in tests only.
    #[error("driver sim has no threads")]
    NotLive,
    /// Workers on other hosts did not start.
    #[error("{why}")]
    Far {
        /// The reason, as text.
        why: String,
        /// Whether that is because the server does not respond to them.
        is_unreachable: bool,
    },
}

/// What the connections of a crew are for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// They send requests and await responses.
    Asking,
    /// They listen to streams of events, each to one of the tape's requests.
    Listening {
        /// What the clock that stamps events shows when ours shows zero, nanoseconds; `None` if
        /// that is not known.
        stamps_ns: Option<i64>,
    },
}

impl Role {
    /// Name of its threads, without their number.
    fn name(self) -> &'static str {
        match self {
            Self::Asking => ThreadKind::Requesting.name(),
            Self::Listening { .. } => ThreadKind::Listening.name(),
        }
    }
}

/// Workers on other hosts, which their caller treats as one worker.
///
/// They behave like one worker: their ticks are those of worker 0, each with the current
/// connections of all workers, and after the order that ends a level exactly one tick is the last.
pub trait FarCrew {
    /// Sends an order, in sizes of the whole load and in times of this host. It does not wait.
    fn order(&mut self, order: &Order);

    /// Shows all ticks that have arrived to `read`, merged and in times of this host.
    ///
    /// Data that arrives after the tick of its tenth of a second was shown is a tick of its own: it
    /// has the same start, and its end equals its start.
    fn drain(&mut self, read: &mut dyn FnMut(&Tick));

    /// Whether no worker can send anything more.
    fn is_lost(&self) -> bool;
}

struct Member {
    shard: Shard,
    orders: Producer<Order>,
    feed: Feed,
    body: Body,
}

/// What runs a worker.
enum Body {
    /// Its own thread, until it is joined.
    Thread(Option<JoinHandle<()>>),
    /// A world in virtual time.
    World,
}

/// Running workers. Dropping a crew ends it.
pub struct Crew {
    hands: Hands,
    seed: u64,
}

/// Workers of this process. Dropping them ends them.
struct Members(Vec<Member>);

/// Where the workers are.
enum Hands {
    /// Workers of this process, in their order.
    Near(Members),
    /// Workers of other hosts.
    Far(Box<dyn FarCrew>),
}

impl Crew {
    /// Starts all workers, idle, and returns when each is ready.
    pub fn start(job: &Job) -> Result<Self, StartError> {
        Self::start_as(job, Role::Asking)
    }

    /// Starts all workers for connections with a role, idle, and returns when each is ready.
    pub fn start_as(job: &Job, role: Role) -> Result<Self, StartError> {
        let threads = job.share.workers();
        let mut members = Members(Vec::with_capacity(threads as usize));
        let (ready_in, ready_out) = mpsc::channel();
        for (index, shard) in (0..).zip(Shard::all_of(&job.share)) {
            let (recorder, feed) = road(index, job.routes.len());
            let (orders, orders_out) = RingBuffer::new(ORDERS);
            let (job, ready) = (job.clone(), ready_in.clone());
            let body = move || run_member((&job, role), index, recorder, orders_out, &ready);
            let name = format!("{}-{index}", role.name());
            let thread = thread::Builder::new().name(name).spawn(body);
            let body = Body::Thread(Some(thread.map_err(StartError::Thread)?));
            members.0.push(Member { shard, orders, feed, body });
        }
        drop(ready_in);
        let crew = Self { hands: Hands::Near(members), seed: job.seed };
        let ready = ready_out.iter().take(threads as usize);
        let ready = ready.collect::<Result<Vec<()>, _>>()?;
        assert_eq!(ready.len(), threads as usize, "a worker panicked while it was set up");
        Ok(crew)
    }

    /// Workers that a world in virtual time runs: the control plane's ends of their channels, in
    /// order.
    pub(crate) fn of_world(roads: Vec<(Producer<Order>, Feed)>, job: &Job) -> Self {
        let shards = Shard::all_of(&job.share).into_iter();
        let member = |(shard, (orders, feed))| Member { shard, orders, feed, body: Body::World };
        let members = Members(shards.zip(roads).map(member).collect());
        Self { hands: Hands::Near(members), seed: job.seed }
    }

    /// Workers on other hosts, treated as one.
    pub fn far(far: Box<dyn FarCrew>, seed: u64) -> Self {
        Self { hands: Hands::Far(far), seed }
    }

    /// How many workers there are; those of other hosts count as one.
    pub fn workers(&self) -> u32 {
        match &self.hands {
            Hands::Near(members) => members.0.len() as u32,
            Hands::Far(_) => 1,
        }
    }

    /// Gives an order for the whole load: every worker of this process gets its share. Orders are
    /// rare compared to how often workers look for them, so a full queue is a bug.
    pub fn order(&mut self, order: &Order) {
        let members = match &mut self.hands {
            Hands::Near(members) => &mut members.0,
            Hands::Far(far) => return far.order(order),
        };
        for (index, member) in members.iter_mut().enumerate() {
            let sent = member.orders.push(order.share(&member.shard));
            assert!(sent.is_ok() || member.is_over(), "worker {index} does not take orders");
        }
    }

    /// Orders a level: connections are divided exactly among the workers.
    pub fn order_connect(&mut self, load: u32, level: &Level) {
        let pace = match &level.arrival {
            Arrival::Closed => Pace::Closed,
            Arrival::Open { curve, arrivals } => Pace::Open {
                curve: Arc::new(curve.clone()),
                arrivals: *arrivals,
                seed: seed_of_visit(self.seed, load),
            },
        };
        self.order(&Order::Connect {
            load,
            connections: level.connections,
            connections_max: level.connections_max(),
            depth: level.depth,
            pace,
            life: level.life,
        });
    }

    /// Orders a measured window: a budget of requests is divided exactly among the workers.
    pub fn order_measure(
        &mut self,
        begin_ns: u64,
        end_ns: u64,
        budget: Option<u64>,
        drain_ns: u64,
    ) {
        self.order(&Order::Measure { begin_ns, end_ns, budget, drain_ns, skip_until_ns: 0 });
    }

    /// Shows all ticks that have arrived to `read`.
    pub fn drain(&mut self, mut read: impl FnMut(&Tick)) {
        match &mut self.hands {
            Hands::Near(members) => members.0.iter_mut().for_each(|one| one.feed.drain(&mut read)),
            Hands::Far(far) => far.drain(&mut read),
        }
    }

    /// Whether each worker of this process has taken all of its orders. Those of other hosts take
    /// theirs there.
    pub fn has_taken_orders(&self) -> bool {
        match &self.hands {
            Hands::Near(members) => members.0.iter().all(Member::has_taken_orders),
            Hands::Far(_) => true,
        }
    }

    /// Whether a worker ended without an order to.
    pub fn has_lost_member(&self) -> bool {
        match &self.hands {
            Hands::Near(members) => members.0.iter().any(Member::is_over),
            Hands::Far(far) => far.is_lost(),
        }
    }
}

impl Member {
    fn has_taken_orders(&self) -> bool {
        self.orders.slots() == self.orders.buffer().capacity() || self.is_over()
    }

    fn is_over(&self) -> bool {
        match &self.body {
            Body::Thread(thread) => thread.as_ref().is_none_or(JoinHandle::is_finished),
            Body::World => false,
        }
    }
}

impl Drop for Crew {
    fn drop(&mut self) {
        if let Hands::Far(far) = &mut self.hands {
            far.order(&Order::Quit);
        }
    }
}

impl Drop for Members {
    fn drop(&mut self) {
        for member in &mut self.0 {
            // The queue is full only if the worker is gone; then it only has to be joined.
            let _ = member.orders.push(Order::Quit);
        }
        for member in &mut self.0 {
            if let Body::Thread(thread) = &mut member.body
                && let Some(thread) = thread.take()
            {
                let _ = thread.join();
            }
        }
    }
}

fn run_member(
    (job, role): (&Job, Role),
    index: u32,
    recorder: Recorder,
    orders: Consumer<Order>,
    ready: &mpsc::Sender<Result<(), StartError>>,
) {
    if !job.cpus.is_empty() {
        let cpu = job.cpus[index as usize % job.cpus.len()];
        if let Err(error) = pin::pin_to(cpu) {
            let _ = ready.send(Err(StartError::Pin { cpu, error }));
            return;
        }
    }
    clock::sleep_precisely();
    let slots = Shard::of(&job.share, index).share(u64::from(job.connections_max)) as u32;
    let place = Place { job, role, slots, index, recorder, orders, ready };
    match job.driver {
        DriverKind::Uring => place.carry(Uring::new(job, slots)),
        DriverKind::Epoll => place.carry(Epoll::new(job, slots)),
        // Without sockets there is nothing to encrypt.
        DriverKind::Null if job.http == HttpVersion::Two => place.run(NullStreams::new(job, slots)),
        DriverKind::Null => place.run(Null::new(job, slots)),
        DriverKind::Sim => drop(ready.send(Err(StartError::NotLive))),
    }
}

/// Everything a worker needs besides its driver.
struct Place<'a> {
    job: &'a Job,
    role: Role,
    slots: u32,
    index: u32,
    recorder: Recorder,
    orders: Consumer<Order>,
    ready: &'a mpsc::Sender<Result<(), StartError>>,
}

impl Place<'_> {
    /// Wraps a driver in what the job asks for: first the tunnel, then TLS.
    fn carry<D: Driver>(self, driver: io::Result<D>) {
        match (driver, &self.job.tunnel) {
            (Ok(driver), None) => self.secure(driver),
            (Ok(driver), Some(request)) => {
                let driver = Tunnel::new(driver, request, self.slots);
                self.secure(driver);
            }
            (Err(error), _) => {
                let driver = self.job.driver.name();
                let _ = self.ready.send(Err(StartError::Driver { driver, error }));
            }
        }
    }

    fn secure<D: Driver>(self, driver: D) {
        match &self.job.tls {
            None => self.run(driver),
            Some(recipe) => {
                let driver = Tls::new(driver, recipe, &self.job.tape, self.slots);
                self.run(driver);
            }
        }
    }

    fn run<D: Driver>(self, driver: D) {
        let Self { job, role, slots, index, recorder, orders, ready } = self;
        match (role, job.http) {
            (Role::Asking, HttpVersion::One) if job.program.is_some() => {
                let mut worker =
                    Worker::<_, Solo>::new(job, slots, index, driver, recorder, orders);
                let _ = ready.send(Ok(()));
                worker.run();
            }
            (Role::Asking, HttpVersion::One) => {
                let mut worker =
                    Worker::<_, Http1>::new(job, slots, index, driver, recorder, orders);
                let _ = ready.send(Ok(()));
                worker.run();
            }
            (Role::Asking, HttpVersion::Two) => {
                let mut worker =
                    Worker::<_, Http2>::new(job, slots, index, driver, recorder, orders);
                let _ = ready.send(Ok(()));
                worker.run();
            }
            (Role::Listening { stamps_ns }, HttpVersion::One) => {
                let listens = (recorder, orders);
                let mut worker =
                    Subscriber::<_, Events>::new(job, slots, index, driver, listens, stamps_ns);
                let _ = ready.send(Ok(()));
                worker.run();
            }
            (Role::Listening { stamps_ns }, HttpVersion::Two) => {
                let listens = (recorder, orders);
                let mut worker = Subscriber::<_, Events<Http2>>::new(
                    job, slots, index, driver, listens, stamps_ns,
                );
                let _ = ready.send(Ok(()));
                worker.run();
            }
        }
    }
}

/// The seed of the schedule of visit number `load`: each has a schedule of its own. It is drawn,
/// because a schedule counts on from its seed in equal steps: seeds that are a multiple of that
/// step apart give the same gaps, shifted by a few requests.
pub fn seed_of_visit(seed: u64, load: u32) -> u64 {
    Random::new(seed, u64::from(load)).draw()
}

/// The driver for a live run on this host, and why. `uring` when the kernel has what it needs.
pub fn choose_driver() -> (DriverKind, String) {
    match crate::driver::uring::check() {
        Ok(()) => (DriverKind::Uring, "auto: this kernel has all that uring needs".to_string()),
        Err(reason) => (DriverKind::Epoll, format!("auto: uring is not available ({reason})")),
    }
}
