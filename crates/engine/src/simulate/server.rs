//! A server in virtual time that keeps its own account of every request.
//!
//! `c` servers with any distribution of service times and three disciplines, and what else real
//! servers do: they refuse above a limit, give up late, halt, start slowly, close connections, die.
//! Measurements are checked against this account.

use model::random::Random;
use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap, VecDeque};

/// How long a request keeps a server busy.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Service {
    /// This long for every request, nanoseconds.
    Fixed(f64),
    /// Exponential with this mean, nanoseconds.
    Exponential(f64),
    /// Two times, nanoseconds, and the share of requests that take the second.
    Bimodal(f64, f64, f64),
    /// Pareto with this minimum, nanoseconds, and this shape above 1; cut at a thousand times the
    /// minimum.
    Pareto(f64, f64),
}

impl Service {
    fn draw(self, random: &mut Random) -> f64 {
        match self {
            Self::Fixed(ns) => ns,
            Self::Exponential(mean) => -mean * (1.0 - random.uniform()).ln(),
            Self::Bimodal(short, long, share) => {
                if random.uniform() < share {
                    long
                } else {
                    short
                }
            }
            Self::Pareto(least, shape) => {
                (least * (1.0 - random.uniform()).powf(-1.0 / shape)).min(least * 1e3)
            }
        }
    }

    /// Mean, nanoseconds.
    pub fn mean_ns(self) -> f64 {
        match self {
            Self::Fixed(ns) | Self::Exponential(ns) => ns,
            Self::Bimodal(short, long, share) => short + (long - short) * share,
            Self::Pareto(least, shape) => {
                let cut = 1e3f64;
                // The mean of a Pareto that is cut at `cut` times its least value.
                least * (shape - cut.powf(1.0 - shape)) / (shape - 1.0)
            }
        }
    }
}

/// Which request a free server takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Discipline {
    /// The one that has waited longest.
    Shared,
    /// The one that has waited longest on its own connections: connections belong to servers.
    Own,
    /// All at once: `n` requests share the speed of `c` servers.
    Sharing,
}

/// When the servers halt: for `for_ns`, from `first_ns` after the start, and again every `every_ns`
/// if that is not zero.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Halts {
    /// Start of the first halt.
    pub first_ns: u64,
    /// Length of each halt; zero for none.
    pub for_ns: u64,
    /// From the start of one halt to the start of the next; zero for a single halt.
    pub every_ns: u64,
    /// Each halt is later than that by up to so much, so that there is no beat; together with
    /// `for_ns` less than `every_ns`.
    pub late_ns: u64,
}

impl Halts {
    /// The end of the halt that contains an instant.
    pub fn end_of(&self, at_ns: u64) -> Option<u64> {
        let begin_ns = self.begin_ns(self.nth(at_ns)?);
        (begin_ns <= at_ns && at_ns < begin_ns + self.for_ns).then_some(begin_ns + self.for_ns)
    }

    /// Which halt may contain an instant.
    fn nth(&self, at_ns: u64) -> Option<u64> {
        let since_ns = at_ns.checked_sub(self.first_ns)?;
        Some(since_ns.checked_div(self.every_ns).unwrap_or(0))
    }

    fn begin_ns(&self, nth: u64) -> u64 {
        self.first_ns + nth * self.every_ns + Random::new(nth, 9).between(0, self.late_ns)
    }

    /// For how long they halted before an instant.
    pub(super) fn before_ns(&self, at_ns: u64) -> u64 {
        let Some(last) = self.nth(at_ns) else { return 0 };
        let of = |nth| at_ns.saturating_sub(self.begin_ns(nth)).min(self.for_ns);
        (0..=last).map(of).sum()
    }

    /// The start of the next halt after an instant that lies in none.
    fn next(&self, at_ns: u64) -> u64 {
        match self.nth(at_ns) {
            _ if self.for_ns == 0 => u64::MAX,
            None => self.begin_ns(0),
            Some(nth) if at_ns < self.begin_ns(nth) => self.begin_ns(nth),
            Some(_) if self.every_ns == 0 => u64::MAX,
            Some(nth) => self.begin_ns(nth + 1),
        }
    }
}

/// What a server that speaks HTTP/2 does about streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StreamPlan {
    /// Streams that it allows at once on a connection; 0 for no limit.
    pub limit: u32,
    /// Window for the body of a request, bytes, which it gives back as the bytes come.
    pub window: u32,
    /// Requests on a connection before the server leaves it; 0 for no limit.
    pub leaves_after: u32,
}

/// A model of a server.
#[derive(Debug, Clone, PartialEq)]
pub struct Server {
    /// Requests that it works on at once.
    pub servers: u32,
    /// Which request is next.
    pub discipline: Discipline,
    /// How long each takes.
    pub service: Service,
    /// Share of the service time that is CPU time of the server, 0 to 1.
    pub cpu_share: f64,
    /// With more requests than this in it, it refuses the next at once with this status.
    pub refuses: Option<(u32, u16)>,
    /// It admits this many requests per second, saved up for at most a tenth of a second, and
    /// refuses the others at once with this status.
    pub limits: Option<(f64, u16)>,
    /// A request that has been in it for this long gets status 504; the work on it continues.
    pub gives_up_ns: Option<u64>,
    /// Share of requests that get this status after their service.
    pub fails: (f64, u16),
    /// Share of requests whose connection is reset after their service.
    pub resets: f64,
    /// Responses on a connection before the server closes it; 0 is no limit.
    pub closes_after: u32,
    /// What it does about streams; absent for HTTP/1.1.
    pub streams: Option<StreamPlan>,
    /// When it halts.
    pub halts: Halts,
    /// It works at this share of its speed for this long from its first request.
    pub slow_start: Option<(u64, f64)>,
    /// From then on it answers nothing and refuses connections.
    pub dies_ns: Option<u64>,
    /// Standard deviation of its speed from visit to visit, as a share.
    pub noise: f64,
    /// The body of a response comes in this many pieces, with this pause between them, nanoseconds.
    pub pieces: (u32, u64),
    /// Whether bytes that belong to no response follow each response.
    pub stray_bytes: bool,
    /// One-way time of a request to it, and of a response back, nanoseconds.
    pub path_ns: u64,
}

impl Server {
    /// A server without faults.
    pub fn new(servers: u32, discipline: Discipline, service: Service) -> Self {
        Self {
            servers,
            discipline,
            service,
            cpu_share: 1.0,
            refuses: None,
            limits: None,
            gives_up_ns: None,
            fails: (0.0, 500),
            resets: 0.0,
            closes_after: 0,
            streams: None,
            halts: Halts::default(),
            slow_start: None,
            dies_ns: None,
            noise: 0.0,
            pieces: (1, 0),
            stray_bytes: false,
            path_ns: 10_000,
        }
    }

    /// Requests per second that it can serve.
    pub fn capacity(&self) -> f64 {
        f64::from(self.servers) * 1e9 / self.service.mean_ns()
    }
}

/// What became of a request, according to the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestFate {
    /// It is still there.
    Pending,
    /// It was answered with this status.
    Answered(u16),
    /// Its connection was reset.
    Reset,
}

/// One request in the server's account. Times are those of the generator's host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    /// The worker and its connection.
    pub from: (u32, u32),
    /// When it left the generator.
    pub sent_ns: u64,
    /// When the last byte of its response could be read; 0 while it is pending.
    pub back_ns: u64,
    /// When the worker read it; 0 if it never did.
    pub taken_ns: u64,
    /// What became of it.
    pub fate: RequestFate,
}

/// A connection of one worker; the generation tells connections with the same slot apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct End {
    pub worker: u32,
    pub slot: u32,
    pub generation: u32,
}

/// What arrives at a worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Delivery {
    Opened,
    Refused,
    /// Part `nth` of `of` of a response to a request of the account.
    Response {
        entry: u32,
        status: u16,
        nth: u32,
        of: u32,
        closes: bool,
    },
    Closed,
    Reset(Option<u32>),
    /// The server's settings of HTTP/2.
    Settings,
    /// It gives back so much of the windows of the connection and of a stream.
    Window {
        stream: u32,
        more: u32,
    },
    /// It takes this request of the account, and none after it.
    Leave(u32),
}

#[derive(Debug, Clone, Copy)]
enum JobStep {
    Connect(End),
    Arrive(End, u32),
    /// A server has finished its request.
    Done(u32),
    /// Under [`Discipline::Sharing`] the next request is done, unless another event came between.
    Least(u64),
    GiveUp(End, u32),
    Die,
}

#[derive(Debug, Default, Clone)]
struct AcceptedConnection {
    generation: u32,
    is_open: bool,
    responses: u32,
    /// Requests behind the one being served: responses go back in order.
    behind: VecDeque<u32>,
    at_work: Option<u32>,
    /// Requests that have no response, where responses come in any order.
    streams: BTreeSet<u32>,
    /// Requests that came, and whether the server takes no more of them.
    came: u32,
    is_left: bool,
}

#[derive(Debug, Clone, Copy)]
struct Job {
    entry: u32,
    end: End,
    work_ns: f64,
}

/// A running server.
pub(super) struct Serving {
    pub plan: Server,
    pub account: Vec<Entry>,
    /// CPU time of each of its threads, nanoseconds.
    pub cpu_ns: Vec<f64>,
    /// Deliveries to the workers.
    pub outbox: Vec<(u64, End, Delivery)>,
    /// Speed of this visit.
    speed: f64,
    random: Random,
    steps: BinaryHeap<Reverse<(u64, u64)>>,
    planned: Vec<JobStep>,
    connections: Vec<Vec<AcceptedConnection>>,
    queues: Vec<VecDeque<Job>>,
    at_work: Vec<Option<(Job, u64)>>,
    /// Requests in the server.
    inside: u32,
    shared: Shared,
    first_ns: Option<u64>,
    /// When its tokens were last counted, and how many there were.
    bucket: (u64, f64),
    is_dead: bool,
}

/// Processor sharing: the work that a request present since the start would have received.
#[derive(Default)]
struct Shared {
    given: f64,
    until_ns: u64,
    version: u64,
    jobs: BinaryHeap<Reverse<(u64, u32)>>,
    by_entry: std::collections::BTreeMap<u32, Job>,
}

impl Serving {
    pub fn new(plan: Server, seed: u64) -> Self {
        let count = plan.servers as usize;
        let queues = if plan.discipline == Discipline::Own { count } else { 1 };
        let mut serving = Self {
            account: Vec::new(),
            cpu_ns: vec![0.0; count],
            outbox: Vec::new(),
            speed: 1.0,
            random: Random::new(seed, 1),
            steps: BinaryHeap::new(),
            planned: Vec::new(),
            connections: Vec::new(),
            queues: vec![VecDeque::new(); queues],
            at_work: vec![None; count],
            inside: 0,
            shared: Shared::default(),
            first_ns: None,
            bucket: (0, 0.0),
            is_dead: false,
            plan,
        };
        if let Some(dies_ns) = serving.plan.dies_ns {
            serving.plan_step(dies_ns, JobStep::Die);
        }
        serving
    }

    /// Draws the speed of the next visit.
    pub fn begin_visit(&mut self) {
        self.speed = (1.0 + self.plan.noise * self.random.normal()).max(0.2);
    }

    /// The speed of this visit as a share of what was planned.
    pub fn speed(&self) -> f64 {
        self.speed
    }

    /// When the next step is due.
    pub fn next_ns(&self) -> u64 {
        self.steps.peek().map_or(u64::MAX, |Reverse((at_ns, _))| *at_ns)
    }

    fn plan_step(&mut self, at_ns: u64, step: JobStep) {
        self.steps.push(Reverse((at_ns, self.planned.len() as u64)));
        self.planned.push(step);
    }

    fn connection(&mut self, end: End) -> &mut AcceptedConnection {
        let (worker, slot) = (end.worker as usize, end.slot as usize);
        if self.connections.len() <= worker {
            self.connections.resize_with(worker + 1, Vec::new);
        }
        let slots = &mut self.connections[worker];
        if slots.len() <= slot {
            slots.resize_with(slot + 1, AcceptedConnection::default);
        }
        &mut slots[slot]
    }

    /// A worker connects.
    pub fn connect(&mut self, now_ns: u64, end: End) {
        self.plan_step(now_ns + self.plan.path_ns, JobStep::Connect(end));
    }

    /// A worker sends a request; returns the number of its entry.
    pub fn send(&mut self, now_ns: u64, end: End) -> u32 {
        let entry = self.begin_request(now_ns, end);
        self.end_request(now_ns, end, entry);
        entry
    }

    /// A worker sends the head of a request; returns the number of its entry.
    pub fn begin_request(&mut self, now_ns: u64, end: End) -> u32 {
        let (from, fate) = ((end.worker, end.slot), RequestFate::Pending);
        let entry = self.account.len() as u32;
        self.account.push(Entry { from, sent_ns: now_ns, back_ns: 0, taken_ns: 0, fate });
        entry
    }

    /// It sends the rest of it.
    pub fn end_request(&mut self, now_ns: u64, end: End, entry: u32) {
        self.plan_step(now_ns + self.plan.path_ns, JobStep::Arrive(end, entry));
    }

    /// Does what is due at its next instant.
    pub fn step(&mut self) {
        let Some(Reverse((now_ns, index))) = self.steps.pop() else { return };
        match self.planned[index as usize] {
            JobStep::Connect(end) => self.accept(now_ns, end),
            JobStep::Arrive(end, entry) => self.arrive(now_ns, end, entry),
            JobStep::Done(server) => self.done(now_ns, server),
            JobStep::Least(version) if version == self.shared.version => self.done_shared(now_ns),
            JobStep::Least(_) => {}
            JobStep::GiveUp(end, entry) => self.give_up(now_ns, end, entry),
            JobStep::Die => self.die(now_ns),
        }
    }

    fn deliver(&mut self, now_ns: u64, end: End, delivery: Delivery) {
        self.outbox.push((now_ns + self.plan.path_ns, end, delivery));
    }

    fn accept(&mut self, now_ns: u64, end: End) {
        if self.is_dead {
            return self.deliver(now_ns, end, Delivery::Refused);
        }
        *self.connection(end) = AcceptedConnection {
            generation: end.generation,
            is_open: true,
            ..AcceptedConnection::default()
        };
        self.deliver(now_ns, end, Delivery::Opened);
    }

    fn is_current(&mut self, end: End) -> bool {
        let connection = self.connection(end);
        connection.is_open && connection.generation == end.generation
    }

    fn arrive(&mut self, now_ns: u64, end: End, entry: u32) {
        self.first_ns.get_or_insert(now_ns);
        if self.is_dead || !self.is_current(end) {
            self.account[entry as usize].fate = RequestFate::Reset;
            return self.deliver(now_ns, end, Delivery::Reset(Some(entry)));
        }
        if let Some(streams) = self.plan.streams {
            return self.arrive_on_stream(now_ns, (end, entry), streams);
        }
        let connection = self.connection(end);
        if connection.at_work.is_some() {
            connection.behind.push_back(entry);
        } else {
            self.admit(now_ns, end, entry);
        }
    }

    /// Requests of HTTP/2 wait for no other, and those behind the last one are refused.
    fn arrive_on_stream(&mut self, now_ns: u64, (end, entry): (End, u32), plan: StreamPlan) {
        let back_ns = now_ns + self.plan.path_ns;
        let connection = self.connection(end);
        if connection.is_left {
            let kept = &mut self.account[entry as usize];
            (kept.fate, kept.back_ns) = (RequestFate::Reset, back_ns);
            return;
        }
        connection.came += 1;
        let (most, open) = (plan.limit as usize, connection.streams.len());
        assert!(plan.limit == 0 || open < most, "{open} streams of {most}");
        connection.streams.insert(entry);
        if connection.came == plan.leaves_after {
            connection.is_left = true;
            self.deliver(now_ns, end, Delivery::Leave(entry));
        }
        self.admit(now_ns, end, entry);
    }

    /// Whether a request still waits for its response.
    fn is_asked(&mut self, end: End, entry: u32) -> bool {
        let connection = self.connection(end);
        connection.at_work == Some(entry) || connection.streams.contains(&entry)
    }

    fn admit(&mut self, now_ns: u64, end: End, entry: u32) {
        if self.plan.streams.is_none() {
            self.connection(end).at_work = Some(entry);
        }
        if let Some((limit, status)) = self.plan.refuses
            && self.inside >= limit
        {
            return self.respond(now_ns, end, entry, status);
        }
        if let Some((rate, status)) = self.plan.limits
            && !self.has_token(now_ns, rate)
        {
            return self.respond(now_ns, end, entry, status);
        }
        if let Some(gives_up_ns) = self.plan.gives_up_ns {
            self.plan_step(now_ns + gives_up_ns, JobStep::GiveUp(end, entry));
        }
        self.inside += 1;
        let work_ns = self.plan.service.draw(&mut self.random);
        let job = Job { entry, end, work_ns };
        match self.plan.discipline {
            Discipline::Sharing => self.share(now_ns, job),
            Discipline::Shared => {
                self.queues[0].push_back(job);
                if let Some(free) = self.least_used() {
                    self.begin(now_ns, free);
                }
            }
            Discipline::Own => {
                let own = (end.slot as usize + 7 * end.worker as usize) % self.queues.len();
                self.queues[own].push_back(job);
                if self.at_work[own].is_none() {
                    self.begin(now_ns, own);
                }
            }
        }
    }

    /// The free server that has worked least.
    fn least_used(&self) -> Option<usize> {
        let free = (0..self.at_work.len()).filter(|server| self.at_work[*server].is_none());
        free.min_by(|left, right| self.cpu_ns[*left].total_cmp(&self.cpu_ns[*right]))
    }

    /// Takes a token out of the bucket, if there is one.
    fn has_token(&mut self, now_ns: u64, rate: f64) -> bool {
        let (before_ns, tokens) = self.bucket;
        let saved = (now_ns - before_ns) as f64 / 1e9 * rate;
        let tokens = (tokens + saved).min((rate / 10.0).max(1.0));
        let is_there = tokens >= 1.0;
        self.bucket = (now_ns, if is_there { tokens - 1.0 } else { tokens });
        is_there
    }

    fn begin(&mut self, now_ns: u64, server: usize) {
        let queue = if self.plan.discipline == Discipline::Own { server } else { 0 };
        let Some(job) = self.queues[queue].pop_front() else { return };
        self.at_work[server] = Some((job, now_ns));
        let end_ns = self.end_of(now_ns, job.work_ns);
        self.plan_step(end_ns, JobStep::Done(server as u32));
    }

    fn done(&mut self, now_ns: u64, server: u32) {
        if self.is_dead {
            return;
        }
        let Some((job, begun_ns)) = self.at_work[server as usize].take() else { return };
        self.cpu_ns[server as usize] += self.work_between(begun_ns, now_ns) * self.plan.cpu_share;
        self.inside -= 1;
        self.begin(now_ns, server as usize);
        self.finish(now_ns, job);
    }

    /// The service of a request is over: the server answers it, unless it gave it up before.
    fn finish(&mut self, now_ns: u64, job: Job) {
        if !self.is_current(job.end) || !self.is_asked(job.end, job.entry) {
            return;
        }
        if self.random.uniform() < self.plan.resets {
            self.account[job.entry as usize].fate = RequestFate::Reset;
            self.account[job.entry as usize].back_ns = now_ns + self.plan.path_ns;
            self.connection(job.end).is_open = false;
            return self.deliver(now_ns, job.end, Delivery::Reset(Some(job.entry)));
        }
        let (share, status) = self.plan.fails;
        let status = if self.random.uniform() < share { status } else { 200 };
        self.respond(now_ns, job.end, job.entry, status);
    }

    fn respond(&mut self, now_ns: u64, end: End, entry: u32, status: u16) {
        let closes_after = self.plan.closes_after;
        let connection = self.connection(end);
        connection.at_work = None;
        connection.streams.remove(&entry);
        connection.responses += 1;
        let closes = closes_after > 0 && connection.responses >= closes_after;
        let (of, pause_ns) = self.plan.pieces;
        let mut at_ns = now_ns;
        for nth in 0..of {
            at_ns = now_ns + u64::from(nth) * pause_ns;
            let closes = closes && nth + 1 == of;
            self.deliver(at_ns, end, Delivery::Response { entry, status, nth, of, closes });
        }
        let kept = &mut self.account[entry as usize];
        (kept.fate, kept.back_ns) = (RequestFate::Answered(status), at_ns + self.plan.path_ns);
        if closes {
            self.connection(end).is_open = false;
            self.deliver(at_ns, end, Delivery::Closed);
        } else if let Some(next) = self.connection(end).behind.pop_front() {
            // After the last byte of the previous response.
            self.connection(end).at_work = Some(next);
            self.admit(at_ns, end, next);
        }
    }

    fn give_up(&mut self, now_ns: u64, end: End, entry: u32) {
        if self.is_current(end) && self.is_asked(end, entry) {
            self.respond(now_ns, end, entry, 504);
        }
    }

    fn die(&mut self, now_ns: u64) {
        self.is_dead = true;
        for worker in 0..self.connections.len() {
            for slot in 0..self.connections[worker].len() {
                let connection = &mut self.connections[worker][slot];
                if std::mem::take(&mut connection.is_open) {
                    let (worker, slot) = (worker as u32, slot as u32);
                    let entry = connection.at_work.take();
                    let end = End { worker, slot, generation: connection.generation };
                    if let Some(entry) = entry {
                        self.account[entry as usize].fate = RequestFate::Reset;
                    }
                    self.deliver(now_ns, end, Delivery::Reset(entry));
                }
            }
        }
    }

    /// Speed at an instant that lies in no halt, and until when it holds.
    fn pace(&self, at_ns: u64) -> (f64, u64) {
        let until_ns = self.plan.halts.next(at_ns);
        match self.plan.slow_start.zip(self.first_ns) {
            Some(((for_ns, share), first_ns)) if at_ns < first_ns + for_ns => {
                (self.speed * share, until_ns.min(first_ns + for_ns))
            }
            _ => (self.speed, until_ns),
        }
    }

    /// When one server finishes this much work, starting now.
    fn end_of(&self, now_ns: u64, work_ns: f64) -> u64 {
        let (mut at_ns, mut left) = (now_ns, work_ns);
        loop {
            if let Some(end_ns) = self.plan.halts.end_of(at_ns) {
                at_ns = end_ns;
                continue;
            }
            let (speed, until_ns) = self.pace(at_ns);
            let needs = left / speed;
            if needs <= until_ns.saturating_sub(at_ns) as f64 {
                return at_ns + needs.round() as u64;
            }
            left -= (until_ns - at_ns) as f64 * speed;
            at_ns = until_ns;
        }
    }

    /// Work that one server does between two instants.
    fn work_between(&self, begin_ns: u64, end_ns: u64) -> f64 {
        let (mut at_ns, mut work) = (begin_ns, 0.0);
        while at_ns < end_ns {
            if let Some(halt_end_ns) = self.plan.halts.end_of(at_ns) {
                at_ns = halt_end_ns;
                continue;
            }
            let (speed, until_ns) = self.pace(at_ns);
            let until_ns = until_ns.min(end_ns);
            work += (until_ns - at_ns) as f64 * speed;
            at_ns = until_ns;
        }
        work
    }

    /// Share of a server that each present request gets.
    fn each(&self) -> f64 {
        let present = self.shared.jobs.len().max(1) as f64;
        (f64::from(self.plan.servers) / present).min(1.0)
    }

    /// Gives every request its part of the work since the last call.
    fn advance_shared(&mut self, now_ns: u64) {
        let work = self.work_between(self.shared.until_ns, now_ns);
        if !self.shared.jobs.is_empty() {
            self.shared.given += work * self.each();
            let busy = (self.shared.jobs.len() as f64).min(f64::from(self.plan.servers));
            let each = work * self.plan.cpu_share * busy / f64::from(self.plan.servers);
            self.cpu_ns.iter_mut().for_each(|cpu_ns| *cpu_ns += each);
        }
        self.shared.until_ns = now_ns;
    }

    fn share(&mut self, now_ns: u64, job: Job) {
        self.advance_shared(now_ns);
        // Work in thousandths of a nanosecond, so that integers can be ordered.
        let until = ((self.shared.given + job.work_ns) * 1e3) as u64;
        self.shared.jobs.push(Reverse((until, job.entry)));
        self.shared.by_entry.insert(job.entry, job);
        self.plan_least(now_ns);
    }

    fn plan_least(&mut self, now_ns: u64) {
        self.shared.version += 1;
        let Some(Reverse((until, _))) = self.shared.jobs.peek() else { return };
        let left = (*until as f64 / 1e3 - self.shared.given).max(0.0);
        let end_ns = self.end_of(now_ns, left / self.each());
        self.plan_step(end_ns, JobStep::Least(self.shared.version));
    }

    fn done_shared(&mut self, now_ns: u64) {
        if self.is_dead {
            return;
        }
        self.advance_shared(now_ns);
        let Some(Reverse((_, entry))) = self.shared.jobs.pop() else { return };
        let job = self.shared.by_entry.remove(&entry);
        self.inside -= 1;
        self.plan_least(now_ns);
        if let Some(job) = job {
            self.finish(now_ns, job);
        }
    }
}
