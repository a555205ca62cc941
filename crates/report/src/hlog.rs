//! The full latency distributions in the HdrHistogram interval log format, which
//! `HistogramLogProcessor` and all other HdrHistogram tools read.
//!
//! One interval per point, tagged `c400`, with `-d10` for a depth above one, `-r20000` for an
//! asked rate, `-v2` for a second visit, and `-broken` when a gate failed. Values are
//! nanoseconds; the readable maximum of each line is in milliseconds, as in other such logs.
//! Intervals count from the start of the run.

use crate::hosts::origin_ns;
use crate::page::Mark;
use crate::wording::{mark_of, plural, point_phrase};
use hdrhistogram::serialization::V2DeflateSerializer;
use hdrhistogram::serialization::interval_log::{IntervalLogWriterBuilder, Tag};
use model::run::{Point, Run};
use model::units::NS_PER_MS;
use std::time::{Duration, SystemTime};

/// A run as an interval log. Without kept distributions it has no interval and says so.
pub fn hlog(run: &Run) -> Vec<u8> {
    let mut log = Vec::new();
    // Cannot fail: writing to memory cannot, and the bounds of every histogram are those of
    // `model`, which are representable.
    write(run, &mut log).expect("a log in memory can be written");
    log
}

fn write(run: &Run, log: &mut Vec<u8>) -> Result<(), Box<dyn std::error::Error>> {
    let mut serializer = V2DeflateSerializer::new();
    let started_at = started_at(run);
    let mut writer = IntervalLogWriterBuilder::new()
        .add_comment("[Histogram log format version 1.3]")
        .add_comment(&format!("[ceiling {}, run {}]", one_line(&run.record.version), id_of(run)))
        .with_start_time(started_at)
        .with_base_time(started_at)
        .with_max_value_divisor(NS_PER_MS as f64)
        .begin_log_with(log, &mut serializer)?;
    if run.latencies.is_empty() {
        writer.write_comment("The full distributions were not kept with this run.")?;
    }
    let origin_ns = origin_ns(run);
    for (point, histogram) in run.record.points.iter().zip(&run.latencies) {
        let (begin_ns, end_ns) = point.window_ns;
        let tag = tag_of(run, point);
        let without = match point.latency_ns.censored {
            0 => String::new(),
            some => format!("; {} without a good response are not in it", plural(some, "request")),
        };
        writer.write_comment(&format!("{tag}: {}{without}", point_phrase(point)))?;
        let begin = Duration::from_nanos(begin_ns.saturating_sub(origin_ns));
        let length = Duration::from_nanos(end_ns.saturating_sub(begin_ns));
        writer.write_histogram(histogram.buckets(), begin, length, Tag::new(&tag))?;
    }
    Ok(())
}

/// A start time that cannot be parsed becomes the epoch: offsets between intervals stay right.
fn started_at(run: &Run) -> SystemTime {
    let parsed = run.record.started_at.parse::<jiff::Timestamp>();
    parsed.map_or(SystemTime::UNIX_EPOCH, SystemTime::from)
}

fn id_of(run: &Run) -> String {
    one_line(&run.record.id)
}

/// A comment must stay on one line.
fn one_line(text: &str) -> String {
    text.chars().filter(|character| !character.is_control()).collect()
}

fn tag_of(run: &Run, point: &Point) -> String {
    let mut tag = format!("c{}", point.load.connections);
    if point.load.depth > 1 {
        tag.push_str(&format!("-d{}", point.load.depth));
    }
    if let Some(rate) = point.load.rate {
        tag.push_str(&format!("-r{rate}"));
    }
    if point.attempt > 1 {
        tag.push_str(&format!("-v{}", point.attempt));
    }
    if mark_of(run, point) == Mark::Broken {
        tag.push_str("-broken");
    }
    tag
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures;
    use base64::Engine as _;
    use hdrhistogram::serialization::Deserializer;
    use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};

    #[test]
    fn a_log_reads_back_the_same() {
        for (name, run) in fixtures::all() {
            let log = hlog(&run);
            let mut intervals = 0;
            for entry in IntervalLogIterator::new(&log) {
                let LogEntry::Interval(interval) = entry.expect("every line is understood") else {
                    continue;
                };
                let (point, written) = (&run.record.points[intervals], &run.latencies[intervals]);
                let encoded = interval.encoded_histogram();
                let bytes = base64::engine::general_purpose::STANDARD.decode(encoded).unwrap();
                let read: hdrhistogram::Histogram<u64> =
                    Deserializer::new().deserialize(&mut bytes.as_slice()).unwrap();
                assert_eq!(&read, written.buckets(), "{name}");
                let tag = interval.tag().expect("every interval is tagged").as_str();
                assert_eq!(tag, tag_of(&run, point), "{name}");
                let length_ns = u64::try_from(interval.duration().as_nanos()).unwrap();
                let window_ns = point.window_ns.1 - point.window_ns.0;
                assert!(length_ns.abs_diff(window_ns) <= NS_PER_MS, "{name}");
                intervals += 1;
            }
            assert_eq!(intervals, run.latencies.len(), "{name}");
        }
    }

    #[test]
    fn requests_that_are_in_no_bucket_are_counted_beside_them() {
        let mut run = fixtures::ramp_quota();
        let says = |run: &Run| String::from_utf8(hlog(run)).unwrap().contains("1200 requests");
        assert!(!says(&run));
        run.record.points[0].latency_ns.censored = 1200;
        assert!(says(&run));
    }

    #[test]
    fn the_head_is_what_other_tools_expect() {
        let log = String::from_utf8(hlog(&fixtures::ramp_invalid())).unwrap();
        let lines: Vec<&str> = log.lines().collect();
        assert_eq!(lines[0], "#[Histogram log format version 1.3]");
        assert!(log.contains("#[StartTime: 1788264000.000 (seconds since epoch)]"), "{log}");
        assert!(log.contains("#[BaseTime: 1788264000.000 (seconds since epoch)]"), "{log}");
        assert!(log.contains("\nTag=c2000-broken,"), "broken points say so");
    }

    #[test]
    fn without_distributions_the_log_says_so() {
        let run = Run { latencies: Vec::new(), ..fixtures::ramp_quota() };
        let log = String::from_utf8(hlog(&run)).unwrap();
        assert!(log.contains("not kept") && !log.contains("Tag="), "{log}");
    }
}
