//! Forms that are known and not read, with what to use instead.

use crate::audit::page::Page;

/// A form as listed.
pub struct Refused {
    /// What it is, as a noun phrase.
    pub about: &'static str,
    /// What to use instead.
    pub instead: &'static str,
    /// How it is recognised: by its first bytes, and by its text.
    pub is: fn(&[u8], Page<'_>) -> bool,
}

/// Every one of them.
pub const REFUSED: &[Refused] = &[
    Refused {
        about: "text in UTF-16, as PowerShell writes it",
        instead: "use `Get-Content FILE | Set-Content -Encoding utf8 NEW`",
        is: |bytes, _| bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]),
    },
    Refused {
        about: "a binary simulation.log of Gatling (after 3.10)",
        instead: "use js/stats.json of its report, or its text",
        is: |bytes, _| is_binary_log(bytes),
    },
    Refused {
        about: "samples of JMeter as XML",
        instead: "save CSV: -Jjmeter.save.saveservice.output_format=csv",
        is: |_, page| page.lines().take(9).any(|spot| spot.text.contains("<testResults")),
    },
    Refused {
        about: "single requests of hey as CSV, without the time of the run",
        instead: "run it without -o csv",
        is: |_, page| page.first().starts_with("response-time,DNS+dialup,"),
    },
    Refused {
        about: "single requests of oha as CSV, without the time of the run",
        instead: "use --output-format json",
        is: |_, page| page.first().starts_with("request-start,DNS,"),
    },
    Refused {
        about: "metrics of k6 as CSV",
        instead: "use --out json=FILE or --summary-export FILE",
        is: |_, page| page.first().starts_with("metric_name,timestamp,metric_value,"),
    },
    Refused {
        about: "encoded results of vegeta",
        instead: "use `vegeta report -type json FILE`",
        is: |bytes, page| is_of_vegeta(bytes, page.first()),
    },
    Refused {
        about: "statistics of Locust",
        instead: "it has no connections, depth or duration to check; use `ceiling load`",
        is: |_, page| {
            let heads = ["Type,Name,Request Count,", "Timestamp,User Count,Type,Name,"];
            heads.iter().any(|head| page.first().replace('"', "").starts_with(head))
        },
    },
    Refused {
        about: "a report of Artillery",
        instead: "it has no connections, depth or bytes to check; use `ceiling load`",
        is: |_, page| {
            page.first().starts_with('{') && page.holds("\"vusers.created\"") // of `aggregate`
        },
    },
];

/// A zero, the length of a version and its digits, as `RunMessage` is written.
fn is_binary_log(bytes: &[u8]) -> bool {
    let Some((&[0, a, b, c, d], rest)) = bytes.split_first_chunk::<5>() else { return false };
    let length = u32::from_be_bytes([a, b, c, d]) as usize;
    let version = rest.get(..length).filter(|_| (1..=40).contains(&length));
    let is_of_version = |byte: &u8| byte.is_ascii_alphanumeric() || b".-_".contains(byte);
    version.is_some_and(|text| text[0].is_ascii_digit() && text.iter().all(is_of_version))
}

/// In Go's own encoding, as lines of JSON, or as CSV with nanoseconds.
fn is_of_vegeta(bytes: &[u8], first: &str) -> bool {
    let names_type = || bytes[..bytes.len().min(64)].windows(6).any(|part| part == b"Result");
    let is_json = first.starts_with("{\"attack\":") && first.contains("\"latency\":");
    let mut cells = first.split(',');
    let is_number = |cell: Option<&str>, digits: std::ops::RangeInclusive<usize>| {
        cell.is_some_and(|cell| {
            digits.contains(&cell.len()) && cell.bytes().all(|byte| byte.is_ascii_digit())
        })
    };
    let is_csv = is_number(cells.next(), 19..=19)
        && is_number(cells.next(), 1..=3)
        && is_number(cells.next(), 1..=19)
        && cells.count() >= 3;
    (bytes.contains(&0) && names_type()) || is_json || is_csv
}
