//! Values in files of `/proc/sys` and `/sys`.

use super::{PlaceError, Seen};
use crate::cpus::CpuSet;
use crate::host::Host;
use serde::{Deserialize, Serialize};
use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind, Write};

/// The notation of a file.
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
    /// The normalised value of a text that was read: equal values mean the same.
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

    /// The bytes of a normalised value, as wide as the current ones.
    pub fn bytes(self, value: &str, raw_now: &str) -> String {
        match self {
            Self::Mask => {
                let groups = raw_now.trim().split(',').count();
                CpuSet::parse_list(value).map_or_else(|_| value.to_string(), |set| set.mask(groups))
            }
            _ => value.to_string(),
        }
    }

    /// What a value reads as once the kernel has taken it.
    pub fn settles_to(self, value: &str) -> String {
        let power = value.parse::<u64>().ok().filter(|_| self == Self::NumberToPowerOfTwo);
        let same = match (self, power) {
            (_, Some(number)) if number > 0 => {
                Ok(number.checked_next_power_of_two().unwrap_or(number).to_string())
            }
            // A plan may give one in another notation than ours, such as 0,1 for 0-1; the value of
            // a mask is a list too.
            (Self::Mask | Self::List, _) => Self::List.normalise(value),
            (Self::Number | Self::Numbers, _) => self.normalise(value),
            _ => Ok(value.to_string()),
        };
        same.unwrap_or_else(|_| value.to_string())
    }
}

fn integer(text: &str) -> Result<String, String> {
    let number = text.parse::<i128>().map_err(|_| format!("'{text}' is not an integer"))?;
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

/// Opening shows whether writing is allowed; these files change nothing until they are written to.
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
    // A plain file of a made-up host keeps the end of a longer value; the kernel's files have no
    // length.
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
        let most = u64::MAX.to_string();
        assert_eq!(Format::NumberToPowerOfTwo.settles_to(&most), most, "the kernel refuses it");
        assert_eq!(Format::Mask.bytes("0-1", "00000000,00000000"), "00000000,00000003");
    }

    #[test]
    fn a_value_in_another_notation_settles_to_ours() {
        for (format, given, value) in [
            (Format::Mask, "0,1,3", "0-1,3"),
            (Format::List, "3,2", "2-3"),
            (Format::Number, "007", "7"),
            (Format::Numbers, "1024  65535", "1024 65535"),
            (Format::Mask, "", ""),
            (Format::Mask, "0x3", "0x3"),
            (Format::Word, "fq", "fq"),
        ] {
            assert_eq!(format.settles_to(given), value, "{given}");
        }
    }

    #[test]
    fn unexpected_content_is_an_error() {
        for (format, raw) in
            [(Format::Mask, "0x3"), (Format::Number, "many"), (Format::Numbers, "")]
        {
            assert!(format.normalise(raw).is_err(), "{raw}");
        }
    }
}
