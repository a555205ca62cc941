//! Evidence from the kernel: one more visit of a level, with programs in the kernel, and visits
//! with a quarter of its requests, in which they do not wait for each other.
//!
//! The programs cost something at each switch of a thread and each request, so no measured window
//! has them. They are loaded before the visit and attached inside its window.

use crate::crews::Crews;
use crate::error::LabError;
use crate::level::{LevelContext, visit};
use crate::point;
use crate::profiled::best;
use crate::record::RunBuilder;
use crate::setting::Setting;
use judge::LightLoad;
use kernel::{Asked, Scope, Watch};
use model::curve::{Curve, Leg};
use model::event::Event;
use model::kernel::{KernelReadings, KernelRecord, LightVisit};
use model::load::{Arrival, Level, Spacing, Stop};
use model::route::Address;
use model::run::{Outcome, Point, Target};
use model::units::{NS_PER_MS, NS_PER_S};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// The programs are attached this long after the window begins, and detached as long before it
/// ends, nanoseconds: both take a while, and the load is then steady.
const MARGIN_NS: u64 = 100 * NS_PER_MS;
const _: () = assert!(plan::PROFILED_WINDOW_MIN_NS > 10 * MARGIN_NS);
/// Rates from this share of the best on are near it: levels of a plateau differ by less.
const NEAR: f64 = 0.90;
/// How often the thread that attaches them looks whether the visit has ended early.
const LOOK: Duration = Duration::from_millis(20);

/// Programs for the window of one visit.
pub(crate) struct Watcher {
    /// Loaded, until the window begins.
    loaded: Option<Watch>,
    is_over: Arc<AtomicBool>,
    attached: Option<JoinHandle<KernelReadings>>,
}

impl Watcher {
    /// Loads the programs.
    fn load(asked: Asked) -> Self {
        Self { loaded: Some(Watch::load(asked)), is_over: Arc::default(), attached: None }
    }

    /// Attaches the programs inside a window. Returns at once.
    pub(crate) fn start(&mut self, (begin_ns, end_ns): (u64, u64)) {
        let Some(mut watch) = self.loaded.take() else { return };
        let is_over = Arc::clone(&self.is_over);
        self.attached = Some(thread::spawn(move || {
            let now_ns = engine::clock::now_ns;
            let sleep_until = |until_ns: u64| {
                while now_ns() < until_ns && !is_over.load(Ordering::Relaxed) {
                    let left = Duration::from_nanos(until_ns.saturating_sub(now_ns()));
                    thread::sleep(left.min(LOOK));
                }
            };
            sleep_until(begin_ns + MARGIN_NS);
            watch.attach(now_ns);
            sleep_until(end_ns.saturating_sub(MARGIN_NS));
            watch.finish(now_ns)
        }));
    }

    /// What the programs saw; none when no window began.
    fn finish(self) -> Option<KernelReadings> {
        self.is_over.store(true, Ordering::Relaxed);
        self.attached?.join().ok()
    }
}

/// Visits a level once more with programs in the kernel, if requested, and then as often as it
/// tells more with fewer requests.
pub(crate) fn run(
    run: &mut RunBuilder<'_>,
    context: &mut LevelContext<'_, '_>,
) -> Result<(), LabError> {
    let is_model = matches!(run.setting, Setting::Model(_));
    if run.trial.evidence.is_none() || is_model || run.outcome != Outcome::Complete {
        return Ok(());
    }
    let asked = match asked(&run.target, run.trial.addresses.first()) {
        Ok(asked) => asked,
        Err(why) => {
            run.notice(format!("no evidence from the kernel: {why}"), context.notify);
            return Ok(());
        }
    };
    let Some(at) = fullest(run) else { return Ok(()) };
    let level = run.levels[at].clone();
    (context.notify)(block("the load"));
    // After that of a profile.
    let number = run.levels.len() as u32 + 2;
    let seen = watched(run, context, (&level, number), asked.clone())?;
    let Some((point, readings)) = seen else { return Ok(()) };
    for lacking in &readings.unreadable {
        let text = format!("not read from the kernel: {}: {}", lacking.what, lacking.why);
        run.notice(text, context.notify);
    }
    let mut record = KernelRecord {
        point: at,
        rate: point.rate,
        answered_rate: point.answered_rate(),
        in_flight: point.in_flight.mean,
        readings,
        light: Vec::new(),
    };
    let asked = Asked { scope: Scope::Split, ..asked };
    let until = context.until;
    while run.outcome == Outcome::Complete
        && let Some(light) = judge::next_light(&record, &run.points[at])
    {
        let window_ns = window_ns(light, until);
        context.until = Stop::AfterNs(window_ns);
        (context.notify)(block("few requests"));
        let level = light_level(&level, light, window_ns);
        let number = number + 1 + record.light.len() as u32;
        let seen = watched(run, context, (&level, number), asked.clone())?;
        context.until = until;
        let Some((point, readings)) = seen else { break };
        record.light.push(light_visit(light, &point, readings));
    }
    run.kernel = Some(record);
    Ok(())
}

fn block(of: &str) -> Event {
    Event::Block { what: format!("a visit of {of} with programs in the kernel"), block: 1, of: 1 }
}

/// The point with the most load of those near the best: a queue shows there, if there is one.
fn fullest(run: &RunBuilder<'_>) -> Option<usize> {
    let best = best(run)?;
    let least = NEAR * run.points[best].rate;
    let near = run.points.iter().enumerate().filter(|(_, point)| point.rate >= least);
    let fullest = near.max_by_key(|(_, point)| point.load_size());
    Some(fullest.map_or(best, |(at, _)| at))
}

/// One visit with programs in the kernel, and what they saw; none when it has no window.
fn watched(
    run: &mut RunBuilder<'_>,
    context: &mut LevelContext<'_, '_>,
    (level, number): (&Level, u32),
    asked: Asked,
) -> Result<Option<(Point, KernelReadings)>, LabError> {
    let crews = Crews::of(run.trial, level);
    context.evidence = Some(Watcher::load(asked));
    let visited = visit(context, &crews, number)?;
    let readings = context.evidence.take().and_then(Watcher::finish);
    run.outcome = visited.ending;
    let window_ns = visited.window_ns();
    let Some(readings) = readings.filter(|_| window_ns.0 < window_ns.1) else { return Ok(None) };
    let observed = run.observe(context.watch, window_ns);
    let point = point::make(run.trial, &crews.asking, 1, &visited, &observed);
    Ok(Some((point, readings)))
}

/// How long a light visit lasts: as long as it must, at most as long as a level.
fn window_ns(light: LightLoad, until: Stop) -> u64 {
    let needed_ns = (light.seconds * NS_PER_S as f64) as u64 + 2 * MARGIN_NS;
    let most_ns = match until {
        Stop::AfterNs(ns) => ns,
        Stop::AfterRequests(_) => plan::PROFILED_WINDOW_MIN_NS,
    };
    needed_ns.max(plan::PROFILED_WINDOW_MIN_NS).min(most_ns)
}

/// The connections of a level, with fewer requests: evenly, or several at one instant.
fn light_level(level: &Level, light: LightLoad, window_ns: u64) -> Level {
    let curve = match light.at_once {
        1 => Curve::constant(light.rate),
        at_once => bursts(f64::from(at_once), light.rate, window_ns),
    };
    let arrival = Arrival::Open { curve, arrivals: Spacing::Fixed };
    Level { arrival, depth: 1, ..level.clone() }
}

/// As many requests within a microsecond, and then none for so long that the rate is kept. The
/// first leg has the rate of the warm-up, and as it plans half a request, no number of requests is
/// planned exactly at the end of a leg, where rounding would decide.
fn bursts(at_once: f64, rate: f64, window_ns: u64) -> Curve {
    const TOGETHER_NS: u64 = 1_000;
    let every_ns = (at_once / rate * NS_PER_S as f64) as u64;
    let leg = |duration_ns, rate| Leg { duration_ns, from: rate, to: rate };
    let together = leg(TOGETHER_NS, at_once / TOGETHER_NS as f64 * NS_PER_S as f64);
    let none = leg(every_ns.saturating_sub(TOGETHER_NS), 0.0);
    let times = window_ns.div_ceil(every_ns.max(TOGETHER_NS)) as usize;
    let both = std::iter::repeat_n([together, none], times).flatten();
    let half_ns = (0.5 / rate * NS_PER_S as f64) as u64;
    Curve::of_legs(std::iter::once(leg(half_ns, rate)).chain(both).collect())
}

fn light_visit(light: LightLoad, point: &Point, readings: KernelReadings) -> LightVisit {
    LightVisit {
        at_once: light.at_once,
        asked_rate: light.rate,
        answered_rate: point.answered_rate(),
        late_ns: point.generator_delay_ns.as_ref().and_then(|late| late.p90),
        seconds: readings.seconds(),
        split: readings.split,
    }
}

/// The server's processes on this host, and its port.
fn asked(target: &Target, address: Option<&Address>) -> Result<Asked, String> {
    let Some(server) = target.server.as_ref() else {
        return Err("the server's process is not known on this host; --server-pid names it, and \
                    for a server on another host run ceiling there"
            .to_string());
    };
    let port = address.and_then(Address::port);
    Ok(Asked { pids: server.pids.clone(), port, scope: Scope::All })
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::schedule::Schedule;
    use engine::shard::Shard;

    #[test]
    fn requests_come_together_and_keep_their_rate() {
        for (at_once, rate) in [(2, 50.0), (3, 33.3), (16, 1000.0), (2, 10_000.0)] {
            let curve = Arc::new(bursts(f64::from(at_once), rate, 2 * NS_PER_S));
            let mut schedule = Schedule::new(&curve, Spacing::Fixed, 1, Shard::whole());
            let due = std::iter::from_fn(|| schedule.next_ns());
            let due: Vec<u64> = due.take_while(|due_ns| *due_ns < 2 * NS_PER_S).collect();
            let together = due[1..].chunk_by(|one, next| next - one <= 1_000);
            let sizes: Vec<usize> = together.map(<[u64]>::len).collect();
            let whole = sizes.iter().take(sizes.len() - 1);
            assert!(whole.clone().all(|size| *size == at_once as usize), "{at_once}: {sizes:?}");
            let planned = 2.0 * rate;
            let off = due.len() as f64 - planned;
            assert!(off.abs() <= f64::from(at_once) + 1.0, "{} of {planned}", due.len());
        }
    }

    #[test]
    fn a_light_visit_is_as_long_as_it_must_be_and_no_longer_than_a_level() {
        let light = |seconds| LightLoad { at_once: 1, rate: 10.0, seconds };
        let level = Stop::AfterNs(5 * NS_PER_S);
        assert_eq!(window_ns(light(0.1), level), plan::PROFILED_WINDOW_MIN_NS);
        assert_eq!(window_ns(light(3.0), level), 3_200_000_000);
        assert_eq!(window_ns(light(30.0), level), 5 * NS_PER_S);
    }
}
