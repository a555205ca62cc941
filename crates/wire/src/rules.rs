//! Checks responses against rules while their bodies arrive in pieces.
//!
//! No part of a body is kept: the length is counted, the hash is updated, and of a text search only
//! the number of bytes matched so far is remembered from one piece to the next (Knuth, Morris and
//! Pratt 1977). Within a piece, vector instructions find the text.
//!
//! Hot: runs for every piece of every body that is checked.

use crate::message::{Reading, Wanted};
use crate::session::Witness;
use memchr::memmem::Finder;
use model::check::{Check, Checks, Digest, Lengths, Statuses};
use sha2::{Digest as _, Sha256};

/// The lowest status that is a failure unless a check calls it good.
pub const FIRST_ERROR: u16 = 400;

/// The outcome of a complete response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// It is good.
    Good,
    /// A failure by its status.
    ErrorStatus,
    /// Its status is good, and this is the first check that it failed; or its status is no error,
    /// but not one of the good ones.
    Mismatch(Check),
}

impl Fate {
    /// The outcome of a response without checks.
    #[inline]
    pub fn of_status(status: u16) -> Self {
        if status >= FIRST_ERROR { Self::ErrorStatus } else { Self::Good }
    }
}

/// The checks of one target, prepared.
#[derive(Debug)]
pub struct Rules {
    statuses: Option<Statuses>,
    lengths: Option<Lengths>,
    needle: Option<Needle>,
    digest: Option<Digest>,
    wanted: Option<Wanted>,
}

/// A text to search for.
#[derive(Debug)]
struct Needle {
    finder: Finder<'static>,
    /// `borders[i]`: length of the longest proper prefix of the needle's first `i + 1` bytes that
    /// is also their suffix.
    borders: Vec<u32>,
}

/// What must be remembered of the current body on one connection.
#[derive(Debug, Clone, Default)]
pub struct BodyProgress {
    length: u64,
    /// Bytes of the needle matched at the end of the last piece; its whole length when found.
    matched: u32,
    hash: Sha256,
    reading: Reading,
}

/// A body being checked against rules.
pub struct Examined<'a> {
    /// The rules.
    pub rules: &'a Rules,
    /// Its progress so far.
    pub progress: &'a mut BodyProgress,
}

impl Rules {
    /// Prepares checks.
    pub fn new(checks: &Checks) -> Self {
        Self {
            statuses: checks.status.clone(),
            lengths: checks.length,
            needle: checks.body.as_ref().map(|needle| Needle::new(needle.bytes())),
            digest: checks.sha256,
            wanted: (!checks.fields.is_empty()).then(|| Wanted::new(&checks.fields)),
        }
    }

    /// The response is complete: returns its outcome, and resets the progress.
    #[inline]
    pub fn verdict(&self, progress: &mut BodyProgress, status: u16) -> Fate {
        let is_good = self.statuses.as_ref().map(|good| good.holds(status));
        let fate = match is_good {
            Some(false) | None if status >= FIRST_ERROR => Fate::ErrorStatus,
            Some(false) => Fate::Mismatch(Check::Status),
            Some(true) | None => self.examine(progress),
        };
        progress.restart();
        fate
    }

    #[inline]
    fn examine(&self, progress: &mut BodyProgress) -> Fate {
        let failed = if self.lengths.is_some_and(|good| !good.holds(progress.length)) {
            Some(Check::Length)
        } else if self.needle.as_ref().is_some_and(|needle| progress.matched < needle.length()) {
            Some(Check::Body)
        } else if let Some(check) = self.wrong_hash(progress) {
            Some(check)
        } else {
            let is_wrong = self.wanted.is_some() && !progress.reading.holds();
            is_wrong.then_some(Check::Json)
        };
        failed.map_or(Fate::Good, Fate::Mismatch)
    }

    #[inline]
    fn wrong_hash(&self, progress: &mut BodyProgress) -> Option<Check> {
        let good = self.digest.as_ref()?;
        let is_good = progress.hash.finalize_reset()[..] == good.0;
        (!is_good).then_some(Check::Sha256)
    }
}

impl BodyProgress {
    /// Forgets the current body.
    #[inline]
    pub fn restart(&mut self) {
        if self.length > 0 {
            *self = Self::default();
        }
    }
}

impl Witness for Examined<'_> {
    #[inline]
    fn body(&mut self, piece: &[u8]) {
        let (rules, progress) = (self.rules, &mut *self.progress);
        progress.length += piece.len() as u64;
        if let Some(needle) = &rules.needle {
            progress.matched = needle.find(progress.matched, piece);
        }
        if rules.digest.is_some() {
            progress.hash.update(piece);
        }
        if let Some(wanted) = &rules.wanted {
            progress.reading.read(wanted, piece);
        }
    }
}

impl Needle {
    fn new(needle: &[u8]) -> Self {
        let mut borders = vec![0u32; needle.len()];
        for at in 1..needle.len() {
            let mut length = borders[at - 1] as usize;
            while length > 0 && needle[length] != needle[at] {
                length = borders[length - 1] as usize;
            }
            borders[at] = (length + usize::from(needle[length] == needle[at])) as u32;
        }
        Self { finder: Finder::new(needle).into_owned(), borders }
    }

    fn length(&self) -> u32 {
        self.borders.len() as u32
    }

    /// Continues in a piece, with `matched` bytes matched at the end of the one before.
    fn find(&self, matched: u32, piece: &[u8]) -> u32 {
        let (mut matched, mut at) = (matched, 0);
        // A match may have started in the piece before.
        while matched > 0 && matched < self.length() && at < piece.len() {
            matched = self.step(matched, piece[at]);
            at += 1;
        }
        let rest = &piece[at..];
        if matched > 0 || rest.is_empty() {
            return matched;
        }
        if self.finder.find(rest).is_some() {
            return self.length();
        }
        // And one may start at the end of this one.
        let tail = &rest[rest.len() - rest.len().min(self.borders.len() - 1)..];
        tail.iter().fold(0, |matched, &byte| self.step(matched, byte))
    }

    /// One more byte, while the match is incomplete.
    fn step(&self, matched: u32, byte: u8) -> u32 {
        let needle = self.finder.needle();
        let mut matched = matched as usize;
        while matched > 0 && needle[matched] != byte {
            matched = self.borders[matched - 1] as usize;
        }
        (matched + usize::from(needle[matched] == byte)) as u32
    }
}
