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
use crate::kept::{Buffer, Kept};
use crate::scan::{self, ParseError, Words};
use model::facts::Unreadable;
use model::metric::{Declaration, Kind, Unit};
use model::reading::{Data, Interrupt};

/// The device interrupts, in the order of the file.
pub fn parse(bytes: &[u8]) -> Result<Vec<Interrupt>, ParseError> {
    let mut lines = scan::lines(bytes);
    let columns = scan::cpu_columns(lines.next().unwrap_or_default())?;
    let mut devices = Vec::new();
    for line in lines {
        let mut words = scan::words(line);
        let label = words.next().and_then(|word| word.strip_suffix(b":"));
        let irq = label.ok_or_else(|| ParseError::new("an interrupt number", line))?;
        if scan::number(irq).is_none() {
            continue;
        }
        let per_cpu = scan::per_cpu(&mut words, &columns)?;
        devices.push(Interrupt { irq: scan::text(irq), device: device(words), per_cpu });
    }
    Ok(devices)
}

/// What follows the controller and the trigger, which kernels print in three ways:
/// `PCI-MSI 327680-edge  eth0`, `GICv3 27 Level  eth0`, and before 4.x `PCI-MSI-edge  eth0`.
fn device(mut words: Words<'_>) -> String {
    const TRIGGERS: [&[u8]; 5] = [b"-edge", b"-level", b"-fasteoi", b"-percpu", b"-event"];
    let controller = words.next().unwrap_or_default();
    if !TRIGGERS.iter().any(|trigger| controller.ends_with(trigger)) {
        words.next();
    }
    let mut ahead = words.clone();
    if matches!(ahead.next(), Some(b"Level" | b"Edge")) {
        words = ahead;
    }
    scan::text(words.rest())
}

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
    use crate::testing::{self, fixture};

    fn named<'a>(devices: &'a [Interrupt], name: &str) -> &'a Interrupt {
        devices.iter().find(|interrupt| interrupt.device == name).expect(name)
    }

    #[test]
    fn devices_only() {
        let devices = parse(&fixture("linux-6.18-vm/interrupts")).unwrap();
        assert_eq!(devices.len(), 19);
        let output = named(&devices, "virtio2-output.0");
        assert_eq!((output.irq.as_str(), &output.per_cpu[..]), ("39", &[12336, 0][..]));
        assert_eq!(named(&devices, "ttyS0").per_cpu, [0, 15]);
    }

    #[test]
    fn an_older_kernel_joins_controller_and_trigger() {
        let devices = parse(&fixture("linux-3.10/interrupts")).unwrap();
        assert_eq!(named(&devices, "eth0-TxRx-1").per_cpu, [17, 48_211_204, 0, 3]);
        assert_eq!(named(&devices, "i801_smbus, ehci_hcd:usb1").irq, "18");
        assert_eq!(devices.len(), 5);
    }

    #[test]
    fn another_architecture_spells_the_trigger_out() {
        let devices = parse(&fixture("linux-5.15-arm64/interrupts")).unwrap();
        assert_eq!(named(&devices, "ena-mgmnt@pci:0000:00:05.0").per_cpu, [0, 5, 0, 0]);
        assert_eq!(named(&devices, "eth0-Tx-Rx-0").irq, "58");
        assert_eq!(named(&devices, "arch_timer").per_cpu[2], 210_771);
    }

    #[test]
    fn a_large_host_with_a_cpu_offline() {
        let devices = parse(testing::interrupts_text(128, 64, &[5]).as_bytes()).unwrap();
        assert_eq!(devices.len(), 64);
        let queue = named(&devices, "mlx5_comp63@pci:0000:81:00.0");
        assert_eq!(queue.per_cpu.len(), 128);
        assert_eq!((queue.per_cpu[5], queue.per_cpu[127]), (0, testing::count(127, 63)));
    }

    #[test]
    fn anything_else_is_refused() {
        for bytes in [&b""[..], b" 24: 1 2\n", b"CPU0 CPU1\n 24: 1\n", b"CPU0\n 24 1 x\n"] {
            assert!(parse(bytes).is_err());
        }
    }
}
