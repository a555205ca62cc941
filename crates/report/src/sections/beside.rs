//! Several runs on one page: a row each, then the verdict of each.

use super::{Detail, connecting::connecting, curves, evidence, summary, timeline};
use crate::page::{Block, Column, Mark, Page, Table};
use crate::wording::{best_point, mark_of, or_dash, plural, rate_cell, wall_name};
use model::run::Run;

/// The page of several runs.
pub fn beside(runs: &[Run], detail: Detail) -> Page {
    let mut blocks = vec![Block::Table(rows(runs))];
    let numbered = runs.iter().enumerate();
    blocks.extend(connecting(
        numbered.map(|(at, run)| (format!("{}: {}", at + 1, target_of(run)), run)),
    ));
    if detail == Detail::Everything {
        let named = |(at, run): (usize, _)| (format!("run {}", at + 1), run);
        let named: Vec<(String, &Run)> = runs.iter().enumerate().map(named).collect();
        blocks.extend(curves::of_runs(&named));
        blocks.extend(timeline::of_runs(&named));
    }
    for (at, run) in runs.iter().enumerate() {
        let words = run.record.command.iter().skip(1).map(String::as_str).collect::<Vec<_>>();
        blocks.push(Block::Heading(format!("{}: ceiling {}", at + 1, words.join(" "))));
        blocks.extend(summary::summary(run));
        blocks.extend(evidence::evidence(run));
        blocks.extend(evidence::next(run));
    }
    let ids: Vec<_> = runs.iter().map(|run| run.record.id.as_str()).collect();
    Page {
        title: format!("{} side by side", plural(runs.len() as u64, "run")),
        subtitle: ids.join(", "),
        blocks,
    }
}

/// Host, port and path.
fn target_of(run: &Run) -> &str {
    run.record.target.url.split("://").last().unwrap_or_default()
}

fn rows(runs: &[Run]) -> Table {
    let columns = vec![
        Column::numbers("run"),
        Column::numbers("rate/s"),
        Column::words("wall"),
        Column::words("confidence"),
        Column::numbers("client CPUs"),
        Column::numbers("server CPUs"),
    ];
    let mut table = Table::new(columns);
    for (at, run) in runs.iter().enumerate() {
        let verdict = &run.record.verdict;
        let point = best_point(run).map(|(_, point)| point);
        // Bare connections have no responses to count.
        let answered = point.filter(|point| point.requests.sent > 0 || !point.is_of_devices());
        let cells = vec![
            (at + 1).to_string(),
            or_dash(answered, rate_cell),
            wall_name(verdict),
            verdict.confidence.word().to_string(),
            or_dash(point.and_then(|point| point.cpu.client_cpus), |cpus| format!("{cpus:.2}")),
            or_dash(point.and_then(|point| point.cpu.server_cpus), |cpus| format!("{cpus:.2}")),
        ];
        table.push(point.map_or(Mark::Broken, |point| mark_of(run, point)), cells);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures;

    #[test]
    fn each_run_keeps_its_own_verdict() {
        let mut empty = fixtures::ramp_quota();
        empty.record.points.clear();
        let runs = [fixtures::ramp_generator(), fixtures::ramp_quota(), empty];
        let page = beside(&runs, Detail::Everything);
        let charts = page.blocks.iter().filter(|block| matches!(block, Block::Chart(_))).count();
        assert_eq!(charts, 4, "rate and latency, over the levels and over time");
        let banners = page.blocks.iter().filter_map(|block| match block {
            Block::Banner(banner) => Some(banner.text.as_str()),
            _ => None,
        });
        let banners: Vec<_> = banners.collect();
        assert!(banners[0].starts_with("NOT A SERVER MEASUREMENT"), "{banners:?}");
        assert!(banners[1].starts_with("CEILING"), "{banners:?}");
        let Block::Table(table) = &page.blocks[0] else { panic!("the rows come first") };
        assert_eq!(table.rows.len(), 3, "a run without points is one of them");
        assert!(crate::html::html_beside(&runs).contains("NOT A SERVER MEASUREMENT"));
    }
}
