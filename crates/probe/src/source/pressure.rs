//! `/proc/pressure/*`: time lost because tasks waited for a resource.
//!
//! `some`: at least one task waited; `full`: all that could run did. Kept are the `total=`
//! counters, microseconds since boot, as `cpu.some` and so on. Kernel: `kernel/sched/psi.c`,
//! `psi_show`.
//!
//! Caveats. The averages lag and are left out. System-wide `cpu.full` is always 0. `irq` exists
//! only with CONFIG_IRQ_TIME_ACCOUNTING and has no `some`. The whole folder is missing when the
//! kernel was booted without `psi=1` and built so. Reading makes the kernel sum over all CPUs,
//! hence the slow cadence.

use super::{Round, Scope, Source};
use crate::kernel_file::{KernelFile, is_gone};
use crate::scan::{self, ParseError};
use model::facts::Unreadable;
use model::metric::Declaration;
use model::reading::{Data, Values};
use model::unit::Unit;
use std::collections::BTreeMap;

/// Total stall times of one resource, microseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Stalls {
    /// Some task waited.
    pub some_us: Option<u64>,
    /// All tasks that could run waited.
    pub full_us: Option<u64>,
}

/// The totals of one file.
pub fn parse(bytes: &[u8]) -> Result<Stalls, ParseError> {
    let mut stalls = Stalls::default();
    for line in scan::lines(bytes) {
        let error = || ParseError::new("'some' or 'full' with a total=", line);
        let mut words = scan::words(line);
        let kind = words.next();
        let total = words.find_map(|word| word.strip_prefix(b"total="));
        let total_us = Some(total.and_then(scan::number).ok_or_else(error)?);
        match kind {
            Some(b"some") => stalls.some_us = total_us,
            Some(b"full") => stalls.full_us = total_us,
            _ => return Err(error()),
        }
    }
    if stalls == Stalls::default() {
        return Err(ParseError::new("a line 'some' or 'full'", bytes));
    }
    Ok(stalls)
}

/// What the figures are.
pub(super) fn declared() -> Declaration {
    Declaration::new(Values::PRESSURE, "/proc/pressure/*").counter(
        "{resource}.{kind}",
        Unit::Us,
        "Time that tasks stalled for want of a resource.",
    )
}

struct Pressure {
    files: [(&'static str, KernelFile); 4],
}

pub(super) fn open(scope: &Scope) -> Option<Box<dyn Source>> {
    let files = ["cpu", "memory", "io", "irq"]
        .map(|resource| (resource, scope.root.path(format!("/proc/pressure/{resource}"))))
        .map(|(resource, path)| (resource, KernelFile::one_piece(path)));
    Some(Box::new(Pressure { files }))
}

impl Source for Pressure {
    fn read(&mut self, _round: &Round<'_>) -> Result<Data, Unreadable> {
        let mut totals = BTreeMap::new();
        for (resource, file) in &mut self.files {
            let stalls = match file.read(parse) {
                Ok(stalls) => stalls.map_err(|why| file.unreadable(why))?,
                // Only cpu is always there when anything is.
                Err(why) if is_gone(&why) && *resource != "cpu" => continue,
                // irq can exist and refuse reads where interrupt time is not measured after all.
                Err(_) if *resource == "irq" => continue,
                Err(why) => return Err(file.unreadable(why)),
            };
            let both = [("some", stalls.some_us), ("full", stalls.full_us)];
            for (kind, total_us) in both {
                totals.extend(total_us.map(|total_us| (format!("{resource}.{kind}"), total_us)));
            }
        }
        Ok(Data::values(Values::PRESSURE, totals))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::fixture;

    #[test]
    fn totals_not_averages() {
        let cpu = parse(&fixture("linux-6.18-vm/pressure_cpu")).unwrap();
        assert_eq!(cpu, Stalls { some_us: Some(37_688_507), full_us: Some(0) });
        let irq = parse(&fixture("linux-6.8/pressure_irq")).unwrap();
        assert_eq!(irq, Stalls { some_us: None, full_us: Some(81_225_019) });
        let old = parse(&fixture("linux-4.20/pressure_cpu")).unwrap();
        assert_eq!(old, Stalls { some_us: Some(5_173_301), full_us: None });
    }

    #[test]
    fn anything_else_is_refused() {
        for text in ["", "some avg10=0.00\n", "none total=1\n", "some total=x\n"] {
            assert!(parse(text.as_bytes()).is_err(), "{text}");
        }
    }
}
