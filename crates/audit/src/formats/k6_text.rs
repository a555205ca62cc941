//! k6, the summary at the end of a test, as older and newer versions print it.
//!
//! Source: as for the JSON (`k6_json.rs`). Times are rounded to two decimal places, each in its own
//! unit.

use super::k6_json::finish;
use super::{Format, Reader, Told};
use crate::page::{Page, Spot};
use crate::printed::{bytes, count, digits, go_duration, rounded, seconds};
use model::audit::{Figure, Foreign, Latencies, Percentile, Since};

pub(super) const FORMAT: Format = Format {
    id: "k6-text",
    tool: "k6",
    about: "summary of k6 as text",
    example: "k6 run script.js > k6.txt",
    reader: Reader::Text(is, read),
};

fn is(page: Page<'_>) -> bool {
    metric(page, "http_reqs").is_some()
}

/// The text after `name......:`.
fn metric<'a>(page: Page<'a>, name: &str) -> Option<Spot<'a>> {
    page.lines().find_map(|spot| {
        let dots = spot.starting(name)?;
        let rest = dots.text.trim_start_matches('.');
        let is_dotted = rest.len() < dots.text.len();
        let text = rest.strip_prefix(':').filter(|_| is_dotted)?.trim_start();
        Some(Spot { text, ..dots })
    })
}

fn read(page: Page<'_>) -> Told {
    let requests = metric(page, "http_reqs").ok_or("metric http_reqs")?;
    let words = requests.words();
    let number = |index: usize, read: fn(&str, u64) -> Option<Figure>| {
        read(words.get(index)?, requests.line)
    };
    let all = number(0, count).ok_or("count of http_reqs")?;
    let users = metric(page, "vus_max").and_then(|spot| spot.read(count));
    let looping = page.before(" looping VUs").and_then(|spot| spot.read(count));
    let planned = page.before(" iterations/s for").and_then(|spot| spot.read(rounded));
    let bytes_row = metric(page, "data_received");
    let mut told = Foreign {
        connections: users.or(looping),
        target_rate: planned,
        rate: number(1, rounded),
        dropped: metric(page, "dropped_iterations").and_then(|spot| spot.read(count)),
        bytes: bytes_row.and_then(|spot| bytes(spot.text, 1e3, spot.line)),
        latencies: metric(page, "http_req_duration")
            .map(|row| latencies(row, &all))
            .into_iter()
            .collect(),
        ..Foreign::default()
    };
    let failed = metric(page, "http_req_failed").and_then(failed);
    finish(&mut told, all, failed);
    Ok(told)
}

/// `5.00%  50 out of 1000` or, in older versions, a mark before each of two counts.
fn failed(spot: Spot<'_>) -> Option<Figure> {
    let counts = spot.text.split_once('%')?.1;
    let first = counts.trim_start_matches(|char: char| !char.is_ascii_digit());
    digits(first)?;
    count(first, spot.line)
}

/// `avg=2.93ms min=22.42us med=2.21ms max=24.05ms p(90)=4.78ms p(95)=7.5ms`.
fn latencies(row: Spot<'_>, requests: &Figure) -> Latencies {
    let words = row.words();
    let time = |text: &str| seconds(text, row.line).or_else(|| go_duration(text, row.line));
    let of = |name: &str| {
        words.iter().find_map(|word| {
            let (key, value) = word.split_once('=')?;
            if key == name { time(value) } else { None }
        })
    };
    let rank = |word: &&str| {
        let (key, value) = word.split_once('=')?;
        let share: f64 = key.strip_prefix("p(")?.strip_suffix(')')?.parse().ok()?;
        let value = time(value)?;
        (0.0..=100.0).contains(&share).then_some(Percentile { share: share / 100.0, value })
    };
    let mut percentiles: Vec<Percentile> = words.iter().filter_map(rank).collect();
    if percentiles.iter().all(|one| one.share != 0.5) {
        percentiles.extend(of("med").map(|value| Percentile { share: 0.5, value }));
    }
    Percentile::sort(&mut percentiles);
    Latencies {
        since: Since::Send,
        mean: of("avg"),
        min: of("min"),
        max: of("max"),
        percentiles,
        samples: Some(requests.clone()),
        ..Latencies::default()
    }
}

#[cfg(test)]
mod tests {
    use crate::read::read;
    use model::audit::Given;

    /// k6 prints times from a minute on in several parts.
    #[test]
    fn times_of_minutes_are_read_as_a_whole() {
        let text = "http_req_duration..: avg=12.5s min=1.02ms med=8s max=1m2.5s p(95)=1m0s\n\
                    http_reqs..........: 1000 8.3/s\n";
        let told = read(&mut text.as_bytes(), &Given::default()).unwrap();
        let latency = &told.latencies[0];
        assert_eq!(latency.max.as_ref().unwrap().value, 62.5);
        assert_eq!(latency.at(0.95).unwrap().value.value, 60.0);
    }
}
