//! `/sys/devices/system/cpu/cpuN/{cpufreq,thermal_throttle}`: clock of every CPU, and how often it
//! was throttled for heat.
//!
//! `scaling_cur_freq` is the clock over the last moments where the processor counts its cycles, and
//! what was asked of the driver elsewhere (`drivers/cpufreq/cpufreq.c`, `show_scaling_cur_freq`);
//! `core_throttle_count` counts since boot (`arch/x86/kernel/cpu/mce/therm_throt.c`).
//!
//! Caveats. Idle CPUs report a low clock, which says nothing about their speed. Virtual machines
//! mostly have neither, and then there is no source.

use super::{Round, Scope, Source};
use crate::kernel_file::KernelFile;
use crate::process;
use crate::scan::{self, ParseError};
use model::facts::Unreadable;
use model::metric::Declaration;
use model::reading::{CpuClock, Data};
use model::unit::Unit;
use std::path::Path;

/// Parses a file that holds one number; `<unknown>` is none.
pub fn parse(bytes: &[u8]) -> Result<Option<u64>, ParseError> {
    match bytes.trim_ascii() {
        b"<unknown>" => Ok(None),
        word => {
            let number = scan::number(word).ok_or_else(|| ParseError::new("a number", bytes))?;
            Ok(Some(number))
        }
    }
}

/// What the figures are.
pub(super) fn declared() -> Declaration {
    Declaration::new("cpu_clocks", "/sys/devices/system/cpu/cpuN/cpufreq")
        .over("cpu")
        .mean("now_khz", Unit::Khz, "Clock of a CPU.")
        .mean("max_khz", Unit::Khz, "Highest clock of a CPU.")
        .counter("throttles", Unit::Count, "Times a core was throttled for heat.")
}

/// The files of one CPU, and what never changes.
struct Cpu {
    cpu: u32,
    max_khz: Option<u64>,
    now: Option<KernelFile>,
    throttles: Option<KernelFile>,
}

impl Cpu {
    /// Nothing when the kernel reports nothing about this CPU.
    fn of(cpus: &Path, cpu: u32) -> Option<Self> {
        let folder = cpus.join(format!("cpu{cpu}"));
        let file = |name| Some(folder.join(name)).filter(|path| path.exists());
        let now = file("cpufreq/scaling_cur_freq").map(KernelFile::one_piece);
        let throttles = file("thermal_throttle/core_throttle_count").map(KernelFile::one_piece);
        let max = process::read(&folder.join("cpufreq/cpuinfo_max_freq"), parse);
        let is_told = now.is_some() || throttles.is_some();
        is_told.then(|| Self { cpu, max_khz: max.ok().flatten(), now, throttles })
    }

    /// What cannot be read, because the CPU went offline, is absent.
    fn read(&mut self) -> CpuClock {
        let number = |file: &mut Option<KernelFile>| file.as_mut()?.parse(parse).ok()?;
        CpuClock {
            cpu: self.cpu,
            now_khz: number(&mut self.now),
            max_khz: self.max_khz,
            throttles: number(&mut self.throttles),
        }
    }
}

struct CpuClocks {
    cpus: Vec<Cpu>,
}

pub(super) fn open(scope: &Scope) -> Option<Box<dyn Source>> {
    let folder = scope.root.path("/sys/devices/system/cpu");
    let online = process::read(&folder.join("online"), scan::cpu_list).ok()?;
    let cpus: Vec<Cpu> = online.into_iter().filter_map(|cpu| Cpu::of(&folder, cpu)).collect();
    (!cpus.is_empty()).then(|| Box::new(CpuClocks { cpus }) as Box<dyn Source>)
}

impl Source for CpuClocks {
    fn read(&mut self, _round: &Round<'_>) -> Result<Data, Unreadable> {
        Ok(Data::CpuClocks(self.cpus.iter_mut().map(Cpu::read).collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Folder;
    use model::root::Root;

    #[test]
    fn numbers_and_what_is_not_known() {
        assert_eq!(parse(b"2100000\n"), Ok(Some(2_100_000)));
        assert_eq!(parse(b"<unknown>\n"), Ok(None));
        assert!(parse(b"").is_err());
    }

    #[test]
    fn what_a_host_does_not_tell_is_absent() {
        let host = Folder::new("cpu-clocks");
        host.write("sys/devices/system/cpu/online", "0-2\n");
        let scope = Scope { root: Root::below(host.path()), ..Scope::default() };
        assert!(open(&scope).is_none());
        host.write("sys/devices/system/cpu/cpu1/cpufreq/scaling_cur_freq", "2100000\n");
        host.write("sys/devices/system/cpu/cpu1/cpufreq/cpuinfo_max_freq", "3500000\n");
        host.write("sys/devices/system/cpu/cpu2/thermal_throttle/core_throttle_count", "7\n");
        let data = open(&scope).unwrap().read(&Round { due_ns: 0, server: None }).unwrap();
        let first = CpuClock {
            cpu: 1,
            now_khz: Some(2_100_000),
            max_khz: Some(3_500_000),
            throttles: None,
        };
        let second = CpuClock { cpu: 2, throttles: Some(7), ..CpuClock::default() };
        assert_eq!(data, Data::CpuClocks(vec![first, second]));
    }
}
