//! Draws a page for a terminal, in as many columns as it has.
//!
//! Executive summary: a page becomes lines of painted spans; the paint becomes ANSI escapes or
//! nothing. Long texts are wrapped, and a table that is too wide loses its least important columns
//! and says so. What is printed without `-v` is never cut.

mod brief;
pub(crate) use brief::PERCENTILES;
mod dots;
mod grid;
mod line;
mod pass;
pub(crate) mod spark;
mod table;

use crate::page::{Banner, Block, Fact, List, Page, Steps, Tone};
use crate::sections::{
    Detail, across, advice, audit, beside, calibration, checkup, compare, experiment_briefly,
    hosts_page, inventory, page_of,
};
use crate::wrap::{fit, width, wrap, wrap_at_most};
use jiff::Timestamp;
pub use pass::{PassDetail, text_pass_end, text_taken};

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

/// Left margin below a heading; the marks of rows are drawn in it.
const MARGIN: usize = 2;

/// Most lines of one value, such as a long command line; the rest is cut.
const LINES_MAX: usize = 6;

/// What the reader's screen can show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Style {
    /// Whether there are colours.
    pub paint: Paint,
    /// Which letters it has.
    pub letters: Letters,
    /// Its columns, 40 or more.
    pub columns: usize,
}

/// Whether colours may be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Paint {
    /// Characters only.
    None,
    /// With ANSI escapes.
    Ansi,
}

/// The letters of a screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Letters {
    /// Any, with blocks for bars.
    Unicode,
    /// Those of the locale `C`.
    Ascii,
}

impl Style {
    /// A file or a pipe.
    pub const PLAIN: Self = Self { paint: Paint::None, letters: Letters::Unicode, columns: 80 };
    /// The usual terminal.
    pub const COLOUR: Self = Self { paint: Paint::Ansi, ..Self::PLAIN };

    /// A text in the letters of the screen, each letter as wide as before.
    pub fn in_letters(self, text: &str) -> String {
        match self.letters {
            Letters::Unicode => text.to_string(),
            Letters::Ascii => line::ascii(text),
        }
    }
}

/// A run as text: the result in less than a screen, the requested details, and the verdict again.
pub fn text(run: &Run, detail: Detail, style: Style) -> String {
    let columns = style.columns;
    let mut lines = brief::lines(run, columns);
    if detail > Detail::Summary {
        let page = page_of(run, detail);
        if detail > Detail::Latency {
            let subtitle = format!("{}{}", " ".repeat(MARGIN), page.subtitle);
            lines.push(TextLine::painted(Ink::Faint, fit(&subtitle, columns)));
        }
        lines.extend(blocks_lines(&page.blocks, columns));
        lines.push(TextLine::default());
    }
    lines.extend(brief::last(run, columns));
    written(&lines, style)
}

/// The readings of both hosts, as text.
pub fn text_hosts(run: &Run, style: Style) -> String {
    draw(&hosts_page(run), style)
}

/// Several runs as text: a line for each, and with more detail the verdict of each.
pub fn text_beside(runs: &[Run], detail: Detail, style: Style) -> String {
    let (mut lines, last) = brief::beside_lines(runs, style.columns);
    if detail > Detail::Latency {
        lines.extend(blocks_lines(&beside(runs, Detail::Summary).blocks, style.columns));
        lines.push(TextLine::default());
    }
    lines.extend(last);
    written(&lines, style)
}

/// How many client machines a rate needs, as text; with more detail, each product.
pub fn text_sizing(of: &Sizing, run: &Run, detail: Detail, style: Style) -> String {
    let [mut lines, steps, last] = brief::sizing_lines(of, run, style.columns);
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
    verdict_first(&across(of, Detail::Summary), style)
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
    let columns = style.columns;
    let mut lines = banner_lines(banner, columns);
    lines.extend(painted(Ink::Faint, &page.title, columns));
    lines.extend(painted(Ink::Faint, &page.subtitle, columns));
    lines.extend(blocks_lines(rest, columns));
    lines.push(TextLine::default());
    let last = Banner { lines: Vec::new(), ..banner.clone() };
    lines.extend(banner_lines(&last, columns));
    written(&lines, style)
}

/// A page as text; each line ends with a line feed.
pub fn draw(page: &Page, style: Style) -> String {
    let mut lines = painted(Ink::Strong, &page.title, style.columns);
    lines.extend(painted(Ink::Faint, &page.subtitle, style.columns));
    lines.extend(blocks_lines(&page.blocks, style.columns));
    written(&lines, style)
}

/// A whole drawing, safe for a terminal: of all characters that control one, line feeds, tabs and,
/// in colour, our own inks stay.
pub fn safe(text: &str, paint: Paint) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(next) = rest.chars().next() {
        let ink = match paint {
            Paint::None => None,
            Paint::Ansi => Ink::escape_at(rest),
        };
        let (piece, is_ours) = match ink {
            Some(ink) => (ink, true),
            None => (&rest[..next.len_utf8()], matches!(next, '\n' | '\t')),
        };
        match is_ours {
            true => shown.push_str(piece),
            false => shown.push_str(&model::printable::printable(piece)),
        }
        rest = &rest[piece.len()..];
    }
    shown
}

/// A text of several lines, safe for a terminal: no control characters except line feeds.
pub fn printed(text: &str) -> String {
    let mut shown: String =
        text.lines().map(|line| model::printable::printable(line).into_owned() + "\n").collect();
    shown.truncate(shown.trim_end().len());
    shown + "\n"
}

/// The lines below the title.
fn blocks_lines(blocks: &[Block], columns: usize) -> Vec<TextLine> {
    let mut lines = Vec::new();
    let mut below_heading = false;
    for block in blocks {
        if !below_heading {
            lines.push(TextLine::default());
        }
        lines.extend(block_lines(block, columns));
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

fn block_lines(block: &Block, columns: usize) -> Vec<TextLine> {
    match block {
        Block::Heading(text) => painted(Ink::Strong, text, columns),
        Block::Banner(banner) => banner_lines(banner, columns),
        Block::Text(text) => paragraph(Ink::Plain, text, columns),
        Block::Table(table) => table::lines(table, columns),
        Block::Chart(chart) => spark::lines(chart, columns),
        Block::Facts(facts) => facts_lines(facts, columns),
        Block::List(list) => list_lines(list, columns),
        Block::Steps(steps) => step_lines(steps, columns),
        Block::Grid(grid) => grid::lines(grid, columns),
        Block::Dots(dots) => dots::lines(dots, columns),
        Block::Columns(beside) => {
            beside.iter().flat_map(|column| blocks_lines(column, columns)).skip(1).collect()
        }
        Block::Folded(folded) => {
            let title = format!("{}: {}", folded.title, folded.summary);
            let blocks = blocks_lines(&folded.blocks, columns).into_iter().skip(1);
            painted(Ink::Strong, &title, columns).into_iter().chain(blocks).collect()
        }
        // Too large for a terminal; the tables have the main figures.
        Block::Flame(_) => Vec::new(),
    }
}

/// A text without a margin.
fn painted(ink: Ink, text: &str, columns: usize) -> Vec<TextLine> {
    wrap(text, columns).into_iter().map(|text| TextLine::painted(ink, text)).collect()
}

fn paragraph(ink: Ink, text: &str, columns: usize) -> Vec<TextLine> {
    let margin = " ".repeat(MARGIN);
    let line = |text: String| TextLine::painted(ink, format!("{margin}{text}"));
    wrap(text, columns - MARGIN).into_iter().map(line).collect()
}

/// A bar at the left sets the verdict apart, with and without colour.
fn banner_lines(banner: &Banner, columns: usize) -> Vec<TextLine> {
    let ink = match banner.tone {
        Tone::Good => Ink::Good,
        Tone::Neutral => Ink::Strong,
        Tone::Caution => Ink::Caution,
        Tone::Bad => Ink::Bad,
    };
    let bar = "▌ ";
    let mut lines = Vec::new();
    for text in wrap(&banner.text, columns - width(bar)) {
        lines.push(TextLine::painted(ink, format!("{bar}{text}")));
    }
    for sentence in &banner.lines {
        for text in wrap(sentence, columns - width(bar)) {
            lines.push(TextLine::painted(ink, bar.to_string()).then(Ink::Plain, text));
        }
    }
    lines
}

fn facts_lines(facts: &[Fact], columns: usize) -> Vec<TextLine> {
    let names = facts.iter().map(|fact| width(&fact.name)).max().unwrap_or(0).min(24);
    let indent = MARGIN + names + 2;
    let mut lines = Vec::new();
    for fact in facts {
        let mut name = fit(&fact.name, names);
        for text in wrap_at_most(&fact.value, columns - indent, LINES_MAX) {
            let label = format!("{}{}", " ".repeat(MARGIN), crate::wrap::left(&name, names + 2));
            lines.push(TextLine::painted(Ink::Faint, label).then(Ink::Plain, text));
            name = String::new();
        }
    }
    lines
}

fn list_lines(list: &List, columns: usize) -> Vec<TextLine> {
    let items = list.items.iter().map(|item| Item {
        bullet: "- ".to_string(),
        ink: Ink::Plain,
        text: item.clone(),
    });
    item_lines(&list.lead, items, columns)
}

fn step_lines(steps: &Steps, columns: usize) -> Vec<TextLine> {
    let items = steps.steps.iter().enumerate().map(|(index, step)| Item {
        bullet: format!("{}. ", index + 1),
        ink: Ink::Command,
        text: step.text(),
    });
    item_lines(&steps.lead, items, columns)
}

/// An item of a list.
struct Item {
    bullet: String,
    ink: Ink,
    text: String,
}

fn item_lines(lead: &str, items: impl Iterator<Item = Item>, columns: usize) -> Vec<TextLine> {
    let mut lines = Vec::new();
    if !lead.is_empty() {
        lines.extend(paragraph(Ink::Plain, lead, columns));
    }
    for Item { bullet, ink, text } in items {
        let indent = MARGIN + width(&bullet);
        for (number, text) in wrap(&text, columns - indent).into_iter().enumerate() {
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
    use model::step::Step;

    /// Every depth of detail in text.
    const DETAILS: [Detail; 4] =
        [Detail::Summary, Detail::Latency, Detail::Evidence, Detail::Setup];

    /// The rest is in the next line. A word of a command is not broken, so that it can be pasted.
    #[test]
    fn nothing_is_cut_and_no_line_is_wider_than_the_screen() {
        let run = |columns: usize| {
            for (name, run) in fixtures::all() {
                let style = Style { columns, ..Style::PLAIN };
                let drawn = text(&run, Detail::Summary, style);
                assert!(!drawn.contains('…'), "{name} in {columns} columns:\n{drawn}");
                for line in drawn.lines() {
                    let word = line.trim_start().trim_end_matches(" \\");
                    let is_word = !word.contains(' ') || word.starts_with('-');
                    assert!(width(line) <= columns || is_word, "{name}, {columns}: '{line}'");
                }
            }
        };
        (40..=100).chain((105..=200).step_by(5)).for_each(run);
    }

    #[test]
    fn tables_and_charts_fit_too() {
        for (name, run) in fixtures::all().into_iter().filter(|(name, _)| *name != "hostile") {
            for (detail, columns) in DETAILS.into_iter().flat_map(|of| [(of, 60), (of, 80)]) {
                let style = Style { columns, ..Style::PLAIN };
                for line in text(&run, detail, style).lines() {
                    assert!(width(line) <= columns, "{name}: {} in '{line}'", width(line));
                }
            }
        }
    }

    #[test]
    fn a_screen_without_other_letters_gets_ascii_of_the_same_width() {
        let style = Style { letters: Letters::Ascii, ..Style::PLAIN };
        for (name, run) in fixtures::all() {
            let (plain, ascii) =
                (text(&run, Detail::Setup, Style::PLAIN), text(&run, Detail::Setup, style));
            assert!(ascii.is_ascii(), "{name}");
            for (line, other) in plain.lines().zip(ascii.lines()) {
                assert_eq!(width(line), width(other), "{name}: {line}");
            }
        }
    }

    #[test]
    fn the_result_fits_on_a_screen_and_its_verdict_is_first_and_last() {
        for (name, run) in fixtures::all() {
            let text = text(&run, Detail::Summary, Style::PLAIN);
            let most = match run.record.points.len() {
                0 | 1 => 24,
                levels => 16 + levels,
            };
            let lines: Vec<&str> = text.lines().collect();
            let is_hostile = name == "hostile";
            assert!(lines.len() <= most || is_hostile, "{name}: {} lines:\n{text}", lines.len());
            let verdict: Vec<_> = lines.iter().take_while(|line| line.starts_with("▌ ")).collect();
            let last: Vec<_> = lines[lines.len() - verdict.len()..].iter().collect();
            assert_eq!(last, verdict, "{name}");
        }
    }

    /// The reason, the number, the fix, and only then a command.
    #[test]
    fn every_named_wall_has_its_fix_before_the_next_command() {
        let mut run = fixtures::load_limited();
        let command = Step::command(["ramp", "http://127.0.0.1:8080/", "-c", "1..8"]);
        run.record.verdict.next = vec![command];
        for (wall, _) in model::wall::WallId::ALL {
            run.record.verdict.wall = model::verdict::Named::Wall(*wall);
            run.record.verdict.sentence = Some(format!("{} 8 times", wall.reason()));
            let said = text(&run, Detail::Summary, Style::PLAIN);
            let whole = said.split_whitespace().collect::<Vec<_>>().join(" ");
            let places = [format!("Wall {} 8 times", wall.reason()), format!("Fix {}", wall.fix())];
            let mut at = places.map(|text| whole.find(&text).expect(&text)).to_vec();
            at.push(whole.find(&format!("({wall}, probable) Next")).expect("the code is last"));
            assert!(at.is_sorted(), "{said}");
        }
        run.record.verdict.fix = Some("give it 8 places".to_string());
        let said = text(&run, Detail::Summary, Style::PLAIN);
        assert!(said.contains("Fix        give it 8 places (A14, probable)"), "{said}");
    }

    /// The id of a wall follows its name and is never alone.
    #[test]
    fn codes_of_walls_never_stand_alone() {
        for (name, run) in fixtures::all().into_iter().filter(|(name, _)| *name != "hostile") {
            for detail in DETAILS {
                let text = text(&run, detail, Style::PLAIN);
                for (id, _) in model::wall::WallId::ALL {
                    let places = text.match_indices(id.id());
                    for (at, _) in places {
                        let (before, after) = (&text[..at], &text[at + id.id().len()..]);
                        let is_word = !before.ends_with(|c: char| c.is_ascii_alphanumeric())
                            && !after.starts_with(|c: char| c.is_ascii_alphanumeric());
                        let is_code = before.ends_with('(') || before.ends_with(" and ");
                        assert!(!is_word || is_code, "{name}: {id}\n{text}");
                    }
                }
            }
        }
    }

    #[test]
    fn only_our_own_inks_reach_a_terminal() {
        let foreign = "a\x1b[2J\x1b[8mb\x1b]0;c\x07\r\u{202e}\u{9b}31m\td\n";
        let safe_text = "a\\u{1b}[2J\\u{1b}[8mb\\u{1b}]0;c\\u{7}\\r\\u{202e}\\u{9b}31m\td\n";
        assert_eq!(safe(foreign, Paint::None), safe_text);
        assert_eq!(safe(foreign, Paint::Ansi), safe_text);
        for (name, run) in fixtures::all() {
            for style in [Style::PLAIN, Style::COLOUR] {
                let drawn = text(&run, Detail::Setup, style);
                assert_eq!(safe(&drawn, style.paint), drawn, "{name}");
            }
        }
    }

    #[test]
    fn colour_changes_no_character() {
        for (name, run) in fixtures::all() {
            let plain = text(&run, Detail::Setup, Style::PLAIN);
            let coloured = text(&run, Detail::Setup, Style::COLOUR);
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
                insta::assert_snapshot!(format!("{name}_{said}"), text(&run, detail, Style::PLAIN));
            }
        }
        let run = fixtures::load_unwatched();
        insta::assert_snapshot!("load_latency", text(&run, Detail::Latency, Style::PLAIN));
        let run = fixtures::ramp_quota();
        insta::assert_snapshot!(
            "ramp_everything",
            draw(&page_of(&run, Detail::Everything), Style::PLAIN)
        );
        insta::assert_snapshot!("ramp_colour", text(&run, Detail::Summary, Style::COLOUR));
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
            let said = text_hosts(&run, Style::PLAIN);
            assert!(said.lines().all(|line| width(line) <= Style::PLAIN.columns), "{said}");
            insta::assert_snapshot!(format!("hosts_{name}"), said);
        }
    }

    #[test]
    fn several_runs_read_well() {
        let runs = [fixtures::ramp_quota(), fixtures::load_open(), fixtures::ramp_invalid()];
        for (name, count) in [("two", 2), ("three", 3)] {
            let said = text_beside(&runs[..count], Detail::Summary, Style::PLAIN);
            fits(&said, 2 * count + 7);
            insta::assert_snapshot!(format!("beside_{name}_default"), said);
        }
        let said = text_beside(&runs, Detail::Evidence, Style::PLAIN);
        insta::assert_snapshot!("beside_three_v", said);
    }

    #[test]
    fn a_size_reads_well() {
        let run = fixtures::ramp_quota();
        let mut of = fixtures::sizing();
        let said = text_sizing(&of, &run, Detail::Summary, Style::PLAIN);
        insta::assert_snapshot!("sizing_default", said);
        let said = text_sizing(&of, &run, Detail::Evidence, Style::PLAIN);
        insta::assert_snapshot!("sizing_v", said);
        of.cautions = vec![of.cautions[0].repeat(3); 9];
        fits(&text_sizing(&of, &run, Detail::Summary, Style::PLAIN), 80);
    }

    /// At most this many lines, the last equal to the first.
    fn fits(text: &str, most: usize) {
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines.len() <= most, "{} of {most} lines:\n{text}", lines.len());
        assert!(lines.iter().all(|line| width(line) <= Style::PLAIN.columns), "{text}");
        assert_eq!(lines.first(), lines.last());
    }

    #[test]
    fn what_confirm_found_is_a_row() {
        let mut run = fixtures::ramp_quota();
        let drawn = |run: &Run| text(run, Detail::Summary, Style::PLAIN);
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
    fn a_server_that_closes_after_each_response_is_told() {
        let mut run = fixtures::load_unwatched();
        let said = |run: &Run| {
            let said = text(run, Detail::Summary, Style { columns: 200, ..Style::PLAIN });
            said.lines().find(|line| line.starts_with("  Keep-alive")).map(str::to_string)
        };
        assert_eq!(said(&run), None);
        let point = &mut run.record.points[0];
        point.connections.reopened = point.requests.completed + point.unmeasured.completed;
        let row = said(&run).unwrap();
        assert!(row.contains("off: the server closes after each response"), "{row}");
        assert!(row.ends_with("let the server keep connections open"), "{row}");
        run.record.points[0].connections.reopened /= 10;
        assert!(said(&run).unwrap().contains("after about every 10 responses"));
        let close = ("connection".to_string(), "Close".to_string());
        run.record.trial.requests[0].headers.push(close);
        assert!(said(&run).unwrap().ends_with("(Connection: close)"));
        let reopened = run.record.points[0].connections.reopened;
        run.record.points[0].connections.unsolicited = reopened;
        assert_eq!(said(&run), None, "we closed them");
        run.record.points[0].connections.unsolicited = 0;
        run.record.points[0].errors.insert("timeout".to_string(), reopened);
        assert_eq!(said(&run), None, "those that failed");
    }

    #[test]
    fn targets_functions_and_second_visits_are_in_the_result() {
        let said = |run: &Run| text(run, Detail::Summary, Style::PLAIN);
        let mix = fixtures::load_mix();
        let drawn = said(&mix);
        for target in &mix.record.points[0].targets {
            let path = target.name.split(' ').next_back().unwrap();
            assert!(drawn.contains(path), "{path}: {drawn}");
        }
        assert!(drawn.contains("failed a check"), "{drawn}");
        let drawn = said(&fixtures::load_profiled());
        assert!(drawn.contains("linux.Syscall6") && drawn.contains("runtime.memmove"), "{drawn}");
        assert!(said(&fixtures::ramp_quota()).contains("2000#2: visit 2 of that level"));
    }

    #[test]
    fn one_is_not_many() {
        let mut run = fixtures::load_unwatched();
        run.record.points[0].requests.sent = 1;
        let drawn = text(&run, Detail::Summary, Style::PLAIN);
        assert!(drawn.contains("Total      1 request in"), "{drawn}");
        let ceiling = run.record.verdict.ceiling.as_mut().unwrap();
        (ceiling.low, ceiling.high) = (Some(ceiling.rate * 0.99999), Some(ceiling.rate));
        let drawn = text(&run, Detail::Summary, Style::PLAIN);
        assert!(!drawn.contains(" to 4"), "an interval without width: {drawn}");
    }

    #[test]
    fn a_ramp_without_a_good_response_has_no_ceiling() {
        let mut run = fixtures::ramp_quota();
        for point in &mut run.record.points {
            (point.rate, point.requests.completed) = (0.0, 0);
        }
        let drawn = text(&run, Detail::Summary, Style::PLAIN);
        assert!(drawn.contains("NO GOOD RESPONSE to"), "{drawn}");
        assert!(!drawn.contains("CEILING"), "{drawn}");
    }

    #[test]
    fn bytes_of_a_warm_up_are_not_in_the_rate_of_bytes() {
        let mut run = fixtures::ramp_quota();
        let drawn = |run: &Run| text(run, Detail::Summary, Style::PLAIN);
        let before = drawn(&run);
        assert!(before.contains("received"), "{before}");
        run.record.points.iter_mut().for_each(|point| point.client_loop.socket_bytes *= 50);
        assert_eq!(drawn(&run), before);
    }
}
