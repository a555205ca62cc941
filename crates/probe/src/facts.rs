//! The facts about this host.

#![allow(unsafe_code, reason = "the length of a clock tick")]

use crate::kernel_file::unreadable;
use crate::nic::Speeds;
use crate::process;
use crate::scan::{self, ParseError};
use crate::source::{REGISTRY, Round, Scope, cgroup};
use crate::{accounting, limits, namespace, nic, sysctl};
use model::facts::{CpuAccounting, HostFacts, Unreadable};
use model::root::Root;
use model::units::NS_PER_S;
use std::fs;
use std::path::Path;

/// Collects facts, and what could not be read.
#[derive(Default)]
struct Collector {
    unreadable: Vec<Unreadable>,
}

impl Collector {
    /// The value, or nothing and an entry about why.
    fn keep<T>(&mut self, result: Result<T, Unreadable>) -> Option<T> {
        result.map_err(|why| self.unreadable.push(why)).ok()
    }

    fn line(&mut self, path: &str) -> Option<String> {
        self.keep(process::read(Path::new(path), |bytes| Ok(scan::text(bytes.trim_ascii()))))
    }
}

/// What this host is, with a list of what could not be read. Sources of readings are tried too, so
/// that a source which cannot work here is known before load runs.
pub fn host_facts() -> HostFacts {
    let pid = std::process::id();
    let mut collector = Collector::default();
    let kernel = collector.line("/proc/sys/kernel/osrelease").unwrap_or_default();
    let cpu = collector.keep(process::read(Path::new("/proc/cpuinfo"), parse_cpuinfo));
    let cpu = cpu.unwrap_or_default();
    let speeds = speeds(cpu.virtual_machine);
    let cpu_accounting = collector.keep(accounting::read(&kernel));
    let (sysctls, unreadable_sysctls) = sysctl::read_all();
    collector.unreadable.extend(unreadable_sysctls);
    let online = Path::new("/sys/devices/system/cpu/online");
    let clock_source = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
    let open_files_limit = collector.keep(limits::open_files(&Root::default(), pid));
    HostFacts {
        hostname: collector.line("/proc/sys/kernel/hostname").unwrap_or_default(),
        kernel,
        arch: std::env::consts::ARCH.to_string(),
        machine: machine(&Root::default()),
        cpu_model: cpu.model,
        cpus_online: collector.keep(process::read(online, scan::cpu_list)).unwrap_or_default(),
        cpus_allowed: collector.keep(process::cpus_allowed(pid)).unwrap_or_default(),
        memory_bytes: collector.keep(process::read(Path::new("/proc/meminfo"), parse_memory)),
        clock_source: collector.line(clock_source),
        virtual_machine: cpu.virtual_machine,
        cpu_accounting: cpu_accounting.unwrap_or(CpuAccounting::Unknown),
        clock_tick_ns: clock_tick_ns(),
        quotas: collector.keep(cgroup::quotas(pid)).unwrap_or_default(),
        nics: collector.keep(nic::read_all(speeds)).unwrap_or_default(),
        sysctls,
        open_files_limit: open_files_limit.unwrap_or_default(),
        tuned: None,
        may_watch_inside: false,
        unreadable: with_sources(collector.unreadable),
    }
}

/// What the firmware calls the machine (SMBIOS, Documentation/ABI/testing/sysfs-firmware-dmi). Many
/// machines have none, or fields that say nothing, so nothing is missed without it.
fn machine(root: &Root) -> Option<String> {
    let field = |name: &str| {
        let text = fs::read_to_string(root.path(format!("/sys/class/dmi/id/{name}"))).ok()?;
        let text = text.trim().to_string();
        (!text.is_empty()).then_some(text)
    };
    let product = field("product_name")?;
    let vendor = field("sys_vendor").filter(|vendor| !product.starts_with(vendor.as_str()));
    Some(vendor.into_iter().chain([product]).collect::<Vec<_>>().join(" "))
}

fn speeds(virtual_machine: Option<bool>) -> Speeds {
    if virtual_machine == Some(false) { Speeds::Believed } else { Speeds::Doubted }
}

/// The host as seen from the network namespace of a process, when that is another: its interfaces,
/// and its own kernel parameters. Only what is missing because of the namespace is listed as
/// unreadable.
pub(crate) fn host_facts_inside(pid: u32) -> HostFacts {
    let mut facts = HostFacts { nics: Vec::new(), unreadable: Vec::new(), ..host_facts() };
    let speeds = speeds(facts.virtual_machine);
    let seen = namespace::inside(pid, || {
        let mounted = namespace::mount_own_sys();
        let nics = mounted
            .map_err(|why| unreadable(Path::new("/sys/class/net"), why))
            .and_then(|()| nic::read_all(speeds));
        (nics, sysctl::values())
    });
    match seen {
        Ok((nics, sysctls)) => {
            // What a namespace does not have of its own belongs to the whole host.
            facts.sysctls.extend(sysctls);
            match nics {
                Ok(nics) => facts.nics = nics,
                Err(why) => facts.unreadable.push(why),
            }
        }
        Err(why) => {
            facts.sysctls.retain(|name, _| !name.starts_with("net."));
            let what = format!("interfaces and net.* of the network namespace of process {pid}");
            facts.unreadable.push(Unreadable { source: what, why: why.to_string() });
        }
    }
    facts
}

/// Adds the sources about this host that fail when read once.
fn with_sources(mut failed: Vec<Unreadable>) -> Vec<Unreadable> {
    let round = Round { due_ns: 0, server: None };
    for mut source in REGISTRY.iter().filter_map(|entry| Scope::default().open(entry)) {
        if let Err(why) = source.read(&round)
            && !failed.contains(&why)
        {
            failed.push(why);
        }
    }
    failed
}

/// What `/proc/cpuinfo` says about all CPUs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CpuInfo {
    /// Model name.
    pub model: Option<String>,
    /// Whether the processor says that a hypervisor runs it; x86 only.
    pub virtual_machine: Option<bool>,
}

/// Parses `/proc/cpuinfo`, whose keys differ between architectures.
pub fn parse_cpuinfo(bytes: &[u8]) -> Result<CpuInfo, ParseError> {
    let value = |key: &str| {
        scan::lines(bytes).find_map(|line| {
            let rest = line.strip_prefix(key.as_bytes())?.trim_ascii_start();
            Some(rest.strip_prefix(b":")?.trim_ascii())
        })
    };
    if value("processor").is_none() {
        return Err(ParseError::new("a line 'processor : 0'", bytes));
    }
    let model = value("model name").or_else(|| value("cpu model")).map(scan::text);
    let flags = value("flags").map(scan::words);
    let virtual_machine = flags.map(|mut flags| flags.any(|flag| flag == b"hypervisor"));
    Ok(CpuInfo { model, virtual_machine })
}

/// Parses the physical memory out of `/proc/meminfo`, bytes.
pub fn parse_memory(bytes: &[u8]) -> Result<u64, ParseError> {
    let line = scan::lines(bytes).find_map(|line| line.strip_prefix(b"MemTotal:"));
    let mut words = scan::words(line.unwrap_or_default());
    let kilobytes = words.next().and_then(scan::number);
    let total = kilobytes.and_then(|kilobytes| kilobytes.checked_mul(1024));
    total.ok_or_else(|| ParseError::new("a line 'MemTotal: N kB'", bytes))
}

/// Length of USER_HZ ticks, the unit of CPU times, nanoseconds.
pub fn clock_tick_ns() -> u64 {
    // SAFETY: sysconf takes no pointers.
    let ticks_per_s = unsafe { libc::sysconf(libc::_SC_CLK_TCK) };
    // Linux returns 100 and cannot fail here; 100 is also what the kernel prints with.
    NS_PER_S / u64::try_from(ticks_per_s).ok().filter(|&ticks| ticks > 0).unwrap_or(100)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_firmware_names_the_machine_where_it_has_a_product() {
        let folder = std::env::temp_dir().join(format!("ceiling-dmi-{}", std::process::id()));
        let dmi = folder.join("sys/class/dmi/id");
        fs::create_dir_all(&dmi).unwrap();
        let named = |fields: [(&str, &str); 2]| {
            fields.iter().for_each(|(name, text)| fs::write(dmi.join(name), text).unwrap());
            machine(&Root::below(&folder))
        };
        let vendor = |text| ("sys_vendor", text);
        let product = |text| ("product_name", text);
        let seen = [
            named([vendor("Amazon EC2\n"), product("c6i.8xlarge\n")]),
            named([vendor("HP\n"), product("HP Z8\n")]),
            named([vendor("\n"), product("Standard PC\n")]),
            named([vendor("QEMU\n"), product(" \n")]),
        ];
        let names = ["Amazon EC2 c6i.8xlarge", "HP Z8", "Standard PC"];
        let names = names.map(|name| Some(name.to_string()));
        assert_eq!(seen, [&names[..], &[None]].concat()[..]);
        fs::remove_dir_all(&folder).unwrap();
    }
    use crate::testing::fixture;

    #[test]
    fn cpuinfo_of_two_architectures() {
        let x86 = parse_cpuinfo(&fixture("linux-6.18-vm/cpuinfo")).unwrap();
        let expected = CpuInfo {
            model: Some("Intel(R) Xeon(R) Processor".to_string()),
            virtual_machine: Some(true),
        };
        assert_eq!(x86, expected);
        let arm = parse_cpuinfo(&fixture("linux-5.15-arm64/cpuinfo")).unwrap();
        assert_eq!(arm, CpuInfo::default());
        assert!(parse_cpuinfo(b"").is_err());
    }

    #[test]
    fn memory() {
        assert_eq!(parse_memory(b"MemTotal:       24684092 kB\n"), Ok(24_684_092 * 1024));
        assert!(parse_memory(b"MemFree: 1 kB\n").is_err());
    }

    #[test]
    fn this_host() {
        let facts = host_facts();
        assert!(!facts.kernel.is_empty() && !facts.hostname.is_empty());
        assert!(!facts.cpus_online.is_empty() && !facts.cpus_allowed.is_empty());
        assert!(facts.cpus_allowed.iter().all(|cpu| facts.cpus_online.contains(cpu)));
        assert_eq!(facts.clock_tick_ns, 10_000_000);
        assert!(facts.open_files_limit.0 > 0);
        assert!(facts.nics.iter().any(|nic| nic.name == "lo"));
        for failed in &facts.unreadable {
            eprintln!("unreadable here: {} ({})", failed.source, failed.why);
        }
    }
}
