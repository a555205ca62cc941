//! TLS without sockets: records in, plain bytes out, and vice versa.
//!
//! A [`Recipe`] is made once from plain values; each worker has a [`Client`] made from it, and each
//! connection a [`TlsSession`]. The protocol itself is that of rustls, used through its in-memory
//! calls; nothing of it is visible outside this module.
//!
//! rustls allocates: one buffer for each record it encrypts or decrypts. Nothing here adds to
//! that after the handshake.
//!
//! Hot: runs for every request over TLS.

mod config;
mod failure;
mod tickets;
mod trusted;

pub use config::{Agreed, Client, Identity, Recipe, RecipeError, Settings, certificates};
pub use failure::Failure;

use config::Pocket;
use rustls::{ClientConnection, HandshakeKind};
use std::io::{Read, Write};
use std::sync::Arc;

/// The TLS state of one connection.
#[derive(Debug)]
pub struct TlsSession {
    tls: ClientConnection,
    is_shaking: bool,
    peer_has_closed: bool,
    failure: Option<Failure>,
    pocket: Arc<Pocket>,
}

impl TlsSession {
    /// Whether the handshake is still under way.
    #[inline]
    pub fn is_shaking(&self) -> bool {
        self.is_shaking
    }

    /// Whether the handshake resumed an earlier session; false before its end.
    pub fn is_resumed(&self) -> bool {
        self.tls.handshake_kind() == Some(HandshakeKind::Resumed)
    }

    /// Takes records from the front of `input` and writes their plain bytes to `plain`, which must
    /// not be empty; returns how many. Zero with an empty `input` means that no more can be
    /// decrypted from it. It returns early, with zero, at the very end of the handshake. Plain
    /// bytes that came before an error are returned before it, and every later call returns the
    /// error again.
    #[inline]
    pub fn receive(&mut self, input: &mut &[u8], plain: &mut [u8]) -> Result<usize, Failure> {
        let mut filled = 0;
        loop {
            // Fails when there is nothing to read now; `peer_has_closed` reports the end.
            filled += self.tls.reader().read(&mut plain[filled..]).unwrap_or(0);
            if filled == plain.len() {
                return Ok(filled);
            }
            if let Some(failure) = &self.failure {
                return if filled > 0 { Ok(filled) } else { Err(failure.again()) };
            }
            if input.is_empty() {
                return Ok(filled);
            }
            self.take_records(input);
            if self.is_shaking && self.failure.is_none() && !self.tls.is_handshaking() {
                self.is_shaking = false;
                return Ok(filled);
            }
        }
    }

    fn take_records(&mut self, input: &mut &[u8]) {
        let taken = self.tls.read_tls(input);
        match self.tls.process_new_packets() {
            Ok(state) => self.peer_has_closed = state.peer_has_closed(),
            Err(error) => {
                self.failure = Some(Failure::of(&error, self.pocket.asked()));
            }
        }
        if !matches!(taken, Ok(1..)) {
            // Nothing is read after the peer has closed.
            *input = &[];
        }
    }

    /// Encrypts plain bytes; the records wait for [`TlsSession::take_output`].
    #[inline]
    pub fn send(&mut self, plain: &[u8]) {
        let taken = self.tls.writer().write(plain);
        debug_assert!(matches!(taken, Ok(count) if count == plain.len()), "there is no limit");
    }

    /// Appends all waiting records to `output`.
    #[inline]
    pub fn take_output(&mut self, output: &mut Vec<u8>) {
        while self.tls.wants_write() {
            if self.tls.write_tls(output).is_err() {
                return;
            }
        }
    }

    /// Whether the peer announced that nothing more will come (close_notify).
    #[inline]
    pub fn peer_has_closed(&self) -> bool {
        self.peer_has_closed
    }

    /// Announces that nothing more will be sent.
    pub fn close(&mut self) {
        self.tls.send_close_notify();
    }

    /// Whether version 1.3 was negotiated.
    pub fn is_version_13(&self) -> bool {
        self.tls.protocol_version() == Some(rustls::ProtocolVersion::TLSv1_3)
    }

    /// Tickets that the server sent for later sessions.
    pub fn tickets(&self) -> u32 {
        self.tls.tls13_tickets_received()
    }

    /// What was negotiated; `None` before the end of the handshake.
    // Cold: once before a run.
    pub fn agreed(&self) -> Option<Agreed> {
        let (version, cipher) = (self.tls.protocol_version()?, self.tls.negotiated_cipher_suite()?);
        let group = self.tls.negotiated_key_exchange_group();
        let alpn = self.tls.alpn_protocol();
        Some(Agreed {
            version: config::name_of(&version).replace("TLSv1_", "TLSv1."),
            cipher: config::name_of(&cipher.suite()).replace("TLS13_", "TLS_"),
            group: group.map(|group| config::name_of(&group.name())),
            alpn: alpn.map(|name| String::from_utf8_lossy(name).into_owned()),
        })
    }
}

#[cfg(test)]
mod tests;
