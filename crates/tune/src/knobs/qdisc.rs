//! T22: queues of packets to be sent: their length, and the discipline that orders them.
//!
//! Path: `/sys/class/net/DEVICE/tx_queue_len`, packets; `/proc/sys/net/core/default_qdisc`, for
//! devices brought up afterwards; and the root discipline of a device by rtnetlink, only where
//! the kernel's default is, and default_qdisc still names its kind: deleting ours brings that back.
//! Matters when: disciplines drop packets, or their lock shows in a profile; `fq` for paced flows.
//! Predicts: nothing until packets are dropped there; then up to the next wall.
//! Risk: changing a discipline drops the packets it holds; long queues add latency.
//! Verify: read back; drops of the discipline no longer grow.
//! With: congestion control (T45) that paces needs `fq`; several queues need `mq`, the default.
//! Source: tc(8), Linux Documentation/admin-guide/sysctl/net.rst.

use crate::host::{Host, Profile, Wish};
use crate::knob::{Act, Ask, Knob, Proposal};
use crate::place::{Format, Place, qdisc};
use crate::predict;
use model::tuning::{Prediction, Scope, Signals, TakesEffect};
use model::wall::WallId;

pub const KNOB: Knob = Knob {
    id: "T22",
    name: "qdisc",
    about: "queues of packets to be sent",
    scope: Scope::Device,
    takes_effect: TakesEffect::Now,
    is_disruptive: true,
    relieves: &[WallId::K9, WallId::N2],
    risk: "packets that wait are dropped; long queues add latency",
    act: Act::Settable { places, propose, sign: None },
    predict,
};

const DISCIPLINE: &str = "fq_codel";

fn places(host: &Host, wish: &Wish) -> Vec<Place> {
    let of = |device: &crate::host::Device| {
        let length = format!("/sys/class/net/{}/tx_queue_len", device.name);
        let root = Place::Qdisc { device: device.name.clone() };
        [Place::file(length, Format::Number), root]
    };
    let default = Place::file("/proc/sys/net/core/default_qdisc", Format::Word);
    // It is put back first: the kernel makes what it names in place of our disciplines.
    host.wished_devices(wish).flat_map(of).chain([default]).collect()
}

fn propose(ask: &Ask<'_>) -> Proposal {
    let Place::Qdisc { device } = ask.place else {
        return Proposal::Leave("queues that drop nothing are long enough".to_string());
    };
    let is_ours_to_change = ask.now == qdisc::DEFAULT || ask.now == DISCIPLINE;
    let queues = ask.device().map_or(0, |device| device.tx_queues.len());
    match ask.wish.profile {
        Profile::Latency if !is_ours_to_change => {
            Proposal::Refuse(format!("{} was set by another program", ask.now))
        }
        Profile::Latency if queues > 1 => {
            Proposal::Leave(format!("one discipline would join {queues} queues in one lock"))
        }
        Profile::Latency if !qdisc::has_kind(ask.host, DISCIPLINE) => {
            Proposal::Leave(format!("the kernel does not list {DISCIPLINE}"))
        }
        Profile::Latency => match qdisc::check_comes_back(ask.host, device) {
            Ok(()) => Proposal::Set(DISCIPLINE.to_string()),
            Err(why) => Proposal::Refuse(why),
        },
        _ => Proposal::Leave("a queue that drops nothing needs no other order".to_string()),
    }
}

fn predict(signals: &Signals) -> Prediction {
    let hits = signals.server.qdisc_drops;
    let reconsider = "drops of the server's queueing disciplines above 0";
    let what = "packets dropped by queueing disciplines";
    predict::limit_at(signals, KNOB.relieves, hits, what, reconsider)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{self, MadeUp};

    #[test]
    fn only_the_kernels_default_is_replaced() {
        let made = MadeUp::two_cpus();
        let latency = testing::wish(Profile::Latency);
        made.write("/qdisc/eth0", "pfifo_fast 0:");
        let wanted = |made: &MadeUp| {
            let all = testing::asked(&KNOB, &made.host(), &latency);
            all.into_iter().next_back().unwrap().1
        };
        assert!(matches!(wanted(&made), Proposal::Leave(_)), "no such kind here");
        made.write("/proc/sys/kernel/osrelease", "6.8.0");
        made.write("/lib/modules/6.8.0/modules.dep", "kernel/net/sched/sch_fq_codel.ko.zst:");
        assert_eq!(wanted(&made), Proposal::Set("fq_codel".to_string()));
        let path = "/proc/sys/net/core/default_qdisc";
        for (default, may) in [("pfifo_fast", true), ("fq", false)] {
            made.write(path, default);
            let found = testing::proposals(&KNOB, &made.host(), &latency);
            let (_, found) = found.iter().find(|(place, _)| place == "eth0 root qdisc").unwrap();
            assert_eq!(matches!(found, Proposal::Set(_)), may, "{found:?}");
            let place = Place::Qdisc { device: "eth0".to_string() };
            let before = place.read(&made.host()).unwrap().unwrap();
            assert_eq!(place.write(&made.host(), "fq_codel", &before).is_ok(), may, "{default}");
            made.write("/qdisc/eth0", "pfifo_fast 0:");
        }
        std::fs::remove_file(made.host().root.path(path)).unwrap();
        made.write("/qdisc/eth0", "htb 8001:");
        assert!(matches!(wanted(&made), Proposal::Refuse(_)));
        let many = MadeUp::c6i_2xlarge();
        many.write("/qdisc/ens5", "mq 0:");
        assert!(matches!(wanted(&many), Proposal::Leave(_)));
    }

    #[test]
    fn it_matters_when_disciplines_drop() {
        let mut idle = testing::at(WallId::K9, 0.9, 0.5);
        idle.server.qdisc_drops = Some(0);
        let mut limit = idle.clone();
        limit.server.qdisc_drops = Some(40);
        testing::assert_predicts(&KNOB, &idle, &limit);
    }
}
