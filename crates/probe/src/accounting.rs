//! How the kernel accounts CPU time, from its build configuration.
//!
//! `/proc/config.gz` (CONFIG_IKCONFIG_PROC), `/boot/config-RELEASE` or
//! `/lib/modules/RELEASE/config`, whichever can be read first.

use crate::kernel_file::unreadable;
use crate::scan::{self, ParseError};
use flate2::read::GzDecoder;
use model::facts::{CpuAccounting, Unreadable};
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

/// A configuration is about 300 kB; a file that unpacks to more than this is not one.
const CONFIG_BYTES_MAX: u64 = 8 << 20;

/// The options that decide.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Options {
    /// CONFIG_TICK_CPU_ACCOUNTING.
    pub tick: bool,
    /// CONFIG_VIRT_CPU_ACCOUNTING_NATIVE: every transition is measured.
    pub native: bool,
    /// CONFIG_VIRT_CPU_ACCOUNTING_GEN: measured on the CPUs of `nohz_full=` only.
    pub generic: bool,
    /// CONFIG_IRQ_TIME_ACCOUNTING.
    pub irq_time: bool,
}

/// Finds the options in a configuration.
pub fn parse(bytes: &[u8]) -> Result<Options, ParseError> {
    let mut options = Options::default();
    for line in scan::lines(bytes) {
        match line {
            b"CONFIG_TICK_CPU_ACCOUNTING=y" => options.tick = true,
            b"CONFIG_VIRT_CPU_ACCOUNTING_NATIVE=y" => options.native = true,
            b"CONFIG_VIRT_CPU_ACCOUNTING_GEN=y" => options.generic = true,
            b"CONFIG_IRQ_TIME_ACCOUNTING=y" => options.irq_time = true,
            _ => {}
        }
    }
    // Every kernel has one of the first three, so without them this is not a configuration.
    if options.tick || options.native || options.generic {
        Ok(options)
    } else {
        Err(ParseError::new("a kernel configuration", bytes))
    }
}

/// Unpacks a configuration as `/proc/config.gz` has it.
pub fn unpack(bytes: &[u8]) -> Result<Vec<u8>, ParseError> {
    let mut unpacked = Vec::new();
    match GzDecoder::new(bytes).take(CONFIG_BYTES_MAX).read_to_end(&mut unpacked) {
        Ok(_) => Ok(unpacked),
        Err(_) => Err(ParseError::new("gzip data", bytes)),
    }
}

/// Whether any CPU runs without ticks while busy, by the boot parameter `nohz_full=`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tickless {
    /// No CPU.
    Never,
    /// At least one.
    SomeCpus,
}

/// The mode that the options lead to.
pub fn mode(options: Options, tickless: Tickless) -> CpuAccounting {
    let is_precise = options.native || options.generic && tickless == Tickless::SomeCpus;
    match (is_precise, options.irq_time) {
        (true, _) => CpuAccounting::Precise,
        (false, true) => CpuAccounting::TickWithIrqTime,
        (false, false) => CpuAccounting::Tick,
    }
}

/// The mode of this kernel, or why it is not known.
pub fn read(release: &str) -> Result<CpuAccounting, Unreadable> {
    let packed = Path::new("/proc/config.gz");
    let options = match fs::read(packed) {
        Ok(bytes) => {
            let options = unpack(&bytes).and_then(|config| parse(&config));
            options.map_err(|why| unreadable(packed, why))?
        }
        Err(not_packed) => {
            let paths =
                [format!("/boot/config-{release}"), format!("/lib/modules/{release}/config")];
            let found = paths.iter().map(PathBuf::from).find_map(|path| {
                let bytes = fs::read(&path).ok()?;
                Some(parse(&bytes).map_err(|why| unreadable(&path, why)))
            });
            // None of the three can be read; the error names the first.
            found.unwrap_or_else(|| Err(unreadable(packed, not_packed)))?
        }
    };
    Ok(mode(options, tickless()))
}

/// The file holds a CPU list, a bare newline, or `(null)` on kernels that print it so.
fn tickless() -> Tickless {
    let list = fs::read("/sys/devices/system/cpu/nohz_full").unwrap_or_default();
    match scan::cpu_list(&list) {
        Ok(cpus) if !cpus.is_empty() => Tickless::SomeCpus,
        _ => Tickless::Never,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::fixture;

    #[test]
    fn a_kernel_that_samples_at_the_tick() {
        let config = unpack(&fixture("linux-6.18-vm/config.gz")).unwrap();
        let options = parse(&config).unwrap();
        assert_eq!(options, Options { tick: true, ..Options::default() });
        assert_eq!(mode(options, Tickless::Never), CpuAccounting::Tick);
    }

    #[test]
    fn a_distribution_that_could_be_tickless() {
        let options = parse(&fixture("linux-6.8/config")).unwrap();
        assert_eq!(options, Options { generic: true, irq_time: true, ..Options::default() });
        assert_eq!(mode(options, Tickless::Never), CpuAccounting::TickWithIrqTime);
        assert_eq!(mode(options, Tickless::SomeCpus), CpuAccounting::Precise);
    }

    #[test]
    fn what_is_no_configuration_is_refused() {
        assert!(parse(b"").is_err());
        assert!(parse(b"# CONFIG_TICK_CPU_ACCOUNTING is not set\n").is_err());
        assert!(unpack(b"plain text").is_err());
        let packed = fixture("linux-6.18-vm/config.gz");
        assert!(unpack(&packed[..packed.len() / 2]).is_err());
    }
}
