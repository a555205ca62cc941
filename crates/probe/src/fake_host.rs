//! Files of a large host that does not exist, for tests and for measuring what reading costs.
//!
//! Reading such a file copies it from memory, where the kernel would write its text anew each time:
//! a measurement on them shows our part of the cost, not the kernel's.

use std::fmt::Write;
use std::fs;
use std::io;
use std::path::Path;

/// How large the host is.
#[derive(Debug, Clone, Copy)]
pub struct Size {
    /// CPUs, all online.
    pub cpus: usize,
    /// Queues of its network device, each with an interrupt.
    pub queues: usize,
    /// Device interrupts in addition to those.
    pub other_interrupts: usize,
    /// Threads of the server.
    pub threads: u32,
}

/// The process of the server on the host.
pub const SERVER_PID: u32 = 100;

/// Writes the files below `folder`.
pub fn write_host(folder: &Path, size: Size) -> io::Result<()> {
    let write = |file: &str, text: &str| {
        let path = folder.join(file);
        fs::create_dir_all(path.parent().unwrap_or(folder))?;
        fs::write(path, text)
    };
    let Size { cpus, queues, other_interrupts, threads } = size;
    write("proc/stat", &stat_text(cpus, &[]))?;
    write("proc/net/softnet_stat", &softnet_text(cpus, &[]))?;
    write("proc/softirqs", &softirqs_text(cpus))?;
    write("proc/interrupts", &interrupts_text(cpus, queues + other_interrupts, &[]))?;
    for resource in ["cpu", "memory", "io"] {
        let line = "avg10=0.00 avg60=0.00 avg300=0.00 total=37688507\n";
        write(&format!("proc/pressure/{resource}"), &format!("some {line}full {line}"))?;
    }
    write("proc/vmstat", "nr_free_pages 1\npgscan_direct 2\npgsteal_direct 2\n")?;
    write("proc/diskstats", "")?;
    for cpu in 0..cpus {
        let folder = format!("sys/devices/system/cpu/cpu{cpu}");
        write(&format!("{folder}/cpufreq/scaling_cur_freq"), "2100000\n")?;
        write(&format!("{folder}/cpufreq/cpuinfo_max_freq"), "3500000\n")?;
        write(&format!("{folder}/thermal_throttle/core_throttle_count"), "0\n")?;
    }
    write("sys/devices/system/cpu/online", &format!("0-{}\n", cpus - 1))?;
    for node in 0..2 {
        let pages = "numa_hit 1\nnuma_miss 2\nnuma_foreign 3\nother_node 4\n";
        write(&format!("sys/devices/system/node/node{node}/numastat"), pages)?;
    }
    write("sys/devices/system/node/has_memory", "0-1\n")?;
    write_server(&write, threads)
}

fn write_server(write: &impl Fn(&str, &str) -> io::Result<()>, threads: u32) -> io::Result<()> {
    let process = format!("proc/{SERVER_PID}");
    write("proc/self/mountinfo", "30 24 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n")?;
    write(&format!("{process}/cgroup"), "0::/bench\n")?;
    for group in ["", "/bench"] {
        let stat = "usage_usec 5\nnr_periods 9\nnr_throttled 1\nthrottled_usec 7\n";
        write(&format!("sys/fs/cgroup{group}/cpu.stat"), stat)?;
    }
    write("sys/fs/cgroup/bench/cpu.max", "50000 100000\n")?;
    write("sys/fs/cgroup/bench/memory.current", "4096\n")?;
    write(&format!("{process}/stat"), &stat_line(SERVER_PID, threads))?;
    write(&format!("{process}/limits"), "Max open files  20000  1048576  files\n")?;
    write(&format!("{process}/fd/0"), "")?;
    for tid in SERVER_PID..SERVER_PID + threads {
        let folder = format!("{process}/task/{tid}");
        write(&format!("{folder}/stat"), &stat_line(tid, threads))?;
        write(&format!("{folder}/schedstat"), "231745902 18402117 1204\n")?;
        let call = "202 0xc000054150 0x80 0x0 0x0 0x0 0x0 0x7ffd6a3c1c98 0x47a5a3\n";
        write(&format!("{folder}/syscall"), call)?;
        write(&format!("{folder}/wchan"), "futex_do_wait")?;
    }
    write(&format!("{process}/task/{SERVER_PID}/children"), "")
}

fn stat_line(id: u32, threads: u32) -> String {
    format!(
        "{id} (worker) S 1 1 1 0 -1 4194304 2105 0 0 0 140 90 0 0 20 0 {threads} 0 9876 250 1 \
         18446744073709551615 1 1 0 0 0 0 0 0 65536 1 0 0 17 1 0 0 0 0 0 0 0 0 0 0 0 0 0\n"
    )
}

/// A count that is different for every CPU and field, so that mixed-up columns are noticed.
pub fn count(cpu: usize, field: usize) -> u64 {
    (cpu as u64 + 1) * 100_003 + field as u64 * 17
}

fn online(cpus: usize, offline: &[usize]) -> impl Iterator<Item = usize> + Clone {
    (0..cpus).filter(move |cpu| !offline.contains(cpu))
}

/// `/proc/stat` of a host with this many CPUs.
pub fn stat_text(cpus: usize, offline: &[usize]) -> String {
    let mut text = "cpu  1 2 3 4 5 6 7 8 9 10\n".to_string();
    for cpu in online(cpus, offline) {
        let states: Vec<String> = (0..10).map(|state| count(cpu, state).to_string()).collect();
        writeln!(text, "cpu{cpu} {}", states.join(" ")).unwrap();
    }
    text + "intr 2297014 0 0 0\nctxt 5\nbtime 1700000000\nprocesses 9\nsoftirq 1 2 3\n"
}

/// `/proc/net/softnet_stat` of a kernel that prints the CPU.
pub fn softnet_text(cpus: usize, offline: &[usize]) -> String {
    let mut text = String::new();
    for cpu in online(cpus, offline) {
        write!(text, "{:08x} {:08x} {:08x}", count(cpu, 0), cpu, 0).unwrap();
        write!(text, " {:08x}", 0).unwrap();
        text += &" 00000000".repeat(5);
        writeln!(text, " {:08x} 00000000 00000000 {cpu:08x} 00000000 00000000", count(cpu, 9))
            .unwrap();
    }
    text
}

/// `/proc/softirqs` of a host with this many CPUs.
pub fn softirqs_text(cpus: usize) -> String {
    let kinds = ["HI", "TIMER", "NET_TX", "NET_RX", "BLOCK", "IRQ_POLL", "TASKLET", "SCHED"];
    let mut text = " ".repeat(20);
    (0..cpus).for_each(|cpu| write!(text, "{:<11}", format!("CPU{cpu}")).unwrap());
    for (field, kind) in kinds.iter().enumerate() {
        write!(text, "\n{kind:>12}:").unwrap();
        (0..cpus).for_each(|cpu| write!(text, " {:>10}", count(cpu, field)).unwrap());
    }
    text + "\n"
}

/// `/proc/interrupts` of a host with a network device of this many queues.
pub fn interrupts_text(cpus: usize, queues: usize, offline: &[usize]) -> String {
    let online = online(cpus, offline);
    let mut text = " ".repeat(12);
    online.clone().for_each(|cpu| write!(text, "{:<11}", format!("CPU{cpu}")).unwrap());
    for queue in 0..queues {
        write!(text, "\n{:>4}:", 120 + queue).unwrap();
        online.clone().for_each(|cpu| write!(text, " {:>10}", count(cpu, queue)).unwrap());
        write!(text, " IR-PCI-MSIX-0000:81:00.0 {queue}-edge      mlx5_comp{queue}").unwrap();
        text += "@pci:0000:81:00.0";
    }
    text += "\n NMI:";
    online.clone().for_each(|cpu| write!(text, " {:>10}", count(cpu, 0)).unwrap());
    text + "   Non-maskable interrupts\n ERR:          0\n"
}
