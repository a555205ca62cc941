//! k6, the summary at the end of a test, as older and newer versions print it.
//!
//! Source: as for the JSON (`k6_json.rs`). Times are rounded to two decimal places, each in its own
//! unit. Older versions mark the row of a metric that has thresholds with a tick or a cross; newer
//! ones list the thresholds above the rows. The head names the largest rate or number of users of
//! a scenario with stages (`Up to 300.00 iterations/s`).

use super::k6_json::{finish, of_iterations};
use super::{Format, Reader, Report};
use crate::audit::page::{Page, Spot};
use crate::audit::printed::{bytes, count, digits, go_duration, rounded, seconds};
use model::audit::{Figure, Foreign, Latencies, Percentile, Since};

pub(super) const FORMAT: Format = Format {
    id: "k6-text",
    tool: "k6",
    about: "summary of k6 as text",
    example: "k6 run script.js > k6.txt",
    reader: Reader::Text(is, read),
    reads: &[
        ("requests, rate", "row `http_reqs`"),
        ("good, errors", "row `http_req_failed`"),
        (
            "target_rate, dropped",
            "head `N iterations/s`, row `dropped_iterations`, both x requests of an iteration",
        ),
        ("bytes", "row `data_received`"),
        ("mean, min, max, pN", "row `http_req_duration`"),
    ],
    needs: "count of `http_reqs`",
};

/// What a newer version prints once, above the rows of the whole test. With `--summary-mode=full`
/// rows of each group and scenario follow.
pub(super) const ONCE: &str = "█ TOTAL RESULTS";

fn is(page: Page<'_>) -> bool {
    metric(page, "http_reqs").is_some()
}

/// The text after `name......:`.
fn metric<'a>(page: Page<'a>, name: &str) -> Option<Spot<'a>> {
    page.lines().find_map(|spot| {
        let unmarked = spot.starting("✓").or(spot.starting("✗")).unwrap_or(spot);
        let (report, text) = row(unmarked)?;
        (report == name).then_some(Spot { text, ..spot })
    })
}

/// The name and the text of a row `name......: text`.
fn row(spot: Spot<'_>) -> Option<(&str, &str)> {
    let (name, text) = spot.text.split_once(".:")?;
    Some((name.trim_end_matches('.').trim(), text.trim_start()))
}

/// The thresholds that k6 marks as crossed, or the metrics of which it marks one.
fn crossed(page: Page<'_>) -> Vec<String> {
    let mut of = "";
    let mut names = Vec::new();
    for spot in page.lines() {
        let crossed = spot.starting("✗");
        if let Some(rest) = crossed.and_then(|spot| spot.starting("'")) {
            let rule = rest.text.split('\'').next().unwrap_or_default();
            names.push(format!("{of} {rule}"));
        } else if let Some((name, _)) = crossed.and_then(row) {
            names.push(name.to_string());
        } else if !spot.text.contains(['✓', '✗']) && !spot.text.trim().is_empty() {
            of = spot.text.trim();
        }
    }
    names.truncate(super::TALLIES_MAX);
    names.iter().map(|name| name.chars().take(200).collect()).collect()
}

/// The only scenario of a test, as the head describes it: `default: 16 looping VUs for 3s ..`.
fn scenario(page: Page<'_>) -> Option<Spot<'_>> {
    let mut listed = page.lines().filter_map(|spot| spot.starting("* ")?.after(": "));
    listed.next().filter(|_| listed.next().is_none())
}

fn read(page: Page<'_>) -> Report {
    let requests = metric(page, "http_reqs").ok_or("metric http_reqs")?;
    let words = requests.words();
    let number = |index: usize, read: fn(&str, u64) -> Option<Figure>| {
        read(words.get(index)?, requests.line)
    };
    let all = number(0, count).ok_or("count of http_reqs")?;
    let users = metric(page, "vus_max").and_then(|spot| spot.read(count));
    // With several scenarios, or with stages, no rate is planned throughout.
    let constant = scenario(page).filter(|spot| spot.starting("Up to").is_none());
    let of_head = |label| constant.and_then(|spot| spot.before(label));
    let looping = page.before(" max VUs").or(of_head(" looping VUs"));
    let planned = of_head(" iterations/s for").and_then(|spot| spot.read(rounded));
    let iterations = metric(page, "iterations").and_then(|spot| spot.read(count));
    let bytes_row = metric(page, "data_received");
    let mut report = Foreign {
        connections: users.or(looping.and_then(|spot| spot.read(count))),
        target_rate: planned,
        crossed: crossed(page),
        rate: number(1, rounded),
        dropped: metric(page, "dropped_iterations").and_then(|spot| spot.read(count)),
        bytes: bytes_row.and_then(|spot| bytes(spot.text, 1e3, spot.line)),
        latencies: metric(page, "http_req_duration")
            .map(|row| latencies(row, &all))
            .into_iter()
            .collect(),
        ..Foreign::default()
    };
    of_iterations(&mut report, &all, iterations.as_ref());
    let failed = metric(page, "http_req_failed").and_then(failed);
    finish(&mut report, all, failed);
    Ok(report)
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
    use crate::audit::read::read;
    use model::audit::Given;

    const HEAD: &str = "\
  scenarios: (100.00%) 1 scenario, 50 max VUs, 4m30s max duration (incl. graceful stop):
           * default: 100.00 iterations/s for 30s (maxVUs: 10-50, gracefulStop: 30s)
";
    const MARKED: &str = "\
     ✗ status was 200
      ↳  90% — ✓ 900 / ✗ 100
     data_received..................: 62 kB 20 kB/s
     ✗ http_req_duration..............: avg=43.0ms min=10.6ms med=22.9ms max=265.0ms p(95)=211.6ms
       ✓ { expected_response:true }...: avg=24.0ms min=10.6ms med=21.5ms max=77.3ms p(95)=42.5ms
     ✓ http_req_failed................: 10.00% ✓ 300       ✗ 2700
     ✓ http_reqs......................: 3000   100.000000/s
     iterations.....................: 1000   33.333333/s
     vus_max........................: 50     min=50          max=50
";

    #[test]
    fn rows_with_a_mark_are_read_and_what_was_crossed_is_told() {
        let report = read(&mut MARKED.as_bytes(), &Given::default()).unwrap();
        assert_eq!(report.latencies[0].mean.as_ref().unwrap().printed, "43.0ms");
        assert_eq!((report.failed.unwrap().value, report.requests.unwrap().value), (300.0, 3000.0));
        assert_eq!(report.crossed, ["http_req_duration"]);
        let listed = "  █ THRESHOLDS\n\n    http_req_duration\n    ✓ 'p(90)<1000' p(90)=3ms\n    \
                      ✗ 'p(95)<2' p(95)=7.5ms\n\n    http_req_failed\n    ✗ 'rate<0.01' \
                      rate=9.95%\n\n  █ TOTAL RESULTS\n\n    ✗ status was 200\n      \
                      ↳  57% — ✓ 4 / ✗ 3\n    http_reqs....: 1000 8.3/s\n";
        let report = read(&mut listed.as_bytes(), &Given::default()).unwrap();
        assert_eq!(report.crossed, ["http_req_duration p(95)<2", "http_req_failed rate<0.01"]);
    }

    /// 100 iterations a second were planned, of three requests each, and a third of them was made.
    #[test]
    fn iterations_are_not_requests() {
        let text = format!("{HEAD}{MARKED}     dropped_iterations.............: 2000   66.7/s\n");
        let report = read(&mut text.as_bytes(), &Given::default()).unwrap();
        let values = [&report.target_rate, &report.dropped, &report.rate];
        assert_eq!(values.map(|one| one.as_ref().unwrap().value), [300.0, 6000.0, 100.0]);
        assert_eq!(report.target_rate.unwrap().printed, "100.00 x 3");
    }

    #[test]
    fn the_largest_rate_of_stages_is_not_planned_throughout() {
        let staged = HEAD.replace("100.00 iter", "Up to 100.00 iter");
        let several = format!("{HEAD}           * other: 5.00 iterations/s for 30s (maxVUs: 9)\n");
        for head in [staged, several] {
            let text = format!("{head}{MARKED}");
            let report = read(&mut text.as_bytes(), &Given::default()).unwrap();
            assert_eq!((report.target_rate, report.connections.unwrap().value), (None, 50.0));
        }
    }

    #[test]
    fn rows_of_groups_are_not_those_of_the_test() {
        let total = format!("  █ TOTAL RESULTS\n\n{MARKED}\n");
        let group =
            "  █ GROUP: a\n\n    http_req_duration....: avg=9ms\n    http_reqs....: 9 1/s\n";
        let report = read(&mut format!("{total}{group}").as_bytes(), &Given::default()).unwrap();
        assert_eq!(report.requests.unwrap().value, 3000.0);
        assert!(read(&mut total.repeat(2).as_bytes(), &Given::default()).is_err());
    }

    /// k6 prints times from a minute on in several parts.
    #[test]
    fn times_of_minutes_are_read_as_a_whole() {
        let text = "http_req_duration..: avg=12.5s min=1.02ms med=8s max=1m2.5s p(95)=1m0s\n\
                    http_reqs..........: 1000 8.3/s\n";
        let report = read(&mut text.as_bytes(), &Given::default()).unwrap();
        let latency = &report.latencies[0];
        assert_eq!(latency.max.as_ref().unwrap().value, 62.5);
        assert_eq!(latency.at(0.95).unwrap().value.value, 60.0);
    }
}
