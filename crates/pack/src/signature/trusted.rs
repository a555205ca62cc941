//! The keys that a user trusts.

use super::NAMESPACE;
use ssh_key::PublicKey;
use ssh_key::public::KeyData;

/// Trusted keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trusted(Vec<PublicKey>);

/// A text without a public key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no SSH public key in it; for example 'ssh-ed25519 AAAA.. you@host'")]
pub struct NoKey;

/// Prefixes of SSH key algorithms.
const ALGORITHMS: [&str; 3] = ["ssh-", "ecdsa-", "sk-"];

impl Trusted {
    /// The keys in a text: one public key, or lines in the format of `authorized_keys` or of the
    /// allowed signers of `ssh-keygen`. Lines without a readable key are skipped.
    ///
    /// # Errors
    ///
    /// The text has no key.
    pub fn parse(text: &str) -> Result<Self, NoKey> {
        let keys: Vec<PublicKey> = text.lines().filter_map(key_in).collect();
        if keys.is_empty() { Err(NoKey) } else { Ok(Self(keys)) }
    }

    /// The comment of a key, if the key is trusted.
    pub(super) fn name_of(&self, key: &KeyData) -> Option<&str> {
        let same = self.0.iter().find(|one| one.key_data() == key)?;
        Some(same.comment())
    }
}

/// Options of a key that make it valid only at times that `ceiling` does not know, only for
/// certificates, or not at all.
const LIMITS: [&str; 5] =
    ["cert-authority", "valid-after", "valid-before", "expiry-time", "@revoked"];

/// The key in a line, with principals and options before it. A key that is limited to other uses or
/// to some time is not trusted.
fn key_in(line: &str) -> Option<PublicKey> {
    let line = line.trim();
    if line.starts_with('#') {
        return None;
    }
    let words: Vec<&str> = line.split_whitespace().collect();
    let is_algorithm = |word: &&str| ALGORITHMS.iter().any(|begin| word.starts_with(begin));
    let at = words.iter().position(is_algorithm)?;
    let options = words[..at].join(" ");
    let small = options.to_ascii_lowercase();
    if !is_for_us(&options, &small) || LIMITS.iter().any(|limit| small.contains(limit)) {
        return None;
    }
    let key = PublicKey::from_openssh(&words[at..].join(" ")).ok()?;
    let is_plain = key.comment().chars().all(|letter| letter.is_ascii_graphic() || letter == ' ');
    is_plain.then_some(key)
}

/// Whether options leave a key for our namespace: every list of namespaces has its name as a whole,
/// and excludes none. Patterns such as `ceiling.*` are not understood, and leave nothing.
fn is_for_us(options: &str, small: &str) -> bool {
    const OPTION: &str = "namespaces=";
    small.match_indices(OPTION).all(|(at, _)| {
        let list = options[at + OPTION.len()..].trim_start_matches('"');
        let mut names = list.split(['"', ' ']).next().unwrap_or_default().split(',');
        names.clone().any(|name| name == NAMESPACE) && !names.any(|name| name.starts_with('!'))
    })
}
