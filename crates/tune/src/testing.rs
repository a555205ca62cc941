//! Hosts made up of plain files, for tests.

use crate::host::Host;
use model::root::Root;
use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

/// A folder that looks like a host to [`Host::look`]; removed when dropped.
#[derive(Debug)]
pub struct MadeUp {
    folder: PathBuf,
    cpus: u32,
}

impl MadeUp {
    /// A host with so many CPUs, all possible, online and allowed.
    pub fn new(name: &str, cpus: u32) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let unique = format!("ceiling-tune-{name}-{}-{number}", std::process::id());
        let made = Self { folder: std::env::temp_dir().join(unique), cpus };
        let list = if cpus == 1 { "0".to_string() } else { format!("0-{}", cpus - 1) };
        for file in ["possible", "online", "present"] {
            made.write(&format!("/sys/devices/system/cpu/{file}"), &list);
        }
        made.write("/proc/self/status", &format!("Cpus_allowed_list:\t{list}"));
        made.write("/proc/sys/kernel/random/boot_id", "00000000-0000-4000-8000-000000000001");
        made
    }

    /// Writes a file of the host, with a line end as the kernel does.
    pub fn write(&self, path: &str, text: &str) -> &Self {
        let file = Root::below(&self.folder).path(path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, format!("{text}\n")).unwrap();
        self
    }

    /// A device with so many queues in each direction, steering off.
    pub fn device(self, name: &str, queues: u32) -> Self {
        let zero = vec!["00000000"; self.cpus.div_ceil(32) as usize].join(",");
        for queue in 0..queues {
            let rx = format!("/sys/class/net/{name}/queues/rx-{queue}");
            self.write(&format!("{rx}/rps_cpus"), &zero).write(&format!("{rx}/rps_flow_cnt"), "0");
            self.write(&format!("/sys/class/net/{name}/queues/tx-{queue}/xps_cpus"), &zero);
        }
        self
    }

    /// Looks at it.
    pub fn host(&self) -> Host {
        Host::look(Root::below(&self.folder))
    }
}

impl Drop for MadeUp {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}
