//! The private key of a user, and signing with it.

use super::NAMESPACE;
use aws_lc_rs::signature::Ed25519KeyPair;
use ssh_key::private::KeypairData;
use ssh_key::{Algorithm, HashAlg, LineEnding, PrivateKey, Signature, SshSig};

/// An Ed25519 private key.
#[derive(Debug)]
pub struct Key {
    pair: Ed25519KeyPair,
    public: ssh_key::public::KeyData,
}

/// Why a text is not a usable signing key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KeyFault {
    /// It has a passphrase.
    #[error("the key has a passphrase")]
    Protected,
    /// It has another algorithm.
    #[error("the key is {0}; only ed25519 keys can sign: ssh-keygen -t ed25519 makes one")]
    Algorithm(String),
    /// It is not an OpenSSH private key.
    #[error("it is not an OpenSSH private key: {0}; for example ~/.ssh/id_ed25519")]
    Malformed(String),
}

impl Key {
    /// The key in an OpenSSH file.
    ///
    /// # Errors
    ///
    /// It is not an Ed25519 key, or it has a passphrase.
    pub fn parse(text: &str) -> Result<Self, KeyFault> {
        let malformed = |why: &dyn ToString| KeyFault::Malformed(why.to_string());
        let key = PrivateKey::from_openssh(text.trim()).map_err(|error| malformed(&error))?;
        let pair = match key.key_data() {
            KeypairData::Ed25519(pair) => pair,
            KeypairData::Encrypted(_) => return Err(KeyFault::Protected),
            _ => return Err(KeyFault::Algorithm(key.algorithm().to_string())),
        };
        let (seed, public) = (pair.private.to_bytes(), pair.public.as_ref());
        let pair = Ed25519KeyPair::from_seed_and_public_key(&seed, public);
        let pair = pair.map_err(|_| malformed(&"its two halves do not match"))?;
        Ok(Self { pair, public: key.public_key().key_data().clone() })
    }

    /// The signature of a message, as `ssh-keygen -Y sign` writes it. The same message gives the
    /// same signature.
    pub fn sign(&self, message: &[u8]) -> String {
        let signed = SshSig::signed_data(NAMESPACE, HashAlg::Sha512, message);
        let signed = signed.and_then(|bytes| {
            let bytes = self.pair.sign(&bytes).as_ref().to_vec();
            let signature = Signature::new(Algorithm::Ed25519, bytes)?;
            let whole = SshSig::new(self.public.clone(), NAMESPACE, HashAlg::Sha512, signature)?;
            whole.to_pem(LineEnding::LF)
        });
        signed.expect("a signature of a fixed length has a text")
    }
}
