//! Gatling, `simulation.log` as text (before 3.11), with any number of rows.
//!
//! Source: Gatling 3.10 `LogFileDataWriter`: tabs between record type, groups, name, start and end
//! in milliseconds, `OK` or `KO`. There are no status codes: `OK` means that a check held.

use super::{Format, Reader, Told};
use crate::page::Page;
use crate::rows::{Said, Sampled, lines};
use model::audit::{Counts, Loop, Meaning, RateIs, Since};
use std::io::{self, BufRead};

pub(super) const FORMAT: Format = Format {
    id: "gatling-rows",
    tool: "gatling",
    about: "simulation.log of Gatling",
    example: "results/SIMULATION/simulation.log",
    reader: Reader::Rows(is, read),
};

fn is(head: Page<'_>) -> bool {
    head.lines().next().is_some_and(|spot| spot.text.starts_with("RUN\t"))
}

fn read(source: &mut dyn BufRead) -> io::Result<Told> {
    let mut sampled = Sampled::default();
    lines(source, |line| {
        let mut words = line.split('\t');
        if words.next() != Some("REQUEST") {
            return;
        }
        let words: Vec<&str> = words.take(20).collect();
        let Some(at) = words.iter().position(|word| *word == "OK" || *word == "KO") else { return };
        let ms = |back: usize| words.get(at.checked_sub(back)?)?.parse::<f64>().ok();
        let (Some(start), Some(end)) = (ms(2), ms(1)) else { return };
        let is_time = start.is_finite() && end.is_finite() && end >= start && start >= 0.0;
        if is_time {
            let is_good = words[at] == "OK";
            let status = if is_good { "200" } else { "KO" };
            let span = (start / 1e3, end / 1e3);
            sampled.add((end - start) / 1e3, Some(span), &Said { status, is_good });
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
    Ok(Ok(sampled.told(Since::Send, 1e-3, meaning)))
}
