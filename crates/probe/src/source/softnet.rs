//! `/proc/net/softnet_stat`: the receive path of each CPU.
//!
//! One line of hexadecimal words per online CPU: 1 packets processed, 2 dropped because the
//! backlog was full, 3 times a poll ended with work left, 10 wake-ups sent to other CPUs by
//! receive packet steering, 11 dropped by the flow limit, 13 the CPU. Kernel:
//! `net/core/net-procfs.c`, `softnet_seq_show`.
//!
//! Caveats. Every counter is 32 bits and wraps: at 4 M packets/s in 18 minutes. `received_rps`
//! counts interrupts, not packets. Offline CPUs have no line, so the line number is not the CPU;
//! kernels before 5.10 do not print the CPU, there the n-th line is the n-th *online* CPU. Kernels
//! before 2.6.35 lack word 10 and before 3.11 word 11: they lack the mechanisms too, so zero is
//! true. Host-wide, also inside a network namespace.

use super::{Round, Scope, Source};
use crate::kernel_file::KernelFile;
use crate::scan::{self, ParseError};
use model::facts::Unreadable;
use model::metric::Declaration;
use model::reading::{Data, Softnet};
use model::unit::Unit;

/// Whether the kernel prints which CPU a line is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Numbering {
    /// `Softnet::cpu` is the CPU.
    Printed,
    /// `Softnet::cpu` is the place of the line among the online CPUs, from 0.
    ByLine,
}

/// The lines of the file, and whether their CPU numbers can be used as they are.
pub fn parse(bytes: &[u8]) -> Result<(Vec<Softnet>, Numbering), ParseError> {
    let mut numbering = Numbering::Printed;
    let mut rows = Vec::new();
    for (index, line) in scan::lines(bytes).enumerate() {
        let (mut row, cpu) = parse_line(line)?;
        row.cpu = cpu.unwrap_or_else(|| {
            numbering = Numbering::ByLine;
            index as u32
        });
        rows.push(row);
    }
    if rows.is_empty() {
        return Err(ParseError::new("one line of hexadecimal words per CPU", bytes));
    }
    Ok((rows, numbering))
}

fn parse_line(line: &[u8]) -> Result<(Softnet, Option<u32>), ParseError> {
    let error = || ParseError::new("at least nine hexadecimal words", line);
    let mut words = [None; 13];
    for (slot, word) in words.iter_mut().zip(scan::words(line)) {
        *slot = Some(scan::hex32(word).ok_or_else(error)?);
    }
    // All kernels print at least nine words; fewer is a cut line.
    words[8].ok_or_else(error)?;
    let row = Softnet {
        cpu: 0,
        processed: words[0].unwrap_or(0),
        dropped: words[1].unwrap_or(0),
        time_squeeze: words[2].unwrap_or(0),
        received_rps: words[9].unwrap_or(0),
        flow_limit: words[10].unwrap_or(0),
    };
    Ok((row, words[12]))
}

/// Puts the n-th online CPU in place of n.
fn renumber(rows: &mut [Softnet], online: &[u32]) -> Result<(), ParseError> {
    if rows.len() != online.len() {
        return Err(ParseError::new("as many lines as CPUs online", b"another number of lines"));
    }
    for (row, &cpu) in rows.iter_mut().zip(online) {
        row.cpu = cpu;
    }
    Ok(())
}

/// What the figures are.
pub(super) fn declared() -> Declaration {
    Declaration::new("softnet", "/proc/net/softnet_stat")
        .over("cpu")
        .counter32("processed", Unit::Count, "Packets processed; 32 bits wide.")
        .counter32("dropped", Unit::Count, "Packets dropped, backlog full; 32 bits wide.")
        .counter32("time_squeeze", Unit::Count, "Polls that ended with work left; 32 bits wide.")
        .counter32(
            "received_rps",
            Unit::Count,
            "Wake-ups by receive packet steering; 32 bits wide.",
        )
        .counter32("flow_limit", Unit::Count, "Packets dropped by the flow limit; 32 bits wide.")
}

struct SoftnetStat {
    file: KernelFile,
    online: KernelFile,
}

pub(super) fn open(scope: &Scope) -> Option<Box<dyn Source>> {
    Some(Box::new(SoftnetStat {
        file: KernelFile::records(scope.root.path("/proc/net/softnet_stat")),
        online: KernelFile::one_piece(scope.root.path("/sys/devices/system/cpu/online")),
    }))
}

impl Source for SoftnetStat {
    fn read(&mut self, _round: &Round<'_>) -> Result<Data, Unreadable> {
        let (mut rows, numbering) = self.file.parse(parse)?;
        if numbering == Numbering::ByLine {
            let online = self.online.parse(scan::cpu_list)?;
            renumber(&mut rows, &online).map_err(|why| self.file.unreadable(why))?;
        }
        Ok(Data::Softnet(rows))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{self, fixture};

    #[test]
    fn the_cpu_is_the_thirteenth_word() {
        let (rows, numbering) = parse(&fixture("linux-6.18-vm/softnet_stat")).unwrap();
        assert_eq!(numbering, Numbering::Printed);
        let first = Softnet { cpu: 0, processed: 0x00f3_4b3f, ..Softnet::default() };
        let second = Softnet { cpu: 1, processed: 0x00ef_de25, ..Softnet::default() };
        assert_eq!(rows, [first, second]);
    }

    #[test]
    fn an_older_kernel_does_not_print_the_cpu() {
        let (mut rows, numbering) = parse(&fixture("linux-4.19/softnet_stat")).unwrap();
        assert_eq!(numbering, Numbering::ByLine);
        renumber(&mut rows, &[0, 1, 3, 4]).unwrap();
        let expected = Softnet {
            cpu: 3,
            processed: 0xffff_fff0,
            dropped: 0x2a,
            time_squeeze: 0x11,
            received_rps: 0x5,
            flow_limit: 0x3,
        };
        assert_eq!(rows[2], expected);
        assert!(renumber(&mut rows, &[0, 1, 2]).is_err());
    }

    #[test]
    fn the_oldest_kernels_lack_steering() {
        let (rows, _) = parse(&fixture("linux-2.6.32/softnet_stat")).unwrap();
        assert_eq!((rows[1].processed, rows[1].time_squeeze), (0x1a2b3c, 9));
        assert_eq!((rows[1].received_rps, rows[1].flow_limit), (0, 0));
    }

    #[test]
    fn a_large_host_with_a_cpu_offline() {
        let (rows, numbering) = parse(testing::softnet_text(128, &[3]).as_bytes()).unwrap();
        assert_eq!((rows.len(), numbering), (127, Numbering::Printed));
        assert_eq!((rows[3].cpu, rows[126].cpu), (4, 127));
        assert_eq!(u64::from(rows[3].processed), testing::count(4, 0));
    }

    #[test]
    fn anything_else_is_refused() {
        for bytes in [&b""[..], b"00000001 00000002\n", b"zz 0 0 0 0 0 0 0 0 0 0\n"] {
            assert!(parse(bytes).is_err());
        }
    }
}
