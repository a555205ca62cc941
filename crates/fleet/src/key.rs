//! The key of a controller, and its public half in the form that agents pin.

use aws_lc_rs::encoding::{AsBigEndian, Curve25519SeedBin};
use aws_lc_rs::signature::{ED25519, Ed25519KeyPair, KeyPair, UnparsedPublicKey};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use std::fmt;
use std::io;
use std::path::PathBuf;
use std::str::FromStr;

/// Bytes of a signature.
pub const SIGNATURE_BYTES: usize = 64;
/// Bytes of a seed and of a public key.
const KEY_BYTES: usize = 32;
/// The prefix of a secret key in a file.
const SECRET_PREFIX: &str = "ceiling-controller-secret:";
/// The prefix of the text of a public key.
const PUBLIC_PREFIX: &str = "ceiling-controller:";

/// Why a key cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    /// The text is not a key.
    #[error("it is not a {0}")]
    Text(&'static str),
    /// An error of the system.
    #[error("{}: {error}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The reason of the system.
        error: io::Error,
    },
    /// Every user may read the secret. A group may read it, because Kubernetes mounts secrets so.
    #[error("{0}: every user can read it; restrict it, for example chmod 600 {0}", path.display())]
    Open {
        /// The file.
        path: PathBuf,
    },
}

/// The secret key of a controller.
#[derive(Debug)]
pub struct ControllerKey {
    pair: Ed25519KeyPair,
}

impl ControllerKey {
    /// A new random key.
    pub fn generate() -> Self {
        Self { pair: Ed25519KeyPair::generate().expect("the system gives random bytes") }
    }

    /// The key of a seed of 32 bytes.
    pub fn of_seed(seed: &[u8; KEY_BYTES]) -> Self {
        let pair = Ed25519KeyPair::from_seed_unchecked(seed);
        Self { pair: pair.expect("every seed of this length is one") }
    }

    /// The public half, which agents pin.
    pub fn public(&self) -> PublicKey {
        let bytes = self.pair.public_key().as_ref().try_into();
        PublicKey(bytes.expect("a public key has 32 bytes"))
    }

    /// Signs a message.
    pub fn sign(&self, message: &[u8]) -> [u8; SIGNATURE_BYTES] {
        let signature = self.pair.sign(message);
        signature.as_ref().try_into().expect("a signature has 64 bytes")
    }

    /// Its secret, as a file holds it.
    pub(crate) fn secret(&self) -> String {
        let seed = self.pair.seed().expect("an ed25519 key has a seed");
        let seed: Curve25519SeedBin<'_> = seed.as_be_bytes().expect("a seed has bytes");
        format!("{SECRET_PREFIX}{}\n", STANDARD.encode(seed.as_ref()))
    }

    /// The key of such a secret.
    pub(crate) fn of_secret(text: &str) -> Result<Self, KeyError> {
        let seed = decoded(text, SECRET_PREFIX).ok_or(KeyError::Text("key of a controller"))?;
        Ok(Self::of_seed(&seed))
    }
}

fn decoded(text: &str, prefix: &str) -> Option<[u8; KEY_BYTES]> {
    let bytes = STANDARD.decode(text.trim().strip_prefix(prefix)?).ok()?;
    bytes.try_into().ok()
}

/// The public key of a controller, as agents pin it: `ceiling-controller:` and base64.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct PublicKey([u8; KEY_BYTES]);

impl PublicKey {
    /// Whether a signature of a message was made with the secret half.
    pub fn verifies(&self, message: &[u8], signature: &[u8]) -> bool {
        UnparsedPublicKey::new(&ED25519, &self.0).verify(message, signature).is_ok()
    }
}

impl fmt::Display for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{PUBLIC_PREFIX}{}", STANDARD.encode(self.0))
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for PublicKey {
    type Err = KeyError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let bytes = decoded(text, PUBLIC_PREFIX);
        bytes.map(Self).ok_or(KeyError::Text("public key of a controller"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signature_is_of_one_message_and_one_key() {
        let (key, other) = (ControllerKey::of_seed(&[1; 32]), ControllerKey::of_seed(&[2; 32]));
        let public: PublicKey = key.public().to_string().parse().unwrap();
        let signature = key.sign(b"message");
        assert!(public.verifies(b"message", &signature));
        assert!(!public.verifies(b"massage", &signature));
        assert!(!public.verifies(b"message", &signature[1..]));
        assert!(!other.public().verifies(b"message", &signature));
        assert!("ceiling-controller:AAAA".parse::<PublicKey>().is_err());
    }
}
