//! Draws a page for a terminal, at most 80 columns wide.
//!
//! Executive summary: a page becomes lines of painted spans; the paint becomes ANSI escapes or
//! nothing. Long words are wrapped, long cells shortened with an ellipsis, and a table that is
//! still too wide loses its least important columns and says so.

mod brief;
mod dots;
mod grid;
mod line;
pub(crate) mod spark;
mod table;

use crate::page::{Banner, Block, Fact, List, ListKind, Page, Tone};
use crate::sections::{
    Detail, across, advice, audit, beside, calibration, checkup, compare, experiment_briefly,
    hosts_page, inventory, page_of,
};
use crate::wrap::{fit, width, wrap, wrap_at_most};
use jiff::Timestamp;
use line::{Ink, TextLine};
use model::across::Across;
use model::advice::{Advice, Calibration};
use model::audit::Audit;
use model::checkup::Checkup;
use model::comparison::Comparison;
use model::experiment::Experiment;
use model::inventory::Inventory;
use model::run::Run;
use model::size::Sizing;

/// Columns of a drawing.
pub const WIDTH: usize = 80;

/// Left margin below a heading; the marks of rows are drawn in it.
const MARGIN: usize = 2;

/// Most lines of one value, such as a long command line; the rest is cut.
const LINES_MAX: usize = 6;

/// Whether colours may be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// Characters only.
    Plain,
    /// With ANSI escapes.
    Colour,
}

/// A run as text: the result in less than a screen, the requested details, and the verdict again.
pub fn text(run: &Run, detail: Detail, style: Style) -> String {
    let mut lines = brief::lines(run);
    if detail > Detail::Summary {
        let page = page_of(run, detail);
        if detail > Detail::Latency {
            let subtitle = format!("{}{}", " ".repeat(MARGIN), page.subtitle);
            lines.push(TextLine::painted(Ink::Faint, fit(&subtitle, WIDTH)));
        }
        lines.extend(blocks_lines(&page.blocks));
        lines.push(TextLine::default());
    }
    lines.extend(brief::last(run));
    written(&lines, style)
}

/// The readings of both hosts, as text.
pub fn text_hosts(run: &Run, style: Style) -> String {
    draw(&hosts_page(run), style)
}

/// Several runs as text: a line for each, and with more detail the verdict of each.
pub fn text_beside(runs: &[Run], detail: Detail, style: Style) -> String {
    let (mut lines, last) = brief::beside_lines(runs);
    if detail > Detail::Latency {
        lines.extend(blocks_lines(&beside(runs, Detail::Summary).blocks));
        lines.push(TextLine::default());
    }
    lines.extend(last);
    written(&lines, style)
}

/// How many client machines a rate needs, as text; with more detail, each product.
pub fn text_sizing(of: &Sizing, run: &Run, detail: Detail, style: Style) -> String {
    let [mut lines, steps, last] = brief::sizing_lines(of, run);
    lines.extend(steps.into_iter().filter(|_| detail > Detail::Latency));
    lines.extend(last);
    written(&lines, style)
}

/// An experiment as text: its table, or the conclusion with its basis.
pub fn text_experiment(of: &Experiment, runs: &[Option<Run>], style: Style) -> String {
    verdict_first(&experiment_briefly(of, runs), style)
}

/// Two runs compared, as text.
pub fn text_compared(comparison: &Comparison, a: &Run, b: &Run, style: Style) -> String {
    verdict_first(&compare(comparison, (a, b), Detail::Summary), style)
}

/// Two experiments compared, as text.
pub fn text_across(of: &Across, style: Style) -> String {
    verdict_first(&across(of), style)
}

/// What to try next, as text.
pub fn text_advice(of: &Advice, style: Style) -> String {
    verdict_first(&advice(of), style)
}

/// Whether a host is fit to measure on, as text.
pub fn text_checkup(of: &Checkup, style: Style) -> String {
    draw(&checkup(of), style)
}

/// The audit of figures of other tools, as text.
pub fn text_audit(of: &Audit, style: Style) -> String {
    verdict_first(&audit(of), style)
}

/// The contents of a directory of runs, as text.
pub fn text_inventory(of: &Inventory, now: Timestamp, style: Style) -> String {
    draw(&inventory(of, now), style)
}

/// Which predictions held, as text.
pub fn text_calibration(of: &Calibration, style: Style) -> String {
    draw(&calibration(of), style)
}

/// A page that starts with its verdict and repeats it in the last line.
fn verdict_first(page: &Page, style: Style) -> String {
    let [Block::Banner(banner), rest @ ..] = page.blocks.as_slice() else {
        return draw(page, style);
    };
    let mut lines = banner_lines(banner);
    lines.push(TextLine::painted(Ink::Faint, fit(&page.title, WIDTH)));
    lines.push(TextLine::painted(Ink::Faint, fit(&page.subtitle, WIDTH)));
    lines.extend(blocks_lines(rest));
    lines.push(TextLine::default());
    let last = Banner { text: fit(&banner.text, WIDTH - 2), lines: Vec::new(), ..banner.clone() };
    lines.extend(banner_lines(&last));
    written(&lines, style)
}

/// A page as text; each line ends with a line feed.
pub fn draw(page: &Page, style: Style) -> String {
    let mut lines = vec![
        TextLine::painted(Ink::Strong, fit(&page.title, WIDTH)),
        TextLine::painted(Ink::Faint, fit(&page.subtitle, WIDTH)),
    ];
    lines.extend(blocks_lines(&page.blocks));
    written(&lines, style)
}

/// A text of several lines, safe for a terminal: no control characters except line feeds.
pub fn printed(text: &str) -> String {
    let mut shown: String =
        text.lines().map(|line| crate::printable::printable(line).into_owned() + "\n").collect();
    shown.truncate(shown.trim_end().len());
    shown + "\n"
}

/// The lines below the title.
fn blocks_lines(blocks: &[Block]) -> Vec<TextLine> {
    let mut lines = Vec::new();
    let mut below_heading = false;
    for block in blocks {
        if !below_heading {
            lines.push(TextLine::default());
        }
        lines.extend(block_lines(block));
        below_heading = matches!(block, Block::Heading(_));
    }
    lines
}

fn written(lines: &[TextLine], style: Style) -> String {
    let mut text = String::new();
    for line in lines {
        line.write(style, &mut text);
    }
    text
}

fn block_lines(block: &Block) -> Vec<TextLine> {
    match block {
        Block::Heading(text) => vec![TextLine::painted(Ink::Strong, fit(text, WIDTH))],
        Block::Banner(banner) => banner_lines(banner),
        Block::Text(text) => paragraph(Ink::Plain, text),
        Block::Table(table) => table::lines(table),
        Block::Chart(chart) => spark::lines(chart),
        Block::Facts(facts) => facts_lines(facts),
        Block::List(list) => list_lines(list),
        Block::Grid(grid) => grid::lines(grid),
        Block::Dots(dots) => dots::lines(dots),
        Block::Columns(columns) => {
            columns.iter().flat_map(|column| blocks_lines(column)).skip(1).collect()
        }
        Block::Folded(folded) => {
            let title = format!("{}: {}", folded.title, folded.said);
            let title = TextLine::painted(Ink::Strong, fit(&title, WIDTH));
            [title].into_iter().chain(blocks_lines(&folded.blocks).into_iter().skip(1)).collect()
        }
        // Too large for a terminal; the tables have the main figures.
        Block::Flame(_) => Vec::new(),
    }
}

fn paragraph(ink: Ink, text: &str) -> Vec<TextLine> {
    let margin = " ".repeat(MARGIN);
    let line = |text: String| TextLine::painted(ink, format!("{margin}{text}"));
    wrap_at_most(text, WIDTH - MARGIN, LINES_MAX).into_iter().map(line).collect()
}

/// A bar at the left sets the verdict apart, with and without colour.
fn banner_lines(banner: &Banner) -> Vec<TextLine> {
    let ink = match banner.tone {
        Tone::Good => Ink::Good,
        Tone::Neutral => Ink::Strong,
        Tone::Caution => Ink::Caution,
        Tone::Bad => Ink::Bad,
    };
    let bar = "▌ ";
    let mut lines = Vec::new();
    for text in wrap_at_most(&banner.text, WIDTH - width(bar), LINES_MAX) {
        lines.push(TextLine::painted(ink, format!("{bar}{text}")));
    }
    for sentence in &banner.lines {
        for text in wrap_at_most(sentence, WIDTH - width(bar), LINES_MAX) {
            lines.push(TextLine::painted(ink, bar.to_string()).then(Ink::Plain, text));
        }
    }
    lines
}

fn facts_lines(facts: &[Fact]) -> Vec<TextLine> {
    let names = facts.iter().map(|fact| width(&fact.name)).max().unwrap_or(0).min(24);
    let indent = MARGIN + names + 2;
    let mut lines = Vec::new();
    for fact in facts {
        let mut name = fit(&fact.name, names);
        for text in wrap_at_most(&fact.value, WIDTH - indent, LINES_MAX) {
            let label = format!("{}{}", " ".repeat(MARGIN), crate::wrap::left(&name, names + 2));
            lines.push(TextLine::painted(Ink::Faint, label).then(Ink::Plain, text));
            name = String::new();
        }
    }
    lines
}

fn list_lines(list: &List) -> Vec<TextLine> {
    let mut lines = Vec::new();
    if !list.lead.is_empty() {
        lines.extend(paragraph(Ink::Plain, &list.lead));
    }
    for (index, item) in list.items.iter().enumerate() {
        let (bullet, ink) = match list.kind {
            ListKind::Sentences => ("- ".to_string(), Ink::Plain),
            ListKind::Commands => (format!("{}. ", index + 1), Ink::Command),
        };
        let indent = MARGIN + width(&bullet);
        for (number, text) in wrap(item, WIDTH - indent).into_iter().enumerate() {
            let before = if number == 0 { bullet.as_str() } else { "" };
            let before =
                format!("{}{}", " ".repeat(MARGIN), crate::wrap::left(before, width(&bullet)));
            lines.push(TextLine::painted(Ink::Plain, before).then(ink, text));
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures;
    use model::perturbation::{Confirm, Touch};

    /// Every depth of detail in text.
    const DETAILS: [Detail; 4] =
        [Detail::Summary, Detail::Latency, Detail::Evidence, Detail::Setup];

    /// A command is not broken inside words, so that it can be pasted; the terminal wraps it.
    #[test]
    fn no_line_is_wider_than_a_terminal() {
        for (name, run) in fixtures::all().into_iter().filter(|(name, _)| *name != "hostile") {
            for detail in DETAILS {
                for line in text(&run, detail, Style::Plain).lines() {
                    assert!(width(line) <= WIDTH, "{name}: {} in '{line}'", width(line));
                }
            }
        }
    }

    #[test]
    fn the_result_fits_on_a_screen_and_its_verdict_is_first_and_last() {
        for (name, run) in fixtures::all() {
            let text = text(&run, Detail::Summary, Style::Plain);
            let most = match run.record.points.len() {
                0 | 1 => brief::LINES,
                levels => brief::LINES_BESIDE_LEVELS + levels,
            };
            let lines: Vec<&str> = text.lines().collect();
            assert!(lines.len() <= most, "{name}: {} of {most} lines:\n{text}", lines.len());
            let last = lines[lines.len() - 1].trim_end_matches('…');
            assert!(lines[0].starts_with("▌ "), "{name}: {}", lines[0]);
            assert!(last.starts_with(lines[0]), "{name}: {last}");
        }
    }

    /// The id of a wall follows its name and is never alone.
    #[test]
    fn codes_of_walls_never_stand_alone() {
        for (name, run) in fixtures::all().into_iter().filter(|(name, _)| *name != "hostile") {
            for detail in DETAILS {
                let text = text(&run, detail, Style::Plain);
                for (id, _) in model::wall::WallId::ALL {
                    let places = text.match_indices(id.id());
                    for (at, _) in places {
                        let (before, after) = (&text[..at], &text[at + id.id().len()..]);
                        let is_word = !before.ends_with(|c: char| c.is_ascii_alphanumeric())
                            && !after.starts_with(|c: char| c.is_ascii_alphanumeric());
                        assert!(!is_word || before.ends_with('('), "{name}: {id}\n{text}");
                    }
                }
            }
        }
    }

    #[test]
    fn colour_changes_no_character() {
        for (name, run) in fixtures::all() {
            let plain = text(&run, Detail::Setup, Style::Plain);
            let coloured = text(&run, Detail::Setup, Style::Colour);
            assert!(!plain.contains('\x1b'), "{name}");
            assert_eq!(without_escapes(&coloured), plain, "{name}");
        }
    }

    fn without_escapes(text: &str) -> String {
        let mut parts = text.split("\x1b[");
        let mut plain = parts.next().unwrap_or_default().to_string();
        for part in parts {
            let (code, rest) = part.split_once('m').expect("escapes are closed");
            assert!(code.bytes().all(|byte| byte.is_ascii_digit() || byte == b';'), "{code}");
            plain.push_str(rest);
        }
        plain
    }

    #[test]
    fn every_run_reads_well() {
        for (name, run) in fixtures::all() {
            for (detail, said) in
                [(Detail::Summary, "default"), (Detail::Evidence, "v"), (Detail::Setup, "vv")]
            {
                insta::assert_snapshot!(format!("{name}_{said}"), text(&run, detail, Style::Plain));
            }
        }
        let run = fixtures::load_unwatched();
        insta::assert_snapshot!("load_latency", text(&run, Detail::Latency, Style::Plain));
        let run = fixtures::ramp_quota();
        insta::assert_snapshot!(
            "ramp_everything",
            draw(&page_of(&run, Detail::Everything), Style::Plain)
        );
        insta::assert_snapshot!("ramp_colour", text(&run, Detail::Summary, Style::Colour));
    }

    #[test]
    fn hosts_read_well() {
        let mut without = fixtures::ramp_quota();
        without.readings.clear();
        let runs = [
            ("one", fixtures::ramp_quota()),
            ("two", fixtures::ramp_two_hosts()),
            ("large", fixtures::large_hosts()),
            ("without_server", fixtures::load_unwatched()),
            ("without_readings", without),
        ];
        for (name, run) in runs {
            let said = text_hosts(&run, Style::Plain);
            assert!(said.lines().all(|line| width(line) <= WIDTH), "{said}");
            insta::assert_snapshot!(format!("hosts_{name}"), said);
        }
    }

    #[test]
    fn several_runs_read_well() {
        let runs = [fixtures::ramp_quota(), fixtures::load_open(), fixtures::ramp_invalid()];
        for (name, count) in [("two", 2), ("three", 3)] {
            let said = text_beside(&runs[..count], Detail::Summary, Style::Plain);
            fits(&said, 2 * count + 7);
            insta::assert_snapshot!(format!("beside_{name}_default"), said);
        }
        let said = text_beside(&runs, Detail::Evidence, Style::Plain);
        insta::assert_snapshot!("beside_three_v", said);
    }

    #[test]
    fn a_size_reads_well() {
        let run = fixtures::ramp_quota();
        let mut of = fixtures::sizing();
        let said = text_sizing(&of, &run, Detail::Summary, Style::Plain);
        insta::assert_snapshot!("sizing_default", said);
        let said = text_sizing(&of, &run, Detail::Evidence, Style::Plain);
        insta::assert_snapshot!("sizing_v", said);
        of.cautions = vec![of.cautions[0].repeat(3); 9];
        fits(&text_sizing(&of, &run, Detail::Summary, Style::Plain), brief::LINES);
    }

    /// At most this many lines, the last equal to the first.
    fn fits(text: &str, most: usize) {
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines.len() <= most, "{} of {most} lines:\n{text}", lines.len());
        assert!(lines.iter().all(|line| width(line) <= WIDTH), "{text}");
        assert_eq!(lines.first(), lines.last());
    }

    #[test]
    fn what_confirm_found_is_a_row() {
        let mut run = fixtures::ramp_quota();
        let drawn = |run: &Run| text(run, Detail::Summary, Style::Plain);
        assert!(!drawn(&run).contains("Tested"), "nothing was asked");
        run.record.trial.confirm = Some(Confirm {
            touch: Touch::ClientOnly,
            route: None,
            pairs: 4,
            block_ns: 1_000_000_000,
        });
        assert!(drawn(&run).contains("Tested     no experiment was possible"), "{}", drawn(&run));
    }

    #[test]
    fn a_ramp_without_a_good_response_has_no_ceiling() {
        let mut run = fixtures::ramp_quota();
        for point in &mut run.record.points {
            (point.rate, point.requests.completed) = (0.0, 0);
        }
        let drawn = text(&run, Detail::Summary, Style::Plain);
        assert!(drawn.contains("NO GOOD RESPONSE to"), "{drawn}");
        assert!(!drawn.contains("CEILING"), "{drawn}");
    }

    #[test]
    fn bytes_of_a_warm_up_are_not_in_the_rate_of_bytes() {
        let mut run = fixtures::ramp_quota();
        let drawn = |run: &Run| text(run, Detail::Summary, Style::Plain);
        let before = drawn(&run);
        assert!(before.contains("received"), "{before}");
        run.record.points.iter_mut().for_each(|point| point.client_loop.socket_bytes *= 50);
        assert_eq!(drawn(&run), before);
    }
}
