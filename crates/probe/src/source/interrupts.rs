//! `/proc/interrupts`: device interrupts, per CPU.
//!
//! A header of online CPUs, then a line per interrupt: number, counts, controller, trigger, names
//! of the handlers. Lines with a name instead of a number (`LOC`, `RES`, `CAL`, ...) belong to the
//! architecture and are left out. Kernel: `kernel/irq/proc.c`, `show_interrupts`.
//!
//! Caveats. Network drivers that poll raise few interrupts under load, so the counts show *where* a
//! queue is served, not how much. Offline CPUs have no column. The text grows as interrupts x CPUs,
//! about 400 kB on a host with 128 CPUs and 300 interrupts, hence the slow cadence. Host-wide, also
//! inside a network namespace.
//!
//! Which CPUs may serve an interrupt is in `/proc/irq/N/smp_affinity_list`, a file for each: those
//! of the busiest interrupts are read, once in a while.

use super::{Round, Scope, Source};
use crate::interrupts::parse;
use crate::kept::{Buffer, Kept};
use model::facts::Unreadable;
use model::metric::{Declaration, Unit};
use model::reading::{Data, Interrupt};
use model::root::Root;
use model::units::NS_PER_S;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fs;

/// What the figures are.
pub(super) fn declared() -> Declaration {
    Declaration::new("interrupts", "/proc/interrupts").each("device").over("irq").counter(
        "per_cpu",
        Unit::Count,
        "Device interrupts, all CPUs.",
    )
}

/// Most interrupts whose masks are read: a network device seldom has more queues.
const MASKS_MAX: usize = 128;
/// Masks change seldom: when irqbalance or a person moves an interrupt.
const MASKS_EVERY_NS: u64 = 10 * NS_PER_S;

struct Interrupts {
    root: Root,
    file: Kept,
    buffer: Buffer,
    /// Masks by interrupt, as they were read last.
    masks: BTreeMap<String, String>,
    masks_due_ns: u64,
}

pub(super) fn open(scope: &Scope) -> Option<Box<dyn Source>> {
    Some(Box::new(Interrupts {
        root: scope.root.clone(),
        file: Kept::records(scope.root.path("/proc/interrupts")),
        buffer: Buffer::new(),
        masks: BTreeMap::new(),
        masks_due_ns: 0,
    }))
}

impl Source for Interrupts {
    fn read(&mut self, round: &Round<'_>) -> Result<Data, Unreadable> {
        let mut rows = self.file.parse(&mut self.buffer, parse)?;
        if round.due_ns >= self.masks_due_ns {
            self.masks_due_ns = round.due_ns + MASKS_EVERY_NS;
            self.masks = masks(&self.root, &rows);
        }
        rows.iter_mut().for_each(|row| row.allowed = self.masks.get(&row.irq).cloned());
        Ok(Data::Interrupts(rows))
    }
}

/// Masks of the interrupts that were raised most, as far as they can be read.
fn masks(root: &Root, rows: &[Interrupt]) -> BTreeMap<String, String> {
    let raised = |row: &Interrupt| row.per_cpu.iter().sum::<u64>();
    let mut busiest: Vec<&Interrupt> = rows.iter().filter(|row| raised(row) > 0).collect();
    busiest.sort_by_key(|row| Reverse(raised(row)));
    let mask = |row: &&Interrupt| {
        let path = root.path(format!("/proc/irq/{}/smp_affinity_list", row.irq));
        Some((row.irq.clone(), fs::read_to_string(path).ok()?.trim().to_string()))
    };
    busiest.iter().take(MASKS_MAX).filter_map(mask).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    #[test]
    fn masks_are_read_of_interrupts_that_were_raised_and_not_in_every_round() {
        let host = testing::Folder::new("interrupt-masks");
        let table = "CPU0 CPU1\n 24: 5 0 PCI-MSI 1-edge eth0-0\n 25: 0 7 PCI-MSI 2-edge eth0-1\n \
                     26: 0 0 PCI-MSI 3-edge idle\n";
        host.write("proc/interrupts", table);
        host.write("proc/irq/24/smp_affinity_list", "0-1\n");
        host.write("proc/irq/26/smp_affinity_list", "0\n");
        let root = Root::below(host.path());
        let mut source = open(&Scope { root, ..Scope::default() }).unwrap();
        let mut masks = |due_ns| {
            let data = source.read(&Round { due_ns, server: None }).unwrap();
            let Data::Interrupts(rows) = data else { panic!("{data:?}") };
            rows.into_iter().map(|row| row.allowed).collect::<Vec<_>>()
        };
        let mask = |text: &str| Some(text.to_string());
        assert_eq!(masks(0), [mask("0-1"), None, None], "not readable, and never raised");
        host.write("proc/irq/24/smp_affinity_list", "1\n");
        assert_eq!(masks(MASKS_EVERY_NS - 1)[0], mask("0-1"));
        assert_eq!(masks(MASKS_EVERY_NS)[0], mask("1"));
    }

    #[test]
    fn a_large_host_with_a_cpu_offline() {
        let devices = parse(testing::interrupts_text(128, 64, &[5]).as_bytes()).unwrap();
        assert_eq!(devices.len(), 64);
        let named = |name: &str| devices.iter().find(|interrupt| interrupt.device == name);
        let queue = named("mlx5_comp63@pci:0000:81:00.0").unwrap();
        assert_eq!(queue.per_cpu.len(), 128);
        assert_eq!((queue.per_cpu[5], queue.per_cpu[127]), (0, testing::count(127, 63)));
    }
}
