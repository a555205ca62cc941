//! What the layout of a tool leaves out of our run: the loop, what it omits, the generator, the
//! checks, the wall.

use model::claim::Claim;
use model::figure::Figure;
use model::load::LoadModel;
use model::run::{Point, Run};
use model::shell;
use model::standing::Standing;
use model::tool::Tool;
use model::units::{show_count, show_ns};
use model::verdict::Named;
use model::wall::Side;

/// Where the second column starts.
const NAMES: usize = 12;
/// Columns of the text.
const WIDTH: usize = 80;

/// The text below a layout.
pub fn hidden_text(tool: Tool, run: &Run, point: &Point) -> String {
    let mut rows = vec![("loop", of_loop(point)), ("generator", generator(run, point))];
    rows.extend(omitted(point).map(|text| ("omitted", text)));
    rows.extend(added(tool, run, point).map(|text| ("added", text)));
    rows.extend(failures(point).map(|text| ("failures", text)));
    rows.extend(timed(tool, point).map(|text| ("times", text)));
    rows.extend(redirects(tool, point).map(|text| ("redirects", text)));
    rows.push(("checks", checks(point)));
    rows.extend(bounds(point).into_iter().map(|text| ("bounded", text)));
    rows.push(("wall", wall(run)));
    rows.push(("same again", shell::line(&run.record.command)));
    let drawn: String = rows.into_iter().map(|(name, text)| row(name, &text)).collect();
    format!("\nWhat {} would not have reported:\n{drawn}", tool.name())
}

/// A run without a level.
pub fn nothing(tool: Tool, run: &Run) -> String {
    format!(
        "Nothing was measured, so there is nothing that {} would print.\n{}",
        tool.name(),
        row("wall", &wall(run))
    )
}

fn of_loop(point: &Point) -> String {
    match point.load.model {
        LoadModel::Closed => format!(
            "closed: at most {} requests in flight, and a slower server gets less load",
            point.in_flight.limit
        ),
        LoadModel::Open => {
            let late = point.send_delay_ns.as_ref().and_then(|lag| lag.p99);
            let sent = late.map_or(String::new(), |ns| {
                format!("; sent with a delay of {} at p99", show_ns(ns as f64))
            });
            let service = point.service_ns.p99.map_or(String::new(), |ns| {
                format!("; from the send p99 would be {}", show_ns(ns as f64))
            });
            format!("open: latency counts from the planned instant{sent}{service}")
        }
    }
}

/// In closed loop a stall of the server is in one latency of each connection, and not in those of
/// the requests that would have been due meanwhile.
fn omitted(point: &Point) -> Option<String> {
    let longest_ns = point.latency_ns.max?;
    let due = point.rate * longest_ns as f64 / 1e9;
    let counted = point.in_flight.limit as f64;
    (point.load.model == LoadModel::Closed && due > 2.0 * counted).then(|| {
        format!(
            "the longest response took {}: users who come at this rate send {} requests meanwhile, \
             and here at most {} could wait; measure with a plan, -R {:.0}",
            show_ns(longest_ns as f64),
            show_count(due),
            show_count(counted),
            point.rate * 0.8
        )
    })
}

/// After its load wrk adds times to those that it measured.
fn added(tool: Tool, run: &Run, point: &Point) -> Option<String> {
    let whole = run.latencies.last().filter(|_| tool == Tool::Wrk)?;
    let each = f64::from(point.load.connections) * 1e9 / point.answered_rate();
    let slow = whole.count() - whole.count_up_to((2.0 * each).min(u64::MAX as f64) as u64);
    (slow > 0).then(|| {
        format!(
            "{} responses took more than twice {}, the mean time between those of a connection; \
             for each of them wrk adds shorter times that it did not measure, and this layout does \
             not",
            show_count(slow as f64),
            show_ns(each)
        )
    })
}

/// Our times are those of good responses.
fn timed(tool: Tool, point: &Point) -> Option<String> {
    let (responses, good) = point.responses();
    (0 < good && good < responses).then(|| {
        format!(
            "of the {} good responses; those of {} are of all {}",
            show_count(good as f64),
            tool.name(),
            show_count(responses as f64)
        )
    })
}

/// hey follows redirects unless an option forbids it.
fn redirects(tool: Tool, point: &Point) -> Option<String> {
    let redirected = point.status.get("3xx").copied().filter(|count| *count > 0)?;
    (tool == Tool::Hey).then(|| {
        format!(
            "{} responses were redirects; hey follows them without -disable-redirects",
            show_count(redirected as f64)
        )
    })
}

fn generator(run: &Run, point: &Point) -> String {
    let used = point.cpu.client_cpus.map_or(String::new(), |cpus| {
        let threads = point.load.threads;
        let threads = if threads == 1 { "1 thread".into() } else { format!("{threads} threads") };
        format!("it used {cpus:.2} CPUs with {threads}")
    });
    match run.record.claim() {
        Claim::OfGenerator => {
            format!("IT WAS THE WALL, so the rate is not the server's: {}", run.record.verdict.name)
        }
        _ if used.is_empty() => "its CPU time was not read".to_string(),
        _ if run.record.verdict.side == Side::Client => {
            format!("it was late, which moved latency but not the rate: {used}")
        }
        _ => format!("it was not the wall: {used}"),
    }
}

fn failures(point: &Point) -> Option<String> {
    let requests = &point.requests;
    let lost = requests.failed + requests.unanswered;
    (lost + requests.unsent > 0).then(|| {
        format!(
            "{} of {} requests had no good response: {} failed, {} unanswered, {} never sent",
            lost + requests.unsent,
            requests.sent + requests.unsent,
            requests.failed,
            requests.unanswered,
            requests.unsent
        )
    })
}

fn checks(point: &Point) -> String {
    let broken: Vec<String> = point
        .gates
        .iter()
        .filter(|gate| gate.ok == Some(false))
        .map(|gate| format!("{}: {}", gate.id, gate.why))
        .collect();
    let hold = point.gates.iter().filter(|gate| gate.ok == Some(true)).count();
    match broken.is_empty() {
        true => format!("all {hold} that could be evaluated hold"),
        false => format!("{hold} hold; BROKEN: {}", broken.join("; ")),
    }
}

/// Figures that are only bounded, or not known; those with the same reason in one row.
fn bounds(point: &Point) -> Vec<String> {
    let mut rows: Vec<(String, String)> = Vec::new();
    for figure in Figure::all() {
        let name = figure.name();
        let said = match point.standing.of(figure) {
            Standing::Sound => continue,
            Standing::Bounded { low, high: Some(high), .. } => {
                format!("{} to {}", figure.show(*low), figure.show(*high))
            }
            Standing::Bounded { low, high: None, .. } => format!("at least {}", figure.show(*low)),
            Standing::NotKnown { why } => {
                format!("not known: {}", why.trim_start_matches(&format!("{name} ")))
            }
        };
        match rows.iter_mut().find(|(_, other)| *other == said) {
            Some((names, _)) => *names += &format!(", {name}"),
            None => rows.push((name.to_string(), said)),
        }
    }
    rows.into_iter().map(|(names, said)| format!("{names}: {said}")).collect()
}

fn wall(run: &Run) -> String {
    let verdict = &run.record.verdict;
    match verdict.wall {
        Named::Wall(wall) => {
            format!("{} ({wall}), {}", verdict.name, verdict.confidence.word())
        }
        _ => verdict.name.clone(),
    }
}

/// A named row, wrapped between words.
fn row(name: &str, text: &str) -> String {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let line = lines.last_mut().expect("there is one");
        if !line.is_empty() && line.chars().count() + 1 + word.chars().count() > WIDTH - NAMES - 2 {
            lines.push(word.to_string());
        } else if line.is_empty() {
            *line = word.to_string();
        } else {
            *line += &format!(" {word}");
        }
    }
    let mut drawn = String::new();
    for (at, line) in lines.iter().enumerate() {
        let name = if at == 0 { name } else { "" };
        drawn += &format!("  {name:NAMES$}{line}\n");
    }
    drawn
}
