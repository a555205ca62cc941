//! Credentials files: who we are and which authorities we trust.
//!
//! For: the `.creds` files of NATS (a user's JWT and seed), and those of `ceiling fleet keys`: a
//! seed, and the certificate of the authority whose servers are trusted.
//! In: text with blocks between BEGIN and END lines. Out: the contents of the blocks.
//! Never: a secret in a message.

use crate::key::{KeyError, Seed};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use std::fmt;

const SEED: &str = "USER NKEY SEED";
const JWT: &str = "NATS USER JWT";
const TOKEN: &str = "NATS TOKEN";
const CERTIFICATE: &str = "CERTIFICATE";

/// Why a file has no credentials.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CredentialsError {
    /// The seed is wrong.
    #[error("the block '{SEED}': {0}")]
    Seed(#[from] KeyError),
    /// A certificate is wrong.
    #[error("a block '{CERTIFICATE}' is not a PEM certificate")]
    Certificate,
    /// None of the blocks that identify a user.
    #[error(
        "there is no block '{SEED}', '{JWT}' or '{TOKEN}' in it; ceiling fleet keys writes such \
         files, and so does nsc"
    )]
    Nobody,
    /// A block without its end.
    #[error("the block '{0}' has no end")]
    Open(String),
    /// A JWT without the seed that signs for it.
    #[error("there is a block '{JWT}' without a block '{SEED}'")]
    NoSeed,
}

/// Our identity for a server, and the authorities of servers that we trust.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Credentials {
    /// The key that signs the server's nonce.
    pub seed: Option<Seed>,
    /// Identifies the owner of the seed if the server has no list of users.
    pub jwt: Option<String>,
    /// A shared secret with the server.
    pub token: Option<String>,
    /// Certificates of the authorities that sign servers, DER. If there are any, the connection is
    /// TLS and no other authority is trusted.
    pub authorities: Vec<Vec<u8>>,
}

impl Credentials {
    /// Parses the text of a file.
    pub fn parse(text: &str) -> Result<Self, CredentialsError> {
        let mut read = Self::default();
        for (name, body) in blocks(text)? {
            match name.as_str() {
                SEED => read.seed = Some(Seed::parse(&body)?),
                JWT => read.jwt = Some(body),
                TOKEN => read.token = Some(body),
                CERTIFICATE => {
                    let pem = format!("-----BEGIN {name}-----\n{body}\n-----END {name}-----\n");
                    let der = CertificateDer::from_pem_slice(pem.as_bytes())
                        .map_err(|_| CredentialsError::Certificate)?;
                    read.authorities.push(der.to_vec());
                }
                _ => {}
            }
        }
        match (&read.seed, &read.jwt, &read.token) {
            (None, None, None) => Err(CredentialsError::Nobody),
            (None, Some(_), _) => Err(CredentialsError::NoSeed),
            _ => Ok(read),
        }
    }

    /// The text of a file for a user with this seed that trusts this authority (PEM).
    pub fn file(remark: &str, seed: &Seed, authority_pem: &str) -> String {
        let text = seed.text();
        format!("# {remark}\n-----BEGIN {SEED}-----\n{text}\n-----END {SEED}-----\n{authority_pem}")
    }
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let user = self.seed.as_ref().map(Seed::user);
        write!(f, "Credentials of {user:?}, {} authorities", self.authorities.len())
    }
}

/// Name and text of each block, in order. Text outside blocks is a comment.
fn blocks(text: &str) -> Result<Vec<(String, String)>, CredentialsError> {
    let mut found = Vec::new();
    let mut open: Option<(String, Vec<&str>)> = None;
    for line in text.lines().map(str::trim) {
        // nsc writes six dashes in the END line.
        let marked = line.starts_with("-----") && line.ends_with("-----");
        let word = line.trim_matches('-').trim();
        match (&mut open, word.strip_prefix("BEGIN "), word.strip_prefix("END ")) {
            (None, Some(name), _) if marked => open = Some((name.to_string(), Vec::new())),
            (Some((name, lines)), _, Some(end)) if marked && *end == **name => {
                found.push((name.clone(), lines.join("\n")));
                open = None;
            }
            (Some((_, lines)), ..) if !line.is_empty() => lines.push(line),
            _ => {}
        }
    }
    match open {
        Some((name, _)) => Err(CredentialsError::Open(name.chars().take(40).collect())),
        None => Ok(found),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_ours_and_of_nsc_are_read() {
        let (seed, pem) = (Seed::random(), rcgen::generate_simple_self_signed(["a".into()]));
        let pem = pem.unwrap().cert.pem();
        let ours = Credentials::parse(&Credentials::file("a1", &seed, &pem)).unwrap();
        assert_eq!((&ours.seed, ours.authorities.len()), (&Some(seed.clone()), 1));
        assert!(!format!("{ours:?}").contains(&seed.text()));

        let nsc = format!(
            "-----BEGIN NATS USER JWT-----\neyJ0\n------END NATS USER JWT------\n\n\
             ************ IMPORTANT ************\n\n\
             -----BEGIN USER NKEY SEED-----\n{}\n------END USER NKEY SEED------\n",
            seed.text()
        );
        let nsc = Credentials::parse(&nsc).unwrap();
        assert_eq!((nsc.jwt.as_deref(), nsc.seed), (Some("eyJ0"), Some(seed)));
        assert!(nsc.authorities.is_empty());

        let token = "-----BEGIN NATS TOKEN-----\nsecret\n-----END NATS TOKEN-----";
        assert_eq!(Credentials::parse(token).unwrap().token.as_deref(), Some("secret"));
    }

    #[test]
    fn what_is_wrong_is_said_without_the_secret() {
        let wrong = |text: &str| Credentials::parse(text).unwrap_err();
        assert_eq!(wrong(""), CredentialsError::Nobody);
        assert_eq!(wrong("-----BEGIN X-----\na"), CredentialsError::Open("X".into()));
        let spoiled = "-----BEGIN USER NKEY SEED-----\nSECRET\n-----END USER NKEY SEED-----";
        assert!(!wrong(spoiled).to_string().contains("SECRET"));
        let alone = "-----BEGIN NATS USER JWT-----\nx\n-----END NATS USER JWT-----";
        assert_eq!(wrong(alone), CredentialsError::NoSeed);
        let pem = "-----BEGIN CERTIFICATE-----\n*\n-----END CERTIFICATE-----";
        assert_eq!(wrong(pem), CredentialsError::Certificate);
    }
}
