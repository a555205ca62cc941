//! Messages as JSON, so that a person can read them.

use prost::Message as _;
use prost_reflect::{DynamicMessage, MessageDescriptor};
use std::io::{self, Write};

/// What ends a text of which there is more.
const MORE: &str = "..";

/// The messages of a body, with their prefixes, each as JSON. All of them together have at most
/// `room` bytes; what is cut ends in two dots.
pub(crate) fn shown(of: &MessageDescriptor, body: &[u8], room: usize) -> Vec<String> {
    let (mut rest, mut room, mut shown) = (body, room, Vec::new());
    while !rest.is_empty() {
        if room == 0 {
            shown.push(MORE.to_string());
            break;
        }
        let text = match rest.split_first_chunk::<5>() {
            Some(([0, length @ ..], after)) => {
                let length = u32::from_be_bytes(*length) as usize;
                rest = after.get(length..).unwrap_or_default();
                message(of, &after[..length.min(after.len())], (length, room))
            }
            Some(_) => {
                rest = &[];
                "a compressed message".to_string()
            }
            None => {
                rest = &[];
                MORE.to_string()
            }
        };
        room = room.saturating_sub(text.len());
        shown.push(text);
    }
    shown
}

/// A message of `length` bytes, of which these are there.
fn message(of: &MessageDescriptor, bytes: &[u8], (length, room): (usize, usize)) -> String {
    let is_whole = bytes.len() == length;
    let mut message = DynamicMessage::new(of.clone());
    // Of a part the fields are read that are whole.
    if message.merge(bytes).is_err() && is_whole {
        return format!("{length} bytes that are no {}", of.full_name());
    }
    let mut text = Bounded { text: Vec::new(), room };
    let why = serde_json::to_writer(&mut text, &message).err();
    let is_cut = why.as_ref().is_some_and(serde_json::Error::is_io);
    match why {
        Some(why) if !is_cut => format!("{length} bytes that have no JSON ({why})"),
        _ if is_cut || !is_whole => text.whole() + MORE,
        _ => text.whole(),
    }
}

/// A text that takes no more bytes than it has room for.
struct Bounded {
    text: Vec<u8>,
    room: usize,
}

impl Bounded {
    /// The characters that are whole.
    fn whole(self) -> String {
        self.text.utf8_chunks().next().map_or_else(String::new, |chunk| chunk.valid().to_string())
    }
}

impl Write for Bounded {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let taken = bytes.len().min(self.room - self.text.len());
        self.text.extend_from_slice(&bytes[..taken]);
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
