//! rtnetlink: queueing disciplines of the interfaces, what they let through, held back and dropped.
//!
//! RTM_GETQDISC for all interfaces. Kept of each discipline: kind and handle, from TCA_STATS2 the
//! bytes and packets let through and the queue: length, backlog, drops, requeues, overlimits.
//! Kernel: `net/sched/sch_api.c`, `tc_fill_qdisc`; `net/core/gen_stats.c`.
//!
//! Caveats. It covers only the network namespace of the calling thread. Drops, requeues, overlimits
//! and, on kernels before 5.5, packets are 32 bits wide and wrap. A root such as `mq` sums up those
//! below it, so children without a handle of their own are left out; those with one (classes of
//! `htb`) repeat what their parent counts. `noqueue` queues nothing and is left out. Offloads make
//! one packet of many.

use super::{Round, Scope, Source};
use crate::link;
use crate::netlink::{self, CHUNK_BYTES, Fields, MESSAGE_HEADER_BYTES, More};
use crate::scan::{self, ParseError};
use model::facts::Unreadable;
use model::metric::Declaration;
use model::reading::{Data, Qdisc};
use model::root::Root;
use model::unit::Unit;
use std::collections::BTreeMap;
use std::io;

/// One discipline as the kernel describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QdiscRow {
    /// Number of the interface.
    pub index: u32,
    /// Handle of its parent; all ones for the root of an interface.
    pub parent: u32,
    /// The counters; the interface has no name yet.
    pub qdisc: Qdisc,
}

// linux/rtnetlink.h, linux/gen_stats.h and linux/pkt_sched.h; part of the stable interface.
const RTM_NEWQDISC: u16 = 36;
const RTM_GETQDISC: u16 = 38;
const TCMSG_BYTES: usize = 20;
const TCA_KIND: u16 = 1;
const TCA_STATS2: u16 = 7;
const TCA_STATS_BASIC: u16 = 1;
const TCA_STATS_QUEUE: u16 = 3;
const TCA_STATS_PKT64: u16 = 8;
const TC_H_ROOT: u32 = u32::MAX;

/// Parses one chunk as received.
pub fn parse(bytes: &[u8]) -> Result<(Vec<QdiscRow>, More), ParseError> {
    let mut rows = Vec::new();
    let more = netlink::messages(bytes, |kind, body| {
        if kind == RTM_NEWQDISC {
            rows.push(parse_row(body)?);
        }
        Ok(())
    })?;
    Ok((rows, more))
}

fn parse_row(body: &[u8]) -> Result<QdiscRow, ParseError> {
    let fields = Fields(body);
    let (index, handle, parent) = (fields.u32(4)?, fields.u32(8)?, fields.u32(12)?);
    let mut qdisc = Qdisc { handle, ..Qdisc::default() };
    let attributes = body.get(TCMSG_BYTES..).unwrap_or_default();
    netlink::attributes(attributes, |kind, value| match kind {
        TCA_KIND => {
            qdisc.kind = scan::text(value.strip_suffix(b"\0").unwrap_or(value));
            Ok(())
        }
        TCA_STATS2 => netlink::attributes(value, |kind, value| put(&mut qdisc, kind, value)),
        _ => Ok(()),
    })?;
    Ok(QdiscRow { index, parent, qdisc })
}

fn put(qdisc: &mut Qdisc, kind: u16, value: &[u8]) -> Result<(), ParseError> {
    let fields = Fields(value);
    match kind {
        TCA_STATS_BASIC => {
            qdisc.bytes = fields.u64(0)?;
            qdisc.packets = u64::from(fields.u32(8)?);
        }
        // Comes after the basic ones where the count does not fit those.
        TCA_STATS_PKT64 => qdisc.packets = fields.u64(0)?,
        TCA_STATS_QUEUE => {
            qdisc.backlog_packets = fields.u32(0)?;
            qdisc.backlog_bytes = fields.u32(4)?;
            qdisc.drops = fields.u32(8)?;
            qdisc.requeues = fields.u32(12)?;
            qdisc.overlimits = fields.u32(16)?;
        }
        _ => {}
    }
    Ok(())
}

/// Most disciplines kept; a host with hundreds of containers has hundreds.
const QDISCS_MAX: usize = 256;

/// Whether the row says something that no other row of its interface says.
fn is_of_use(row: &QdiscRow) -> bool {
    let has_name = row.parent == TC_H_ROOT || row.qdisc.handle != 0;
    has_name && row.qdisc.kind != "noqueue"
}

/// What the figures are.
pub(super) fn declared() -> Declaration {
    Declaration::new("qdiscs", "rtnetlink, RTM_GETQDISC")
        .each("interface")
        .each("kind")
        .over("handle")
        .counter32("drops", Unit::Count, "Packets dropped by a queueing discipline.")
        .counter32("overlimits", Unit::Count, "Times it held packets back.")
        .counter32("requeues", Unit::Count, "Packets given back by the driver.")
        .counter("bytes", Unit::Bytes, "Bytes let through.")
        .counter("packets", Unit::Count, "Packets let through.")
        .max("backlog_packets", Unit::Count, "Packets waiting.")
}

struct Qdiscs {
    names: BTreeMap<u32, String>,
    chunk: Vec<u8>,
}

pub(super) fn open(scope: &Scope) -> Option<Box<dyn Source>> {
    let qdiscs = || Qdiscs { names: BTreeMap::new(), chunk: vec![0; CHUNK_BYTES] };
    scope.network.is_ours().then(|| Box::new(qdiscs()) as Box<dyn Source>)
}

impl Source for Qdiscs {
    fn read(&mut self, _round: &Round<'_>) -> Result<Data, Unreadable> {
        let mut rows = Vec::new();
        let mut question = netlink::dump_header(QUESTION_BYTES, RTM_GETQDISC).to_vec();
        question.resize(QUESTION_BYTES, 0);
        netlink::dump(libc::NETLINK_ROUTE, &question, &mut self.chunk, |bytes| {
            let (found, more) = parse(bytes)?;
            rows.extend(found.into_iter().filter(is_of_use));
            Ok(if rows.len() < QDISCS_MAX { more } else { more.or_enough() })
        })
        .map_err(|why| Unreadable { source: "qdiscs".into(), why: why.to_string() })?;
        rows.truncate(QDISCS_MAX);
        let named = rows.into_iter().filter_map(|row| {
            // An interface that was removed a moment ago has no name any more.
            let interface = self.name(row.index).ok()?;
            Some(Qdisc { interface, ..row.qdisc })
        });
        Ok(Data::Qdiscs(named.collect()))
    }
}

const QUESTION_BYTES: usize = MESSAGE_HEADER_BYTES + TCMSG_BYTES;

impl Qdiscs {
    fn name(&mut self, index: u32) -> io::Result<String> {
        if let Some(name) = self.names.get(&index) {
            return Ok(name.clone());
        }
        let gone = || io::Error::from_raw_os_error(libc::ENXIO);
        let name = link::name(&Root::default(), index)?.ok_or_else(gone)?;
        self.names.insert(index, name.clone());
        Ok(name)
    }
}

// The fixtures are messages in the byte order of the machine they were taken on.
#[cfg(all(test, target_endian = "little"))]
mod tests {
    use super::*;
    use crate::testing::fixture;

    #[test]
    fn a_token_bucket_that_holds_back_and_drops() {
        let (rows, more) = parse(&fixture("linux-6.18-vm/qdiscs")).unwrap();
        assert_eq!(more, More::Nothing);
        let kept: Vec<QdiscRow> = rows.into_iter().filter(is_of_use).collect();
        let expected = Qdisc {
            interface: String::new(),
            kind: "tbf".into(),
            handle: 0x10 << 16,
            drops: 30,
            overlimits: 40,
            requeues: 0,
            bytes: 2300,
            packets: 6,
            backlog_bytes: 2386,
            backlog_packets: 7,
        };
        assert_eq!(kept, [QdiscRow { index: kept[0].index, parent: TC_H_ROOT, qdisc: expected }]);
    }

    #[test]
    fn children_without_a_name_and_no_queue_are_left_out() {
        let row = |kind: &str, handle, parent| {
            let qdisc = Qdisc { kind: kind.into(), handle, ..Qdisc::default() };
            is_of_use(&QdiscRow { index: 1, parent, qdisc })
        };
        assert!(row("mq", 0, TC_H_ROOT) && row("htb", 1 << 16, 5));
        assert!(!row("fq_codel", 0, 1) && !row("noqueue", 0, TC_H_ROOT));
    }

    #[test]
    fn packets_have_64_bits_where_the_kernel_has() {
        let mut qdisc = Qdisc::default();
        put(&mut qdisc, TCA_STATS_BASIC, &[[0; 8], [7, 0, 0, 0, 0, 0, 0, 0]].concat()).unwrap();
        assert_eq!(qdisc.packets, 7);
        put(&mut qdisc, TCA_STATS_PKT64, &(1u64 << 40).to_ne_bytes()).unwrap();
        assert_eq!(qdisc.packets, 1 << 40);
        assert!(put(&mut qdisc, TCA_STATS_QUEUE, &[0; 8]).is_err());
    }
}
