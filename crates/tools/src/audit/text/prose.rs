//! Figures of a sentence: a number, its unit, and the words beside it.

use super::found::{Found, Role};
use crate::audit::page::Spot;
use crate::audit::printed::{Digits, data_unit, digits, per_second, scaled, second_unit};
use model::audit::{Figure, Why};

/// Words of one line that are examined.
const WORDS_MAX: usize = 2000;
/// The most letters of a figure that are kept.
const PRINTED_MAX: usize = 40;
/// Words behind a number that may be its unit.
const UNIT_MAX: usize = 7;

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
/// Labels of a number of requests.
const REQUESTS: [&str; 3] = ["requests", "http_reqs", "reqs"];
/// Words between a number and what it counts.
const BETWEEN: [&str; 20] = [
    "concurrent",
    "simultaneous",
    "parallel",
    "open",
    "persistent",
    "keep-alive",
    "keepalive",
    "tcp",
    "http",
    "api",
    "json",
    "client",
    "node.js",
    "autocannon",
    "worker",
    "total",
    "avg",
    "average",
    "actual",
    "sustained",
];
/// Words before a number that is not meant exactly.
const ABOUT: [&str; 8] =
    ["about", "around", "roughly", "nearly", "almost", "approximately", "approx", "circa"];
/// How far such a number may be off.
const ABOUT_SHARE: f64 = 0.1;
/// Words behind `RPS` where it is the name of receive packet steering.
const STEERED: [&str; 18] = [
    "only", "enabled", "disabled", "mask", "masks", "bitmask", "queue", "queues", "cpu", "cpus",
    "core", "cores", "flow", "flows", "entries", "table", "setting", "settings",
];
/// Words that name a link, and what it can carry.
const LINKS: [&str; 10] = [
    "nic",
    "link",
    "network",
    "interface",
    "ethernet",
    "ceiling",
    "capacity",
    "limit",
    "dedicated",
    "bandwidth",
];
/// Words for what a link can carry, beside a figure.
const SPEEDS: [&str; 2] = ["ceiling", "capacity"];
/// States of CPUs: as mpstat and people name them, and as top does.
const STATES: [(&str, &[&str], &str); 9] = [
    ("usr", &["usr", "user"], "us"),
    ("sys", &["sys", "system"], "sy"),
    ("nice", &["nice"], "ni"),
    ("idle", &["idle"], "id"),
    ("iowait", &["iowait"], "wa"),
    ("irq", &["irq", "hardirq"], "hi"),
    ("soft", &["soft", "softirq"], "si"),
    ("steal", &["steal"], "st"),
    ("busy", &["busy"], ""),
];

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

/// Every sentence of a line, with its figures.
pub(super) fn sentences(spot: Spot<'_>, about: About) -> Vec<Vec<Found>> {
    if is_glued(spot.text) {
        return vec![vec![Found::open(Why::Glued, spot.text, spot.line)]];
    }
    let parts = spot.text.split(". ").flat_map(divided).take(200);
    parts.map(|text| Sentence::of(Spot { text, ..spot }, about).figures()).collect()
}

/// Sentences without a space between them: `per second.We`.
fn divided(text: &str) -> Vec<&str> {
    let bytes = text.as_bytes();
    let is_end = |at: usize| {
        at > 1
            && bytes[at] == b'.'
            && bytes[at - 2..at].iter().all(u8::is_ascii_lowercase)
            && bytes.get(at + 1).is_some_and(u8::is_ascii_uppercase)
    };
    let ends = (0..bytes.len()).filter(|at| is_end(*at)).map(|at| at + 1);
    let mut begin = 0;
    let mut parts: Vec<&str> = Vec::new();
    for end in ends.chain([text.len()]) {
        parts.push(&text[begin..end]);
        begin = end;
    }
    parts
}

/// Whether columns of a table stand in a line without anything between them, as copied pages have
/// it: `only601,2341,214,463155ms`.
fn is_glued(line: &str) -> bool {
    let is_number = |char: char| char.is_ascii_digit() || char == ',';
    let runs = line.split(|char| !is_number(char)).map(|run| run.trim_matches(','));
    runs.filter(|run| run.matches(',').count() > 1).any(|run| {
        let groups: Vec<usize> = run.split(',').skip(1).map(str::len).collect();
        groups.contains(&3) && groups.iter().any(|length| *length > 3)
    })
}

/// What a line says of the depth: none where it says nothing, and within none where it is not one
/// depth, as in `1→50`.
pub(super) fn depth(spot: Spot<'_>) -> Option<Option<Figure>> {
    let words: Vec<&str> = spot.text.split_whitespace().take(WORDS_MAX).collect();
    (1..words.len()).find_map(|at| match plain(words[at - 1]).as_str() {
        "without" | "no" if plain(words[at]) == "pipelining" => {
            Some(Some(Figure::exact(1.0, spot.line)))
        }
        "pipelining" | "depth" => {
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

/// Thousands or millions of nothing that is named: `never gets close to 1k`.
fn bare(number: Digits<'_>, at: usize) -> Option<Measured> {
    thousands(trimmed(number.rest))?;
    Some((Unit::Of(Role::Open(Why::Unnamed)), 1.0, at + 1))
}

/// What a number is of, by the words behind it.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Unit {
    Seconds,
    Share,
    /// Bytes per second.
    Bytes,
    /// Bytes per second, counted in bits.
    Bits,
    Of(Role),
}

/// A unit, its factor, and the index of the word behind it.
type Measured = (Unit, f64, usize);

struct Sentence<'a> {
    words: Vec<&'a str>,
    line: u64,
    about: About,
    /// Whether it is the line of `top` about CPUs.
    is_top: bool,
    /// Whether a state of CPUs stands before its share.
    is_state_first: bool,
}

impl<'a> Sentence<'a> {
    fn of(spot: Spot<'a>, about: About) -> Self {
        let words: Vec<&str> =
            spot.text.split_whitespace().flat_map(split).take(WORDS_MAX).collect();
        let is_share =
            |word: &&str| digits(opened(word)).is_some_and(|one| one.rest.starts_with('%'));
        let first = words.iter().position(is_share);
        let is_state_first =
            first.is_some_and(|at| at > 0 && state(&plain(words[at - 1])).is_some());
        let is_top = spot.text.contains("Cpu(s)");
        Self { words, line: spot.line, about, is_top, is_state_first }
    }

    fn figures(&self) -> Vec<Found> {
        (0..self.words.len()).filter_map(|at| self.figure(at)).collect()
    }

    /// The figure that starts at a word.
    fn figure(&self, at: usize) -> Option<Found> {
        let word = opened(self.words[at]);
        let number = digits(word.trim_start_matches(['+', '±', '−']));
        let number = number.filter(|number| number.value.is_finite())?;
        let (number, is_range) = match end_of_range(number.rest) {
            Some(end) => (end, true),
            None => (number, self.is_end_of_range(at)),
        };
        let named = self.unit(number, at).or_else(|| self.labelled(at));
        let named = named.or_else(|| self.compared(number, at));
        let named = named.or_else(|| self.each_second(number, at));
        let (unit, scale, behind) = named.or_else(|| bare(number, at))?;
        let is_difference = word.starts_with(['+', '±', '−', '-']);
        let printed = self.printed(word, (at, behind));
        let open = |why: Why| Some(Found::open(why, &printed, self.line));
        let role = match unit {
            _ if is_range => return open(Why::Range),
            _ if is_difference => return open(Why::Other),
            Unit::Seconds => self.time(scale, (at, behind)),
            Unit::Share => self.share(number.value, (at, behind)),
            Unit::Bytes | Unit::Bits => self.bytes(unit, (at, behind)),
            Unit::Of(Role::Depth) => {
                let figure = depth_of(word, self.line)?;
                return Some(Found { role: Role::Depth, figure });
            }
            Unit::Of(role) => role,
        };
        if let Role::Open(why) = role {
            return open(why);
        }
        let number = Digits { is_whole: number.is_whole && is_count(role), ..number };
        let figure = self.value(number, scale, at);
        Some(Found { role, figure: Figure { printed, ..figure } })
    }

    /// A number with the words that are its unit.
    fn printed(&self, word: &str, (at, behind): (usize, usize)) -> String {
        let unit = self.words[at + 1..behind.max(at + 1)].iter().take(4);
        let all: Vec<&str> = [word].into_iter().chain(unit.copied()).collect();
        let is_end = |char: char| !(char.is_alphanumeric() || char == '%');
        all.join(" ").trim_end_matches(is_end).chars().take(PRINTED_MAX).collect()
    }

    /// The values that a number stands for: a wider range where it is not meant exactly.
    fn value(&self, number: Digits<'_>, scale: f64, at: usize) -> Figure {
        let has_prefix = |marks: [char; 2]| self.words[at].contains(marks);
        let is_about = has_prefix(['~', '≈']) || ABOUT.contains(&&*self.before(at, 1));
        let is_below = has_prefix(['<', '≤']) || ["below", "under"].contains(&&*self.before(at, 1));
        let figure = match number.is_whole && scale == 1.0 {
            true => Figure::exact(number.value, self.line),
            false => scaled(number, scale, self.line, ""),
        };
        let about = if is_about { figure.value * ABOUT_SHARE } else { 0.0 };
        let (low, high) = ((figure.low - about).max(0.0), figure.high + about);
        match is_below {
            true => Figure { low: 0.0, high: figure.value, ..figure },
            false => Figure { low, high, ..figure },
        }
    }

    fn before(&self, at: usize, back: usize) -> String {
        at.checked_sub(back).map_or(String::new(), |index| plain(self.words[index]))
    }

    fn names(&self, index: usize) -> String {
        self.words.get(index).map(|word| plain(word)).unwrap_or_default()
    }

    /// `between 1 and 2 ms`, `1 to 2 ms`: the second number is one end.
    fn is_end_of_range(&self, at: usize) -> bool {
        let opens = ["between", "from"].contains(&&*self.before(at, 3));
        let is_number =
            at > 1 && digits(opened(self.words[at - 2])).is_some_and(|one| one.rest.is_empty());
        let between = self.before(at, 1);
        is_number && (between == "to" || opens && between == "and")
    }

    /// What a number is of by the words behind it, up to the next comma.
    fn unit(&self, number: Digits<'_>, at: usize) -> Option<Measured> {
        // `2.04-million`
        let in_words = number.rest.strip_prefix('-');
        let in_words = in_words.filter(|word| thousands(trimmed(word)).is_some());
        let rest = in_words.unwrap_or(number.rest);
        if rest.starts_with('-') {
            return None;
        }
        let is_closed = |word: &str| word.ends_with([',', ';', ')', '.', ':', ']']);
        let has_unit = rest.contains(|char: char| char.is_alphanumeric() || char == '%');
        let glued = has_unit.then_some((rest, at));
        let is_last = is_closed(self.words[at]);
        let apart = (at + 1..self.words.len()).map(|index| (self.words[index], index));
        let apart = apart.take(if is_last { 0 } else { UNIT_MAX });
        let mut phrase: Vec<(&str, usize)> = Vec::new();
        for (word, index) in glued.into_iter().chain(apart) {
            phrase.push((trimmed(word), index));
            if is_closed(word) {
                break;
            }
        }
        let (first, index) = phrase.first()?;
        let mut scale = thousands(first);
        let mut words = &phrase[..];
        match scale {
            Some(_) => words = &phrase[1..],
            None if index == &at => {
                // `790kRPS` has its factor and its unit in one word.
                let bare = first.trim_start_matches(['k', 'K', 'M']);
                if bare != *first && is_rate(&bare.to_lowercase()) {
                    scale = thousands(&first[..1]);
                }
            }
            None => {}
        }
        let (unit, own, behind) = self.unit_of(words, number.value, scale)?;
        Some((unit, own * scale.unwrap_or(1.0), behind))
    }

    /// What a number in thousands or millions is of by its words.
    fn unit_of(&self, words: &[(&str, usize)], of: f64, scale: Option<f64>) -> Option<Measured> {
        let (value, is_scaled) = (of * scale.unwrap_or(1.0), scale.is_some());
        let (first, index) = *words.first()?;
        if self.is_top
            && let Some((state, ..)) =
                STATES.iter().find(|(.., top)| *top == first.trim_start_matches('%'))
        {
            return Some((Unit::Of(Role::Cpu(state)), 0.01, index + 1));
        }
        if first.starts_with('%') || ["percent", "pct"].contains(&first) {
            return Some((Unit::Share, 0.01, index + 1));
        }
        if let Some(scale) = second_unit(first).filter(|_| !is_scaled) {
            return Some((Unit::Seconds, scale, index + 1));
        }
        let counted = per_second(first).and_then(data_unit);
        if let Some((factor, size)) = counted.filter(|_| !is_scaled) {
            let unit = if size < 1.0 { Unit::Bits } else { Unit::Bytes };
            return Some((unit, factor * size, index + 1));
        }
        if data_unit(first).is_some() {
            return Some((Unit::Of(Role::Open(Why::Other)), 1.0, index + 1));
        }
        let small: Vec<String> = words.iter().map(|(word, _)| word.to_lowercase()).collect();
        let skipped =
            small.iter().take(3).take_while(|word| BETWEEN.contains(&word.as_str())).count();
        let noun = small.get(skipped)?.trim_start_matches(['k', 'm']);
        let noun = if is_rate(noun) { noun } else { &small[skipped] };
        let then = |next: usize| small.get(skipped + next).map_or("", String::as_str);
        let is_each = ["per", "a", "each", "/"].contains(&then(1));
        let is_second = is_each && ["second", "sec", "s"].contains(&then(2));
        let behind =
            |many: usize| words.get(skipped + many - 1).map_or(index + 1, |(_, at)| at + 1);
        let is_flight = then(1) == "in-flight" || (then(1) == "in" && then(2) == "flight");
        let of = |role: Role, many: usize| Some((Unit::Of(role), 1.0, behind(many)));
        match noun {
            "requests" | "reqs" | "req" | "queries" if is_second => {
                self.rate(value, noun, behind(3))
            }
            noun if is_rate(noun) => self.rate(value, noun, behind(1)),
            _ if is_second || is_other_rate(noun) => of(Role::Open(Why::Other), 1),
            "connections" | "connection" | "conns" | "clients" | "vus" => of(Role::Connections, 1),
            "c" if self.is_short(index) => of(Role::Connections, 1),
            "requests" | "reqs" if is_flight => of(Role::InFlight, 3),
            "requests" if is_each => of(Role::Open(Why::Other), 1),
            "requests" => of(Role::Requests, 1),
            "in-flight" => of(Role::InFlight, 1),
            "threads" | "workers" => of(Role::Threads, 1),
            _ => None,
        }
    }

    /// Whether a word is nothing but a number of connections, as in `at 2000c`.
    fn is_short(&self, index: usize) -> bool {
        let word = trimmed(opened(self.words[index]));
        let number = word.strip_suffix('c').unwrap_or_default();
        !number.is_empty()
            && !number.starts_with('0')
            && number.chars().all(|char| char.is_ascii_digit())
    }

    /// A rate of requests, unless `RPS` is the name of something else.
    fn rate(&self, value: f64, noun: &str, behind: usize) -> Option<Measured> {
        let next = self.names(behind);
        let is_steering = self.about == About::Steering && value < RATE_MIN;
        if noun == "rps" && (is_steering || STEERED.contains(&&*next)) {
            return None;
        }
        let before = [1, 2, 3].map(|back| self.names(behind.saturating_sub(back + 1)));
        let is_peak =
            before.iter().any(|word| ["peak", "peaked", "max", "target"].contains(&&**word));
        let is_aim = ["target", "goal", "peak"].contains(&&*next);
        let role = if is_peak || is_aim { Role::Open(Why::Other) } else { Role::Rate };
        Some((Unit::Of(role), 1.0, behind))
    }

    /// What a number is of by the label before it: `Requests/sec: 175225.20`.
    fn labelled(&self, at: usize) -> Option<Measured> {
        let name = self.before(at, 1);
        let of = |role: Role| Some((Unit::Of(role), 1.0, at + 1));
        if ["pipelining", "depth"].contains(&&*name) {
            return of(Role::Depth);
        }
        let label = at.checked_sub(1).map(|index| self.words[index])?;
        if !label.ends_with([':', '=']) {
            return None;
        }
        let scale = thousands(trimmed(digits(opened(self.words[at]))?.rest)).unwrap_or(1.0);
        let is_second = self.before(at, 2) == "per" && self.before(at, 3) == "requests";
        let role = match &*name {
            name if is_rate(name) || is_second => Role::Rate,
            "connections" | "concurrency" | "clients" => Role::Connections,
            "threads" | "workers" => Role::Threads,
            name if REQUESTS.contains(&name) => Role::Requests,
            _ => return None,
        };
        Some((Unit::Of(role), scale, at + 1))
    }

    /// A number beside another one that has the unit of both: `807k vs 809k RPS`.
    fn compared(&self, number: Digits<'_>, at: usize) -> Option<Measured> {
        let between = self.words.get(at + 1)?;
        if !["vs", "vs.", "versus", "→", "->"].contains(between) {
            return None;
        }
        let other = digits(opened(self.words.get(at + 2)?))?;
        let (unit, ..) = self.unit(other, at + 2)?;
        let scale = thousands(trimmed(number.rest)).unwrap_or(1.0);
        (unit == Unit::Of(Role::Rate)).then_some((unit, scale, at + 1))
    }

    /// A number of nothing that is named, each second: the rate of the requests before it, as in
    /// `http_reqs: 16775780 (27959.23/s)`.
    fn each_second(&self, number: Digits<'_>, at: usize) -> Option<Measured> {
        let is_of_requests = REQUESTS.contains(&&*self.before(at, 2));
        let role = if is_of_requests { Role::Rate } else { Role::Open(Why::Other) };
        ["/s", "/sec"].contains(&trimmed(number.rest)).then_some((Unit::Of(role), 1.0, at + 1))
    }

    /// A time is a latency if a percentile, a mean or a maximum is named next to it.
    fn time(&self, scale: f64, (at, behind): (usize, usize)) -> Role {
        let before = (1..=4).filter_map(|back| at.checked_sub(back));
        // Another number in between has its own name.
        let own = |index: &usize| {
            self.rank(*index).is_some() || digits(opened(self.words[*index])).is_none()
        };
        // What stands behind a comma is of another figure, and a label is of the next one.
        let is_closed = self.words[behind - 1].ends_with([',', ';', ')', '.']);
        let is_label =
            |index: usize| self.words.get(index).is_some_and(|word| word.ends_with(['=', ':']));
        let after = (!is_closed && !is_label(behind)).then_some(behind);
        let near: Vec<usize> = after.into_iter().chain(before.take_while(own)).collect();
        let named = near.iter().find_map(|index| self.rank(*index));
        let names: Vec<String> = near.iter().map(|index| self.names(*index)).collect();
        let holds = |of: &[&str]| names.iter().any(|word| of.contains(&word.as_str()));
        let is_latency = holds(&["latency", "response", "latencies"]);
        let of_requests = ["requests", "responses"].contains(&&*self.before(at, 2));
        match named {
            // No response takes minutes.
            _ if scale > 1.0 => Role::Open(Why::Unnamed),
            Some(share) => Role::Rank(share),
            None if holds(&["mean", "average", "avg"]) => Role::Mean,
            None if holds(&["maximum", "max", "worst"]) => Role::Max,
            None if is_latency && holds(&["median"]) => Role::Rank(0.5),
            None if of_requests && ["in", "over", "within"].contains(&&*self.before(at, 1)) => {
                Role::Duration
            }
            None => Role::Open(Why::Unnamed),
        }
    }

    /// The share that a word names: `p99`, `99th percentile`.
    fn rank(&self, index: usize) -> Option<f64> {
        let name = self.names(index);
        if self.names(index + 1).starts_with("percentile") {
            let percent: f64 = name.strip_suffix("th")?.parse().ok()?;
            return (50.0..100.0).contains(&percent).then_some(percent / 100.0);
        }
        rank(&name)
    }

    /// A share of CPUs, or of a link.
    fn share(&self, value: f64, (at, behind): (usize, usize)) -> Role {
        let is_mine = |index: &usize| digits(opened(self.words[*index])).is_none();
        let ends = |word: &str| word.ends_with([',', ';', ')', ':', '|']);
        let mut after: Vec<String> = Vec::new();
        if !ends(self.words[behind - 1]) {
            for index in (behind..self.words.len()).take(3).take_while(is_mine) {
                after.push(self.names(index));
                // So does a dash.
                if self.names(index).is_empty() || ends(self.words[index]) {
                    break;
                }
            }
        }
        let before = (1..=3).filter_map(|back| at.checked_sub(back)).take_while(is_mine);
        let before: Vec<usize> = before.collect();
        // What stands before a comma is of another figure.
        let is_apart = |index: &&usize| !self.words[**index].ends_with([',', ';', ')']);
        let before: Vec<String> =
            before.iter().take_while(is_apart).map(|index| self.names(*index)).collect();
        let first = if self.is_state_first { &before[..] } else { &after[..] };
        let state = first.first().and_then(|word| state(word));
        let state = state.or_else(|| after.iter().take(2).find_map(|word| state_of_all(word)));
        let has = |word: &str| after.iter().chain(&before).any(|one| one == word);
        let is_speed = after.first().is_some_and(|word| word == "of") && self.is_speed(behind + 1);
        match state {
            _ if value > 100.0 || has("headroom") => Role::Open(Why::Other),
            Some(state) => Role::Cpu(state),
            None if after.iter().any(|word| word == "cpu") => Role::Cpu("busy"),
            None if is_speed || LINKS[..2].iter().chain(&SPEEDS).any(|word| has(word)) => {
                Role::LinkShare
            }
            None if has("cpu") => Role::Cpu("busy"),
            None => Role::Open(Why::Unnamed),
        }
    }

    /// Whether a speed in bytes or bits starts at one of the next words.
    fn is_speed(&self, index: usize) -> bool {
        let is = |index: usize| {
            let word = self.words.get(index).map(|word| opened(word));
            let measured = word.and_then(digits).and_then(|number| self.unit(number, index));
            matches!(measured, Some((Unit::Bytes | Unit::Bits, ..)))
        };
        is(index) || is(index + 1)
    }

    /// Bytes per second that were carried, or the speed of a link.
    fn bytes(&self, unit: Unit, (at, behind): (usize, usize)) -> Role {
        let is_closed = self.words[behind - 1].ends_with([',', ';', ')']);
        let after = (behind..behind + 2).map(|index| self.names(index));
        let is_named = !is_closed && after.into_iter().any(|word| LINKS.contains(&&*word));
        let before = [1, 2, 3].map(|back| self.before(at, back));
        let is_whole = before[..2].iter().any(|word| word == "of");
        let is_most = before.iter().any(|word| SPEEDS.contains(&&**word));
        match unit {
            _ if is_named || is_whole || is_most => Role::Link,
            Unit::Bits => Role::Open(Why::Bits),
            _ => Role::BytesRate,
        }
    }
}

/// A word, and its label where it has one in front: `usr:1.14%`, `p99=3ms`.
fn split(word: &str) -> Vec<&str> {
    let is_address = word.contains("://") || word.starts_with(':');
    let at = word.char_indices().zip(word.chars().skip(1)).position(|((_, char), next)| {
        (char == ':' || char == '=') && (next.is_ascii_digit() || "<~≈".contains(next))
    });
    let at = at.and_then(|at| word.char_indices().nth(at + 1)).map(|(at, _)| at);
    match at.filter(|at| !is_address && word[..*at].contains(char::is_alphabetic)) {
        Some(at) => vec![&word[..at], &word[at..]],
        None => vec![word],
    }
}

/// The second number of a range: what follows `1` in `1-5ms`, `1→50`, `48–79%`.
fn end_of_range(rest: &str) -> Option<Digits<'_>> {
    let first = rest.trim_start_matches(['k', 'K', 'M']);
    let end = first.strip_prefix(['-', '–', '→'])?;
    digits(end).filter(|number| number.value >= 0.0)
}

/// The factor of a word for thousands.
fn thousands(word: &str) -> Option<f64> {
    Some(match word {
        "k" | "K" => 1e3,
        "M" => 1e6,
        "G" => 1e9,
        word => match &*word.to_lowercase() {
            "thousand" => 1e3,
            "million" | "mln" => 1e6,
            "billion" => 1e9,
            _ => return None,
        },
    })
}

fn is_other_rate(noun: &str) -> bool {
    let is_unit = |end: &str| noun.len() > end.len() && noun.ends_with(end);
    let is_number = noun.starts_with(|one: char| one.is_ascii_digit());
    noun == "pps" || !is_number && ["/s", "/sec", "/second"].into_iter().any(is_unit)
}

/// The state of CPUs that a word names.
pub(super) fn state(word: &str) -> Option<&'static str> {
    let named = STATES.iter().find(|(_, names, _)| names.contains(&word));
    named.map(|(state, ..)| *state)
}

/// The same, but no word that is also the name of something else, as in `85% CPU, IRQ pinning`.
fn state_of_all(word: &str) -> Option<&'static str> {
    state(word).filter(|state| !["irq", "soft", "steal", "nice"].contains(state))
}

fn opened(word: &str) -> &str {
    word.trim_start_matches(['(', '[', '~', '≈', '<', '≤', '*', '`', '"', '“'])
}

/// Lower case, without surrounding punctuation.
fn plain(word: &str) -> String {
    trimmed(word).chars().take(40).collect::<String>().to_lowercase()
}

pub(super) fn trimmed(word: &str) -> &str {
    word.trim_matches(|char: char| !(char.is_alphanumeric() || char == '/' || char == '%'))
}

/// Whether a whole number of these was counted, and not rounded.
fn is_count(role: Role) -> bool {
    matches!(role, Role::Connections | Role::InFlight | Role::Threads | Role::Requests)
}

fn is_rate(word: &str) -> bool {
    RATES.contains(&word)
}

/// The share of a name: `p99`, `p99.9`, `p(99`, `median`.
pub(super) fn rank(word: &str) -> Option<f64> {
    if ["median", "med"].contains(&word) {
        return Some(0.5);
    }
    // `p(90)`, without what surrounds it.
    let text = word.strip_prefix('p')?.trim_start_matches('(');
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
