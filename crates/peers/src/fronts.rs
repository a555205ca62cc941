//! The tools whose command line we accept: one file each, all of the same shape, listed here.

mod h2load;
mod hey;
mod oha;
mod wrk;
mod wrk2;

use crate::typed::{Typed, TypedOption};
use model::histogram::Histogram;
use model::run::{Point, Run};
use model::tool::Tool;

/// A front end as listed.
#[derive(Debug)]
pub struct Front {
    /// The tool.
    pub tool: Tool,
    /// An example command line.
    pub example: &'static str,
    /// The options that it takes.
    pub options: &'static [TypedOption],
    /// Options of ours, by all their names, with the tool's default value.
    pub defaults: &'static [(&'static [&'static str], &'static str)],
    /// Whether the tool accepts any certificate without being told to.
    pub trusts_any: bool,
    /// An option without which the tool's load would be one that ours cannot be, and why.
    pub needs: Option<(&'static str, &'static str)>,
    /// Whether long names begin with one dash, so that no value is attached to a short one.
    pub has_long_dash: bool,
    /// One of our runs as the tool would print it, without what the tool cannot know.
    pub layout: fn(&Shown<'_>) -> String,
}

/// What a layout draws.
#[derive(Debug, Clone, Copy)]
pub struct Shown<'a> {
    /// The run.
    pub run: &'a Run,
    /// Its one level.
    pub point: &'a Point,
    /// What was typed.
    pub typed: &'a Typed,
}

/// Every front end.
pub const FRONTS: &[Front] = &[wrk::FRONT, wrk2::FRONT, oha::FRONT, hey::FRONT, h2load::FRONT];

/// The front end of a tool, if we have one.
pub fn front(tool: Tool) -> Option<&'static Front> {
    FRONTS.iter().find(|front| front.tool == tool)
}

/// What ends a load: a time, or a number of requests. The first is the default of the tool.
const TIME: &[&str] = &["-d", "-n"];
const COUNT: &[&str] = &["-n", "-d"];

impl Shown<'_> {
    /// Whether an option about the layout was typed.
    fn has(&self, name: &str) -> bool {
        self.typed.layout.contains_key(name)
    }

    /// The whole distribution of latency.
    fn latency(&self) -> Option<&Histogram> {
        self.run.latencies.last().filter(|whole| !whole.is_empty())
    }

    /// Share of the values within one standard deviation of the mean, 0 to 1.
    fn within_stdev(&self) -> Option<f64> {
        let (mean, stdev) = (self.point.latency_ns.mean?, self.point.latency_ns.stdev?);
        let whole = self.latency()?;
        let below = whole.count_up_to(mean.saturating_sub(stdev).saturating_sub(1));
        let within = whole.count_up_to(mean.saturating_add(stdev)) - below;
        Some(within as f64 / whole.count() as f64)
    }

    /// A quantile of the whole distribution, nanoseconds. These tools print one however few values
    /// lie beyond it.
    fn quantile_ns(&self, share: f64) -> Option<f64> {
        self.latency()?.quantile_ns(share).map(|ns| ns as f64)
    }

    /// Responses with any status.
    fn responses(&self) -> u64 {
        self.point.status.values().sum()
    }

    /// Requests that failed with an error of any of these classes.
    fn errors(&self, classes: &[&str]) -> u64 {
        let of = |class: &&str| self.point.errors.get(*class).copied().unwrap_or(0);
        classes.iter().map(of).sum()
    }

    /// Responses by code, in order.
    fn codes(&self) -> impl Iterator<Item = (&String, &u64)> {
        self.point.status_codes.iter().filter(|(_, count)| **count > 0)
    }
}

/// A figure that may be absent, drawn by `show`.
fn or_dash(value: Option<f64>, show: impl Fn(f64) -> String) -> String {
    value.map_or_else(|| "-".to_string(), show)
}

/// One row of a histogram of ten even steps: its upper end in nanoseconds, and its values.
fn steps(shown: &Shown<'_>) -> Vec<(f64, u64)> {
    let (Some(whole), Some(min), Some(max)) =
        (shown.latency(), shown.point.latency_ns.min, shown.point.latency_ns.max)
    else {
        return Vec::new();
    };
    let width = (max.saturating_sub(min)) as f64 / 10.0;
    let mut below = 0;
    (0..=10_u32)
        .map(|step| {
            let end = min as f64 + width * f64::from(step);
            let up_to = if step == 10 { whole.count() } else { whole.count_up_to(end as u64) };
            let own = up_to - below;
            below = up_to;
            (end, own)
        })
        .collect()
}

/// A bar of up to 40 blocks, as hey draws it, or of up to 32 for oha.
fn bar(count: u64, most: u64, blocks: u64) -> String {
    "\u{25a0}".repeat((count * blocks).checked_div(most).unwrap_or(0) as usize)
}
