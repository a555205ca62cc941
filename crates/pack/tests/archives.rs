//! Archives made by ceiling, and by others.

mod by_hand;

use by_hand::{FILES, FOLDER, listed, made, opened};
use pack::{Effort, File, Limits, Opened, Refused, WriteError, check, write};
use std::io::{self, Read};

#[test]
fn what_was_packed_comes_out_and_the_same_files_make_the_same_bytes() {
    let archive = made();
    let (opened, files) = opened(&archive).unwrap();
    let all = listed(FILES);
    assert_eq!(opened, Opened { folder: FOLDER.to_string(), files: all, changed: Vec::new() });
    let files: Vec<(&str, &[u8])> = files.iter().map(|(name, text)| (&**name, &**text)).collect();
    assert_eq!(files, FILES);
    assert_eq!(made(), archive);
}

#[test]
fn a_file_that_changes_its_size_while_it_is_packed_ends_it() {
    for other in [&b"schema = 1, and more"[..], b"schema", b""] {
        let packed = write(Vec::new(), FOLDER, &listed(FILES), Effort::Quick, |_| Ok(other));
        assert!(matches!(packed, Err(WriteError::Changed(path)) if path == "entry.toml"));
    }
}

/// An archive that readers would refuse as a bomb is not written.
#[test]
fn what_no_reader_takes_is_not_packed() {
    let bytes = Limits::default().ratio_from_bytes + 1;
    let files = [File { path: "notes.md".to_string(), bytes }];
    let packed =
        write(Vec::new(), FOLDER, &files, Effort::Quick, |_| Ok(io::repeat(0).take(bytes)));
    assert!(matches!(packed, Err(WriteError::Refused(Refused::Bomb { .. }))), "{packed:?}");
    for (path, why) in [
        ("../entry.toml", "'..'"),
        ("Sha256Sums", "differs from 'SHA256SUMS' only by case"),
        ("SHA256SUMS", "it occurs twice"),
    ] {
        let refused = check(&listed(&[(path, b"")])).unwrap_err().to_string();
        assert!(refused.contains(why), "{path}: {refused}");
    }
}

/// Every flipped bit is found, except for those that leave every file as it was: a decompressor
/// does not read all bits of a frame.
#[test]
fn one_bit_anywhere_is_found_or_changes_no_file() {
    let archive = made();
    let whole = opened(&archive).unwrap();
    let (mut refused, mut unseen) = (0, 0);
    for bit in 0..archive.len() * 8 {
        let mut other = archive.clone();
        other[bit / 8] ^= 1 << (bit % 8);
        match opened(&other) {
            Ok(found) if found == whole => unseen += 1,
            Ok((found, _)) => assert_ne!(found.changed, [""; 0], "bit {bit} is not found"),
            Err(_) => refused += 1,
        }
    }
    assert!(refused > 1000 && unseen < refused / 50, "{refused} refused, {unseen} without effect");
}

#[test]
fn an_archive_that_is_cut_or_longer_is_refused() {
    let archive = made();
    for cut in 0..archive.len() {
        assert!(opened(&archive[..cut]).is_err(), "cut at {cut}");
    }
    for more in [&b"x"[..], &archive] {
        let longer = opened(&[&archive, more].concat());
        assert!(matches!(longer, Err(Refused::Trailing)), "{longer:?}");
    }
}
