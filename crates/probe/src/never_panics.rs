//! No parser panics, whatever the bytes: arbitrary ones, fixtures cut anywhere, fixtures with a
//! byte changed.

use crate::fuzzing::parse_as_everything;
use crate::testing::{self, fixture};
use proptest::collection::vec;
use proptest::prelude::*;
use std::path::Path;

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
