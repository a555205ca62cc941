//! Reading a run back. The files are input like any other: hostile until parsed.

use crate::{
    LATENCIES, POINTS, READINGS, RECORD, Readings, SERVER_READINGS, StoreError, io_error, malformed,
};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::serialization::Deserializer;
use model::histogram::Histogram;
use model::reading::Reading;
use model::run::{Record, Run, SCHEMA};
use serde::Deserialize;
use std::fs;
use std::io::Cursor;
use std::path::Path;

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
        let points = points.lines().count();
        return Err(StoreError::Unfinished { path: path.to_path_buf(), points });
    }
    let record = read_record(&record_path)?;
    Ok(Run {
        record,
        readings: Readings::open(&path.join(READINGS))?.load()?,
        server_readings: read_of_server(&path.join(SERVER_READINGS))?,
        latencies: read_latencies(&path.join(LATENCIES))?,
    })
}

/// Nothing when there was no probe on the server's host.
fn read_of_server(path: &Path) -> Result<Vec<Reading>, StoreError> {
    if path.exists() { Readings::open(path)?.load() } else { Ok(Vec::new()) }
}

fn read_record(path: &Path) -> Result<Record, StoreError> {
    #[derive(Deserialize)]
    struct Stamp {
        schema: String,
    }
    let text = fs::read_to_string(path).map_err(io_error(path))?;
    let stamp: Stamp = serde_json::from_str(&text).map_err(|error| malformed(path, error))?;
    if stamp.schema != SCHEMA {
        let (path, found) = (path.to_path_buf(), stamp.schema);
        return Err(StoreError::Schema { path, found, known: SCHEMA });
    }
    serde_json::from_str(&text).map_err(|error| malformed(path, error))
}

fn read_latencies(path: &Path) -> Result<Vec<Histogram>, StoreError> {
    let text = fs::read_to_string(path).map_err(io_error(path))?;
    let texts: Vec<String> = serde_json::from_str(&text).map_err(|error| malformed(path, error))?;
    let decode = |text: &String| {
        let bytes = STANDARD.decode(text).map_err(|error| malformed(path, error))?;
        let buckets = Deserializer::new()
            .deserialize(&mut Cursor::new(bytes))
            .map_err(|error| malformed(path, error))?;
        Histogram::from_buckets(&buckets).ok_or_else(|| malformed(path, "wrong bucket layout"))
    };
    texts.iter().map(decode).collect()
}
