//! Flame graphs as SVG. Positions are percentages, so that the graph fills the width of the page
//! without scripts; with scripts, a box can be widened.

use super::escape::escape;
use crate::page::{Box, Flame};

/// Height of a box with the gap below it, pixels.
const ROW_PX: u32 = 18;

/// The figure of a graph.
pub(super) fn figure(flame: &Flame) -> String {
    let rows = flame.boxes.iter().map(|one| one.depth).max().map_or(0, |depth| depth + 1);
    let (id, title, note) = (escape(&flame.id), escape(&flame.title), escape(&flame.note));
    let boxes: String = flame.boxes.iter().map(frame).collect();
    format!(
        "<figure class=\"flame\" id=\"{id}\">\n<figcaption><h3>{title}</h3>\n\
         <p class=\"note\">{note}</p></figcaption>\n\
         <svg class=\"boxes\" width=\"100%\" height=\"{}\" role=\"img\" aria-label=\"{title}\">\n\
         {boxes}</svg>\n</figure>\n",
        rows * ROW_PX
    )
}

/// A box and its label, which the nested SVG clips at the right end.
fn frame(one: &Box) -> String {
    let (label, detail) = (escape(&one.label), escape(&one.detail));
    let (from, width, y) = (one.from * 100.0, one.width * 100.0, one.depth * ROW_PX);
    let height = ROW_PX - 1;
    format!(
        "<svg class=\"{}\" x=\"{from:.3}%\" y=\"{y}\" width=\"{width:.3}%\" height=\"{height}\">\
         <title>{detail}</title><rect width=\"100%\" height=\"100%\"></rect>\
         <text x=\"3\" y=\"12\">{label}</text></svg>\n",
        one.hue.class()
    )
}
