//! The keys that a user names.

use ssh_key::PublicKey;
use ssh_key::public::KeyData;

/// Keys whose signatures are good.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trusted(Vec<PublicKey>);

/// A text has no public key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no public key of SSH in it; for example 'ssh-ed25519 AAAA.. you@host'")]
pub struct NoKey;

/// What the algorithms of SSH begin with.
const ALGORITHMS: [&str; 3] = ["ssh-", "ecdsa-", "sk-"];

impl Trusted {
    /// The keys in a text: one public key, or lines as `authorized_keys` and the allowed signers of
    /// `ssh-keygen` have them. Lines without a key that can be read are left out.
    ///
    /// # Errors
    ///
    /// There is none.
    pub fn parse(text: &str) -> Result<Self, NoKey> {
        let keys: Vec<PublicKey> = text.lines().filter_map(key_in).collect();
        if keys.is_empty() { Err(NoKey) } else { Ok(Self(keys)) }
    }

    /// The comment of a key that is among them.
    pub(super) fn name_of(&self, key: &KeyData) -> Option<&str> {
        let same = self.0.iter().find(|one| one.key_data() == key)?;
        Some(same.comment())
    }
}

/// The key in a line: what stands before it, principals or options, is not read.
fn key_in(line: &str) -> Option<PublicKey> {
    let line = line.trim();
    if line.starts_with('#') {
        return None;
    }
    let words: Vec<&str> = line.split_whitespace().collect();
    let is_algorithm = |word: &&str| ALGORITHMS.iter().any(|begin| word.starts_with(begin));
    let at = words.iter().position(is_algorithm)?;
    let key = PublicKey::from_openssh(&words[at..].join(" ")).ok()?;
    let is_plain = key.comment().chars().all(|letter| letter.is_ascii_graphic() || letter == ' ');
    is_plain.then_some(key)
}
