//! Messages in a stream of bytes: four bytes of length, then JSON.

use crate::printable::printable;
use serde::Serialize;
use serde::de::DeserializeOwned;

const LENGTH_BYTES: usize = 4;

/// Why bytes are not a message.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// Longer than allowed, or not a length at all.
    #[error("a message of {bytes} bytes, above the limit of {bytes_max}")]
    TooLong {
        /// As announced.
        bytes: u32,
        /// The limit.
        bytes_max: usize,
    },
    /// Not a message of this protocol.
    #[error("a malformed message: {0}")]
    Malformed(String),
}

/// The bytes of a message.
pub fn encode(message: &impl Serialize) -> Vec<u8> {
    let mut bytes = vec![0; LENGTH_BYTES];
    // Messages are plain values with names as keys, which always have a JSON form.
    serde_json::to_writer(&mut bytes, message).expect("a message has a JSON form");
    let length = u32::try_from(bytes.len() - LENGTH_BYTES).expect("a message is below 4 GiB");
    bytes[..LENGTH_BYTES].copy_from_slice(&length.to_be_bytes());
    bytes
}

/// Collects bytes until messages are whole. Holds no more than one message and what was added last.
#[derive(Debug)]
pub struct Frames {
    buffer: Vec<u8>,
    bytes_max: usize,
}

impl Frames {
    /// For messages of at most this many bytes.
    pub fn new(bytes_max: usize) -> Self {
        Self { buffer: Vec::new(), bytes_max }
    }

    /// Adds what has arrived.
    pub fn add(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    /// The bytes of the next whole message. After an error the stream is useless.
    pub fn next_bytes(&mut self) -> Result<Option<Vec<u8>>, FrameError> {
        let Some((length, behind)) = self.buffer.split_first_chunk::<LENGTH_BYTES>() else {
            return Ok(None);
        };
        let bytes = u32::from_be_bytes(*length);
        let length = bytes as usize;
        if length > self.bytes_max {
            return Err(FrameError::TooLong { bytes, bytes_max: self.bytes_max });
        }
        if behind.len() < length {
            return Ok(None);
        }
        let message = behind[..length].to_vec();
        self.buffer.drain(..LENGTH_BYTES + length);
        Ok(Some(message))
    }

    /// The next whole message.
    pub fn next_message<T: DeserializeOwned>(&mut self) -> Result<Option<T>, FrameError> {
        self.next_bytes()?.map(|bytes| parse(&bytes)).transpose()
    }
}

/// A message from its JSON. The error may quote the bytes, so control characters are escaped.
pub fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, FrameError> {
    let malformed = |error: serde_json::Error| FrameError::Malformed(printable(&error.to_string()));
    serde_json::from_slice(bytes).map_err(malformed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::{
        Farewell, FromProbe, Hello, Pong, Purpose, Started, ToProbe, VERSION, Welcome,
    };
    use model::facts::{ServerFacts, Unreadable};
    use model::reading::{Data, Listener, Reading};
    use model::starting::{Limits, StartOrder, TargetExit};
    use proptest::prelude::*;

    fn to_probe() -> impl Strategy<Value = ToProbe> {
        let place = any::<(Option<std::net::IpAddr>, Option<u16>)>();
        let hello = (any::<String>(), place, any::<u64>(), any::<Option<u64>>()).prop_map(
            |(token, (ip, port), period_ns, ends_after_ns)| {
                let (version, purpose) = (VERSION, Purpose::Tune);
                let hello = Hello { version, token, ip, port, period_ns, ends_after_ns, purpose };
                ToProbe::Hello(hello)
            },
        );
        let ping = any::<u64>().prop_map(|sent_ns| ToProbe::Ping { sent_ns });
        let words = prop::collection::vec(any::<String>(), 0..4);
        let env = prop::collection::btree_map(any::<String>(), any::<String>(), 0..4);
        let start = (any::<(String, String)>(), words.clone(), words, env, any::<Option<u64>>());
        let start = start.prop_map(|((server, cpus), args, services, env, memory_bytes)| {
            let limits = Limits { cpu: memory_bytes.map(|_| 0.5), memory_bytes };
            ToProbe::Start(Box::new(StartOrder { server, args, env, cpus, services, limits }))
        });
        prop_oneof![hello, ping, start, Just(ToProbe::Stop)]
    }

    fn from_probe() -> impl Strategy<Value = FromProbe> {
        let data = prop_oneof![
            any::<(u64, u32, u32)>().prop_map(|(cookie, queued, backlog)| {
                Data::Listeners(vec![Listener { cookie, queued, backlog }])
            }),
            any::<(String, String)>()
                .prop_map(|(source, why)| Data::Unreadable(Unreadable { source, why })),
        ];
        let reading = (any::<(u64, u64)>(), data).prop_map(|((begin_ns, end_ns), data)| {
            FromProbe::Reading(Reading { begin_ns, end_ns, data })
        });
        let pong = any::<(u64, u64, i64, u64)>();
        let pong = pong.prop_map(|(sent_ns, received_ns, wall_ns, answered_ns)| {
            FromProbe::Pong(Pong { sent_ns, received_ns, wall_ns, answered_ns })
        });
        let words = prop::collection::vec(any::<String>(), 0..4);
        let started = (any::<(String, String)>(), words, any::<u32>());
        let started = started.prop_map(|((name, addr), words, pid)| {
            FromProbe::Started(Box::new(Started { name, words, addr, pid }))
        });
        let ended = any::<(Option<String>, Option<String>)>().prop_map(|(stopped, fault)| {
            let stopped = stopped.map(serde_json::Value::String);
            FromProbe::Ended(Box::new(TargetExit { stopped, fault }))
        });
        let line = any::<String>().prop_map(|text| FromProbe::Line { text });
        let refused = any::<String>().prop_map(|why| FromProbe::NotStarted { why });
        let bye = Just(FromProbe::Bye { why: Farewell::Asked });
        prop_oneof![reading, pong, started, ended, line, refused, bye]
    }

    /// Adds bytes in pieces and takes whatever becomes whole.
    fn through<T: DeserializeOwned>(bytes: &[u8], piece: usize) -> Result<Vec<T>, FrameError> {
        let (mut frames, mut taken) = (Frames::new(4096), Vec::new());
        for piece in bytes.chunks(piece) {
            frames.add(piece);
            while let Some(message) = frames.next_message()? {
                taken.push(message);
            }
        }
        Ok(taken)
    }

    proptest! {
        #[test]
        fn messages_survive_the_way_in_any_pieces(
            there in prop::collection::vec(to_probe(), 1..5),
            back in prop::collection::vec(from_probe(), 1..5),
            piece in 1usize..50,
        ) {
            let bytes: Vec<u8> = there.iter().flat_map(encode).collect();
            prop_assert_eq!(through::<ToProbe>(&bytes, piece).unwrap(), there);
            let bytes: Vec<u8> = back.iter().flat_map(encode).collect();
            prop_assert_eq!(through::<FromProbe>(&bytes, piece).unwrap(), back);
        }

        /// A word that is not JSON of ours in place of each part of an order.
        #[test]
        fn an_order_with_other_parts_ends_in_an_error_or_in_nothing(
            part in 0usize..6,
            value in prop_oneof![
                any::<String>().prop_map(serde_json::Value::String),
                any::<f64>().prop_map(serde_json::Value::from),
                Just(serde_json::Value::Null),
                Just(serde_json::json!([[]])),
                Just(serde_json::json!({ "cpu": "inf", "memory_bytes": -1 })),
            ],
        ) {
            let mut order = serde_json::to_value(ToProbe::Start(Box::default())).unwrap();
            let names = ["server", "args", "env", "cpus", "services", "limits"];
            order[names[part]] = value;
            let _ = through::<ToProbe>(&encode(&order), 7);
        }

        #[test]
        fn garbage_ends_in_an_error_or_in_nothing(
            bytes in prop::collection::vec(any::<u8>(), 0..600),
            piece in 1usize..50,
        ) {
            let _ = through::<ToProbe>(&bytes, piece);
            let mut framed = (bytes.len() as u32).to_be_bytes().to_vec();
            framed.extend(&bytes);
            let _ = through::<FromProbe>(&framed, piece);
        }
    }

    #[test]
    fn a_server_with_pinned_threads_survives_the_way() {
        let own = probe::server_facts(std::process::id(), None, "test").unwrap();
        let server = ServerFacts { pinned_threads: [(7, vec![0, 3])].into(), ..own };
        let (program, host) = ("1".to_string(), probe::host_facts());
        let privilege = probe::privilege(None);
        let welcome = Welcome { program, host, server: Some(server), unseen: None, privilege };
        let welcome = FromProbe::Welcome(Box::new(welcome));
        let bytes = encode(&welcome);
        let mut frames = Frames::new(1 << 20);
        frames.add(&bytes);
        assert_eq!(frames.next_message::<FromProbe>().unwrap(), Some(welcome));
    }

    #[test]
    fn what_an_error_quotes_drives_no_terminal() {
        let error =
            parse::<ToProbe>(br#"{"kind":"\u001b[2J\nall is well"}"#).unwrap_err().to_string();
        assert!(error.contains("all is well"), "{error}");
        assert!(!error.contains(char::is_control), "{error:?}");
    }

    #[test]
    fn a_message_that_is_too_long_is_refused_at_its_length() {
        let mut frames = Frames::new(100);
        frames.add(&[0, 0, 0, 101]);
        let refused = frames.next_bytes().unwrap_err();
        assert_eq!(refused, FrameError::TooLong { bytes: 101, bytes_max: 100 });
        let mut frames = Frames::new(100);
        frames.add(b"GET / HTTP/1.1\r\n\r\n");
        assert!(matches!(frames.next_bytes(), Err(FrameError::TooLong { .. })));
    }
}
