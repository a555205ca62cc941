//! TLS and proxies as plain values: what is requested, what was negotiated, why it fails.

use crate::maps::IntoMap;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ops::AddAssign;

/// What the server's certificate is checked against.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Trust {
    /// The certificate authorities of this system.
    SystemRoots,
    /// Those of a PEM file, and no others.
    File(String),
    /// The certificate authorities of a PEM file for an agent of a fleet: the controller sends the
    /// content of its file. Never in a record.
    Sent {
        /// Name of the file on the controller's host.
        file: String,
        /// Its content.
        pem: String,
    },
    /// Nothing: any certificate will do.
    Anything,
}

impl Trust {
    /// As it is in a record, which holds no file contents.
    #[must_use]
    pub fn recorded(&self) -> Self {
        match self {
            Self::Sent { file, .. } => Self::File(file.clone()),
            Self::SystemRoots | Self::File(_) | Self::Anything => self.clone(),
        }
    }
}

/// Whether sessions are resumed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Resumption {
    /// Whenever there is a ticket.
    On,
    /// Never.
    Off,
    /// As with `On`, but of this many connections of a worker one starts with a full handshake; at
    /// least 1.
    FullEvery(u32),
}

/// A version of the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum TlsVersion {
    /// RFC 5246.
    #[serde(rename = "1.2")]
    V12,
    /// RFC 8446.
    #[serde(rename = "1.3")]
    V13,
}

/// Whether records are to be encrypted by the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum KernelTls {
    /// The kernel is asked whether it supports this, for the record.
    Auto,
    /// The kernel is not asked.
    Off,
}

/// Settings of TLS, part of a trial.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TlsChoice {
    /// Name sent as SNI and looked for in the certificate; an address is only looked for.
    pub server_name: String,
    /// What the certificate is checked against.
    pub trust: Trust,
    /// PEM files of our own certificate chain and its key, for servers that ask.
    pub identity: Option<(String, String)>,
    /// Whether sessions are resumed.
    pub resumption: Resumption,
    /// Lowest and highest version offered.
    pub versions: (TlsVersion, TlsVersion),
    /// Encryption by the kernel.
    pub kernel: KernelTls,
}

/// How requests pass a proxy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProxyWay {
    /// The proxy reads each request, whose target is a whole URL (RFC 9112, section 3.2.2).
    Forwarded,
    /// Through a tunnel that the proxy opens by CONNECT (RFC 9110, section 9.3.6).
    Tunnel,
}

/// A proxy, part of a trial.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProxyChoice {
    /// Its URL without a password.
    pub url: String,
    /// How requests pass it.
    pub way: ProxyWay,
    /// The target as the proxy is asked for it, `HOST:PORT`.
    pub target: String,
    /// Value of Proxy-Authorization; a secret, so it is never stored.
    #[serde(skip)]
    pub authorization: Option<String>,
}

impl ProxyChoice {
    /// Whether it is asked for a tunnel.
    pub fn tunnels(&self) -> bool {
        self.way == ProxyWay::Tunnel
    }
}

/// What one handshake negotiated, before the load. Part of the record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TlsInfo {
    /// For example `TLSv1.3`.
    pub version: String,
    /// Cipher suite by its standard name.
    pub cipher: String,
    /// Group of the key exchange.
    pub group: Option<String>,
    /// Protocol agreed on by ALPN; null when the server chose none.
    pub alpn: Option<String>,
    /// Name sent and looked for.
    pub server_name: String,
    /// What the certificate was checked against.
    pub trust: Trust,
    /// Whether the server asked for a client certificate.
    pub client_certificate_asked: bool,
    /// Whether sessions are resumed.
    pub resumption: Resumption,
    /// Encryption by the kernel.
    pub ktls: KernelTlsInfo,
}

/// What is known about encryption by the kernel. Part of the record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelTlsInfo {
    /// As requested.
    pub asked: KernelTls,
    /// Whether the kernel encrypted the records of the run.
    pub used: bool,
    /// `available`, or `not available: ` and the reason; null when the kernel was not asked.
    pub kernel: Option<String>,
}

crate::named! {
    /// Why a handshake failed.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum TlsCause {
        /// No trusted authority signed the certificate.
        UnknownIssuer = "unknown-issuer",
        /// The certificate has expired.
        Expired = "expired",
        /// The certificate is not valid yet.
        NotYetValid = "not-yet-valid",
        /// The certificate is for another name.
        WrongName = "wrong-name",
        /// The certificate is bad in another way.
        BadCertificate = "bad-certificate",
        /// No version that both sides speak.
        NoSharedVersion = "no-shared-version",
        /// No cipher suite, group or signature that both sides have.
        NoSharedCipher = "no-shared-cipher",
        /// No protocol that both sides speak (ALPN).
        NoSharedProtocol = "no-shared-protocol",
        /// The server requires a client certificate, and there is none.
        CertificateRequired = "certificate-required",
        /// The server does not accept our certificate.
        CertificateRefused = "certificate-refused",
        /// The server has no certificate for the name sent.
        UnknownName = "unknown-name",
        /// The server sent another alert.
        Alert = "alert",
        /// The server closed the connection during the handshake.
        Closed = "closed",
        /// The bytes received are not TLS.
        NotTls = "not-tls",
        /// Anything else.
        Other = "other",
    }
    /// The name in the record and in tables.
    fn name;
}

crate::tally! {
    /// What one worker counted of handshakes and tunnels in one interval.
    pub struct TlsTally {
        /// Handshakes that succeeded.
        pub handshakes: u64,
        /// Those that resumed a session.
        pub resumed: u64,
        /// Failures by cause, in the order of [`TlsCause`]. Also counts connections that a TLS
        /// error ended after the handshake.
        pub failures: [u64; TlsCause::ALL.len()],
        /// Tunnels that the proxy refused.
        pub refused: u64,
        /// Status of the latest refusal; 0 when it was no HTTP response or there was none.
        pub refused_status: u16,
    }
}

impl TlsTally {
    /// Counts a failure.
    pub fn fail(&mut self, cause: TlsCause) {
        self.failures[cause as usize] += 1;
    }

    /// Failures that happened, by the name of their cause.
    pub fn causes(&self) -> BTreeMap<String, u64> {
        let counted = TlsCause::ALL.into_iter().zip(self.failures).filter(|(_, count)| *count > 0);
        counted.map(|(cause, count)| (cause.name().to_string(), count)).into_map()
    }
}

impl AddAssign<&TlsTally> for TlsTally {
    fn add_assign(&mut self, other: &TlsTally) {
        self.handshakes += other.handshakes;
        self.resumed += other.resumed;
        for (mine, theirs) in self.failures.iter_mut().zip(other.failures) {
            *mine += theirs;
        }
        self.refused += other.refused;
        if other.refused > 0 {
            self.refused_status = other.refused_status;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn causes_are_counted_under_their_own_name() {
        let mut tally = TlsTally::default();
        for cause in TlsCause::ALL {
            tally.fail(cause);
            let name = serde_json::to_value(cause).unwrap();
            assert_eq!(name, cause.name(), "the record and the table say the same");
        }
        let causes = tally.causes();
        assert_eq!(causes.len(), TlsCause::ALL.len());
        assert!(causes.values().all(|count| *count == 1));
        let mut sum = TlsTally { refused_status: 403, refused: 2, ..tally };
        sum += &TlsTally { handshakes: 2, resumed: 1, ..tally };
        assert_eq!((sum.handshakes, sum.resumed, sum.refused_status), (2, 1, 403));
        assert!(sum.causes().values().all(|count| *count == 2));
    }
}
