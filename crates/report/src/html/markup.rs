//! Blocks as markup.

use super::escape::escape;
use super::{dots, flame, grid};
use crate::page::{
    Align, Banner, Block, Chart, Fact, Fold, Folded, List, Mark, Page, Row, Steps, Table, Tone,
};
use model::step::Step;
use std::collections::BTreeSet;

/// The title, and links to the sections.
pub(super) fn header(page: &Page) -> String {
    format!(
        "<header>\n<h1>{}</h1>\n<p class=\"faint\">{}</p>\n{}</header>\n",
        escape(&page.title),
        escape(&page.subtitle),
        links(page)
    )
}

/// The blocks of a page, inside an open section.
pub(super) fn blocks(page: &Page) -> String {
    with_charts(&page.blocks, &page.anchors(), HINT)
}

/// Neighbouring charts stand side by side; the hint is above the first of them.
fn with_charts(blocks: &[Block], anchors: &BTreeSet<&str>, mut hint: &str) -> String {
    let mut markup = String::new();
    for neighbours in blocks.chunk_by(|left, right| is_chart(left) && is_chart(right)) {
        let drawn: String = neighbours.iter().map(|one| block(one, anchors)).collect();
        if is_chart(&neighbours[0]) {
            markup.push_str(&format!("{hint}<div class=\"charts\">\n{drawn}</div>\n"));
            hint = "";
        } else {
            markup.push_str(&drawn);
        }
    }
    markup
}

/// Shown once, above the first charts.
const HINT: &str = "<p class=\"note hint\">Drag across a chart to zoom in, double-click to zoom \
    out; click a name in a legend to hide its line.</p>\n";

fn is_chart(block: &Block) -> bool {
    matches!(block, Block::Chart(_))
}

fn links(page: &Page) -> String {
    let mut markup = String::from("<nav aria-label=\"Sections\">\n");
    for block in &page.blocks {
        if let Block::Heading(text) = block {
            let text = escape(text);
            markup.push_str(&format!("<a href=\"#{}\">{text}</a>\n", anchor(&text)));
        }
    }
    markup
        .push_str("<button type=\"button\" id=\"save-record\" hidden>Save record (JSON)</button>");
    markup.push_str("\n</nav>\n");
    markup
}

/// The anchor of a section.
fn anchor(heading: &str) -> String {
    let letter = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    heading.chars().map(letter).collect()
}

fn block(block: &Block, anchors: &BTreeSet<&str>) -> String {
    match block {
        Block::Heading(text) => {
            let text = escape(text);
            format!("</section>\n<section id=\"{}\">\n<h2>{text}</h2>\n", anchor(&text))
        }
        Block::Banner(banner) => self::banner(banner),
        Block::Text(text) => format!("<p>{}</p>\n", escape(text)),
        Block::Table(table) => self::table(table, anchors),
        Block::Chart(chart) => figure(chart),
        Block::Facts(facts) => self::facts(facts),
        Block::List(list) => self::list(list),
        Block::Steps(steps) => self::steps(steps),
        Block::Flame(flame) => flame::figure(flame),
        Block::Grid(grid) => grid::figure(grid),
        Block::Dots(dots) => dots::figure(dots, anchors),
        Block::Columns(all) => columns(all, anchors),
        Block::Folded(folded) => self::folded(folded, anchors),
    }
}

/// One column for each host.
fn columns(columns: &[Vec<Block>], anchors: &BTreeSet<&str>) -> String {
    let column = |blocks: &Vec<Block>| {
        let drawn: String = blocks.iter().map(|one| block(one, anchors)).collect();
        format!("<div>\n{drawn}</div>\n")
    };
    let drawn: String = columns.iter().map(column).collect();
    format!("<div class=\"hosts\">\n{drawn}</div>\n")
}

fn folded(folded: &Folded, anchors: &BTreeSet<&str>) -> String {
    let [id, title, summary] =
        [&folded.id, &folded.title, &folded.summary].map(|text| escape(text));
    let blocks = with_charts(&folded.blocks, anchors, "");
    format!(
        "<details class=\"part\" id=\"{id}\">\n<summary>{title} <span class=\"faint\">\
         {summary}</span></summary>\n{blocks}</details>\n"
    )
}

fn banner(banner: &Banner) -> String {
    let tone = match banner.tone {
        Tone::Good => "good",
        Tone::Neutral => "neutral",
        Tone::Caution => "caution",
        Tone::Bad => "bad",
    };
    let lines: String =
        banner.lines.iter().map(|line| format!("<p>{}</p>\n", escape(line))).collect();
    let text = escape(&banner.text);
    format!("<div class=\"banner {tone}\">\n<p class=\"verdict\">{text}</p>\n{lines}</div>\n")
}

fn facts(facts: &[Fact]) -> String {
    let mut markup = String::from("<dl>\n");
    for fact in facts {
        let (name, value) = (escape(&fact.name), escape(&fact.value));
        markup.push_str(&format!("<dt>{name}</dt><dd>{value}</dd>\n"));
    }
    markup.push_str("</dl>\n");
    markup
}

fn list(list: &List) -> String {
    let items = list.items.iter().map(|item| escape(item));
    lead(&list.lead) + &listed("ul", items)
}

fn steps(steps: &Steps) -> String {
    // Commands are marked as code so that they can be pasted; other steps are plain text.
    let item = |step: &Step| match step {
        Step::Command(_) => format!("<code>{}</code>", escape(&step.text())),
        Step::Advice(text) => escape(text),
    };
    lead(&steps.lead) + &listed("ol", steps.steps.iter().map(item))
}

fn lead(text: &str) -> String {
    if text.is_empty() { String::new() } else { format!("<p>{}</p>\n", escape(text)) }
}

fn listed(element: &str, items: impl Iterator<Item = String>) -> String {
    let items: String = items.map(|item| format!("<li>{item}</li>\n")).collect();
    format!("<{element}>\n{items}</{element}>\n")
}

fn table(table: &Table, anchors: &BTreeSet<&str>) -> String {
    let caption = escape(&table.caption);
    let label = if caption.is_empty() { "Table".to_string() } else { caption.clone() };
    let mut inner = String::new();
    // Outside the scrolling region, where a long caption would be cut.
    if table.fold == Fold::Open && !caption.is_empty() {
        inner.push_str(&format!("<p class=\"caption\">{caption}</p>\n"));
    }
    inner.push_str(&format!(
        "<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"{label}\">\n<table>\n\
         <thead><tr>"
    ));
    for column in &table.columns {
        let title = escape(&column.title);
        inner.push_str(&format!("<th scope=\"col\"{}>{title}</th>", class_of(column.align)));
    }
    inner.push_str("</tr></thead>\n<tbody>\n");
    for row in &table.rows {
        inner.push_str(&table_row(table, row, anchors));
    }
    inner.push_str("</tbody>\n</table>\n</div>\n");
    for note in &table.notes {
        inner.push_str(&format!("<p class=\"note{}\">{}</p>\n", note_class(note), escape(note)));
    }
    match table.fold {
        Fold::Open => inner,
        Fold::Closed => {
            let rows = table.rows.len();
            format!(
                "<details>\n<summary>{label} <span class=\"faint\">({rows})</span></summary>\n\
                 {inner}</details>\n"
            )
        }
    }
}

/// A note that starts with the symbol of a mark explains marked rows.
fn note_class(note: &str) -> &'static str {
    match note.split(' ').next() {
        Some(first) if first == Mark::Broken.symbol() => " broken",
        Some(first) if first == Mark::Caution.symbol() => " caution",
        _ => "",
    }
}

fn class_of(align: Align) -> &'static str {
    match align {
        Align::Left => "",
        Align::Right => " class=\"number\"",
    }
}

/// Short texts stay on one line on a phone, sentences get enough width; the table scrolls.
fn class_of_cell(align: Align, cell: &str) -> &'static str {
    match (align, cell.chars().count()) {
        (Align::Right, _) => " class=\"number\"",
        (Align::Left, 0..=20) => " class=\"short\"",
        (Align::Left, 40..) => " class=\"long\"",
        (Align::Left, _) => " class=\"medium\"",
    }
}

fn table_row(table: &Table, row: &Row, anchors: &BTreeSet<&str>) -> String {
    let about = row.about.iter().find(|anchor| anchors.contains(anchor.as_str()));
    let (class, symbol) = match row.mark {
        Mark::None => ("", String::new()),
        Mark::Caution => (" class=\"caution\"", symbol(row.mark, "with a reservation")),
        Mark::Broken => (" class=\"broken\"", symbol(row.mark, "gate failed")),
    };
    let mut markup = format!("<tr{class}>");
    for (index, (column, cell)) in table.columns.iter().zip(&row.cells).enumerate() {
        let cell = escape(cell);
        // Two bounds may be broken onto two lines.
        let cell = match column.align {
            Align::Right => cell.replace("..", "..<wbr>"),
            Align::Left => cell,
        };
        // The first cell is the name; the second links to its figure.
        let cell = match about.filter(|_| index == 1) {
            Some(anchor) => format!("<a href=\"#{}\">{cell}</a>", escape(anchor)),
            None => cell,
        };
        let class = class_of_cell(column.align, &row.cells[index]);
        let (element, scope) = if index == 0 { ("th", " scope=\"row\"") } else { ("td", "") };
        let before = if index == 0 { symbol.as_str() } else { "" };
        markup.push_str(&format!("<{element}{scope}{class}>{before}{cell}</{element}>"));
    }
    markup.push_str("</tr>\n");
    markup
}

fn symbol(mark: Mark, meaning: &str) -> String {
    format!("<abbr class=\"mark\" title=\"{meaning}\">{}</abbr> ", mark.symbol())
}

/// The placeholder of a chart; scripts fill the placeholders in the order of the data.
fn figure(chart: &Chart) -> String {
    let (id, title, note) = (escape(&chart.id), escape(&chart.title), escape(&chart.note));
    format!(
        "<figure class=\"chart\" id=\"{id}\">\n<figcaption><h3>{title}</h3>\n\
         <p class=\"note\">{note}</p></figcaption>\n</figure>\n"
    )
}
