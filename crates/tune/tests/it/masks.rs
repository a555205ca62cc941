//! Masks against a model of the kernel's parser, and the model against this kernel.

use crate::namespace;
use proptest::collection::btree_set;
use proptest::prelude::*;
use proptest::sample::select;
use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use tune::{CpuSet, Format, Host};

/// The kernel's `bitmap_parse`, written from its rules and not from our own: groups of at most
/// 8 hexadecimal digits, the lowest last; no more groups than the CPUs need; no bit of a CPU
/// that cannot be. An error is the kernel's errno.
fn bitmap_parse(text: &str, cpus: u32) -> Result<BTreeSet<u32>, i32> {
    let line = text.split('\n').next().unwrap_or_default();
    let mut groups_left = cpus.div_ceil(32);
    let mut set = BTreeSet::new();
    let groups = line.split([',', ' ', '\t']).rev().filter(|group| !group.is_empty());
    for (number, group) in groups.enumerate() {
        groups_left = groups_left.checked_sub(1).ok_or(libc::EOVERFLOW)?;
        for (place, digit) in group.chars().rev().enumerate() {
            let digit = digit.to_digit(16).ok_or(libc::EINVAL)?;
            if place == 8 {
                return Err(libc::EOVERFLOW);
            }
            let first = 32 * number as u32 + 4 * place as u32;
            set.extend((0..4).filter(|bit| digit >> bit & 1 == 1).map(|bit| first + bit));
        }
    }
    match set.last() {
        Some(last) if *last >= cpus => Err(libc::EOVERFLOW),
        _ => Ok(set),
    }
}

/// A mask as a file of a kernel with so many CPUs shows it: the first group is as narrow as
/// its bits allow.
fn as_the_kernel_shows(set: &BTreeSet<u32>, cpus: u32) -> String {
    let shown = |group: u32| {
        let bits = (cpus - 32 * group).min(32);
        let value = (0..bits).filter(|bit| set.contains(&(32 * group + bit)));
        let value: u32 = value.map(|bit| 1 << bit).sum();
        format!("{value:0width$x}", width = bits.div_ceil(4) as usize)
    };
    let groups: Vec<_> = (0..cpus.div_ceil(32)).rev().map(shown).collect();
    format!("{}\n", groups.join(","))
}

/// Said of a kernel with two CPUs, and seen on one.
const OF_TWO_CPUS: &[(&str, Result<&[u32], i32>)] = &[
    ("3", Ok(&[0, 1])),
    ("00000003", Ok(&[0, 1])),
    (" 3", Ok(&[0, 1])),
    ("3\n", Ok(&[0, 1])),
    ("2", Ok(&[1])),
    ("0", Ok(&[])),
    ("4", Err(libc::EOVERFLOW)),
    ("ff", Err(libc::EOVERFLOW)),
    ("ffffffff", Err(libc::EOVERFLOW)),
    ("00000000,00000003", Err(libc::EOVERFLOW)),
    ("0000000000000003", Err(libc::EOVERFLOW)),
    ("0x3", Err(libc::EINVAL)),
    ("0-1", Err(libc::EINVAL)),
    ("g", Err(libc::EINVAL)),
];

#[test]
fn the_model_of_the_kernel_takes_and_refuses_what_the_kernel_does() {
    for (text, answer) in OF_TWO_CPUS {
        let answer = answer.map(|cpus| cpus.iter().copied().collect());
        assert_eq!(bitmap_parse(text, 2), answer, "{text:?}");
    }
    let ones = "ffffffff,ffffffff,ffffffff,ffffffff";
    assert_eq!(bitmap_parse(ones, 128), Ok((0..128).collect()));
    assert_eq!(bitmap_parse(ones, 127), Err(libc::EOVERFLOW));
    assert_eq!(bitmap_parse(ones, 96), Err(libc::EOVERFLOW));
    assert_eq!(bitmap_parse(&"f".repeat(32), 128), Err(libc::EOVERFLOW), "no commas");
    assert_eq!(as_the_kernel_shows(&BTreeSet::new(), 2), "0\n");
    assert_eq!(as_the_kernel_shows(&[0, 7].into(), 8), "81\n");
    let top = as_the_kernel_shows(&[0, 299].into(), 300);
    assert!(top.starts_with("800,00000000,") && top.ends_with(",00000001\n"), "{top}");
    assert_eq!(top.split(',').count(), 10);
}

#[test]
fn masks_are_as_wide_as_the_file_that_takes_them() {
    let zero = |cpus| as_the_kernel_shows(&BTreeSet::new(), cpus);
    let bytes = |value, cpus| Format::Mask.bytes(value, &zero(cpus));
    assert_eq!(bytes("0-1", 2), "00000003");
    assert_eq!(bytes("0-7", 8), "000000ff");
    assert_eq!(bytes("16-31", 32), "ffff0000");
    assert_eq!(bytes("0-127", 128), "ffffffff,ffffffff,ffffffff,ffffffff");
    assert_eq!(bytes("112-127", 128), "ffff0000,00000000,00000000,00000000");
    let groups = ",ffffffff".repeat(9);
    assert_eq!(bytes("0-299", 300), format!("00000fff{groups}"));
    assert_eq!(bytes("", 128), "00000000,00000000,00000000,00000000");
}

proptest! {
    #[test]
    fn the_kernel_takes_every_mask_and_means_the_same(
        cpus in select(vec![1_u32, 2, 8, 31, 32, 33, 64, 128, 300]),
        wanted in btree_set(0_u32..300, 0..300),
        now in btree_set(0_u32..300, 0..300),
    ) {
        let below = |set: &BTreeSet<u32>| set.range(..cpus).copied().collect::<BTreeSet<_>>();
        let (wanted, now) = (below(&wanted), below(&now));
        let list = wanted.iter().copied().collect::<CpuSet>().list();
        let written = Format::Mask.bytes(&list, &as_the_kernel_shows(&now, cpus));
        prop_assert_eq!(bitmap_parse(&format!("{written}\n"), cpus), Ok(wanted.clone()));
        let shown = as_the_kernel_shows(&wanted, cpus);
        prop_assert_eq!(Format::Mask.normalise(&shown), Ok(list));
    }
}

#[test]
fn this_kernel_takes_and_refuses_what_the_model_says() {
    namespace::with_four_queues(|| {
        let host = Host::look(Default::default());
        let cpus = host.cpus_possible.iter().next_back().unwrap() + 1;
        let path = "/sys/class/net/v0/queues/rx-0/rps_cpus";
        let shown = || fs::read_to_string(path).unwrap();
        let before = shown();
        assert_eq!(before, as_the_kernel_shows(&BTreeSet::new(), cpus));
        let wide = ["ffffffff,ffffffff,ffffffff,ffffffff", "1,00000000", ",,1", "1,", "123456789"];
        let texts = OF_TWO_CPUS.iter().map(|(text, _)| *text).chain(wide);
        for text in texts {
            let mut file = fs::OpenOptions::new().write(true).open(path).unwrap();
            let written = file.write(text.as_bytes());
            let answer = written.map_err(|error| error.raw_os_error().unwrap());
            let meant = bitmap_parse(text, cpus);
            assert_eq!(answer.map(drop), meant.clone().map(drop), "{text:?} on {cpus} CPUs");
            let Ok(meant) = meant else { continue };
            // RPS leaves out CPUs that are not online; all are here that can be, or none is named.
            assert_eq!(shown(), as_the_kernel_shows(&meant, cpus), "{text:?}");
        }
        let all: CpuSet = (0..cpus).collect();
        fs::write(path, Format::Mask.bytes(&all.list(), &before)).unwrap();
        assert_eq!(Format::Mask.normalise(&shown()).unwrap(), all.list());
    });
}
