//! JMeter, the lines of its summariser.
//!
//! Source: JMeter 5.6 `reporters/Summariser`. A line `summary =` covers the test so far and is
//! printed every 30 seconds; the last one covers the whole test. Times are whole milliseconds, the
//! duration whole seconds; the rate is computed from milliseconds, and printed with the decimal
//! mark of the user's language.

use super::{Format, Reader, Report};
use crate::audit::page::{Page, Spot};
use crate::audit::printed::{count, digits, rounded, scaled};
use model::audit::{Counts, Figure, Foreign, Latencies, Meaning, RateIs, Since};

pub(super) const FORMAT: Format = Format {
    id: "jmeter-text",
    tool: "jmeter",
    about: "summary lines of JMeter",
    example: "jmeter -n -t plan.jmx > jmeter.txt",
    reader: Reader::Text(is, read),
    reads: &[
        ("requests, rate, duration", "last `summary = N in T = R/s`"),
        ("good, errors", "`Err:`"),
        ("mean, min, max", "`Avg:`, `Min:`, `Max:`"),
    ],
    needs: "number of samples",
};

/// What one test prints once.
pub(super) const ONCE: &str = "Creating summariser";

fn is(page: Page<'_>) -> bool {
    last(page).is_some()
}

fn last(page: Page<'_>) -> Option<Spot<'_>> {
    let lines = page.lines().filter(|spot| spot.text.contains("summary ="));
    lines.filter(|spot| spot.text.contains("Avg:")).last()
}

fn read(page: Page<'_>) -> Report {
    let line = last(page).ok_or("line `summary = ..`")?;
    let after = |label: &str| line.after(label);
    let all = after("summary =").and_then(|spot| spot.read(count)).ok_or("number of samples")?;
    let failed = after("Err:").and_then(|spot| spot.read(count));
    let good = |failed: &Figure| Figure::exact((all.value - failed.value).max(0.0), line.line);
    let ms = |label: &str| {
        let text = line.after(label)?.words().into_iter().next()?.to_string();
        Some(scaled(digits(&text)?, 1e-3, line.line, &text))
    };
    let rate = line.before("/s ").or(line.before("/s")).and_then(|spot| spot.read(rounded));
    Ok(Foreign {
        duration_s: after(" in ").and_then(|spot| clock(spot)),
        rate,
        good: failed.as_ref().map(good),
        failed,
        latencies: vec![Latencies {
            since: Since::Send,
            mean: ms("Avg:"),
            min: ms("Min:"),
            max: ms("Max:"),
            samples: Some(all.clone()),
            step_s: 1e-3,
            ..Latencies::default()
        }],
        requests: Some(all),
        meaning: Meaning {
            counts: Counts::Requests,
            rate_is: RateIs::Quotient,
            edge_s: Some(0.0),
            ..Meaning::default()
        },
        ..Foreign::default()
    })
}

/// `00:01:30`, or seconds in older versions.
fn clock(spot: Spot<'_>) -> Option<Figure> {
    let word = spot.words().into_iter().next()?;
    let parts: Vec<f64> =
        word.split(':').map_while(|part| digits(part).map(|part| part.value)).collect();
    let value = match parts[..] {
        [hours, minutes, seconds] => hours * 3600.0 + minutes * 60.0 + seconds,
        [seconds] => seconds,
        _ => return None,
    };
    let low = if value < 0.0 { value - 1.0 } else { (value - 1.0).max(0.0) };
    let printed = word.chars().take(20).collect();
    Some(Figure { value, low, high: value + 1.0, line: spot.line, printed })
}

#[cfg(test)]
mod tests {
    use crate::audit::read::read;
    use crate::audit::unread::Unread;
    use model::audit::Given;

    const LONG: &str = "\
Creating summariser <summary>
summary +   1000 in 00:00:20 =   50.0/s Avg:    40 Min:    11 Max:   332 Err:     0 (0.00%)
summary +   3000 in 00:00:30 =  100.0/s Avg:    48 Min:     9 Max:   400 Err:     5 (0.17%)
summary =   4000 in 00:00:50 =   80.0/s Avg:    46 Min:     9 Max:   400 Err:     5 (0.13%)
summary +   1000 in 00:00:10 =  100.0/s Avg:    41 Min:    10 Max:   300 Err:     0 (0.00%)
summary =   5000 in 00:01:00 =   83.3/s Avg:    45 Min:     9 Max:   400 Err:     5 (0.10%)
... end of run
";

    #[test]
    fn of_the_totals_so_far_the_last_one_covers_the_test() {
        let report = read(&mut LONG.as_bytes(), &Given::default()).unwrap();
        assert_eq!(
            (report.format.as_str(), report.requests.unwrap().value),
            ("jmeter-text", 5000.0)
        );
        assert_eq!((report.duration_s.unwrap().value, report.rate.unwrap().value), (60.0, 83.3));
        let comma = LONG.replace(".0/s", ",0/s").replace(".3/s", ",3/s").replace("0.", "0,");
        let report = read(&mut comma.as_bytes(), &Given::default()).unwrap();
        assert_eq!(report.rate.unwrap().value, 83.3, "a decimal comma");
        let error = read(&mut LONG.repeat(2).as_bytes(), &Given::default()).unwrap_err();
        assert!(matches!(error, Unread::Several { .. }), "{error}");
    }
}
