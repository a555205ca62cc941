//! The lines of a file, one after another.

/// See the module.
#[derive(Debug, Clone)]
pub struct Lines<'a> {
    rest: &'a str,
    number: u32,
}

impl<'a> Lines<'a> {
    /// All lines of a text. A mark of the byte order at its beginning is none of it.
    pub fn new(text: &'a str) -> Self {
        Self { rest: text.strip_prefix('\u{feff}').unwrap_or(text), number: 1 }
    }

    /// The number of the line that comes next, from 1.
    pub fn number(&self) -> u32 {
        self.number
    }

    /// Everything that was not taken, from the beginning of a line.
    pub fn rest(&self) -> &'a str {
        self.rest
    }

    /// The next line without its end, which is not taken.
    pub fn peek(&self) -> Option<&'a str> {
        let line = self.rest.split('\n').next().filter(|_| !self.rest.is_empty())?;
        Some(line.strip_suffix('\r').unwrap_or(line))
    }

    /// Takes the next line.
    pub fn take(&mut self) -> Option<&'a str> {
        let line = self.peek()?;
        let end = self.rest.find('\n').map_or(self.rest.len(), |at| at + 1);
        self.rest = &self.rest[end..];
        self.number += 1;
        Some(line)
    }

    /// Takes so many bytes, and the line ends in them.
    pub fn take_bytes(&mut self, count: usize) -> &'a str {
        let (taken, rest) = self.rest.split_at(count);
        self.number += taken.bytes().filter(|byte| *byte == b'\n').count() as u32;
        self.rest = rest;
        taken
    }

    /// Takes lines that are empty or comments; returns the next one that is neither, which is not
    /// taken.
    pub fn skip_blank(&mut self) -> Option<&'a str> {
        loop {
            let line = self.peek()?;
            let text = line.trim();
            if !text.is_empty() && !text.starts_with('#') {
                return Some(line);
            }
            self.take();
        }
    }
}
