//! A chunked request body (RFC 9112 section 7.1), byte by byte, nothing kept.

use crate::refusal::{HEAD_BYTES_MAX, REQUEST_BODY_BYTES_MAX, Refusal};

/// The position in the body.
#[derive(Debug, Default)]
pub struct Chunks {
    place: Place,
    /// The size line so far, then the data still to come.
    remaining: u64,
    /// All data so far.
    total: u64,
    /// Length of the size line or the trailer under way.
    line_bytes: usize,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Before the first digit of a size.
    #[default]
    SizeBegin,
    Size,
    Extension,
    SizeFeed,
    Data,
    DataReturn,
    DataFeed,
    TrailerLine,
    Trailer,
    TrailerFeed,
    LastFeed,
}

impl Chunks {
    /// Consumes bytes from the front of `input`; true when the body is complete.
    pub fn receive(&mut self, input: &mut &[u8]) -> Result<bool, Refusal> {
        while let Some((&byte, rest)) = input.split_first() {
            if self.place == Place::Data {
                let taken = self.remaining.min(input.len() as u64);
                *input = &input[taken as usize..];
                self.remaining -= taken;
                if self.remaining == 0 {
                    self.place = Place::DataReturn;
                }
                continue;
            }
            *input = rest;
            if self.place == Place::LastFeed && byte == b'\n' {
                return Ok(true);
            }
            self.place = self.after(byte)?;
        }
        Ok(false)
    }

    fn after(&mut self, byte: u8) -> Result<Place, Refusal> {
        self.count_line(byte)?;
        match (self.place, byte) {
            (Place::SizeBegin | Place::Size, digit) if digit.is_ascii_hexdigit() => {
                self.add_digit(digit)
            }
            (Place::Size, b';' | b' ' | b'\t') => Ok(Place::Extension),
            (Place::Extension, byte) if !matches!(byte, b'\r' | b'\n') => Ok(Place::Extension),
            (Place::Size | Place::Extension, b'\r') => Ok(Place::SizeFeed),
            (Place::SizeFeed, b'\n') => self.end_size(),
            (Place::DataReturn, b'\r') => Ok(Place::DataFeed),
            (Place::DataFeed, b'\n') => Ok(Place::SizeBegin),
            (Place::TrailerLine, b'\r') => Ok(Place::LastFeed),
            (Place::Trailer, b'\r') => Ok(Place::TrailerFeed),
            (Place::TrailerFeed, b'\n') => Ok(Place::TrailerLine),
            (Place::TrailerLine | Place::Trailer, byte) if byte != b'\n' => Ok(Place::Trailer),
            _ => Err(Refusal::Malformed),
        }
    }

    /// Bounds the time that size lines and trailers can take.
    fn count_line(&mut self, byte: u8) -> Result<(), Refusal> {
        match self.place {
            Place::DataReturn | Place::DataFeed => self.line_bytes = 0,
            _ => self.line_bytes += 1,
        }
        // Checks byte by byte, so that the result does not depend on how input is split.
        let fits = self.line_bytes <= HEAD_BYTES_MAX || byte == b'\n';
        fits.then_some(()).ok_or(Refusal::HeadTooLong)
    }

    fn add_digit(&mut self, digit: u8) -> Result<Place, Refusal> {
        let value = (digit as char).to_digit(16).unwrap_or(0);
        self.remaining = self.remaining * 16 + u64::from(value);
        if self.total + self.remaining > REQUEST_BODY_BYTES_MAX {
            return Err(Refusal::BodyTooLong);
        }
        Ok(Place::Size)
    }

    fn end_size(&mut self) -> Result<Place, Refusal> {
        self.total += self.remaining;
        self.line_bytes = 0;
        Ok(if self.remaining == 0 { Place::TrailerLine } else { Place::Data })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole(text: &str) -> Result<(bool, usize), Refusal> {
        let mut input = text.as_bytes();
        let complete = Chunks::default().receive(&mut input)?;
        Ok((complete, input.len()))
    }

    #[test]
    fn a_body_ends_after_its_last_chunk_and_trailer() {
        assert_eq!(whole("0\r\n\r\n"), Ok((true, 0)));
        assert_eq!(
            whole("5;ext=1\r\nhello\r\n1A\r\nabcdefghijklmnopqrstuvwxyz\r\n0\r\n\r\nGET"),
            Ok((true, 3))
        );
        assert_eq!(whole("0\r\nX-Sum: 1\r\nY: 2\r\n\r\n"), Ok((true, 0)));
        assert_eq!(whole("5\r\nhel"), Ok((false, 0)));
    }

    #[test]
    fn malformed_chunks_are_refused() {
        for wrong in
            ["\r\n", "x\r\n", "5\nhello", "5\r\nhello!", "5\r\nhello\n", "0\r\n\n", ";a\r\n"]
        {
            assert_eq!(whole(wrong), Err(Refusal::Malformed), "{wrong:?}");
        }
    }

    #[test]
    fn endless_things_are_refused() {
        assert_eq!(whole("FFFFFFFFFFFFFFFFFF\r\n"), Err(Refusal::BodyTooLong));
        assert_eq!(whole(&"0".repeat(HEAD_BYTES_MAX + 1)), Err(Refusal::HeadTooLong));
        assert_eq!(whole(&format!("5;{}", "x".repeat(HEAD_BYTES_MAX))), Err(Refusal::HeadTooLong));
        assert_eq!(whole(&format!("0\r\n{}", "x: y\r\n".repeat(9_000))), Err(Refusal::HeadTooLong));
    }
}
