//! How many good answers a program says it got, read from what it printed.
//!
//! Good means a status of 2xx (or 3xx where a program does not tell them apart). The fixtures are
//! what the programs printed against `bin/target-fasthttp`; bench/fixtures/README.md says where
//! they come from.

use serde_json::Value;

/// What a `ceiling` record says about one load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Recorded {
    pub requests: u64,
    pub p50_ns: Option<u64>,
    pub p99_ns: Option<u64>,
    /// Connections that were asked for and never opened.
    pub unopened: u64,
}

/// `ceiling load --json`: answers inside and outside of the measured window.
pub fn ceiling(output: &str) -> Result<Recorded, String> {
    let record = json(output)?;
    let point = &record["points"][0];
    let requests = number(&point["requests"]["completed"], "points[0].requests.completed")?
        + number(&point["unmeasured"]["completed"], "points[0].unmeasured.completed")?;
    let connections = &point["connections"];
    let asked = number(&connections["asked"], "points[0].connections.asked")?;
    let opened = number(&connections["opened"], "points[0].connections.opened")?;
    let (p50, p99) = (&point["latency_ns"]["p50"], &point["latency_ns"]["p99"]);
    let unopened = asked.saturating_sub(opened);
    Ok(Recorded { requests, p50_ns: p50.as_u64(), p99_ns: p99.as_u64(), unopened })
}

/// `floor`.
pub fn floor(output: &str) -> Result<u64, String> {
    number(&json(output)?["requests"], "requests")
}

/// wrk and wrk2.
pub fn wrk(output: &str) -> Result<u64, String> {
    let answers = before(output, " requests in ").ok_or("no line `.. requests in ..`")?;
    let bad = after(output, "Non-2xx or 3xx responses:").unwrap_or(0);
    Ok(answers.saturating_sub(bad))
}

/// `h2load`.
pub fn h2load(output: &str) -> Result<u64, String> {
    before(output, " succeeded,").ok_or_else(|| "no line `requests: .. succeeded`".into())
}

/// `oha --output-format json`.
pub fn oha(output: &str) -> Result<u64, String> {
    good_statuses(&json(output)?["statusCodeDistribution"], "statusCodeDistribution")
}

/// `autocannon -j`.
pub fn autocannon(output: &str) -> Result<u64, String> {
    let record = json(output)?;
    Ok(number(&record["2xx"], "2xx")? + number(&record["3xx"], "3xx")?)
}

/// `hey`, whose list of statuses stops at a million answers.
pub fn hey(output: &str) -> Result<u64, String> {
    const RECORDED_MAX: u64 = 1_000_000;
    let list = output.split_once("Status code distribution:").ok_or("no list of statuses")?.1;
    let of_line = |line: &str| {
        let (status, answers) = line.trim().strip_prefix('[')?.split_once(']')?;
        let answers: u64 = answers.trim().strip_suffix(" responses")?.parse().ok()?;
        Some((status.to_owned(), answers))
    };
    let statuses: Vec<(String, u64)> = list.lines().skip(1).map_while(of_line).collect();
    if statuses.iter().map(|(_, answers)| answers).sum::<u64>() >= RECORDED_MAX {
        return Err("hey forgets the statuses of all answers after the first million".into());
    }
    let good = statuses.iter().filter(|(status, _)| status.starts_with(['2', '3']));
    Ok(good.map(|(_, answers)| answers).sum())
}

/// `ab`. Answers whose length differs from the first are failures to it, and good to us.
pub fn ab(output: &str) -> Result<u64, String> {
    let complete = after(output, "Complete requests:").ok_or("no line `Complete requests:`")?;
    let bad = after(output, "Non-2xx responses:").unwrap_or(0);
    let broken = ["Connect:", "Receive:", "Exceptions:"];
    let reasons = output.lines().find(|line| line.trim().starts_with("(Connect:")).unwrap_or("");
    let broken: u64 = broken.iter().filter_map(|reason| after(reasons, reason)).sum();
    Ok(complete.saturating_sub(bad + broken))
}

/// `bombardier -o json`.
pub fn bombardier(output: &str) -> Result<u64, String> {
    let result = &json(output)?["result"];
    Ok(number(&result["req2xx"], "result.req2xx")? + number(&result["req3xx"], "result.req3xx")?)
}

/// The metrics that bench/k6.js prints.
pub fn k6(output: &str) -> Result<u64, String> {
    let metrics = json(output)?;
    let sent = number(&metrics["http_reqs"]["values"]["count"], "http_reqs.values.count")?;
    let failed = &metrics["http_req_failed"]["values"]["passes"];
    Ok(sent.saturating_sub(number(failed, "http_req_failed.values.passes")?))
}

/// `vegeta report -type json`.
pub fn vegeta(output: &str) -> Result<u64, String> {
    good_statuses(&json(output)?["status_codes"], "status_codes")
}

fn json(output: &str) -> Result<Value, String> {
    serde_json::from_str(output).map_err(|error| format!("not one JSON document: {error}"))
}

fn number(value: &Value, name: &str) -> Result<u64, String> {
    value.as_u64().ok_or_else(|| format!("{name} is not a number"))
}

fn good_statuses(statuses: &Value, name: &str) -> Result<u64, String> {
    let statuses = statuses.as_object().ok_or_else(|| format!("{name} is not an object"))?;
    let good = statuses.iter().filter(|(status, _)| status.starts_with(['2', '3']));
    good.map(|(status, answers)| number(answers, status)).sum()
}

/// The number that stands right before a text.
fn before(output: &str, text: &str) -> Option<u64> {
    output.split_once(text)?.0.rsplit(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

/// The number that follows a text after spaces.
fn after(output: &str, text: &str) -> Option<u64> {
    let rest = output.split_once(text)?.1.trim_start();
    rest.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    macro_rules! fixture {
        ($name:literal) => {
            include_str!(concat!("../../fixtures/", $name))
        };
    }

    type Count = fn(&str) -> Result<u64, String>;

    #[test]
    fn good_answers_are_read_from_what_each_program_printed() {
        let cases: &[(Count, &str, u64)] = &[
            (wrk, fixture!("wrk.txt"), 192767),
            (h2load, fixture!("h2load.txt"), 163990),
            (oha, fixture!("oha.json"), 114571),
            (autocannon, fixture!("autocannon.json"), 68328),
            (hey, fixture!("hey.txt"), 41892),
            (ab, fixture!("ab.txt"), 166628),
            (bombardier, fixture!("bombardier.json"), 400096),
            (k6, fixture!("k6.json"), 16655),
            (vegeta, fixture!("vegeta.json"), 149970),
            (floor, fixture!("floor.json"), 351696),
        ];
        for (count, output, answers) in cases {
            assert_eq!(count(output), Ok(*answers), "{output}");
        }
    }

    #[test]
    fn answers_with_a_bad_status_are_not_counted() {
        let cases: &[(Count, &str)] = &[
            (wrk, fixture!("wrk-404.txt")),
            (h2load, fixture!("h2load-404.txt")),
            (oha, fixture!("oha-404.json")),
            (autocannon, fixture!("autocannon-404.json")),
            (hey, fixture!("hey-404.txt")),
            (ab, fixture!("ab-404.txt")),
            (k6, fixture!("k6-refused.json")),
        ];
        for (count, output) in cases {
            assert_eq!(count(output), Ok(0), "{output}");
        }
    }

    #[test]
    fn answers_of_many_lengths_are_good_to_us() {
        assert_eq!(ab(fixture!("ab-read.txt")), Ok(69148));
    }

    #[test]
    fn a_record_of_ours_counts_what_was_not_measured_too() {
        let recorded = ceiling(fixture!("ceiling.json")).unwrap();
        let expected = Recorded {
            requests: 170865 + 44141,
            p50_ns: Some(286463),
            p99_ns: Some(603135),
            unopened: 0,
        };
        assert_eq!(recorded, expected);
    }

    #[test]
    fn output_of_another_form_is_an_error_and_not_a_zero() {
        let counts: &[Count] =
            &[wrk, h2load, oha, autocannon, hey, ab, bombardier, k6, vegeta, floor];
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
