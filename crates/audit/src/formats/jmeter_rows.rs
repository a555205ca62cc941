//! JMeter, samples as CSV (`.jtl`), any number of rows.
//!
//! Source: JMeter 5.6 `SampleResult`, `CSVSaveService`. `timeStamp` is the start of a sample and
//! `elapsed` its duration, in whole milliseconds; `allThreads` are the active threads. A sampler
//! may contain several requests. `success` says whether a sample is good, whatever its code:
//! assertions and scripts set it. JMeter leaves the row of a transaction, which is a sum of others,
//! out of its own totals.

use super::{Format, Reader, Told};
use crate::page::Page;
use crate::rows::{Said, Sampled};
use model::audit::{Counts, Figure, Loop, Meaning, RateIs, Since};
use std::io::{self, BufRead};

pub(super) const FORMAT: Format = Format {
    id: "jmeter-rows",
    tool: "jmeter",
    about: "samples of JMeter as CSV",
    example: "jmeter -n -t plan.jmx -l samples.jtl",
    reader: Reader::Rows(is, read),
};

/// How the message of a transaction's row begins.
const TRANSACTION: &str = "Number of samples in transaction";

/// Whether a row is that of a transaction, by its message, whose quotes [`crate::rows::Bounded`]
/// passes on.
fn is_transaction(message: &str) -> bool {
    message.strip_prefix('\'').unwrap_or(message).starts_with(TRANSACTION)
}

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
    let message = column("responseMessage");
    let (threads, bytes) = (column("allThreads"), column("bytes"));
    let (mut sampled, mut threads_max, mut received) = (Sampled::default(), 0.0_f64, 0.0);
    let (mut record, mut has_transactions) = (csv::StringRecord::new(), false);
    while rows.read_record(&mut record).map_err(io::Error::other)? {
        if record.get(at) == Some("timeStamp") {
            return Err(io::Error::other("a second heading; put each test into its own file"));
        }
        let number = |index: Option<usize>| {
            let value: f64 = record.get(index?)?.trim().parse().ok()?;
            (value.is_finite() && value >= 0.0).then_some(value)
        };
        let (Some(start_ms), Some(took_ms)) = (number(Some(at)), number(Some(elapsed))) else {
            continue;
        };
        let text = |index: Option<usize>| index.and_then(|index| record.get(index));
        if text(message).is_some_and(is_transaction) {
            has_transactions = true;
            continue;
        }
        let span = (start_ms / 1e3, (start_ms + took_ms) / 1e3);
        let (status, is_good) = outcome(text(code), text(success));
        sampled.add(took_ms / 1e3, Some(span), &Said { status: &status, is_good });
        threads_max = threads_max.max(number(threads).unwrap_or(0.0));
        received += number(bytes).unwrap_or(0.0);
    }
    if sampled.count() == 0 && has_transactions {
        let why = "only rows of transactions; turn off Generate parent sample";
        return Err(io::Error::other(why));
    }
    if sampled.count() == 0 {
        return Ok(Err("sample of a request"));
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

/// The name of a sample's status, and whether the sample is good: `success` decides. A code of
/// words tells why there was no response.
fn outcome(code: Option<&str>, success: Option<&str>) -> (String, bool) {
    let is_number = |code: &&str| code.starts_with(|first: char| first.is_ascii_digit());
    let number = code.filter(is_number);
    let is_good = match success {
        Some(word) => word.eq_ignore_ascii_case("true"),
        None => code.is_none_or(super::is_good),
    };
    let status = match number {
        Some(code) if !is_good && super::is_good(code) => format!("failed {code}"),
        Some(code) => code.to_string(),
        None if is_good => "success".to_string(),
        None => "0".to_string(),
    };
    (status, is_good)
}

#[cfg(test)]
mod tests {
    use crate::judge::account;
    use crate::read::{Unread, read};
    use model::audit::{Account, Foreign, Given, Outcome};

    fn told(rows: &str) -> Result<Foreign, Unread> {
        let text = format!(
            "timeStamp,elapsed,label,responseCode,responseMessage,success,bytes,allThreads\n{rows}"
        );
        read(&mut text.as_bytes(), &Given::default())
    }

    fn judged(rows: &str) -> Account {
        account("-".into(), String::new(), told(rows).unwrap(), &Given::default())
    }

    fn figure(of: &Account, name: &str) -> (f64, Outcome) {
        let claim = of.claims.iter().find(|claim| claim.name == name).expect("the claim");
        (claim.figure.value, claim.outcome)
    }

    /// An assertion failed, or a script accepts a status: JMeter counts by the column `success`.
    #[test]
    fn success_decides_and_a_response_that_failed_a_check_is_a_response() {
        let of = judged("1000,10,a,200,OK,false,99,2\n1010,10,a,200,OK,false,99,2\n");
        assert_eq!(figure(&of, "good").0, 0.0);
        let names = of.foreign.statuses.iter().map(|status| status.name.as_str());
        assert_eq!(names.collect::<Vec<_>>(), ["failed 200"]);
        assert_eq!(figure(&of, "rate").1, Outcome::CannotTell, "there were responses");
        assert_ne!(figure(&of, "max").1, Outcome::CannotBe, "their times are of responses");
        let of = judged("1000,10,a,404,Not Found,true,99,2\n1010,10,a,,,true,99,2\n");
        assert_eq!((figure(&of, "good").0, figure(&of, "errors").0), (2.0, 0.0));
        let none = "Non HTTP response code: java.net.ConnectException";
        let of = judged(&format!("1000,1,a,{none},refused,false,0,2\n").repeat(2));
        assert_eq!(figure(&of, "rate").1, Outcome::CannotBe, "there was no response");
    }

    #[test]
    fn the_row_of_a_transaction_is_no_request() {
        let of = judged(
            "1000,10,a,200,OK,true,99,2\n1010,20,b,200,OK,true,99,2\n\
             1000,30,t,200,\"Number of samples in transaction : 2, number of failing samples : \
             0\",true,198,2\n",
        );
        assert_eq!((figure(&of, "requests").0, figure(&of, "max").0), (2.0, 0.02));
        let of = judged("1000,10,a,500,See: Number of samples in transaction,false,99,2\n");
        assert_eq!(figure(&of, "requests").0, 1.0, "a message of the server");
    }

    /// With "Generate parent sample", JMeter writes no other rows.
    #[test]
    fn rows_of_transactions_alone_are_refused_with_what_to_turn_off() {
        for message in
            ["Number of samples in transaction : 2", "\"Number of samples in transaction\""]
        {
            let error = told(&format!("1000,30,t,200,{message},true,198,2\n")).unwrap_err();
            let expected = "only rows of transactions; turn off Generate parent sample";
            assert_eq!(error.to_string(), expected);
        }
        let error = told("").unwrap_err().to_string();
        assert!(error.contains("has no sample of a request"), "{error}");
    }

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
