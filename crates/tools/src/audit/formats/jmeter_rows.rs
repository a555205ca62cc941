//! JMeter, samples as CSV (`.jtl`), any number of rows.
//!
//! Source: JMeter 5.6 `SampleResult`, `CSVSaveService`, and the properties
//! `jmeter.save.saveservice.*`: the columns, their separator, the form of the instants, and whether
//! there is a heading, are a user's choice. `timeStamp` is the start of a sample and `elapsed` its
//! duration, in whole milliseconds; `allThreads` are the active threads. A sampler may contain
//! several requests. `success` says whether a sample is good, whatever its code: assertions and
//! scripts set it. JMeter leaves the row of a transaction, which is a sum of others, out of its own
//! totals.

use super::{Format, Reader, Report};
use crate::audit::instant::{ACCEPTED, Instant};
use crate::audit::page::Page;
use crate::audit::rows::{Bounded, RequestOutcome, Sampled};
use crate::audit::unread::Unread;
use csv::StringRecord;
use model::audit::{Counts, Figure, Loop, Meaning, RateIs, Since};
use std::io::{self, BufRead, Read};

pub(super) const FORMAT: Format = Format {
    id: "jmeter-rows",
    tool: "jmeter",
    about: "samples of JMeter as CSV",
    example: "jmeter -n -t plan.jmx -l samples.jtl",
    reader: Reader::Rows(is, read),
    reads: &[
        (
            "requests, good, errors, status.*",
            "rows, by `success` and `responseCode`; by `responseCode` alone without `success`",
        ),
        ("duration, rate", "`timeStamp` (ms, or a date), and the end of the last sample"),
        ("mean, stdev, min, max, pN", "`elapsed`"),
        ("bytes", "`bytes`"),
    ],
    needs: "`elapsed` in each row, as many cells as the heading",
};

/// How the message of a transaction's row begins.
const TRANSACTION: &str = "Number of samples in transaction";

/// Columns that JMeter may write, in its order.
const KNOWN: [&str; 22] = [
    "timeStamp",
    "elapsed",
    "label",
    "responseCode",
    "responseMessage",
    "threadName",
    "dataType",
    "success",
    "failureMessage",
    "bytes",
    "sentBytes",
    "grpThreads",
    "allThreads",
    "URL",
    "Filename",
    "Latency",
    "Encoding",
    "SampleCount",
    "ErrorCount",
    "Hostname",
    "IdleTime",
    "Connect",
];
/// So many of its columns make a heading.
const KNOWN_MIN: usize = 3;
/// The lines among which the first row is.
const HEAD_LINES: usize = 20;

/// Where the cells of a row are.
#[derive(Debug, Clone, Default, PartialEq)]
struct Columns {
    separator: u8,
    /// How many a row has; 0 without a heading.
    many: usize,
    start: Option<usize>,
    elapsed: Option<usize>,
    code: Option<usize>,
    message: Option<usize>,
    success: Option<usize>,
    threads: Option<usize>,
    bytes: Option<usize>,
}

impl Columns {
    /// Those of a heading, or of a row in the order of JMeter where a file has none.
    fn of(line: &str) -> Option<Self> {
        // Most lines of other texts end here.
        let small = line.to_ascii_lowercase();
        if ["elapsed", "timestamp"].iter().any(|name| small.contains(name)) {
            let is_mark = |char: char| !(char.is_ascii_alphanumeric() || "\" _".contains(char));
            let mark = line.chars().find(|char| is_mark(*char));
            let mark = mark.and_then(|mark| u8::try_from(mark).ok()).filter(u8::is_ascii);
            if let Some(columns) = mark.and_then(|mark| Self::of_heading(line, mark)) {
                return Some(columns);
            }
        }
        let is_row = small.starts_with(|first: char| first.is_ascii_digit() || first == '"');
        let has_outcome = small.contains("true") || small.contains("false");
        let separators = [b',', b';', b'\t', b'|'].into_iter();
        separators.filter(|_| is_row && has_outcome).find_map(|one| Self::of_row(line, one))
    }

    fn of_heading(line: &str, separator: u8) -> Option<Self> {
        let names = cells(line, separator);
        let is_known = |name: &&String| KNOWN.iter().any(|one| one.eq_ignore_ascii_case(name));
        let column = |name: &str| names.iter().position(|one| one.eq_ignore_ascii_case(name));
        let is_timed = column("timeStamp").or(column("elapsed")).is_some();
        if names.iter().filter(is_known).count() < KNOWN_MIN || !is_timed {
            return None;
        }
        Some(Self {
            separator,
            many: names.len(),
            start: column("timeStamp"),
            elapsed: column("elapsed"),
            code: column("responseCode"),
            message: column("responseMessage"),
            success: column("success"),
            threads: column("allThreads"),
            bytes: column("bytes"),
        })
    }

    /// Instant, time, label, code, message and, after others, whether it is good.
    fn of_row(line: &str, separator: u8) -> Option<Self> {
        let cells = cells(line, separator);
        let is_number =
            |text: &String| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        let is_instant = |text: &String| match is_number(text) {
            true => text.len() == 13,
            false => Instant::read(text).is_some(),
        };
        let is_row = cells.first().is_some_and(is_instant) && cells.get(1).is_some_and(is_number);
        let is_word = |cell: &String| ["true", "false"].contains(&cell.as_str());
        let success = cells.iter().position(is_word).filter(|_| is_row)?;
        let is_code =
            |code: &&String| (is_number(code) && code.len() == 3) || code.contains("Non HTTP");
        let has_code = success > 4 && cells.get(3).as_ref().is_some_and(is_code);
        Some(Self {
            separator,
            start: Some(0),
            elapsed: Some(1),
            code: has_code.then_some(3),
            message: has_code.then_some(4),
            success: Some(success),
            ..Self::default()
        })
    }
}

/// The cells of one line, without blanks around them.
fn cells(line: &str, separator: u8) -> Vec<String> {
    let mut reader = csv::ReaderBuilder::new();
    let reader = reader.has_headers(false).flexible(true).delimiter(separator);
    let record = reader.from_reader(line.as_bytes()).into_records().next().and_then(Result::ok);
    record.iter().flatten().take(CELLS_MAX).map(|cell| cell.trim().to_string()).collect()
}

/// The most cells of a heading.
const CELLS_MAX: usize = 1000;

fn is(head: Page<'_>) -> bool {
    Columns::of(head.first()).is_some()
}

/// The columns, the number of lines before the rows, and the first row where there is no heading.
fn begin(source: &mut dyn BufRead) -> Result<Option<(Columns, u64, Vec<u8>)>, Unread> {
    let mut line = Vec::new();
    for number in 1..=HEAD_LINES as u64 {
        line.clear();
        (&mut *source).take(HEADING_MAX).read_until(b'\n', &mut line)?;
        let text = String::from_utf8_lossy(&line);
        let text = text.trim_start_matches('\u{feff}').trim_end();
        if let Some(columns) = Columns::of(text).filter(|_| !text.starts_with("$ ")) {
            let has_heading = columns.many > 0;
            return Ok(Some(match has_heading {
                true => (columns, number, Vec::new()),
                false => {
                    (columns, number - 1, text.as_bytes().iter().copied().chain([b'\n']).collect())
                }
            }));
        }
    }
    Ok(None)
}

/// The most bytes of a heading.
const HEADING_MAX: u64 = 64 << 10;

fn read(source: &mut dyn BufRead) -> Result<Report, Unread> {
    let Some((columns, before, first)) = begin(source)? else { return Ok(Err("heading")) };
    if columns.elapsed.is_none() {
        return Ok(Err("column elapsed; set jmeter.save.saveservice.time=true"));
    }
    let bounded = Bounded::new(first.chain(source), columns.separator);
    let mut builder = csv::ReaderBuilder::new();
    let builder = builder.has_headers(false).flexible(true).delimiter(columns.separator);
    let mut rows = builder.from_reader(bounded);
    let (mut sums, mut record) = (Sums::new(columns), StringRecord::new());
    // A row that cannot be read is left out if it is the last one and has no end.
    let mut refused = None;
    while rows.read_record(&mut record).map_err(io::Error::other)? {
        if let Some(error) = refused.take() {
            return Err(error);
        }
        let line = before + record.position().map_or(0, csv::Position::line);
        match sums.add(&record, line) {
            Err(error @ Unread::Row { .. }) => refused = Some(error),
            result => result?,
        }
    }
    match refused {
        Some(error) if rows.get_ref().is_ended() => Err(error),
        _ => sums.foreign(),
    }
}

/// What the rows add up to.
struct Sums {
    columns: Columns,
    sampled: Sampled,
    threads_max: f64,
    received: f64,
    has_transactions: bool,
    /// The first two numbers of the first date, if they may be month and day or day and month.
    unclear: Option<(i16, i16)>,
}

const CLEAR: &str = "a date of one day, or with the year first: one like it is month/day or \
                     day/month; set jmeter.save.saveservice.timestamp_format=ms";
const NUMBER: &str = "a number of milliseconds";
const OUTCOME: &str = "true or false";
const AS_MANY: &str = "a row with as many cells as the heading; cells with a separator need quotes";

impl Sums {
    fn new(columns: Columns) -> Self {
        let (sampled, unclear) = (Sampled::default(), None);
        Self { columns, sampled, threads_max: 0.0, received: 0.0, has_transactions: false, unclear }
    }

    fn add(&mut self, record: &StringRecord, line: u64) -> Result<(), Unread> {
        let text = |index: Option<usize>| index.and_then(|index| record.get(index)).map(str::trim);
        let number = |index: Option<usize>| text(index)?.parse::<f64>().ok();
        let columns = &self.columns;
        if text(columns.elapsed).is_some_and(|cell| cell.eq_ignore_ascii_case("elapsed")) {
            let why = "a second heading; put each test into its own file";
            return Err(io::Error::other(why).into());
        }
        let many = if columns.many > 0 { columns.many } else { record.len() };
        let is_beyond = record.iter().skip(many).any(|cell| !cell.trim().is_empty());
        let least = many.max(columns.success.map_or(0, |index| index + 1));
        if record.len() < least || is_beyond {
            let shown = record.iter().collect::<Vec<_>>().join(" | ");
            return Err(Unread::row(line, "row", &shown, AS_MANY));
        }
        let refused = |column, index, accepted| {
            Unread::row(line, column, text(index).unwrap_or_default(), accepted)
        };
        if text(columns.message).is_some_and(|message| message.starts_with(TRANSACTION)) {
            self.has_transactions = true;
            return Ok(());
        }
        let took_ms = number(columns.elapsed);
        let took_ms = took_ms.ok_or_else(|| refused("elapsed", columns.elapsed, NUMBER))?;
        let is_outcome =
            |word: &str| ["true", "false"].iter().any(|one| word.eq_ignore_ascii_case(one));
        if text(columns.success).is_some_and(|word| !is_outcome(word)) {
            return Err(refused("success", columns.success, OUTCOME));
        }
        let (status, is_good) = outcome(text(columns.code), text(columns.success));
        let (threads, bytes) = (number(columns.threads), number(columns.bytes));
        let start = text(columns.start).map(|cell| {
            Instant::read(cell).ok_or_else(|| refused("timeStamp", columns.start, ACCEPTED))
        });
        let start = start.transpose()?;
        if let Some(start) = start {
            if self.sampled.count() == 0 {
                self.unclear = start.unclear;
            } else if self.unclear != start.unclear {
                return Err(refused("timeStamp", columns.start, CLEAR));
            }
            self.sampled.span_step_s = self.sampled.span_step_s.max(start.step_s);
        }
        let span = start.map(|start| (start.seconds, start.seconds + took_ms / 1e3));
        self.sampled.add(took_ms / 1e3, span, &RequestOutcome { status: &status, is_good, line });
        self.threads_max = self.threads_max.max(threads.unwrap_or(0.0));
        self.received += bytes.unwrap_or(0.0);
        Ok(())
    }

    fn foreign(self) -> Result<Report, Unread> {
        if self.sampled.count() == 0 && self.has_transactions {
            let why = "only rows of transactions; turn off Generate parent sample";
            return Err(io::Error::other(why).into());
        }
        if self.sampled.count() == 0 {
            return Ok(Err("sample of a request"));
        }
        let meaning = Meaning {
            load: Loop::Unknown,
            counts: Counts::Requests,
            rate_is: RateIs::Quotient,
            edge_s: Some(0.0),
            ..Meaning::default()
        };
        let mut report = self.sampled.foreign(Since::Send, 1e-3, meaning);
        let counted = |value: f64| (value > 0.0).then(|| Figure::exact(value, 0));
        (report.connections, report.bytes) = (counted(self.threads_max), counted(self.received));
        Ok(Ok(report))
    }
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
    use crate::audit::judge::account;
    use crate::audit::read::read;
    use crate::audit::unread::Unread;
    use model::audit::{Account, Foreign, Given, Outcome};

    fn read_rows(rows: &str) -> Result<Foreign, Unread> {
        let text = format!(
            "timeStamp,elapsed,label,responseCode,responseMessage,success,bytes,allThreads\n{rows}"
        );
        read(&mut text.as_bytes(), &Given::default())
    }

    fn judged(rows: &str) -> Account {
        account("-".into(), String::new(), read_rows(rows).unwrap(), &Given::default())
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
        assert_eq!(figure(&of, "rate").1, Outcome::Undecided, "there were responses");
        assert_ne!(figure(&of, "max").1, Outcome::Impossible, "their times are of responses");
        let of = judged("1000,10,a,404,Not Found,true,99,2\n1010,10,a,,,true,99,2\n");
        assert_eq!((figure(&of, "good").0, figure(&of, "errors").0), (2.0, 0.0));
        let none = "Non HTTP response code: java.net.ConnectException";
        let of = judged(&format!("1000,1,a,{none},refused,false,0,2\n").repeat(2));
        assert_eq!(figure(&of, "rate").1, Outcome::Impossible, "there was no response");
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
            let error = read_rows(&format!("1000,30,t,200,{message},true,198,2\n")).unwrap_err();
            let expected = "only rows of transactions; turn off Generate parent sample";
            assert_eq!(error.to_string(), expected);
        }
        let error = read_rows("").unwrap_err().to_string();
        assert!(error.contains("has no sample of a request"), "{error}");
    }

    #[test]
    fn commas_between_quotes_shift_no_columns() {
        let text = "timeStamp,elapsed,label,responseCode,success,failureMessage,bytes,allThreads\n\
                    1000,10,\"GET /a, \"\"b\"\"\",200,true,,100,2\n\
                    1010,20,get,500,false,\"expected 200, got 500, again\",100,2\n\
                    1020,30,get,500,false,\"over\ntwo lines, of which one is a row\",100,9\n";
        let report = read(&mut text.as_bytes(), &Given::default()).unwrap();
        let values =
            [&report.requests, &report.good, &report.failed, &report.connections, &report.bytes];
        let values = values.map(|figure| figure.as_ref().unwrap().value);
        assert_eq!(values, [3.0, 1.0, 2.0, 9.0, 300.0]);
    }

    const PLAIN: &str = "timeStamp,elapsed,label,responseCode,responseMessage,threadName,success,\
                         bytes\n\
                         1700000000000,250,get,200,OK,t 1-1,true,100\n\
                         1700000000100,250,get,500,no,t 1-2,false,100\n";

    fn all(text: &str) -> Result<[f64; 4], Unread> {
        let report = read(&mut text.as_bytes(), &Given::default())?;
        let max = report.latencies[0].max.clone();
        let of = [report.requests, report.failed, max, report.duration_s.clone()];
        Ok(of.map(|one| one.map_or(0.0, |one| (one.value * 1e6).round() / 1e6)))
    }

    /// Columns, separator, instants and heading are a user's choice.
    #[test]
    fn the_same_samples_in_other_forms_give_the_same() {
        let expected = [2.0, 1.0, 0.25, 0.35];
        assert_eq!(all(PLAIN).unwrap(), expected);
        for separator in [";", "\t", "|", "~"] {
            assert_eq!(all(&PLAIN.replace(',', separator)).unwrap(), expected, "{separator}");
        }
        let swapped = "success,label,elapsed,responseCode,timeStamp,bytes\n\
                       true,\"a, b\",250,200,1700000000000,100\n\
                       false,c,250,500,1700000000100,100\n";
        let (_, bare) = PLAIN.split_once('\n').unwrap();
        let dates = |zero: &str, later: &str| {
            PLAIN.replace("1700000000000", zero).replace("1700000000100", later)
        };
        for text in [
            swapped.to_string(),
            PLAIN.replacen("timeStamp,elapsed,label", "\"timeStamp\",\"elapsed\",\"label\"", 1),
            bare.to_string(),
            bare.replace(',', ";"),
            dates("2023/11/14 22:13:20.000", "2023/11/14 22:13:20.100"),
            dates("2023-11-14T22:13:20.000Z", "2023-11-14T22:13:20.100Z").replace(',', ";"),
            dates("11/14/23 22:13:20.000", "11/14/23 22:13:20.100"),
            format!("\u{feff}{}", PLAIN.replace('\n', "\r\n")),
            format!("$ jmeter -n -t p.jmx -l s.jtl\n\n{PLAIN}"),
            format!("{PLAIN}1700000000200,25"),
        ] {
            assert_eq!(all(&text).unwrap(), expected, "{text}");
        }
    }

    #[test]
    fn instants_of_whole_seconds_leave_the_rate_open_and_without_instants_there_is_none() {
        let text = "timeStamp,elapsed,label,success\n2023/11/14 22:13:20,250,a,true\n\
                    2023/11/14 22:13:29,250,a,true\n";
        let report = read(&mut text.as_bytes(), &Given::default()).unwrap();
        let duration = report.duration_s.unwrap();
        assert_eq!((duration.low, duration.value, duration.high), (8.25, 9.25, 10.25));
        let rate = report.rate.unwrap();
        assert!(rate.low < 0.2 && rate.high > 0.24, "{rate:?}");
        let none = "elapsed,label,success\n250,a,true\n250,b,false\n";
        assert_eq!(all(none).unwrap(), [2.0, 1.0, 0.25, 0.0]);
    }

    #[test]
    fn what_cannot_be_read_is_refused_with_its_line_and_column() {
        let more = |row: &str| format!("{PLAIN}{row}\n");
        let good = "1700000000000,250,get,200,OK,t,true,1";
        for (text, line, words) in [
            (more("14 Nov 2023,250,get,200,OK,t,true,1"), 4, "timeStamp: `14 Nov 2023` is not"),
            (more("1700000000000,fast,get,200,OK,t,true,1"), 4, "elapsed: `fast` is not a number"),
            (more("1700000000000,,get,200,OK,t,true,1"), 4, "elapsed: `` is not"),
            (
                more("1700000000000,250,get,200,OK,t,yes,1"),
                4,
                "success: `yes` is not true or false",
            ),
            (more("1700000000000,250,get, b,200,OK,t,true,1"), 4, "as many cells as the heading"),
            (more("1700000000000,250,get"), 4, "as many cells as the heading"),
            // Columns in another order than the heading says.
            (more("250,1700000000000,get,200,true,t,OK,1"), 4, "success: `OK`"),
            (
                PLAIN
                    .replace("1700000000000", "03/04/23 10:00:00")
                    .replace("1700000000100", "04/04/23 10:00:00"),
                3,
                "day/month",
            ),
        ] {
            let error = all(&format!("{text}{good}\n")).unwrap_err();
            assert!(matches!(error, Unread::Row { line: of, .. } if of == line), "{error}");
            assert!(error.to_string().contains(words), "{error}");
        }
        for (text, words) in [
            ("timeStamp,label,success,bytes\n1,a,true,1\n", "jmeter.save.saveservice.time=true"),
            ("<?xml version=\"1.0\"?>\n<testResults version=\"1.2\">\n", "output_format=csv"),
        ] {
            let error = all(text).unwrap_err().to_string();
            assert!(error.contains(words), "{error}");
        }
    }

    #[test]
    fn a_time_below_zero_refutes_itself() {
        for bad in ["-3", "NaN", "inf"] {
            let text = format!("{PLAIN}1700000000200,{bad},get,200,OK,t,true,1\n");
            let report = read(&mut text.as_bytes(), &Given::default()).unwrap();
            let of = account("-".into(), String::new(), report, &Given::default());
            assert!(of.claims.iter().any(|claim| claim.outcome == Outcome::Impossible), "{bad}");
        }
    }
}
