//! Both hosts side by side: the readings of the probes, chart by chart, on one time axis.
//!
//! The table in `charts.rs` lists the charts in reading order: what each reads, on which hosts, and
//! what it draws. A host without readings for a chart has no such chart; a line says whether it was
//! always zero, not read, or failed.

mod charts;
mod lines;
mod side;

mod cpus;
mod doing;
mod interrupts;
mod links;
mod processes;
mod softirq;
mod states;
mod threads;
mod throttling;

use super::network::link_phrase;
use crate::hosts::near;
use crate::page::{Block, Fact, List};
use crate::wording::best_point;
use charts::REGISTRY;
use lines::{LineChart, around, grown, was};
use model::facts::HostFacts;
use model::run::Run;
use model::units::show_ns;
use model::verdict::Evidence;
use side::{Drawn, Side, sides};

/// On which hosts a chart may exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Of {
    /// On any host.
    Host,
    /// In any network namespace.
    Network,
    /// On the generator's host.
    Client,
    /// On the server's host.
    Server,
    /// In the server's network namespace.
    ServerNetwork,
}

/// A chart in the registry.
#[derive(Clone, Copy)]
struct HostChart {
    /// Stable name; with the name of a host it forms the anchor.
    id: &'static str,
    /// What it shows.
    title: &'static str,
    /// Consecutive charts with the same value share a row.
    row: &'static str,
    /// Sources that it draws.
    reads: &'static [&'static str],
    /// On which hosts.
    of: Of,
    /// Why a host may lack it; empty where every host has it.
    why: &'static str,
    draw: Draw,
}

/// How a chart is drawn for one host.
#[derive(Clone, Copy)]
enum Draw {
    /// As lines.
    Lines(LineChart),
    /// In a form of its own.
    By(fn(&Side<'_>, &HostChart) -> Drawn),
}

/// A chart of any host that draws nothing yet.
const fn chart(id: &'static str, title: &'static str, reads: &'static [&'static str]) -> HostChart {
    let draw = Draw::By(|_, _| Drawn::Absent);
    HostChart { id, title, row: id, reads, of: Of::Host, why: "", draw }
}

impl HostChart {
    const fn of(self, of: Of) -> Self {
        Self { of, ..self }
    }

    const fn row(self, row: &'static str) -> Self {
        Self { row, ..self }
    }

    const fn without(self, why: &'static str) -> Self {
        Self { why, ..self }
    }

    const fn by(self, draw: fn(&Side<'_>, &HostChart) -> Drawn) -> Self {
        Self { draw: Draw::By(draw), ..self }
    }

    const fn lines(self, lines: LineChart) -> Self {
        Self { draw: Draw::Lines(lines), ..self }
    }
}

/// Charts in other sections, by the figure of a point that they draw.
const OF_POINTS: &[(&str, &[&str])] = &[
    ("rate", &["rate-by-level", "rate-over-time"]),
    ("latency_ns", &["latency-by-level", "latency-over-time"]),
    ("per_100ms", &["rate-over-time"]),
    ("status", &["statuses-over-time"]),
];

/// Anchors of the charts that show a piece of evidence, best first.
pub(super) fn anchors(run: &Run, evidence: &Evidence) -> Vec<String> {
    use side::{CLIENT, INSIDE, SERVER, SHARED};
    let has_probe = run.record.target.probe.is_some();
    let ids: &[&str] = match evidence.host.as_str() {
        "client" => &[CLIENT, SHARED],
        "server" if has_probe => &[INSIDE, SERVER],
        "server" => &[INSIDE, SHARED, CLIENT],
        _ => &[SHARED, INSIDE, SERVER, CLIENT],
    };
    let mut anchors = Vec::new();
    for name in &evidence.read {
        for chart in REGISTRY.iter().filter(|chart| chart.reads.contains(&name.as_str())) {
            anchors.extend(ids.iter().map(|id| format!("{}-{id}", chart.id)));
        }
        let of_point = OF_POINTS.iter().filter(|(figure, _)| figure == name);
        anchors.extend(of_point.flat_map(|(_, ids)| *ids).map(|id| (*id).to_string()));
    }
    anchors
}

/// Everything that the probes read on the hosts. Nothing for a record without readings.
pub fn section(run: &Run) -> Vec<Block> {
    if run.readings.is_empty() && run.server_readings.is_empty() {
        return Vec::new();
    }
    let sides = sides(run);
    let of_registry = |side: &Side<'_>| REGISTRY.iter().map(|chart| drawn(side, chart)).collect();
    let mut drawn: Vec<Vec<Option<Drawn>>> = sides.iter().map(of_registry).collect();
    let items: Vec<String> =
        sides.iter().zip(&drawn).flat_map(|(side, drawn)| remarks(side, drawn)).collect();
    let mut blocks = vec![Block::Facts(heads(run, &sides))];
    let hosts = sides.iter().filter(|side| side.has(Of::Host)).count();
    // Charts of only one of two hosts: they would leave half of a row empty.
    let mut alone = Vec::new();
    let mut begin = 0;
    for charts in REGISTRY.chunk_by(|left, right| left.row == right.row) {
        let row = begin..begin + charts.len();
        begin = row.end;
        let of_side = |(side, drawn): (&Side<'_>, &mut Vec<Option<Drawn>>)| {
            column(side, charts, &mut drawn[row.clone()])
        };
        let mut columns: Vec<Vec<Block>> = sides.iter().zip(&mut drawn).map(of_side).collect();
        let is_drawn = |blocks: &Vec<Block>| !matches!(blocks[..], [] | [Block::Text(_)]);
        if !columns.iter().any(is_drawn) {
            continue;
        }
        columns.retain(|blocks| !blocks.is_empty());
        match columns.len() {
            1 if hosts == 1 => blocks.append(&mut columns[0]),
            1 => alone.append(&mut columns[0]),
            _ => blocks.push(Block::Columns(columns)),
        }
    }
    blocks.extend(alone);
    if !items.is_empty() {
        let lead = "Not drawn:".to_string();
        blocks.push(Block::List(List { lead, items }));
    }
    blocks
}

/// Nothing where the side cannot have this chart.
fn drawn(side: &Side<'_>, chart: &HostChart) -> Option<Drawn> {
    side.has(chart.of).then(|| side.draw(chart))
}

/// The charts of one host in a row, or why there are none. Nothing where there cannot be any.
fn column(side: &Side<'_>, charts: &[HostChart], drawn: &mut [Option<Drawn>]) -> Vec<Block> {
    let (mut blocks, mut why) = (Vec::new(), Vec::new());
    for (chart, drawn) in charts.iter().zip(drawn) {
        match drawn {
            None => {}
            Some(Drawn::Blocks(drawn)) => blocks.append(drawn),
            Some(Drawn::Zero) => why.push(format!("{}: always zero.", side.title(chart))),
            Some(Drawn::Absent) => why.push(format!("{}: not read.", side.title(chart))),
        }
    }
    if blocks.is_empty() && !why.is_empty() {
        blocks.push(Block::Text(why.join(" ")));
    }
    blocks
}

/// The hosts of the run.
fn heads(run: &Run, sides: &[Side<'_>]) -> Vec<Fact> {
    let mut heads: Vec<Fact> =
        sides.iter().map(|side| Fact::new(side.name(), described(run, side))).collect();
    let target = &run.record.target;
    if target.probe.is_none() && target.server.is_none() {
        heads.push(Fact::new(
            "Server's host",
            "not read: the server was not found here, and no probe ran on its host (--probe)",
        ));
    }
    let clock = target.probe.as_ref().map(|probe| &probe.clock);
    let clock = clock.map_or(String::new(), |clock| {
        let ahead = if clock.offset_ns < 0 { "behind" } else { "ahead" };
        format!(
            " by the clock of {}; the clock of the server's host is {} {ahead}, known to within {}",
            near(run),
            show_ns(clock.offset_ns.unsigned_abs() as f64),
            show_ns(clock.error_ns as f64)
        )
    });
    let links = best_point(run).and_then(|(_, point)| link_phrase(run, point));
    heads.extend(links.map(|links| Fact::new("Links", links)));
    let end_s = sides.first().map_or(0.0, Side::end_s);
    heads.push(Fact::new("Time axis", format!("0 to {end_s:.0} s of the run{clock}")));
    heads
}

fn described(run: &Run, side: &Side<'_>) -> String {
    let Some(network) = side.network() else { return host(side.facts) };
    let server = run.record.target.probe.as_ref().and_then(|probe| probe.server.as_ref());
    let server = server.or(run.record.target.server.as_ref());
    let container = server.and_then(|server| server.container.as_ref());
    let of = container.map_or(String::new(), |one| format!(" of container {}", one.label()));
    let at = network.addresses.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    format!("{}{of}, {}", network.namespace, if at.is_empty() { "no address" } else { &at })
}

fn host(facts: &HostFacts) -> String {
    let cpus = facts.cpus_online.len();
    let model = facts.cpu_model.as_ref().map(|model| format!(" of {model}")).unwrap_or_default();
    format!("{}, {cpus} CPUs{model}, Linux {}", facts.hostname, facts.kernel)
}

/// The title of an absent chart, with the usual reason.
fn without(chart: &HostChart) -> String {
    match chart.why {
        "" => chart.title.to_string(),
        why => format!("{} ({why})", chart.title),
    }
}

/// Failures that are listed for each host.
const FAILURES_MAX: usize = 6;

/// Which charts were always zero or not read, and which sources failed, on one host.
fn remarks(side: &Side<'_>, drawn: &[Option<Drawn>]) -> Vec<String> {
    let list = |is_meant: fn(&Drawn) -> bool, told: fn(&HostChart) -> String| {
        let all = REGISTRY.iter().zip(drawn);
        let is_meant = all.filter(|(_, drawn)| drawn.as_ref().is_some_and(is_meant));
        is_meant.map(|(chart, _)| told(chart)).collect::<Vec<_>>().join(", ")
    };
    let zero = list(|drawn| matches!(drawn, Drawn::Zero), |chart| chart.title.to_string());
    let absent = list(|drawn| matches!(drawn, Drawn::Absent), without);
    let mut items = Vec::new();
    if !zero.is_empty() {
        items.push(format!("Always zero for {}: {zero}.", side.whose));
    }
    if !absent.is_empty() {
        items.push(format!("Not read for {}: {absent}.", side.whose));
    }
    let failed = side.failures();
    for (source, why) in failed.iter().take(FAILURES_MAX) {
        items.push(format!("Failed for {}: {source}: {why}.", side.whose));
    }
    if failed.len() > FAILURES_MAX {
        items.push(format!("{} more failed.", failed.len() - FAILURES_MAX));
    }
    items
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures;
    use crate::page::Page;
    use model::facts::{ServerNetwork, Unreadable};
    use model::reading::{Data, Reading};
    use std::collections::BTreeSet;

    fn page(run: &Run) -> Page {
        Page { title: String::new(), subtitle: String::new(), blocks: section(run) }
    }

    fn titles(page: &Page) -> Vec<&str> {
        fn title(block: &Block) -> Option<&str> {
            match block {
                Block::Chart(chart) => Some(&chart.title),
                Block::Grid(grid) => Some(&grid.title),
                _ => None,
            }
        }
        page.flat().into_iter().filter_map(title).collect()
    }

    fn remarks(page: &Page) -> &[String] {
        match page.blocks.last() {
            Some(Block::List(list)) => &list.items,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn names_and_anchors_of_charts_are_unique() {
        let ids: BTreeSet<&str> = REGISTRY.iter().map(|chart| chart.id).collect();
        let titles: BTreeSet<&str> = REGISTRY.iter().map(|chart| chart.title).collect();
        assert_eq!((ids.len(), titles.len()), (REGISTRY.len(), REGISTRY.len()));
    }

    #[test]
    fn each_chart_names_its_host_and_both_have_one_time_axis() {
        let page = page(&fixtures::ramp_two_hosts());
        let rows = page.blocks.iter().filter(|block| matches!(block, Block::Columns(_)));
        assert!(rows.count() >= 6);
        for title in titles(&page) {
            let hosts = ["the client's host", "the server's host"];
            assert!(hosts.iter().any(|host| title.ends_with(host)), "{title}");
        }
        let charts = page.charts();
        assert!(charts.windows(2).all(|two| two[0].views[0].x == two[1].views[0].x));
        let tcp = |id| charts.iter().any(|chart| chart.id == id);
        assert!(tcp("tcp-client") && tcp("tcp-server"), "each its own namespace");
    }

    /// Its agents are the clients, and no probe reads their hosts.
    #[test]
    fn the_host_of_a_fleet_is_the_controllers() {
        for mut run in [fixtures::ramp_two_hosts(), fixtures::ramp_quota()] {
            let words = |run: &Run| format!("{:?}", page(run)).to_lowercase();
            let is_shared = run.record.target.probe.is_none();
            assert!(words(&run).contains("client"), "it is read");
            run.record.fleet = fixtures::load_fleet().record.fleet;
            let words = words(&run);
            for wrong in ["client's host", "host of client"] {
                assert!(!words.contains(wrong), "{wrong}: {words}");
            }
            let whose = near(&run);
            assert!(titles(&page(&run)).iter().any(|title| title.ends_with(whose)), "{words}");
            assert_eq!(whose.ends_with("controller and server"), is_shared, "{whose}");
        }
    }

    #[test]
    fn a_shared_host_has_one_column() {
        let page = page(&fixtures::ramp_quota());
        assert!(!page.blocks.iter().any(|block| matches!(block, Block::Columns(_))));
        for title in titles(&page) {
            assert!(title.ends_with("the host of client and server"), "{title}");
        }
        assert!(page.anchors().contains("server-threads-host"));
        assert!(page.anchors().contains("client-threads-host"));
    }

    /// One host whose server has its own network namespace, with other counters in it.
    fn contained() -> Run {
        let mut run = fixtures::ramp_quota();
        let host = run.record.host.clone();
        let server = run.record.target.server.as_mut().unwrap();
        server.network = Some(Box::new(ServerNetwork {
            namespace: "net:[4026532281]".to_string(),
            port: None,
            addresses: Vec::new(),
            host,
        }));
        let is_inside = |data: &Data| matches!(data.source(), "tcp" | "interfaces");
        let inside: Vec<Reading> = run.readings.clone();
        for mut reading in inside.into_iter().filter(|reading| is_inside(&reading.data)) {
            reading.data = Data::Inside(Box::new(reading.data));
            run.readings.push(reading);
        }
        run.readings.sort_by_key(|reading| reading.begin_ns);
        run
    }

    #[test]
    fn a_network_namespace_of_the_server_is_beside_its_host() {
        let page = page(&contained());
        let anchors = page.anchors();
        for there in ["cpus-host", "server-threads-host", "tcp-host", "tcp-inside", "links-inside"]
        {
            assert!(anchors.contains(there), "{there}: {anchors:?}");
        }
        assert!(!anchors.contains("cpus-inside"), "CPUs are of the host");
        let rows = page.blocks.iter().filter(|block| matches!(block, Block::Columns(_)));
        assert_eq!(rows.count(), 3, "interfaces, packets and TCP");
        let absent = remarks(&page).iter().find(|one| one.starts_with("Not read for the server's"));
        assert!(absent.unwrap().contains("Accept queues"), "{absent:?}");
        let evidence = Evidence {
            host: "server".to_string(),
            read: vec!["tcp".to_string()],
            ..contained().record.verdict.evidence[0].clone()
        };
        assert_eq!(super::anchors(&contained(), &evidence)[0], "tcp-inside");
    }

    #[test]
    fn zero_absent_and_failed_are_told_apart() {
        let mut run = fixtures::ramp_two_hosts();
        let idle = |begin_ns| Reading {
            begin_ns,
            end_ns: begin_ns,
            data: Data::values("pressure", [("cpu.some".to_string(), 7_u64)]),
        };
        let begin_ns = run.readings[0].begin_ns;
        run.readings.splice(0..0, [idle(begin_ns), idle(begin_ns + 1_000_000_000)]);
        let why = Unreadable { source: "/proc/x".to_string(), why: "denied".to_string() };
        run.server_readings[0].data = Data::Unreadable(why);
        let page = page(&run);
        let told = |what: &str| remarks(&page).iter().any(|one| one.contains(what));
        assert!(told("Always zero for the client's host: Pressure (PSI)"), "{page:?}");
        assert!(told("Failed for the server's host: /proc/x: denied."));
        let absent = remarks(&page).iter().find(|one| one.starts_with("Not read for the server's"));
        assert!(absent.unwrap().contains("Pressure (PSI)"), "{absent:?}");
        assert!(!titles(&page).iter().any(|title| title.starts_with("Pressure")));
    }

    #[test]
    fn evidence_goes_to_the_chart_that_it_is_from() {
        for (run, anchor) in [
            (fixtures::ramp_quota(), "throttling-host"),
            (fixtures::ramp_two_hosts(), "throttling-server"),
        ] {
            let page = page(&run);
            let anchors = page.anchors();
            for evidence in &run.record.verdict.evidence {
                let found = super::anchors(&run, evidence);
                let first = found.iter().find(|one| anchors.contains(one.as_str()));
                assert!(first.is_some(), "{evidence:?}: {found:?}");
            }
            let html = crate::html::html(&run);
            assert!(html.contains(&format!("<a href=\"#{anchor}\">")), "{anchor}");
        }
    }

    #[test]
    fn a_record_without_readings_has_no_section() {
        let mut run = fixtures::ramp_two_hosts();
        (run.readings, run.server_readings) = (Vec::new(), Vec::new());
        assert!(section(&run).is_empty());
        assert!(!crate::html::html(&run).contains("href=\"#throttling"), "no link into nothing");
    }
}
