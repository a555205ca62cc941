//! Writing a run.

use crate::{LATENCIES, POINTS, READINGS, RECORD, Readings, SERVER_READINGS, StoreError, io_error};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::serialization::{Serializer, V2DeflateSerializer};
use model::histogram::Histogram;
use model::run::{Point, Run};
use serde::Serialize;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

/// A run being written.
#[derive(Debug)]
pub struct Writer {
    directory: PathBuf,
    points: File,
}

impl Writer {
    /// Makes the directory of a run below `parent`, under a name not yet taken.
    pub fn create(parent: &Path, name: &str) -> Result<Self, StoreError> {
        fs::create_dir_all(parent).map_err(io_error(parent))?;
        let mut directory = parent.join(name);
        for more in 2.. {
            match fs::create_dir(&directory) {
                Ok(()) => break,
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
                    directory = parent.join(format!("{name}-{more}"));
                }
                Err(error) => return Err(io_error(&directory)(error)),
            }
        }
        let path = directory.join(POINTS);
        let points = File::create(&path).map_err(io_error(&path))?;
        Ok(Self { directory, points })
    }

    /// Where the run is.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Appends a point, so that it survives whatever comes.
    pub fn add_point(&mut self, point: &Point) -> Result<(), StoreError> {
        let path = self.directory.join(POINTS);
        let mut line = json(&path, point)?;
        line.push(b'\n');
        self.points.write_all(&line).map_err(io_error(&path))
    }

    /// The log of the run's readings, still empty.
    pub fn readings(&self) -> Result<Readings, StoreError> {
        Readings::create(&self.directory.join(READINGS))
    }

    /// The log of what a probe on the server's host reads, still empty.
    pub fn server_readings(&self) -> Result<Readings, StoreError> {
        Readings::create(&self.directory.join(SERVER_READINGS))
    }

    /// Keeps a profile under a path below the directory.
    pub fn add_profile(&self, below: &str, bytes: &[u8]) -> Result<(), StoreError> {
        let path = self.directory.join(below);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(io_error(folder))?;
        }
        fs::write(&path, bytes).map_err(io_error(&path))
    }

    /// Removes the directory of a run that never began.
    pub fn discard_if_empty(self) {
        let path = self.directory.join(POINTS);
        if fs::metadata(&path).is_ok_and(|data| data.len() == 0) {
            // There is not always one; leaving the rest behind would do no harm.
            let _ = fs::remove_file(self.directory.join(SERVER_READINGS));
            let _ = fs::remove_file(path)
                .and_then(|()| fs::remove_file(self.directory.join(READINGS)))
                .and_then(|()| fs::remove_dir(&self.directory));
        }
    }

    /// Writes everything but points and readings. The record comes last, and appears whole or not
    /// at all.
    pub fn finish(self, run: &Run) -> Result<PathBuf, StoreError> {
        let path = self.directory.join(LATENCIES);
        let texts: Vec<String> = run.latencies.iter().map(encode).collect();
        fs::write(&path, json(&path, &texts)?).map_err(io_error(&path))?;

        let path = self.directory.join(RECORD);
        let draft = self.directory.join("run.json.part");
        let mut text = serde_json::to_vec_pretty(&run.record)
            .map_err(|error| crate::malformed(&path, error))?;
        text.push(b'\n');
        fs::write(&draft, text).map_err(io_error(&draft))?;
        fs::rename(&draft, &path).map_err(io_error(&path))?;
        Ok(path)
    }
}

fn json<T: Serialize>(path: &Path, value: &T) -> Result<Vec<u8>, StoreError> {
    serde_json::to_vec(value).map_err(|error| crate::malformed(path, error))
}

fn encode(histogram: &Histogram) -> String {
    let mut bytes = Vec::new();
    V2DeflateSerializer::new()
        .serialize(histogram.buckets(), &mut bytes)
        .expect("writing to memory does not fail");
    STANDARD.encode(bytes)
}
