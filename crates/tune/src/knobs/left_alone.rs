//! Knobs that no profile sets: their values are shown, watched during a run, and predicted.

use crate::host::Device;
use crate::knob::{Act, Knob, Proposal};
use crate::place::{Format, Place};
use crate::predict;
use model::tuning::{Prediction, Scope, Signals, TakesEffect};
use model::wall::WallId;

fn leave(why: &str) -> Proposal {
    Proposal::Leave(why.to_string())
}

/// T10: flow limit: one large flow is dropped first when a CPU's backlog fills.
///
/// Path: `/proc/sys/net/core/flow_limit_cpu_bitmap`, a mask of CPUs, zero is off; and
/// `flow_limit_table_len`, a power of two that takes effect for CPUs switched on afterwards.
/// Matters when: one flow floods the backlog of a CPU and starves others (K5).
/// Predicts: nothing until packets are dropped at the backlog; then up to the next wall.
/// Risk: the large flow loses packets that would have had room.
/// Verify: the field of flow limits in /proc/net/softnet_stat.
/// With: only where RPS (T5) or virtual devices use the backlog (T25).
/// Source: Linux Documentation/networking/scaling.rst.
pub const FLOW_LIMIT: Knob = Knob {
    id: "T10",
    name: "flow-limit",
    about: "a large flow is dropped before small ones",
    scope: Scope::Host,
    takes_effect: TakesEffect::Now,
    is_disruptive: false,
    relieves: &[WallId::K5],
    risk: "the large flow loses packets that would have had room",
    act: Act::Settable {
        places: |_, _| {
            // The length first: it takes effect for CPUs that are switched on after it.
            let length = Place::file("/proc/sys/net/core/flow_limit_table_len", Format::Number);
            let cpus = Place::file("/proc/sys/net/core/flow_limit_cpu_bitmap", Format::Mask);
            vec![length, cpus]
        },
        propose: |_| leave("a load of many similar connections has no large flow"),
        sign: None,
    },
    predict: |signals| {
        let reconsider =
            "drops at the per-CPU backlog above 0, with one flow that makes most of them";
        let hits = signals.server.backlog_drops;
        let what = "packets dropped at the per-CPU backlog";
        predict::limit_at(signals, FLOW_LIMIT.relieves, hits, what, reconsider)
    },
};

/// T23: byte queue limits: how much the kernel queues ahead in a transmit ring.
///
/// Path: `/sys/class/net/DEVICE/queues/tx-N/byte_queue_limits/limit_max`, bytes.
/// Matters when: a transmit ring runs empty although packets wait, on a fully used link (K8).
/// Predicts: at most what the link has left; nothing below nine tenths of it.
/// Risk: more latency in the ring.
/// Verify: `inflight` of the queue stays below its `limit`.
/// With: the length of the ring (T17) and the discipline above it (T22).
/// Source: Linux Documentation/ABI/testing/sysfs-class-net-queues.
pub const BYTE_LIMITS: Knob = Knob {
    id: "T23",
    name: "byte-limits",
    about: "bytes queued ahead in a transmit ring",
    scope: Scope::Device,
    takes_effect: TakesEffect::Now,
    is_disruptive: false,
    relieves: &[WallId::K8],
    risk: "more latency in the ring",
    act: Act::Settable {
        places: |host, wish| {
            let of = |device: &Device| {
                let path = |queue: &String| {
                    format!(
                        "/sys/class/net/{}/queues/{queue}/byte_queue_limits/limit_max",
                        device.name
                    )
                };
                device.tx_queues.iter().map(path).collect::<Vec<_>>()
            };
            let paths = host.wished_devices(wish).flat_map(of);
            paths.map(|path| Place::file(path, Format::Number)).collect()
        },
        propose: |_| leave("the kernel finds the limit by itself"),
        sign: None,
    },
    predict: byte_limits,
};

/// Use of the link from which a ring that runs empty would matter.
const LINK_FULL: f64 = 0.9;

fn byte_limits(signals: &Signals) -> Prediction {
    let reconsider = "use of the link above 90 % (K8), with inflight at the limit of a queue";
    let Some(used) = predict::finite(signals.server.link_use) else {
        return Prediction::unknown("use of the link was not measured".into(), reconsider);
    };
    if let Some(nothing) = predict::elsewhere(signals, BYTE_LIMITS.relieves, reconsider) {
        return nothing;
    }
    let noise = predict::noise(signals);
    let shown = format!("{:.0} % of the link is used", used * 100.0);
    if used < LINK_FULL {
        return Prediction::no_effect(noise, shown, reconsider);
    }
    let high = (1.0 / used - 1.0).max(noise);
    let arithmetic = format!("{shown}: at most 1 / {used:.2} - 1 = {high:.3}");
    Prediction::bounded(-noise, Some(high), arithmetic, reconsider)
}

/// T27: the share of a round that one device gets, dev_weight and its two factors.
///
/// Path: `/proc/sys/net/core/dev_weight`, packets, and the factors `dev_weight_rx_bias` for the
/// backlog of RPS and `dev_weight_tx_bias` for queueing disciplines.
/// Matters when: rounds of softirq end early (K6) while one device starves another, and the ring
/// drops packets meanwhile. Rare.
/// Predicts: like the budget (T26): nothing while the ring drops nothing, or while the wall is
/// elsewhere; then up to the next wall.
/// Risk: one device keeps the others waiting.
/// Verify: the third column of /proc/net/softnet_stat.
/// With: the budget (T26), of which it is a part.
/// Source: Linux Documentation/admin-guide/sysctl/net.rst.
pub const DEV_WEIGHT: Knob = Knob {
    id: "T27",
    name: "dev-weight",
    about: "packets per poll of one device",
    scope: Scope::Host,
    takes_effect: TakesEffect::Now,
    is_disruptive: false,
    relieves: &[WallId::K5, WallId::K6],
    risk: "one device keeps the others waiting",
    act: Act::Settable {
        places: |_, _| {
            let file = |name: &str| Place::number(format!("/proc/sys/net/core/{name}"));
            vec![file("dev_weight"), file("dev_weight_rx_bias"), file("dev_weight_tx_bias")]
        },
        propose: |_| leave("no profile needs another share; one device carries the load"),
        sign: None,
    },
    predict: |signals| predict::cut_rounds(signals, DEV_WEIGHT.relieves),
};

/// T28: where packets get their time stamp, netdev_tstamp_prequeue.
///
/// Path: `/proc/sys/net/core/netdev_tstamp_prequeue`, 1 before RPS, 0 after it, on the CPU steered
/// to.
/// Matters when: RPS is on, a program uses time stamps, and the CPU of the interrupts is full (K4).
/// Rare.
/// Predicts: less than RPS itself: at most the spread of softirq over the CPUs.
/// Risk: time stamps include the wait for the other CPU.
/// Verify: the softirq share of the CPU that takes the interrupts falls.
/// With: RPS (T5); without it nothing changes.
/// Source: Linux Documentation/admin-guide/sysctl/net.rst.
pub const NETDEV_TSTAMP_PREQUEUE: Knob = Knob {
    id: "T28",
    name: "netdev-tstamp-prequeue",
    about: "time stamps before or after steering",
    scope: Scope::Host,
    takes_effect: TakesEffect::Now,
    is_disruptive: false,
    relieves: &[WallId::K4],
    risk: "time stamps include the wait for another CPU",
    act: Act::Settable {
        places: |_, _| vec![Place::number("/proc/sys/net/core/netdev_tstamp_prequeue")],
        propose: |_| leave("it falsifies time stamps and pays only with RPS"),
        sign: None,
    },
    predict: |signals| {
        predict::spread_of_softirq(
            signals,
            "one CPU of the server over 95 % busy, over half of it softirq, with RPS on (K4)",
        )
    },
};

/// T33: how a full accept queue responds, tcp_abort_on_overflow.
///
/// Path: `/proc/sys/net/ipv4/tcp_abort_on_overflow`, 0 or 1.
/// Matters when: never for the rate. It turns a silent second of waiting into a visible error, for
/// diagnosis.
/// Predicts: nothing; with overflows errors instead of late responses.
/// Risk: clients see resets in a burst that they would have survived.
/// Verify: resets at the client while ListenOverflows grows.
/// With: somaxconn (T29) and the backlog (T30), which are the remedy.
/// Source: Linux Documentation/networking/ip-sysctl.rst.
pub const TCP_ABORT_ON_OVERFLOW: Knob = Knob {
    id: "T33",
    name: "tcp-abort-on-overflow",
    about: "reset instead of silence when an accept queue is full",
    scope: Scope::Namespace,
    takes_effect: TakesEffect::Now,
    is_disruptive: false,
    relieves: &[WallId::K1],
    risk: "clients see resets in bursts that they would have survived",
    act: Act::Settable {
        places: |_, _| vec![Place::number("/proc/sys/net/ipv4/tcp_abort_on_overflow")],
        propose: |_| leave("only for diagnosis: it frees no room"),
        sign: None,
    },
    predict: |signals| {
        let reconsider =
            "nothing raises the rate by it; ListenOverflows above 0 would show as resets";
        let arithmetic = match signals.server.accept_overflows {
            Some(hits) => format!("{hits} handshakes refused: a reset makes room for none of them"),
            None => "a reset makes room for no handshake, refused or not".to_string(),
        };
        Prediction::no_effect(predict::noise(signals), arithmetic, reconsider)
    },
};

/// T43: bytes of one socket below the queueing discipline, tcp_limit_output_bytes.
///
/// Path: `/proc/sys/net/ipv4/tcp_limit_output_bytes`, bytes.
/// Matters when: one fat flow does not fill a link because the device completes transmissions late.
/// Rare.
/// Predicts: nothing for small bodies and many connections.
/// Risk: longer queues below the scheduler of packets: latency.
/// Verify: throughput of a single flow.
/// With: queueing disciplines (T22), byte queue limits (T23).
/// Source: Linux Documentation/networking/ip-sysctl.rst, net/ipv4/tcp_output.c,
/// tcp_small_queue_check.
pub const TCP_LIMIT_OUTPUT_BYTES: Knob = Knob {
    id: "T43",
    name: "tcp-limit-output-bytes",
    about: "bytes of one socket in queues of the device",
    scope: Scope::Namespace,
    takes_effect: TakesEffect::Now,
    is_disruptive: false,
    relieves: &[WallId::N3],
    risk: "longer queues in the device",
    act: Act::Settable {
        places: |_, _| vec![Place::number("/proc/sys/net/ipv4/tcp_limit_output_bytes")],
        propose: |_| leave("it pays for one fat flow only"),
        sign: None,
    },
    predict: |signals| {
        let reconsider = "one flow alone with responses above 64 kB (N3)";
        match predict::finite(signals.bytes_per_response) {
            None => predict::unknown("bytes per response", reconsider),
            Some(bytes) if bytes < LARGE => {
                let arithmetic = format!("a response of {bytes:.0} bytes is far below the limit");
                Prediction::no_effect(predict::noise(signals), arithmetic, reconsider)
            }
            Some(bytes) => {
                let noise = predict::noise(signals);
                let arithmetic =
                    format!("a response of {bytes:.0} bytes: it affects only one flow alone");
                Prediction::bounded(-noise, Some(noise), arithmetic, reconsider)
            }
        }
    },
};

/// A size of which several responses fit the smallest limit that kernels have had by default.
const LARGE: f64 = 65_536.0;

/// T47: memory of all TCP sockets, tcp_mem.
///
/// Path: `/proc/sys/net/ipv4/tcp_mem`, three numbers of pages, not bytes; of the whole host.
/// Matters when: TCP is in memory pressure (K11): TCPMemoryPressures grew.
/// Predicts: nothing away from it; then up to the next wall.
/// Risk: the host runs out of memory.
/// Verify: `mem` of the TCP line of /proc/net/sockstat against the three numbers.
/// With: buffers (T41), which fill it.
/// Source: Linux Documentation/networking/ip-sysctl.rst.
pub const TCP_MEM: Knob = Knob {
    id: "T47",
    name: "tcp-mem",
    about: "memory of all TCP sockets",
    scope: Scope::Host,
    takes_effect: TakesEffect::Now,
    is_disruptive: false,
    relieves: &[WallId::K11],
    risk: "the host runs out of memory",
    act: Act::Settable {
        places: |_, _| {
            let path = "/proc/sys/net/ipv4/tcp_mem".to_string();
            vec![Place::File { path, format: Format::Numbers }]
        },
        propose: |_| leave("the kernel chose it by the size of memory"),
        sign: None,
    },
    predict: |signals| {
        predict::only_at(
            signals,
            TCP_MEM.relieves,
            "more memory for sockets",
            "TCPMemoryPressures above 0 (K11)",
        )
    },
};

/// T54: two threads per core, SMT.
///
/// Path: `/sys/devices/system/cpu/smt/control`: on, off; other words where it cannot be changed.
/// Matters when: siblings contend for one core (S7, S8). It changes the number of CPUs, so figures
/// with and without it are not from the same host.
/// Predicts: at a wall of contention anything between half of the rate and up to the next wall.
/// Risk: half of the CPUs disappear; masks, interrupts and worker counts no longer fit.
/// Verify: `smt/active`, and CPUs online.
/// With: every mask of CPUs (T1, T5, T8, T12).
/// Source: Linux Documentation/ABI/testing/sysfs-devices-system-cpu.
pub const SMT: Knob = Knob {
    id: "T54",
    name: "smt",
    about: "two CPUs on one core",
    scope: Scope::Host,
    takes_effect: TakesEffect::Now,
    is_disruptive: false,
    relieves: &[WallId::S7, WallId::S8],
    risk: "half of the CPUs disappear, and masks and workers no longer fit",
    act: Act::Settable {
        places: |_, _| {
            let path = "/sys/devices/system/cpu/smt/control".to_string();
            vec![Place::File { path, format: Format::Word }]
        },
        propose: |_| leave("another number of CPUs is another host; figures cannot be compared"),
        sign: None,
    },
    predict: |signals| {
        let response = predict::only_at(
            signals,
            SMT.relieves,
            "less contention, and half of the CPUs",
            "contention or spin in a profile (S7, S8)",
        );
        Prediction { low: response.low.map(|low| low.min(-LOSS)), ..response }
    },
};

/// The loss when the siblings did not contend.
const LOSS: f64 = 0.5;
