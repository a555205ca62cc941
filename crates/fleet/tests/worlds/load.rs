//! A model of an agent's workers: they count the requests of a schedule, and report them in ticks.

use engine::job::{Order, Pace};
use model::dist::Dist;
use model::tick::{Phase, Tick};

const TENTH_NS: u64 = 100_000_000;
/// How long a response takes, nanoseconds.
const SERVICE_NS: u64 = 7_000_000;
/// Requests per second of one worker in the warm-up.
const WARM_RATE: u64 = 100;

/// What a worker really did in one load.
#[derive(Debug, Clone, Copy, Default)]
pub struct Truth {
    pub sent: u64,
    pub unsent: u64,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Stage {
    Idle,
    Warm { since_ns: u64, sent: u64 },
    Armed,
    Drain { until_ns: u64 },
}

/// One worker of one agent; request `n` of the fleet belongs to it if `n % workers == index`.
#[derive(Debug)]
pub struct Worker {
    tick: Box<Tick>,
    /// Index among all workers of the fleet, and the number of workers.
    place: (u64, u64),
    stage: Stage,
    load: u32,
    gap_ns: u64,
    window_ns: (u64, u64),
    /// What was due before this instant is not sent.
    skip_until_ns: u64,
    drain_ns: u64,
    next: u64,
    /// Due instants of requests in flight, with their phase.
    in_flight: Vec<(u64, Phase)>,
    pub truths: Vec<(u32, Truth)>,
    /// When it sent its last request, its own clock.
    pub sent_ns: Option<u64>,
}

impl Worker {
    pub fn new(local: u32, place: (u64, u64)) -> Self {
        Self {
            tick: Box::new(Tick { worker: local, ..Tick::default() }),
            place,
            stage: Stage::Idle,
            load: 0,
            gap_ns: 0,
            window_ns: (u64::MAX, u64::MAX),
            skip_until_ns: 0,
            drain_ns: 0,
            next: 0,
            in_flight: Vec::new(),
            truths: Vec::new(),
            sent_ns: None,
        }
    }

    pub fn order(&mut self, now_ns: u64, order: &Order, tell: &mut dyn FnMut(&Tick)) {
        match order {
            Order::Connect { load, pace, .. } => {
                self.hand_over(now_ns, Phase::Idle, tell);
                let Pace::Open { curve, .. } = pace else { panic!("these worlds plan") };
                self.gap_ns = (1e9 / curve.peak_rate()) as u64;
                (self.load, self.stage, self.next) = (*load, Stage::Idle, self.place.0);
                self.window_ns = (u64::MAX, u64::MAX);
                self.tick.connections.opened = 3;
                self.tick.connections.open = 3;
                self.truths.push((*load, Truth::default()));
            }
            Order::Warm => self.stage = Stage::Warm { since_ns: now_ns, sent: 0 },
            Order::Measure { begin_ns, end_ns, drain_ns, skip_until_ns, .. } => {
                (self.window_ns, self.drain_ns) = ((*begin_ns, *end_ns), *drain_ns);
                self.skip_until_ns = *skip_until_ns;
            }
            Order::Stop => self.stop(now_ns, tell),
            Order::Quit => {}
        }
    }

    /// Ends the load now: requests that were due and not sent are unsent, and responses to those in
    /// flight are awaited.
    pub fn stop(&mut self, now_ns: u64, tell: &mut dyn FnMut(&Tick)) {
        match self.stage {
            Stage::Armed => self.end_window(now_ns, tell),
            Stage::Idle | Stage::Warm { .. } if self.load > 0 => {
                self.hand_over(now_ns, Phase::Warmup, tell);
                self.stage = Stage::Drain { until_ns: now_ns };
            }
            _ => {}
        }
    }

    pub fn is_over(&self) -> bool {
        self.stage == Stage::Idle
    }

    fn due_ns(&self) -> u64 {
        self.window_ns.0.saturating_add(self.next * self.gap_ns)
    }

    /// Lets time advance until now.
    pub fn step(&mut self, now_ns: u64, tell: &mut dyn FnMut(&Tick)) {
        if matches!(self.stage, Stage::Idle | Stage::Warm { .. }) && now_ns >= self.window_ns.0 {
            self.hand_over(now_ns, Phase::Warmup, tell);
            self.stage = Stage::Armed;
            self.count_unsent(self.skip_until_ns);
        }
        if let Stage::Warm { since_ns, sent } = &mut self.stage {
            let until_now = now_ns.saturating_sub(*since_ns) * WARM_RATE / 1_000_000_000;
            while *sent < until_now {
                *sent += 1;
                self.tick.unmeasured.sent += 1;
                self.in_flight.push((now_ns, Phase::Warmup));
                self.sent_ns = Some(now_ns);
            }
        }
        if self.stage == Stage::Armed {
            while self.due_ns() < now_ns.min(self.window_ns.1) {
                self.next += self.place.1;
                self.tick.measured.sent += 1;
                self.truths.last_mut().unwrap().1.sent += 1;
                self.in_flight.push((now_ns, Phase::Measure));
                self.sent_ns = Some(now_ns);
            }
        }
        self.respond(now_ns);
        if self.stage == Stage::Armed && now_ns >= self.window_ns.1 {
            self.end_window(self.window_ns.1, tell);
        }
        let phase = match self.stage {
            Stage::Idle => Phase::Idle,
            Stage::Warm { .. } => Phase::Warmup,
            Stage::Armed => Phase::Measure,
            Stage::Drain { .. } => Phase::Drain,
        };
        if let Stage::Drain { until_ns } = self.stage
            && (self.in_flight.is_empty() || now_ns >= until_ns)
        {
            for (_, phase) in self.in_flight.drain(..) {
                match phase {
                    Phase::Measure => self.tick.measured.unanswered += 1,
                    _ => self.tick.unmeasured.unanswered += 1,
                }
            }
            self.tick.histograms[Dist::PerConnection].record_n(5, 3);
            self.tick.last = true;
            self.stage = Stage::Idle;
            self.window_ns = (u64::MAX, u64::MAX);
            return self.hand_over(now_ns, phase, tell);
        }
        let origin_ns = if phase == Phase::Measure { self.window_ns.0 } else { 0 };
        let tenth = |ns: u64| ns.saturating_sub(origin_ns) / TENTH_NS;
        if tenth(now_ns) > tenth(self.tick.begin_ns) {
            self.hand_over(now_ns, phase, tell);
        }
    }

    fn respond(&mut self, now_ns: u64) {
        let tick = &mut self.tick;
        self.in_flight.retain(|(sent_ns, phase)| {
            if now_ns.saturating_sub(*sent_ns) < SERVICE_NS {
                return true;
            }
            match phase {
                Phase::Measure => {
                    tick.measured.completed += 1;
                    tick.measured.status[0] += 1;
                    // Small values keep the distributions of a world small.
                    tick.histograms[Dist::Latency].record_n((now_ns - sent_ns) / 10_000, 1);
                }
                _ => tick.unmeasured.completed += 1,
            }
            false
        });
    }

    fn count_unsent(&mut self, end_ns: u64) {
        while self.due_ns() < end_ns.min(self.window_ns.1) {
            self.next += self.place.1;
            self.tick.measured.unsent += 1;
            self.truths.last_mut().unwrap().1.unsent += 1;
        }
    }

    fn end_window(&mut self, end_ns: u64, tell: &mut dyn FnMut(&Tick)) {
        self.count_unsent(end_ns);
        self.hand_over(end_ns, Phase::Measure, tell);
        self.stage = Stage::Drain { until_ns: end_ns.saturating_add(self.drain_ns) };
    }

    fn hand_over(&mut self, now_ns: u64, phase: Phase, tell: &mut dyn FnMut(&Tick)) {
        let tick = &mut self.tick;
        (tick.load, tick.phase, tick.end_ns) = (self.load, phase, now_ns.max(tick.begin_ns));
        if self.load > 0 {
            tell(tick);
        }
        tick.clear();
        tick.begin_ns = now_ns;
    }
}
