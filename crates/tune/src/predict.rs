//! The arithmetic of predictions: what a change can do to a rate, given what limits it.
//!
//! Six kinds, each a function that spells out its figures in the prediction:
//!
//! - [`elsewhere`]: another wall limits: no effect beyond the noise of the run;
//! - [`work`], [`removed_work`]: of `c` microseconds per request on the CPU that limits, `m` can be
//!   removed: at most `c / (c - m) - 1`;
//! - [`spread_of_softirq`]: work moves to other CPUs: `fullest / mean - 1` if a request still costs
//!   as much, more when threads find more requests each time they wake, and never more than the
//!   next wall that is known;
//! - [`waiting`], [`removed_waiting`]: a share of the time in the system can be removed: at most
//!   `1 / (1 - share) - 1`;
//! - [`count`], [`room`]: a count runs into a limit: nothing until it does, then up to the
//!   [`next_wall`]. How much is needed follows from Little's law: rate times holding time;
//! - [`fewer_bytes`]: on a full link at most the ratio of the bytes.
//!
//! A figure that was not measured is never taken for zero: the prediction is unknown, with the
//! command that would measure it.

use model::tuning::{Basis, CpuSignal, Prediction, Signals};
use model::verdict::Named;
use model::wall::{Side as At, WallId};

/// The noise assumed when the run has no figure for it.
const NOISE: f64 = 0.03;
/// Share of its time from which a CPU counts as full.
const FULL: f64 = 0.95;
/// Share of a limit from which it counts as reached.
const REACHED: f64 = 0.95;
/// Share of the time from which waiting counts.
const WAITING: f64 = 0.01;
/// Share of softirq from which a full CPU is full of it.
const SOFTIRQ: f64 = 0.5;
/// Walls of a server whose CPU time limits, for any reason: less CPU time per request moves them.
const CPU_WALLS: &[WallId] = &[
    WallId::K4,
    WallId::K5,
    WallId::K6,
    WallId::K9,
    WallId::S1,
    WallId::S2,
    WallId::S3,
    WallId::S4,
    WallId::S5,
    WallId::S6,
    WallId::S9,
];
/// Least share of the thread cost per request that remains when threads find more requests each
/// time they wake. 0.38 was measured (bench/README.md, Steering).
const BATCHED: f64 = 0.25;
/// Price of work moved between CPUs, as a share of the rate: wake-ups of other CPUs.
const PRICE_OF_MOVING: f64 = 0.35;
/// The run that measures what the knobs of a server depend on.
const SETTLES: &str = "`ceiling load URL --server-pid PID`, or with `--probe HOST:PORT` when the \
                       server runs elsewhere";

/// The noise of a run.
pub fn noise(signals: &Signals) -> f64 {
    finite(signals.noise).unwrap_or(NOISE).clamp(0.01, 1.0)
}

/// A figure that is finite and not negative; any other counts as not measured.
pub fn finite(figure: Option<f64>) -> Option<f64> {
    figure.filter(|figure| figure.is_finite() && *figure >= 0.0)
}

/// How many of something are held at once, by Little's law.
pub fn needed(rate: Option<f64>, holding_s: f64) -> Option<f64> {
    finite(finite(rate).map(|rate| rate * holding_s))
}

/// `what` was not measured; the prediction names the run that would, and the figure to read in it.
pub fn unknown(what: &str, reconsider: &str) -> Prediction {
    let settle = format!("{SETTLES} would tell: {reconsider}");
    Prediction::unknown(format!("not measured: {what}"), &settle)
}

/// A prediction of no effect, when the generator, or a named wall that is not in `relieved`,
/// limits.
pub fn elsewhere(signals: &Signals, relieved: &[WallId], reconsider: &str) -> Option<Prediction> {
    let words = where_else(signals, relieved)?;
    Some(Prediction::no_effect(noise(signals), words, reconsider))
}

/// Which other wall limits, in words; none when one of `relieved` does, or no wall is known.
fn where_else(signals: &Signals, relieved: &[WallId]) -> Option<String> {
    let is_of_client = relieved.iter().any(|wall| wall.side() == At::Client);
    match signals.wall {
        Some(Named::Wall(wall)) if relieved.contains(&wall) => None,
        Some(Named::Wall(wall))
            if !is_of_client && (signals.client_is_wall || at_the_client(wall)) =>
        {
            let name = wall.name();
            let why = "no change of the server can show";
            Some(format!("the generator was the wall ({wall}, {name}): {why}"))
        }
        Some(Named::Wall(wall)) => {
            Some(format!("the wall was {wall}, {}, which this does not move", wall.name()))
        }
        _ if signals.client_is_wall && !is_of_client => {
            Some("the generator was the wall: no change of the server can show".to_string())
        }
        _ => None,
    }
}

fn at_the_client(wall: WallId) -> bool {
    matches!(wall.side(), At::Client | At::Measurement)
}

/// A limit that is observed by how often it was hit.
#[derive(Debug, Clone, Copy)]
pub struct Count<'a> {
    /// Walls that the limit causes.
    pub relieved: &'a [WallId],
    /// How often it was hit.
    pub hits: Option<u64>,
    /// The counter, for example "packets dropped".
    pub what: &'a str,
    /// What goes away even when another wall limits the rate.
    pub removes: &'a str,
    /// Which counter would change the prediction.
    pub reconsider: &'a str,
}

/// No effect at zero; only fewer errors while the wall is elsewhere; otherwise up to the next wall.
pub fn count(signals: &Signals, count: &Count<'_>) -> Prediction {
    let Count { relieved, hits, what, removes, reconsider } = *count;
    let noise = noise(signals);
    match (hits, where_else(signals, relieved)) {
        (None, None) => unknown(what, reconsider),
        (None, Some(wall)) => {
            let arithmetic = format!("{wall}; not measured: {what}");
            Prediction::no_effect(noise, arithmetic, reconsider)
        }
        (Some(0), wall) => {
            let wall = wall.map(|wall| format!("{wall}; ")).unwrap_or_default();
            let arithmetic = format!("{wall}0 {what}: not at the limit");
            Prediction::no_effect(noise, arithmetic, reconsider)
        }
        (Some(hits), Some(wall)) => {
            let arithmetic = format!(
                "{hits} {what}; {wall}: it removes {removes}, the rate stays within the noise"
            );
            Prediction::bounded(-noise, Some(noise), arithmetic, reconsider)
        }
        (Some(hits), None) => {
            up_to_the_next_wall(signals, &format!("{hits} {what}: more room helps"), reconsider)
        }
    }
}

/// A limit that is observed by how much of it is in use.
#[derive(Debug, Clone, Copy)]
pub struct Usage<'a> {
    /// Walls that the limit causes.
    pub relieved: &'a [WallId],
    /// Use as a share of the limit.
    pub used: Option<f64>,
    /// The resource, for example "of the range of ports".
    pub what: &'a str,
    /// Rate and holding time in seconds of what fills it, where they are known.
    pub held: Option<(f64, f64)>,
    /// Which counter would change the prediction.
    pub reconsider: &'a str,
}

/// No effect while there is room; then up to the next wall.
pub fn room(signals: &Signals, room: &Usage<'_>) -> Prediction {
    let Usage { relieved, used, what, held, reconsider } = *room;
    let noise = noise(signals);
    let law = held.and_then(|(rate, time_s)| law_of(signals, rate, time_s)).unwrap_or_default();
    match (finite(used), where_else(signals, relieved)) {
        (None, None) => unknown(&format!("use {what}{law}"), reconsider),
        (None, Some(wall)) => {
            let arithmetic = format!("{wall}; not measured: use {what}{law}");
            Prediction::no_effect(noise, arithmetic, reconsider)
        }
        (Some(used), wall) if used < REACHED => {
            let wall = wall.map(|wall| format!("{wall}; ")).unwrap_or_default();
            let arithmetic = format!("{wall}{:.0} % {what} in use: there is room{law}", used * 1e2);
            Prediction::no_effect(noise, arithmetic, reconsider)
        }
        (Some(used), Some(wall)) => {
            let arithmetic = format!(
                "{:.0} % {what} in use{law}; {wall}: it removes errors, the rate stays within the \
                 noise",
                used * 1e2
            );
            Prediction::bounded(-noise, Some(noise), arithmetic, reconsider)
        }
        (Some(used), None) => {
            let shown = format!("{:.0} % {what} in use{law}: more room helps", used * 1e2);
            up_to_the_next_wall(signals, &shown, reconsider)
        }
    }
}

/// What is held at once: by open connections, and by those that closed less than this time ago.
fn law_of(signals: &Signals, rate: f64, time_s: f64) -> Option<String> {
    let closed = needed(Some(rate), time_s)?;
    let open = signals.connections;
    // Connections that stay hold something too, and how many there are is not known.
    let all = open.map_or(closed, |open| open as f64 + closed);
    let open = open.map(|open| format!("{open} open + ")).unwrap_or_default();
    (all > 0.0).then(|| {
        format!("; {open}{rate:.0}/s x {time_s:.0} s = {all:.0} are needed, by Little's law")
    })
}

/// A limit that only the verdict shows.
pub fn only_at(signals: &Signals, relieved: &[WallId], what: &str, reconsider: &str) -> Prediction {
    match signals.wall {
        Some(Named::Wall(wall)) if relieved.contains(&wall) => {
            let shown = format!("the wall was {wall}, {}: {what}", wall.name());
            up_to_the_next_wall(signals, &shown, reconsider)
        }
        _ => elsewhere(signals, relieved, reconsider)
            .or_else(|| no_wall(signals, reconsider))
            .unwrap_or_else(|| unknown("which wall limits", reconsider)),
    }
}

/// A prediction up to the next wall, which is named when the run shows how far away it is.
pub fn up_to_the_next_wall(signals: &Signals, shown: &str, reconsider: &str) -> Prediction {
    let arithmetic = format!("{shown}, up to the next wall");
    match next_wall(signals) {
        None => Prediction::bounded(-noise(signals), None, arithmetic, reconsider),
        Some((high, wall)) => {
            let high = Some(at_least_noise(signals, high));
            let arithmetic = format!("{arithmetic}; {wall}");
            Prediction::bounded(-noise(signals), high, arithmetic, reconsider)
        }
    }
}

/// The most that the rate can gain before something else that the run measured is full: a link,
/// whose bytes per request stay, or a generator, whose threads may cost less. None when neither was
/// measured.
pub fn next_wall(signals: &Signals) -> Option<(f64, String)> {
    let used = |share: Option<f64>| finite(share).filter(|share| *share > 0.0);
    let links = [signals.server.link_use, signals.client.link_use].into_iter().filter_map(used);
    let link = links.max_by(f64::total_cmp).map(|share| {
        let high = 1.0 / share - 1.0;
        (high, format!("the link is {:.1} % full: at most {high:.2}", share * 100.0))
    });
    let thread = used(signals.client.hottest_thread).map(|share| {
        let high = 1.0 / (share.min(1.0) * BATCHED) - 1.0;
        let shown = format!(
            "the generator's busiest thread is {:.1} % busy, at best {BATCHED} of that per \
             request: at most {high:.2}",
            share * 100.0
        );
        (high, shown)
    });
    link.into_iter().chain(thread).min_by(|left, right| left.0.total_cmp(&right.0))
}

/// No effect, when the load reached no wall.
fn no_wall(signals: &Signals, reconsider: &str) -> Option<Prediction> {
    let words = || "no wall was reached: the rate was the load that was offered".to_string();
    (signals.wall == Some(Named::None))
        .then(|| Prediction::no_effect(noise(signals), words(), reconsider))
}

/// CPUs of the server whose shares are finite and not negative.
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

/// No effect, where no wall is named and no CPU of the server is full: threads then wait only for
/// moments, and not because CPUs are short.
pub fn cpus_have_time(signals: &Signals, reconsider: &str) -> Option<Prediction> {
    let is_named = matches!(signals.wall, Some(Named::Wall(_)));
    let cpus = cpus_of_server(signals).filter(|_| !is_named)?;
    let fullest = cpus.iter().map(|cpu| cpu.busy).fold(0.0, f64::max);
    let shown = || format!("no CPU limits: the fullest is {:.0} % busy", fullest * 100.0);
    (fullest < FULL).then(|| Prediction::no_effect(noise(signals), shown(), reconsider))
}

/// Softirq moves from the fullest CPU to others of the server's host.
pub fn spread_of_softirq(signals: &Signals, reconsider: &str) -> Prediction {
    if let Some(nothing) = elsewhere(signals, &[WallId::K4, WallId::K5], reconsider) {
        return nothing;
    }
    let (Some(cpus), Some(mean)) = (cpus_of_server(signals), mean_busy(signals)) else {
        return unknown("shares of the server's CPUs", reconsider);
    };
    let full = cpus.iter().max_by(|left, right| left.softirq.total_cmp(&right.softirq));
    let Some(full) = full else { return unknown("shares of the server's CPUs", reconsider) };
    let shown = format!(
        "CPU {} is {:.0} % busy, {:.0} % in softirq; the mean of {} CPUs is {:.0} %",
        full.cpu,
        full.busy * 100.0,
        full.softirq * 100.0,
        cpus.len(),
        mean * 100.0
    );
    if cpus.len() < 2 || full.busy < FULL || full.softirq < SOFTIRQ || mean <= 0.0 {
        return Prediction::no_effect(noise(signals), shown, reconsider);
    }
    let count = cpus.len() as f64;
    let softirq = cpus.iter().map(|cpu| cpu.softirq.min(cpu.busy)).sum::<f64>().max(SOFTIRQ);
    let threads = (mean * count - softirq).max(0.0);
    let even = full.busy / mean - 1.0;
    let batched = count * full.busy / (softirq + threads * BATCHED) - 1.0;
    let mut arithmetic = format!(
        "{shown}: {:.2} / {mean:.2} - 1 = {even:.2} if a request still costs as much; threads \
         that find more requests each time they wake cost less, at best {BATCHED} of {threads:.2} \
         CPUs: at most {count:.0} x {:.2} / ({softirq:.2} + {threads:.2} x {BATCHED}) - 1 = \
         {batched:.2}",
        full.busy, full.busy
    );
    let mut high = batched.max(even);
    if let Some((next, wall)) = next_wall(signals).filter(|(next, _)| *next < high) {
        high = next;
        arithmetic = format!("{arithmetic}; {wall}");
    }
    let high = at_least_noise(signals, high);
    Prediction::bounded(-PRICE_OF_MOVING, Some(high), arithmetic, reconsider)
}

/// A bound of at least the noise, and always a number.
fn at_least_noise(signals: &Signals, high: f64) -> f64 {
    high.clamp(noise(signals), 1e6)
}

/// A share of the CPU time of a request can be removed, which helps when the server's CPUs limit.
/// `largest_share` is the most that can be removed; `None` when only a profile would tell.
pub fn work(
    signals: &Signals,
    relieved: &[WallId],
    largest_share: Option<f64>,
    what: &str,
    reconsider: &str,
) -> Prediction {
    let relieved = [relieved, CPU_WALLS].concat();
    if let Some(nothing) = elsewhere(signals, &relieved, reconsider) {
        return nothing;
    }
    if let Some(nothing) = cpus_have_time(signals, reconsider) {
        return nothing;
    }
    let is_named = matches!(signals.wall, Some(Named::Wall(_)));
    if !is_named && cpus_of_server(signals).is_none() {
        return unknown("shares of the server's CPUs", reconsider);
    }
    match finite(largest_share) {
        None => unknown(&format!("the share of {what} in a profile of the server"), reconsider),
        Some(share) => {
            let us = finite(signals.server.us_per_request).filter(|us| *us > 0.0).unwrap_or(1.0);
            removed_work(signals, us, us * share, what, reconsider)
        }
    }
}

/// The largest share of a request that a published gain can remove.
pub fn share_of_gain(gain: f64) -> f64 {
    1.0 - 1.0 / (1.0 + gain)
}

/// Of `us` microseconds of CPU per request on a host whose CPUs limit, `removed_us` can be removed.
pub fn removed_work(
    signals: &Signals,
    us: f64,
    removed_us: f64,
    what: &str,
    reconsider: &str,
) -> Prediction {
    let (Some(us), Some(removed_us)) = (finite(Some(us)), finite(Some(removed_us))) else {
        return unknown(&format!("CPU time per request ({what})"), reconsider);
    };
    if us <= 0.0 {
        return unknown(&format!("CPU time per request ({what})"), reconsider);
    }
    let removed_us = removed_us.min(us * 0.99);
    let high = us / (us - removed_us) - 1.0;
    let arithmetic = format!("{what}: {us:.2} / ({us:.2} - {removed_us:.2}) - 1 = {high:.3}");
    let high = Some(at_least_noise(signals, high));
    Prediction::bounded(-noise(signals), high, arithmetic, reconsider)
}

/// Waiting that a change would remove, as a share of the time in the system.
pub fn waiting(
    signals: &Signals,
    relieved: &[WallId],
    share: Option<f64>,
    what: &str,
    reconsider: &str,
) -> Prediction {
    match (finite(share), elsewhere(signals, relieved, reconsider)) {
        (Some(share), _) if share < WAITING => {
            let arithmetic = format!("{:.1} % of the time {what}", share * 100.0);
            Prediction::no_effect(noise(signals), arithmetic, reconsider)
        }
        (_, Some(nothing)) => nothing,
        (None, None) => unknown(&format!("the share of the time {what}"), reconsider),
        (Some(share), None) => {
            let what = format!("{:.1} % of the time {what}", share * 100.0);
            removed_waiting(signals, share, &what, reconsider)
        }
    }
}

/// Waiting that takes a share of the time in the system can be removed.
pub fn removed_waiting(signals: &Signals, share: f64, what: &str, reconsider: &str) -> Prediction {
    let Some(share) = finite(Some(share)) else { return unknown(what, reconsider) };
    let share = share.min(0.99);
    let high = 1.0 / (1.0 - share) - 1.0;
    let arithmetic = format!("{what}: 1 / (1 - {share:.3}) - 1 = {high:.3}");
    let high = Some(at_least_noise(signals, high));
    Prediction::bounded(-noise(signals), high, arithmetic, reconsider)
}

/// Each response takes `ratio` times fewer bytes, at a price in CPU on both hosts that can cost up
/// to `price` of the rate where CPUs limit instead.
pub fn fewer_bytes(signals: &Signals, ratio: f64, price: f64, reconsider: &str) -> Prediction {
    let relieved = [WallId::K8, WallId::C5];
    let (noise, price) = (noise(signals), finite(Some(price)).unwrap_or(1.0).min(1.0));
    let Some(ratio) = finite(Some(ratio)).filter(|ratio| *ratio >= 1.0) else {
        return unknown("the ratio of the bytes", reconsider);
    };
    let link_use = [signals.server.link_use, signals.client.link_use];
    let link_use = link_use.into_iter().filter_map(finite).max_by(f64::total_cmp);
    let is_full = match (signals.wall, link_use) {
        (Some(Named::Wall(wall)), _) => relieved.contains(&wall),
        (_, Some(link_use)) => link_use >= REACHED,
        (_, None) => return unknown("the use of the link", reconsider),
    };
    let cost = format!("it adds CPU on both hosts, which can cost up to {:.0} %", price * 100.0);
    if !is_full {
        let wall = where_else(signals, &relieved).unwrap_or("the link is not full".to_string());
        let arithmetic = format!("{wall}; {cost}");
        return Prediction::bounded(-price.max(noise), Some(noise), arithmetic, reconsider);
    }
    let arithmetic = format!("the link is full: {ratio:.1} times fewer bytes - 1; {cost}");
    let high = Some(at_least_noise(signals, ratio - 1.0));
    Prediction::bounded(-price.max(noise), high, arithmetic, reconsider)
}

/// Rounds of softirq that ended with work left: the next one takes it, unless the ring overflows
/// meanwhile.
pub fn cut_rounds(signals: &Signals, relieved: &[WallId]) -> Prediction {
    let reconsider = "time_squeeze of /proc/net/softnet_stat with drops of the device above 0";
    let side = &signals.server;
    if let (Some(squeezes), Some(0)) = (side.time_squeezes, side.device_drops) {
        let arithmetic = format!(
            "{squeezes} rounds ended with work left and the ring dropped 0 packets: the next \
             round took the rest"
        );
        return Prediction::no_effect(noise(signals), arithmetic, reconsider);
    }
    let rounds = Count {
        relieved,
        hits: side.time_squeezes,
        what: "rounds of softirq that ended with work left",
        removes: "drops of the ring",
        reconsider,
    };
    count(signals, &rounds)
}

/// A count that stands for a wall.
pub fn limit_at(
    signals: &Signals,
    relieved: &[WallId],
    hits: Option<u64>,
    what: &str,
    reconsider: &str,
) -> Prediction {
    let removes = "retransmissions for them";
    count(signals, &Count { relieved, hits, what, removes, reconsider })
}

/// Packets are steered to more CPUs. That pays where one CPU is full of softirq, whatever the
/// number of queues. Otherwise, with as many queues as CPUs, every packet is already on its CPU,
/// and moving it costs interrupts between CPUs. The same holds where the CPUs are full of other
/// work.
pub fn steered(signals: &Signals, reconsider: &str) -> Prediction {
    let spread = spread_of_softirq(signals, reconsider);
    if spread.basis == Basis::Bounded {
        return spread;
    }
    let server = &signals.server;
    let cpus = server.cpus.as_ref().map(Vec::len);
    match server.rx_queues.zip(cpus) {
        Some((queues, cpus)) if queues as usize >= cpus => {
            let arithmetic = format!("{queues} receive queues for {cpus} CPUs: steering adds work");
            Prediction::bounded(-PRICE_OF_MOVING, Some(noise(signals)), arithmetic, reconsider)
        }
        _ => priced(signals, spread),
    }
}

/// Adds the price of moving work to a prediction of no effect, where full CPUs of the server are
/// the wall.
fn priced(signals: &Signals, nothing: Prediction) -> Prediction {
    let is_cpu = |wall: WallId| wall.side() == At::Server && wall.id().starts_with('S');
    let is_full = mean_busy(signals).is_some_and(|busy| busy >= FULL)
        || matches!(signals.wall, Some(Named::Wall(wall)) if is_cpu(wall));
    if nothing.basis != Basis::NoEffect || !is_full {
        return nothing;
    }
    let arithmetic = format!("{}; moving packets costs CPU that is not free", nothing.arithmetic);
    let Prediction { high, reconsider, .. } = nothing;
    Prediction::bounded(-PRICE_OF_MOVING, high, arithmetic, &reconsider)
}

/// `what` reduces work in softirq, by one half at most.
pub fn halved_softirq(signals: &Signals, what: &str, reconsider: &str) -> Prediction {
    if let Some(nothing) = elsewhere(signals, CPU_WALLS, reconsider) {
        return nothing;
    }
    let Some(cpus) = cpus_of_server(signals) else {
        return unknown("shares of the server's CPUs", reconsider);
    };
    let sum = |of: fn(&CpuSignal) -> f64| cpus.iter().map(of).sum::<f64>();
    let (busy, softirq) = (sum(|cpu| cpu.busy), sum(|cpu| cpu.softirq));
    let fullest = cpus.iter().map(|cpu| cpu.busy).fold(0.0, f64::max);
    if fullest < FULL {
        let shown = format!("the fullest CPU is {:.0} % busy: CPUs do not limit", fullest * 100.0);
        return Prediction::no_effect(noise(signals), shown, reconsider);
    }
    let Some(share) = finite(Some(softirq / busy)).map(|share| share.min(1.0)) else {
        return unknown("shares of the server's CPUs", reconsider);
    };
    let high = 1.0 / (1.0 - share / 2.0) - 1.0;
    let shown = format!(
        "{what}: softirq is {:.1} % of the CPU time in use, at most half of it goes",
        share * 100.0
    );
    let arithmetic = format!("{shown}: 1 / (1 - {share:.3} / 2) - 1 = {high:.3}");
    if high <= noise(signals) {
        return Prediction::no_effect(noise(signals), arithmetic, reconsider);
    }
    let us = finite(signals.server.us_per_request).filter(|us| *us > 0.0);
    match us {
        Some(us) => removed_work(signals, us, us * share / 2.0, &shown, reconsider),
        None => Prediction::bounded(-noise(signals), Some(high), arithmetic, reconsider),
    }
}

/// Packets go to the CPUs where their readers run. That saves at most half of their softirq, and
/// gathers all of it on those CPUs, which are fewer when a server has fewer busy threads.
pub fn gathered_at_readers(signals: &Signals, reconsider: &str) -> Prediction {
    let saved = halved_softirq(signals, "packets meet their reader's cache", reconsider);
    let (Some(low), Some(high)) = (saved.low, saved.high) else { return saved };
    let (Some(cpus), Some(readers)) = (cpus_of_server(signals), readers(signals)) else {
        return saved;
    };
    if saved.basis == Basis::NoEffect {
        return saved;
    }
    let busy: f64 = cpus.iter().map(|cpu| cpu.busy).sum();
    let gathered = (readers / busy - 1.0).min(low);
    let arithmetic = format!(
        "{}; its readers run on {readers:.0} of {} CPUs, where all packets would be taken in: \
         at worst {readers:.0} / {busy:.2} - 1 = {gathered:.2}",
        saved.arithmetic,
        cpus.len()
    );
    Prediction::bounded(gathered, Some(high), arithmetic, reconsider)
}

/// How many CPUs the server's threads run on: one for each busy thread, within those it may use.
fn readers(signals: &Signals) -> Option<f64> {
    let server = &signals.server;
    let hottest = finite(server.hottest_thread).filter(|share| *share > 0.01)?;
    let used = finite(server.us_per_request)? * finite(signals.rate)? / 1e6;
    let allowed = server.process_cpus.as_ref()?.len() as f64;
    Some((used / hottest).round().clamp(1.0, allowed.max(1.0)))
}

#[cfg(test)]
mod tests;
