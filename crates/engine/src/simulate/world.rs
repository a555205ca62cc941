//! A whole world in virtual time: real workers, one model server, one clock, one thread.
//!
//! Everything that happens has an instant, and happens in the order of instants: a step of the
//! server, the turn of a worker, a reading of the host. A worker's turn is split at its wait,
//! because another worker may meanwhile cause the event that ends the wait. The same seed gives the
//! same world.

use super::driver::{Inbox, Post, Wired};
use super::generator::{Generator, Pulse};
use super::host::HostModel;
use super::server::{Entry, Server, Serving};
use crate::crew::Crew;
use crate::job::{Job, Order};
use crate::recorder::{Recorder, road};
use crate::shard::Shard;
use crate::worker::Worker;
use model::facts::{HostFacts, ServerFacts};
use model::load::HttpVersion;
use model::reading::Reading;
use rtrb::{Consumer, RingBuffer};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use wire::http1::Http1;
use wire::http2::Http2;

/// Start of a world, nanoseconds: monotonic clocks are never near zero.
const BEGIN_NS: u64 = 1_000_000_000;
/// How often the host is read, nanoseconds.
const READ_EVERY_NS: u64 = 100_000_000;
/// Orders that may be queued for a worker at once.
const ORDERS: usize = 8;

/// Everything about a world that is not the load.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// The server.
    pub server: Server,
    /// The generator.
    pub generator: Generator,
    /// The host of both.
    pub host: HostModel,
    /// Seed of everything random.
    pub seed: u64,
}

/// See the module.
pub struct World {
    plan: Plan,
    post: Rc<Post>,
    now_ns: Cell<u64>,
    crews: RefCell<u32>,
    members: RefCell<Vec<Member>>,
    readings: RefCell<Vec<Reading>>,
    next_reading_ns: Cell<u64>,
    visits: RefCell<Vec<Visit>>,
}

/// A visit of a level, as the world saw it start.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Visit {
    /// When it started, nanoseconds.
    pub begin_ns: u64,
    /// Its number.
    pub load: u32,
    /// Speed of the server as a share of what was planned.
    pub speed: f64,
}

/// A worker, by the version of HTTP that it speaks.
enum Hand {
    One(Worker<Wired, Http1>),
    Two(Worker<Wired, Http2>),
}

/// One worker and its state.
struct Member {
    worker: Hand,
    index: usize,
    woken: Rc<Cell<Option<u64>>>,
    /// Start and end of its sleep; `None` while it has something to do.
    sleep: Option<(u64, u64)>,
}

impl World {
    /// A world in which nothing has happened yet.
    pub fn new(plan: Plan) -> Self {
        let post = Rc::new(Post {
            serving: RefCell::new(Serving::new(plan.server.clone(), plan.seed)),
            inboxes: RefCell::default(),
            pulses: RefCell::default(),
        });
        Self {
            plan,
            post,
            now_ns: Cell::new(BEGIN_NS),
            crews: RefCell::default(),
            members: RefCell::default(),
            readings: RefCell::default(),
            next_reading_ns: Cell::new(BEGIN_NS),
            visits: RefCell::default(),
        }
    }

    /// Its plan.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Now, nanoseconds.
    pub fn now_ns(&self) -> u64 {
        self.now_ns.get()
    }

    /// Starts the workers of a job in this world.
    pub fn start(&self, job: &Job) -> Crew {
        let mut roads = Vec::new();
        *self.crews.borrow_mut() += 1;
        for (index, shard) in (0..).zip(Shard::all_of(&job.share)) {
            let (recorder, feed) = road(index, job.routes.len());
            let (orders, orders_out) = RingBuffer::new(ORDERS);
            roads.push((orders, feed));
            let number = self.post.inboxes.borrow().len();
            self.post.inboxes.borrow_mut().push(Inbox::default());
            let pulse =
                Pulse::new(self.plan.generator.clone(), self.plan.seed, index, self.now_ns());
            self.post.pulses.borrow_mut().push(pulse);
            let woken = Rc::new(Cell::new(None));
            let slots = shard.share(u64::from(job.connections_max)) as u32;
            let home = (Rc::clone(&self.post), number as u32);
            let driver = Wired::new(home, job.tape.clone(), slots, Rc::clone(&woken));
            let road = (recorder, orders_out);
            let worker = Hand::new((job, slots, index), driver, road);
            self.members.borrow_mut().push(Member { worker, index: number, woken, sleep: None });
        }
        Crew::of_world(roads, job)
    }

    /// Lets this much time pass.
    pub fn pass_ns(&self, duration_ns: u64) {
        let until_ns = self.now_ns() + duration_ns;
        let mut members = self.members.borrow_mut();
        loop {
            let step_ns = self.post.serving.borrow().next_ns();
            let turn = members.iter().map(|one| one.next_ns(&self.post)).enumerate();
            let (next, turn_ns) =
                turn.min_by_key(|(_, at_ns)| *at_ns).unwrap_or((usize::MAX, u64::MAX));
            let read_ns = self.next_reading_ns.get();
            let at_ns = step_ns.min(turn_ns).min(read_ns);
            if at_ns > until_ns {
                break;
            }
            if step_ns == at_ns {
                self.serve();
            } else if read_ns == at_ns {
                self.read(at_ns);
            } else if !members[next].turn() {
                members.remove(next);
            }
        }
        self.now_ns.set(until_ns);
    }

    fn serve(&self) {
        let mut serving = self.post.serving.borrow_mut();
        serving.step();
        let mut inboxes = self.post.inboxes.borrow_mut();
        for (at_ns, end, delivery) in serving.outbox.drain(..) {
            inboxes[end.worker as usize].push(at_ns, end, delivery);
        }
    }

    fn read(&self, at_ns: u64) {
        let read = self.plan.host.read(at_ns, &self.post, self.plan.generator.quota_ns);
        self.readings.borrow_mut().extend(read);
        self.next_reading_ns.set(at_ns + READ_EVERY_NS);
    }

    /// Starts a visit: draws the server's speed again.
    pub fn begin_visit(&self, load: u32) {
        let mut serving = self.post.serving.borrow_mut();
        serving.begin_visit();
        let visit = Visit { begin_ns: self.now_ns(), load, speed: serving.speed() };
        self.visits.borrow_mut().push(visit);
    }

    /// Every visit so far.
    pub fn visits(&self) -> Vec<Visit> {
        self.visits.borrow().clone()
    }

    /// Readings since the last call.
    pub fn take_readings(&self) -> Vec<Reading> {
        std::mem::take(&mut self.readings.borrow_mut())
    }

    /// CPU time of the generator's workers so far, nanoseconds.
    pub fn cpu_ns(&self) -> u64 {
        self.post.pulses.borrow().iter().map(|pulse| pulse.cpu_ns).sum()
    }

    /// The server's own account: every request that was ever sent to it.
    pub fn account(&self) -> Vec<Entry> {
        self.post.serving.borrow().account.clone()
    }

    /// Facts of the host, with one CPU for each of this many workers and for each thread of the
    /// server.
    pub fn host(&self, workers: u32) -> HostFacts {
        self.plan.host.facts(workers + self.plan.server.servers, self.plan.generator.quota_ns)
    }

    /// Facts of the server next to this many workers.
    pub fn server(&self, workers: u32) -> Option<ServerFacts> {
        self.plan.host.server(workers..workers + self.plan.server.servers)
    }
}

impl Hand {
    fn new(
        (job, slots, index): (&Job, u32, u32),
        driver: Wired,
        (recorder, orders): (Recorder, Consumer<Order>),
    ) -> Self {
        match job.http {
            HttpVersion::One => {
                let mut worker = Worker::new(job, slots, index, driver, recorder, orders);
                worker.begin();
                Self::One(worker)
            }
            HttpVersion::Two => {
                let mut worker = Worker::new(job, slots, index, driver, recorder, orders);
                worker.begin();
                Self::Two(worker)
            }
        }
    }

    fn post(&self) -> Rc<Post> {
        match self {
            Self::One(worker) => worker.driver().post(),
            Self::Two(worker) => worker.driver().post(),
        }
    }

    fn begin_turn(&mut self) -> Option<(u64, u64)> {
        match self {
            Self::One(worker) => worker.begin_turn(),
            Self::Two(worker) => worker.begin_turn(),
        }
    }

    fn end_turn(&mut self, now_ns: u64, until_ns: u64) {
        match self {
            Self::One(worker) => worker.end_turn(now_ns, until_ns),
            Self::Two(worker) => worker.end_turn(now_ns, until_ns),
        }
    }
}

impl Member {
    /// When it acts next.
    fn next_ns(&self, post: &Post) -> u64 {
        let pulse = &post.pulses.borrow()[self.index];
        match self.sleep {
            None => pulse.local_ns,
            Some((_, until_ns)) => {
                let arrives_ns = post.inboxes.borrow()[self.index].next_ns();
                pulse.wake_ns(until_ns.min(arrives_ns))
            }
        }
    }

    /// Half a turn: up to the wait, or after it. False when it was the last.
    fn turn(&mut self) -> bool {
        let post = self.worker.post();
        match self.sleep.take() {
            None => {
                let Some((now_ns, until_ns)) = self.worker.begin_turn() else { return false };
                post.pulses.borrow_mut()[self.index].sleep(until_ns);
                self.sleep = Some((now_ns, until_ns));
            }
            Some((now_ns, until_ns)) => {
                let arrives_ns = post.inboxes.borrow()[self.index].next_ns();
                self.woken.set(Some(until_ns.min(arrives_ns)));
                self.worker.end_turn(now_ns, until_ns);
            }
        }
        true
    }
}
