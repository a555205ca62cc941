//! The arithmetic of predictions: what a change can do to a rate, given what limits it.
//!
//! Kinds, each a function with its figures spelled out in the answer:
//!
//! - the wall is elsewhere: nothing, within the noise of the run;
//! - [`removed_work`]: of `c` microseconds per request on the CPU that limits, `m` can go: at most
//!   `c / (c - m) - 1`;
//! - [`spread_of_softirq`]: work moves to other CPUs: at most `fullest / mean - 1`;
//! - [`removed_waiting`]: of the time in the system a share goes: at most `1 / (1 - share) - 1`;
//! - [`halved_softirq`]: work in softirq is made less: of its share at most one half goes;
//! - [`limit`]: a count runs into a limit: nothing until it does, then up to the next wall.

use model::tuning::{CpuSignal, Prediction, Signals};
use model::verdict::Named;
use model::wall::{Side as At, WallId};

/// What cannot be told from nothing when the run does not say.
const NOISE: f64 = 0.03;
/// Share of its time from which a CPU counts as full.
const FULL: f64 = 0.95;
/// Share of softirq from which a full CPU is full of it.
const SOFTIRQ: f64 = 0.5;
/// Walls of a server whose CPUs limit: less work per request moves them.
const CPU_WALLS: &[WallId] =
    &[WallId::K4, WallId::K5, WallId::K6, WallId::K9, WallId::S1, WallId::S2, WallId::S4];
/// Price of work moved between CPUs, as a share of the rate: wake-ups of other CPUs.
const PRICE_OF_MOVING: f64 = 0.35;

/// The noise of a run.
pub fn noise(signals: &Signals) -> f64 {
    signals.noise.unwrap_or(NOISE).max(0.01)
}

/// A measured figure that one can calculate with; others were not measured.
pub fn finite(figure: Option<f64>) -> Option<f64> {
    figure.filter(|figure| figure.is_finite() && *figure >= 0.0)
}

/// CPUs of the server with shares that one can calculate with.
fn cpus_of_server(signals: &Signals) -> Option<Vec<CpuSignal>> {
    let is_right = |share: f64| share.is_finite() && share >= 0.0;
    let cpus = signals.server.cpus.as_ref()?.iter().copied();
    let cpus: Vec<_> = cpus.filter(|cpu| is_right(cpu.busy) && is_right(cpu.softirq)).collect();
    (!cpus.is_empty()).then_some(cpus)
}

/// Mean share of time in which the server's CPUs were busy.
pub fn mean_busy(signals: &Signals) -> Option<f64> {
    let cpus = cpus_of_server(signals)?;
    finite(Some(cpus.iter().map(|cpu| cpu.busy).sum::<f64>() / cpus.len() as f64))
}

/// A prediction of nothing, when the generator, or a named wall that is none of `relieved`, limits.
pub fn elsewhere(signals: &Signals, relieved: &[WallId], reconsider: &str) -> Option<Prediction> {
    let wall = signals.wall?;
    let is_elsewhere = match wall {
        Named::Wall(wall) => !relieved.contains(&wall),
        Named::None | Named::Unknown => false,
    };
    let words = match wall {
        Named::Wall(wall) if signals.client_is_wall || at_the_client(wall) => {
            let name = wall.name();
            format!("the generator was the wall ({wall}, {name}): no change of the server can show")
        }
        Named::Wall(wall) => {
            format!("the wall was {wall}, {}, which this does not move", wall.name())
        }
        Named::None | Named::Unknown => String::new(),
    };
    is_elsewhere.then(|| Prediction::no_effect(noise(signals), words, reconsider))
}

fn at_the_client(wall: WallId) -> bool {
    matches!(wall.side(), At::Client | At::Measurement)
}

/// A count that runs into a limit: `hits` is how often it did.
pub fn limit(signals: &Signals, hits: Option<u64>, what: &str, reconsider: &str) -> Prediction {
    match hits {
        None => Prediction::unknown(format!("not measured: {what}"), reconsider),
        Some(0) => {
            Prediction::no_effect(noise(signals), format!("0 {what}: not at the limit"), reconsider)
        }
        Some(hits) => {
            let arithmetic = format!("{hits} {what}: more room helps, up to the next wall");
            Prediction::bounded(-noise(signals), None, arithmetic, reconsider)
        }
    }
}

/// The same for a count that stands for a wall: nothing when another wall was named.
pub fn limit_at(
    signals: &Signals,
    relieved: &[WallId],
    hits: Option<u64>,
    what: &str,
    reconsider: &str,
) -> Prediction {
    let nothing = elsewhere(signals, relieved, reconsider);
    nothing.unwrap_or_else(|| limit(signals, hits, what, reconsider))
}

/// Softirq moves from the fullest CPU to others of the server's host.
pub fn spread_of_softirq(signals: &Signals, reconsider: &str) -> Prediction {
    let Some(cpus) = signals.server.cpus.as_ref().filter(|cpus| cpus.len() > 1) else {
        return Prediction::unknown(
            "shares of the server's CPUs were not measured".into(),
            reconsider,
        );
    };
    if let Some(nothing) = elsewhere(signals, &[WallId::K4, WallId::K5], reconsider) {
        return nothing;
    }
    let full = cpus.iter().max_by(|left, right| left.softirq.total_cmp(&right.softirq));
    let Some(full) = full else { return Prediction::unknown(String::new(), reconsider) };
    let mean = cpus.iter().map(|cpu: &CpuSignal| cpu.busy).sum::<f64>() / cpus.len() as f64;
    let shown = format!(
        "CPU {} is {:.0} % busy, {:.0} % in softirq; the mean of {} CPUs is {:.0} %",
        full.cpu,
        full.busy * 100.0,
        full.softirq * 100.0,
        cpus.len(),
        mean * 100.0
    );
    if full.busy < FULL || full.softirq < SOFTIRQ || mean <= 0.0 {
        return Prediction::no_effect(noise(signals), shown, reconsider);
    }
    let high = full.busy / mean - 1.0;
    let arithmetic = format!("{shown}: at most {:.2} / {mean:.2} - 1", full.busy);
    Prediction::bounded(-PRICE_OF_MOVING, Some(high.max(noise(signals))), arithmetic, reconsider)
}

/// Of `us` microseconds of CPU per request on a host whose CPUs limit, `removed_us` can go.
pub fn removed_work(
    signals: &Signals,
    us: f64,
    removed_us: f64,
    what: &str,
    reconsider: &str,
) -> Prediction {
    let left = (us - removed_us).max(us / 100.0);
    let high = us / left - 1.0;
    let arithmetic = format!("{what}: {us:.2} / ({us:.2} - {removed_us:.2}) - 1 = {high:.3}");
    Prediction::bounded(-noise(signals), Some(high.max(noise(signals))), arithmetic, reconsider)
}

/// A share of the time in the system that waiting takes can go.
pub fn removed_waiting(signals: &Signals, share: f64, what: &str, reconsider: &str) -> Prediction {
    let high = 1.0 / (1.0 - share.clamp(0.0, 0.99)) - 1.0;
    let arithmetic = format!("{what}: 1 / (1 - {share:.3}) - 1 = {high:.3}");
    Prediction::bounded(-noise(signals), Some(high.max(noise(signals))), arithmetic, reconsider)
}

/// Where packets are given to more CPUs than there are queues. With as many queues as CPUs every
/// packet is on its CPU already, and moving it costs interrupts between CPUs.
pub fn steered(signals: &Signals, reconsider: &str) -> Prediction {
    let server = &signals.server;
    let cpus = server.cpus.as_ref().map(Vec::len);
    match server.rx_queues.zip(cpus) {
        Some((queues, cpus)) if queues as usize >= cpus => {
            let arithmetic = format!("{queues} receive queues for {cpus} CPUs: steering adds work");
            Prediction::bounded(-PRICE_OF_MOVING, Some(0.0), arithmetic, reconsider)
        }
        _ => spread_of_softirq(signals, reconsider),
    }
}

/// Work in softirq is made less, by `what`; what is left of it is at least one half.
pub fn halved_softirq(signals: &Signals, what: &str, reconsider: &str) -> Prediction {
    let Some(cpus) = cpus_of_server(signals) else {
        let arithmetic = "shares of the server's CPUs were not measured".to_string();
        return Prediction::unknown(arithmetic, reconsider);
    };
    if let Some(nothing) = elsewhere(signals, CPU_WALLS, reconsider) {
        return nothing;
    }
    let sum = |of: fn(&CpuSignal) -> f64| cpus.iter().map(of).sum::<f64>();
    let (busy, softirq) = (sum(|cpu| cpu.busy), sum(|cpu| cpu.softirq));
    let fullest = cpus.iter().map(|cpu| cpu.busy).fold(0.0, f64::max);
    if fullest < FULL {
        let shown = format!("the fullest CPU is {:.0} % busy: CPUs do not limit", fullest * 100.0);
        return Prediction::no_effect(noise(signals), shown, reconsider);
    }
    let share = (softirq / busy).clamp(0.0, 1.0);
    if !share.is_finite() {
        let arithmetic = "shares of the server's CPUs are no numbers".to_string();
        return Prediction::unknown(arithmetic, reconsider);
    }
    let high = 1.0 / (1.0 - share / 2.0) - 1.0;
    let shown = format!(
        "{what}: softirq is {:.1} % of the CPU time in use, at most half of it goes",
        share * 100.0
    );
    let arithmetic = format!("{shown}: 1 / (1 - {share:.3} / 2) - 1 = {high:.3}");
    if high <= noise(signals) {
        return Prediction::no_effect(noise(signals), arithmetic, reconsider);
    }
    if let Some(us) = signals.server.us_per_request {
        return removed_work(signals, us, us * share / 2.0, &shown, reconsider);
    }
    Prediction::bounded(-noise(signals), Some(high), arithmetic, reconsider)
}
