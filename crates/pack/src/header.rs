//! The header of a file in the tar, made only from its name and its size.

use crate::refused::shown;
use crate::{Refused, name};
use tar::{EntryType, Header};

/// Bytes of a tar block.
pub(crate) const BLOCK: usize = 512;

/// Zeros that fill the last block after this many bytes.
pub(crate) fn padding_of(bytes: u64) -> usize {
    (bytes.next_multiple_of(BLOCK as u64) - bytes) as usize
}

/// The only header for a file of this name and size; none when the name does not fit.
pub(crate) fn of(name: &str, bytes: u64) -> Option<[u8; BLOCK]> {
    let mut header = Header::new_ustar();
    header.set_path(name).ok()?;
    header.set_mode(0o644);
    header.set_uid(0);
    header.set_gid(0);
    header.set_mtime(0);
    header.set_size(bytes);
    header.set_entry_type(EntryType::Regular);
    header.set_cksum();
    Some(*header.as_bytes())
}

/// Name and size from an untrusted header.
///
/// # Errors
///
/// It is not the header of a regular file of this name and size.
pub(crate) fn parse(block: &[u8; BLOCK]) -> Result<(String, u64), Refused> {
    let header = Header::from_byte_slice(block);
    let raw = header.path_bytes();
    let shown = shown(&raw);
    let kind = header.entry_type();
    if !kind.is_file() {
        return Err(Refused::Kind { name: shown, kind: kind_of(kind) });
    }
    let path = std::str::from_utf8(&raw);
    let path = path.map_err(|_| Refused::Header(format!("the name '{shown}' is not UTF-8")))?;
    name::check(path).map_err(|fault| Refused::name(path, fault))?;
    let bytes = header.entry_size().map_err(|why| Refused::Header(why.to_string()))?;
    match of(path, bytes) {
        Some(ours) if ours == *block => Ok((path.to_string(), bytes)),
        _ => Err(Refused::OtherHeader(shown)),
    }
}

fn kind_of(kind: EntryType) -> &'static str {
    match kind {
        EntryType::Link => "a hard link",
        EntryType::Symlink => "a symbolic link",
        EntryType::Char | EntryType::Block => "a device",
        EntryType::Directory => "a folder",
        EntryType::Fifo => "a pipe",
        EntryType::GNULongName | EntryType::GNULongLink => "a GNU tar long name",
        EntryType::GNUSparse => "a sparse file",
        EntryType::XGlobalHeader | EntryType::XHeader => "a pax header",
        _ => "of an unknown kind",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_other_bit_of_a_header_is_refused() {
        let block = of("results/a/run.json", 1234).unwrap();
        assert_eq!(parse(&block).unwrap(), ("results/a/run.json".to_string(), 1234));
        for bit in 0..BLOCK * 8 {
            let mut other = block;
            other[bit / 8] ^= 1 << (bit % 8);
            assert!(parse(&other).is_err(), "bit {bit}");
        }
    }

    #[test]
    fn all_names_that_are_allowed_and_split_by_a_folder_fit() {
        let name = format!("{}/{}", "a".repeat(100), "b".repeat(100));
        assert_eq!(parse(&of(&name, 0).unwrap()).unwrap().0, name);
    }
}
