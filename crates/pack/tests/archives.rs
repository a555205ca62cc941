//! Archives made by ceiling, and by others.

mod by_hand;

use by_hand::{FILES, Made, flipped, made, opened};
use pack::{File, Limits, Manifest, Opened, Refused, WriteError, write};
use std::io::{self, Cursor, Read};

#[test]
fn what_was_packed_comes_out_and_the_same_files_make_the_same_bytes() {
    let Made { manifest, archive } = made(Some("a signature"));
    let (opened, files) = opened(&archive).unwrap();
    assert_eq!(opened.manifest, manifest);
    assert_eq!(opened.signature.as_deref(), Some("a signature"));
    assert!(opened.is_whole && opened.changed.is_empty());
    let files: Vec<(&str, &[u8])> = files.iter().map(|(name, text)| (&**name, &**text)).collect();
    assert_eq!(files, FILES);
    assert_eq!(made(Some("a signature")).archive, archive);
    assert_ne!(made(None).archive, archive);
}

#[test]
fn a_file_that_changes_while_it_is_packed_ends_it() {
    let Made { manifest, .. } = made(None);
    for other in [&b"schema = 2"[..], b"schema = 1, and more", b""] {
        let packed = write(Vec::new(), &manifest, None, |_| Ok(Cursor::new(other)));
        assert!(matches!(packed, Err(WriteError::Changed(path)) if path == "entry.toml"));
    }
}

/// An archive that readers would refuse as a bomb is not written.
#[test]
fn what_no_reader_takes_is_not_packed() {
    let zeros = || io::repeat(0).take(Limits::default().ratio_from_bytes + 1);
    let file = File::of("notes.md", zeros()).unwrap();
    let manifest = Manifest { files: vec![file], ..made(None).manifest };
    let packed = write(Vec::new(), &manifest, None, |_| Ok(zeros()));
    assert!(matches!(packed, Err(WriteError::Refused(Refused::Bomb { .. }))), "{packed:?}");
}

/// Every flipped bit is detected: the archive is refused, or it does not match its seal.
#[test]
fn one_bit_anywhere_is_told() {
    let Made { archive, .. } = made(Some("a signature"));
    let (mut refused, mut told) = (0, 0);
    for bit in 0..archive.len() * 8 {
        match opened(&flipped(&archive, bit)) {
            Err(_) => refused += 1,
            Ok((Opened { is_whole: false, .. }, _)) => told += 1,
            Ok(_) => panic!("bit {bit} is not detected"),
        }
    }
    assert!(refused > 1000 && told > 100, "{refused} refused, {told} told");
}

#[test]
fn an_archive_that_is_cut_or_longer_is_refused() {
    let Made { archive, .. } = made(None);
    for cut in 0..archive.len() {
        assert!(opened(&archive[..cut]).is_err(), "cut at {cut}");
    }
    let longer = [&archive[..], b"x"].concat();
    assert!(matches!(opened(&longer), Err(Refused::NoSeal)));
}

/// The same inside of a good seal.
#[test]
fn a_frame_that_is_cut_or_followed_by_bytes_is_refused() {
    let Made { archive, .. } = made(None);
    let frame = &archive[..archive.len() - 40];
    for cut in [0, 4, frame.len() / 2, frame.len() - 1] {
        let cut = pack::fuzzing::sealed(&frame[..cut]);
        assert!(matches!(opened(&cut), Err(Refused::CutShort(_) | Refused::Compression)));
    }
    for more in [&b"x"[..], frame] {
        let longer = pack::fuzzing::sealed(&[frame, more].concat());
        assert!(matches!(opened(&longer), Err(Refused::Trailing)));
    }
}

#[test]
fn what_no_reader_takes_is_not_written() {
    let Made { manifest, .. } = made(None);
    let with = |path: &str| {
        let mut manifest: Manifest = manifest.clone();
        manifest.files[0].path = path.to_string();
        manifest.check(&Limits::default()).unwrap_err().to_string()
    };
    assert!(with("../entry.toml").contains("'..'"));
    assert!(with("Manifest.json").contains("differs from 'manifest.json' only by case"));
    assert!(with("z").contains("not sorted"));
}
