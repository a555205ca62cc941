//! Signatures of SSH (SSHSIG): made with a key that a user has already, and checked.
//!
//! `ssh-keygen -Y verify` checks them as well, in the namespace [`NAMESPACE`]. Keys of Ed25519 are
//! read here; the arithmetic is that of aws-lc.

mod key;
mod trusted;

pub use key::{Key, KeyFault};
pub use trusted::{NoKey, Trusted};

use aws_lc_rs::signature::{ED25519, UnparsedPublicKey};
use ssh_key::public::KeyData;
use ssh_key::{Algorithm, HashAlg, LineEnding, SshSig};

/// What the signature is for: one of another purpose is none of an archive.
pub const NAMESPACE: &str = "ceiling.pack";

/// What a signature says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Signed {
    /// There is none.
    No,
    /// It is right, and of a key that was named.
    Good {
        /// The comment of the key, or its fingerprint.
        key: String,
    },
    /// It is right, and nobody said whose the key is.
    Unknown {
        /// Fingerprint of the key.
        key: String,
    },
    /// It is right, and of none of the keys that were named.
    Other {
        /// Fingerprint of the key.
        key: String,
    },
    /// It is wrong, or it cannot be checked.
    Bad {
        /// Why.
        why: String,
    },
}

/// Checks the signature of a message against keys; without keys only whether it is right.
pub fn check(message: &[u8], signature: Option<&str>, trusted: Option<&Trusted>) -> Signed {
    let Some(text) = signature else { return Signed::No };
    let bad = |why: String| Signed::Bad { why };
    let signature = match SshSig::from_pem(text) {
        Ok(signature) => signature,
        Err(error) => return bad(format!("it cannot be read: {error}")),
    };
    // The reader passes over lengths that are wrong; what it read has one text.
    if signature.to_pem(LineEnding::LF).map_or(true, |same| joined(&same) != joined(text)) {
        return bad("it is not written as ssh-keygen does".to_string());
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

/// A text without its line ends, wherever they are.
fn joined(text: &str) -> String {
    text.split_ascii_whitespace().collect()
}

/// Whether a signature is one of this message and of its own key.
fn verify(message: &[u8], signature: &SshSig) -> Result<(), String> {
    if signature.namespace() != NAMESPACE {
        let found = signature.namespace().escape_debug();
        return Err(format!("it was made for '{found}', and not for '{NAMESPACE}'"));
    }
    if !signature.reserved().is_empty() || signature.version() != SshSig::VERSION {
        return Err("it is of a later version".to_string());
    }
    let KeyData::Ed25519(key) = signature.public_key() else {
        let found = signature.public_key().algorithm();
        return Err(format!("its key is {found}; keys of ed25519 are checked here"));
    };
    if signature.algorithm() != Algorithm::Ed25519 {
        return Err("its key is of another algorithm".to_string());
    }
    let signed = SshSig::signed_data(NAMESPACE, signature.hash_alg(), message);
    let signed = signed.map_err(|error| error.to_string())?;
    let key = UnparsedPublicKey::new(&ED25519, key.as_ref());
    key.verify(&signed, signature.signature_bytes())
        .map_err(|_| "it is of other bytes, or was changed".to_string())
}
