//! `/proc/interrupts`: device interrupts, per CPU.
//!
//! A header of online CPUs, then a line per interrupt: number, counts, controller, trigger, names
//! of the handlers. Lines with a name instead of a number (`LOC`, `RES`, `CAL`, ...) belong to the
//! architecture and are left out. Kernel: `kernel/irq/proc.c`, `show_interrupts`.
//!
//! Caveats. Network drivers that poll raise few interrupts under load, so the counts show *where* a
//! queue is served, not how much. The counts are 32 bits wide and wrap (`struct irqstat`). Offline
//! CPUs have no column, and the kernel keeps their counts until they are back. Here a CPU that is
//! offline keeps its last count, and one that was offline at the first read counts from zero when
//! it comes. The text grows as interrupts x CPUs, about 400 kB on a host with 128 CPUs and 300
//! interrupts, hence the slow cadence. Host-wide, also inside a network namespace.
//!
//! Which CPUs may serve an interrupt is in `/proc/irq/N/smp_affinity_list`, a file for each: those
//! of the busiest interrupts are read, once in a while.

use super::{Round, Scope, Source};
use crate::interrupts::parse_table;
use crate::kernel_file::KernelFile;
use model::facts::Unreadable;
use model::maps::IntoMap;
use model::metric::Declaration;
use model::order::OrderBy as _;
use model::reading::{Data, Interrupt};
use model::root::Root;
use model::unit::Unit;
use model::units::NS_PER_S;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;

/// What the figures are.
pub(super) fn declared() -> Declaration {
    Declaration::new("interrupts", "/proc/interrupts").each("device").over("irq").counter32(
        "per_cpu",
        Unit::Count,
        "Device interrupts, all CPUs; 32 bits wide on each.",
    )
}

/// Most interrupts whose masks are read: a network device seldom has more queues.
const MASKS_MAX: usize = 128;
/// Masks change seldom: when irqbalance or a person moves an interrupt.
const MASKS_EVERY_NS: u64 = 10 * NS_PER_S;

struct Interrupts {
    root: Root,
    file: KernelFile,
    /// Masks by interrupt, as they were read last.
    masks: BTreeMap<String, String>,
    masks_due_ns: u64,
    coming: ComingAndGoing,
}

pub(super) fn open(scope: &Scope) -> Option<Box<dyn Source>> {
    Some(Box::new(Interrupts {
        root: scope.root.clone(),
        file: KernelFile::records(scope.root.path("/proc/interrupts")),
        masks: BTreeMap::new(),
        masks_due_ns: 0,
        coming: ComingAndGoing::default(),
    }))
}

impl Source for Interrupts {
    fn read(&mut self, round: &Round<'_>) -> Result<Data, Unreadable> {
        let (online, mut rows) = self.file.parse(parse_table)?;
        self.coming.settle(&online, &mut rows);
        if round.due_ns >= self.masks_due_ns {
            self.masks_due_ns = round.due_ns + MASKS_EVERY_NS;
            self.masks = masks(&self.root, &rows);
        }
        rows.iter_mut().for_each(|row| row.allowed = self.masks.get(&row.irq).cloned());
        Ok(Data::Interrupts(rows))
    }
}

/// Counts of CPUs that go offline or come online between reads. Without it, all that a CPU ever
/// counted would seem to happen, or to be undone, between two reads.
#[derive(Debug, Default)]
struct ComingAndGoing {
    /// CPUs that were online at the first read.
    first: Option<BTreeSet<usize>>,
    /// CPUs that came later.
    later: BTreeSet<usize>,
    /// What is taken off the counts of those CPUs, by interrupt and CPU.
    bases: BTreeMap<(String, usize), u64>,
    /// The rows of the last read.
    last: Vec<Interrupt>,
}

impl ComingAndGoing {
    fn settle(&mut self, online: &[usize], rows: &mut [Interrupt]) {
        let online: BTreeSet<usize> = online.iter().copied().collect();
        let first = self.first.get_or_insert_with(|| online.clone());
        if *first != online || !self.later.is_empty() {
            let mut came: BTreeSet<usize> = online.difference(first).copied().collect();
            came.retain(|cpu| self.later.insert(*cpu));
            let last: BTreeMap<&str, &[u64]> =
                self.last.iter().map(|row| (row.irq.as_str(), &row.per_cpu[..])).into_map();
            for row in rows.iter_mut() {
                let last = last.get(row.irq.as_str()).copied().unwrap_or_default();
                row.per_cpu.resize(row.per_cpu.len().max(last.len()), 0);
                for (cpu, count) in row.per_cpu.iter_mut().enumerate() {
                    let last = last.get(cpu).copied().unwrap_or(0);
                    if !online.contains(&cpu) {
                        *count = last;
                    } else if self.later.contains(&cpu) {
                        let zero = if came.contains(&cpu) { *count } else { 0 };
                        let base = self.bases.entry((row.irq.clone(), cpu)).or_insert(zero);
                        // One that went back, as at a wrap, goes on from its last count.
                        if count.wrapping_sub(*base).wrapping_sub(last) > u64::from(u32::MAX) {
                            *base = count.wrapping_sub(last);
                        }
                        *count = count.wrapping_sub(*base);
                    }
                }
            }
        }
        self.last = rows.to_vec();
    }
}

/// Masks of the interrupts that were raised most, as far as they can be read.
fn masks(root: &Root, rows: &[Interrupt]) -> BTreeMap<String, String> {
    let raised = |row: &Interrupt| row.per_cpu.iter().sum::<u64>();
    let mut busiest: Vec<&Interrupt> = rows.iter().filter(|row| raised(row) > 0).collect();
    busiest.order_by_key(|row| Reverse(raised(row)));
    let mask = |row: &&Interrupt| {
        let path = root.path(format!("/proc/irq/{}/smp_affinity_list", row.irq));
        Some((row.irq.clone(), fs::read_to_string(path).ok()?.trim().to_string()))
    };
    busiest.iter().take(MASKS_MAX).filter_map(mask).into_map()
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
    fn a_cpu_that_comes_or_goes_counts_only_what_it_served_meanwhile() {
        let host = testing::Folder::new("interrupt-cpus");
        let root = Root::below(host.path());
        let mut source = open(&Scope { root, ..Scope::default() }).unwrap();
        let mut counts = |cpus: &str, counts: [&str; 2]| {
            let [first, second] = counts;
            let table =
                format!("{cpus}\n 24: {first} PCI-MSI 1-edge a\n 25: {second} PCI-MSI 2-edge b\n");
            host.write("proc/interrupts", &table);
            let data = source.read(&Round { due_ns: 0, server: None }).unwrap();
            let Data::Interrupts(rows) = data else { panic!("{data:?}") };
            rows.into_iter().map(|row| row.per_cpu).collect::<Vec<_>>()
        };
        // CPUs 1 and 3 served before they were switched off.
        assert_eq!(counts("CPU0 CPU2", ["5 7", "1 1"]), [[5, 0, 7], [1, 0, 1]]);
        assert_eq!(counts("CPU0 CPU1 CPU2", ["6 900 7", "1 80 1"]), [[6, 0, 7], [1, 0, 1]]);
        assert_eq!(counts("CPU0 CPU1 CPU2", ["6 903 8", "1 80 1"]), [[6, 3, 8], [1, 0, 1]]);
        let four = "CPU0 CPU1 CPU2 CPU3";
        assert_eq!(counts(four, ["6 904 8 70", "1 80 1 9"]), [[6, 4, 8, 0], [1, 0, 1, 0]]);
        assert_eq!(counts("CPU0 CPU3", ["7 71", "1 9"]), [[7, 4, 8, 1], [1, 0, 1, 0]]);
        assert_eq!(counts("CPU0 CPU2", ["7 9", "2 1"]), [[7, 4, 9, 1], [2, 0, 1, 0]]);
        assert_eq!(counts(four, ["7 905 9 72", "2 81 1 9"]), [[7, 5, 9, 2], [2, 1, 1, 0]]);
        // One that began anew, or wrapped, makes no leap.
        assert_eq!(counts(four, ["7 1 9 73", "2 81 1 9"]), [[7, 5, 9, 3], [2, 1, 1, 0]]);
        assert_eq!(counts(four, ["7 4 9 73", "2 81 1 9"]), [[7, 8, 9, 3], [2, 1, 1, 0]]);
    }

    #[test]
    fn a_large_host_with_a_cpu_offline() {
        let (_, devices) = parse_table(testing::interrupts_text(128, 64, &[5]).as_bytes()).unwrap();
        assert_eq!(devices.len(), 64);
        let named = |name: &str| devices.iter().find(|interrupt| interrupt.device == name);
        let queue = named("mlx5_comp63@pci:0000:81:00.0").unwrap();
        assert_eq!(queue.per_cpu.len(), 128);
        assert_eq!((queue.per_cpu[5], queue.per_cpu[127]), (0, testing::count(127, 63)));
    }
}
