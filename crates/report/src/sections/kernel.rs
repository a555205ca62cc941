//! What programs in the kernel saw: a request at the server, what its threads waited for, who ran
//! instead, what was dropped, and what the programs cost.

use crate::page::{Block, Column, List, Mark, Table};
use crate::wording::{per_second, percent, plural, point_phrase};
use model::kernel::{
    ByConnection, Durations, KernelReadings, KernelRecord, KernelWait, LightVisit, RanInstead,
    ThreadWaits, WaitFor, Whose,
};
use model::run::Run;
use model::units::{NS_PER_S, show_count, show_ns};

/// Rows of a table in the text.
const BRIEF_ROWS: usize = 5;
/// Rows of a table on the page.
const FULL_ROWS: usize = 24;
/// Functions of a stack that are shown in the text.
const BRIEF_FUNCTIONS: usize = 2;
/// Kinds of waits in the sentence.
const SENTENCE_WAITS: usize = 3;
/// Tasks, reasons and devices in one sentence.
const NAMED_MAX: usize = 4;

/// The split, what threads wait for and the cost in one sentence.
pub fn sentence(run: &Run) -> Option<String> {
    let readings = &run.record.kernel.as_ref()?.readings;
    let seconds = readings.seconds().max(f64::MIN_POSITIVE);
    let split = readings.split.as_ref();
    let means = split.and_then(|split| Some((split.unread.mean_ns()?, split.inside.mean_ns()?)));
    let split = means.map(|(unread_ns, inside_ns)| {
        format!(
            "a request lies {} unread and is {} in the server",
            show_ns(unread_ns),
            show_ns(inside_ns)
        )
    });
    let mut waits: Vec<(WaitFor, f64)> = Vec::new();
    for wait in readings.threads.iter().flat_map(|threads| &threads.waits) {
        match waits.iter_mut().find(|(what, _)| *what == wait.what) {
            Some((_, threads)) => *threads += wait.total_s / seconds,
            None => waits.push((wait.what, wait.total_s / seconds)),
        }
    }
    waits.sort_by(|one, other| other.1.total_cmp(&one.1));
    let waits = waits.iter().take(SENTENCE_WAITS).filter(|(_, threads)| *threads >= 0.005);
    let waits: Vec<String> =
        waits.map(|(what, threads)| format!("{} {threads:.2}", phrase(*what))).collect();
    let waits =
        (!waits.is_empty()).then(|| format!("threads that wait for {} (mean)", waits.join(", ")));
    let cost =
        readings.cost_cpus().map(|cpus| format!("cost {} % of a CPU", percent(100.0 * cpus)));
    let known: Vec<String> = split.into_iter().chain(waits).chain(cost).collect();
    match (known.is_empty(), readings.unreadable.first()) {
        (true, Some(lacking)) => Some(format!("nothing was read: {}", lacking.why)),
        _ => Some(format!("{}; -v shows more", known.join("; "))),
    }
}

/// The split, the longest waits, and sentences about the rest.
pub fn brief(run: &Run) -> Vec<Block> {
    drawn(run, BRIEF_ROWS)
}

/// The same with more rows, and the cost of each program.
pub fn full(run: &Run) -> Vec<Block> {
    let mut blocks = drawn(run, FULL_ROWS);
    if let Some(record) = &run.record.kernel {
        blocks.extend(programs(&record.readings).map(Block::Table));
    }
    blocks
}

fn drawn(run: &Run, rows: usize) -> Vec<Block> {
    let Some(record) = &run.record.kernel else { return Vec::new() };
    let readings = &record.readings;
    let mut blocks = vec![Block::Text(what(run, record))];
    blocks.extend(split(record).map(Block::Table));
    if let Some(threads) = &readings.threads {
        blocks.extend(waits(threads, readings.seconds(), rows).map(Block::Table));
    }
    let threads = readings.threads.as_ref();
    let items: Vec<String> = threads.and_then(run_queue).into_iter().collect();
    let items = items.into_iter().chain(packets(readings)).chain(disks(readings));
    let unreadable = readings.unreadable.iter();
    let unreadable = unreadable.map(|one| format!("not read: {}: {}", one.what, one.why));
    let items: Vec<String> = items.chain(cost(readings)).chain(unreadable).collect();
    if !items.is_empty() {
        blocks.push(Block::List(List { lead: String::new(), items }));
    }
    blocks
}

/// Which visit it was, and what watching cost as far as the rate shows it.
fn what(run: &Run, record: &KernelRecord) -> String {
    let point = run.record.points.get(record.point);
    let load = point.map_or("a level".to_string(), point_phrase);
    let seconds = record.readings.seconds();
    match point.filter(|point| point.rate > 0.0) {
        Some(point) => format!(
            "Programs in the kernel watched the server for {seconds:.1} s in an additional visit \
             of {load}: {}, {:.3} of the {} without them.",
            per_second(record.rate),
            record.rate / point.rate,
            per_second(point.rate)
        ),
        None => format!(
            "Programs in the kernel watched the server for {seconds:.1} s in an additional visit \
             of {load}."
        ),
    }
}

fn shown(ns: Option<u64>) -> String {
    ns.map_or("-".to_string(), |ns| show_ns(ns as f64))
}

/// The parts of a request, with how many requests are in each on average.
fn split(record: &KernelRecord) -> Option<Table> {
    let (readings, seconds) = (&record.readings, record.readings.seconds());
    let split = readings.split.as_ref()?;
    let port = readings.port.map_or(String::new(), |port| format!(" on port {port}"));
    let columns = vec![
        Column::words("part of a request"),
        Column::numbers("seen").rank(2),
        Column::numbers("in it"),
        Column::numbers("mean"),
        Column::numbers("p50 <="),
        Column::numbers("p90 <=").rank(1),
        Column::numbers("p99 <="),
    ];
    let mut table = Table::new(columns).caption(format!("Requests at the server{port}"));
    let mut push = |name: &str, part: &Durations| {
        let in_it = part.sum_ns as f64 / NS_PER_S as f64 / seconds.max(f64::MIN_POSITIVE);
        let mean = part.mean_ns().map_or("-".to_string(), show_ns);
        let cells = vec![
            name.to_string(),
            show_count(part.count as f64),
            format!("{in_it:.2}"),
            mean,
            shown(part.p50_ns),
            shown(part.p90_ns),
            shown(part.p99_ns),
        ];
        table.push(Mark::None, cells);
    };
    push("unread in its socket", &split.unread);
    push("in the server, from the last read to the first write", &split.inside);
    if let Some(acknowledged) = &split.acknowledged {
        push("from that write to its acknowledgement", acknowledged);
    }
    let responses = record.answered_rate * seconds;
    if responses >= 1.0 {
        let share = 100.0 * split.inside.count as f64 / responses;
        let mut note = format!(
            "Seen: {} of about {} responses, {} %.",
            show_count(split.inside.count as f64),
            show_count(responses),
            percent(share)
        );
        if split.inside.count == 0 {
            note.push_str(
                " Either the server listens on another port than the URL says, as in a container, \
                 or other processes serve, or it reads and writes in calls that the hooks do not \
                 see.",
            );
        }
        table.notes.push(note);
    }
    table.notes.extend(record.light.iter().filter_map(light));
    Some(table)
}

/// A visit in which requests do not wait for each other.
fn light(visit: &LightVisit) -> Option<String> {
    let split = visit.split.as_ref()?;
    let how = match visit.at_once {
        1 => "one by one".to_string(),
        at_once => format!("{at_once} at one instant"),
    };
    let mean = |part: &Durations| part.mean_ns().map_or("-".to_string(), show_ns);
    Some(format!(
        "At {} requests per second, {how}: unread {}, in the server {} (seen {}).",
        show_count(visit.asked_rate),
        mean(&split.unread),
        mean(&split.inside),
        show_count(split.inside.count as f64)
    ))
}

/// What a wait is for, in words.
fn phrase(what: WaitFor) -> &'static str {
    match what {
        WaitFor::Futex => "another thread (futex)",
        WaitFor::Events => "events (epoll, poll)",
        WaitFor::Timer => "a time (sleep)",
        WaitFor::Socket => "a socket",
        WaitFor::Accept => "a connection (accept)",
        WaitFor::Pipe => "a pipe",
        WaitFor::Disk => "a disk",
        WaitFor::KernelLock => "a lock of the kernel",
        WaitFor::Child => "a child process",
        WaitFor::Other => "something else",
    }
}

fn waits(threads: &ThreadWaits, seconds: f64, rows: usize) -> Option<Table> {
    let columns = vec![
        Column::words("threads wait for"),
        Column::words("in the kernel at").rank(1),
        Column::numbers("threads"),
        Column::numbers("waits").rank(2),
        Column::numbers("each"),
    ];
    let seconds = seconds.max(f64::MIN_POSITIVE);
    let mut table = Table::new(columns).caption("Off the CPU, waits of 50 us and more");
    let functions = if rows == FULL_ROWS { usize::MAX } else { BRIEF_FUNCTIONS };
    for wait in threads.waits.iter().take(rows) {
        let KernelWait { what, count, total_s, .. } = wait;
        let at: Vec<&str> = wait.functions.iter().take(functions).map(String::as_str).collect();
        let each_ns = total_s / (*count).max(1) as f64 * NS_PER_S as f64;
        table.push(
            Mark::None,
            vec![
                phrase(*what).to_string(),
                if at.is_empty() { "-".to_string() } else { at.join(" < ") },
                format!("{:.2}", total_s / seconds),
                show_count(*count as f64),
                show_ns(each_ns),
            ],
        );
    }
    let short = threads.short_count;
    if short > 0 {
        table.notes.push(format!(
            "{} of less than 50 us, together {:.2} threads. A wait that began before the programs \
             were attached is in no row.",
            plural(short, "more wait"),
            threads.short_s / seconds
        ));
    }
    (!table.rows.is_empty() || short > 0).then_some(table)
}

/// How long threads that could run waited for a CPU, and who had it.
fn run_queue(threads: &ThreadWaits) -> Option<String> {
    let delay = &threads.run_queue;
    let mean_ns = delay.mean_ns()?;
    let mut text = format!(
        "run queue: threads became runnable {} times and waited {} each for a CPU",
        show_count(delay.count as f64),
        show_ns(mean_ns)
    );
    if let Some(p99_ns) = delay.p99_ns {
        text.push_str(&format!(" (p99 at most {})", show_ns(p99_ns as f64)));
    }
    let all_s: f64 = threads.ran_instead.iter().map(|one| one.delayed_s).sum();
    let named = threads.ran_instead.iter().take(NAMED_MAX).map(|one| {
        format!("{} {} %", task(one), percent(100.0 * one.delayed_s / all_s.max(f64::MIN_POSITIVE)))
    });
    let named: Vec<String> = named.collect();
    if !named.is_empty() {
        text.push_str(&format!("; before waits of 50 us and more ran: {}", named.join(", ")));
    }
    Some(text)
}

fn task(one: &RanInstead) -> String {
    match one.whose {
        Whose::Idle => "nothing (the CPU was idle or stolen)".to_string(),
        Whose::Server => "the server itself".to_string(),
        Whose::Generator => "the generator".to_string(),
        Whose::Kernel => format!("{} of the kernel", one.name),
        Whose::Other => format!("{} ({})", one.name, one.pid),
    }
}

/// Drops, retransmits and resets.
fn packets(readings: &KernelReadings) -> Vec<String> {
    let mut items = Vec::new();
    if let Some(drops) = &readings.drops {
        let of = |is_of_server: bool| {
            let rows = drops.iter().filter(|one| one.is_of_server == is_of_server).take(NAMED_MAX);
            let rows = rows.map(|one| format!("{} {}", one.reason, show_count(one.count as f64)));
            rows.collect::<Vec<_>>().join(", ")
        };
        let or_none = |text: String| if text.is_empty() { "none".to_string() } else { text };
        items.push(format!(
            "dropped packets by the kernel's reason: of the server's port {}; of others {}",
            or_none(of(true)),
            or_none(of(false))
        ));
    }
    let counts = [
        ("segments sent again", readings.retransmits),
        ("resets sent", readings.resets_sent),
        ("resets received", readings.resets_received),
    ];
    let known = counts.into_iter().filter_map(|(name, count)| Some((name, count?)));
    let text = known.map(|(name, ByConnection { of_server, of_others })| {
        let (server, others) = (show_count(of_server as f64), show_count(of_others as f64));
        format!("{name} {server} (others {others})")
    });
    let text: Vec<String> = text.collect();
    if !text.is_empty() {
        items.push(format!("on the server's connections: {}", text.join(", ")));
    }
    items
}

fn disks(readings: &KernelReadings) -> Option<String> {
    let disks = readings.disks.as_ref()?;
    let Some(mean_ns) = disks.all.mean_ns() else {
        return Some("block requests of the host: none".to_string());
    };
    let named: Vec<String> = disks
        .devices
        .iter()
        .take(NAMED_MAX)
        .map(|one| {
            let each_ns = one.total_s / one.count.max(1) as f64 * NS_PER_S as f64;
            format!("{} {} x {}", one.device, show_count(one.count as f64), show_ns(each_ns))
        })
        .collect();
    let p99 = disks
        .all
        .p99_ns
        .map_or(String::new(), |ns| format!(" (p99 at most {})", show_ns(ns as f64)));
    Some(format!(
        "block requests of the host, from issue to end: {} in the mean{p99}; {}",
        show_ns(mean_ns),
        named.join(", ")
    ))
}

/// What the programs cost, by the kernel's own statistics.
fn cost(readings: &KernelReadings) -> Option<String> {
    let cpus = readings.cost_cpus()?;
    let dearest = readings.programs.iter().max_by_key(|program| program.ns)?;
    let each_ns = dearest.ns as f64 / dearest.runs.max(1) as f64;
    let missed: u64 = readings.programs.iter().map(|program| program.missed).sum();
    let mut text = format!(
        "cost: {} % of a CPU by the kernel's own statistics, most of it {}, {} each time",
        percent(100.0 * cpus),
        dearest.hook,
        show_ns(each_ns)
    );
    if missed > 0 {
        text.push_str(&format!("; {} events were missed", show_count(missed as f64)));
    }
    Some(text)
}

fn programs(readings: &KernelReadings) -> Option<Table> {
    let columns = vec![
        Column::words("hook"),
        Column::numbers("ran"),
        Column::numbers("each"),
        Column::numbers("of a CPU"),
        Column::numbers("missed"),
    ];
    let mut table = Table::new(columns).caption("Programs in the kernel");
    let window_ns = readings.seconds() * NS_PER_S as f64;
    for one in &readings.programs {
        let each_ns = one.ns as f64 / one.runs.max(1) as f64;
        let share = 100.0 * one.ns as f64 / window_ns.max(1.0);
        table.push(
            Mark::None,
            vec![
                one.hook.clone(),
                show_count(one.runs as f64),
                if one.runs == 0 { "-".to_string() } else { show_ns(each_ns) },
                format!("{} %", percent(share)),
                one.missed.to_string(),
            ],
        );
    }
    (!table.rows.is_empty()).then_some(table)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::load_unwatched;
    use model::kernel::{Dropped, ProgramCost, RequestSplit, Unreadable};

    /// Ten seconds of the fixture's load, in which 40 requests are in the server on average.
    fn watched() -> Run {
        let mut run = load_unwatched();
        let part = |sum_s: u64| Durations {
            count: 1000,
            sum_ns: sum_s * NS_PER_S,
            p50_ns: Some(400_000_000),
            ..Durations::default()
        };
        let wait = |what, total_s| KernelWait {
            what,
            functions: ["do_nanosleep", "hrtimer_nanosleep", "third"].map(String::from).into(),
            is_uninterruptible: false,
            count: 100,
            total_s,
        };
        let ran = |whose, delayed_s| RanInstead {
            name: "burn".to_string(),
            pid: 7,
            whose,
            count: 1,
            delayed_s,
        };
        run.record.kernel = Some(KernelRecord {
            point: 0,
            rate: 100.0,
            answered_rate: 100.0,
            in_flight: Some(50.0),
            readings: KernelReadings {
                window_ns: (0, 10 * NS_PER_S),
                port: Some(8080),
                split: Some(RequestSplit {
                    unread: part(100),
                    inside: part(400),
                    acknowledged: None,
                }),
                threads: Some(ThreadWaits {
                    waits: vec![wait(WaitFor::Timer, 39.0), wait(WaitFor::Events, 10.0)],
                    run_queue: Durations { count: 4, sum_ns: 4_000_000, ..Durations::default() },
                    ran_instead: vec![ran(Whose::Other, 0.003), ran(Whose::Idle, 0.001)],
                    ..ThreadWaits::default()
                }),
                drops: Some(vec![Dropped {
                    reason: "NO_SOCKET".to_string(),
                    is_of_server: true,
                    count: 3,
                }]),
                retransmits: Some(ByConnection { of_server: 2, of_others: 0 }),
                programs: vec![ProgramCost {
                    hook: "sched_switch".to_string(),
                    runs: 1000,
                    ns: 300_000,
                    missed: 1,
                }],
                unreadable: vec![Unreadable {
                    what: "block requests".to_string(),
                    why: "this kernel has no hook block_rq_issue".to_string(),
                }],
                ..KernelReadings::default()
            },
            light: vec![LightVisit {
                at_once: 2,
                asked_rate: 25.0,
                answered_rate: 25.0,
                late_ns: None,
                seconds: 40.0,
                split: Some(RequestSplit { unread: part(1), inside: part(20), acknowledged: None }),
            }],
        });
        run
    }

    fn texts(blocks: &[Block]) -> String {
        let text = |block: &Block| match block {
            Block::Text(text) => text.clone(),
            Block::List(list) => list.items.join("\n"),
            Block::Table(table) => {
                let rows = table.rows.iter().map(|row| row.cells.join(" | "));
                rows.chain(table.notes.clone()).collect::<Vec<_>>().join("\n")
            }
            other => panic!("{other:?}"),
        };
        blocks.iter().map(text).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn each_part_says_how_many_requests_and_threads_are_there() {
        let text = texts(&brief(&watched()));
        for part in [
            "unread in its socket | 1000 | 10.00 | 100ms | 400ms | - | -",
            "first write | 1000 | 40.00 | 400ms",
            "Seen: 1000 of about 1000 responses, 100 %.",
            "At 25 requests per second, 2 at one instant: unread 1.00ms, in the server 20.0ms",
            "a time (sleep) | do_nanosleep < hrtimer_nanosleep | 3.90 | 100 | 390ms",
            "burn (7) 75.0 %, nothing (the CPU was idle or stolen) 25.0 %",
            "of the server's port NO_SOCKET 3; of others none",
            "segments sent again 2 (others 0)",
            "most of it sched_switch, 300ns each time; 1 events were missed",
            "not read: block requests: this kernel has no hook block_rq_issue",
        ] {
            assert!(text.contains(part), "{part} is not in\n{text}");
        }
        assert!(texts(&full(&watched())).contains("hrtimer_nanosleep < third"));
    }

    #[test]
    fn what_was_not_read_is_not_drawn_as_zero() {
        assert_eq!(brief(&load_unwatched()), Vec::new());
        assert_eq!(sentence(&load_unwatched()), None);
        let mut run = watched();
        let readings = &mut run.record.kernel.as_mut().unwrap().readings;
        let why = "this user may not".to_string();
        let unreadable = vec![Unreadable { what: "evidence".to_string(), why }];
        *readings = KernelReadings { unreadable, ..KernelReadings::default() };
        assert_eq!(sentence(&run).unwrap(), "nothing was read: this user may not");
        let blocks = brief(&run);
        assert!(blocks.iter().all(|block| !matches!(block, Block::Table(_))), "{blocks:?}");
        assert!(!texts(&blocks).contains("none"), "{blocks:?}");
    }

    #[test]
    fn one_sentence_has_the_split_the_waits_and_the_cost() {
        let text = sentence(&watched()).unwrap();
        let expected = "a request lies 100ms unread and is 400ms in the server; threads that wait \
                        for a time (sleep) 3.90, events (epoll, poll) 1.00 (mean); cost ";
        assert!(
            text.starts_with(expected) && text.ends_with("% of a CPU; -v shows more"),
            "{text}"
        );
    }
}
