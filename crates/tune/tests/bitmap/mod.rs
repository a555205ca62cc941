//! The kernel's parser of masks, as a model.

use std::collections::BTreeSet;

/// The kernel's `bitmap_parse`, written from its rules and not from our own: groups of at most 8
/// hexadecimal digits, the lowest last; no more groups than the CPUs need; no bit of an impossible
/// CPU. An error is the kernel's errno.
pub fn bitmap_parse(text: &str, cpus: u32) -> Result<BTreeSet<u32>, i32> {
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

/// A mask as a file of a kernel with this many CPUs shows it: the first group is as narrow as its
/// bits allow.
pub fn as_the_kernel_shows(set: &BTreeSet<u32>, cpus: u32) -> String {
    let shown = |group: u32| {
        let bits = (cpus - 32 * group).min(32);
        let value = (0..bits).filter(|bit| set.contains(&(32 * group + bit)));
        let value: u32 = value.map(|bit| 1 << bit).sum();
        format!("{value:0width$x}", width = bits.div_ceil(4) as usize)
    };
    let groups: Vec<_> = (0..cpus.div_ceil(32)).rev().map(shown).collect();
    format!("{}\n", groups.join(","))
}

/// For a kernel with two CPUs, and observed on one.
pub const OF_TWO_CPUS: &[(&str, Result<&[u32], i32>)] = &[
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
