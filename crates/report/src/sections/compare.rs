//! Two runs on one page: warnings first, then the differences.

use super::across::{bounds, ratio_of};
use super::flame::{kind_name, short};
use super::{Detail, curves, flame, timeline};
use crate::page::{Banner, Block, Column, Mark, Page, Table, Tone};
use crate::wording::{microseconds, ns, or_dash, per_second, sentence, with_names};
use model::comparison::{Comparison, PointPair, PointSide, ProfileDifference};
use model::profile::{ProfileKind, ProfileRecord};
use model::run::Run;
use model::units::show_count;
use std::collections::BTreeSet;

/// Most functions of a difference that are drawn.
const ROWS: usize = 20;

/// The page of a comparison.
pub fn compare(comparison: &Comparison, (a, b): (&Run, &Run), detail: Detail) -> Page {
    let mut blocks = vec![Block::Banner(banner(comparison))];
    blocks.extend(bounds(&comparison.bounds, ratio_of).map(Block::Table));
    blocks.push(Block::Heading("Points".to_string()));
    blocks.push(Block::Table(points(comparison)));
    blocks.push(Block::Table(costs(comparison)));
    let best = best_of(comparison);
    let is_shown = |pair: &PointPair| detail == Detail::Everything || best == Some(pair);
    let shown = comparison.points.iter().filter(|pair| is_shown(pair));
    blocks.extend(shown.filter_map(others).map(Block::Table));
    if detail == Detail::Everything {
        let both = [("A".to_string(), a), ("B".to_string(), b)];
        blocks.extend(curves::of_runs(&both));
        blocks.extend(timeline::of_runs(&both));
    }
    if !comparison.settings.is_empty() {
        blocks.push(Block::Heading("Settings that differ".to_string()));
        blocks.push(Block::Table(settings(comparison)));
    }
    let drawn = profiles(comparison, a, b);
    if !drawn.is_empty() {
        blocks.push(Block::Heading("Profiles".to_string()));
        blocks.extend(drawn);
    }
    Page {
        title: format!("ceiling compare {} {}", comparison.a, comparison.b),
        subtitle: format!("A: {}; B: {}; every ratio is B over A", command(a), command(b)),
        blocks,
    }
}

fn command(run: &Run) -> String {
    run.record.command.iter().skip(1).map(String::as_str).collect::<Vec<_>>().join(" ")
}

/// The load with the highest rate of those that both have.
fn best_of(comparison: &Comparison) -> Option<&PointPair> {
    comparison.points.iter().max_by(|one, other| {
        let rate = |pair: &PointPair| pair.b.as_ref().and(pair.a.as_ref()).map_or(0.0, |a| a.rate);
        rate(one).total_cmp(&rate(other))
    })
}

fn banner(comparison: &Comparison) -> Banner {
    let said = best_of(comparison).and_then(|pair| Some(faster(pair, pair.ratios.rate?)));
    let untested = "One visit of a load on each side: the difference is not tested. The \u{b1} is \
                    how much a rate varies within its window; it says nothing about another run.";
    if comparison.warnings.is_empty() {
        let text = said.unwrap_or_else(|| "A and B have no load in common.".to_string());
        return Banner { tone: Tone::Neutral, text, lines: vec![untested.to_string()] };
    }
    let mut lines: Vec<String> = comparison.warnings.iter().map(|why| sentence(why)).collect();
    if let Some(said) = said {
        lines.extend([said, untested.to_string()]);
    }
    Banner { tone: Tone::Bad, text: "NOT TO BE COMPARED AS THEY STAND".to_string(), lines }
}

/// The change of the rate at a load: `B is 25.0 % faster than A at 500 connections: 25.0k/s and
/// 20.0k/s (±1.0 %).`
fn faster(pair: &PointPair, ratio: f64) -> String {
    let change = (ratio - 1.0) * 100.0;
    let said = match change {
        change if change.abs() < 0.05 => "as fast as A".to_string(),
        _ if ratio >= 10.0 => format!("{} times as fast as A", show_count(ratio)),
        change if change > 0.0 => format!("{change:.1} % faster than A"),
        change => format!("{:.1} % slower than A", -change),
    };
    let rate = |of: &Option<PointSide>| or_dash(of.as_ref(), |side| per_second(side.rate));
    let spread = pair.ratios.rate_spread;
    let spread = spread.map_or(String::new(), |half| format!(" (\u{b1}{:.1} %)", half * 100.0));
    format!("B is {said} at {}: {} and {}{spread}.", pair.load, rate(&pair.b), rate(&pair.a))
}

fn ratio(ratio: Option<f64>) -> String {
    or_dash(ratio, |ratio| format!("{ratio:.3}"))
}

/// Rates and latencies.
fn points(comparison: &Comparison) -> Table {
    let mut columns = vec![Column::words("load")];
    columns.extend(["A rate/s", "B rate/s", "B/A"].map(Column::numbers));
    columns.push(Column::numbers("\u{b1}").rank(3));
    columns.extend(["A p50", "B p50"].map(|title| Column::numbers(title).rank(4)));
    columns.push(Column::numbers("p50 B/A").rank(1));
    columns.extend(["A p99", "B p99"].map(|title| Column::numbers(title).rank(5)));
    columns.push(Column::numbers("p99 B/A").rank(2));
    let mut table = Table::new(columns);
    for pair in &comparison.points {
        let side = |pick: &dyn Fn(&PointSide) -> String, side: &Option<PointSide>| {
            side.as_ref().map_or("-".to_string(), pick)
        };
        let rate = |of: &Option<PointSide>| side(&|side| show_count(side.rate), of);
        let p50 = |of: &Option<PointSide>| side(&|side| ns(side.p50_ns), of);
        let p99 = |of: &Option<PointSide>| side(&|side| ns(side.p99_ns), of);
        table.push(
            mark(pair),
            vec![
                pair.load.clone(),
                rate(&pair.a),
                rate(&pair.b),
                ratio(pair.ratios.rate),
                ratio(pair.ratios.rate_spread),
                p50(&pair.a),
                p50(&pair.b),
                ratio(pair.ratios.p50),
                p99(&pair.a),
                p99(&pair.b),
                ratio(pair.ratios.p99),
            ],
        );
    }
    let has = |wanted| comparison.points.iter().any(|pair| mark(pair) == wanted);
    if has(Mark::Broken) {
        table.notes.push("! the rate is not known on one side: not a measurement".to_string());
    }
    if has(Mark::Caution) {
        let note = "~ the generator's delay moved a percentile on one side: it has no ratio";
        table.notes.push(note.to_string());
    }
    table
}

/// CPU time and walls.
fn costs(comparison: &Comparison) -> Table {
    let mut columns = vec![Column::words("load")];
    columns.extend(["A client us", "B client us"].map(|title| Column::numbers(title).rank(2)));
    columns.push(Column::numbers("B/A").rank(1));
    columns.extend(["A server us", "B server us", "B/A"].map(Column::numbers));
    columns.extend(["A wall", "B wall"].map(Column::words));
    let mut table = Table::new(columns).caption("CPU time per request, and walls");
    for pair in &comparison.points {
        let us = |of: &Option<PointSide>, pick: fn(&PointSide) -> Option<f64>| {
            microseconds(of.as_ref().and_then(pick))
        };
        let wall = |of: &Option<PointSide>| {
            of.as_ref().map_or("-".to_string(), |side| with_names(&side.wall))
        };
        let client = |side: &PointSide| side.client_us_per_request;
        let server = |side: &PointSide| side.server_us_per_request;
        table.push(
            mark(pair),
            vec![
                pair.load.clone(),
                us(&pair.a, client),
                us(&pair.b, client),
                ratio(pair.ratios.client_us),
                us(&pair.a, server),
                us(&pair.b, server),
                ratio(pair.ratios.server_us),
                wall(&pair.a),
                wall(&pair.b),
            ],
        );
    }
    table
}

/// The other figures of a load that both have: those of hosts among them.
fn others(pair: &PointPair) -> Option<Table> {
    let (a, b) = (&pair.a.as_ref()?.figures, &pair.b.as_ref()?.figures);
    let columns = [Column::words("figure")].into_iter();
    let columns = columns.chain(["A", "B", "B/A"].map(Column::numbers));
    let mut table =
        Table::new(columns.collect()).caption(format!("Other figures, at {}", pair.load)).folded();
    for figure in a.keys().chain(b.keys()).collect::<BTreeSet<_>>() {
        let (of_a, of_b) = (a.get(figure).copied(), b.get(figure).copied());
        let shown = |value| or_dash(value, |value| figure.show(value));
        let over = of_a.zip(of_b).filter(|(of_a, _)| *of_a > 0.0);
        let name = figure.name().to_string();
        let row = vec![name, shown(of_a), shown(of_b), ratio(over.map(|(of_a, of_b)| of_b / of_a))];
        table.push(Mark::None, row);
    }
    (!table.rows.is_empty()).then_some(table)
}

fn mark(pair: &PointPair) -> Mark {
    let of = |side: &PointSide| match (&side.rate_unknown, side.struck.is_empty()) {
        (Some(_), _) => Mark::Broken,
        (None, false) => Mark::Caution,
        (None, true) => Mark::None,
    };
    [&pair.a, &pair.b].into_iter().flatten().map(of).max().unwrap_or_default()
}

fn settings(comparison: &Comparison) -> Table {
    let columns = vec![Column::words("setting"), Column::words("A"), Column::words("B")];
    let mut table = Table::new(columns);
    for one in &comparison.settings {
        let value = |value: &Option<String>| value.clone().unwrap_or("-".to_string());
        table.push(Mark::None, vec![spoken(&one.setting), value(&one.a), value(&one.b)]);
    }
    table
}

/// A path in the record in words, which a narrow column can wrap: `levels 1 life ramp down ns`. The
/// name of a kernel's setting stays as it is.
fn spoken(setting: &str) -> String {
    match setting.split_once("sysctls.") {
        Some((_, name)) => format!("sysctl {name}"),
        None => setting.strip_prefix("trial.").unwrap_or(setting).replace(['.', '_'], " "),
    }
}

fn profiles(comparison: &Comparison, a: &Run, b: &Run) -> Vec<Block> {
    let (Some(of_a), Some(of_b)) = (&a.record.profile, &b.record.profile) else {
        return Vec::new();
    };
    let mut blocks = Vec::new();
    for difference in &comparison.profiles {
        if !difference.functions.is_empty() {
            blocks.push(Block::Table(functions(difference)));
        }
        if !difference.waits.is_empty() {
            blocks.push(Block::Table(waits(difference)));
        }
        let frames = |record: &ProfileRecord| {
            let found = record.kinds.iter().find(|one| one.kind == difference.kind);
            found.map_or(Vec::new(), |one| one.flame.clone())
        };
        let drawn = flame::difference(difference.kind, &frames(of_a), &frames(of_b));
        blocks.extend(drawn.filter(|_| !difference.kind.is_of_waits()).map(Block::Flame));
    }
    blocks
}

fn share(share: Option<f64>) -> String {
    or_dash(share, |share| format!("{:.2}", share * 100.0))
}

fn points_apart(a: Option<f64>, b: Option<f64>) -> String {
    or_dash(a.zip(b), |(a, b)| format!("{:+.2}", (b - a) * 100.0))
}

fn functions(difference: &ProfileDifference) -> Table {
    let is_heap = difference.kind == ProfileKind::Heap;
    let (unit, scale) = if is_heap { ("B", 1.0) } else { ("us", 1e3) };
    let mut columns = vec![Column::words("function")];
    columns.extend(["A %", "B %", "change"].map(Column::numbers));
    columns.extend(
        [format!("A {unit}/request"), format!("B {unit}/request")]
            .map(|title| Column::numbers(&title).rank(1)),
    );
    let mut table =
        Table::new(columns).caption(format!("{}, by change of share", kind_name(difference.kind)));
    for one in difference.functions.iter().take(ROWS) {
        let each = |each: Option<f64>| or_dash(each, |each| format!("{:.2}", each / scale));
        table.push(
            Mark::None,
            vec![
                short(&one.function).to_string(),
                share(one.a_share),
                share(one.b_share),
                points_apart(one.a_share, one.b_share),
                each(one.a_each),
                each(one.b_each),
            ],
        );
    }
    table.notes.push(
        "Own time; change in percentage points. A dash: too small for that run to keep."
            .to_string(),
    );
    table
}

fn waits(difference: &ProfileDifference) -> Table {
    let mut columns = vec![Column::words("waited at"), Column::words("in").rank(1)];
    columns.extend(["A share %", "B share %", "change"].map(Column::numbers));
    let mut table = Table::new(columns)
        .caption(format!("{} of requests, as shares of residence", kind_name(difference.kind)));
    for one in difference.waits.iter().take(ROWS) {
        table.push(
            Mark::None,
            vec![
                short(&one.site).to_string(),
                short(&one.call).to_string(),
                share(one.a_share),
                share(one.b_share),
                points_apart(one.a_share, one.b_share),
            ],
        );
    }
    table.notes.push("A dash: no such wait was recorded.".to_string());
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures;
    use model::comparison::{COMPARISON_SCHEMA, FunctionChange, Ratios, WaitChange};
    use model::figure::{Figure, OfHost, Whose};
    use std::collections::BTreeMap;

    /// The server is busier with a higher rate, nothing was dropped, and the interrupts of one run
    /// were not read.
    fn figures(rate: f64) -> BTreeMap<Figure, f64> {
        let of_server = |of| Figure::Host(of, Whose::Server);
        let read = [(OfHost::Busy, rate / 40_000.0), (OfHost::ListenDrops, 0.0)];
        let interrupts = (rate > 20_000.0).then_some((OfHost::Interrupts, 31_000.0));
        read.into_iter().chain(interrupts).map(|(of, value)| (of_server(of), value)).collect()
    }

    fn comparison(warnings: &[&str]) -> Comparison {
        let side = |rate: f64, gates: &[&str]| PointSide {
            point: 0,
            visits: 1,
            rate,
            rate_interval: None,
            p50_ns: Some(1_000_000),
            p99_ns: None,
            client_us_per_request: Some(8.0),
            server_us_per_request: None,
            figures: figures(rate),
            wall: "S1".to_string(),
            failed_gates: gates.iter().map(|gate| (*gate).to_string()).collect(),
            rate_unknown: gates.first().map(|gate| (*gate).to_string()),
            struck: Vec::new(),
            profiled: true,
        };
        let ratios = Ratios { rate: Some(1.25), rate_spread: Some(0.01), ..Ratios::default() };
        Comparison {
            schema: COMPARISON_SCHEMA.to_string(),
            a: "before".to_string(),
            b: "after".to_string(),
            warnings: warnings.iter().map(|why| (*why).to_string()).collect(),
            settings: Vec::new(),
            points: vec![
                PointPair {
                    load: "500 connections".to_string(),
                    a: Some(side(20_000.0, &[])),
                    b: Some(side(25_000.0, &[])),
                    ratios,
                },
                PointPair {
                    load: "900 connections".to_string(),
                    a: None,
                    b: Some(side(90_000.0, &["errors"])),
                    ratios: Ratios::default(),
                },
            ],
            profiles: vec![ProfileDifference {
                kind: ProfileKind::Cpu,
                functions: vec![FunctionChange {
                    function: "example.org/shop.f".to_string(),
                    a_share: Some(0.3),
                    b_share: None,
                    a_each: Some(9000.0),
                    b_each: None,
                }],
                waits: vec![WaitChange {
                    site: "example.org/shop.g:12".to_string(),
                    call: "sync.(*Mutex).Lock".to_string(),
                    a_share: Some(0.0135),
                    b_share: Some(0.001),
                }],
            }],
            bounds: Vec::new(),
        }
    }

    #[test]
    fn comparisons_read_well() {
        let (a, b) = (fixtures::load_profiled(), fixtures::load_profiled());
        let text = crate::text_compared(&comparison(&[]), &a, &b, crate::Style::PLAIN);
        insta::assert_snapshot!("compared", text);
        let html = crate::html_compared(&comparison(&[]), &a, &b);
        assert!(html.contains("<figure class=\"flame\" id=\"difference-cpu\">"));
        assert!(html.contains("<figure class=\"chart\" id=\"rate-over-time\">"));
    }

    #[test]
    fn a_comparison_reads_as_sentences() {
        let (a, b) = (fixtures::load_profiled(), fixtures::load_profiled());
        let mut of = comparison(&["no load was measured in both"]);
        of.points.clear();
        of.settings = vec![model::across::Difference {
            setting: "trial.levels.1.life.ramp_down_ns".to_string(),
            a: Some("0".to_string()),
            b: Some("1500000".to_string()),
        }];
        let text = crate::text_compared(&of, &a, &b, crate::Style::PLAIN);
        assert_eq!(text.matches("o load was measured in both").count(), 1, "{text}");
        assert!(text.contains("levels 1 life ramp down ns"), "{text}");
        let said = |ratio: f64| {
            let mut of = comparison(&[]);
            of.points[0].ratios.rate = Some(ratio);
            banner(&of).text
        };
        assert!(said(0.25).starts_with("B is 75.0 % slower than A at 500"), "{}", said(0.25));
        assert!(said(1.0001).starts_with("B is as fast as A at 500"), "{}", said(1.0001));
    }

    #[test]
    fn what_stands_against_it_is_said_first() {
        let (a, b) = (fixtures::load_profiled(), fixtures::load_profiled());
        let warned = comparison(&["the generator ran on another host"]);
        let page = compare(&warned, (&a, &b), Detail::Summary);
        let Block::Banner(banner) = &page.blocks[0] else { panic!("it comes first") };
        assert_eq!(banner.text, "NOT TO BE COMPARED AS THEY STAND");
        assert_eq!(banner.lines[0], "The generator ran on another host.");
        assert!(banner.lines[1].starts_with("B is 25.0 % faster than A at 500 connections"));
    }
}
