//! SHA-256 sums, and their list as `sha256sum` writes it.

use crate::Refused;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::io::{self, Write};

/// Hexadecimal digits of a SHA-256.
const DIGITS: usize = 64;

/// A writer that sums what passes through it.
pub(crate) struct Summed<W> {
    pub(crate) to: W,
    hash: Sha256,
    pub(crate) bytes: u64,
}

impl<W> Summed<W> {
    pub(crate) fn new(to: W) -> Self {
        Self { to, hash: Sha256::new(), bytes: 0 }
    }

    /// The sum as lower-case hexadecimal digits.
    pub(crate) fn sum(self) -> String {
        self.hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

impl<W: Write> Write for Summed<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.to.write(bytes)?;
        self.hash.update(&bytes[..written]);
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

/// One line of the list.
pub(crate) fn line(sum: &str, path: &str) -> String {
    format!("{sum}  {path}\n")
}

/// The sums of an untrusted list by path.
///
/// # Errors
///
/// A line is not as `sha256sum` writes it, or a path is listed twice.
pub(crate) fn parse(bytes: &[u8]) -> Result<BTreeMap<String, String>, Refused> {
    let text = std::str::from_utf8(bytes);
    let text = text.map_err(|_| Refused::Sums("it is not UTF-8".to_string()))?;
    let mut sums = BTreeMap::new();
    for (index, line) in text.lines().enumerate() {
        let wrong = |why: &str| Refused::Sums(format!("line {}: {why}", index + 1));
        let (sum, path) = line.split_at_checked(DIGITS).ok_or_else(|| wrong("it is too short"))?;
        let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        let path = path.strip_prefix("  ").or_else(|| path.strip_prefix(" *"));
        let Some(path) = path.filter(|_| sum.bytes().all(is_digit)) else {
            return Err(wrong("it is not 64 hexadecimal digits, two blanks and a name"));
        };
        if sums.insert(path.to_string(), sum.to_string()).is_some() {
            return Err(wrong("it names a file for the second time"));
        }
    }
    Ok(sums)
}
