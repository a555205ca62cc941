//! A small archive, and archives written by hand.
#![allow(dead_code, reason = "each test file takes what it needs")]

use pack::{Effort, File, Limits, Opened, Refused, SUMS, read, write};
use sha2::{Digest, Sha256};
use std::cell::RefCell;
use std::io::Write;
use std::rc::Rc;

/// The folder of the archives.
pub const FOLDER: &str = "gzip-helps";

pub const FILES: &[(&str, &[u8])] = &[
    ("entry.toml", b"schema = 1"),
    ("notes.md", b""),
    ("results/20260101T120000-a/runs/20260101T120000-0000002a/run.json", &[b'a'; 1500]),
];

pub fn listed(files: &[(&str, &[u8])]) -> Vec<File> {
    let file =
        |(path, bytes): &(&str, &[u8])| File { path: path.to_string(), bytes: bytes.len() as u64 };
    files.iter().map(file).collect()
}

/// The archive of [`FILES`].
pub fn made() -> Vec<u8> {
    let mut archive = Vec::new();
    let bytes = |file: &File| FILES.iter().find(|(path, _)| *path == file.path).unwrap().1;
    let written =
        write(&mut archive, FOLDER, &listed(FILES), Effort::Quick, |file| Ok(bytes(file))).unwrap();
    assert_eq!((written.bytes, written.sha256), (archive.len() as u64, sum(&archive)));
    archive
}

/// The SHA-256 of bytes.
pub fn sum(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

type Files = Vec<(String, Vec<u8>)>;

/// Where a file is kept.
struct FileWriter(Rc<RefCell<Files>>);

impl Write for FileWriter {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.borrow_mut().last_mut().unwrap().1.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Reads an archive, with its files.
pub fn opened(archive: &[u8]) -> Result<(Opened, Files), Refused> {
    opened_within(archive, &Limits::default())
}

pub fn opened_within(archive: &[u8], limits: &Limits) -> Result<(Opened, Files), Refused> {
    let kept = Rc::new(RefCell::new(Vec::new()));
    let opened = read(archive, archive.len() as u64, limits, |_, path| {
        kept.borrow_mut().push((path.to_string(), Vec::new()));
        Ok(FileWriter(Rc::clone(&kept)))
    })?;
    Ok((opened, kept.take()))
}

/// A tar written by hand, with any name, kind and size, independent of the tested code.
#[derive(Default)]
pub struct ByHand(Vec<u8>);

impl ByHand {
    /// Starts with the sums of these files.
    pub fn listing(files: &[(&str, &[u8])]) -> Self {
        let line = |(path, bytes): &(&str, &[u8])| format!("{}  {path}\n", sum(bytes));
        Self::sums(&files.iter().map(line).collect::<String>())
    }

    /// Starts with this list of sums.
    pub fn sums(list: &str) -> Self {
        Self::default().file(SUMS, list.as_bytes())
    }

    /// A file in the folder of the archive.
    pub fn file(self, name: &str, bytes: &[u8]) -> Self {
        let name = format!("{FOLDER}/{name}");
        self.entry(name.as_bytes(), b'0', "", bytes.len() as u64, bytes)
    }

    /// One entry of a tar: `size` is the size in the header, `bytes` the actual data.
    pub fn entry(mut self, name: &[u8], kind: u8, link: &str, size: u64, bytes: &[u8]) -> Self {
        let mut block = [0_u8; 512];
        let mut put = |at: usize, text: &[u8]| block[at..at + text.len()].copy_from_slice(text);
        put(0, &name[..name.len().min(100)]);
        put(100, b"0000644\0");
        put(108, b"0000000\0");
        put(116, b"0000000\0");
        put(124, format!("{size:011o}\0").as_bytes());
        put(136, b"00000000000\0");
        put(148, b"        ");
        put(156, &[kind]);
        put(157, link.as_bytes());
        put(257, b"ustar\x0000");
        let sum: u32 = block.iter().map(|byte| u32::from(*byte)).sum();
        block[148..156].copy_from_slice(format!("{sum:07o}\0").as_bytes());
        self.0.extend(block);
        self.0.extend(bytes);
        self.0.resize(self.0.len().next_multiple_of(512), 0);
        self
    }

    /// Arbitrary bytes.
    pub fn raw(mut self, bytes: &[u8]) -> Self {
        self.0.extend(bytes);
        self
    }

    /// The archive, with the end of a tar.
    pub fn archive(self) -> Vec<u8> {
        pack::fuzzing::packed(&self.raw(&[0; 1024]).0)
    }

    /// Why it is refused.
    pub fn refused(self) -> String {
        opened(&self.archive()).expect_err("it was read").to_string()
    }
}
