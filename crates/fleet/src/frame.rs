//! The contents of one message: numbered items, and values that are only valid now.

use crate::bytes::{Malformed, Reader, Writer};
use crate::message::{Command, Id, Report};
use crate::{ITEM_BYTES_MAX, MESSAGE_BYTES_MAX};
use remote::printable;

/// Most items in one message.
pub const ITEMS_MAX: usize = 1024;

/// An item with its number.
pub type Item = (u64, Vec<u8>);

/// From a controller to an agent, inside an order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Down {
    /// The agent's items up to this number were received.
    pub ack: u64,
    /// A ping: an id that the response repeats.
    pub ping: Option<u64>,
    /// The job's load may go on until this instant, agent's clock.
    pub lease_until_ns: Option<u64>,
    /// Commands.
    pub items: Vec<Item>,
}

/// The times of an agent's response to a ping, agent's clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pong {
    /// Id of the ping.
    pub id: u64,
    /// When the ping arrived, nanoseconds.
    pub received_ns: u64,
    /// When the response left, nanoseconds.
    pub answered_ns: u64,
}

/// From an agent to a controller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Up {
    /// Id of the controller's process.
    pub controller: Id,
    /// Challenge of the agent's process.
    pub challenge: Id,
    /// The controller's items up to this number were received.
    pub ack: u64,
    /// The response to the latest ping.
    pub pong: Option<Pong>,
    /// Reports.
    pub items: Vec<Item>,
}

impl Down {
    /// As bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut writer = Writer::default();
        writer.number(self.ack);
        [self.ping, self.lease_until_ns].into_iter().for_each(|one| write_maybe(&mut writer, one));
        write_items(&mut writer, &self.items);
        writer.into_bytes()
    }

    /// Parses bytes.
    ///
    /// # Errors
    ///
    /// They are malformed.
    pub fn parse(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(bytes);
        let down = Self {
            ack: reader.number()?,
            ping: read_maybe(&mut reader)?,
            lease_until_ns: read_maybe(&mut reader)?,
            items: read_items(&mut reader)?,
        };
        reader.end()?;
        Ok(down)
    }
}

impl Up {
    /// As bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut writer = Writer::default();
        writer.raw(&self.controller.0);
        writer.raw(&self.challenge.0);
        writer.number(self.ack);
        write_maybe(&mut writer, self.pong.map(|pong| pong.id));
        if let Some(pong) = self.pong {
            writer.number(pong.received_ns);
            writer.number(pong.answered_ns);
        }
        write_items(&mut writer, &self.items);
        writer.into_bytes()
    }

    /// Parses bytes.
    ///
    /// # Errors
    ///
    /// They are malformed.
    pub fn parse(bytes: &[u8]) -> Result<Self, Malformed> {
        if bytes.len() > MESSAGE_BYTES_MAX {
            return Err(Malformed::Range("the message"));
        }
        let mut reader = Reader::new(bytes);
        let (controller, challenge) = (Id(reader.array()?), Id(reader.array()?));
        let ack = reader.number()?;
        let pong = match read_maybe(&mut reader)? {
            None => None,
            Some(id) => {
                let (received_ns, answered_ns) = (reader.number()?, reader.number()?);
                Some(Pong { id, received_ns, answered_ns })
            }
        };
        let items = read_items(&mut reader)?;
        reader.end()?;
        Ok(Self { controller, challenge, ack, pong, items })
    }
}

fn write_maybe(writer: &mut Writer, value: Option<u64>) {
    writer.byte(u8::from(value.is_some()));
    if let Some(value) = value {
        writer.number(value);
    }
}

fn read_maybe(reader: &mut Reader<'_>) -> Result<Option<u64>, Malformed> {
    match reader.byte()? {
        0 => Ok(None),
        1 => reader.number().map(Some),
        _ => Err(Malformed::Range("a mark")),
    }
}

fn write_items(writer: &mut Writer, items: &[Item]) {
    writer.number(items.len() as u64);
    for (number, bytes) in items {
        writer.number(*number);
        writer.bytes(bytes);
    }
}

fn read_items(reader: &mut Reader<'_>) -> Result<Vec<Item>, Malformed> {
    let count = reader.count(ITEMS_MAX, "how many items there are")?;
    let mut item = || {
        let number = reader.number()?;
        Ok((number, reader.bytes(ITEM_BYTES_MAX, "the length of an item")?.to_vec()))
    };
    (0..count).map(|_| item()).collect()
}

/// The first byte of an item: its kind.
const WORDS: u8 = 0;
const PIECE: u8 = 1;
const TICK: u8 = 2;

/// Bytes of the kind and the job id at the start of an item.
const HEAD_BYTES: usize = 17;

/// An item from a controller.
#[derive(Debug, Clone, PartialEq)]
pub enum DownItem {
    /// A command.
    Command(Command),
    /// A piece of the data that the last command announced.
    Piece(Vec<u8>),
}

/// An item from an agent.
#[derive(Debug, Clone, PartialEq)]
pub enum UpItem {
    /// A report.
    Report(Report),
    /// A piece of the data that the last report announced.
    Piece(Vec<u8>),
    /// A tick, as [`ticks`](crate::ticks) writes it.
    Tick(Vec<u8>),
}

impl DownItem {
    /// As bytes, with the id of its job.
    pub fn to_bytes(&self, job: Id) -> Vec<u8> {
        match self {
            Self::Command(command) => tagged((WORDS, job), &words(command)),
            Self::Piece(bytes) => tagged((PIECE, job), bytes),
        }
    }

    /// Parses bytes.
    ///
    /// # Errors
    ///
    /// They are malformed; the reason is for people.
    pub fn parse(bytes: &[u8]) -> Result<(Id, Self), String> {
        let (tag, job, rest) = untagged(bytes)?;
        let item = match tag {
            WORDS => Self::Command(read_words(rest)?),
            PIECE => Self::Piece(rest.to_vec()),
            _ => return Err(NO_KIND.to_string()),
        };
        Ok((job, item))
    }
}

impl UpItem {
    /// As bytes, with the id of its job.
    pub fn to_bytes(&self, job: Id) -> Vec<u8> {
        match self {
            Self::Report(report) => tagged((WORDS, job), &words(report)),
            Self::Piece(bytes) => tagged((PIECE, job), bytes),
            Self::Tick(bytes) => tagged((TICK, job), bytes),
        }
    }

    /// Parses bytes.
    ///
    /// # Errors
    ///
    /// They are malformed; the reason is for people.
    pub fn parse(bytes: &[u8]) -> Result<(Id, Self), String> {
        let (tag, job, rest) = untagged(bytes)?;
        let item = match tag {
            WORDS => Self::Report(read_words(rest)?),
            PIECE => Self::Piece(rest.to_vec()),
            TICK => Self::Tick(rest.to_vec()),
            _ => return Err(NO_KIND.to_string()),
        };
        Ok((job, item))
    }
}

const NO_KIND: &str = "it has an unknown kind";

fn words(value: &impl serde::Serialize) -> Vec<u8> {
    serde_json::to_vec(value).expect("a message has a JSON form")
}

fn read_words<T: serde::de::DeserializeOwned>(bytes: &[u8]) -> Result<T, String> {
    // The error may quote the bytes.
    serde_json::from_slice(bytes).map_err(|error| printable(&error.to_string()))
}

fn tagged((tag, job): (u8, Id), bytes: &[u8]) -> Vec<u8> {
    [&[tag][..], &job.0, bytes].concat()
}

fn untagged(bytes: &[u8]) -> Result<(u8, Id, &[u8]), String> {
    let mut reader = Reader::new(bytes);
    let tag = reader.byte().map_err(|error| error.to_string())?;
    let job = Id(reader.array().map_err(|error| error.to_string())?);
    Ok((tag, job, &bytes[HEAD_BYTES..]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn items() -> impl Strategy<Value = Vec<Item>> {
        prop::collection::vec((any::<u64>(), prop::collection::vec(any::<u8>(), 0..40)), 0..5)
    }

    proptest! {
        #[test]
        fn frames_are_read_as_they_were_written(
            ack: u64, ping: Option<u64>, lease_until_ns: Option<u64>, items in items(),
            ids: ([u8; 16], [u8; 16]), pong: Option<(u64, u64, u64)>,
        ) {
            let down = Down { ack, ping, lease_until_ns, items: items.clone() };
            prop_assert_eq!(Down::parse(&down.to_bytes()), Ok(down));
            let pong = pong.map(|(id, received_ns, answered_ns)| {
                Pong { id, received_ns, answered_ns }
            });
            let (controller, challenge) = (Id(ids.0), Id(ids.1));
            let up = Up { controller, challenge, ack, pong, items };
            prop_assert_eq!(Up::parse(&up.to_bytes()), Ok(up));
        }

        #[test]
        fn other_bytes_are_refused_or_mean_one_thing(
            bytes in prop::collection::vec(any::<u8>(), 0..200),
        ) {
            if let Ok(down) = Down::parse(&bytes) {
                prop_assert_eq!(down.to_bytes(), bytes.clone());
            }
            if let Ok(up) = Up::parse(&bytes) {
                prop_assert_eq!(up.to_bytes(), bytes);
            }
        }
    }
}
