//! A sparse tick as bytes, and back. Hostile bytes are refused, and take no more memory than a few
//! times their own length.
//!
//! Every number must be possible for a tenth of a second, so that the sums over all agents cannot
//! overflow.

use super::SparseTick;
use crate::ITEM_BYTES_MAX;
use crate::bytes::{Malformed, Reader, Writer};
use model::check::Check;
use model::dist::Dist;
use model::fanout::Subscription;
use model::fault::Fault;
use model::histogram::sparse::{BUCKET_LAST, Sparse, values_of};
use model::load::TARGETS_REPORTED_MAX;
use model::sample::{CAUGHT_BYTES_MAX, CAUGHT_MAX, Caught};
use model::tally::Tally;
use model::tick::{Phase, StatusCodes, ThreadKind};

/// Size limit of a tick in bytes.
pub const TICK_BYTES_MAX: usize = ITEM_BYTES_MAX - 64;
/// Limit of a count in one tick: thousands of agents may send ticks for days before a sum
/// overflows.
pub const COUNT_MAX: u64 = 1 << 44;
/// Limit of the integral of requests in flight in one tick, request-nanoseconds.
const IN_FLIGHT_MAX: u128 = 1 << 72;
/// Longest tick, nanoseconds.
const LENGTH_MAX_NS: u64 = 3_600 * 1_000_000_000;
/// The latest instant, nanoseconds.
const INSTANT_MAX_NS: u64 = 1 << 62;
/// Most routes of an agent.
const ROUTES_MAX: usize = 1 << 14;
/// Most subscribers in one tick.
const SUBSCRIPTIONS_MAX: usize = 1 << 14;
/// Most kinds of failures in one tick; each worker has its own.
const KINDS_MAX: usize = 4 * CAUGHT_MAX;

/// Every phase, in the order of [`Phase`].
pub const PHASES: [Phase; 4] = [Phase::Idle, Phase::Warmup, Phase::Measure, Phase::Drain];

/// A tick as bytes. A tick of more than [`TICK_BYTES_MAX`] is sent in [`parts`].
pub fn encode(tick: &SparseTick) -> Vec<u8> {
    let mut writer = Writer::default();
    writer.number(u64::from(tick.load));
    let is_listening = tick.crew == ThreadKind::Listening;
    writer.byte(tick.phase as u8 | u8::from(is_listening) << 6 | u8::from(tick.last) << 7);
    writer.number(tick.begin_ns);
    writer.number(tick.end_ns - tick.begin_ns.min(tick.end_ns));
    writer.number(tick.fate_ns);
    put_counts(&mut writer, tick.counts);
    writer.number(u64::from(tick.counts.tls.refused_status));
    writer.wide(tick.counts.accounting.in_flight_ns);
    writer.byte(u8::from(tick.warmup_fastest_ns.is_some()));
    tick.warmup_fastest_ns.into_iter().for_each(|fastest_ns| writer.number(fastest_ns));
    [&tick.codes, &tick.error_codes].into_iter().for_each(|codes| put_codes(&mut writer, codes));
    tick.histograms.iter().for_each(|histogram| put_histogram(&mut writer, histogram));
    writer.number(tick.opened_on.len() as u64);
    tick.opened_on.iter().for_each(|count| writer.number(*count));
    writer.number(tick.targets.len() as u64);
    for (counters, latency) in &tick.targets {
        put_counts(&mut writer, *counters);
        put_histogram(&mut writer, latency);
    }
    writer.number(tick.caught.len() as u64);
    tick.caught.iter().for_each(|caught| put_caught(&mut writer, caught));
    writer.number(tick.subscriptions.len() as u64);
    tick.subscriptions.iter().for_each(|one| put_subscription(&mut writer, one));
    writer.into_bytes()
}

/// A tick from bytes.
///
/// # Errors
///
/// They are malformed, or have a value that is impossible for a tick.
pub fn decode(bytes: &[u8]) -> Result<SparseTick, Malformed> {
    if bytes.len() > TICK_BYTES_MAX {
        return Err(Malformed::Range("the tick"));
    }
    let mut reader = Reader::new(bytes);
    let load = reader.up_to(u64::from(u32::MAX), "the load")? as u32;
    let marks = reader.byte()?;
    let phase = *PHASES.get(usize::from(marks & 0x3f)).ok_or(Malformed::Range("the phase"))?;
    let begin_ns = reader.up_to(INSTANT_MAX_NS, "the start")?;
    let end_ns = begin_ns + reader.up_to(LENGTH_MAX_NS, "the length")?;
    let mut tick = SparseTick::empty(load, phase, (begin_ns, end_ns));
    tick.last = marks & 0x80 != 0;
    if marks & 0x40 != 0 {
        tick.crew = ThreadKind::Listening;
    }
    tick.fate_ns = reader.up_to(INSTANT_MAX_NS, "the latest fate")?;
    tick.counts = take_counts(&mut reader)?;
    let status = reader.up_to(u64::from(u16::MAX), "a status")?;
    tick.counts.tls.refused_status = status as u16;
    tick.counts.accounting.in_flight_ns = reader.wide()?;
    if tick.counts.accounting.in_flight_ns > IN_FLIGHT_MAX {
        return Err(Malformed::Range("the requests in flight"));
    }
    tick.warmup_fastest_ns = match reader.byte()? {
        0 => None,
        1 => Some(reader.up_to(INSTANT_MAX_NS, "the shortest service time")?),
        _ => return Err(Malformed::Range("a mark")),
    };
    tick.codes = take_codes(&mut reader)?;
    tick.error_codes = take_codes(&mut reader)?;
    for histogram in tick.histograms.iter_mut() {
        *histogram = take_histogram(&mut reader)?;
    }
    take_lists(&mut reader, &mut tick)?;
    reader.end()?;
    Ok(tick)
}

fn take_lists(reader: &mut Reader<'_>, tick: &mut SparseTick) -> Result<(), Malformed> {
    let routes = reader.count(ROUTES_MAX, "routes")?;
    for _ in 0..routes {
        tick.opened_on.push(reader.up_to(COUNT_MAX, "a count")?);
    }
    let targets = reader.count(TARGETS_REPORTED_MAX as usize, "targets")?;
    for _ in 0..targets {
        tick.targets.push((take_counts(reader)?, take_histogram(reader)?));
    }
    for _ in 0..reader.count(KINDS_MAX, "kinds of failures")? {
        tick.caught.push(take_caught(reader)?);
    }
    for _ in 0..reader.count(SUBSCRIPTIONS_MAX, "subscribers")? {
        tick.subscriptions.push(take_subscription(reader)?);
    }
    Ok(())
}

/// Writes all numbers of some counts, in their order.
fn put_counts(writer: &mut Writer, mut counts: impl Tally) {
    counts.each_number(&mut |number| writer.number(*number));
}

fn take_counts<T: Tally + Default>(reader: &mut Reader<'_>) -> Result<T, Malformed> {
    let (mut counts, mut taken) = (T::default(), Ok(()));
    counts.each_number(&mut |number| {
        let count = taken.and_then(|()| reader.up_to(COUNT_MAX, "a count"));
        taken = count.map(|count| *number = count);
    });
    taken.map(|()| counts)
}

fn put_codes(writer: &mut Writer, codes: &StatusCodes) {
    writer.number(codes.counted().count() as u64);
    for (code, count) in codes.counted() {
        writer.number(u64::from(code));
        writer.number(count);
    }
}

/// Least and greatest status that is counted.
const FIRST: u64 = 200;
const LAST: u64 = model::call::LAST as u64;

fn take_codes(reader: &mut Reader<'_>) -> Result<StatusCodes, Malformed> {
    let (mut codes, mut before) = (StatusCodes::default(), 0);
    for _ in 0..reader.count((LAST - FIRST + 1) as usize, "codes")? {
        let code = reader.up_to(LAST, "a code")?;
        if code < FIRST || code <= before {
            return Err(Malformed::Range("a code"));
        }
        before = code;
        let count = reader.up_to(COUNT_MAX, "a count")?;
        if count == 0 {
            return Err(Malformed::Range("a count"));
        }
        codes.add(code as u16, count);
    }
    Ok(codes)
}

/// Writes each bucket as the distance from the one before, and the exact figures as the distance
/// from the least value that these buckets allow.
fn put_histogram(writer: &mut Writer, histogram: &Sparse) {
    let buckets = histogram.buckets();
    writer.number(buckets.len() as u64);
    let (Some(first), Some(last)) = (buckets.first(), buckets.last()) else { return };
    let mut next = 0;
    for (bucket, count) in buckets {
        writer.number(u64::from(bucket - next));
        writer.number(*count);
        next = bucket + 1;
    }
    let (min, max) = histogram.extremes_ns();
    writer.number(min - values_of(first.0).0);
    writer.number(max - values_of(last.0).0);
    let (sum, sum_of_squares) = histogram.sums();
    writer.wide(sum - Sparse::sum_least(buckets).min(sum));
    writer.raw(&sum_of_squares.to_be_bytes());
}

fn take_histogram(reader: &mut Reader<'_>) -> Result<Sparse, Malformed> {
    const WHAT: Malformed = Malformed::Range("a distribution");
    let count = reader.count(BUCKET_LAST as usize + 1, "buckets")?;
    let mut buckets = Vec::with_capacity(count);
    let (mut next, mut values) = (0u64, 0u64);
    for _ in 0..count {
        let bucket = next + reader.up_to(u64::from(BUCKET_LAST), "a bucket")?;
        let bucket = u32::try_from(bucket).ok().filter(|bucket| *bucket <= BUCKET_LAST);
        let bucket = bucket.ok_or(WHAT)?;
        let count = reader.up_to(COUNT_MAX, "a count")?;
        values += count;
        next = u64::from(bucket) + 1;
        buckets.push((bucket, count));
    }
    if values > COUNT_MAX {
        return Err(WHAT);
    }
    let (Some(first), Some(last)) = (buckets.first(), buckets.last()) else {
        return Ok(Sparse::default());
    };
    let extreme = |reader: &mut Reader<'_>, bucket: u32| {
        let (least, most) = values_of(bucket);
        Ok(least + reader.up_to(most - least, "a value")?)
    };
    let extremes = (extreme(reader, first.0)?, extreme(reader, last.0)?);
    let sum = Sparse::sum_least(&buckets).checked_add(reader.wide()?);
    let sums = (sum.ok_or(WHAT)?, f64::from_be_bytes(reader.array()?));
    Sparse::new(buckets, extremes, sums).ok_or(WHAT)
}

fn put_caught(writer: &mut Writer, caught: &Caught) {
    writer.number(u64::from(caught.status));
    writer.byte(caught.check.map_or(0, |check| check as u8 + 1));
    writer.byte(caught.fault.map_or(0, |fault| fault as u8 + 1));
    writer.number(caught.at_ns);
    writer.number(caught.total_bytes);
    writer.byte(u8::from(caught.body_bytes.is_some()));
    caught.body_bytes.into_iter().for_each(|bytes| writer.number(bytes));
    writer.byte(u8::from(caught.asked.is_some()));
    caught.asked.into_iter().for_each(|asked| writer.number(u64::from(asked)));
    writer.bytes(caught.bytes());
}

fn take_caught(reader: &mut Reader<'_>) -> Result<Caught, Malformed> {
    let status = reader.up_to(u64::from(u16::MAX), "a status")? as u16;
    let check = take_place(reader, &Check::ALL, "a check")?;
    let fault = take_place(reader, &Fault::ALL, "a fault")?;
    let at_ns = reader.up_to(INSTANT_MAX_NS, "an instant")?;
    let total_bytes = reader.up_to(COUNT_MAX, "a length")?;
    let mut caught = Caught::new((status, check, fault), at_ns, total_bytes);
    caught.body_bytes = match reader.byte()? {
        0 => None,
        1 => Some(reader.number()?),
        _ => return Err(Malformed::Range("a mark")),
    };
    caught.asked = match reader.byte()? {
        0 => None,
        1 => Some(reader.up_to(u64::from(u32::MAX), "a place")? as u32),
        _ => return Err(Malformed::Range("a mark")),
    };
    caught.append(reader.bytes(CAUGHT_BYTES_MAX, "a response")?);
    Ok(caught)
}

/// One of `all`, or none.
fn take_place<T: Copy>(
    reader: &mut Reader<'_>,
    all: &[T],
    what: &'static str,
) -> Result<Option<T>, Malformed> {
    match reader.byte()? {
        0 => Ok(None),
        place => Ok(Some(*all.get(usize::from(place) - 1).ok_or(Malformed::Range(what))?)),
    }
}

fn put_subscription(writer: &mut Writer, one: &Subscription) {
    let marks = [one.is_accepted, one.before.is_some(), one.highest.is_some()];
    writer.number(u64::from(one.stream));
    let marks = marks.iter().enumerate().map(|(place, mark)| u8::from(*mark) << place).sum();
    writer.byte(marks);
    one.before.into_iter().chain(one.highest).for_each(|number| writer.number(number));
    let counts = [one.received, one.late, one.later, one.later_first];
    counts.into_iter().for_each(|number| writer.number(number));
}

fn take_subscription(reader: &mut Reader<'_>) -> Result<Subscription, Malformed> {
    let stream = reader.up_to(u64::from(u32::MAX), "a stream")? as u32;
    let marks = reader.byte()?;
    if marks > 7 {
        return Err(Malformed::Range("a mark"));
    }
    let mut event = |is_there: bool| match is_there {
        true => reader.up_to(INSTANT_MAX_NS, "the number of an event").map(Some),
        false => Ok(None),
    };
    let (before, highest) = (event(marks & 2 != 0)?, event(marks & 4 != 0)?);
    Ok(Subscription {
        stream,
        is_accepted: marks & 1 != 0,
        before,
        highest,
        received: reader.up_to(COUNT_MAX, "a count")?,
        late: reader.up_to(COUNT_MAX, "a count")?,
        later: reader.up_to(COUNT_MAX, "a count")?,
        later_first: reader.up_to(INSTANT_MAX_NS, "the number of an event")?,
    })
}

/// The tick as bytes, in as many parts as needed: together they are the tick, and each fits into
/// one item. Only the last part can be the last tick of its load order.
pub fn parts(mut tick: SparseTick) -> Vec<Vec<u8>> {
    let mut parts = Vec::new();
    let mut bytes = encode(&tick);
    while bytes.len() > TICK_BYTES_MAX || tick.subscriptions.len() > SUBSCRIPTIONS_MAX {
        let Some(part) = split(&mut tick) else { break };
        parts.extend(self::parts(part));
        bytes = encode(&tick);
    }
    parts.push(bytes);
    parts
}

/// Moves some of the large parts into another tick with the same start and length zero. `None` if
/// the tick has only one large part, which always fits.
fn split(tick: &mut SparseTick) -> Option<SparseTick> {
    let mut part = SparseTick::empty(tick.load, tick.phase, (tick.begin_ns, tick.begin_ns));
    part.crew = tick.crew;
    // Connections are a state, not a count, so both ticks have them.
    part.counts.connections = tick.counts.connections;
    if tick.subscriptions.len() > 1 {
        part.subscriptions = tick.subscriptions.split_off(tick.subscriptions.len() / 2);
        return Some(part);
    }
    if !tick.caught.is_empty() {
        part.caught = std::mem::take(&mut tick.caught);
        return Some(part);
    }
    if let Some(place) = tick.targets.iter().position(|(_, latency)| !latency.is_empty()) {
        part.targets.resize_with(place + 1, Default::default);
        part.targets[place].1 = std::mem::take(&mut tick.targets[place].1);
        return Some(part);
    }
    let mut filled = Dist::ALL.into_iter().filter(|dist| !tick.histograms[*dist].is_empty());
    let (first, _) = (filled.next()?, filled.next()?);
    part.histograms[first] = std::mem::take(&mut tick.histograms[first]);
    Some(part)
}

#[cfg(test)]
mod tests;
