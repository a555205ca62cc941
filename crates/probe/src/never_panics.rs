//! No parser panics, whatever the bytes: arbitrary ones, fixtures cut anywhere, fixtures with a
//! byte changed.

use crate::source::{
    cgroup, files, interrupts, net_dev, pressure, sock_diag, sockstat, softirqs, softnet, stat,
    tcp, threads,
};
use crate::testing::{self, fixture};
use crate::{accounting, cgroup_path, host, process, scan};
use proptest::collection::vec;
use proptest::prelude::*;
use std::path::Path;

/// Runs every parser; what they return is their own tests' business.
fn parse_as_everything(bytes: &[u8]) {
    let _ = stat::parse(bytes);
    let _ = softnet::parse(bytes);
    let _ = softirqs::parse(bytes);
    let _ = interrupts::parse(bytes);
    let _ = net_dev::parse(bytes);
    let _ = tcp::parse(bytes);
    let _ = sockstat::parse(bytes);
    let _ = pressure::parse(bytes);
    let _ = threads::parse(bytes);
    let _ = process::parse_stat(bytes);
    let _ = process::parse_status(bytes, "Name");
    let _ = cgroup::parse(bytes);
    let _ = cgroup::parse_max(bytes);
    let _ = cgroup::parse_v1_us(bytes);
    let _ = cgroup_path::parse_mounts(bytes);
    let _ = cgroup_path::parse_membership(bytes);
    let _ = files::parse(bytes);
    let _ = sock_diag::parse(bytes);
    let _ = accounting::parse(bytes);
    let _ = accounting::unpack(bytes);
    let _ = host::parse_cpuinfo(bytes);
    let _ = host::parse_memory(bytes);
    let _ = scan::cpu_list(bytes);
    let _ = scan::cpu_columns(bytes);
}

/// Every fixture, and small versions of the made-up hosts.
fn samples() -> Vec<Vec<u8>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures");
    let mut samples = vec![
        testing::stat_text(4, &[1]).into_bytes(),
        testing::softnet_text(4, &[1]).into_bytes(),
        testing::softirqs_text(4).into_bytes(),
        testing::interrupts_text(4, 2, &[1]).into_bytes(),
    ];
    let folders = std::fs::read_dir(root).unwrap().map(|entry| entry.unwrap().path());
    for folder in folders.filter(|path| path.is_dir()) {
        let host = folder.file_name().unwrap().to_str().unwrap().to_string();
        for entry in std::fs::read_dir(&folder).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            samples.push(fixture(&format!("{host}/{name}")));
        }
    }
    samples
}

#[test]
fn cut_anywhere() {
    for sample in samples() {
        for end in 0..=sample.len() {
            parse_as_everything(&sample[..end]);
        }
    }
}

proptest! {
    #[test]
    fn arbitrary_bytes(bytes in vec(any::<u8>(), 0..400)) {
        parse_as_everything(&bytes);
    }

    #[test]
    fn arbitrary_words(text in "[0-9a-fA-Z:.,()/=+ \n-]{0,200}") {
        parse_as_everything(text.as_bytes());
    }

    #[test]
    fn one_byte_changed(pick in any::<prop::sample::Index>(), at in any::<prop::sample::Index>(),
                        byte in any::<u8>()) {
        let samples = samples();
        let mut sample = samples[pick.index(samples.len())].clone();
        let at = at.index(sample.len());
        sample[at] = byte;
        parse_as_everything(&sample);
    }
}
