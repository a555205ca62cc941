//! Where the server's CPU time went, what its requests waited for, and the cost of profiling.

use super::flame::{self, kind_name, short};
use crate::page::{Block, Column, Mark, Table};
use crate::wording::{per_second, percent, plural, point_phrase};
use model::profile::{
    FunctionCost, MergedProfile, ProfileKind, ProfileRecord, Profiled, Wait, Waiter,
};
use model::run::Run;
use model::units::{show_bytes, show_ns};
use std::collections::BTreeSet;

/// Rows of a table in the summary.
const BRIEF_ROWS: usize = 5;
/// Rows of a table in the full page.
const FULL_ROWS: usize = 30;

const WITHOUT_KERNEL: &str = "Time in the kernel is not in this profile, because the user may not \
    sample it: all figures are of the time outside of the kernel.";

/// What was profiled, the waits, and the costliest functions.
pub fn brief(run: &Run) -> Vec<Block> {
    drawn(run, BRIEF_ROWS)
}

/// The costliest functions, or the longest waits where no CPU time was profiled.
pub fn first(run: &Run) -> Option<Table> {
    drawn(run, BRIEF_ROWS).into_iter().find_map(|block| match block {
        Block::Table(table) => Some(table),
        _ => None,
    })
}

/// What was profiled with more rows than in brief, the flame graphs, and every file.
pub fn full(run: &Run) -> Vec<Block> {
    let mut blocks = drawn(run, FULL_ROWS);
    let Some(record) = &run.record.profile else { return blocks };
    blocks.extend(record.kinds.iter().filter_map(flame::of).map(Block::Flame));
    if !record.captures.is_empty() {
        blocks.push(Block::Table(captures(record)));
    }
    blocks
}

fn drawn(run: &Run, rows: usize) -> Vec<Block> {
    let Some(record) = &run.record.profile else { return Vec::new() };
    let mut blocks = vec![Block::Text(what(run, record))];
    for merged in &record.kinds {
        if merged.kind.is_of_waits() {
            blocks.extend(waits(record, merged, rows));
        } else if merged.total > 0 {
            let mut table = top(merged, rows);
            if merged.kind == ProfileKind::Perf && record.lacks_kernel() {
                table.notes.push(WITHOUT_KERNEL.to_string());
            }
            table.notes.extend(unnamed(merged));
            blocks.push(Block::Table(table));
        }
    }
    blocks
}

/// Share of the samples in code without names from which it is said.
const UNNAMED_MIN: f64 = 0.05;

/// What names the functions that a runtime compiles while it runs: perf shows the file of their
/// names instead, `[perf-2736.map]`, or an address.
fn unnamed(merged: &MergedProfile) -> Option<String> {
    let is_unnamed = |name: &str| name.starts_with("[perf-") || name.starts_with("[JIT]");
    let flat = merged.top.iter().filter(|cost| is_unnamed(&cost.function)).map(|cost| cost.flat);
    let share = flat.sum::<i64>() as f64 / merged.total.max(1) as f64;
    (merged.kind == ProfileKind::Perf && share >= UNNAMED_MIN).then(|| {
        format!(
            "{} % is in functions that the server compiled while it ran, and their names are \
             missing: start Node.js with --perf-basic-prof, Python with -X perf; for Java, \
             jcmd PID Compiler.perfmap.",
            percent(100.0 * share)
        )
    })
}

/// Which visit was profiled, and the cost of profiling as far as it is known.
fn what(run: &Run, record: &ProfileRecord) -> String {
    let point = run.record.points.get(record.point);
    let load = point.map_or("a level".to_string(), point_phrase);
    let mut text = match (record.visit, point) {
        (Profiled::Repeat, Some(point)) if point.rate > 0.0 => format!(
            "Profiled in an additional visit of {load}: {}, {:.3} of the {} without profiling.",
            per_second(record.rate),
            record.rate / point.rate,
            per_second(point.rate)
        ),
        (Profiled::Repeat, _) => format!("Profiled in an additional visit of {load}."),
        (Profiled::Point, _) => format!(
            "Profiled in the window of {load} itself: each of its figures includes the cost of \
             profiling."
        ),
    };
    if record.kinds.is_empty() {
        text.push_str(" No profile could be taken; the notices say why.");
    }
    text
}

fn amount(kind: ProfileKind, value: f64) -> String {
    if kind == ProfileKind::Heap { show_bytes(value) } else { show_ns(value) }
}

fn share(value: i64, total: i64) -> String {
    percent(100.0 * value as f64 / total.max(1) as f64)
}

fn top(merged: &MergedProfile, rows: usize) -> Table {
    let each = if merged.kind == ProfileKind::Heap { "B/request" } else { "us/request" };
    let columns = vec![
        Column::words("function"),
        Column::numbers("flat").rank(2),
        Column::numbers("flat %"),
        Column::numbers("cum").rank(3),
        Column::numbers("cum %").rank(1),
        Column::numbers(each),
    ];
    let mut table = Table::new(columns).caption(format!(
        "{}: {} in {:.1} s of {}",
        kind_name(merged.kind),
        amount(merged.kind, merged.total as f64),
        merged.duration_s,
        processes(merged)
    ));
    let scale = if merged.kind == ProfileKind::Heap { 1.0 } else { 1e3 };
    let by_own = merged.top.iter().filter(|cost| cost.flat > 0).take(rows);
    for cost in by_own {
        let FunctionCost { function, flat, cum } = cost;
        let requests = merged.requests.filter(|requests| *requests > 0.0);
        let each = requests.map(|requests| *flat as f64 / scale / requests);
        table.push(
            Mark::None,
            vec![
                short(function).to_string(),
                amount(merged.kind, *flat as f64),
                share(*flat, merged.total),
                amount(merged.kind, *cum as f64),
                share(*cum, merged.total),
                each.map_or("-".to_string(), |each| format!("{each:.2}")),
            ],
        );
    }
    if rows == FULL_ROWS {
        let per_request = merged.requests.map_or(String::new(), |requests| {
            format!("; per request: flat over {requests:.0} requests")
        });
        table.notes.push(format!(
            "flat: the function itself; cum: with all that it called{per_request}. {} in all with \
             a share of their own.",
            plural(merged.functions as u64, "function")
        ));
    }
    table.notes.extend(merged.requests_absent.as_ref().map(|why| {
        let of = if merged.kind == ProfileKind::Heap { "bytes" } else { "time" };
        format!("No {of} per request: {why}.")
    }));
    table
}

fn processes(merged: &MergedProfile) -> String {
    match merged.processes {
        1 => "1 process".to_string(),
        many => format!("{many} processes"),
    }
}

/// Waits of requests with the arithmetic of their bound, and what is left out.
fn waits(record: &ProfileRecord, merged: &MergedProfile, rows: usize) -> Option<Block> {
    let of_requests = || {
        merged.waits.iter().filter(|wait| wait.waiter == Waiter::Request && wait.blocked_s > 0.0)
    };
    // Lock holders are shown in addition to the waits; alone they add nothing.
    if merged.kind == ProfileKind::Mutex && of_requests().next().is_none() {
        return None;
    }
    let columns = vec![
        Column::words(if merged.kind == ProfileKind::Mutex { "held at" } else { "waited at" }),
        Column::words("in").rank(2),
        Column::numbers("blocked"),
        Column::numbers("of").rank(1),
        Column::numbers("share"),
        Column::numbers("at most"),
    ];
    // Waits below a serving frame are waits of requests only where nothing else is served.
    let whose = if merged.requests_absent.is_none() { "requests" } else { "serving goroutines" };
    let mut table = Table::new(columns).caption(format!(
        "{} of {whose} in {:.1} s of {}",
        kind_name(merged.kind),
        merged.duration_s,
        processes(merged)
    ));
    let held = record
        .in_flight
        .filter(|_| merged.requests_absent.is_none())
        .map_or("-".to_string(), |mean| format!("{:.1} s x {mean:.1}", merged.duration_s));
    for wait in of_requests().take(rows) {
        table.push(Mark::None, wait_cells(wait, &held));
    }
    if of_requests().nth(1).is_some() && merged.kind == ProfileKind::Block {
        let blocked_s = of_requests().map(|wait| wait.blocked_s).sum();
        let share = of_requests().map(|wait| wait.share).sum::<Option<f64>>();
        let gain_max = share.filter(|share| *share < 1.0).map(|share| share / (1.0 - share));
        let all = Wait {
            site: format!("all {} together", plural(of_requests().count() as u64, "site")),
            call: String::new(),
            waiter: Waiter::Request,
            known_by: None,
            count: 0,
            blocked_s,
            share,
            gain_max,
        };
        table.push(Mark::None, wait_cells(&all, &held));
    }
    table.notes = notes(merged);
    Some(Block::Table(table))
}

fn wait_cells(wait: &Wait, held: &str) -> Vec<String> {
    let hundredth = |share: Option<f64>| share.map(|share| share * 100.0);
    let digits = |value: f64| {
        if value.abs() < 0.1 {
            4
        } else if value.abs() < 10.0 {
            2
        } else {
            1
        }
    };
    vec![
        short(&wait.site).to_string(),
        short(&wait.call).to_string(),
        blocked(wait.blocked_s),
        held.to_string(),
        hundredth(wait.share)
            .map_or("-".to_string(), |share| format!("{share:.*} %", digits(share))),
        match (hundredth(wait.gain_max), wait.share) {
            (Some(gain), _) => format!("+{gain:.*} %", digits(gain)),
            (None, Some(_)) => "no bound".to_string(),
            (None, None) => "-".to_string(),
        },
    ]
}

/// Seconds with one decimal, as in the arithmetic of the bound.
fn blocked(blocked_s: f64) -> String {
    if blocked_s >= 1.0 { format!("{blocked_s:.1} s") } else { show_ns(blocked_s * 1e9) }
}

fn notes(merged: &MergedProfile) -> Vec<String> {
    let mut notes = Vec::new();
    if merged.kind == ProfileKind::Mutex {
        notes.push(
            "The same waits by lock holder: the block profile contains them as well, so do not add \
             the two."
                .to_string(),
        );
    }
    if let Some(why) = &merged.requests_absent {
        notes.push(format!("No share of requests and no bound: {why}."));
    } else if merged.kind == ProfileKind::Block {
        notes.push(
            "share s: blocked time / (time x requests in flight). at most: s / (1 - s), by which \
             the rate could rise in a closed loop without the wait; it excludes CPU time of the \
             lock."
                .to_string(),
        );
    }
    let known: BTreeSet<&str> =
        merged.waits.iter().filter_map(|wait| wait.known_by.as_deref()).map(short).collect();
    let mut left_out = Vec::new();
    for (waiter, words) in [
        (Waiter::Other, "of goroutines that serve no request"),
        (Waiter::Profiler, "of the profiler itself"),
    ] {
        let waits = || merged.waits.iter().filter(|wait| wait.waiter == waiter);
        let blocked_s: f64 = waits().map(|wait| wait.blocked_s).sum();
        if blocked_s > 0.0 {
            left_out.push(format!("{} {words}", show_ns(blocked_s * 1e9)));
        }
    }
    if !left_out.is_empty() {
        let by = match known.is_empty() {
            true => String::new(),
            false => {
                let known: Vec<_> = known.into_iter().take(3).collect();
                format!(" Waits of requests are those below {}.", known.join(" or "))
            }
        };
        notes.push(format!("Left out: {}.{by}", left_out.join(" and ")));
    }
    if !merged.waits.iter().any(|wait| wait.waiter == Waiter::Request) {
        notes.push("No request waited, as far as the server records it.".to_string());
    }
    notes
}

fn captures(record: &ProfileRecord) -> Table {
    let columns = vec![
        Column::words("kind"),
        Column::numbers("process"),
        Column::numbers("seconds"),
        Column::numbers("samples"),
        Column::words("from").rank(2),
        Column::words("file in the run").rank(1),
    ];
    let mut table = Table::new(columns).caption("Profiles by process").folded();
    for capture in &record.captures {
        let duration_s = capture.duration_ns.map(|ns| format!("{:.2}", ns as f64 / 1e9));
        table.push(
            Mark::None,
            vec![
                capture.kind.name().to_string(),
                capture.pid.map_or("-".to_string(), |pid| pid.to_string()),
                duration_s.unwrap_or("-".to_string()),
                capture.samples.to_string(),
                capture.source.clone(),
                capture.file.clone(),
            ],
        );
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures;

    #[test]
    fn code_without_names_is_told_with_what_names_it() {
        let mut merged = fixtures::load_profiled().record.profile.unwrap().kinds.remove(0);
        assert_eq!(unnamed(&merged), None);
        merged.kind = ProfileKind::Perf;
        merged.top[0].function = "[perf-2736.map]".to_string();
        let said = unnamed(&merged).unwrap();
        assert!(said.starts_with("74.5 % is in") && said.contains("--perf-basic-prof"), "{said}");
    }

    #[test]
    fn a_profile_without_the_kernel_says_so_below_its_table() {
        let mut run = fixtures::load_profiled();
        let notes = |run: &Run| -> Vec<String> {
            let blocks = brief(run);
            let tables = blocks.iter().filter_map(|block| match block {
                Block::Table(table) => Some(table.notes.clone()),
                _ => None,
            });
            tables.flatten().collect()
        };
        let profile = run.record.profile.as_mut().unwrap();
        profile.captures[0].lacks_kernel = true;
        let found = notes(&run);
        assert!(!found.contains(&WITHOUT_KERNEL.to_string()), "the table is of Go's own profile");
        run.record.profile.as_mut().unwrap().kinds[0].kind = ProfileKind::Perf;
        assert!(notes(&run).contains(&WITHOUT_KERNEL.to_string()));
        run.record.profile.as_mut().unwrap().captures[0].lacks_kernel = false;
        assert!(!notes(&run).contains(&WITHOUT_KERNEL.to_string()));
    }
}
