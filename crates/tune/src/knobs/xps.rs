//! T8: XPS, transmit packet steering: which CPUs send through which transmit queue.
//!
//! Path: `/sys/class/net/DEVICE/queues/tx-N/xps_cpus`, a mask of CPUs; zero is off.
//! Matters when: there are several transmit queues, and CPUs wait for the lock of one or finish
//! the packets of others.
//! Predicts: at most half the share of softirq; nothing with one queue, or while CPUs have time.
//! Risk: an uneven split of CPUs over queues; few files exist with a single queue.
//! Verify: counters of the transmit queues grow with the work of their CPUs.
//! With: the queue of a CPU is the one whose interrupt it takes (T1); drivers often set it.
//! Source: Linux Documentation/networking/scaling.rst.

use crate::cpus::CpuSet;
use crate::host::{Host, Profile, Wish};
use crate::knob::{Act, Ask, Knob, Proposal};
use crate::place::{Format, Place};
use crate::predict;
use model::tuning::{Prediction, Scope, Signals, TakesEffect};
use model::wall::WallId;

pub const KNOB: Knob = Knob {
    id: "T8",
    name: "xps",
    about: "CPUs that send through a transmit queue",
    scope: Scope::Device,
    takes_effect: TakesEffect::Now,
    is_disruptive: false,
    relieves: &[WallId::S1, WallId::K9],
    risk: "CPUs may spread unevenly over queues",
    act: Act::Settable { places, propose, sign: None },
    predict,
};

fn places(host: &Host, wish: &Wish) -> Vec<Place> {
    let of = |device: &crate::host::Device| {
        let path =
            |queue: &String| format!("/sys/class/net/{}/queues/{queue}/xps_cpus", device.name);
        device.tx_queues.iter().map(path).collect::<Vec<_>>()
    };
    let several = host.wished_devices(wish).filter(|device| device.tx_queues.len() > 1);
    several.flat_map(of).map(|path| Place::file(path, Format::Mask)).collect()
}

fn propose(ask: &Ask<'_>) -> Proposal {
    let (Some(device), Some(queue)) = (ask.device(), ask.place.queue()) else {
        return Proposal::Refuse("the queue is gone".to_string());
    };
    match ask.wish.profile {
        Profile::Seeds => Proposal::Leave("the journal left it to the driver".to_string()),
        Profile::Throughput | Profile::Latency | Profile::Churn => {
            let queues = device.tx_queues.len();
            // All CPUs that may send, not only those for packets; nearness to the device does not
            // matter here.
            let cpus = ask.host.usable_cpus();
            let its = cpus.iter().enumerate().filter(|(at, _)| at % queues == queue as usize);
            let its: CpuSet = its.map(|(_, cpu)| cpu).collect();
            match its.is_empty() {
                true => Proposal::Leave(format!("{queues} queues for {} CPUs", cpus.len())),
                false => Proposal::Set(its.list()),
            }
        }
    }
}

fn predict(signals: &Signals) -> Prediction {
    let reconsider = "several transmit queues, CPUs over 95 % busy, and the lock of a queue above \
                      2 % of a profile";
    if signals.server.tx_queues == Some(1) {
        let arithmetic = "1 transmit queue: there is nothing to choose".to_string();
        return Prediction::no_effect(predict::noise(signals), arithmetic, reconsider);
    }
    predict::halved_softirq(signals, "no lock is shared, packets complete on their CPU", reconsider)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{self, MadeUp};
    use model::tuning::Basis;

    #[test]
    fn every_cpu_sends_through_one_queue() {
        let made = MadeUp::c8i_32xlarge();
        let host = made.host();
        let wish = testing::wish(Profile::Throughput);
        let all = testing::asked(&KNOB, &host, &wish);
        let mut cpus = Vec::new();
        for (_, proposal) in all {
            let Proposal::Set(list) = proposal else { panic!("{proposal:?}") };
            cpus.extend(CpuSet::parse_list(&list).unwrap().iter());
        }
        cpus.sort_unstable();
        assert_eq!(cpus, (0..128).collect::<Vec<_>>());
        let made = MadeUp::two_cpus();
        let host = made.host();
        assert!(testing::asked(&KNOB, &host, &wish).is_empty(), "one queue has no choice");
    }

    #[test]
    fn one_queue_leaves_no_choice() {
        let mut limit = testing::at(WallId::S1, 1.0, 0.3);
        limit.server.tx_queues = Some(4);
        testing::assert_predicts(&KNOB, &testing::at(WallId::S1, 0.1, 0.0), &limit);
        limit.server.tx_queues = Some(1);
        assert_eq!(predict(&limit).basis, Basis::NoEffect);
    }
}
