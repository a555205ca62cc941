//! `/proc/interrupts`: device interrupts, per CPU.
//!
//! A header of online CPUs, then a line per interrupt: number, counts, controller, trigger, names
//! of the handlers. Lines with a name instead of a number (`LOC`, `RES`, `CAL`, ...) belong to the
//! architecture and are left out. Which CPUs may serve an interrupt is in a file of its own.
//! Kernel: `kernel/irq/proc.c`, `show_interrupts`.

use crate::scan::{self, ParseError, Words};
use model::reading::Interrupt;

/// The device interrupts, in the order of the file. CPUs that are offline have zeros.
pub fn parse(bytes: &[u8]) -> Result<Vec<Interrupt>, ParseError> {
    Ok(parse_table(bytes)?.1)
}

/// The CPUs that are online, and the device interrupts, in the order of the file.
pub fn parse_table(bytes: &[u8]) -> Result<(Vec<usize>, Vec<Interrupt>), ParseError> {
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
        let (irq, device) = (scan::text(irq), device(words));
        devices.push(Interrupt { irq, device, per_cpu, allowed: None });
    }
    Ok((columns, devices))
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::fixture;

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
    fn anything_else_is_refused() {
        for bytes in [&b""[..], b" 24: 1 2\n", b"CPU0 CPU1\n 24: 1\n", b"CPU0\n 24 1 x\n"] {
            assert!(parse(bytes).is_err());
        }
    }
}
