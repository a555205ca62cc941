//! Values in files of `/proc/sys` and `/sys`.

use super::{PlaceError, Seen};
use crate::cpus::CpuSet;
use crate::host::Host;
use serde::{Deserialize, Serialize};
use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind, Write};

/// What is written in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Format {
    /// A mask of CPUs or queues in groups of 32 bits; its meaning is a list.
    Mask,
    /// A list of CPUs.
    List,
    /// An integer.
    Number,
    /// An integer that the kernel raises to a power of two; zero stays zero.
    NumberToPowerOfTwo,
    /// Integers with spaces between them, all of which are written.
    Numbers,
    /// One of several words, the chosen one in brackets.
    Choice,
    /// A word.
    Word,
}

impl Format {
    /// The meaning of what was read: equal texts mean the same.
    pub fn normalise(self, raw: &str) -> Result<String, String> {
        let text = raw.trim();
        match self {
            Self::Mask => CpuSet::parse_mask(text).map(|set| set.list()),
            Self::List => CpuSet::parse_list(text).map(|set| set.list()),
            Self::Number | Self::NumberToPowerOfTwo => integer(text),
            Self::Numbers => {
                let all: Result<Vec<_>, _> = text.split_whitespace().map(integer).collect();
                let all = all?;
                if all.is_empty() { Err("no numbers".to_string()) } else { Ok(all.join(" ")) }
            }
            Self::Choice => {
                let chosen = text.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
                Ok(chosen.map_or(text, |(word, _)| word).to_string())
            }
            Self::Word => Ok(text.to_string()),
        }
    }

    /// The bytes that say a normalised value, as wide as what is there now.
    pub fn bytes(self, value: &str, raw_now: &str) -> String {
        match self {
            Self::Mask => {
                let groups = raw_now.trim().split(',').count();
                CpuSet::parse_list(value).map_or_else(|_| value.to_string(), |set| set.mask(groups))
            }
            _ => value.to_string(),
        }
    }

    /// What a normalised value reads as once the kernel has taken it.
    pub fn settles_to(self, value: &str) -> String {
        let power = value.parse::<u64>().ok().filter(|_| self == Self::NumberToPowerOfTwo);
        match power {
            Some(number) if number > 0 => number.next_power_of_two().to_string(),
            _ => value.to_string(),
        }
    }
}

fn integer(text: &str) -> Result<String, String> {
    let number = text.parse::<i128>().map_err(|_| format!("'{text}' is no integer"))?;
    Ok(number.to_string())
}

pub(super) fn read(host: &Host, path: &str, format: &Format) -> Result<Option<Seen>, PlaceError> {
    let raw = match fs::read(host.root.path(path)) {
        Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
        // A single queue has files for steering that cannot be read.
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) if matches!(error.raw_os_error(), Some(libc::ENODEV | libc::ENXIO)) => {
            return Ok(None);
        }
        Err(error) => return Err(PlaceError::Io { place: path.to_string(), error }),
    };
    let value = format.normalise(&raw);
    let value = value.map_err(|why| PlaceError::Value { place: path.to_string(), why })?;
    Ok(Some(Seen { raw, value }))
}

/// Opening says whether writing is allowed; these files change nothing until they are written to.
pub(super) fn check_writable(host: &Host, path: &str) -> Result<(), PlaceError> {
    let opened = OpenOptions::new().write(true).open(host.root.path(path));
    opened.map(drop).map_err(|error| PlaceError::Io { place: path.to_string(), error })
}

/// In one write, because these files take each write as a whole value.
pub(super) fn write(host: &Host, path: &str, text: &str) -> Result<(), PlaceError> {
    let error = |error: io::Error| PlaceError::Io { place: path.to_string(), error };
    let mut file = OpenOptions::new().write(true).open(host.root.path(path)).map_err(error)?;
    let line = format!("{text}\n");
    let written = file.write(line.as_bytes()).map_err(error)?;
    if written < line.len() {
        return Err(error(io::Error::other("the kernel took only a part of the value")));
    }
    // A host made up of plain files keeps the end of a longer value; the kernel has no length.
    let is_plain =
        file.metadata().is_ok_and(|about| about.len() > written as u64 && about.is_file());
    if is_plain && host.is_made_up() {
        file.set_len(written as u64).map_err(error)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::btree_set;
    use proptest::prelude::*;
    use proptest::sample::select;
    use std::collections::BTreeSet;

    #[test]
    fn the_kernels_ways_of_saying_the_same_are_the_same() {
        let same = [
            (Format::Mask, "00000000,00000003\n", "0-1"),
            (Format::Mask, "3", "0-1"),
            (Format::Number, "007\n", "7"),
            (Format::Number, "-1", "-1"),
            (Format::Numbers, "4096\t131072\t6291456\n", "4096 131072 6291456"),
            (Format::Choice, "always [madvise] never\n", "madvise"),
            (Format::Word, "cubic\n", "cubic"),
        ];
        for (format, raw, value) in same {
            assert_eq!(format.normalise(raw).unwrap(), value);
        }
        assert_eq!(Format::NumberToPowerOfTwo.settles_to("1000"), "1024");
        assert_eq!(Format::NumberToPowerOfTwo.settles_to("0"), "0");
        assert_eq!(Format::Mask.bytes("0-1", "00000000,00000000"), "00000000,00000003");
    }

    #[test]
    fn what_does_not_belong_there_is_told() {
        for (format, raw) in
            [(Format::Mask, "0x3"), (Format::Number, "many"), (Format::Numbers, "")]
        {
            assert!(format.normalise(raw).is_err(), "{raw}");
        }
    }

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
}
