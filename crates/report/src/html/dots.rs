//! Rows of dots as a table whose cells are small SVG images: they need no scripts, and labels keep
//! their size on any screen.

use super::escape::escape;
use crate::axis::{shown, step_label};
use crate::page::{Dot, DotRow, Dots, Mark, Span};
use std::collections::BTreeSet;

/// Height of a row of single values, pixels.
const TALL_PX: f64 = 34.0;
/// Height of a row without single values, pixels.
const LOW_PX: f64 = 24.0;
/// Longer names may be broken.
const LONG: usize = 24;
/// Space above and below the dots of a row.
const MARGIN_PX: f64 = 6.0;

/// The share of the width at either end where labels are left out.
const EDGE: f64 = 0.04;

/// The figure.
pub(super) fn figure(of: &Dots, anchors: &BTreeSet<&str>) -> String {
    let (id, title) = (escape(&of.id), escape(&of.title));
    let note = match of.note.as_str() {
        "" => String::new(),
        note => format!("\n<p class=\"note\">{}</p>", escape(note)),
    };
    let span = of.span();
    let rows: String = of.rows.iter().map(|one| row((of, span), one, anchors)).collect();
    format!(
        "<figure class=\"grid dotted\" id=\"{id}\">\n<figcaption><h3>{title}</h3>{note}\
         </figcaption>\n\
         <div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"{title}\">\n<table>\n\
         <thead><tr>{}</tr></thead>\n<tbody>\n{rows}</tbody>\n<tfoot>{}</tfoot>\n</table>\n</div>\n\
         </figure>\n",
        heading(of),
        axis(of, span)
    )
}

fn heading(of: &Dots) -> String {
    let zone = of.zone.as_ref().map_or("", |zone| zone.label.as_str());
    let words = match of.words_are.as_str() {
        "" => String::new(),
        words => format!("<th scope=\"col\" class=\"word\">{}</th>", escape(words)),
    };
    format!(
        "<th scope=\"col\">{}</th><th scope=\"col\" class=\"value number\">{}</th>\
         <th scope=\"col\" class=\"strip\">{}</th>{words}",
        escape(&of.rows_are),
        escape(&of.values_are),
        escape(zone)
    )
}

fn row((of, span): (&Dots, Span), row: &DotRow, anchors: &BTreeSet<&str>) -> String {
    let word = match of.words_are.as_str() {
        "" => String::new(),
        _ => format!("<td class=\"word\">{}</td>", escape(&row.word)),
    };
    format!(
        "<tr><th scope=\"row\" class=\"{}\">{}</th><td class=\"value number\">{}</td>\
         <td class=\"strip\">{}</td>{word}</tr>\n",
        if row.label.chars().count() > LONG { "long-name" } else { "name" },
        escape(&row.label),
        escape(&row.value),
        strip((of, span), row, anchors)
    )
}

/// The position of a value in percent of the width.
fn x(span: Span, value: f64) -> String {
    format!("{:.2}%", 100.0 * span.place(value))
}

/// A rectangle from one value to another.
fn stretch(span: Span, class: &str, ends: (f64, f64), (y, height): (f64, f64)) -> String {
    let (from, to) = span.places(ends);
    let (x, width) = (100.0 * from, 100.0 * (to - from));
    format!(
        "<rect class=\"{class}\" x=\"{x:.2}%\" y=\"{y}\" width=\"{width:.2}%\" \
         height=\"{height}\"></rect>"
    )
}

fn upright(span: Span, class: &str, at: f64, width: u32, (y, height): (f64, f64)) -> String {
    format!(
        "<rect class=\"{class}\" x=\"{}\" y=\"{y}\" width=\"{width}\" height=\"{height}\"></rect>",
        x(span, at)
    )
}

fn strip((of, span): (&Dots, Span), row: &DotRow, anchors: &BTreeSet<&str>) -> String {
    let is_tall = of.rows.iter().any(|row| !row.dots.is_empty());
    let height = if is_tall { TALL_PX } else { LOW_PX };
    let full = (0.0, height);
    let mut drawn = String::new();
    if let Some(zone) = &of.zone {
        drawn.push_str(&stretch(span, "zone", (zone.from, zone.to), full));
    }
    for step in span.steps() {
        drawn.push_str(&upright(span, "step", step, 1, full));
    }
    if let Some(line) = of.line {
        drawn.push_str(&upright(span, "none", line, 2, full));
    }
    if let Some(within) = row.within {
        let thick = if is_tall { height - 2.0 * MARGIN_PX } else { 4.0 };
        let class = if is_tall { "within" } else { "within thin" };
        drawn.push_str(&stretch(span, class, within, ((height - thick) / 2.0, thick)));
    }
    match row.middle {
        Some(at) if is_tall => {
            drawn.push_str(&upright(span, "middle", at, 2, (2.0, height - 4.0)));
        }
        Some(at) => {
            let (at, y) = (x(span, at), height / 2.0);
            drawn.push_str(&format!(
                "<circle class=\"middle\" cx=\"{at}\" cy=\"{y}\" r=\"4.5\"></circle>"
            ));
        }
        None => {}
    }
    drawn.extend(row.dots.iter().map(|one| dot(span, one, height, anchors)));
    format!(
        "<svg class=\"marks\" width=\"100%\" height=\"{height}\"><title>{}</title>{drawn}</svg>",
        escape(&row_words(of, row))
    )
}

/// A row in words.
fn row_words(of: &Dots, row: &DotRow) -> String {
    let mut words = format!("{}: {}", row.label, row.value);
    if let Some((low, high)) = row.within {
        words += &format!(", {} to {}", shown(&of.axis, low), shown(&of.axis, high));
    }
    if !row.word.is_empty() {
        words += &format!(", {}", row.word);
    }
    words
}

fn dot(span: Span, one: &Dot, height: f64, anchors: &BTreeSet<&str>) -> String {
    let y = MARGIN_PX + one.place * (height - 2.0 * MARGIN_PX);
    let (at, detail) = (x(span, one.at), escape(&one.detail));
    let drawn = match one.mark {
        Mark::Broken => format!(
            "<svg class=\"broken\" x=\"{at}\" y=\"{y:.1}\"><title>{detail}</title>\
             <path d=\"M-4 -4L4 4M4 -4L-4 4\"></path></svg>"
        ),
        Mark::Caution | Mark::None => {
            let class = if one.mark == Mark::None { "dot" } else { "dot caution" };
            format!(
                "<circle class=\"{class}\" cx=\"{at}\" cy=\"{y:.1}\" r=\"3.5\">\
                 <title>{detail}</title></circle>"
            )
        }
    };
    match anchors.contains(one.about.as_str()) {
        // The table of visits has the same links, reachable by keyboard.
        true => format!("<a href=\"#{}\" tabindex=\"-1\">{drawn}</a>", escape(&one.about)),
        false => drawn,
    }
}

/// The axis: round values below the rows.
fn axis(of: &Dots, span: Span) -> String {
    let step = |at: &f64| {
        let (at, label) = (x(span, *at), escape(&step_label(&of.axis, *at)));
        format!("<text x=\"{at}\" y=\"13\">{label}</text>")
    };
    // A label at the end would be cut.
    let has_room = |at: &f64| (EDGE..=1.0 - EDGE).contains(&span.place(*at));
    let steps: String = span.steps().iter().filter(|at| has_room(at)).map(step).collect();
    let word = if of.words_are.is_empty() { "" } else { "<td class=\"word\"></td>" };
    format!(
        "<tr><th scope=\"row\"></th><td class=\"value\"></td><td class=\"strip\">\
         <svg class=\"axis\" width=\"100%\" height=\"18\">{steps}</svg></td>{word}</tr>"
    )
}
