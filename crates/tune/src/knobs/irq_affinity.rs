//! T1: interrupt affinity: which CPU takes the interrupts of each queue.
//!
//! Path: `/proc/irq/N/smp_affinity_list`, a list; one CPU for each queue of the device. The
//! interrupt that only manages the device is skipped.
//! Matters when: one CPU is full of softirq while others idle (K4, C10), or interrupts compete
//! with the server's threads for a CPU.
//! Predicts: about the ratio of the fullest CPU to the mean of all; nothing elsewhere. At 22 000
//! interrupts per second and queue with idle CPUs: nothing.
//! Risk: an interrupt with a list of several CPUs still lands on one; CPUs kept for packets are
//! lost to the server.
//! Verify: effective_affinity_list, and /proc/interrupts counts on the CPU meant.
//! With: irqbalance (T2) moves them back within seconds; RPS (T5) and XPS (T8) build on it.
//! Source: Linux Documentation/core-api/irq/irq-affinity.rst, networking/scaling.rst.

use crate::cpus::CpuSet;
use crate::host::{Device, Host, Profile, Wish};
use crate::knob::{Act, Ask, Effect, Knob, Proposal, Sign};
use crate::place::{Format, Place};
use crate::predict;
use crate::process;
use ::host::interrupts;
use model::tuning::{Prediction, Scope, Signals, TakesEffect};
use model::wall::WallId;
use std::collections::BTreeSet;

pub const KNOB: Knob = Knob {
    id: "T1",
    name: "irq-affinity",
    about: "CPU that takes the interrupts of a queue",
    scope: Scope::Host,
    takes_effect: TakesEffect::Now,
    is_disruptive: false,
    relieves: &[WallId::K4, WallId::C10],
    risk: "CPUs for packets are lost to the server when the two are kept apart",
    act: Act::Settable { places, propose, sign: Some(SIGN) },
    predict,
};

fn places(host: &Host, wish: &Wish) -> Vec<Place> {
    // Devices of one PCI function share its interrupts.
    let all = host.wished_devices(wish).flat_map(|device| &device.interrupts);
    let all: BTreeSet<u32> = all.map(|interrupt| interrupt.irq).collect();
    let path = |irq| format!("/proc/irq/{irq}/smp_affinity_list");
    all.into_iter().map(|irq| Place::file(path(irq), Format::List)).collect()
}

fn propose(ask: &Ask<'_>) -> Proposal {
    let irq = irq_of(ask.place);
    let is_its = |device: &&Device| device.interrupts.iter().any(|of| Some(of.irq) == irq);
    let Some(device) = ask.host.wished_devices(ask.wish).find(is_its) else {
        return Proposal::Refuse("the device of this interrupt is gone".to_string());
    };
    if ask.wish.profile == Profile::Seeds && ask.wish.split.is_none() {
        let why = "the journal's setup left interrupts where the driver put them";
        return Proposal::Leave(why.to_string());
    }
    let at = device.interrupts.iter().position(|of| Some(of.irq) == irq).unwrap_or(0);
    let queue = queue_of(&device.interrupts[at].name).unwrap_or(at);
    let cpus: Vec<u32> = ask.cpus_for(device).iter().collect();
    match cpus.len() {
        0 => Proposal::Refuse("no CPU may be used".to_string()),
        count => Proposal::Set(cpus[queue % count].to_string()),
    }
}

fn irq_of(place: &Place) -> Option<u32> {
    let Place::File { path, .. } = place else { return None };
    path.strip_prefix("/proc/irq/")?.split('/').next()?.parse().ok()
}

/// The number at the end of an interrupt's name: a queue for one direction has the same as the
/// other, and both belong on one CPU.
fn queue_of(name: &str) -> Option<usize> {
    let name = name.split('@').next()?;
    let digits = name.len() - name.trim_end_matches(|letter: char| letter.is_ascii_digit()).len();
    name[name.len() - digits..].parse().ok()
}

/// Interrupts that may still arrive on the old CPU. Without interrupt remapping in hardware, an
/// interrupt moves while it is handled; on a virtual machine this took up to eight interrupts.
const PATIENCE: u64 = 100;

/// The CPU on which the interrupt lands, and how many landed on each.
const SIGN: Sign = Sign { what: "effective affinity and interrupts by CPU", read, judge };

/// `3|0:12 3:99`: the effective list, then counts of CPUs that took any.
fn read(host: &Host, place: &Place) -> Option<String> {
    let irq = irq_of(place)?;
    let effective = host.text(&format!("/proc/irq/{irq}/effective_affinity_list"))?;
    let table = process::read(&host.root.path("/proc/interrupts"), interrupts::parse).ok()?;
    let entry = table.into_iter().find(|entry| entry.irq.parse() == Ok(irq))?;
    let counts = entry.per_cpu.iter().enumerate().filter(|(_, count)| **count > 0);
    let counts: Vec<_> = counts.map(|(cpu, count)| format!("{cpu}:{count}")).collect();
    Some(format!("{}|{}", effective.trim(), counts.join(" ")))
}

fn judge(before: &str, now: &str, wanted: &str) -> Effect {
    let (Ok(wanted), Some((effective, _))) = (CpuSet::parse_list(wanted), now.split_once('|'))
    else {
        return Effect::NotYet("the table of interrupts could not be read".to_string());
    };
    let lands = CpuSet::parse_list(effective).unwrap_or_default();
    let is_there = !lands.is_empty() && lands.without(&wanted).is_empty();
    let came = |cpu: u32| came(counts(before, cpu), counts(now, cpu));
    let meant: u64 = wanted.iter().map(came).sum();
    let elsewhere: u64 = lands.without(&wanted).iter().map(came).sum();
    match is_there {
        true if meant > 0 => {
            Effect::Seen(format!("lands on CPU {effective}, {meant} interrupts came there"))
        }
        true => Effect::NotYet(format!("lands on CPU {effective}; no interrupt came since")),
        false if elsewhere < PATIENCE => {
            Effect::NotYet(format!("still CPU {effective}; it moves with one of the next"))
        }
        false => {
            Effect::Missing(format!("interrupts still come on CPU {effective}: {elsewhere} since"))
        }
    }
}

/// How many interrupts came between two counts. They are 32 bits wide in the kernel and wrap; one
/// that would have grown by half of that began anew when a driver set its interrupts up again.
fn came(before: u32, now: u32) -> u64 {
    let grown = now.wrapping_sub(before);
    u64::from(if now < before && grown >= 1 << 31 { now } else { grown })
}

fn counts(text: &str, cpu: u32) -> u32 {
    let (_, counts) = text.split_once('|').unwrap_or_default();
    let pairs = counts.split(' ').filter_map(|pair| pair.split_once(':'));
    let mut of = pairs.filter(|(number, _)| number.parse() == Ok(cpu));
    of.next().and_then(|(_, count)| count.parse().ok()).unwrap_or(0)
}

fn predict(signals: &Signals) -> Prediction {
    predict::spread_of_softirq(
        signals,
        "one CPU of the server over 95 % busy, over half of it softirq, with others idle (K4)",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{self, MadeUp};

    #[test]
    fn every_queue_gets_one_cpu_and_management_none() {
        let made = MadeUp::c8i_32xlarge();
        let host = made.host();
        let wish = testing::split(Profile::Throughput, "112-127", "0-111");
        let all = testing::asked(&KNOB, &host, &wish);
        assert_eq!(all.len(), 16, "142 only manages");
        for (queue, (place, proposal)) in all.iter().enumerate() {
            assert_eq!(place.show(), format!("/proc/irq/{}/smp_affinity_list", 143 + queue));
            assert_eq!(*proposal, Proposal::Set((112 + queue).to_string()));
        }
        let made = MadeUp::two_cpus();
        let host = made.host();
        assert!(testing::asked(&KNOB, &host, &wish).is_empty(), "it has no interrupts");
    }

    #[test]
    fn an_interrupt_of_two_devices_is_planned_once() {
        let made = MadeUp::new("shared", 4).device("eth0", 2).device("eth1", 2);
        let mut table = "        CPU0 CPU1 CPU2 CPU3".to_string();
        for (queue, irq) in (40..42).enumerate() {
            for device in ["eth0", "eth1"] {
                made.write(&format!("/sys/class/net/{device}/device/msi_irqs/{irq}"), "msix");
            }
            made.write(&format!("/proc/irq/{irq}/smp_affinity_list"), "0-3");
            table += &format!("\n {irq}: 0 0 0 0 PCI-MSI 7-edge mlx4-{queue}@0000:05:00.0");
        }
        made.write("/proc/interrupts", &table);
        let wish = testing::split(Profile::Throughput, "2-3", "0-1");
        let one = Wish { device: Some("eth1".to_string()), ..wish.clone() };
        for wish in [wish, one] {
            let all = testing::proposals(&KNOB, &made.host(), &wish);
            let set = |irq: u32, cpu: &str| {
                (format!("/proc/irq/{irq}/smp_affinity_list"), Proposal::Set(cpu.to_string()))
            };
            assert_eq!(all, [set(40, "2"), set(41, "3")]);
        }
    }

    #[test]
    fn both_directions_of_a_queue_share_a_cpu() {
        assert_eq!(queue_of("virtio2-input.3"), queue_of("virtio2-output.3"));
        assert_eq!(queue_of("mlx5_comp7@pci:0000:08:00.0"), Some(7));
        assert_eq!(queue_of("virtio3-rx"), None);
    }

    #[test]
    fn it_works_when_interrupts_come_where_they_should() {
        assert!(matches!(judge("0|0:5", "3|0:5 3:9", "3"), Effect::Seen(_)));
        assert!(matches!(judge("0|0:5", "3|0:5", "3"), Effect::NotYet(_)));
        assert!(matches!(judge("0|0:5", "0|0:5", "3"), Effect::NotYet(_)));
        assert!(matches!(judge("0|0:5", "0|0:13", "3"), Effect::NotYet(_)));
        assert!(matches!(judge("0|0:5", "0|0:900", "3"), Effect::Missing(_)));
    }

    #[test]
    fn counts_that_wrapped_or_began_anew_are_interrupts_that_came() {
        let seen = |before, now| match judge(before, now, "3") {
            Effect::Seen(what) => what,
            other => panic!("{other:?}"),
        };
        let wrapped = seen("3|3:4294967290", "3|3:4");
        assert!(wrapped.ends_with(", 10 interrupts came there"), "{wrapped}");
        let anew = seen("3|3:5000", "3|3:7");
        assert!(anew.ends_with(", 7 interrupts came there"), "{anew}");
        assert!(matches!(judge("0|0:4294967290", "0|0:4", "3"), Effect::NotYet(_)));
        assert!(matches!(judge("0|0:4294967290", "0|0:900", "3"), Effect::Missing(_)));
    }

    #[test]
    fn it_matters_when_one_cpu_is_full_of_softirq() {
        let idle = testing::at(WallId::K4, 0.3, 0.1);
        testing::assert_predicts(&KNOB, &idle, &testing::one_full_cpu(1));
    }
}
