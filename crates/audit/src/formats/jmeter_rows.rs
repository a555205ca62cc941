//! JMeter, samples as CSV (`.jtl`), any number of rows.
//!
//! Source: JMeter 5.6 `SampleResult`, `CSVSaveService`. `timeStamp` is the start of a sample and
//! `elapsed` its duration, in whole milliseconds; `allThreads` are the active threads. A sampler
//! may contain several requests.

use super::{Format, Reader, Told};
use crate::page::Page;
use crate::rows::Sampled;
use model::audit::{Counts, Figure, Loop, Meaning, RateIs, Since};
use std::io::{self, BufRead};

pub(super) const FORMAT: Format = Format {
    id: "jmeter-rows",
    tool: "jmeter",
    about: "samples of JMeter as CSV",
    example: "jmeter -n -t plan.jmx -l samples.jtl",
    reader: Reader::Rows(is, read),
};

fn is(head: Page<'_>) -> bool {
    let first = head.lines().next().map_or("", |spot| spot.text);
    first.starts_with("timeStamp,elapsed,")
}

fn read(source: &mut dyn BufRead) -> io::Result<Told> {
    let mut rows =
        csv::ReaderBuilder::new().flexible(true).from_reader(crate::rows::Bounded::new(source));
    let Ok(heading) = rows.headers().cloned() else { return Ok(Err("heading")) };
    let column = |name: &str| heading.iter().position(|one| one == name);
    let (Some(at), Some(elapsed)) = (column("timeStamp"), column("elapsed")) else {
        return Ok(Err("columns timeStamp and elapsed"));
    };
    let (code, success) = (column("responseCode"), column("success"));
    let (threads, bytes) = (column("allThreads"), column("bytes"));
    let (mut sampled, mut threads_max, mut received) = (Sampled::default(), 0.0_f64, 0.0);
    let mut record = csv::StringRecord::new();
    while rows.read_record(&mut record).map_err(io::Error::other)? {
        let number = |index: Option<usize>| {
            let value: f64 = record.get(index?)?.trim().parse().ok()?;
            (value.is_finite() && value >= 0.0).then_some(value)
        };
        let (Some(start_ms), Some(took_ms)) = (number(Some(at)), number(Some(elapsed))) else {
            continue;
        };
        let text = |index: Option<usize>| index.and_then(|index| record.get(index));
        let is_success = text(success).is_none_or(|word| word == "true");
        let status =
            if is_success { text(code).unwrap_or("200") } else { text(code).unwrap_or("0") };
        // What JMeter marks as a failure is one, whatever its status.
        let status = if !is_success && super::is_good(status) { "failed" } else { status };
        let span = (start_ms / 1e3, (start_ms + took_ms) / 1e3);
        sampled.add(took_ms / 1e3, Some(span), status);
        threads_max = threads_max.max(number(threads).unwrap_or(0.0));
        received += number(bytes).unwrap_or(0.0);
    }
    if sampled.count() == 0 {
        return Ok(Err("sample"));
    }
    let meaning = Meaning {
        load: Loop::Unknown,
        counts: Counts::Requests,
        rate_is: RateIs::Quotient,
        edge_s: Some(0.0),
        ..Meaning::default()
    };
    let mut told = sampled.told(Since::Send, 1e-3, meaning);
    let counted = |value: f64| (value > 0.0).then(|| Figure::exact(value, 0));
    (told.connections, told.bytes) = (counted(threads_max), counted(received));
    Ok(Ok(told))
}

#[cfg(test)]
mod tests {
    use crate::read::read;
    use model::audit::Given;

    #[test]
    fn commas_between_quotes_shift_no_columns() {
        let text = "timeStamp,elapsed,label,responseCode,success,failureMessage,bytes,allThreads\n\
                    1000,10,\"GET /a, \"\"b\"\"\",200,true,,100,2\n\
                    1010,20,get,500,false,\"expected 200, got 500, again\",100,2\n\
                    1020,30,get,500,false,\"over\ntwo lines, of which one is a row\",100,9\n";
        let told = read(&mut text.as_bytes(), &Given::default()).unwrap();
        let values = [&told.requests, &told.good, &told.failed, &told.connections, &told.bytes];
        let values = values.map(|figure| figure.as_ref().unwrap().value);
        assert_eq!(values, [3.0, 1.0, 2.0, 2.0, 200.0]);
    }
}
