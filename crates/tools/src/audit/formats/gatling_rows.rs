//! Gatling, `simulation.log` as text (2.0 to 3.10), with any number of rows.
//!
//! Source: Gatling `FileDataWriter`, from 3.0 on `LogFileDataWriter`: tabs between the cells. The
//! type of a row is its first cell, before 2.2 the third one. The row of a request ends with start
//! and end in milliseconds, `OK` or `KO`, and a message; before 2.2 with four instants, of which
//! the first is the start and the last the end. Rows of assertions come before that of the run.
//! There are no status codes: `OK` means that a check held.

use super::{Format, Reader, Report};
use crate::audit::page::Page;
use crate::audit::rows::{Line, RequestOutcome, Sampled, lines};
use crate::audit::unread::Unread;
use model::audit::{Counts, Loop, Meaning, RateIs, Since};
use std::io::{self, BufRead};

pub(super) const FORMAT: Format = Format {
    id: "gatling-rows",
    tool: "gatling",
    about: "simulation.log of Gatling as text",
    example: "results/SIMULATION/simulation.log",
    reader: Reader::Rows(is, read),
    reads: &[
        ("requests, good, errors, status.*", "rows `REQUEST`, by `OK` and `KO`"),
        ("duration, rate", "first start, last end"),
        ("mean, stdev, min, max, pN", "end less start"),
    ],
    needs: "row `REQUEST` with start, end and outcome; with a second row `RUN`",
};

const EACH: &str = "a row of a request: .. tab, start, tab, end (ms), tab, OK or KO";

fn is(head: Page<'_>) -> bool {
    let cells: Vec<&str> = head.first().split('\t').take(CELLS_MAX).collect();
    let has = |names: &[&str]| cells.iter().any(|cell| names.contains(cell));
    let is_instant = |cell: &&str| cell.len() == 13 && cell.parse::<u64>().is_ok();
    match kind(&cells) {
        Some(("RUN" | "ASSERTION", _)) => true,
        Some(("USER", _)) => has(&["START", "END"]),
        Some(("REQUEST" | "GROUP" | "ACTION", _)) => has(&["OK", "KO"]),
        Some(("ERROR", _)) => cells.last().is_some_and(is_instant),
        _ => false,
    }
}

/// The most cells of a row that are looked at.
const CELLS_MAX: usize = 24;
const KINDS: [&str; 7] = ["RUN", "ASSERTION", "USER", "REQUEST", "GROUP", "ERROR", "ACTION"];

/// The type of a row, and which cell it is.
fn kind<'a>(cells: &[&'a str]) -> Option<(&'a str, usize)> {
    let is_kind = |at: &usize| cells.get(*at).is_some_and(|cell| KINDS.contains(cell));
    let at = [0, 2].into_iter().find(is_kind).filter(|_| cells.len() > 1)?;
    Some((cells[at], at))
}

fn read(source: &mut dyn BufRead) -> Result<Report, Unread> {
    let (mut sampled, mut runs) = (Sampled::default(), 0);
    lines(source, |line| {
        let cells: Vec<&str> = line.text.split('\t').take(CELLS_MAX).collect();
        match kind(&cells) {
            Some(("REQUEST", at)) => add(&mut sampled, &cells[at + 1..], at, line),
            Some(("ACTION", _)) => Err(io::Error::other(FIRST_VERSION).into()),
            Some(("RUN", _)) if runs > 0 => Err(io::Error::other(SEVERAL).into()),
            Some(("RUN", _)) => {
                runs += 1;
                Ok(())
            }
            _ => Ok(()),
        }
    })?;
    if sampled.count() == 0 {
        return Ok(Err("row REQUEST"));
    }
    let meaning = Meaning {
        load: Loop::Unknown,
        counts: Counts::Requests,
        rate_is: RateIs::Quotient,
        edge_s: Some(0.0),
        ..Meaning::default()
    };
    Ok(Ok(sampled.foreign(Since::Send, 1e-3, meaning)))
}

const FIRST_VERSION: &str = "a log of Gatling 1; those of 2.0 to 3.10 are read";
const SEVERAL: &str = "a second row RUN; put each log into its own file";

/// Adds a request, from its cells behind the type of the row, which was cell number `at`.
fn add(sampled: &mut Sampled, cells: &[&str], at: usize, line: &Line<'_>) -> Result<(), Unread> {
    let ms = |index: usize| cells.get(index)?.parse::<f64>().ok();
    let instants = |end: usize| {
        let first = if at == 2 { end.checked_sub(4) } else { None };
        let start = first.and_then(ms).or_else(|| ms(end.checked_sub(2)?))?;
        Some((start, ms(end.checked_sub(1)?)?))
    };
    let of = |end: usize| ["OK", "KO"].contains(&cells[end]).then(|| instants(end)).flatten();
    let found = (0..cells.len()).find_map(|end| Some((cells[end], of(end)?)));
    let Some((status, (start_ms, end_ms))) = found else {
        return Err(Unread::row(line.number, "REQUEST", line.text, EACH));
    };
    let is_good = status == "OK";
    let status = if is_good { "200" } else { "KO" };
    let outcome = RequestOutcome { status, is_good, line: line.number };
    sampled.add((end_ms - start_ms) / 1e3, Some((start_ms / 1e3, end_ms / 1e3)), &outcome);
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::audit::judge::account;
    use crate::audit::read::read;
    use crate::audit::unread::Unread;
    use model::audit::{Foreign, Given, Outcome};

    fn read_log(text: &str) -> Result<Foreign, Unread> {
        read(&mut text.as_bytes(), &Given::default())
    }

    fn figures(text: &str) -> [f64; 4] {
        let report = read_log(text).unwrap();
        let max = report.latencies[0].max.clone();
        [report.requests, report.failed, max, report.duration_s].map(|one| one.unwrap().value)
    }

    const TWO: [f64; 4] = [2.0, 1.0, 0.25, 0.35];

    #[test]
    fn logs_of_all_versions_of_text_give_the_same() {
        for log in [
            // 3.4 and later, with assertions before the run.
            "ASSERTION\tAAECAAI\nRUN\ta.B\tb\t1700000000000\t \t3.10.5\n\
             USER\ts\tSTART\t1700000000000\nREQUEST\t\tget\t1700000000000\t1700000000250\tOK\t \n\
             REQUEST\tg\tget\t1700000000100\t1700000000350\tKO\tstatus\n",
            // 2.2 to 3.3: with the scenario and the number of the user.
            "RUN\ta.B\t\tb\t1700000000000\t \t2.0\n\
             REQUEST\ts\t1\t\tget\t1700000000000\t1700000000250\tOK\t \n\
             REQUEST\ts\t2\tg\tOK\t1700000000100\t1700000000350\tKO\tstatus 500\n",
            // 2.0 and 2.1: the type is the third cell, and there are four instants.
            "a.B\tb-1\tRUN\t1700000000000\t \t2.0\ns\t1\tUSER\tSTART\t1700000000000\t0\n\
             s\t1\tREQUEST\t\tget\t1700000000000\t1700000000001\t1700000000240\t1700000000250\t\
             OK\t\ns\t2\tREQUEST\tg\tget\t1700000000100\t1700000000101\t1700000000340\t\
             1700000000350\tKO\t\n",
            // The beginning is missing, or a mark of the encoding and blank lines are there.
            "REQUEST\t\tget\t1700000000000\t1700000000250\tOK\t \n\
             REQUEST\tg\tget\t1700000000100\t1700000000350\tKO\tstatus\n",
            "\u{feff}\n\nGROUP\tg\t1700000000000\t1700000000350\t500\tKO\n\
             REQUEST\t\tget\t1700000000000\t1700000000250\tOK\t \n\
             REQUEST\tg\tget\t1700000000100\t1700000000350\tKO\tstatus\n",
        ] {
            assert_eq!(figures(log).map(|value| (value * 1e3).round() / 1e3), TWO, "{log}");
        }
    }

    #[test]
    fn a_row_that_cannot_be_read_is_refused_with_its_line() {
        let run = "RUN\ta.B\tb\t1700000000000\t \t3.10.5\n";
        let good = "REQUEST\t\tget\t1700000000000\t1700000000250\tOK\t \n";
        for row in
            ["REQUEST\t\tget\t12:00\t12:01\tOK\t \n", "REQUEST\tget\tOK\n", "REQUEST\t1\t2\n"]
        {
            let error = read_log(&format!("{run}{good}{row}{good}")).unwrap_err();
            assert!(matches!(error, Unread::Row { line: 3, .. }), "{row}: {error}");
        }
        assert!(read_log(&format!("{run}{good}REQUEST\t\tge")).is_ok(), "the log was cut");
        for (log, words) in [
            (format!("{run}{good}{run}{good}"), "second row RUN"),
            ("ACTION\ts\t1\tget\t1\t2\t3\t4\tOK\t\n".to_string(), "Gatling 1"),
            ("\0\0\0\0\u{6}3.12.0\0\0\0\u{3}a.B".to_string(), "js/stats.json"),
        ] {
            let error = read_log(&log).unwrap_err().to_string();
            assert!(error.contains(words), "{error}");
        }
    }

    #[test]
    fn a_request_that_ended_before_it_began_refutes_its_time() {
        let log = "RUN\ta.B\tb\t1700000000000\t \t3.10.5\n\
                   REQUEST\t\tget\t1700000000000\t1700000000250\tOK\t \n\
                   REQUEST\t\tget\t1700000000300\t1700000000250\tOK\t \n";
        let of = account("-".into(), String::new(), read_log(log).unwrap(), &Given::default());
        let min = of.claims.iter().find(|claim| claim.name == "min").unwrap();
        assert_eq!((min.outcome, min.figure.line), (Outcome::Impossible, 3));
    }
}
