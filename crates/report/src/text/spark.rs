//! Charts in a terminal: one line of bars per series, with the smallest and the largest value.

use super::MARGIN;
use super::line::{Ink, TextLine};
use crate::axis::shown;
use crate::page::{Chart, Scale, Series};
use crate::wrap::{fit, left, width};

const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Most bars on a line.
const BARS_MAX: usize = 36;

/// A share of `cells` columns in eighths of a character, so that a short bar moves visibly.
pub(crate) fn bar(share: f64, cells: usize) -> String {
    const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    let eighths = (share.clamp(0.0, 1.0) * (cells * 8) as f64).round() as usize;
    // A share above zero is always visible.
    let eighths = if share > 0.0 { eighths.max(1) } else { eighths };
    format!("{}{}", "█".repeat(eighths / 8), EIGHTHS[eighths % 8])
}

/// A share as the height of one character.
pub(super) fn step(share: f64) -> char {
    BARS[(share.clamp(0.0, 1.0) * (BARS.len() - 1) as f64).round() as usize]
}

/// The view that a chart shows first.
pub(super) fn lines(chart: &Chart, columns: usize) -> Vec<TextLine> {
    let margin = " ".repeat(MARGIN);
    let Some(view) = chart.views.get(chart.selected) else { return Vec::new() };
    let span = match (view.x.first(), view.x.last()) {
        (Some(first), Some(last)) => {
            format!("{} {} to {}", chart.x.label, shown(&chart.x, *first), shown(&chart.x, *last))
        }
        _ => "nothing was measured".to_string(),
    };
    // A view of the whole run has no label; the title says that it is of the whole run.
    let title = match view.label.as_str() {
        "" => format!("{margin}{}", chart.title),
        label => format!("{margin}{}: {label}, {span}", chart.title),
    };
    let mut lines = vec![TextLine::painted(Ink::Strong, fit(&title, columns))];
    let names = view.series.iter().map(|series| width(&series.label)).max().unwrap_or(0).min(20);
    for series in &view.series {
        let name = left(&fit(&series.label, names), names);
        let bars = left(&bars(chart, series), BARS_MAX.min(view.x.len().max(1)));
        let text = format!("{margin}{name}  {bars}  {}", extent(chart, series));
        lines.push(TextLine::painted(Ink::Plain, fit(&text, columns)));
    }
    lines
}

fn extent(chart: &Chart, series: &Series) -> String {
    let values = || series.y.iter().flatten().copied();
    let (low, high) = (values().min_by(f64::total_cmp), values().max_by(f64::total_cmp));
    match (low, high) {
        (Some(low), Some(high)) => {
            format!("{} to {}", shown(&chart.y, low), shown(&chart.y, high))
        }
        _ => "-".to_string(),
    }
}

/// Every series is drawn on its own scale from zero, or on a log axis from its smallest value. With
/// more values than bars, evenly spaced values are drawn.
fn bars(chart: &Chart, series: &Series) -> String {
    let count = series.y.len();
    let drawn = count.min(BARS_MAX);
    let picked: Vec<Option<f64>> =
        (0..drawn).map(|bar| series.y[bar * (count - 1) / (drawn - 1).max(1)]).collect();
    let height = |value: f64| match chart.y.scale {
        Scale::Linear => value,
        Scale::Log => value.max(f64::MIN_POSITIVE).ln(),
    };
    let heights = || picked.iter().flatten().map(|value| height(*value));
    let top = heights().max_by(f64::total_cmp).unwrap_or(0.0);
    let floor = match chart.y.scale {
        Scale::Linear => 0.0,
        // At least a factor of two, so that noise does not look like a cliff.
        Scale::Log => heights().chain([top - 2_f64.ln()]).min_by(f64::total_cmp).unwrap_or(0.0),
    };
    let bar = |value: &Option<f64>| match value {
        None => ' ',
        Some(_) if top <= floor => BARS[0],
        Some(value) => step((height(*value) - floor) / (top - floor)),
    };
    picked.iter().map(bar).collect()
}
