//! Keys of users in the format of NATS: Ed25519, base32, with a checksum at the end.

use aws_lc_rs::rand;
use aws_lc_rs::signature::{Ed25519KeyPair, KeyPair};
use std::fmt;

/// Bytes of a seed and of a public key.
const KEY_BYTES: usize = 32;
/// The prefix of a seed (`S`).
const SEED: u8 = 18 << 3;
/// The prefix of a user's key (`U`).
const USER: u8 = 20 << 3;
const LETTERS: &[u8; 32] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

/// Why a text is not a user's seed. The text may be a secret, so it is not shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// Not base32, or too short.
    #[error("it is not a NATS seed, which is 58 capital letters and digits that begin with SU")]
    Text,
    /// A character is wrong.
    #[error("a character of the seed is wrong: its checksum does not match")]
    Check,
    /// The seed of an account, for example.
    #[error("it is not the seed of a user, which begins with SU")]
    Kind,
}

/// A user's secret.
#[derive(Clone, PartialEq, Eq)]
pub struct Seed([u8; KEY_BYTES]);

impl Seed {
    /// A new random seed.
    pub fn random() -> Self {
        let mut bytes = [0; KEY_BYTES];
        rand::fill(&mut bytes).expect("the system gives random bytes");
        Self(bytes)
    }

    /// Parses its text, `SU..`.
    pub fn parse(text: &str) -> Result<Self, KeyError> {
        let bytes = decoded(text.trim()).ok_or(KeyError::Text)?;
        let (body, check) = bytes.split_last_chunk::<2>().ok_or(KeyError::Text)?;
        if u16::from_le_bytes(*check) != crc16(body) {
            return Err(KeyError::Check);
        }
        let (head, seed) = body.split_first_chunk::<2>().ok_or(KeyError::Text)?;
        let kind = (head[0] & 7) << 5 | head[1] >> 3;
        if head[0] & 0xf8 != SEED || kind != USER {
            return Err(KeyError::Kind);
        }
        Ok(Self(seed.try_into().map_err(|_| KeyError::Text)?))
    }

    /// Its text.
    pub fn text(&self) -> String {
        encoded(&[&[SEED | USER >> 5, (USER & 31) << 3], &self.0[..]].concat())
    }

    /// Its public key, `U..`, for a server's list of users.
    pub fn user(&self) -> String {
        encoded(&[&[USER], self.pair().public_key().as_ref()].concat())
    }

    /// Signs the nonce of a server.
    pub fn sign(&self, bytes: &[u8]) -> Vec<u8> {
        self.pair().sign(bytes).as_ref().to_vec()
    }

    fn pair(&self) -> Ed25519KeyPair {
        Ed25519KeyPair::from_seed_unchecked(&self.0).expect("any 32 bytes are a seed")
    }
}

impl fmt::Debug for Seed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Seed of {}", self.user())
    }
}

/// Base32 of the bytes with the checksum at the end.
fn encoded(body: &[u8]) -> String {
    let bytes = [body, &crc16(body).to_le_bytes()].concat();
    let digit = |five: &[u8]| {
        let mut held = [0; 8];
        held[..five.len()].copy_from_slice(five);
        let bits = u64::from_be_bytes(held) >> 24;
        let count = (five.len() * 8).div_ceil(5);
        (0..count).map(move |at| LETTERS[(bits >> (35 - 5 * at)) as usize & 31] as char)
    };
    bytes.chunks(5).flat_map(digit).collect()
}

fn decoded(text: &str) -> Option<Vec<u8>> {
    let (mut bytes, mut bits, mut count) = (Vec::new(), 0_u32, 0);
    for letter in text.bytes() {
        let value = LETTERS.iter().position(|known| *known == letter)?;
        bits = bits << 5 | value as u32;
        count += 5;
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count) as u8);
        }
    }
    Some(bytes)
}

/// CRC-16 with the polynomial 0x1021, initial value zero.
fn crc16(bytes: &[u8]) -> u16 {
    bytes.iter().fold(0, |crc, byte| {
        (0..8).fold(crc ^ u16::from(*byte) << 8, |crc, _| {
            let next = crc << 1;
            if crc & 0x8000 == 0 { next } else { next ^ 0x1021 }
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use aws_lc_rs::signature::{ED25519, UnparsedPublicKey};

    #[test]
    fn a_seed_survives_its_text_and_has_the_form_of_nats() {
        for _ in 0..20 {
            let seed = Seed::random();
            assert!(seed.text().starts_with("SU") && seed.text().len() == 58, "{}", seed.text());
            assert!(seed.user().starts_with('U') && seed.user().len() == 56, "{}", seed.user());
            assert_eq!(Seed::parse(&format!(" {}\n", seed.text())).unwrap(), seed);
            assert!(!format!("{seed:?}").contains(&seed.text()), "no secret in messages");
        }
    }

    #[test]
    fn texts_that_are_no_seed_are_refused() {
        let seed = Seed::random().text();
        let wrong = |text: &str| Seed::parse(text).unwrap_err();
        assert_eq!(
            (wrong(""), wrong("su"), wrong("1")),
            (KeyError::Text, KeyError::Text, KeyError::Text)
        );
        let other = if seed.ends_with('A') { 'E' } else { 'A' };
        let spoiled = format!("{}{other}", &seed[..57]);
        assert!(matches!(wrong(&spoiled), KeyError::Check), "{spoiled}");
        assert_eq!(wrong(&seed[..40]), KeyError::Check);
        assert_eq!(wrong(&Seed::random().user()), KeyError::Kind, "a public key");
        let account = encoded(&[SEED, 0, 1, 2]);
        assert_eq!(wrong(&account), KeyError::Kind);
    }

    #[test]
    fn what_is_signed_can_be_verified_with_the_public_key() {
        let seed = Seed::random();
        let public = decoded(&seed.user()).unwrap();
        let key = UnparsedPublicKey::new(&ED25519, &public[1..33]);
        key.verify(b"nonce", &seed.sign(b"nonce")).unwrap();
        assert!(key.verify(b"other", &seed.sign(b"nonce")).is_err());
    }
}
