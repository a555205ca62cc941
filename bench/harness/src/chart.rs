//! bench.svg: CPU time per request as bars, one panel per row, whiskers from min to max.
//!
//! Each panel has a scale of its own, because depth changes costs by an order of magnitude. A bar
//! that would make all others invisible is broken, and says so.

use super::bounds::{Judged, Verdict};
use super::compare::{Comparison, Summary};
use super::rows::Figure;
use super::slot::RowResult;
use super::statistics::Spread;
use std::fmt::Write;

const WIDTH: f64 = 920.0;
const MARGIN: f64 = 24.0;
const NAMES: f64 = 164.0;
const VALUES: f64 = 218.0;
const BAR: f64 = 15.0;
const LINE: f64 = 23.0;
const PANEL_HEAD: f64 = 58.0;
const PANEL_GAP: f64 = 26.0;
const NOTE: f64 = 18.0;
const HEAD: f64 = 74.0;
/// Bars longer than this many times the bar of the subject are broken.
const BROKEN_AT: f64 = 3.2;

const STYLE: &str = "\
text{font-family:system-ui,'Segoe UI','DejaVu Sans',sans-serif;fill:#1c2430}\
.title{font-size:20px;font-weight:600}.sub{font-size:12.5px;fill:#566173}\
.row{font-size:15px;font-weight:600}.name{font-size:13px}\
.value{font-size:12.5px;font-variant-numeric:tabular-nums}\
.dim{fill:#6b7686}.met{fill:#1a7f4b}.missed{fill:#c0362c}";

/// Draws all rows that have something to show.
pub fn svg(results: &[RowResult], rounds: u32, seconds: u32, judged: &[Judged]) -> String {
    let mut body = String::new();
    let mut y = HEAD;
    for result in results {
        let comparison = Comparison::of(result, rounds);
        let summaries = comparison.summaries();
        if summaries.iter().all(|summary| summary.cost_ns.is_none()) {
            continue;
        }
        let own: Vec<&Judged> = judged.iter().filter(|j| j.row == result.row.name).collect();
        let panel = Panel { result, comparison: &comparison, summaries: &summaries, judged: &own };
        y = panel.draw(&mut body, y) + PANEL_GAP;
    }
    let height = y + 4.0;
    let sub = format!(
        "median of {rounds} interleaved rounds of {seconds} s, whiskers from min to max; server on \
         CPU {}, client on CPU {}; less is better",
        super::rounds::SERVER_CPU,
        super::rounds::CLIENT_CPU
    );
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height}\" \
         viewBox=\"0 0 {WIDTH} {height}\">\n<style>{STYLE}</style>\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n\
         {}{}{body}</svg>\n",
        text(MARGIN, 36.0, "title", "Client CPU time per request"),
        text(MARGIN, 58.0, "sub", &sub),
    )
}

struct Panel<'p> {
    result: &'p RowResult,
    comparison: &'p Comparison<'p>,
    summaries: &'p [Summary],
    judged: &'p [&'p Judged],
}

impl Panel<'_> {
    /// Draws the panel below `top`; gives where it ends.
    fn draw(&self, body: &mut String, top: f64) -> f64 {
        let row = self.result.row;
        let what = match row.figure {
            Figure::ProcessCpu => "us of user and kernel time of the client's process per request",
            Figure::WholeCpu => "us in which the client's CPU was not idle, per request",
        };
        *body += &format!(
            "<line x1=\"{MARGIN}\" x2=\"{}\" y1=\"{top}\" y2=\"{top}\" stroke=\"#dfe4ea\"/>\n",
            WIDTH - MARGIN
        );
        *body += &text(MARGIN, top + 24.0, "row", &format!("{}: {}", row.name, row.title));
        *body += &text(MARGIN, top + 43.0, "sub", what);
        let first = top + PANEL_HEAD;
        let limit_ns = self.limit_ns();
        let scale = (WIDTH - 2.0 * MARGIN - NAMES - VALUES) / limit_ns;
        let mut y = first;
        for summary in self.summaries {
            *body += &self.line(summary, y, scale, limit_ns);
            y += LINE;
        }
        if let Some(floor) = self.cost(self.comparison.floor()) {
            let x = MARGIN + NAMES + floor.median * scale;
            let (from, to) = (first - 4.0, y - 3.0);
            let _ = writeln!(
                body,
                "<line x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{from}\" y2=\"{to}\" stroke=\"#8a94a3\" \
                 stroke-dasharray=\"3 3\"/>"
            );
        }
        for judged in self.judged {
            *body += &note(judged, y + 12.0);
            y += NOTE;
        }
        y
    }

    fn cost(&self, name: Option<&str>) -> Option<Spread> {
        let name = name?;
        self.summaries.iter().find(|summary| summary.contender == name)?.cost_ns
    }

    /// The cost at the right end of the panel.
    fn limit_ns(&self) -> f64 {
        let costs = self.summaries.iter().filter_map(|summary| summary.cost_ns);
        let largest = costs.map(|cost| cost.max).fold(1.0, f64::max);
        let subject = self.cost(Some(self.comparison.subject()));
        subject.map_or(largest, |subject| largest.min(subject.median * BROKEN_AT))
    }

    fn line(&self, summary: &Summary, y: f64, scale: f64, limit_ns: f64) -> String {
        let (left, middle) = (MARGIN + NAMES, y + BAR / 2.0);
        let mut line = text(MARGIN, middle + 4.5, "name", &summary.contender);
        let Some(cost) = summary.cost_ns else {
            return line + &text(left, middle + 4.5, "value dim", "failed");
        };
        let length = cost.median.min(limit_ns) * scale;
        let _ = writeln!(
            line,
            "<rect x=\"{left}\" y=\"{y}\" width=\"{length:.1}\" height=\"{BAR}\" rx=\"2\" \
             fill=\"{}\"/>",
            colour(&summary.contender)
        );
        let whisker = |ns: f64| left + ns.min(limit_ns) * scale;
        if cost.median > limit_ns {
            line += &broken(left + length - 16.0, y);
        } else {
            line += &whiskers(whisker(cost.min), whisker(cost.max), middle);
        }
        let mut label = format!("{} us", show_us(cost.median));
        if let Some(over) = summary.over_floor {
            let _ = write!(label, "   {:.2} x floor", over.median);
        }
        if let Some(share) = summary.user_share {
            let _ = write!(label, "   {:.0} % user", share.median * 100.0);
        }
        let right = whisker(cost.max).max(left + length) + 9.0;
        line + &text(right, middle + 4.5, "value", &label)
    }
}

fn show_us(ns: f64) -> String {
    let us = ns / 1e3;
    if us < 10.0 { format!("{us:.3}") } else { format!("{us:.1}") }
}

fn colour(contender: &str) -> &'static str {
    match contender {
        name if name.starts_with("floor") => "#b6bec9",
        name if name.contains('+') => "#8fb8ea",
        name if name.starts_with("ceiling") => "#2f6fc4",
        _ => "#d9a05b",
    }
}

fn whiskers(from: f64, to: f64, y: f64) -> String {
    let (top, bottom) = (y - 4.0, y + 4.0);
    format!(
        "<path d=\"M{from:.1} {top}V{bottom}M{from:.1} {y}H{to:.1}M{to:.1} {top}V{bottom}\" \
         stroke=\"#1c2430\" stroke-width=\"1.2\" fill=\"none\"/>\n"
    )
}

/// A gap through a bar that is longer than the panel.
fn broken(x: f64, y: f64) -> String {
    let (top, bottom) = (y - 2.0, y + BAR + 2.0);
    format!("<path d=\"M{} {top}L{x} {bottom}\" stroke=\"#ffffff\" stroke-width=\"5\"/>\n", x + 7.0)
}

fn note(judged: &Judged, y: f64) -> String {
    let (class, word) = match &judged.verdict {
        Verdict::Met => ("value met", "met"),
        Verdict::Missed => ("value missed", "missed"),
        Verdict::NotMeasured(_) => ("value dim", "not measured"),
    };
    let figure = judged
        .measured
        .map_or(String::new(), |spread| format!(": {}", judged.bound.measure.show(spread.median)));
    let sentence = format!("{word}: {} {}{figure}", judged.subject, judged.bound.sentence());
    text(MARGIN, y, class, &sentence)
}

fn text(x: f64, y: f64, class: &str, content: &str) -> String {
    let content = content.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    format!("<text x=\"{x:.1}\" y=\"{y:.1}\" class=\"{class}\">{content}</text>\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::tests::sample;

    fn drawn() -> String {
        let result = sample(&[
            ("floor uring", [Some(1000), Some(1200)]),
            ("ceiling uring", [Some(1100), Some(1320)]),
            ("autocannon", [Some(90_000), Some(91_000)]),
            ("a < b", [None, None]),
        ]);
        let comparison = Comparison::of(&result, 2);
        let judged: Vec<Judged> =
            result.row.bounds.iter().map(|bound| bound.judge_row(&comparison)).collect();
        svg(std::slice::from_ref(&result), 2, 3, &judged)
    }

    #[test]
    fn the_chart_shows_everybody_and_stays_inside() {
        let svg = drawn();
        for part in ["floor uring", "1.210 us", "90.5 us", "a &lt; b", "failed", "not measured"] {
            assert!(svg.contains(part), "{part}");
        }
        let widths = svg.split("width=\"").skip(1).filter_map(|rest| rest.split('"').next());
        for width in widths.filter_map(|width| width.parse::<f64>().ok()) {
            assert!(width <= WIDTH, "{width}");
        }
    }

    #[test]
    fn elements_are_closed() {
        let svg = drawn();
        assert_eq!(svg.matches("<text").count(), svg.matches("</text>").count());
        assert!(svg.ends_with("</svg>\n"));
    }

    #[test]
    fn a_row_without_figures_is_left_out() {
        let mut result = sample(&[]);
        result.skipped = Some("no root".into());
        assert!(!svg(&[result], 2, 3, &[]).contains("depth-1"));
    }
}
