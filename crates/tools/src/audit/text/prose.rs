//! Figures of a sentence: a number, its unit, and the words beside it.

use super::Stated;
use crate::audit::page::Spot;
use crate::audit::printed::{Digits, data_unit, digits, per_second, rounded, scaled, second_unit};
use model::audit::Figure;

/// Words of one line that are examined.
const WORDS_MAX: usize = 2000;

const RATES: [&str; 12] = [
    "rps",
    "req/s",
    "reqs/s",
    "request/s",
    "requests/s",
    "requests/sec",
    "req/sec",
    "qps",
    "reqs/sec",
    "requests/second",
    "rq/s",
    "r/s",
];

/// Every sentence of a line, with the figures that belong together. Where a text is about packet
/// steering, `RPS` after a small number is not a rate.
pub(super) fn sentences(spot: Spot<'_>, about: About) -> Vec<(u64, Vec<Stated>)> {
    if is_glued(spot.text) {
        return Vec::new();
    }
    let parts = spot.text.split(". ").take(200);
    parts.flat_map(|text| of_sentence(Spot { text, ..spot }, about)).collect()
}

/// What `RPS` means in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum About {
    /// Requests per second.
    Requests,
    /// Requests per second, and receive packet steering.
    Steering,
}

impl About {
    /// By the words of a text, in lower case.
    pub(super) fn of(small: &str) -> Self {
        let is_between = |char: char| !(char.is_alphanumeric() || char == '_');
        let is_setting = |word: &str| ["rfs", "rps_cpus", "rps_sock_flow_entries"].contains(&word);
        let is_named = small.contains("packet steering");
        match is_named || small.split(is_between).any(is_setting) {
            true => Self::Steering,
            false => Self::Requests,
        }
    }
}

/// The least number before `RPS` that is a rate in a text about packet steering: such settings are
/// numbered, and counted by CPUs and queues.
const RATE_MIN: f64 = 1000.0;

/// Whether columns of a table stand in a line without anything between them, as copied pages have
/// it: `only601,2341,214,463155ms`.
pub(super) fn is_glued(line: &str) -> bool {
    let is_number = |char: char| char.is_ascii_digit() || char == ',';
    let runs = line.split(|char| !is_number(char)).map(|run| run.trim_matches(','));
    runs.filter(|run| run.matches(',').count() > 1).any(|run| {
        let groups: Vec<usize> = run.split(',').skip(1).map(str::len).collect();
        groups.contains(&3) && groups.iter().any(|length| *length > 3)
    })
}

/// Whether a figure is in a line: a rate, a time or bytes per second, also of a link or of a CPU.
pub(super) fn has_figure(line: &str, about: About) -> bool {
    let words: Vec<&str> = line.split_whitespace().take(WORDS_MAX).collect();
    let is_figure = |at: usize| {
        let word = words[at].trim_start_matches(|char: char| !char.is_ascii_digit());
        let number = digits(word).filter(|number| number.value.is_finite());
        number.is_some_and(|number| {
            let (unit, _) = unit(number.rest, &words, at);
            let bare = unit.trim_start_matches(['k', 'm']);
            second_unit(&unit).is_some()
                || (is_rate(bare) && (about == About::Requests || number.value >= RATE_MIN))
                || bytes_unit(number, words.get(at + 1)).is_some()
        })
    };
    is_glued(line) || (0..words.len()).any(is_figure)
}

/// What a line says of the depth: none where it says nothing, and within none where it is not one
/// depth, as in `1→50`.
pub(super) fn depth(spot: Spot<'_>) -> Option<Option<Figure>> {
    let words: Vec<&str> = spot.text.split_whitespace().take(WORDS_MAX).collect();
    let named = ["pipelining", "depth"];
    (1..words.len()).find_map(|at| match plain(words[at - 1]).as_str() {
        "without" | "no" if plain(words[at]) == "pipelining" => {
            Some(Some(Figure::exact(1.0, spot.line)))
        }
        before if named.contains(&before) => {
            digits(words[at])?;
            Some(depth_of(words[at], spot.line))
        }
        _ => None,
    })
}

/// A whole number with nothing behind it but the end of a sentence.
fn depth_of(word: &str, line: u64) -> Option<Figure> {
    let number = digits(word).filter(|number| number.is_whole && number.value >= 1.0)?;
    let is_end = |char: char| ".,;:)`*\"".contains(char);
    number.rest.chars().all(is_end).then(|| Figure::exact(number.value, line))
}

fn of_sentence(spot: Spot<'_>, about: About) -> Vec<(u64, Vec<Stated>)> {
    let words: Vec<&str> = spot.text.split_whitespace().take(WORDS_MAX).collect();
    let report = (0..words.len()).filter_map(|at| figure(&words, at, spot.line));
    let is_rate = |report: &Stated| match (about, report) {
        (About::Steering, Stated::Rate(rate)) => rate.value >= RATE_MIN,
        _ => true,
    };
    let report: Vec<Stated> = report.filter(is_rate).collect();
    let kind = std::mem::discriminant::<Stated>;
    let is_same = |a: &Stated, b: &Stated| match (a, b) {
        (Stated::Rank(a, _), Stated::Rank(b, _)) => a == b,
        _ => kind(a) == kind(b),
    };
    let is_twice = |one: &Stated| report.iter().filter(|other| is_same(one, other)).count() > 1;
    match report.iter().any(is_twice) {
        true => report.into_iter().map(|one| (spot.line, vec![one])).collect(),
        false => vec![(spot.line, report)],
    }
}

/// The figure that starts at a word, judged by the words before and after it.
fn figure(words: &[&str], at: usize, line: u64) -> Option<Stated> {
    let word = words[at].trim_start_matches(['(', '~', '≈', '<', '*', '`', '"', '“']);
    let number = digits(word)?;
    if number.value < 0.0 {
        return None;
    }
    let (unit, behind) = unit(number.rest, words, at);
    let before =
        |back: usize| at.checked_sub(back).map_or(String::new(), |index| plain(words[index]));
    if let Some(scale) = second_unit(&unit) {
        return latency(scaled(number, scale, line, word), words, (at, behind));
    }
    if let Some(rate) = rate(word, &unit, line) {
        return Some(rate);
    }
    if let Some(scale) = bytes_unit(number, words.get(at + 1)) {
        return Some(Stated::BytesRate(scaled(number, scale, line, word)));
    }
    let next = plain(words.get(behind).unwrap_or(&""));
    let next = if unit.is_empty() { next } else { unit.clone() };
    let counted = || rounded(word, line).map(|figure| exact_if_whole(number, figure));
    match next.as_str() {
        "connections" | "connection" | "conns" => Some(Stated::Connections(counted()?)),
        "requests" if before(1) != "per" => Some(Stated::Requests(counted()?)),
        "in-flight" => Some(Stated::InFlight(counted()?)),
        _ if before(1) == "pipelining" || before(1) == "depth" => {
            Some(Stated::Depth(depth_of(word, line)?))
        }
        _ => None,
    }
}

fn exact_if_whole(number: Digits<'_>, figure: Figure) -> Figure {
    let has_suffix = number.rest.starts_with(['k', 'K', 'M', 'G', 'T']);
    if number.is_whole && !has_suffix { Figure::exact(number.value, figure.line) } else { figure }
}

/// The unit of a number, and the index of the word after it.
fn unit(rest: &str, words: &[&str], at: usize) -> (String, usize) {
    let is_thousands = ["k", "K", "M", "G"].contains(&rest.trim_end_matches(['*', '`', '"']));
    let here = if is_thousands { String::new() } else { plain(rest) };
    if !here.is_empty() {
        return (here, at + 1);
    }
    let next = words.get(at + 1).map(|word| plain(word)).unwrap_or_default();
    let is_unit = second_unit(&next).is_some() || is_rate(&next);
    if is_unit { (next, at + 2) } else { (here, at + 1) }
}

/// Lower case, without surrounding punctuation.
fn plain(word: &str) -> String {
    trimmed(word).chars().take(40).collect::<String>().to_lowercase()
}

pub(super) fn trimmed(word: &str) -> &str {
    word.trim_matches(|char: char| !(char.is_alphanumeric() || char == '/'))
}

fn is_rate(word: &str) -> bool {
    RATES.contains(&word)
}

/// `1.2M requests/s`, `200k RPS`, `790k rps`.
fn rate(word: &str, unit: &str, line: u64) -> Option<Stated> {
    let bare = unit.trim_start_matches(['k', 'm']);
    let is_one = is_rate(unit) || is_rate(bare);
    is_one.then(|| rounded(word, line)).flatten().map(Stated::Rate)
}

/// The bytes in the unit of `3.49 GB/s` or `285MB/s`. Bits in a sentence are the speed of a link
/// more often than a figure.
fn bytes_unit(number: Digits<'_>, next: Option<&&str>) -> Option<f64> {
    let unit = match trimmed(number.rest) {
        "" => trimmed(next?),
        unit => unit,
    };
    let (factor, size) = data_unit(per_second(unit)?)?;
    (size == 1.0).then_some(factor)
}

/// A time is a latency if a percentile, a mean or a maximum is named next to it.
fn latency(figure: Figure, words: &[&str], (at, behind): (usize, usize)) -> Option<Stated> {
    let names = |index: usize| words.get(index).map(|word| plain(word)).unwrap_or_default();
    let behind_it = [names(behind)];
    let before = (1..=4).filter_map(|back| at.checked_sub(back)).map(names);
    // Another number in between has its own name.
    let before = before.take_while(|word| rank(word).is_some() || digits(word).is_none());
    let near: Vec<String> = behind_it.into_iter().chain(before).collect();
    let named = near.iter().find_map(|word| rank(word));
    if let Some(share) = named {
        return Some(Stated::Rank(share, figure));
    }
    let holds = |names: &[&str]| near.iter().any(|word| names.contains(&word.as_str()));
    let is_latency = holds(&["latency", "response", "latencies"]);
    match () {
        () if holds(&["mean", "average", "avg"]) => Some(Stated::Mean(figure)),
        () if holds(&["maximum", "max", "worst"]) => Some(Stated::Max(figure)),
        () if is_latency && holds(&["median"]) => Some(Stated::Rank(0.5, figure)),
        () => None,
    }
}

/// The share of a name: `p99`, `p99.9`, `median`.
pub(super) fn rank(word: &str) -> Option<f64> {
    if word == "median" {
        return Some(0.5);
    }
    let text = word.strip_prefix('p')?;
    let is_number =
        !text.is_empty() && text.chars().all(|char| char.is_ascii_digit() || char == '.');
    let share: f64 = if is_number { text.parse().ok()? } else { return None };
    let percent = if share > 100.0 && text.starts_with('9') {
        // p999 is 99.9, p9999 is 99.99.
        share / 10_f64.powi(text.len() as i32 - 2)
    } else {
        share
    };
    (percent > 0.0 && percent < 100.0).then_some(percent / 100.0)
}
