//! Progress of a run: one line that is redrawn, and one line per level or trial that has ended.

use crate::text::spark;
use crate::wording::{self, count, figure_cells, main_failed, ns, per_second, plural, rate_cell};
use crate::wrap::{fit, width};
use model::claim::Claim;
use model::event::Progress;
use model::figure::Figure;
use model::load::{Arrival, Level};
use model::objective::ObjectiveStanding;
use model::run::Point;

/// Which level is under way.
#[derive(Debug, Clone, PartialEq)]
pub struct LevelInfo {
    /// Index of the level, from 0.
    pub index: usize,
    /// How many levels there are; 0 when that is not known in advance.
    pub of: usize,
    /// 1 for the first visit.
    pub attempt: u32,
    /// The level.
    pub level: Level,
}

/// How far a run has come.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Pace {
    /// Since the start of the load, seconds.
    pub elapsed_s: f64,
    /// Until the end of the run, seconds, when known.
    pub left_s: Option<f64>,
    /// The highest valid rate so far; in a search, the highest that holds the objective.
    pub best: Option<f64>,
}

/// A part of the line, and its rank: the highest rank is dropped first, rank 0 always stays.
struct ProgressPart {
    rank: u8,
    text: String,
}

fn part(rank: u8, text: String) -> ProgressPart {
    ProgressPart { rank, text }
}

/// Level, time, stage, connections, rate, the best rate so far, percentiles, CPUs used by generator
/// (c) and server (s), and failures in at most `columns`. The least important parts are dropped
/// first.
pub fn progress_line(info: &LevelInfo, pace: &Pace, progress: &Progress, columns: usize) -> String {
    fit(&within(parts(info, pace, progress), columns), columns)
}

/// As many parts as fit, and at least those of rank 0.
fn within(mut parts: Vec<ProgressPart>, columns: usize) -> String {
    loop {
        let texts: Vec<_> = parts.iter().map(|part| part.text.as_str()).collect();
        let drawn = texts.join("  ");
        let last = parts.iter().map(|part| part.rank).max().unwrap_or(0);
        if width(&drawn) <= columns || last == 0 {
            return drawn;
        }
        parts.retain(|part| part.rank != last);
    }
}

/// The stage in which the number of requests in flight matters most.
const DRAINING: &str = "draining";

/// Kinds of failures that are named.
const KINDS_MAX: usize = 3;

/// The current step of an experiment with its rate, in at most `columns`.
pub fn block_line(block: &str, progress: &Progress, columns: usize) -> String {
    let whole = format!("{block}  {:<10}{:>7}", progress.stage, per_second(progress.rate));
    if width(&whole) <= columns { whole } else { fit(block, columns) }
}

/// A level or trial that has ended: its place, load, figures, standing, and the best rate so far,
/// in at most `columns` where possible.
pub fn point_line(info: &LevelInfo, pace: &Pace, point: &Point, columns: usize) -> String {
    let mut parts = vec![part(3, format!("{:>4}", time(pace.elapsed_s))), part(0, place(info))];
    let asked = wording::asked_rate(point).or(point.devices().and(point.load.rate));
    let load = match asked {
        Some(asked) => format!("{:>7} asked", per_second(asked)),
        None => {
            let what = if point.events().is_some() { "subs" } else { "conns" };
            format!("{:>4} {what}", count(u64::from(point.load.connections)))
        }
    };
    parts.push(part(0, load));
    let rate = match point.is_held() {
        true => format!("{} open", count(point.connections.opened)),
        false => format!("{}/s", rate_cell(point)),
    };
    let [p50, p99] = figure_cells(point, [Figure::P50, Figure::P99]);
    parts.push(part(0, format!("{rate:>7}")));
    parts.push(part(2, format!("p50 {p50:>6}")));
    parts.push(part(1, format!("p99 {p99:>6}")));
    parts.push(part(0, format!("{:>3} failed", main_failed(point))));
    parts.extend(standing(info, point).map(|word| part(0, word)));
    parts.extend(pace.best.map(|best| part(4, format!("best {}", per_second(best)))));
    within(parts, columns)
}

/// For a trial, whether it holds; for a level, whether its rate is not valid.
fn standing(info: &LevelInfo, point: &Point) -> Option<String> {
    let is_trial = info.of == 0;
    let word = match (point.claim(), ObjectiveStanding::of(&point.expectations)) {
        (Claim::NotKnown(_), _) => "not valid",
        (_, ObjectiveStanding::Met) if is_trial => "holds",
        (_, ObjectiveStanding::Missed) if is_trial => "misses",
        (_, ObjectiveStanding::Undecided) if is_trial => "undecided",
        _ => return None,
    };
    Some(word.to_string())
}

fn place(info: &LevelInfo) -> String {
    match info.of {
        0 => format!("trial {}", info.index + 1),
        of => format!("{}/{of}", info.index + 1),
    }
}

/// Whole seconds, minutes or hours.
pub(crate) fn time(seconds: f64) -> String {
    match seconds.max(0.0).round() as u64 {
        s if s < 100 => format!("{s}s"),
        s if s < 6000 => format!("{}m{:02}s", s / 60, s % 60),
        s => format!("{}h{:02}m", s / 3600, s / 60 % 60),
    }
}

fn parts(info: &LevelInfo, pace: &Pace, progress: &Progress) -> Vec<ProgressPart> {
    let left = pace.left_s.map_or_else(String::new, |left| format!(", {} left", time(left)));
    let mut parts = vec![part(0, place(info))];
    parts.push(part(2, format!("{}{left}", time(pace.elapsed_s))));
    if info.attempt > 1 {
        parts.push(part(7, format!("visit {}", info.attempt)));
    }
    match progress.in_flight.filter(|_| progress.stage == DRAINING) {
        Some(in_flight) => {
            parts.push(part(0, format!("{}: {} in flight", progress.stage, count(in_flight))));
        }
        None => parts.push(part(6, format!("{:<10}", progress.stage))),
    }
    parts.push(part(8, bar(progress.done)));
    parts.push(part(1, level(info, progress)));
    match (progress.connection_rate, progress.event_rate) {
        (Some(rate), _) => parts.push(part(0, format!("{:>7} conns", per_second(rate)))),
        (_, Some(rate)) => parts.push(part(0, format!("{:>7} events", per_second(rate)))),
        (None, None) => parts.push(part(0, format!("{:>7}", per_second(progress.rate)))),
    }
    let (p50, p99) = (ns(progress.p50_ns), ns(progress.p99_ns));
    parts.push(part(3, format!("p50 {p50:>6} p99 {p99:>6}")));
    let cpus: Vec<String> = [("c", progress.client_cpus), ("s", progress.server_cpus)]
        .into_iter()
        .filter_map(|(who, cpus)| cpus.map(|cpus| format!("{who}{cpus:.2}")))
        .collect();
    if !cpus.is_empty() {
        parts.push(part(5, format!("cpu {}", cpus.join(" "))));
    }
    parts.extend(pace.best.map(|best| part(4, format!("best {}", per_second(best)))));
    if progress.failures > 0 {
        parts.push(part(0, format!("{} failed", count(progress.failures))));
        let kinds = progress.failed.iter().take(KINDS_MAX);
        let kinds = kinds.map(|(name, number)| format!("{name} {}", count(*number)));
        parts.extend(kinds.map(|kind| part(1, kind)));
    }
    parts
}

/// Open and requested connections, until all are open.
fn level(info: &LevelInfo, progress: &Progress) -> String {
    let asked = u64::from(info.level.connections);
    let mut text = if progress.open < asked {
        format!("{}/{} conns", count(progress.open), count(asked))
    } else {
        plural(asked, "conn")
    };
    text.push_str(&asked_rate(&info.level));
    text
}

/// A level in words: its connections, and the asked rate.
pub fn level_words(level: &Level) -> String {
    let connections = plural(u64::from(level.connections), "connection");
    let depth = if level.depth > 1 { format!(", depth {}", level.depth) } else { String::new() };
    connections + &asked_rate(level) + &depth
}

fn asked_rate(level: &Level) -> String {
    let Arrival::Open { curve, .. } = &level.arrival else { return String::new() };
    match curve.constant_rate() {
        Some(rate) => format!(" at {}", per_second(rate)),
        None => format!(" at up to {}", per_second(curve.peak_rate())),
    }
}

/// A bar of how much of the stage is over.
fn bar(done: Option<f64>) -> String {
    const CELLS: usize = 6;
    let Some(done) = done else { return " ".repeat(CELLS + 2) };
    format!("▕{:<CELLS$}▏", spark::bar(done, CELLS))
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::load::Life;

    #[test]
    fn what_drains_is_counted() {
        let (info, mut progress) = busy();
        (progress.stage, progress.in_flight) = ("draining", Some(37));
        for columns in [200, 60] {
            let line = progress_line(&info, &PACE, &progress, columns);
            assert!(line.contains("draining: 37 in flight"), "{line}");
        }
    }

    const PACE: Pace = Pace { elapsed_s: 12.4, left_s: Some(108.0), best: Some(48_000.0) };

    #[test]
    fn a_level_that_has_ended_is_one_line() {
        let run = crate::fixtures::ramp_quota();
        let (mut info, _) = busy();
        let line = |info: &LevelInfo, point: &Point| point_line(info, &PACE, point, 80);
        let first = line(&info, &run.record.points[0]);
        assert_eq!(
            first,
            " 12s  3/8    16 conns  24.6k/s  p50  580us  p99 1.56ms  0 % failed  best 48.0k/s"
        );
        let narrow = point_line(&info, &PACE, &run.record.points[0], 40);
        assert_eq!(narrow, "3/8    16 conns  24.6k/s  0 % failed");
        let run = crate::fixtures::find_answer();
        info.of = 0;
        let missed = line(&info, &run.record.points[1]);
        assert!(missed.contains("trial 3  48.9k/s asked") && missed.contains("misses"), "{missed}");
    }

    #[test]
    fn devices_that_could_not_connect_have_failed() {
        let (info, _) = busy();
        let mut run = crate::fixtures::churn_turnover();
        let turnover = crate::fixtures::turnover(&mut run.record.points[0]);
        (turnover.begun, turnover.failed) = (400, 300);
        let line = point_line(&info, &PACE, &run.record.points[0], 80);
        assert!(line.contains("75.0 % failed"), "{line}");
    }

    #[test]
    fn times_are_read_at_a_glance() {
        let shown = [0.4, 99.4, 100.0, 5999.0, 6000.0, -1.0].map(time);
        assert_eq!(shown, ["0s", "99s", "1m40s", "99m59s", "1h40m", "0s"]);
    }

    fn busy() -> (LevelInfo, Progress) {
        let level = Level {
            connections: 4000,
            spare: 0,
            depth: 1,
            arrival: Arrival::Closed,
            life: Life::default(),
        };
        let progress = Progress {
            stage: "measuring",
            in_flight: Some(64),
            connection_rate: None,
            event_rate: None,
            done: Some(0.43),
            open: 3871,
            rate: 48_213.0,
            p50_ns: Some(1_310_000),
            p99_ns: Some(4_200_000),
            client_cpus: Some(0.42),
            server_cpus: Some(3.98),
            failures: 12,
            failed: vec![("503".to_string(), 10), ("reset".to_string(), 2)],
        };
        (LevelInfo { index: 2, of: 8, attempt: 2, level }, progress)
    }

    #[test]
    fn the_line_is_never_too_wide() {
        let (info, progress) = busy();
        for columns in 0..160 {
            let line = progress_line(&info, &PACE, &progress, columns);
            assert!(width(&line) <= columns, "{columns}: '{line}'");
            let fresh = progress_line(&info, &PACE, &Progress::default(), columns);
            assert!(width(&fresh) <= columns, "{columns}: '{fresh}'");
        }
    }

    #[test]
    fn what_matters_stays_longest() {
        let (info, progress) = busy();
        let lines = [160, 100, 80, 60, 40, 24].map(|columns| {
            format!("{columns:>3} {}", progress_line(&info, &PACE, &progress, columns))
        });
        insta::assert_snapshot!("lines", lines.join("\n"));
    }

    #[test]
    fn what_is_not_known_is_not_zero() {
        let (info, _) = busy();
        let line = progress_line(
            &info,
            &PACE,
            &Progress { stage: "connecting", ..Progress::default() },
            99,
        );
        assert!(line.contains("p50      -") && !line.contains("cpu"), "{line}");
    }

    #[test]
    fn a_block_is_told_with_its_rate_where_there_is_room() {
        let (_, progress) = busy();
        let block = "confirming: 10 instead of 8 requests in flight, block 3 of 8";
        let line = block_line(block, &progress, 100);
        assert!(line.starts_with(block) && line.ends_with("48.2k/s"), "{line}");
        assert_eq!(block_line(block, &progress, 60), block);
        assert_eq!(width(&block_line(block, &progress, 20)), 20);
    }

    #[test]
    fn the_bar_fills_evenly() {
        assert_eq!(bar(Some(0.0)), "▕      ▏");
        assert_eq!(bar(Some(0.25)), "▕█▌    ▏");
        assert_eq!(bar(Some(7.0)), "▕██████▏");
        assert_eq!(width(&bar(None)), width(&bar(Some(0.5))));
    }
}
