//! One line that says how a level under way is going.

use crate::text::spark;
use crate::text::wrap::{fit, width};
use crate::wording::{count, ns, per_second, plural};
use model::event::Progress;
use model::load::{Arrival, Level};

/// Which level is under way.
#[derive(Debug, Clone, PartialEq)]
pub struct LevelInfo {
    /// Which of the levels, from 0.
    pub index: usize,
    /// How many there are; 0 when that is not known beforehand.
    pub of: usize,
    /// 1 for the first visit.
    pub attempt: u32,
    /// What is applied.
    pub level: Level,
}

/// A part of the line, and how early it goes when there is no room; rank 0 always stays.
struct ProgressPart {
    rank: u8,
    text: String,
}

fn part(rank: u8, text: String) -> ProgressPart {
    ProgressPart { rank, text }
}

/// Level, stage, connections, rate, percentiles, CPUs used by generator (c) and server (s), and
/// failures in at most `columns`. Parts are
/// left out from the least important on.
pub fn progress_line(info: &LevelInfo, progress: &Progress, columns: usize) -> String {
    let mut parts = parts(info, progress);
    let line = |parts: &[ProgressPart]| {
        parts.iter().map(|part| part.text.as_str()).collect::<Vec<_>>().join("  ")
    };
    loop {
        let drawn = line(&parts);
        let last = parts.iter().map(|part| part.rank).max().unwrap_or(0);
        if width(&drawn) <= columns || last == 0 {
            return fit(&drawn, columns);
        }
        parts.retain(|part| part.rank != last);
    }
}

/// What an experiment does, with the rate while it is done, in at most `columns`.
pub fn block_line(block: &str, progress: &Progress, columns: usize) -> String {
    let whole = format!("{block}  {:<10}{:>7}", progress.stage, per_second(progress.rate));
    if width(&whole) <= columns { whole } else { fit(block, columns) }
}

fn parts(info: &LevelInfo, progress: &Progress) -> Vec<ProgressPart> {
    let place = match info.of {
        0 => format!("trial {}", info.index + 1),
        of => format!("{}/{of}", info.index + 1),
    };
    let mut parts = vec![part(0, place)];
    if info.attempt > 1 {
        parts.push(part(6, format!("visit {}", info.attempt)));
    }
    match progress.in_flight {
        Some(in_flight) => {
            parts.push(part(0, format!("{}: {} in flight", progress.stage, count(in_flight))));
        }
        None => parts.push(part(5, format!("{:<10}", progress.stage))),
    }
    parts.push(part(7, bar(progress.done)));
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
        parts.push(part(4, format!("cpu {}", cpus.join(" "))));
    }
    if progress.failures > 0 {
        parts.push(part(0, format!("{} failed", count(progress.failures))));
    }
    parts
}

/// Connections open of those asked for, until all are open.
fn level(info: &LevelInfo, progress: &Progress) -> String {
    let asked = u64::from(info.level.connections);
    let mut text = if progress.open < asked {
        format!("{}/{} conns", count(progress.open), count(asked))
    } else {
        plural(asked, "conn")
    };
    if let Arrival::Open { curve, .. } = &info.level.arrival {
        let asked = match curve.constant_rate() {
            Some(rate) => per_second(rate),
            None => format!("up to {}", per_second(curve.peak_rate())),
        };
        text.push_str(&format!(" at {asked}"));
    }
    text
}

/// How much of the stage is over.
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
            let line = progress_line(&info, &progress, columns);
            assert!(line.contains("draining: 37 in flight"), "{line}");
        }
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
            in_flight: None,
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
        };
        (LevelInfo { index: 2, of: 8, attempt: 2, level }, progress)
    }

    #[test]
    fn the_line_is_never_too_wide() {
        let (info, progress) = busy();
        for columns in 0..160 {
            let line = progress_line(&info, &progress, columns);
            assert!(width(&line) <= columns, "{columns}: '{line}'");
            let fresh = progress_line(&info, &Progress::default(), columns);
            assert!(width(&fresh) <= columns, "{columns}: '{fresh}'");
        }
    }

    #[test]
    fn what_matters_stays_longest() {
        let (info, progress) = busy();
        let lines = [160, 100, 80, 60, 40, 24]
            .map(|columns| format!("{columns:>3} {}", progress_line(&info, &progress, columns)));
        insta::assert_snapshot!("lines", lines.join("\n"));
    }

    #[test]
    fn what_is_not_known_is_not_zero() {
        let (info, _) = busy();
        let line =
            progress_line(&info, &Progress { stage: "connecting", ..Progress::default() }, 99);
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
