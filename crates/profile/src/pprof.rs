//! The pprof format: one gzipped protobuf message, `proto/profile.proto` of
//! github.com/google/pprof.
//!
//! Only the fields in use are declared; others are skipped. Input from a server is bounded before
//! it is parsed: its unpacked length, the number of its entries, because a few bytes of an entry
//! become many in memory, and the frames of all its stacks together, because one location stands
//! for all functions inlined there.

use crate::samples::{PLACES_MAX, Samples, Spot, Stack, Sum, TooDeep};
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use model::profile::ProfileKind;
use prost::Message;
use prost::encoding::{self, DecodeContext, WireType};
use std::collections::HashMap;
use std::io::{self, Read, Write};
use std::ops::Range;
use std::sync::Arc;

/// Longest profile that is parsed, bytes unpacked.
pub const BYTES_MAX: usize = 32 << 20;
/// Most samples, locations, functions and strings in all.
const ENTRIES_MAX: usize = 1_000_000;
/// Most frames in one stack; frames above are cut off.
const DEPTH_MAX: usize = 512;
/// Most functions inlined into one location; two bytes of each become fifty in memory.
const INLINED_MAX: usize = 64;
/// Longest name kept of a function, bytes.
const NAME_MAX: usize = 512;

/// Why a profile cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum PprofError {
    /// It does not unpack.
    #[error("it is not gzip: {0}")]
    Packed(#[from] io::Error),
    /// It is above a limit.
    #[error("it has more than {0}")]
    TooLarge(&'static str),
    /// It is not protobuf, or it is another message.
    #[error("it is not a pprof profile: {0}")]
    Malformed(#[from] prost::DecodeError),
    /// Its stacks have too many frames.
    #[error("{0}")]
    TooDeep(#[from] TooDeep),
    /// It has no values of the requested kind.
    #[error("it has no values of type {0}")]
    OtherKind(&'static str),
    /// Its values are in a unit that is not known.
    #[error("its values of type {0} are in an unknown unit")]
    OtherUnit(&'static str),
}

#[derive(Clone, PartialEq, Message)]
struct Profile {
    #[prost(message, repeated, tag = "1")]
    sample_type: Vec<ValueType>,
    #[prost(message, repeated, tag = "2")]
    sample: Vec<Sample>,
    #[prost(message, repeated, tag = "4")]
    location: Vec<Location>,
    #[prost(message, repeated, tag = "5")]
    function: Vec<Function>,
    #[prost(bytes = "vec", repeated, tag = "6")]
    string_table: Vec<Vec<u8>>,
    #[prost(int64, tag = "9")]
    time_nanos: i64,
    #[prost(int64, tag = "10")]
    duration_nanos: i64,
    #[prost(message, optional, tag = "11")]
    period_type: Option<ValueType>,
    #[prost(int64, tag = "12")]
    period: i64,
}

#[derive(Clone, Copy, PartialEq, Message)]
struct ValueType {
    #[prost(int64, tag = "1")]
    kind: i64,
    #[prost(int64, tag = "2")]
    unit: i64,
}

#[derive(Clone, PartialEq, Message)]
struct Sample {
    #[prost(uint64, repeated, tag = "1")]
    location_id: Vec<u64>,
    #[prost(int64, repeated, tag = "2")]
    value: Vec<i64>,
}

#[derive(Clone, PartialEq, Message)]
struct Location {
    #[prost(uint64, tag = "1")]
    id: u64,
    #[prost(uint64, tag = "3")]
    address: u64,
    #[prost(message, repeated, tag = "4")]
    line: Vec<SourceLine>,
}

#[derive(Clone, Copy, PartialEq, Message)]
struct SourceLine {
    #[prost(uint64, tag = "1")]
    function_id: u64,
    #[prost(int64, tag = "2")]
    line: i64,
}

#[derive(Clone, Copy, PartialEq, Message)]
struct Function {
    #[prost(uint64, tag = "1")]
    id: u64,
    #[prost(int64, tag = "2")]
    name: i64,
}

/// The types of the count and of the value of a kind.
fn types(kind: ProfileKind) -> (&'static str, &'static str) {
    match kind {
        ProfileKind::Cpu | ProfileKind::Perf => ("samples", "cpu"),
        ProfileKind::Block | ProfileKind::Mutex => ("contentions", "delay"),
        ProfileKind::Heap => ("alloc_objects", "alloc_space"),
    }
}

/// How many nanoseconds or bytes a value in a unit is. A profile that does not name its unit has
/// these.
fn scale(kind: ProfileKind, unit: &[u8]) -> Option<i64> {
    match unit {
        b"" => Some(1),
        b"bytes" => (kind == ProfileKind::Heap).then_some(1),
        _ if kind == ProfileKind::Heap => None,
        b"nanoseconds" | b"ns" => Some(1),
        b"microseconds" | b"us" => Some(1_000),
        b"milliseconds" | b"ms" => Some(1_000_000),
        b"seconds" | b"s" => Some(1_000_000_000),
        _ => None,
    }
}

/// Parses a profile of a kind. Stacks whose count and value are both zero are left out: a
/// difference of two profiles is full of them.
pub fn decode(bytes: &[u8], kind: ProfileKind) -> Result<Samples, PprofError> {
    let mut unpacked = Vec::new();
    GzDecoder::new(bytes).take(BYTES_MAX as u64 + 1).read_to_end(&mut unpacked)?;
    if unpacked.len() > BYTES_MAX {
        return Err(PprofError::TooLarge("32 MB unpacked"));
    }
    count_entries(&unpacked)?;
    let profile = Profile::decode(&unpacked[..])?;
    let (count, value) = types(kind);
    let place = |wanted: &str| {
        let is_wanted = |of: &ValueType| text(&profile, of.kind) == wanted.as_bytes();
        profile.sample_type.iter().position(is_wanted)
    };
    let value_at = place(value).ok_or(PprofError::OtherKind(value))?;
    let count_at = place(count);
    let unit = text(&profile, profile.sample_type[value_at].unit);
    let scale = scale(kind, unit).ok_or(PprofError::OtherUnit(value))?;
    let (spots, by_location) = spots(&profile);
    let mut sum = Sum::default();
    let mut places = 0;
    for sample in &profile.sample {
        let number = |at: usize| sample.value.get(at).copied().unwrap_or(0);
        let (count, value) = (count_at.map_or(0, number), number(value_at).saturating_mul(scale));
        if count == 0 && value == 0 {
            continue;
        }
        let located = || sample.location_id.iter().filter_map(|id| by_location.get(id)).cloned();
        // Equal stacks count too: they take no memory, but time.
        let depth = located().take(DEPTH_MAX).map(|range| range.len()).sum::<usize>();
        places += depth.min(DEPTH_MAX);
        if places > PLACES_MAX {
            return Err(TooDeep.into());
        }
        sum.add(located().flatten().take(DEPTH_MAX).map(|spot| &spots[spot]), (count, value))?;
    }
    let mut samples = sum.finish();
    samples.duration_ns = u64::try_from(profile.duration_nanos).ok().filter(|ns| *ns > 0);
    Ok(samples)
}

/// Fails when the outermost message has too many entries, before any is kept.
fn count_entries(mut bytes: &[u8]) -> Result<(), PprofError> {
    let mut entries = 0;
    while !bytes.is_empty() {
        let (tag, wire) = encoding::decode_key(&mut bytes)?;
        encoding::skip_field(wire, tag, &mut bytes, DecodeContext::default())?;
        entries += usize::from(wire == WireType::LengthDelimited);
        if entries > ENTRIES_MAX {
            return Err(PprofError::TooLarge("a million entries"));
        }
    }
    Ok(())
}

fn text(profile: &Profile, at: i64) -> &[u8] {
    let at = usize::try_from(at).ok();
    at.and_then(|at| profile.string_table.get(at)).map_or(b"", Vec::as_slice)
}

/// All places, and those of each location, the innermost first. A location without lines is known
/// by its address. Names are kept once, however many places have them.
fn spots(profile: &Profile) -> (Vec<Spot>, HashMap<u64, Range<usize>>) {
    let unknown: Arc<str> = Arc::from("[unknown]");
    let name = |at: i64| {
        let name = text(profile, at);
        let name = String::from_utf8_lossy(&name[..name.len().min(NAME_MAX)]);
        if name.is_empty() { Arc::clone(&unknown) } else { Arc::from(&*name) }
    };
    let names: HashMap<u64, Arc<str>> =
        profile.function.iter().map(|function| (function.id, name(function.name))).collect();
    let (mut spots, mut by_location) = (Vec::new(), HashMap::new());
    for location in &profile.location {
        let begin = spots.len();
        spots.extend(location.line.iter().take(INLINED_MAX).map(|at| {
            let function = names.get(&at.function_id).unwrap_or(&unknown);
            Spot { function: Arc::clone(function), line: at.line }
        }));
        if location.line.is_empty() {
            let function = format!("[{:#x}]", location.address).into();
            spots.push(Spot { function, line: 0 });
        }
        by_location.insert(location.id, begin..spots.len());
    }
    (spots, by_location)
}

/// Samples of CPU time as a pprof file.
pub fn encode(samples: &Samples, period_ns: i64) -> Vec<u8> {
    let mut table = FrameTable::default();
    let mut kind =
        |kind: &str, unit: &str| ValueType { kind: table.add(kind), unit: table.add(unit) };
    let (count, cpu) = (kind("samples", "count"), kind("cpu", "nanoseconds"));
    let sample = |stack: &Stack| Sample {
        location_id: stack.spots.iter().map(|&spot| u64::from(spot) + 1).collect(),
        value: vec![stack.count, stack.value],
    };
    let (mut location, mut function) = (Vec::new(), Vec::new());
    for (id, spot) in (1..).zip(&samples.spots) {
        let line = vec![SourceLine { function_id: id, line: spot.line }];
        location.push(Location { id, address: 0, line });
        function.push(Function { id, name: table.add(&spot.function) });
    }
    let profile = Profile {
        sample_type: vec![count, cpu],
        sample: samples.stacks.iter().map(sample).collect(),
        location,
        function,
        string_table: table.texts,
        time_nanos: 0,
        duration_nanos: samples.duration_ns.map_or(0, |ns| ns.cast_signed()),
        period_type: Some(cpu),
        period: period_ns,
    };
    let mut packed = GzEncoder::new(Vec::new(), Compression::default());
    packed.write_all(&profile.encode_to_vec()).expect("writing to memory does not fail");
    packed.finish().expect("writing to memory does not fail")
}

/// The strings of a profile; the first is empty.
struct FrameTable {
    texts: Vec<Vec<u8>>,
    places: HashMap<String, i64>,
}

impl Default for FrameTable {
    fn default() -> Self {
        Self { texts: vec![Vec::new()], places: HashMap::from([(String::new(), 0)]) }
    }
}

impl FrameTable {
    fn add(&mut self, text: &str) -> i64 {
        let next = self.texts.len() as i64;
        *self.places.entry(text.to_string()).or_insert_with(|| {
            self.texts.push(text.as_bytes().to_vec());
            next
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn fixture(name: &str) -> Vec<u8> {
        std::fs::read(format!("{}/fixtures/{name}", env!("CARGO_MANIFEST_DIR"))).unwrap()
    }

    #[test]
    fn profiles_of_go() {
        let cpu = decode(&fixture("fiber-cpu.pb.gz"), ProfileKind::Cpu).unwrap();
        // Go samples each 10 ms of CPU time.
        assert_eq!(cpu.total(), cpu.count() * 10_000_000);
        assert!(cpu.duration_ns.is_some_and(|ns| (900_000_000..1_500_000_000).contains(&ns)));
        let is_deepest = |stack: &&Stack| stack.spots.len() > 8;
        let stack = cpu.stacks.iter().find(is_deepest).unwrap();
        let names: Vec<_> = cpu.places(stack).map(|spot| &*spot.function).collect();
        assert!(
            names.iter().any(|name| name.contains("fasthttp.(*Server).serveConn")),
            "{names:?}"
        );
        let block = decode(&fixture("fiber-block.pb.gz"), ProfileKind::Block).unwrap();
        assert!(block.total() > 1_000_000_000, "the profiler itself waits");
        let heap = decode(&fixture("fiber-heap.pb.gz"), ProfileKind::Heap).unwrap();
        assert_eq!((heap.stacks.len(), heap.total()), (0, 0), "Fiber allocated nothing meanwhile");
        let refused = decode(&fixture("fiber-cpu.pb.gz"), ProfileKind::Block).unwrap_err();
        assert_eq!(refused.to_string(), "it has no values of type delay");
    }

    #[test]
    fn anything_else_is_refused() {
        let packed = |bytes: &[u8]| {
            let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
            packed.write_all(bytes).unwrap();
            packed.finish().unwrap()
        };
        for bytes in [&b""[..], b"<html>", b"\x1f\x8b\x08"] {
            assert!(matches!(decode(bytes, ProfileKind::Cpu), Err(PprofError::Packed(_))));
        }
        let refused = |bytes: &[u8]| decode(&packed(bytes), ProfileKind::Cpu).unwrap_err();
        assert!(matches!(refused(b"\xff\xff\xff"), PprofError::Malformed(_)));
        assert!(matches!(refused(b""), PprofError::OtherKind(_)));
        assert!(matches!(refused(&vec![0; BYTES_MAX + 1]), PprofError::TooLarge(_)));
        // Two bytes each, and 24 in memory.
        let empty_samples = [0x12, 0].repeat(ENTRIES_MAX + 1);
        assert!(matches!(refused(&empty_samples), PprofError::TooLarge(_)));
    }

    #[test]
    fn values_are_in_the_unit_that_the_profile_says() {
        let total = |unit| decode(&deep_in(unit, 3, 1), ProfileKind::Cpu).map(|cpu| cpu.total());
        for (unit, expected) in [("", 6), ("nanoseconds", 6), ("microseconds", 6_000)] {
            assert_eq!(total(unit).unwrap(), expected, "{unit}");
        }
        let refused = total("fortnights").unwrap_err().to_string();
        assert_eq!(refused, "its values of type cpu are in an unknown unit");
        assert!(total("bytes").is_err(), "no time");
    }

    fn deep(samples: u64, locations: usize) -> Vec<u8> {
        deep_in("nanoseconds", samples, locations)
    }

    /// A profile whose samples have this many locations each, one of which has 64 lines.
    fn deep_in(unit: &str, samples: u64, locations: usize) -> Vec<u8> {
        let texts = ["", "samples", "count", "cpu", unit, "f"];
        let kinds = [ValueType { kind: 1, unit: 2 }, ValueType { kind: 3, unit: 4 }];
        let sample =
            |number| Sample { location_id: vec![1; locations], value: vec![1, number as i64] };
        let profile = Profile {
            sample_type: kinds.to_vec(),
            sample: (1..=samples).map(sample).collect(),
            location: vec![Location {
                id: 1,
                address: 0,
                line: vec![SourceLine { function_id: 1, line: 7 }; INLINED_MAX],
            }],
            function: vec![Function { id: 1, name: 5 }],
            string_table: texts.map(|text| text.as_bytes().to_vec()).to_vec(),
            ..Profile::default()
        };
        let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
        packed.write_all(&profile.encode_to_vec()).unwrap();
        packed.finish().unwrap()
    }

    #[test]
    fn of_the_heap_what_was_allocated_counts_and_not_what_is_in_use() {
        let kinds = ["", "alloc_objects", "alloc_space", "inuse_objects", "inuse_space", "f"];
        let profile = Profile {
            sample_type: (1..5).map(|kind| ValueType { kind, unit: 0 }).collect(),
            sample: vec![Sample { location_id: vec![1], value: vec![3, 100, 1, 7] }],
            location: vec![Location {
                id: 1,
                address: 0,
                line: vec![SourceLine { function_id: 1, line: 7 }],
            }],
            function: vec![Function { id: 1, name: 5 }],
            string_table: kinds.map(|kind| kind.as_bytes().to_vec()).to_vec(),
            duration_nanos: 9,
            ..Profile::default()
        };
        let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
        packed.write_all(&profile.encode_to_vec()).unwrap();
        let heap = decode(&packed.finish().unwrap(), ProfileKind::Heap).unwrap();
        assert_eq!((heap.count(), heap.total(), heap.duration_ns), (3, 100, Some(9)));
        assert_eq!(heap.spots, [Spot { function: "f".into(), line: 7 }]);
    }

    #[test]
    fn few_bytes_cannot_stand_for_any_number_of_places() {
        let hostile = deep(PLACES_MAX as u64 / DEPTH_MAX as u64 + 1, 20);
        assert!(hostile.len() < 200_000, "{} bytes", hostile.len());
        let refused = decode(&hostile, ProfileKind::Cpu).unwrap_err();
        assert_eq!(refused.to_string(), "its stacks have more than 8 million frames together");
        // One stack too long is cut, as before.
        let cut = decode(&deep(3, 20), ProfileKind::Cpu).unwrap();
        assert_eq!((cut.stacks.len(), cut.stacks[0].spots.len()), (1, DEPTH_MAX));
        assert_eq!((cut.count(), cut.total()), (3, 6));
    }

    proptest! {
        #[test]
        fn what_was_written_is_read_back(stacks in proptest::collection::vec(
            (proptest::collection::vec(0..20_u32, 1..9), 1..99_i64), 1..30)) {
            let mut sum = Sum::default();
            for (spots, count) in &stacks {
                let named = |at: &u32| format!("f{}", at % 7).into();
                let spot = |at: &u32| Spot { function: named(at), line: i64::from(*at) };
                let places: Vec<_> = spots.iter().map(spot).collect();
                sum.add(places.iter(), (*count, count * 10)).unwrap();
            }
            let written = Samples { duration_ns: Some(5), ..sum.finish() };
            let read = decode(&encode(&written, 10), ProfileKind::Perf).unwrap();
            prop_assert_eq!(read.total(), written.total());
            let named = |samples: &Samples| {
                let stack = |stack: &Stack| {
                    let places: Vec<_> = samples.places(stack).cloned().collect();
                    (places.iter().map(|spot| format!("{spot:?}")).collect::<String>(), stack.value)
                };
                let mut all: Vec<_> = samples.stacks.iter().map(stack).collect();
                all.sort();
                all
            };
            prop_assert_eq!(named(&read), named(&written));
        }

        #[test]
        fn broken_bytes_do_not_panic(at in 0..4000_usize, byte: u8, cut in 0..4000_usize) {
            let mut unpacked = Vec::new();
            GzDecoder::new(&fixture("fiber-cpu.pb.gz")[..]).read_to_end(&mut unpacked).unwrap();
            let length = unpacked.len();
            unpacked[at % length] = byte;
            unpacked.truncate(length - cut % length);
            let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
            packed.write_all(&unpacked).unwrap();
            crate::fuzzing::profiles(&packed.finish().unwrap());
        }
    }
}
