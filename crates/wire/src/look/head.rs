//! Header fields of a response of HTTP/1.1, from its bytes as they arrive.
//!
//! For: steps that capture fields, and cookies. The session has examined the same bytes already, so
//! what is malformed never comes here as a response.
//! In: the bytes of one response, in pieces. Out: each field once; interim responses have none.
//!
//! Hot: runs for every response of a flow.

use memchr::memchr;

/// Longest line that is kept, bytes; a longer one is shown cut.
const LINE_MAX: usize = 8 * 1024;

/// See the module.
#[derive(Debug, Default)]
pub struct HeadLines {
    line: Vec<u8>,
    has_begun: bool,
    is_interim: bool,
    is_over: bool,
}

impl HeadLines {
    /// Another response begins.
    pub fn restart(&mut self) {
        self.line.clear();
        (self.has_begun, self.is_interim, self.is_over) = (false, false, false);
    }

    /// Continues with a piece of the response.
    #[inline]
    pub fn read(&mut self, piece: &[u8], mut show: impl FnMut(&[u8], &[u8])) {
        let mut rest = piece;
        while !self.is_over && !rest.is_empty() {
            let end = memchr(b'\n', rest);
            let (part, after) = rest.split_at(end.map_or(rest.len(), |at| at + 1));
            let room = LINE_MAX.saturating_sub(self.line.len());
            self.line.extend_from_slice(&part[..part.len().min(room)]);
            rest = after;
            if end.is_some() {
                self.end_line(&mut show);
            }
        }
    }

    fn end_line(&mut self, show: &mut impl FnMut(&[u8], &[u8])) {
        let line = self.line.trim_ascii_end();
        if line.starts_with(b"HTTP/") {
            self.has_begun = true;
            self.is_interim = line
                .split(|byte| *byte == b' ')
                .nth(1)
                .is_some_and(|status| status.starts_with(b"1"));
        } else if line.is_empty() {
            // Empty lines before a response are skipped; behind an interim one another follows.
            self.is_over = !self.is_interim && self.has_begun;
        } else if let Some(colon) = memchr(b':', line).filter(|_| !self.is_interim) {
            show(&line[..colon], line[colon + 1..].trim_ascii());
        }
        self.line.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Each field once, wherever the pieces are cut; nothing of the body.
        #[test]
        fn fields_are_found_in_pieces(cut in 1usize..200) {
            let response = b"HTTP/1.1 100 Continue\r\nX-Early: no\r\n\r\nHTTP/1.1 200 OK\r\n\
                             Set-Cookie: a=b; Path=/\r\nEmpty:\r\nset-cookie:c=d \r\n\r\n\
                             body: no\r\n";
            let (mut lines, mut seen) = (HeadLines::default(), Vec::new());
            for _ in 0..2 {
                lines.restart();
                seen.clear();
                for piece in response.chunks(cut) {
                    lines.read(piece, |name, value| seen.push([name, value].map(<[u8]>::to_vec)));
                }
            }
            let text = |text: &str| text.as_bytes().to_vec();
            prop_assert_eq!(&seen, &[
                [text("Set-Cookie"), text("a=b; Path=/")],
                [text("Empty"), text("")],
                [text("set-cookie"), text("c=d")],
            ]);
        }
    }
}
