//! Frames of HTTP/2: their head and their names (RFC 9113 sections 4.1, 6 and 7).
//!
//! Hot: runs for every frame.

/// Length of the head of a frame, bytes.
pub(super) const HEAD_BYTES: usize = 9;
/// Longest payload of a frame while nothing else was agreed, bytes.
pub(super) const PAYLOAD_MAX: u32 = 16_384;
/// Largest window, and largest stream identifier.
pub(super) const WINDOW_MAX: u32 = 0x7fff_ffff;
/// Windows at the start of a connection, bytes.
pub(super) const WINDOW_INITIAL: u32 = 65_535;

/// A stream identifier and five bytes of a priority that is ignored.
pub(super) const PRIORITY_BYTES: usize = 5;

/// What a client sends first (RFC 9113 section 3.4).
pub(super) const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// Types of frames.
pub(super) mod kind {
    pub const DATA: u8 = 0;
    pub const HEADERS: u8 = 1;
    pub const PRIORITY: u8 = 2;
    pub const RST_STREAM: u8 = 3;
    pub const SETTINGS: u8 = 4;
    pub const PUSH_PROMISE: u8 = 5;
    pub const PING: u8 = 6;
    pub const GOAWAY: u8 = 7;
    pub const WINDOW_UPDATE: u8 = 8;
    pub const CONTINUATION: u8 = 9;
}

/// Flags of frames. One bit has two meanings.
pub(super) mod flag {
    pub const END_STREAM: u8 = 0x1;
    pub const ACK: u8 = 0x1;
    pub const END_HEADERS: u8 = 0x4;
    pub const PADDED: u8 = 0x8;
    pub const PRIORITY: u8 = 0x20;
    /// Only on the tape: what follows this frame waits for a reply.
    pub const WAITS: u8 = 0x80;
}

/// Settings (RFC 9113 section 6.5.2).
pub(super) mod setting {
    pub const HEADER_TABLE_SIZE: u16 = 1;
    pub const ENABLE_PUSH: u16 = 2;
    pub const MAX_CONCURRENT_STREAMS: u16 = 3;
    pub const INITIAL_WINDOW_SIZE: u16 = 4;
    pub const MAX_FRAME_SIZE: u16 = 5;
}

/// Error codes (RFC 9113 section 7).
pub(super) mod code {
    pub const NO_ERROR: u32 = 0;
    pub const PROTOCOL_ERROR: u32 = 1;
    pub const FLOW_CONTROL_ERROR: u32 = 3;
    pub const FRAME_SIZE_ERROR: u32 = 6;
    pub const REFUSED_STREAM: u32 = 7;
    pub const CANCEL: u32 = 8;
    pub const COMPRESSION_ERROR: u32 = 9;
    pub const ENHANCE_YOUR_CALM: u32 = 11;
}

/// The head of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FrameHead {
    /// Bytes of its payload.
    pub length: u32,
    pub kind: u8,
    pub flags: u8,
    /// Its stream; 0 for the connection.
    pub stream: u32,
}

impl FrameHead {
    #[inline]
    pub fn read(bytes: &[u8; HEAD_BYTES]) -> Self {
        let [a, b, c, kind, flags, stream @ ..] = *bytes;
        Self {
            length: u32::from_be_bytes([0, a, b, c]),
            kind,
            flags,
            stream: u32::from_be_bytes(stream) & WINDOW_MAX,
        }
    }

    /// The head at the start of `bytes`, which are long enough.
    #[inline]
    pub fn at(bytes: &[u8]) -> Self {
        let head = bytes.first_chunk().expect("a whole frame");
        Self::read(head)
    }

    /// Appends it.
    pub fn put(self, output: &mut Vec<u8>) {
        output.extend_from_slice(&self.length.to_be_bytes()[1..]);
        output.extend_from_slice(&[self.kind, self.flags]);
        output.extend_from_slice(&self.stream.to_be_bytes());
    }

    #[inline]
    pub fn has(self, flag: u8) -> bool {
        self.flags & flag != 0
    }

    /// Whether a frame of its kind may be as long as it is.
    #[inline]
    pub fn is_sized(self) -> bool {
        let length = self.length;
        match self.kind {
            kind::RST_STREAM | kind::WINDOW_UPDATE => length == 4,
            kind::PRIORITY => length == PRIORITY_BYTES as u32,
            kind::SETTINGS if self.has(flag::ACK) => length == 0,
            kind::SETTINGS => length.is_multiple_of(6),
            kind::PING => length == 8,
            kind::GOAWAY => length >= 8,
            _ => true,
        }
    }
}

/// Appends a whole frame.
pub(super) fn put(kind: u8, flags: u8, stream: u32, payload: &[u8], output: &mut Vec<u8>) {
    FrameHead { length: payload.len() as u32, kind, flags, stream }.put(output);
    output.extend_from_slice(payload);
}
