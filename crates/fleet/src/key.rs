//! The key of a controller: made, kept in a file, and its public half in the form that agents pin.

use aws_lc_rs::encoding::{AsBigEndian, Curve25519SeedBin};
use aws_lc_rs::signature::{ED25519, Ed25519KeyPair, KeyPair, UnparsedPublicKey};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
pub use remote::write_secret;
use std::fmt;
use std::fs::OpenOptions;
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// Bytes of a signature.
pub const SIGNATURE_BYTES: usize = 64;
/// Bytes of a seed and of a public key.
const KEY_BYTES: usize = 32;
/// The prefix of a secret key in a file.
const SECRET_PREFIX: &str = "ceiling-controller-secret:";
/// The prefix of the text of a public key.
const PUBLIC_PREFIX: &str = "ceiling-controller:";
/// Size limit of a key file in bytes.
const FILE_BYTES_MAX: u64 = 1024;

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

    /// Writes it to a new file that only its owner may read.
    ///
    /// # Errors
    ///
    /// The file exists already, or cannot be made.
    pub fn write(&self, path: &Path) -> Result<(), KeyError> {
        let seed = self.pair.seed().expect("an ed25519 key has a seed");
        let seed: Curve25519SeedBin<'_> = seed.as_be_bytes().expect("a seed has bytes");
        let line = format!("{SECRET_PREFIX}{}\n", STANDARD.encode(seed.as_ref()));
        write_secret(path, line.as_bytes())
            .map_err(|error| KeyError::Io { path: path.to_path_buf(), error })
    }

    /// Reads it from a file.
    ///
    /// # Errors
    ///
    /// The file does not exist, every user may read it, or it has no key.
    pub fn read(path: &Path) -> Result<Self, KeyError> {
        let failed = |error| KeyError::Io { path: path.to_path_buf(), error };
        let file = OpenOptions::new().read(true).open(path).map_err(failed)?;
        if file.metadata().map_err(failed)?.mode() & 0o007 != 0 {
            return Err(KeyError::Open { path: path.to_path_buf() });
        }
        let mut text = String::new();
        file.take(FILE_BYTES_MAX).read_to_string(&mut text).map_err(failed)?;
        let seed = decoded(&text, SECRET_PREFIX).ok_or(KeyError::Text("key of a controller"))?;
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
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_key_is_kept_from_others_and_read_again() {
        let folder = std::env::temp_dir().join(format!("fleet-key-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir(&folder).unwrap();
        let path = folder.join("controller.key");
        let key = ControllerKey::generate();
        key.write(&path).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        let again = ControllerKey::read(&path).unwrap();
        assert_eq!(again.public(), key.public());
        assert!(matches!(key.write(&path), Err(KeyError::Io { .. })), "never replaced");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o604)).unwrap();
        assert!(matches!(ControllerKey::read(&path), Err(KeyError::Open { .. })));
        fs::write(&path, "nonsense").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        assert!(matches!(ControllerKey::read(&path), Err(KeyError::Text(_))));
        fs::remove_dir_all(folder).unwrap();
    }

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
