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
use serde::Deserialize;
use std::fs;
use std::io::{Cursor, Read};
use std::path::Path;

/// The first bytes of a deflated distribution, in the second version of the format.
const V2_DEFLATED: [u8; 4] = [0x1c, 0x84, 0x93, 0x14];
/// Bytes before the buckets.
const HEAD_BYTES: usize = 40;
/// No distribution of ours is larger: nine bytes for each of its buckets.
const INFLATED_MAX_BYTES: u64 = 512 << 10;

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
    let latencies = read_latencies(&path.join(LATENCIES))?;
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
    #[derive(Deserialize)]
    struct RunStamp {
        schema: String,
    }
    let text = fs::read(path).map_err(io_error(path))?;
    let stamp: RunStamp = serde_json::from_slice(&text).map_err(|error| malformed(path, error))?;
    if stamp.schema != SCHEMA {
        let (path, found) = (path.to_path_buf(), stamp.schema);
        return Err(StoreError::Schema { path, found, known: SCHEMA });
    }
    Record::from_json(&text).map_err(|error| malformed(path, error))
}

fn read_latencies(path: &Path) -> Result<Vec<Histogram>, StoreError> {
    let text = fs::read(path).map_err(io_error(path))?;
    let texts: Vec<String> =
        serde_json::from_slice(&text).map_err(|error| malformed(path, error))?;
    let decode = |text: &String| {
        let bytes = STANDARD.decode(text).map_err(|error| malformed(path, error))?;
        let plain = inflated(&bytes).ok_or_else(|| malformed(path, "wrong bucket layout"))?;
        let buckets = Deserializer::new()
            .deserialize(&mut Cursor::new(plain))
            .map_err(|error| malformed(path, error))?;
        Histogram::from_buckets(&buckets).ok_or_else(|| malformed(path, "wrong bucket layout"))
    };
    texts.iter().map(decode).collect()
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
