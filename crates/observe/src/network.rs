//! What interfaces, queues and connections say: rates over the window and what was waiting.

use crate::ends::Pair;
use crate::figures::growth32;
use model::maps::IntoMap;
use model::reading::{Conntrack, CpuClock, Interface, Interrupt, Qdisc, Softnet, Value};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Counters of network drivers, by interface.
pub(crate) type Drivers = BTreeMap<String, BTreeMap<String, u64>>;

/// Bytes on the wire that an interface does not count for each frame: FCS, preamble and gap.
pub(crate) const FRAME_EXTRA_BYTES: u64 = 24;

/// Receive work of one CPU in the window.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct SoftnetUse {
    /// CPU number.
    pub cpu: u32,
    /// Packets processed.
    pub processed: u64,
    /// Packets processed per second.
    pub processed_s: f64,
    /// Packets dropped because its backlog was full.
    pub dropped: u32,
    /// Times a poll ended with work left.
    pub squeezed: u32,
}

/// What one interface moved in the window.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct LinkUse {
    /// Interface name.
    pub name: String,
    /// Bytes per second on the wire towards this host, framing included.
    pub rx_bytes_s: f64,
    /// Bytes per second on the wire from this host, framing included.
    pub tx_bytes_s: f64,
    /// Packets per second received, in the driver's units.
    pub rx_packets_s: f64,
    /// Packets per second sent, in the driver's units.
    pub tx_packets_s: f64,
    /// Received packets that were dropped.
    pub rx_dropped: u64,
    /// Packets that were dropped on the way out.
    pub tx_dropped: u64,
}

/// What one queueing discipline did in the window.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct QdiscUse {
    /// Interface name.
    pub interface: String,
    /// Kind, for example `tbf`.
    pub kind: String,
    /// Packets dropped.
    pub drops: u32,
    /// Times it held packets back.
    pub overlimits: u32,
    /// Bytes per second let through.
    pub bytes_s: f64,
    /// Packets per second let through.
    pub packets_s: f64,
    /// Share of the reads in which packets were waiting.
    pub waiting: f64,
}

/// A connection tracking table over the window.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConntrackUse {
    /// Most entries seen.
    pub count: u64,
    /// Largest number of entries; zero means no limit.
    pub max: u64,
    /// Packets dropped: for want of an entry, in a lost race for one (`insert_failed` rises too),
    /// or by the tracker of a protocol.
    pub dropped: u64,
    /// Entries removed early to make room.
    pub early_dropped: u64,
    /// Entries that could not be inserted; most are lost races.
    pub insert_failed: u64,
}

impl ConntrackUse {
    /// Most entries seen over the limit; nothing where there is none.
    pub fn share(&self) -> Option<f64> {
        (self.max > 0).then(|| self.count as f64 / self.max as f64)
    }
}

/// What one device interrupt did in the window.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct InterruptUse {
    /// Number of the interrupt.
    pub irq: String,
    /// Device and queue as the driver named it.
    pub device: String,
    /// Events per second on all CPUs.
    pub per_s: f64,
    /// Events per second on each CPU, indexed by CPU number.
    pub per_cpu_s: Vec<f64>,
    /// CPUs that may serve it when the window ended, as the kernel lists them; absent when it was
    /// not read.
    pub allowed: Option<String>,
}

pub(crate) fn interrupts(pair: &Pair<'_, Vec<Interrupt>>) -> Vec<InterruptUse> {
    let of_interrupt = |last: &Interrupt| {
        let first = pair.first.iter().find(|first| first.irq == last.irq)?;
        let on_cpu = |(cpu, last): (usize, &u64)| {
            // A CPU that came since then counts from zero; see the source.
            let first = first.per_cpu.get(cpu).copied().unwrap_or(0);
            Some(growth32(first, *last)? as f64 / pair.seconds)
        };
        // One that began anew, as with its device, has an unknown growth.
        let per_cpu_s: Option<Vec<f64>> = last.per_cpu.iter().enumerate().map(on_cpu).collect();
        let per_cpu_s = per_cpu_s?;
        Some(InterruptUse {
            irq: last.irq.clone(),
            device: last.device.clone(),
            per_s: per_cpu_s.iter().sum(),
            per_cpu_s,
            allowed: last.allowed.clone(),
        })
    };
    pair.last.iter().filter_map(of_interrupt).collect()
}

/// Lowest clock seen of each CPU, as a share of its highest.
#[derive(Debug, Default)]
pub(crate) struct Clocks(Option<BTreeMap<u32, f64>>);

impl Clocks {
    pub(crate) fn add(&mut self, clocks: &[CpuClock]) {
        for clock in clocks {
            let known = clock.now_khz.zip(clock.max_khz.filter(|max_khz| *max_khz > 0));
            let Some((now_khz, max_khz)) = known else { continue };
            let share = now_khz as f64 / max_khz as f64;
            let lowest = self.0.get_or_insert_default().entry(clock.cpu).or_insert(share);
            *lowest = lowest.min(share);
        }
    }

    pub(crate) fn finish(self) -> Option<BTreeMap<u32, f64>> {
        self.0
    }
}

/// Packets that each CPU took in, counted from read to read: the kernel's counter has 32 bits and
/// wraps after some hours of a busy network.
#[derive(Debug, Default)]
pub(crate) struct Processed(BTreeMap<u32, (u32, u64)>);

impl Processed {
    pub(crate) fn add(&mut self, rows: &[Softnet]) {
        for row in rows {
            let (last, sum) = self.0.entry(row.cpu).or_insert((row.processed, 0));
            *sum += u64::from(row.processed.wrapping_sub(*last));
            *last = row.processed;
        }
    }
}

pub(crate) fn softnet(pair: &Pair<'_, Vec<Softnet>>, processed: &Processed) -> Vec<SoftnetUse> {
    let of_cpu = |last: &Softnet| {
        let first = pair.first.iter().find(|first| first.cpu == last.cpu)?;
        let (_, processed) = *processed.0.get(&last.cpu)?;
        Some(SoftnetUse {
            cpu: last.cpu,
            processed,
            processed_s: processed as f64 / pair.seconds,
            dropped: last.dropped.wrapping_sub(first.dropped),
            squeezed: last.time_squeeze.wrapping_sub(first.time_squeeze),
        })
    };
    pair.last.iter().filter_map(of_cpu).collect()
}

pub(crate) fn links(pair: &Pair<'_, Vec<Interface>>) -> Vec<LinkUse> {
    let of_link = |last: &Interface| {
        let first = pair.first.iter().find(|first| first.name == last.name)?;
        // One that is made again begins anew, and its growth is unknown.
        let grown = |field: fn(&Interface) -> u64| field(last).checked_sub(field(first));
        let per_s = |field: fn(&Interface) -> u64| Some(grown(field)? as f64 / pair.seconds);
        let on_wire = |bytes_s: f64, packets_s: f64| bytes_s + packets_s * FRAME_EXTRA_BYTES as f64;
        let (rx_packets_s, tx_packets_s) =
            (per_s(|one| one.rx_packets)?, per_s(|one| one.tx_packets)?);
        Some(LinkUse {
            name: last.name.clone(),
            rx_bytes_s: on_wire(per_s(|one| one.rx_bytes)?, rx_packets_s),
            tx_bytes_s: on_wire(per_s(|one| one.tx_bytes)?, tx_packets_s),
            rx_packets_s,
            tx_packets_s,
            rx_dropped: grown(|one| one.rx_dropped)?,
            tx_dropped: grown(|one| one.tx_dropped)?,
        })
    };
    pair.last.iter().filter_map(of_link).collect()
}

/// How often packets were seen waiting in a discipline.
#[derive(Debug, Default)]
pub(crate) struct Waiting(BTreeMap<(String, u32), (u32, u32)>);

impl Waiting {
    pub(crate) fn add(&mut self, qdiscs: &[Qdisc]) {
        for qdisc in qdiscs {
            let reads = self.0.entry((qdisc.interface.clone(), qdisc.handle)).or_default();
            reads.0 += u32::from(qdisc.backlog_packets > 0);
            reads.1 += 1;
        }
    }

    fn share(&self, qdisc: &Qdisc) -> f64 {
        let reads = self.0.get(&(qdisc.interface.clone(), qdisc.handle));
        reads.map_or(0.0, |(waiting, of)| f64::from(*waiting) / f64::from((*of).max(1)))
    }
}

pub(crate) fn qdiscs(pair: &Pair<'_, Vec<Qdisc>>, waiting: &Waiting) -> Vec<QdiscUse> {
    let of_qdisc = |last: &Qdisc| {
        let is_same = |one: &&Qdisc| (&one.interface, one.handle) == (&last.interface, last.handle);
        let first = pair.first.iter().find(is_same)?;
        // One that is made again with its device begins anew, and its growth is unknown.
        let grown = |first: u32, last: u32| growth32(first.into(), last.into()).map(|n| n as u32);
        Some(QdiscUse {
            interface: last.interface.clone(),
            kind: last.kind.clone(),
            drops: grown(first.drops, last.drops)?,
            overlimits: grown(first.overlimits, last.overlimits)?,
            bytes_s: last.bytes.checked_sub(first.bytes)? as f64 / pair.seconds,
            packets_s: growth32(first.packets, last.packets)? as f64 / pair.seconds,
            waiting: waiting.share(last),
        })
    };
    pair.last.iter().filter_map(of_qdisc).collect()
}

/// Nothing for a table whose counters began anew.
pub(crate) fn conntrack(pair: &Pair<'_, Conntrack>, count: u64) -> Option<ConntrackUse> {
    let Pair { first, last, .. } = pair;
    Some(ConntrackUse {
        count,
        max: last.max,
        dropped: growth32(first.dropped, last.dropped)?,
        early_dropped: growth32(first.early_dropped, last.early_dropped)?,
        insert_failed: growth32(first.insert_failed, last.insert_failed)?,
    })
}

/// Increase of every counter of every driver. One that stepped back is left out: it began anew with
/// its device, or it is a state.
pub(crate) fn drivers(pair: &Pair<'_, BTreeMap<String, Value>>) -> Drivers {
    let of_link = |(name, last): (&String, &Value)| {
        let (Value::Named(first), Value::Named(last)) = (pair.first.get(name)?, last) else {
            return None;
        };
        let delta = |(name, value): (&String, &u64)| {
            Some((name.clone(), value.checked_sub(*first.get(name)?)?))
        };
        Some((name.clone(), last.iter().filter_map(delta).into_map()))
    };
    pair.last.iter().filter_map(of_link).into_map()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wire_bytes_have_their_framing() {
        let link = |rx_bytes, rx_packets| {
            vec![Interface { name: "eth0".into(), rx_bytes, rx_packets, ..Interface::default() }]
        };
        let (first, last) = (link(1000, 10), link(2000, 20));
        let link = &links(&Pair { first: &first, last: &last, seconds: 2.0 })[0];
        assert_eq!((link.rx_bytes_s, link.rx_packets_s), (500.0 + 5.0 * 24.0, 5.0));
    }

    impl Processed {
        fn of(reads: &[&Vec<Softnet>]) -> Self {
            let mut processed = Self::default();
            reads.iter().for_each(|rows| processed.add(rows));
            processed
        }
    }

    #[test]
    fn packets_of_a_long_window_are_counted_from_read_to_read() {
        let row = |processed| vec![Softnet { processed, ..Softnet::default() }];
        let step = 3_000_000_000_u32;
        let reads = [row(7), row(step.wrapping_add(7)), row(step.wrapping_mul(2).wrapping_add(7))];
        let processed = Processed::of(&[&reads[0], &reads[1], &reads[2]]);
        let pair = Pair { first: &reads[0], last: &reads[2], seconds: 2.0 };
        let used = &softnet(&pair, &processed)[0];
        assert_eq!((used.processed, used.processed_s), (6_000_000_000, 3e9));
    }

    #[test]
    fn counters_of_32_bits_wrap() {
        let row = |dropped| vec![Softnet { dropped, ..Softnet::default() }];
        let (first, last) = (row(u32::MAX), row(4));
        let processed = Processed::of(&[&first, &last]);
        let pair = Pair { first: &first, last: &last, seconds: 1.0 };
        assert_eq!(softnet(&pair, &processed)[0].dropped, 5);
        let row = |count| {
            let (irq, device) = ("24".to_string(), "eth0-0".to_string());
            vec![Interrupt { irq, device, per_cpu: vec![7, count], allowed: None }]
        };
        let rates = |first, last| {
            let (first, last) = (row(first), row(last));
            let all = interrupts(&Pair { first: &first, last: &last, seconds: 2.0 });
            all.into_iter().map(|one| one.per_cpu_s).collect::<Vec<_>>()
        };
        assert_eq!(rates(u64::from(u32::MAX), 9), [[0.0, 5.0]]);
        assert_eq!(rates(u64::from(u32::MAX - 10), u64::from(u32::MAX)), [[0.0, 5.0]]);
        assert_eq!(rates(5000, 9), [] as [Vec<f64>; 0], "it began anew: unknown");
    }

    #[test]
    fn a_discipline_that_was_made_again_has_dropped_an_unknown_number() {
        let row = |drops| vec![Qdisc { drops, ..Qdisc::default() }];
        let seen = |first, last| {
            let (first, last) = (row(first), row(last));
            let pair = Pair { first: &first, last: &last, seconds: 1.0 };
            qdiscs(&pair, &Waiting::default()).first().map(|one| one.drops)
        };
        assert_eq!(seen(5, 0), None);
        assert_eq!(seen(u32::MAX, 4), Some(5));
        let moved = |bytes, packets| vec![Qdisc { bytes, packets, ..Qdisc::default() }];
        let seen = |first: &Vec<Qdisc>, last: &Vec<Qdisc>| {
            let pair = Pair { first, last, seconds: 1.0 };
            qdiscs(&pair, &Waiting::default()).first().map(|one| one.packets_s)
        };
        assert_eq!(seen(&moved(9000, 9), &moved(60, 1)), None, "it never dropped any");
        let before_it_wraps = moved(9000, u64::from(u32::MAX));
        assert_eq!(seen(&before_it_wraps, &moved(9600, 9)), Some(10.0));
    }

    #[test]
    fn drops_of_the_table_wrap_on_one_cpu() {
        let dropped = |first, last| {
            let sum = |dropped| Conntrack { dropped, ..Conntrack::default() };
            let (first, last) = (sum(first), sum(last));
            let used = conntrack(&Pair { first: &first, last: &last, seconds: 1.0 }, 0);
            used.map(|used| used.dropped)
        };
        // Two CPUs; one wraps from 2^32 - 1 to 4.
        assert_eq!(dropped(u64::from(u32::MAX) + 100, 4 + 100), Some(5));
        assert_eq!(dropped(5000, 9), None, "it began anew: unknown");
    }

    #[test]
    fn what_an_interface_that_was_made_again_moved_is_unknown() {
        let used = |first: [u64; 2], last: [u64; 2]| {
            let row = |[rx_bytes, tx_dropped]: [u64; 2]| {
                let name = "veth7".to_string();
                vec![Interface { name, rx_bytes, tx_dropped, ..Interface::default() }]
            };
            let (first, last) = (row(first), row(last));
            let pair = Pair { first: &first, last: &last, seconds: 1.0 };
            links(&pair).first().map(|link| (link.rx_bytes_s, link.tx_dropped))
        };
        assert_eq!(used([50, 3], [90, 5]), Some((40.0, 2)));
        assert_eq!(used([50, 3], [90, 0]), None);
        assert_eq!(used([50, 0], [9, 0]), None);
    }

    #[test]
    fn a_counter_of_a_driver_that_was_reset_is_unknown() {
        let read = |[drops, sent]: [u64; 2]| {
            let names = ["rx_drops", "tx_packets"].map(str::to_string);
            let counters = names.into_iter().zip([drops, sent]).into_map();
            BTreeMap::from([("eth0".to_string(), Value::Named(counters))])
        };
        let (first, last) = (read([900, 5]), read([3, 7]));
        let grown = &drivers(&Pair { first: &first, last: &last, seconds: 1.0 })["eth0"];
        assert_eq!(*grown, BTreeMap::from([("tx_packets".to_string(), 2)]));
    }

    #[test]
    fn a_discipline_is_found_again_by_its_handle() {
        let qdisc = |handle, drops, backlog_packets| Qdisc {
            interface: "eth0".into(),
            handle,
            drops,
            backlog_packets,
            ..Qdisc::default()
        };
        let (first, last) = (vec![qdisc(1, 5, 0), qdisc(2, 0, 3)], vec![qdisc(2, 7, 0)]);
        let mut waiting = Waiting::default();
        waiting.add(&first);
        waiting.add(&last);
        let used = qdiscs(&Pair { first: &first, last: &last, seconds: 1.0 }, &waiting);
        assert_eq!((used.len(), used[0].drops, used[0].waiting), (1, 7, 0.5));
    }
}
