//! Grids as tables whose bars and cells are small SVG images: they need no scripts, and labels keep
//! their size on any screen.

use super::escape::escape;
use crate::page::{Across, Align, Band, Grid, GridRow, Mark};
use observe::STATES;

/// Shades between nothing and full.
const SHADES: usize = 8;

/// With more rows than these, each is a thin line, and groups share a name.
const ROWS_TALL: usize = 32;
/// Thin rows that share a name.
const ROWS_NAMED: usize = 8;

/// The figure of a grid.
pub(super) fn figure(grid: &Grid) -> String {
    let (id, title, note) = (escape(&grid.id), escape(&grid.title), escape(&grid.note));
    let is_gone = grid.rows.iter().flat_map(|row| &row.cells).any(Option::is_none);
    let gone = if is_gone { " Grey: not read." } else { "" };
    let dense = if is_dense(grid) { " dense" } else { "" };
    let rows: String = grid.rows.iter().enumerate().map(|(nth, one)| row(grid, nth, one)).collect();
    format!(
        "<figure class=\"grid{dense}\" id=\"{id}\">\n<figcaption><h3>{title}</h3>\n\
         <p class=\"note\">{note}{gone}</p>{}</figcaption>\n\
         <div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"{title}\">\n<table>\n\
         <thead><tr>{}</tr></thead>\n<tbody>\n{rows}</tbody>\n</table>\n</div>\n{}</figure>\n",
        legend(grid),
        heading(grid),
        values(grid)
    )
}

fn is_dense(grid: &Grid) -> bool {
    grid.rows.len() > ROWS_TALL
}

fn value_class(align: Align) -> &'static str {
    match align {
        Align::Left => "value short",
        Align::Right => "value number",
    }
}

/// The class of a part's colour: CPU states keep their colour in all charts.
fn part_class(part: &str, nth: usize) -> String {
    let state = STATES.iter().position(|state| *state == part);
    // Two parts that are not CPU states: blue and orange.
    format!("part-{}", state.unwrap_or(2 * nth) + 1)
}

fn legend(grid: &Grid) -> String {
    if grid.parts.is_empty() {
        return String::new();
    }
    let key = |(nth, part): (usize, &String)| {
        let class = part_class(part, nth);
        format!(
            "<span><svg class=\"key\" width=\"10\" height=\"10\"><rect class=\"{class}\" \
             width=\"10\" height=\"10\"></rect></svg> {}</span> ",
            escape(part)
        )
    };
    let keys: String = grid.parts.iter().enumerate().map(key).collect();
    format!("\n<p class=\"keys\">{keys}</p>")
}

fn heading(grid: &Grid) -> String {
    let mut cells = format!("<th scope=\"col\">{}</th>", escape(&grid.rows_are));
    if !is_dense(grid) {
        for column in &grid.columns {
            let class = value_class(column.align);
            let title = escape(&column.title);
            cells.push_str(&format!("<th scope=\"col\" class=\"{class}\">{title}</th>"));
        }
    }
    if !grid.parts.is_empty() {
        cells.push_str("<th scope=\"col\" class=\"bar\">states</th>");
    }
    let (from, to) = ends(grid);
    cells.push_str(&format!(
        "<th scope=\"col\" class=\"strip\"><span>{from}</span><span>{}</span><span>{to}</span>{}\
         </th>",
        escape(&grid.cells_are),
        bands(grid)
    ));
    cells
}

/// Labels of the first and the last cell.
fn ends(grid: &Grid) -> (String, String) {
    match &grid.across {
        Across::Time { end_s, .. } => ("0 s".to_string(), format!("{end_s:.0} s")),
        Across::Cpus => {
            let cpus = grid.rows.iter().map(|row| row.cells.len()).max().unwrap_or(0);
            ("0".to_string(), cpus.saturating_sub(1).to_string())
        }
    }
}

/// Measured windows, marked above the cells.
fn bands(grid: &Grid) -> String {
    let Across::Time { end_s, bands } = &grid.across else { return String::new() };
    let band = |band: &Band| {
        let class = match band.mark {
            Mark::None => "window",
            Mark::Caution => "window caution",
            Mark::Broken => "window broken",
        };
        let (x, width) = (100.0 * band.from / end_s, 100.0 * (band.to - band.from) / end_s);
        let label = escape(&band.label);
        format!(
            "<rect class=\"{class}\" x=\"{x:.2}%\" width=\"{width:.2}%\" height=\"4\">\
             <title>{label}</title></rect>"
        )
    };
    let bands: String = bands.iter().map(band).collect();
    format!("<svg class=\"windows\" width=\"100%\" height=\"4\">{bands}</svg>")
}

fn row(grid: &Grid, nth: usize, row: &GridRow) -> String {
    let label = escape(&row.label);
    let mut cells = match is_dense(grid) {
        false => format!("<th scope=\"row\" class=\"short\">{label}</th>"),
        true if nth.is_multiple_of(ROWS_NAMED) => {
            format!("<th scope=\"row\" rowspan=\"{ROWS_NAMED}\">{label}</th>")
        }
        true => String::new(),
    };
    if !is_dense(grid) {
        for (column, value) in grid.columns.iter().zip(&row.values) {
            let class = value_class(column.align);
            cells.push_str(&format!("<td class=\"{class}\">{}</td>", escape(value)));
        }
    }
    if !grid.parts.is_empty() {
        cells.push_str(&format!("<td class=\"bar\">{}</td>", bar(grid, row)));
    }
    cells.push_str(&format!("<td class=\"strip\">{}</td>", strip(grid, row)));
    format!("<tr>{cells}</tr>\n")
}

/// The parts of a row as a stacked bar, in percent.
fn bar(grid: &Grid, row: &GridRow) -> String {
    let mut from = 0.0;
    let mut parts = String::new();
    for (nth, (part, share)) in grid.parts.iter().zip(&row.bar).enumerate() {
        if *share >= 0.05 {
            let class = part_class(part, nth);
            parts.push_str(&format!(
                "<rect class=\"{class}\" x=\"{from:.1}\" width=\"{share:.1}\" height=\"1\"></rect>"
            ));
        }
        from += share;
    }
    let gone = if row.bar.is_empty() { " gone" } else { "" };
    format!(
        "<svg class=\"cells{gone}\" viewBox=\"0 0 100 1\" preserveAspectRatio=\"none\">\
         <title>{}: {}</title>{parts}</svg>",
        escape(&row.label),
        escape(&row_words(grid, row))
    )
}

/// The parts of a row in words.
fn row_words(grid: &Grid, row: &GridRow) -> String {
    if row.bar.is_empty() {
        return "not read".to_string();
    }
    let part_words = |(part, share): (&String, &f64)| format!("{part} {share:.1} %");
    grid.parts.iter().zip(&row.bar).map(part_words).collect::<Vec<_>>().join(", ")
}

/// The cells of a row: one path for each shade, a piece of it for each run of cells.
fn strip(grid: &Grid, row: &GridRow) -> String {
    let shade = |cell: &Option<f64>| cell.map(|value| shade(grid, value));
    let shades: Vec<Option<usize>> = row.cells.iter().map(shade).collect();
    let mut paths = vec![String::new(); SHADES + 1];
    let mut at = 0;
    for run in shades.chunk_by(|left, right| left == right) {
        let path = match run[0] {
            None => &mut paths[0],
            Some(0) => {
                at += run.len();
                continue;
            }
            Some(shade) => &mut paths[shade],
        };
        path.push_str(&format!("M{at} .5h{}", run.len()));
        at += run.len();
    }
    let path = |(shade, d): (usize, &String)| match (shade, d.is_empty()) {
        (_, true) => String::new(),
        (0, _) => format!("<path class=\"gone\" d=\"{d}\"></path>"),
        (shade, _) => format!("<path class=\"shade-{shade}\" d=\"{d}\"></path>"),
    };
    let drawn: String = paths.iter().enumerate().map(path).collect();
    let count = row.cells.len();
    format!(
        "<svg class=\"cells\" viewBox=\"0 0 {count} 1\" preserveAspectRatio=\"none\">{drawn}{}\
         </svg>",
        mask(row)
    )
}

fn shade(grid: &Grid, value: f64) -> usize {
    let share = (value / grid.full).clamp(0.0, 1.0) * SHADES as f64;
    match grid.across {
        // A little use all the time is noise.
        Across::Time { .. } => share.round() as usize,
        // Even a few interrupts on another CPU matter.
        Across::Cpus => share.ceil() as usize,
    }
}

/// A line below the cells that may have a value.
fn mask(row: &GridRow) -> String {
    let mut d = String::new();
    let mut at = 0;
    for run in row.allowed.chunk_by(|left, right| left == right) {
        if run[0] {
            d.push_str(&format!("M{at} .93h{}", run.len()));
        }
        at += run.len();
    }
    if d.is_empty() { d } else { format!("<path class=\"mask\" d=\"{d}\"></path>") }
}

/// All values as a table, unfolded on demand.
fn values(grid: &Grid) -> String {
    let number = |text: &str| format!("<th scope=\"col\" class=\"number\">{}</th>", escape(text));
    let titles = grid.parts.iter().map(String::as_str);
    let titles = titles.chain(grid.columns.iter().map(|column| column.title.as_str()));
    let heads: String = titles.map(number).collect();
    let row = |row: &GridRow| {
        let cell = |text: String| format!("<td class=\"number\">{}</td>", escape(&text));
        let share =
            |nth: usize| row.bar.get(nth).map_or("-".to_string(), |one| format!("{one:.1}"));
        let bars: String = (0..grid.parts.len()).map(share).map(cell).collect();
        let values: String = row.values.iter().cloned().map(cell).collect();
        format!("<tr><th scope=\"row\">{}</th>{bars}{values}</tr>\n", escape(&row.label))
    };
    let rows: String = grid.rows.iter().map(row).collect();
    format!(
        "<details class=\"values\"><summary>Values</summary>\n\
         <div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"{}, values\">\n\
         <table><thead><tr><th scope=\"col\">{}</th>{heads}</tr></thead>\n\
         <tbody>\n{rows}</tbody></table></div></details>\n",
        escape(&grid.title),
        escape(&grid.rows_are)
    )
}
