//! `/proc/stat`: CPU time by state, per CPU.
//!
//! Every `cpuN` line counts time since boot in ten states, in units of USER_HZ (10 ms on Linux
//! whatever the kernel's own HZ). Kernel: `fs/proc/stat.c`, `show_stat`.
//!
//! Caveats. Without CONFIG_IRQ_TIME_ACCOUNTING the states are samples taken at the timer tick, so a
//! state that is in phase with the tick is counted wrongly and soft interrupts are charged to the
//! task that they interrupted (`kernel/sched/cputime.c`, `account_process_tick`); the mode is in
//! `HostFacts::cpu_accounting`. `iowait` and `idle` may even run backwards on a tickless kernel.
//! `guest` and `guest_nice` are already inside `user` and `nice` and are left out. Host-wide, also
//! inside a network namespace or a container.

use super::{Round, Scope, Source};
use crate::kernel_file::KernelFile;
use crate::scan::{self, ParseError};
use model::facts::Unreadable;
use model::metric::Declaration;
use model::reading::{CpuTimes, Data};
use model::unit::Unit;

/// One entry per `cpuN` line; the sum line `cpu` is left out.
pub fn parse(bytes: &[u8]) -> Result<Vec<CpuTimes>, ParseError> {
    let lines = scan::lines(bytes).take_while(|line| line.starts_with(b"cpu"));
    let cpus: Vec<CpuTimes> = lines
        .filter(|line| line.get(3).is_some_and(u8::is_ascii_digit))
        .map(parse_line)
        .collect::<Result<_, _>>()?;
    if cpus.is_empty() {
        return Err(ParseError::new("lines such as 'cpu0 1 2 3 4 5 6 7 8'", bytes));
    }
    Ok(cpus)
}

fn parse_line(line: &[u8]) -> Result<CpuTimes, ParseError> {
    let error = || ParseError::new("cpuN and at least eight counts", line);
    let mut words = scan::words(line);
    let label = words.next().unwrap_or_default();
    let cpu = label.strip_prefix(b"cpu").and_then(scan::number).ok_or_else(error)?;
    let mut next = || words.next().and_then(scan::number).ok_or_else(error);
    Ok(CpuTimes {
        cpu: u32::try_from(cpu).map_err(|_| error())?,
        user: next()?,
        nice: next()?,
        system: next()?,
        idle: next()?,
        iowait: next()?,
        irq: next()?,
        softirq: next()?,
        steal: next()?,
    })
}

/// What the figures are.
pub(super) fn declared() -> Declaration {
    Declaration::new("cpus", "/proc/stat").exposed_as("cpu").over("cpu").counter(
        "{state}",
        Unit::Ticks,
        "CPU time by state since boot, host-wide.",
    )
}

struct CpuStat {
    file: KernelFile,
}

pub(super) fn open(scope: &Scope) -> Option<Box<dyn Source>> {
    Some(Box::new(CpuStat { file: KernelFile::one_piece(scope.root.path("/proc/stat")) }))
}

impl Source for CpuStat {
    fn read(&mut self, _round: &Round<'_>) -> Result<Data, Unreadable> {
        Ok(Data::Cpus(self.file.parse(parse)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{self, fixture};

    #[test]
    fn every_state_of_every_cpu() {
        let cpus = parse(&fixture("linux-6.18-vm/stat")).unwrap();
        assert_eq!(cpus.len(), 2);
        let expected = CpuTimes {
            cpu: 1,
            user: 4899,
            nice: 23816,
            system: 7408,
            idle: 134307,
            iowait: 5576,
            irq: 0,
            softirq: 2333,
            steal: 25,
        };
        assert_eq!(cpus[1], expected);
        assert_eq!(cpus[1].total(), 178364);
    }

    #[test]
    fn a_large_host_with_a_cpu_offline() {
        let cpus = parse(testing::stat_text(128, &[17]).as_bytes()).unwrap();
        assert_eq!(cpus.len(), 127);
        assert_eq!((cpus[16].cpu, cpus[17].cpu, cpus[126].cpu), (16, 18, 127));
        assert_eq!(cpus[17].user, testing::count(18, 0));
        assert_eq!(cpus[17].steal, testing::count(18, 7));
    }

    #[test]
    fn anything_else_is_refused() {
        for bytes in [&b""[..], b"cpu  1 2 3 4 5 6 7 8\n", b"cpu0 1 2 3\n", b"cpu0 1 2 3 4 5 6 7 x"]
        {
            assert!(parse(bytes).is_err());
        }
    }
}
