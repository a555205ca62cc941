//! Reading a run back. The files are input like any other: hostile until parsed.

use crate::{
    LATENCIES, POINTS, READINGS, RECORD, Readings, SERVER_READINGS, StoreError, io_error, malformed,
};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::read::ZlibDecoder;
use hdrhistogram::serialization::Deserializer;
use model::histogram::{Histogram, VALUE_MAX_NS};
use model::json::Document;
use model::reading::Reading;
use model::run::{Record, Run, SCHEMA};
use serde::de::{Error as _, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer as _};
use std::fmt;
use std::fs::{self, File};
use std::io::{Cursor, Read};
use std::path::Path;

/// The first bytes of a deflated distribution, in the second version of the format.
const V2_DEFLATED: [u8; 4] = [0x1c, 0x84, 0x93, 0x14];
/// Bytes before the buckets.
const HEAD_BYTES: usize = 40;
/// No distribution of ours is larger: nine bytes for each of its buckets.
const INFLATED_MAX_BYTES: u64 = 512 << 10;
/// What such a distribution takes in the file: deflated, which adds less than a thousandth where
/// nothing gets smaller, in base64, in quotes.
const TEXT_MAX_BYTES: u64 = (INFLATED_MAX_BYTES + (4 << 10)) * 4 / 3;
/// Most distributions. Each takes a quarter of a megabyte of memory, however short its text is.
const DISTRIBUTIONS_MAX: usize = 4096;

/// Reads a run from its directory, or from a lone record. A lone record has no readings and no
/// whole distributions.
pub fn read(path: &Path) -> Result<Run, StoreError> {
    if path.is_file() {
        let (readings, server_readings, latencies) = (vec![], vec![], vec![]);
        return Ok(Run { record: read_record(path)?, readings, server_readings, latencies });
    }
    let record_path = path.join(RECORD);
    if !record_path.exists() && path.join(POINTS).exists() {
        let points = fs::read_to_string(path.join(POINTS)).map_err(io_error(path))?;
        // The last line may have been torn by a crash.
        let points = points.matches('\n').count();
        return Err(StoreError::Unfinished { path: path.to_path_buf(), points });
    }
    let record = read_record(&record_path)?;
    let (near, far) = logs(path)?;
    let (readings, server_readings) = readings_of(&record, &near, far.as_ref())?;
    let latencies = read_latencies(&path.join(LATENCIES), record.points.len())?;
    Ok(Run { record, readings, server_readings, latencies })
}

/// The readings of both hosts that pages are drawn from, from the logs of a run: see
/// [`Readings::load`].
pub fn readings_of(
    record: &Record,
    near: &Readings,
    far: Option<&Readings>,
) -> Result<(Vec<Reading>, Vec<Reading>), StoreError> {
    let points = record.points.iter().map(|point| point.window_ns);
    let windows: Vec<_> = points.chain(record.tool.as_ref().map(|tool| tool.window_ns)).collect();
    let clock = record.target.probe.as_ref().map(|probe| probe.clock).unwrap_or_default();
    let carried: Vec<_> = windows.iter().map(|window_ns| clock.carry(*window_ns)).collect();
    Ok((near.load(&windows)?, far.map_or(Ok(Vec::new()), |far| far.load(&carried))?))
}

/// The raw readings of a run, in its directory: of the generator's host, and of the server's if
/// there was a probe on it. A run that was read holds only some of very many.
pub fn logs(path: &Path) -> Result<(Readings, Option<Readings>), StoreError> {
    let near = Readings::open(&path.join(READINGS))?;
    let far = path.join(SERVER_READINGS);
    Ok((near, if far.exists() { Some(Readings::open(&far)?) } else { None }))
}

/// Reads a lone record, `run.json` of a run or one written with `--json`.
pub fn read_record(path: &Path) -> Result<Record, StoreError> {
    record_of(path, &fs::read(path).map_err(io_error(path))?)
}

/// The record in these bytes; errors name the path.
pub fn record_of(path: &Path, text: &[u8]) -> Result<Record, StoreError> {
    #[derive(Deserialize)]
    struct RunStamp {
        schema: String,
    }
    let stamp: RunStamp = serde_json::from_slice(text).map_err(|error| malformed(path, error))?;
    if stamp.schema != SCHEMA {
        let (path, found) = (path.to_path_buf(), stamp.schema);
        return Err(StoreError::Schema { path, found, known: SCHEMA });
    }
    Record::from_json(text).map_err(|error| malformed(path, error))
}

/// The distributions of a run with this many points; each point has one.
fn read_latencies(path: &Path, points: usize) -> Result<Vec<Histogram>, StoreError> {
    let file = File::open(path).map_err(io_error(path))?;
    let mut text = Vec::new();
    file.take(most_bytes(points) + 1).read_to_end(&mut text).map_err(io_error(path))?;
    latencies_of(path, &text, points)
}

/// The distributions of a run with this many points, in these bytes; errors name the path.
pub fn latencies_of(path: &Path, text: &[u8], points: usize) -> Result<Vec<Histogram>, StoreError> {
    let (most, bytes_max) = (points.min(DISTRIBUTIONS_MAX), most_bytes(points));
    if text.len() as u64 > bytes_max {
        let why = format!("it has more than the {bytes_max} bytes that {most} distributions take");
        return Err(malformed(path, why));
    }
    distributions(text, most).map_err(|error| malformed(path, error))
}

/// Most bytes of the distributions of a run with this many points.
fn most_bytes(points: usize) -> u64 {
    (points.min(DISTRIBUTIONS_MAX) as u64 + 1) * TEXT_MAX_BYTES
}

/// Distributions one after the other, so that none is decoded beyond the most that there may be.
fn distributions(text: &[u8], most: usize) -> serde_json::Result<Vec<Histogram>> {
    let mut text = serde_json::Deserializer::from_slice(text);
    let all = text.deserialize_seq(Distributions { most })?;
    text.end()?;
    Ok(all)
}

struct Distributions {
    most: usize,
}

impl<'de> Visitor<'de> for Distributions {
    type Value = Vec<Histogram>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of distributions")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut texts: A) -> Result<Self::Value, A::Error> {
        let mut all = Vec::new();
        while let Some(text) = texts.next_element::<String>()? {
            if all.len() == self.most {
                return Err(A::Error::custom(format!(
                    "it has more distributions than the {} that a run with its points has",
                    self.most
                )));
            }
            all.push(decoded(&text).map_err(A::Error::custom)?);
        }
        Ok(all)
    }
}

fn decoded(text: &str) -> Result<Histogram, String> {
    let layout = || "wrong bucket layout".to_string();
    let bytes = STANDARD.decode(text).map_err(|error| error.to_string())?;
    let plain = inflated(&bytes).ok_or_else(layout)?;
    let buckets = Deserializer::new().deserialize(&mut Cursor::new(plain));
    let buckets = buckets.map_err(|error| error.to_string())?;
    Histogram::from_buckets(&buckets).ok_or_else(layout)
}

/// An inflated distribution, when it has our layout. The head is checked first: it determines how
/// much memory the buckets take, up to gigabytes.
fn inflated(bytes: &[u8]) -> Option<Vec<u8>> {
    let (cookie, rest) = bytes.split_at_checked(4)?;
    let (_length, deflated) = rest.split_at_checked(4)?;
    let mut plain = Vec::new();
    ZlibDecoder::new(deflated).take(INFLATED_MAX_BYTES + 1).read_to_end(&mut plain).ok()?;
    let number = |at: usize| Some(u32::from_be_bytes(plain.get(at..at + 4)?.try_into().ok()?));
    let bound = |at: usize| Some(u64::from_be_bytes(plain.get(at..at + 8)?.try_into().ok()?));
    let is_ours = cookie == V2_DEFLATED
        && plain.len() as u64 <= INFLATED_MAX_BYTES
        && number(4)? as usize <= plain.len().checked_sub(HEAD_BYTES)?
        && (number(12)?, bound(16)?, bound(24)?) == (3, 1, VALUE_MAX_NS);
    is_ours.then_some(plain)
}

#[cfg(test)]
mod tests {
    use super::*;
    use hdrhistogram::Histogram as Hdr;
    use hdrhistogram::serialization::{Serializer, V2DeflateSerializer};

    fn deflated(buckets: &Hdr<u64>) -> Vec<u8> {
        let mut bytes = Vec::new();
        V2DeflateSerializer::new().serialize(buckets, &mut bytes).unwrap();
        bytes
    }

    /// A short text takes as much memory as a long one, so their number counts.
    #[test]
    fn there_are_no_more_distributions_than_points() {
        let empty = STANDARD.encode(deflated(Histogram::new().buckets()));
        let of = |count: usize| serde_json::to_vec(&vec![&empty; count]).unwrap();
        assert_eq!(distributions(&of(3), 3).unwrap().len(), 3);
        let error = distributions(&of(4), 3).unwrap_err().to_string();
        assert!(error.contains("more distributions than the 3"), "{error}");
        assert!(distributions(b"[] []", 3).is_err() && distributions(b"[\"\"]", 3).is_err());
        let path = std::env::temp_dir().join(format!("store-latencies-{}", std::process::id()));
        fs::write(&path, of(2)).unwrap();
        assert_eq!(read_latencies(&path, 2).unwrap().len(), 2);
        assert!(read_latencies(&path, 1).is_err(), "one point");
        fs::write(&path, vec![b' '; TEXT_MAX_BYTES as usize + 1]).unwrap();
        let error = read_latencies(&path, 0).unwrap_err().to_string();
        fs::remove_file(&path).unwrap();
        assert!(error.contains("more than the"), "{error}");
    }

    /// The largest text of a distribution that the writer can make.
    #[test]
    fn a_full_distribution_fits_its_part_of_the_file() {
        let mut whole = Histogram::new();
        let mut at = 1u64;
        let mut seed = 1u64;
        while at < VALUE_MAX_NS {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            whole.record_n(at, seed >> 16);
            at += (at / 2048).max(1);
        }
        let text = STANDARD.encode(deflated(whole.buckets()));
        assert!((text.len() as u64) < TEXT_MAX_BYTES - 3, "{}", text.len());
        assert!(decoded(&text).is_ok());
    }

    #[test]
    fn a_distribution_is_ours_or_refused_before_memory_is_taken() {
        let mut ours = Histogram::new();
        for value in [1, 1_000, u64::MAX] {
            ours.record_n(value, 3);
        }
        let plain = inflated(&deflated(ours.buckets())).unwrap();
        let buckets = Deserializer::new().deserialize(&mut Cursor::new(plain)).unwrap();
        assert_eq!(Histogram::from_buckets(&buckets).unwrap().count(), 9);
        let with = |low, high, digits| Hdr::new_with_bounds(low, high, digits).unwrap();
        for other in
            [with(1, VALUE_MAX_NS, 2), with(1, VALUE_MAX_NS / 2, 3), with(8, VALUE_MAX_NS, 3)]
        {
            assert_eq!(inflated(&deflated(&other)), None);
        }
        for cut in [0, 3, 7, 8, 20] {
            assert_eq!(inflated(&deflated(ours.buckets())[..cut]), None, "{cut}");
        }
    }

    /// The head of this file claims gigabytes, and so does the length of its payload.
    #[test]
    fn a_head_that_asks_for_much_is_refused() {
        let deflate = |plain: &[u8]| {
            let mut encoder =
                flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
            std::io::Write::write_all(&mut encoder, plain).unwrap();
            [&V2_DEFLATED[..], &[0; 4], &encoder.finish().unwrap()].concat()
        };
        let head = |payload: u32, digits: u32, high: u64| {
            let mut plain = vec![0x1c, 0x84, 0x93, 0x13];
            for number in [payload, 0, digits] {
                plain.extend(number.to_be_bytes());
            }
            plain.extend(1u64.to_be_bytes());
            plain.extend(high.to_be_bytes());
            plain.extend(1f64.to_be_bytes());
            plain
        };
        assert!(inflated(&deflate(&head(0, 3, VALUE_MAX_NS))).is_some());
        assert_eq!(inflated(&deflate(&head(u32::MAX, 3, VALUE_MAX_NS))), None);
        assert_eq!(inflated(&deflate(&head(0, 5, u64::MAX / 2))), None);
        let bomb = [head(0, 3, VALUE_MAX_NS), vec![0; 64 << 20]].concat();
        assert_eq!(inflated(&deflate(&bomb)), None);
    }
}
