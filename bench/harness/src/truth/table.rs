//! Reported and true percentiles, as text of 80 columns.

use super::generators::Percentiles;
use super::release::Release;
use super::schedule::time;

/// One generator at one rate.
pub struct Line {
    pub name: &'static str,
    /// Requests that reached the sink.
    pub arrivals: usize,
    pub planned: u64,
    /// What it reported, or why it reported nothing.
    pub reported: Result<Percentiles, String>,
    /// From the plan and the schedule of the stalls.
    pub truth: Percentiles,
    /// The sink's own record: from the arrival to the send of the response.
    pub served: Percentiles,
}

/// The heading of a rate.
pub fn heading(rate: u32, seconds: u32, connections: u32) -> String {
    let title = format!("{rate}/s for {seconds} s on {connections} connections, stall:100ms/1s");
    format!("\n{title}\n{}", cells("", ["p50", "p90", "p99", "p99.9"].map(str::to_owned)))
}

/// The lines of one generator.
pub fn line(line: &Line) -> String {
    let Line { name, arrivals, planned, .. } = line;
    let title = format!("{name}: {arrivals} arrivals of {planned} planned\n");
    let reported = match &line.reported {
        Ok(reported) => reported,
        Err(reason) => {
            let text = format!("{name}: failed: {reason}");
            return text.chars().take(80).collect::<String>() + "\n";
        }
    };
    let error = [0, 1, 2, 3].map(|index| error(reported[index], line.truth[index]));
    title
        + &cells("  said", reported.map(time))
        + &cells("  true", line.truth.map(time))
        + &cells("  error", error)
        + &cells("  sink", line.served.map(time))
}

/// The heading of the release part.
pub fn release_heading(closed_us: Option<f64>) -> String {
    let closed = closed_us.map_or("not measured".to_owned(), |us| format!("{us:.2} us/request"));
    let head = ["lag p50", "lag p99", "gaps", "CPU"].map(str::to_owned);
    format!("\nrelease; client CPU of the closed loop: {closed}\n{}", cells("", head))
}

/// One line of the release part.
pub fn release(release: &Release) -> String {
    let name = format!("  {}/s {}", release.rate, release.arrivals_name());
    match &release.measured {
        Err(reason) => {
            let text = format!("{name}: failed: {reason}");
            text.chars().take(80).collect::<String>() + "\n"
        }
        Ok(measured) => {
            let cpu = measured.client_us_per_request;
            let cpu = cpu.map_or("-".to_owned(), |us| format!("{us:.2} us/req"));
            let lag = [time(measured.lag_p50_ns), time(measured.lag_p99_ns)];
            let [p50, p99] = lag;
            cells(&name, [p50, p99, measured.gaps.text(), cpu])
        }
    }
}

fn cells(name: &str, cells: [String; 4]) -> String {
    let mut text = format!("{name:<18}");
    for cell in cells {
        text += &format!(" {cell:>14}");
    }
    text.trim_end().to_owned() + "\n"
}

/// Reported minus true value, absolute and as a share of the true value.
fn error(said: Option<u64>, truth: Option<u64>) -> String {
    let (Some(said), Some(truth)) = (said, truth) else { return "-".to_owned() };
    let sign = if said < truth { '-' } else { '+' };
    let apart = time(Some(said.abs_diff(truth)));
    let percent = said.abs_diff(truth) as f64 * 100.0 / (truth as f64).max(1.0);
    match percent {
        0.0..10.0 => format!("{sign}{apart} {percent:.1}%"),
        10.0..1_000.0 => format!("{sign}{apart} {percent:.0}%"),
        1_000.0..100_000.0 => {
            format!("{sign}{apart} x{:.0}", said as f64 / (truth as f64).max(1.0))
        }
        _ => format!("{sign}{apart} x>999"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(reported: Result<Percentiles, String>) -> Line {
        let truth = [Some(50_000), Some(60_000), Some(90_000_000), Some(99_000_000)];
        Line { name: "oha", arrivals: 19_999, planned: 20_000, reported, truth, served: truth }
    }

    #[test]
    fn an_error_has_its_sign_and_its_share() {
        assert_eq!(error(Some(1_000_000), Some(2_000_000)), "-1.00ms 50%");
        assert_eq!(error(Some(90_900_000), Some(90_000_000)), "+900.0us 1.0%");
        assert_eq!(error(Some(100_000_000), Some(50_000)), "+99.95ms x>999");
        assert_eq!(error(Some(1_000_000), Some(50_000)), "+950.0us x20");
        assert_eq!(error(None, Some(1)), "-");
        assert_eq!(
            (time(Some(51_200)), time(Some(1_000_000))),
            ("51.20us".into(), "1.00ms".into())
        );
    }

    #[test]
    fn every_line_fits_into_80_columns() {
        let said = [Some(51_000), Some(61_000_000), None, Some(99_000_000)];
        for sample in [sample(Ok(said)), sample(Err("it went ".repeat(20)))] {
            let text = line(&sample);
            assert!(text.lines().all(|line| line.len() <= 80), "{text}");
            assert!(text.starts_with("oha: "));
        }
        let text = line(&sample(Ok(said)));
        assert!(text.contains(" +60.94ms x>999"), "{text}");
    }
}
