//! Archives of arbitrary bytes, for tests and for the fuzz target.

use crate::seal::Sealing;
use crate::signature::Trusted;
use crate::write::encoder;
use crate::{Limits, Opened, Refused, read, signature};
use std::io::{self, Cursor, Write};

/// Small enough for a target that runs thousands of times per second.
const LIMITS: Limits = Limits {
    archive_bytes: 1 << 20,
    manifest_bytes: 1 << 20,
    file_bytes: 1 << 20,
    total_bytes: 1 << 22,
    files: 1000,
    ratio: 200,
    ratio_from_bytes: 1 << 20,
};

/// The archive with these bytes as its tar, compressed and sealed like ours.
pub fn packed(tar: &[u8]) -> Vec<u8> {
    let frame = encoder(Sealing::new(Vec::new()), tar.len() as u64);
    let sealed = frame.and_then(|mut frame| {
        frame.write_all(tar)?;
        frame.finish()?.finish()
    });
    sealed.expect("writing to memory does not fail")
}

/// The sealed archive of a compressed frame.
pub fn sealed(frame: &[u8]) -> Vec<u8> {
    let mut sealing = Sealing::new(Vec::new());
    let sealed = sealing.write_all(frame).and_then(|()| sealing.finish());
    sealed.expect("writing to memory does not fail")
}

/// Reads bytes as an archive, as a frame, as a tar, as a signature and as keys.
pub fn any(bytes: &[u8]) {
    let all = [bytes.to_vec(), sealed(bytes), packed(bytes)];
    for opened in all.iter().filter_map(|archive| opened(archive).ok()) {
        let names: Vec<&str> = opened.manifest.files.iter().map(|file| &*file.path).collect();
        assert!(names.iter().all(|name| !name.starts_with('/') && !name.contains("..")));
        assert!(opened.manifest.total_bytes() <= LIMITS.total_bytes);
    }
    let text = String::from_utf8_lossy(bytes);
    let _ = signature::Key::parse(&text);
    let trusted = Trusted::parse(&text).ok();
    signature::check(bytes, Some(&text), trusted.as_ref());
}

fn opened(archive: &[u8]) -> Result<Opened, Refused> {
    read(Cursor::new(archive), &LIMITS, |_| Ok(io::sink()))
}
