//! A full disk.

use crate::harness::{ceiling, must_be_root, targets_file, turn};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let folder = format!("ceiling-run-{}-{name}", std::process::id());
        let path = std::env::temp_dir().join(folder);
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn plan(&self, text: &str) -> String {
        let path = self.0.join("plan.toml");
        let head = "schema = \"ceiling.plan/1\"\nquestion = \"Why?\"\n";
        fs::write(&path, format!("{head}{text}")).unwrap();
        path.display().to_string()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn a_full_disk_loses_neither_the_table_nor_the_reason() {
    must_be_root();
    let _turn = turn();
    let folder = Folder::new("full");
    let disk = Disk::of(&folder.0.join("disk"), "1m");
    // Only folders still fit.
    let filler = Command::new("dd")
        .args(["if=/dev/zero", "bs=4k", "status=none"])
        .arg(format!("of={}", disk.0.join("filler").display()))
        .stderr(Stdio::null())
        .status();
    assert!(filler.is_ok());
    fs::OpenOptions::new()
        .write(true)
        .open(disk.0.join("filler"))
        .unwrap()
        .set_len(940 << 10)
        .unwrap();
    let plan = folder.plan(
        "server = { target = \"sink\" }\n\
         load = { command = \"load\", path = \"/simple\", requests = 2000 }\n\
         vary = [{ key = \"load.depth\", values = [1, 4] }]\n",
    );
    let runs = disk.0.display().to_string();
    let arguments = ["run", &plan, "--servers", &targets_file(), "--runs", &runs, "--trust", "-q"];
    let output = ceiling(&arguments).output().unwrap();
    let (said, told) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(1), "{said}{told}");
    assert!(said.contains("depth 1") && said.contains("depth 4"), "{said}{told}");
    assert!(told.contains("No space left") && told.lines().count() == 1, "{told}");
}

/// A small disk for this test.
struct Disk(PathBuf);

impl Disk {
    fn of(path: &Path, size: &str) -> Self {
        fs::create_dir(path).unwrap();
        let size = format!("size={size}");
        let mounted =
            Command::new("mount").args(["-t", "tmpfs", "-o", &size, "tmpfs"]).arg(path).status();
        assert!(mounted.unwrap().success());
        Self(path.to_path_buf())
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}
