//! The number of good responses that a program reports, read from its output.
//!
//! Good means a status of 2xx (or 3xx where a program does not tell them apart). The fixtures are
//! recorded output against `bin/target-fasthttp`; bench/fixtures/README.md says where they come
//! from.

use serde_json::Value;
use std::str::FromStr;

/// The result that a program reports.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Count {
    /// Good responses.
    pub requests: u64,
    /// Good responses per second of the window that the program measured itself. Only `ceiling`
    /// counts responses outside of its window too, in `requests`.
    pub rate: f64,
    pub p50_ns: Option<u64>,
    pub p99_ns: Option<u64>,
}

impl Count {
    fn of(requests: u64, seconds: f64) -> Self {
        Self { requests, rate: requests as f64 / seconds, ..Self::default() }
    }
}

type Counted = Result<Count, String>;

/// `ceiling load --json`: responses inside and outside of the measured window.
pub fn ceiling(output: &str) -> Counted {
    let record = json(output)?;
    let point = &record["points"][0];
    let requests = number(&point["requests"]["completed"], "points[0].requests.completed")?
        + number(&point["unmeasured"]["completed"], "points[0].unmeasured.completed")?;
    let connections = &point["connections"];
    let asked = number(&connections["asked"], "points[0].connections.asked")?;
    let opened = number(&connections["opened"], "points[0].connections.opened")?;
    if opened < asked {
        return Err(format!("{} connections were not opened", asked - opened));
    }
    let percentile = |name: &str| match is_sound(point, name) {
        true => point["latency_ns"][name].as_u64(),
        false => None,
    };
    let rate = real(&point["rate"], "points[0].rate")?;
    Ok(Count { requests, rate, p50_ns: percentile("p50"), p99_ns: percentile("p99") })
}

/// A run of `ceiling` that exited with 4, because it broke gates of its own. It counts when they
/// leave the figures that are compared here: the rate, and the CPU time per response. The null
/// driver always breaks the gate of the stamps, because its latency is a turn of the loop.
pub fn ceiling_with_failed_gates(output: &str) -> Counted {
    let record = json(output)?;
    let point = &record["points"][0];
    match is_sound(point, "rate") && is_sound(point, "cpu.client") {
        true => ceiling(output),
        false => Err(failed_gates(&record)),
    }
}

/// Whether a gate bounds or strikes a figure: the record lists those.
fn is_sound(point: &Value, figure: &str) -> bool {
    point["standing"].get(figure).is_none()
}

fn failed_gates(record: &Value) -> String {
    let gates = record["points"][0]["gates"].as_array().into_iter().flatten();
    let broken = gates.filter(|gate| gate["ok"] == false).filter_map(|gate| gate["id"].as_str());
    format!("it broke its gates: {}", broken.collect::<Vec<_>>().join(", "))
}

/// `floor`.
pub fn floor(output: &str) -> Counted {
    let record = json(output)?;
    Ok(Count::of(number(&record["requests"], "requests")?, real(&record["seconds"], "seconds")?))
}

/// wrk and wrk2.
pub fn wrk(output: &str) -> Counted {
    let all: u64 = before(output, " requests in ").ok_or("no line `.. requests in ..`")?;
    let rate: f64 = after(output, "Requests/sec:").ok_or("no line `Requests/sec:`")?;
    let bad = after(output, "Non-2xx or 3xx responses:").unwrap_or(0);
    Ok(Count::of(all.saturating_sub(bad), all as f64 / rate))
}

/// `h2load`.
pub fn h2load(output: &str) -> Counted {
    let good = before(output, " succeeded,").ok_or("no line `requests: .. succeeded`")?;
    let done: u64 = before(output, " done,").ok_or("no line `requests: .. done`")?;
    let rate: f64 = before(output, " req/s,").ok_or("no line `finished in .. req/s`")?;
    Ok(Count::of(good, done as f64 / rate))
}

/// `oha --output-format json`.
pub fn oha(output: &str) -> Counted {
    let record = json(output)?;
    let good = good_statuses(&record["statusCodeDistribution"], "statusCodeDistribution")?;
    Ok(Count::of(good, real(&record["summary"]["total"], "summary.total")?))
}

/// `autocannon -j`.
pub fn autocannon(output: &str) -> Counted {
    let record = json(output)?;
    let good = number(&record["2xx"], "2xx")? + number(&record["3xx"], "3xx")?;
    Ok(Count::of(good, real(&record["duration"], "duration")?))
}

/// `hey`, whose list of statuses stops at a million responses.
pub fn hey(output: &str) -> Counted {
    const RECORDED_MAX: u64 = 1_000_000;
    let list = output.split_once("Status code distribution:").ok_or("no list of statuses")?.1;
    let of_line = |line: &str| {
        let (status, responses) = line.trim().strip_prefix('[')?.split_once(']')?;
        let responses: u64 = responses.trim().strip_suffix(" responses")?.parse().ok()?;
        Some((status.to_owned(), responses))
    };
    let statuses: Vec<(String, u64)> = list.lines().skip(1).map_while(of_line).collect();
    if statuses.iter().map(|(_, responses)| responses).sum::<u64>() >= RECORDED_MAX {
        return Err("hey forgets the statuses of all responses after the first million".into());
    }
    let good = statuses.iter().filter(|(status, _)| status.starts_with(['2', '3']));
    let seconds = after(output, "Total:").ok_or("no line `Total:`")?;
    Ok(Count::of(good.map(|(_, responses)| responses).sum(), seconds))
}

/// `ab`. It counts responses whose length differs from the first as failures; they are good here.
pub fn ab(output: &str) -> Counted {
    let complete: u64 =
        after(output, "Complete requests:").ok_or("no line `Complete requests:`")?;
    let bad: u64 = after(output, "Non-2xx responses:").unwrap_or(0);
    let broken = ["Connect:", "Receive:", "Exceptions:"];
    let reasons = output.lines().find(|line| line.trim().starts_with("(Connect:")).unwrap_or("");
    let broken: u64 = broken.iter().filter_map(|reason| after::<u64>(reasons, reason)).sum();
    let seconds =
        after(output, "Time taken for tests:").ok_or("no line `Time taken for tests:`")?;
    Ok(Count::of(complete.saturating_sub(bad + broken), seconds))
}

/// The metrics that bench/k6.js prints.
pub fn k6(output: &str) -> Counted {
    let metrics = json(output)?;
    let sent = &metrics["http_reqs"]["values"];
    let (sent, rate) = (number(&sent["count"], "http_reqs.values.count")?, &sent["rate"]);
    let failed = &metrics["http_req_failed"]["values"]["passes"];
    let good = sent.saturating_sub(number(failed, "http_req_failed.values.passes")?);
    Ok(Count::of(good, sent as f64 / real(rate, "http_reqs.values.rate")?))
}

/// `vegeta report -type json`.
pub fn vegeta(output: &str) -> Counted {
    let record = json(output)?;
    let good = good_statuses(&record["status_codes"], "status_codes")?;
    let ns = number(&record["duration"], "duration")? + number(&record["wait"], "wait")?;
    Ok(Count::of(good, ns as f64 / 1e9))
}

/// `ghz --format json`: calls that ended with OK.
pub fn ghz(output: &str) -> Counted {
    let record = json(output)?;
    let statuses = record["statusCodeDistribution"].as_object();
    let statuses = statuses.ok_or("statusCodeDistribution is not an object")?;
    let good = statuses.get("OK").and_then(Value::as_u64).unwrap_or(0);
    Ok(Count::of(good, number(&record["total"], "total")? as f64 / 1e9))
}

fn json(output: &str) -> Result<Value, String> {
    serde_json::from_str(output).map_err(|error| format!("not one JSON document: {error}"))
}

fn number(value: &Value, name: &str) -> Result<u64, String> {
    value.as_u64().ok_or_else(|| format!("{name} is not a number"))
}

fn real(value: &Value, name: &str) -> Result<f64, String> {
    value.as_f64().ok_or_else(|| format!("{name} is not a number"))
}

fn good_statuses(statuses: &Value, name: &str) -> Result<u64, String> {
    let statuses = statuses.as_object().ok_or_else(|| format!("{name} is not an object"))?;
    let good = statuses.iter().filter(|(status, _)| status.starts_with(['2', '3']));
    good.map(|(status, responses)| number(responses, status)).sum()
}

/// The number right before a text.
fn before<T: FromStr>(output: &str, text: &str) -> Option<T> {
    output.split_once(text)?.0.rsplit(|c| !is_of_number(c)).next()?.parse().ok()
}

/// The number that follows a text after spaces.
fn after<T: FromStr>(output: &str, text: &str) -> Option<T> {
    let rest = output.split_once(text)?.1.trim_start();
    rest.split(|c| !is_of_number(c)).next()?.parse().ok()
}

fn is_of_number(c: char) -> bool {
    c.is_ascii_digit() || c == '.'
}

#[cfg(test)]
mod tests {
    use super::*;

    macro_rules! fixture {
        ($name:literal) => {
            include_str!(concat!("../../fixtures/", $name))
        };
    }

    type Read = fn(&str) -> Counted;

    #[test]
    fn good_responses_and_the_window_are_read_from_what_each_program_printed() {
        let cases: &[(Read, &str, u64, f64)] = &[
            (wrk, fixture!("wrk.txt"), 192767, 175225.2),
            (h2load, fixture!("h2load.txt"), 163990, 163990.0),
            (oha, fixture!("oha.json"), 114571, 113998.4),
            (autocannon, fixture!("autocannon.json"), 68328, 66988.2),
            (hey, fixture!("hey.txt"), 41892, 41850.1),
            (ab, fixture!("ab.txt"), 166628, 166628.0),
            (k6, fixture!("k6.json"), 16655, 16549.3),
            (vegeta, fixture!("vegeta.json"), 149970, 49985.0),
            (ghz, fixture!("ghz.json"), 15003, 14652.4),
            (floor, fixture!("floor.json"), 351696, 175831.4),
        ];
        for (read, output, requests, rate) in cases {
            let count = read(output).unwrap();
            assert_eq!(count.requests, *requests, "{output}");
            assert!((count.rate - rate).abs() < 0.1, "{} of {output}", count.rate);
        }
    }

    #[test]
    fn responses_with_a_bad_status_are_not_counted() {
        let cases: &[(Read, &str)] = &[
            (wrk, fixture!("wrk-404.txt")),
            (h2load, fixture!("h2load-404.txt")),
            (oha, fixture!("oha-404.json")),
            (autocannon, fixture!("autocannon-404.json")),
            (hey, fixture!("hey-404.txt")),
            (ab, fixture!("ab-404.txt")),
            (k6, fixture!("k6-refused.json")),
            (ghz, fixture!("ghz-failed.json")),
        ];
        for (count, output) in cases {
            assert_eq!(count(output).unwrap().requests, 0, "{output}");
        }
    }

    #[test]
    fn responses_of_many_lengths_are_good_to_us() {
        assert_eq!(ab(fixture!("ab-read.txt")).unwrap().requests, 69148);
    }

    #[test]
    fn a_record_of_ours_counts_what_was_not_measured_too() {
        let recorded = ceiling(fixture!("ceiling.json")).unwrap();
        let expected = Count {
            requests: 170865 + 44141,
            rate: 170864.7014993665,
            p50_ns: Some(286463),
            p99_ns: Some(603135),
        };
        assert_eq!(recorded, expected);
    }

    #[test]
    fn gates_that_broke_are_named() {
        let record = r#"{"points":[{"standing":{"rate":{"is":"struck"}},"gates":[
                         {"id":"bytes","ok":true},{"id":"window","ok":null},
                         {"id":"resolution","ok":false},{"id":"samples","ok":false}]}]}"#;
        let why = ceiling_with_failed_gates(record).unwrap_err();
        assert_eq!(why, "it broke its gates: resolution, samples");
    }

    #[test]
    fn a_broken_gate_takes_the_figures_that_it_is_about() {
        let mut record = json(fixture!("ceiling.json")).unwrap();
        record["points"][0]["standing"] = serde_json::json!({"p99": {"is": "bounded"}});
        let counted = ceiling_with_failed_gates(&record.to_string()).unwrap();
        assert_eq!((counted.p50_ns, counted.p99_ns), (Some(286463), None));
        assert_eq!(counted.requests, 170865 + 44141);
        for figure in ["rate", "cpu.client"] {
            record["points"][0]["standing"] = serde_json::json!({figure: {"is": "bounded"}});
            assert!(ceiling_with_failed_gates(&record.to_string()).is_err(), "{figure}");
        }
    }

    #[test]
    fn output_of_another_form_is_an_error_and_not_a_zero() {
        let counts: &[Read] = &[wrk, h2load, oha, autocannon, hey, ab, k6, vegeta, ghz, floor];
        for count in counts {
            for output in ["", "unable to connect", "{}", "[1"] {
                assert!(count(output).is_err(), "{output}");
            }
        }
        assert!(ceiling("{}").is_err());
    }

    #[test]
    fn hey_is_not_believed_beyond_a_million() {
        let output = "Status code distribution:\n  [200]\t1000000 responses\n";
        assert!(hey(output).unwrap_err().contains("million"));
    }
}
