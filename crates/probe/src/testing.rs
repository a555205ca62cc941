//! What the tests of this crate share: fixtures, made-up large hosts, and child processes.

use crate::process;
use crate::tree::Tree;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// The bytes of a file below `fixtures/`.
pub fn fixture(name: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(name);
    std::fs::read(&path).unwrap_or_else(|why| panic!("fixture {name}: {why}"))
}

/// A count that is different for every CPU and field, so that mixed-up columns are noticed.
pub fn count(cpu: usize, field: usize) -> u64 {
    (cpu as u64 + 1) * 100_003 + field as u64 * 17
}

fn online(cpus: usize, offline: &[usize]) -> impl Iterator<Item = usize> + Clone {
    (0..cpus).filter(move |cpu| !offline.contains(cpu))
}

/// `/proc/stat` of a host with so many CPUs.
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

/// `/proc/softirqs` of a host with so many CPUs.
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

/// `/proc/interrupts` of a host with a network device of so many queues.
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

/// A child process, killed when the test is over however it ends.
pub struct Child(std::process::Child);

impl Child {
    pub fn spawn(command: &mut Command) -> Self {
        Self(command.stdin(Stdio::null()).spawn().expect("spawn a child"))
    }

    pub fn id(&self) -> u32 {
        self.0.id()
    }

    /// Kills it and does not wait, so that a zombie stays.
    pub fn kill(&mut self) {
        self.0.kill().expect("kill a child");
    }

    pub fn wait_until(&self, what: &str, condition: impl Fn(&Self) -> bool) {
        let deadline = Instant::now() + Duration::from_secs(30);
        while !condition(self) {
            assert!(Instant::now() < deadline, "waited 30 s: {what}");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Waits until the tree below it has so many processes of that name.
    pub fn wait_for(&self, name: &str, count: usize) {
        self.wait_until(name, |child| {
            let tree = Tree::of(child.id());
            let names = tree.iter().flat_map(Tree::pids).map(|&pid| process::stat(pid));
            names.flatten().filter(|stat| stat.name == name).count() == count
        });
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        // Children of a shell outlive it, so the tree is ended from its leaves.
        for &pid in Tree::of(self.id()).iter().flat_map(Tree::pids).rev() {
            let mut kill = Command::new("kill");
            let _ = kill.args(["-9", &pid.to_string()]).stderr(Stdio::null()).status();
        }
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A folder of files, removed when the test is over.
pub struct Folder(PathBuf);

impl Folder {
    pub fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("probe-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("make a folder");
        Self(folder)
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    pub fn write(&self, file: &str, text: impl AsRef<[u8]>) {
        let path = self.0.join(file);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("make a folder");
        std::fs::write(path, text).expect("write a file");
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
