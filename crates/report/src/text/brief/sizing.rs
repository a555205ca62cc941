//! How many client machines: the number, and its derivation.
//!
//! In: the arithmetic of a run. Out: about 15 lines; with `-v`, each product as well. Never:
//! figures that are not in the document.

use super::super::line::{Ink, TextLine};
use super::super::{banner_lines, facts_lines, painted};
use super::{Row, drawn};
use crate::page::{Banner, Fact, Tone};
use crate::wording::plural;
use model::run::Run;
use model::size::{Estimate, FleetFit, Machines, Sizing};
use model::units::show_count;

/// The number, its parts and its reservations.
pub(super) fn lines(of: &Sizing, run: &Run, columns: usize) -> Vec<TextLine> {
    let mut lines = last(of, columns);
    let rate = run.record.points.get(of.point).map_or(0.0, |point| point.rate);
    let asked =
        format!("ceiling size {}; cost of a request at {}/s", run.record.id, show_count(rate));
    lines.extend(painted(Ink::Faint, &asked, columns));
    lines.push(TextLine::default());
    let mut rows = vec![Row::new("Clients", clients(of)), Row::new("Link", link(of))];
    rows.extend(of.fleet.as_ref().map(|fit| Row::new("Fleet", fleet(fit))));
    rows.extend(server(of).map(|text| Row::new("Server", text)));
    let mut name = "Note";
    for caution in &of.cautions {
        rows.push(Row::inked(std::mem::take(&mut name), Ink::Caution, caution));
    }
    lines.extend(drawn(&rows, columns));
    lines.push(TextLine::default());
    lines
}

/// Each product.
pub(super) fn steps(of: &Sizing, columns: usize) -> Vec<TextLine> {
    let fact = |step: &model::size::Step| Fact::new(&step.what, step.arithmetic.clone());
    let mut lines = facts_lines(&of.steps.iter().map(fact).collect::<Vec<_>>(), columns);
    lines.push(TextLine::default());
    lines
}

/// The number again.
pub(super) fn last(of: &Sizing, columns: usize) -> Vec<TextLine> {
    banner_lines(&verdict(of), columns)
}

fn verdict(of: &Sizing) -> Banner {
    let (wish, machines) = (&of.wish, &of.machines);
    let text = format!(
        "{} of {} for {}/s{}, each {:.0} % used",
        plural(machines.high, "client machine"),
        plural(u64::from(wish.client_cpus), "CPU"),
        show_count(wish.rate),
        interval(machines),
        wish.headroom * 100.0
    );
    let tone = if of.cautions.is_empty() { Tone::Good } else { Tone::Caution };
    Banner { tone, text, lines: Vec::new() }
}

fn interval(machines: &Machines) -> String {
    let Machines { low, high, .. } = machines;
    if low == high { String::new() } else { format!(" ({low} to {high})") }
}

fn clients(of: &Sizing) -> String {
    let machines = &of.machines_for_cpus;
    format!(
        "{}, {}: {}",
        within(&of.client_us_per_request, "us per request"),
        within(&of.client_cpus, " CPUs"),
        plural(machines.high, "machine")
    )
}

fn link(of: &Sizing) -> String {
    let traffic = &of.traffic;
    let bytes = traffic.request_bytes.max(traffic.answer_bytes);
    let bits = show_count(of.wish.rate * bytes * 8.0);
    match (&of.machines_for_link, of.wish.link_bits_per_s) {
        (Some(machines), Some(link)) => {
            let (link, machines) = (show_count(link), plural(machines.high, "machine"));
            format!("{bits}bit/s in the fuller direction, {link}bit/s each: {machines}")
        }
        _ => format!("{bits}bit/s in the fuller direction; the link speed is not known"),
    }
}

fn fleet(fit: &FleetFit) -> String {
    let of = plural(fit.agents.len() as u64, "agent");
    let rate = within(&fit.rate, "/s");
    match fit.missing {
        0 => format!("{of} can send {rate}: enough"),
        missing => format!("{of} can send {rate}: {} more", plural(missing, "machine")),
    }
}

fn server(of: &Sizing) -> Option<String> {
    let (us, cpus) = (of.server_us_per_request?, of.server_cpus?);
    let full = of.server_full_at.map_or(String::new(), |full| {
        let (low, high) = (show_count(full.low), show_count(full.high));
        format!("; the server of the run is full at {}/s ({low} to {high})", show_count(full.value))
    });
    Some(format!("{}, {}{full}", within(&us, "us per request"), within(&cpus, " CPUs")))
}

fn within(estimate: &Estimate, of: &str) -> String {
    let Estimate { value, low, high } = *estimate;
    format!("{}{of} ({} to {})", show_count(value), show_count(low), show_count(high))
}
