//! Raw readings on disk during a run: memory stays flat however long it lasts, and readings survive
//! the program.

use crate::{FILE_MODE, StoreError, io_error, malformed};
use model::json::Document;
use model::order::OrderBy as _;
use model::reading::{Data, Reading};
use std::collections::HashMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// About this many readings are loaded at once, so that a page of a long run can be drawn.
const LOADED_MAX: u64 = 40_000;

/// A log of readings, in time order: one JSON object per line.
#[derive(Debug)]
pub struct Readings {
    file: File,
    path: PathBuf,
    /// Bytes of whole lines.
    length: u64,
    lines: u64,
    failure: Option<StoreError>,
}

impl Readings {
    /// A new log in a file.
    pub(crate) fn create(path: &Path) -> Result<Self, StoreError> {
        let mut options = OpenOptions::new();
        let file = options.read(true).write(true).create_new(true).mode(FILE_MODE).open(path);
        let (file, path) = (file.map_err(io_error(path))?, path.to_path_buf());
        Ok(Self { file, path, length: 0, lines: 0, failure: None })
    }

    /// A new log that vanishes with this value: a file without a name in the directory for
    /// temporary files.
    pub fn nameless() -> Result<Self, StoreError> {
        let folder = std::env::temp_dir();
        for attempt in 0.. {
            let path = folder.join(format!(".ceiling-{}-{attempt}.ndjson", std::process::id()));
            match Self::create(&path) {
                Ok(log) => {
                    fs::remove_file(&path).map_err(io_error(&path))?;
                    return Ok(log);
                }
                Err(StoreError::Io { error, .. })
                    if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        unreachable!("names do not end")
    }

    /// The log of a run that has ended.
    pub(crate) fn open(path: &Path) -> Result<Self, StoreError> {
        let file = File::open(path).map_err(io_error(path))?;
        let length = file.metadata().map_err(io_error(path))?.len();
        let mut log = Self { file, path: path.to_path_buf(), length, lines: 0, failure: None };
        let mut lines = 0;
        for line in log.reader(0).split(b'\n') {
            line.map_err(io_error(path))?;
            lines += 1;
        }
        log.lines = lines;
        Ok(log)
    }

    /// Appends readings. After the first failure nothing more is written.
    pub fn add(&mut self, readings: &[Reading]) {
        if self.failure.is_none() {
            self.failure = self.try_add(readings).err();
        }
    }

    fn try_add(&mut self, readings: &[Reading]) -> Result<(), StoreError> {
        let mut text = Vec::new();
        for reading in readings {
            reading.append_json(&mut text);
            text.push(b'\n');
        }
        if let Err(error) = self.file.write_all_at(&text, self.length) {
            // A torn line would spoil those before it.
            let _ = self.file.set_len(self.length);
            return Err(io_error(&self.path)(error));
        }
        self.length += text.len() as u64;
        self.lines += readings.len() as u64;
        Ok(())
    }

    /// Why readings are missing from the end, if they are.
    pub fn failure(&self) -> Option<&StoreError> {
        self.failure.as_ref()
    }

    /// Position of the next reading, to read from there.
    pub fn end(&self) -> u64 {
        self.length
    }

    /// Readings from a position of [`Readings::end`] (0 is the start), one after the other.
    pub fn since(&self, place: u64) -> impl Iterator<Item = Result<Reading, StoreError>> {
        let parse = |(number, line): (usize, io::Result<Vec<u8>>)| {
            let line = line.map_err(io_error(&self.path))?;
            Reading::from_json(&line)
                .map_err(|error| malformed(&self.path, format!("line {}: {error}", number + 1)))
        };
        self.reader(place).split(b'\n').enumerate().map(parse)
    }

    /// All readings, or evenly chosen ones of each source when there are very many: counters are
    /// cumulative, so rates between them stay true. The first and the last reading of each source
    /// inside each of these windows are always there, so that counters grow in a window by as much
    /// as they do in all its readings.
    pub fn load(&self, windows_ns: &[(u64, u64)]) -> Result<Vec<Reading>, StoreError> {
        let every = self.lines.div_ceil(LOADED_MAX);
        if every <= 1 {
            return self.since(0).collect();
        }
        let mut thinned = Thinned { every, windows_ns, ..Thinned::default() };
        for reading in self.since(0) {
            thinned.add(reading?);
        }
        Ok(thinned.finish())
    }

    /// Number of readings.
    pub fn count(&self) -> u64 {
        self.lines
    }

    /// The part of the log from a position of [`Readings::end`] until now, for another thread to
    /// read while more is added.
    pub fn part_since(&self, place: u64) -> Result<ReadingsPart, StoreError> {
        let file = self.file.try_clone().map_err(io_error(&self.path))?;
        Ok(ReadingsPart { file, path: self.path.clone(), place, end: self.length.max(place) })
    }

    fn reader(&self, offset: u64) -> BufReader<Tail<'_>> {
        let end = self.length.max(offset);
        BufReader::with_capacity(64 * 1024, Tail { file: &self.file, offset, end })
    }
}

/// A source, and whether it was read in the server's own namespace.
type Source = (String, bool);

/// Readings that are chosen of very many.
#[derive(Default)]
struct Thinned<'a> {
    /// One of this many is chosen.
    every: u64,
    windows_ns: &'a [(u64, u64)],
    /// Readings so far, of each source.
    seen: HashMap<Source, u64>,
    /// The last reading of each source in each window; none if it was chosen.
    last: HashMap<(usize, Source), Option<(u64, Reading)>>,
    /// Each with its number.
    chosen: Vec<(u64, Reading)>,
    read: u64,
}

impl Thinned<'_> {
    fn add(&mut self, reading: Reading) {
        self.read += 1;
        let (data, is_inside) = reading.data.opened();
        // Failures are counted each for itself.
        let source = match data {
            Data::Unreadable(what) => format!("unreadable {} {}", what.source, what.why),
            _ => data.source().to_string(),
        };
        let source = (source, is_inside);
        let seen = self.seen.entry(source.clone()).or_default();
        // A look at changes says what happened once.
        let mut is_chosen = seen.is_multiple_of(self.every) || matches!(data, Data::Tuning(_));
        *seen += 1;
        let is_in = |(begin_ns, end_ns): &(u64, u64)| {
            reading.begin_ns >= *begin_ns && reading.end_ns <= *end_ns
        };
        let windows = self.windows_ns.iter().enumerate().filter(|(_, one)| is_in(one));
        let windows: Vec<usize> = windows.map(|(nth, _)| nth).collect();
        let key = |nth: &usize| (*nth, source.clone());
        is_chosen |= windows.iter().any(|nth| !self.last.contains_key(&key(nth)));
        for nth in &windows {
            let left_out = (!is_chosen).then(|| (self.read, reading.clone()));
            self.last.insert(key(nth), left_out);
        }
        if is_chosen {
            self.chosen.push((self.read, reading));
        }
    }

    /// In their order.
    fn finish(mut self) -> Vec<Reading> {
        self.chosen.extend(self.last.into_values().flatten());
        self.chosen.order_by_key(|(number, _)| *number);
        self.chosen.dedup_by_key(|(number, _)| *number);
        self.chosen.into_iter().map(|(_, reading)| reading).collect()
    }
}

/// A part of a log that does not grow with it.
#[derive(Debug)]
pub struct ReadingsPart {
    file: File,
    path: PathBuf,
    place: u64,
    end: u64,
}

impl ReadingsPart {
    /// Its readings, one after the other.
    pub fn readings(&self) -> impl Iterator<Item = Result<Reading, StoreError>> {
        let tail = Tail { file: &self.file, offset: self.place, end: self.end };
        let lines = BufReader::with_capacity(64 * 1024, tail).split(b'\n');
        lines.map(|line| {
            let line = line.map_err(io_error(&self.path))?;
            Reading::from_json(&line).map_err(|error| malformed(&self.path, error))
        })
    }
}

/// Reads a file up to a position, even while others read or write it.
struct Tail<'a> {
    file: &'a File,
    offset: u64,
    end: u64,
}

impl Read for Tail<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = usize::try_from(self.end - self.offset).unwrap_or(usize::MAX);
        let wanted = buffer.len().min(left);
        let count = self.file.read_at(&mut buffer[..wanted], self.offset)?;
        self.offset += count as u64;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::facts::Unreadable;
    use model::reading::{OpenFiles, TuningNow};

    fn files(round: u64) -> Reading {
        let data = Data::ClientFiles(OpenFiles { pid: 1, open: round, limit: 9 });
        Reading { begin_ns: round, end_ns: round, data }
    }

    fn cost(round: u64) -> Reading {
        let data = Data::values("cost", [("rounds".to_string(), round)]);
        Reading { begin_ns: round, end_ns: round, data }
    }

    fn other(round: u64) -> Reading {
        let data = Data::values("other", [("rounds".to_string(), round)]);
        Reading { begin_ns: round, end_ns: round, data }
    }

    #[test]
    fn readings_come_back_as_they_went_in() {
        let mut log = Readings::nameless().unwrap();
        let both = [files(1), cost(1)];
        log.add(&both[..1]);
        log.add(&[]);
        let place = log.end();
        log.add(&both[1..]);
        assert_eq!(log.load(&[]).unwrap(), both);
        assert_eq!(log.since(place).next().unwrap().unwrap(), both[1]);
        assert!(log.failure().is_none());
    }

    #[test]
    fn a_part_ends_where_the_log_did_when_it_was_taken() {
        let mut log = Readings::nameless().unwrap();
        log.add(&[files(1)]);
        let place = log.end();
        log.add(&[cost(1), files(2)]);
        let part = log.part_since(place).unwrap();
        log.add(&[cost(2)]);
        let read: Vec<Reading> = part.readings().map(Result::unwrap).collect();
        assert_eq!(read, [cost(1), files(2)]);
    }

    #[test]
    fn very_many_are_thinned_out_source_by_source() {
        let mut log = Readings::nameless().unwrap();
        let rounds = LOADED_MAX;
        for round in 0..rounds {
            log.add(&[files(round), cost(round)]);
        }
        log.add(&[other(1)]);
        let loaded = log.load(&[]).unwrap();
        // One more reading makes it one of three; what was read once is kept.
        assert_eq!(loaded.len() as u64, 2 * rounds.div_ceil(3) + 1, "each of three sources");
        assert_eq!(loaded.last(), Some(&other(1)));
        assert_eq!(loaded[..3], [files(0), cost(0), files(3)]);
        assert_eq!(log.since(0).count() as u64, 2 * rounds + 1);
    }

    #[test]
    fn thinning_keeps_both_ends_of_each_window_and_what_happened_once() {
        let mut log = Readings::nameless().unwrap();
        let look = |round: u64| {
            let data = Data::Tuning(TuningNow { places: 1, drifted: vec![] });
            Reading { begin_ns: round, end_ns: round, data }
        };
        let rounds = 2 * LOADED_MAX;
        let inside = |round| {
            let cost = cost(round);
            Reading { data: Data::Inside(Box::new(cost.data)), ..cost }
        };
        for round in 0..rounds {
            log.add(&[cost(round), inside(round)]);
        }
        log.add(&[look(rounds), look(rounds + 1)]);
        let windows = [(5, 20_006), (20_008, 20_009), (20_010, 20_010), (30_007, 30_014)];
        let loaded = log.load(&windows).unwrap();
        for of in [cost, inside] {
            let at = |round: u64| loaded.iter().filter(|one| **one == of(round)).count();
            for round in [5, 20_006, 20_008, 20_009, 20_010, 30_007, 30_014] {
                assert_eq!(at(round), 1, "{round}");
            }
            assert_eq!((at(6), at(20_007), at(30_008)), (0, 0, 0), "one of five is left");
        }
        assert!(loaded.is_sorted_by_key(|one| one.begin_ns));
        assert_eq!(loaded[loaded.len() - 2..], [look(rounds), look(rounds + 1)]);
        assert!((loaded.len() as u64) < 2 * rounds / 5 + 40, "{}", loaded.len());
        assert_eq!(log.count(), 2 * rounds + 2);
    }

    /// A source reports a failure that lasts at each read; each window keeps it, and thinning drops
    /// the rest.
    #[test]
    fn thinning_keeps_each_failure_of_a_window() {
        let mut log = Readings::nameless().unwrap();
        let failed = |round: u64, source: &str| {
            let what = Unreadable { source: source.to_string(), why: "denied".to_string() };
            Reading { begin_ns: round, end_ns: round, data: Data::Unreadable(what) }
        };
        let rounds = LOADED_MAX;
        for round in 0..rounds {
            log.add(&[failed(round, "a"), failed(round, "b")]);
        }
        let loaded = log.load(&[(7, 8)]).unwrap();
        for source in ["a", "b"] {
            assert!(loaded.contains(&failed(7, source)) && loaded.contains(&failed(8, source)));
        }
        assert!((loaded.len() as u64) < rounds + 9, "{}", loaded.len());
    }

    #[test]
    fn a_full_disk_costs_what_comes_after_it_and_nothing_before() {
        let path = Path::new("/dev/full");
        let Ok(file) = OpenOptions::new().read(true).write(true).open(path) else { return };
        let mut log =
            Readings { file, path: path.to_path_buf(), length: 0, lines: 0, failure: None };
        log.add(&[files(1)]);
        let failure = log.failure().unwrap().to_string();
        assert!(failure.contains("/dev/full") && failure.contains("No space left"), "{failure}");
        assert_eq!((log.length, log.lines), (0, 0));
    }
}
