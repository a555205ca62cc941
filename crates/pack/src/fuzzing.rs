//! Archives of arbitrary bytes, for tests and for the fuzz target.

use crate::{Limits, Opened, Refused, read, total_bytes};
use std::io::{self, Write};
use zstd::stream::write::Encoder;

/// Small enough for a target that runs thousands of times per second.
const LIMITS: Limits = Limits {
    archive_bytes: 1 << 20,
    sums_bytes: 1 << 20,
    file_bytes: 1 << 20,
    total_bytes: 1 << 22,
    files: 1000,
    ratio: 200,
    ratio_from_bytes: 1 << 20,
};

/// The archive with these bytes as its tar.
pub fn packed(tar: &[u8]) -> Vec<u8> {
    let packed = Encoder::new(Vec::new(), 1).and_then(|mut frame| {
        frame.include_checksum(true)?;
        frame.write_all(tar)?;
        frame.finish()
    });
    packed.expect("writing to memory does not fail")
}

/// Reads bytes as an archive and as a tar.
pub fn any(bytes: &[u8]) {
    for opened in [opened(bytes), opened(&packed(bytes))].into_iter().flatten() {
        let names = opened.files.iter().map(|file| &*file.path).chain([&*opened.folder]);
        names.for_each(|name| assert!(!name.starts_with('/') && !name.contains(".."), "{name}"));
        assert!(total_bytes(&opened.files) <= LIMITS.total_bytes);
    }
}

fn opened(archive: &[u8]) -> Result<Opened, Refused> {
    read(archive, archive.len() as u64, &LIMITS, |_, _| Ok(io::sink()))
}
