//! `/proc/interrupts`: device interrupts, per CPU.
//!
//! A header of online CPUs, then a line per interrupt: number, counts, controller, trigger, names
//! of the handlers. Lines with a name instead of a number (`LOC`, `RES`, `CAL`, ...) belong to the
//! architecture and are left out. Kernel: `kernel/irq/proc.c`, `show_interrupts`.
//!
//! Caveats. Network drivers that poll raise few interrupts under load, so the counts tell *where*
//! a queue is served, not how much. Offline CPUs have no column. The text grows as interrupts x
//! CPUs, about 400 kB on a host with 128 CPUs and 300 interrupts, hence the slow cadence.
//! Host-wide, also inside a network namespace.

use super::{Round, Scope, Source};
use crate::interrupts::parse;
use crate::kept::{Buffer, Kept};
use model::facts::Unreadable;
use model::metric::{Declaration, Kind, Unit};
use model::reading::Data;

/// What the figures are.
pub(super) fn declared() -> Declaration {
    Declaration::new("interrupts", "/proc/interrupts").each("device").over("irq").with(
        Kind::Counter,
        "per_cpu",
        Unit::Count,
        "Device interrupts, all CPUs.",
    )
}

struct Interrupts {
    file: Kept,
    buffer: Buffer,
}

pub(super) fn open(scope: &Scope) -> Option<Box<dyn Source>> {
    Some(Box::new(Interrupts {
        file: Kept::records(scope.root.path("/proc/interrupts")),
        buffer: Buffer::new(),
    }))
}

impl Source for Interrupts {
    fn read(&mut self, _round: &Round<'_>) -> Result<Data, Unreadable> {
        Ok(Data::Interrupts(self.file.parse(&mut self.buffer, parse)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

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
