//! The manifest: the contents of an archive.
//!
//! The names in this file are the schema `ceiling.pack/1`. Adding a field is compatible.

use crate::seal;
use crate::{Limits, MANIFEST, Names, Refused, SIGNATURE};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::io::{self, Read};

/// Schema of [`Manifest`].
pub const SCHEMA: &str = "ceiling.pack/1";

/// Most characters of each short text.
const TEXT_LETTERS_MAX: usize = 64;
/// Hexadecimal digits of a SHA-256.
const SHA256_DIGITS: usize = 64;

/// The contents of an archive.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// [`SCHEMA`].
    pub schema: String,
    /// Version of ceiling that made it.
    pub version: String,
    /// Name of the packed entry: small letters, digits and `-`.
    pub slug: String,
    /// Time of its newest part, RFC 3339; not the time of packing, so that the same files make the
    /// same archive.
    pub created: String,
    /// Its files, sorted by path.
    pub files: Vec<File>,
}

/// A file of an archive.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct File {
    /// Its name, with `/` between folders.
    pub path: String,
    /// Its length.
    pub bytes: u64,
    /// SHA-256 of its bytes: 64 lower-case hexadecimal digits.
    pub sha256: String,
}

/// The SHA-256 of bytes in the format of the manifest.
pub fn digest(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

/// Bytes as lower-case hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

impl File {
    /// The manifest entry of a file with this name and these bytes.
    ///
    /// # Errors
    ///
    /// The bytes cannot be read.
    pub fn of(path: &str, mut bytes: impl Read) -> io::Result<Self> {
        let mut hash = Sha256::new();
        let length = io::copy(&mut bytes, &mut hash)?;
        Ok(Self { path: path.to_string(), bytes: length, sha256: hex(&hash.finalize()) })
    }
}

impl Manifest {
    /// The bytes that are packed and signed.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut text = serde_json::to_vec_pretty(self).expect("text and numbers are JSON");
        text.push(b'\n');
        text
    }

    /// Reads an untrusted manifest.
    ///
    /// # Errors
    ///
    /// It is not a manifest, or its contents are refused.
    pub fn parse(bytes: &[u8], limits: &Limits) -> Result<Self, Refused> {
        #[derive(Deserialize)]
        struct Stamp {
            schema: String,
        }
        let malformed = |why: serde_json::Error| Refused::Manifest(why.to_string());
        let stamp: Stamp = serde_json::from_slice(bytes).map_err(malformed)?;
        if stamp.schema != SCHEMA {
            let found = stamp.schema.escape_debug().take(TEXT_LETTERS_MAX).collect::<String>();
            return Err(Refused::Manifest(format!(
                "unknown schema '{found}'; this version reads '{SCHEMA}'"
            )));
        }
        let manifest: Self = serde_json::from_slice(bytes).map_err(malformed)?;
        manifest.check(limits)?;
        Ok(manifest)
    }

    /// Total size of all files, bytes.
    pub fn total_bytes(&self) -> u64 {
        self.files.iter().fold(0, |sum, file| sum.saturating_add(file.bytes))
    }

    /// Checks the size of an archive, without its seal, against the listed files.
    ///
    /// # Errors
    ///
    /// It is too large, or its files are too large compared with it.
    pub(crate) fn check_archive(&self, before: u64, limits: &Limits) -> Result<(), Refused> {
        let (archive_bytes, most) = (before.saturating_add(seal::BYTES), limits.archive_bytes);
        if archive_bytes > most {
            return Err(Refused::LargeArchive { bytes: archive_bytes, most });
        }
        let (bytes, ratio) = (self.total_bytes(), limits.ratio);
        match bytes > limits.ratio_from_bytes && bytes > before.saturating_mul(ratio) {
            true => Err(Refused::Bomb { bytes, archive_bytes: before, ratio }),
            false => Ok(()),
        }
    }

    /// Checks whether all listed files may be in an archive.
    ///
    /// # Errors
    ///
    /// The first violation.
    pub fn check(&self, limits: &Limits) -> Result<(), Refused> {
        self.check_texts()?;
        let mut names = Names::default();
        // These are not listed, and no file may take their names.
        for name in [MANIFEST, SIGNATURE] {
            names.add(name).map_err(|fault| Refused::name(name, fault))?;
        }
        for file in &self.files {
            names.add(&file.path).map_err(|fault| Refused::name(&file.path, fault))?;
            let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
            if file.sha256.len() != SHA256_DIGITS || !file.sha256.bytes().all(is_digit) {
                return Err(Refused::Manifest(format!("'{}' has no SHA-256", file.path)));
            }
            if file.bytes > limits.file_bytes {
                let (path, most) = (file.path.clone(), limits.file_bytes);
                return Err(Refused::LargeFile { path, bytes: file.bytes, most });
            }
        }
        if !self.files.is_sorted_by(|left, right| left.path < right.path) {
            return Err(Refused::Manifest("its files are not sorted by path".to_string()));
        }
        if self.files.len() > limits.files {
            return Err(Refused::ManyFiles { files: self.files.len(), most: limits.files });
        }
        match self.total_bytes() {
            bytes if bytes > limits.total_bytes => {
                Err(Refused::Large { bytes, most: limits.total_bytes })
            }
            _ => Ok(()),
        }
    }

    fn check_texts(&self) -> Result<(), Refused> {
        let is_short = |text: &str| (1..=TEXT_LETTERS_MAX).contains(&text.len());
        let is_plain = |byte: u8| byte.is_ascii_graphic();
        for (name, text) in [("version", &self.version), ("created", &self.created)] {
            if !is_short(text) || !text.bytes().all(is_plain) {
                return Err(Refused::Manifest(format!("its {name} is not a short text")));
            }
        }
        let is_of_slug =
            |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        let is_slug = is_short(&self.slug)
            && self.slug.bytes().all(is_of_slug)
            && !self.slug.starts_with('-');
        match is_slug {
            true => Ok(()),
            false => Err(Refused::Manifest(
                "its slug has other characters than small letters, digits and '-'".to_string(),
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_byte_beyond_the_ratio_is_too_much() {
        let of = |bytes: u64| Manifest {
            schema: SCHEMA.to_string(),
            version: "0.1.0".to_string(),
            slug: "a".to_string(),
            created: "2026-01-01".to_string(),
            files: vec![File { path: "a".to_string(), bytes, sha256: "0".repeat(SHA256_DIGITS) }],
        };
        let limits = Limits { ratio: 200, ratio_from_bytes: 100, ..Limits::default() };
        assert!(of(2_000).check_archive(10, &limits).is_ok());
        let more = of(2_001).check_archive(10, &limits);
        assert!(matches!(more, Err(Refused::Bomb { bytes: 2_001, .. })), "{more:?}");
    }
}
