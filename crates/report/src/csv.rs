//! One row per point, for spreadsheets and scripts.
//!
//! The header is stable: new columns are only added at the end. An empty cell means "not measured",
//! never zero. Quoting follows RFC 4180; lines end with a line feed. Times are nanoseconds, and
//! rates are per second unless the name says otherwise; [`columns`] documents each column.

use crate::wording::{failed_gates, is_partial, unchecked_gates};
use figures::book::{Entry, measured, of_points};
use model::fanout::EventInfo;
use model::figure::{Figure, OfHost, Statistic, Whose};
use model::histogram::Summary;
use model::run::{Point, Run, StartInfo, TurnoverInfo};
use model::tick::ErrorClass;

/// A column of the file.
pub struct Column {
    /// Name in the header.
    pub name: String,
    /// Its meaning.
    pub meaning: String,
    cell: Box<CsvCell>,
}

/// Fills a cell from the run, the index of the point in it, and the point.
type CsvCell = dyn Fn(&Run, usize, &Point) -> String;

fn column(
    name: impl Into<String>,
    meaning: impl Into<String>,
    cell: impl Fn(&Run, usize, &Point) -> String + 'static,
) -> Column {
    Column { name: name.into(), meaning: meaning.into(), cell: Box::new(cell) }
}

/// A column that needs only the point.
fn of_point<T: ToString>(
    name: impl Into<String>,
    meaning: impl Into<String>,
    value: impl Fn(&Point) -> Option<T> + 'static,
) -> Column {
    column(name, meaning, move |_, _, point| {
        value(point).map_or_else(String::new, |value| value.to_string())
    })
}

/// A run as rows, header first.
pub fn csv(run: &Run) -> String {
    let columns = columns();
    let names = columns.iter().map(|column| quoted(&column.name));
    let mut text = names.collect::<Vec<_>>().join(",");
    text.push('\n');
    for (index, point) in run.record.points.iter().enumerate() {
        let cells = columns.iter().map(|column| quoted(&(column.cell)(run, index, point)));
        text.push_str(&cells.collect::<Vec<_>>().join(","));
        text.push('\n');
    }
    text
}

/// Every column in order, documented.
pub fn columns() -> Vec<Column> {
    let mut columns = identity();
    columns.extend(load());
    // Those of hosts came later.
    let (of_hosts, of_load): (Vec<_>, Vec<_>) =
        of_points().partition(|(figure, _)| matches!(figure, Figure::Host(..)));
    columns.extend(of_load.into_iter().map(of_book));
    columns.extend(requests());
    columns.extend(connections());
    for (prefix, of, pick) in OF_FIGURES {
        columns.extend(others(prefix, of, *pick));
    }
    for (prefix, of, pick) in DISTRIBUTIONS {
        columns.extend(distribution(prefix, of, *pick));
    }
    columns.extend(cost());
    columns.extend(judgement());
    columns.extend(events());
    columns.extend(traffic());
    columns.push(not_known());
    columns.extend(devices());
    let is_later = |class: &ErrorClass| !FIRST_CLASSES.contains(class);
    columns.extend(ErrorClass::ALL.into_iter().filter(is_later).map(errors_of));
    columns.extend(of_hosts.into_iter().map(of_book));
    columns
}

/// A figure of the book, named by its key.
fn of_book((figure, entry): (Figure, Entry)) -> Column {
    let of = figure.statistic().map_or(String::new(), |of| format!("{}, ", of.name()));
    let meaning = format!("{of}{}: {}", figure.unit().word(), entry.meaning);
    of_point(figure.to_string(), meaning, move |p| measured(p, figure))
}

/// The classes of errors that had columns before others came.
const FIRST_CLASSES: [ErrorClass; 8] = [
    ErrorClass::Connect,
    ErrorClass::Timeout,
    ErrorClass::Reset,
    ErrorClass::Closed,
    ErrorClass::Parse,
    ErrorClass::Tls,
    ErrorClass::Ports,
    ErrorClass::Fds,
];

fn errors_of(class: ErrorClass) -> Column {
    let meaning = format!("errors of class {}", class.name());
    of_point(format!("errors_{}", class.name()), meaning, move |p| {
        p.errors.get(class.name()).copied()
    })
}

/// Quotes a cell where RFC 4180 requires it.
fn quoted(cell: &str) -> String {
    if cell.contains(['"', ',', '\n', '\r']) {
        format!("\"{}\"", cell.replace('"', "\"\""))
    } else {
        cell.to_string()
    }
}

/// A figure that is not finite counts as missing.
fn finite(value: f64) -> Option<f64> {
    value.is_finite().then_some(value)
}

fn identity() -> Vec<Column> {
    vec![
        column("run", "id of the run", |run, _, _| run.record.id.clone()),
        column("started_at", "start of the run, RFC 3339", |run, _, _| {
            run.record.started_at.clone()
        }),
        column("url", "what was tested, as typed", |run, _, _| run.record.target.url.clone()),
        column("point", "number of the point in the run, from 1", |_, index, _| {
            (index + 1).to_string()
        }),
        of_point("attempt", "1 for the first visit of the level, more for repeats", |p| {
            Some(p.attempt)
        }),
    ]
}

fn load() -> Vec<Column> {
    vec![
        of_point("model", "closed or open", |p| Some(p.load.model.name())),
        of_point("connections", "connections of the level", |p| Some(p.load.connections)),
        of_point("depth", "requests in flight per connection", |p| Some(p.load.depth)),
        of_point("asked_rate", "requests asked for per second; open loop only", |p| p.load.rate),
        of_point("duration_s", "length of the measured window, seconds", |p| {
            finite(p.load.duration_s)
        }),
        of_point("driver", "how the generator moved bytes", |p| Some(p.load.driver.clone())),
        of_point("threads", "worker threads of the generator", |p| Some(p.load.threads)),
        of_point("offered_rate", "planned requests per second; open loop only", |p| {
            p.offered_rate.and_then(finite)
        }),
        of_point("in_flight_mean", "requests in flight, mean over the window", |p| {
            p.in_flight.mean.and_then(finite)
        }),
        of_point("in_flight_limit", "connections times depth", |p| Some(p.in_flight.limit)),
    ]
}

fn requests() -> Vec<Column> {
    let mut columns = vec![
        of_point("planned", "requests due in the window; open loop only", |p| p.requests.planned),
        of_point("sent", "requests handed to the kernel", |p| Some(p.requests.sent)),
        of_point("completed", "requests answered completely with 2xx or 3xx", |p| {
            Some(p.requests.completed)
        }),
        of_point("failed", "requests answered otherwise, or failed", |p| Some(p.requests.failed)),
        of_point("unsent", "requests due and never sent; open loop only", |p| {
            p.requests.planned.map(|_| p.requests.unsent)
        }),
        of_point("unanswered", "requests without a response when the drain ended", |p| {
            Some(p.requests.unanswered)
        }),
        of_point("mismatched", "responses that failed a check of content", |p| Some(p.mismatched)),
    ];
    for class in ["2xx", "3xx", "4xx", "5xx"] {
        let meaning = format!("complete responses of status class {class}");
        columns.push(of_point(format!("status_{class}"), meaning, move |p| {
            p.status.get(class).copied()
        }));
    }
    columns.extend(FIRST_CLASSES.map(errors_of));
    columns.push(of_point("bytes_sent", "bytes of requests", |p| Some(p.bytes.sent)));
    columns
}

fn connections() -> Vec<Column> {
    vec![
        of_point("connections_asked", "connections asked for", |p| Some(p.connections.asked)),
        of_point("connections_opened", "connections opened at least once", |p| {
            Some(p.connections.opened)
        }),
        of_point("connections_served", "connections with a response to a measured request", |p| {
            Some(p.connections.served)
        }),
        of_point("connections_failed", "connections never opened", |p| Some(p.connections.failed)),
        of_point("connections_reopened", "connections opened again after a close", |p| {
            Some(p.connections.reopened)
        }),
        of_point("tls_handshakes", "TLS handshakes that succeeded", |p| {
            p.connections.handshakes.handshakes
        }),
        of_point("tls_resumed", "TLS handshakes that resumed a session", |p| {
            p.connections.handshakes.resumed
        }),
        of_point("requests_each_min", "responses of the least served connection", |p| {
            p.connections.requests_each.min
        }),
        of_point("requests_each_p50", "responses of the median connection", |p| {
            p.connections.requests_each.p50
        }),
        of_point("requests_each_max", "responses of the most served connection", |p| {
            p.connections.requests_each.max
        }),
    ]
}

type PickSummary = fn(&Point) -> Option<&Summary>;

/// Distributions whose statistics are figures: these are the rest of them.
const OF_FIGURES: &[(&str, &str, PickSummary)] = &[
    ("latency", "latency: from send, or from the planned instant in open loop", |p| {
        Some(&p.latency_ns)
    }),
    ("service", "time from send to response", |p| Some(&p.service_ns)),
    ("connect", "time to connect, over the whole level", |p| Some(&p.connections.connect_ns)),
];

const DISTRIBUTIONS: &[(&str, &str, PickSummary)] = &[
    ("send_delay", "sent minus planned; open loop only", |p| p.send_delay_ns.as_ref()),
    ("handshake", "time of TLS handshakes", |p| p.connections.handshakes.handshake_ns.as_ref()),
];

type PickFigure = fn(&Summary) -> Option<u64>;

/// What a distribution has besides its statistics.
const OTHERS: [(&str, &str, PickFigure); 4] = [
    ("min_ns", "smallest", |s| s.min),
    ("stdev_ns", "standard deviation", |s| s.stdev),
    ("count", "recorded values", |s| Some(s.count)),
    ("censored", "values known only to be beyond all recorded ones", |s| Some(s.censored)),
];

fn distribution(prefix: &'static str, of: &'static str, pick: PickSummary) -> Vec<Column> {
    let statistic = move |one: Statistic| {
        let (name, meaning) =
            (format!("{prefix}_{}_ns", one.key()), format!("{of}: {}", one.name()));
        of_point(name, meaning, move |p| pick(p)?.at(one))
    };
    Statistic::ALL.into_iter().map(statistic).chain(others(prefix, of, pick)).collect()
}

fn others(
    prefix: &'static str,
    of: &'static str,
    pick: PickSummary,
) -> impl Iterator<Item = Column> {
    OTHERS.into_iter().map(move |(name, meaning, value)| {
        of_point(format!("{prefix}_{name}"), format!("{of}: {meaning}"), move |p| value(pick(p)?))
    })
}

fn cost() -> Vec<Column> {
    vec![
        of_point("answers", "complete responses in the window, good or not", |p| p.cpu.responses),
        of_point("client_usr_us_per_request", "user CPU time of its workers per response", |p| {
            p.cpu.client_usr_us_per_request.and_then(finite)
        }),
        of_point("client_cpus", "the same as cores.client", |p| {
            measured(p, Figure::Host(OfHost::Cores, Whose::Client))
        }),
        of_point("server_cpus", "the same as cores.server", |p| {
            measured(p, Figure::Host(OfHost::Cores, Whose::Server))
        }),
        of_point("turn_mean_ns", "mean turn of the generator's loop", |p| {
            p.client_loop.turn_mean_ns.and_then(finite)
        }),
        of_point(
            "turn_max_ns",
            "longest turn: the most a time stamp can be late while the thread runs",
            |p| Some(p.client_loop.turn_max_ns),
        ),
    ]
}

fn events() -> Vec<Column> {
    type Pick = fn(&EventInfo) -> Option<u64>;
    let of_events = |name: &str, meaning: &str, pick: Pick| {
        of_point(name, meaning, move |p| p.events().and_then(pick))
    };
    let counts: [(&str, &str, Pick); 9] = [
        ("events_received", "events received in the window", |e| Some(e.received)),
        ("events_meant", "events expected, by their numbers", |e| e.delivery.map(|d| d.meant)),
        ("events_missing", "expected events that did not arrive", |e| {
            e.delivery.map(|d| d.missing)
        }),
        ("events_late", "expected events that arrived in the drain", |e| {
            e.delivery.map(|d| d.late)
        }),
        ("events_early", "events that arrived before their creation", |e| Some(e.early)),
        ("subscribers_accepted", "streams accepted", |e| Some(e.subscribers.accepted)),
        ("subscribers_lost", "streams that ended in the window", |e| Some(e.subscribers.lost)),
        ("subscribers_failed", "subscribers that never connected", |e| Some(e.subscribers.failed)),
        ("subscribers_refused", "subscriptions refused", |e| Some(e.subscribers.refused)),
    ];
    let of = "staleness: from the creation of an event to its arrival";
    let staleness: PickSummary = |p| p.events()?.staleness_ns.as_ref();
    let counts = counts.map(|(name, meaning, pick)| of_events(name, meaning, pick));
    counts.into_iter().chain(others("staleness", of, staleness)).collect()
}

fn traffic() -> Vec<Column> {
    let per_second = |bytes: u64, p: &Point| finite(bytes as f64 / p.load.duration_s);
    let codes = "complete responses by status code: 200:96 500:4";
    vec![
        of_point("status_codes", codes, |p| {
            let code = |(code, count): (&String, &u64)| format!("{code}:{count}");
            Some(p.status_codes.iter().map(code).collect::<Vec<_>>().join(" "))
        }),
        of_point("bytes_sent_rate", "bytes_sent per second of the window", move |p| {
            per_second(p.bytes.sent, p)
        }),
        of_point("bytes_received_rate", "bytes per second of the window", move |p| {
            per_second(p.bytes.received, p)
        }),
    ]
}

/// A gate empties no cell: this names the figures that it leaves nothing of.
fn not_known() -> Column {
    let meaning = "figures of which nothing is known, separated by spaces; do not use their cells";
    of_point("not_known", meaning, |p| {
        let unknown = p.standing.struck().filter(|(_, standing)| standing.is_not_known());
        Some(unknown.map(|(figure, _)| figure.to_string()).collect::<Vec<_>>().join(" "))
    })
}

fn devices() -> Vec<Column> {
    type PickCount = fn(&TurnoverInfo) -> Option<u64>;
    let counts: [(&str, &str, PickCount); 6] = [
        ("devices_established", "attempts to connect that succeeded in the window", |t| {
            Some(t.established)
        }),
        ("devices_failed", "attempts to connect that failed in the window", |t| Some(t.failed)),
        ("devices_closed_by_us", "connections that the generator closed first", |t| {
            Some(t.closed_by_us)
        }),
        ("devices_closed_by_peer", "connections that the server closed first", |t| {
            Some(t.closed_by_peer)
        }),
        ("devices_due", "connections due in the window; open loop only", |t| {
            t.starts.as_ref().map(StartInfo::due)
        }),
        ("devices_missed", "connections due and never open; open loop only", |t| {
            t.starts.as_ref().map(StartInfo::missed)
        }),
    ];
    let counts = counts
        .map(|(name, meaning, pick)| of_point(name, meaning, move |p| p.turnover().and_then(pick)));
    let asked = of_point("devices_asked_rate", "such connections asked for per second", |p| {
        p.turnover()?.planned_rate.and_then(finite)
    });
    let mut columns: Vec<Column> = std::iter::once(asked).chain(counts).collect();
    let of = "time to connect of devices, attempts of the window";
    columns.extend(distribution("devices_connect", of, |p| Some(&p.turnover()?.connect_ns)));
    let of = "time to connect from the planned instant; open loop only";
    let planned: PickSummary = |p| Some(&p.turnover()?.starts.as_ref()?.connect_ns);
    columns.extend(distribution("devices_planned_connect", of, planned));
    let of = "the least of it that a punctual generator would have seen; open loop only";
    let punctual: PickSummary = |p| Some(&p.turnover()?.starts.as_ref()?.connect_punctual_ns);
    columns.extend(distribution("devices_punctual_connect", of, punctual));
    columns
}

fn judgement() -> Vec<Column> {
    vec![
        of_point("valid", "yes unless the rate is not known or is that of the generator", |p| {
            Some(if p.claim().is_known() { "yes" } else { "no" })
        }),
        of_point("bounded", "figures that only have bounds, separated by spaces", |p| {
            let bounded = p.standing.struck().filter(|(_, standing)| !standing.is_not_known());
            Some(bounded.map(|(figure, _)| figure.to_string()).collect::<Vec<_>>().join(" "))
        }),
        column("partial", "yes when the window was cut short", |run, _, point| {
            (if is_partial(run, point) { "yes" } else { "no" }).to_string()
        }),
        of_point("gates_failed", "names of failed gates, separated by spaces", |p| {
            Some(failed_gates(p).map(|gate| gate.id.name()).collect::<Vec<_>>().join(" "))
        }),
        of_point("gates_unchecked", "names of gates that could not be checked", |p| {
            Some(unchecked_gates(p).map(|gate| gate.id.name()).collect::<Vec<_>>().join(" "))
        }),
        of_point("wall", "id of the wall, none or unknown", |p| Some(p.verdict.wall.word())),
        of_point("wall_name", "name of the wall", |p| Some(p.verdict.name.clone())),
        of_point("side", "side of the wall", |p| Some(p.verdict.side.word())),
        of_point("confidence", "confidence in the wall", |p| Some(p.verdict.confidence.word())),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures;
    use std::collections::BTreeSet;

    /// A strict reader of RFC 4180.
    fn parsed(text: &str) -> Vec<Vec<String>> {
        let (mut rows, mut row, mut cell) = (Vec::new(), Vec::new(), String::new());
        let mut characters = text.chars().peekable();
        let mut is_quoted = false;
        while let Some(character) = characters.next() {
            match (is_quoted, character) {
                (true, '"') if characters.peek() == Some(&'"') => {
                    cell.push('"');
                    characters.next();
                }
                (true, '"') => is_quoted = false,
                (false, '"') => is_quoted = true,
                (false, ',') => row.push(std::mem::take(&mut cell)),
                (false, '\n') => {
                    row.push(std::mem::take(&mut cell));
                    rows.push(std::mem::take(&mut row));
                }
                (_, other) => cell.push(other),
            }
        }
        assert!(cell.is_empty() && row.is_empty() && !is_quoted, "the last line is ended");
        rows
    }

    fn cell<'a>(rows: &'a [Vec<String>], row: usize, name: &str) -> &'a str {
        let index = rows[0].iter().position(|column| column == name).expect(name);
        &rows[row][index]
    }

    #[test]
    fn every_row_has_every_column() {
        for (name, run) in fixtures::all() {
            let rows = parsed(&csv(&run));
            assert_eq!(rows.len(), run.record.points.len() + 1, "{name}");
            assert!(rows.iter().all(|row| row.len() == rows[0].len()), "{name}");
            let names: BTreeSet<_> = rows[0].iter().collect();
            assert_eq!(names.len(), rows[0].len(), "no name twice");
        }
    }

    #[test]
    fn hostile_strings_come_back_the_same() {
        let run = fixtures::hostile();
        let rows = parsed(&csv(&run));
        assert_eq!(cell(&rows, 1, "url"), run.record.target.url);
        assert!(run.record.target.url.contains([',', '"', '\n']), "the fixture is hostile");
    }

    #[test]
    fn devices_have_their_own_rate() {
        let run = fixtures::churn_turnover();
        let rows = parsed(&csv(&run));
        let turnover = run.record.points[0].turnover().unwrap();
        assert_eq!(cell(&rows, 1, "rate"), turnover.rate.to_string());
        assert_eq!(cell(&rows, 1, "devices_established"), turnover.established.to_string());
        let p99 = turnover.connect_ns.p99.unwrap().to_string();
        assert_eq!(cell(&rows, 1, "devices_connect_p99_ns"), p99);
        assert_eq!(cell(&parsed(&csv(&fixtures::load_unwatched())), 1, "devices_established"), "");
    }

    #[test]
    fn missing_figures_are_empty() {
        let rows = parsed(&csv(&fixtures::load_unwatched()));
        assert_eq!(cell(&rows, 1, "cpu.server"), "");
        assert_eq!(cell(&rows, 1, "planned"), "");
        assert_ne!(cell(&rows, 1, "cpu.client"), "");
    }

    #[test]
    fn a_figure_that_gates_struck_is_named_beside_its_cell() {
        let mut run = fixtures::load_invalid();
        let why = "nothing is known of a part of the requests".to_string();
        let unknown = model::standing::Standing::NotKnown { why };
        run.record.points[0].standing.add(model::figure::Figure::MEAN, unknown);
        let rows = parsed(&csv(&run));
        assert_eq!(cell(&rows, 1, "not_known"), "rate mean");
        assert_eq!(cell(&rows, 1, "bounded"), "max");
    }

    #[test]
    fn the_header_is_pinned_and_documented() {
        let lines = columns().into_iter().map(|c| format!("{}: {}", c.name, c.meaning));
        insta::assert_snapshot!("columns", lines.collect::<Vec<_>>().join("\n"));
    }

    #[test]
    fn rows_are_pinned() {
        insta::assert_snapshot!("rows", csv(&fixtures::ramp_invalid()));
    }
}
