//! SSH signatures (SSHSIG): made with an existing key of the user, and verified.
//!
//! `ssh-keygen -Y verify` verifies them as well, in the namespace [`NAMESPACE`]. This module reads
//! Ed25519 keys; aws-lc does the cryptography.

mod key;
mod trusted;

pub use key::{Key, KeyFault};
pub use trusted::{NoKey, Trusted};

use aws_lc_rs::signature::{ED25519, UnparsedPublicKey};
use ssh_key::public::KeyData;
use ssh_key::{Algorithm, HashAlg, LineEnding, SshSig};

/// The purpose of the signature: signatures for other purposes are not valid for an archive.
pub const NAMESPACE: &str = "ceiling.pack";

/// The result of checking a signature.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Signed {
    /// There is none.
    No,
    /// It is valid, and made by a trusted key.
    Good {
        /// The comment of the key, or its fingerprint.
        key: String,
    },
    /// It is valid, and no trusted keys were given.
    Unknown {
        /// Fingerprint of the key.
        key: String,
    },
    /// It is valid, and made by none of the trusted keys.
    Other {
        /// Fingerprint of the key.
        key: String,
    },
    /// It is not valid, or cannot be checked.
    Bad {
        /// Why.
        why: String,
    },
}

/// Checks the signature of a message against keys; without keys, only whether it is valid.
pub fn check(message: &[u8], signature: Option<&str>, trusted: Option<&Trusted>) -> Signed {
    let Some(text) = signature else { return Signed::No };
    let bad = |why: String| Signed::Bad { why };
    let signature = match SshSig::from_pem(text) {
        Ok(signature) => signature,
        Err(error) => return bad(format!("it cannot be read: {error}")),
    };
    // The parser tolerates wrong lengths, so the text is compared with the canonical encoding.
    if signature.to_pem(LineEnding::LF).map_or(true, |same| joined(&same) != joined(text)) {
        return bad("it is not written as ssh-keygen writes it".to_string());
    }
    if let Err(why) = verify(message, &signature) {
        return bad(why);
    }
    let key = signature.public_key();
    let fingerprint = key.fingerprint(HashAlg::Sha256).to_string();
    match trusted.map(|trusted| trusted.name_of(key)) {
        None => Signed::Unknown { key: fingerprint },
        Some(None) => Signed::Other { key: fingerprint },
        Some(Some("")) => Signed::Good { key: fingerprint },
        Some(Some(name)) => Signed::Good { key: name.to_string() },
    }
}

/// A text without line ends.
fn joined(text: &str) -> String {
    text.split_ascii_whitespace().collect()
}

/// Checks that a signature is valid for this message and its own key.
fn verify(message: &[u8], signature: &SshSig) -> Result<(), String> {
    if signature.namespace() != NAMESPACE {
        let found = signature.namespace().escape_debug();
        return Err(format!("it was made for '{found}', and not for '{NAMESPACE}'"));
    }
    if !signature.reserved().is_empty() || signature.version() != SshSig::VERSION {
        return Err("it has a later version".to_string());
    }
    let KeyData::Ed25519(key) = signature.public_key() else {
        let found = signature.public_key().algorithm();
        return Err(format!("its key is {found}; only ed25519 keys are supported"));
    };
    if signature.algorithm() != Algorithm::Ed25519 {
        return Err("its key has another algorithm".to_string());
    }
    let signed = SshSig::signed_data(NAMESPACE, signature.hash_alg(), message);
    let signed = signed.map_err(|error| error.to_string())?;
    let key = UnparsedPublicKey::new(&ED25519, key.as_ref());
    key.verify(&signed, signature.signature_bytes())
        .map_err(|_| "it was made for other bytes, or was changed".to_string())
}
