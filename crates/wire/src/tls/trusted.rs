//! Which server certificates are trusted, when they are verified.
//!
//! For: chains that end at a trusted authority; and a certificate that is itself in the list of
//! trusted ones, as `openssl req -x509` makes it: self-signed, and marked as an authority. webpki
//! refuses that second kind for a server (`CaUsedAsEndEntity`) after it has checked the dates; curl
//! and OpenSSL accept it. Its name and dates must still be right.
//! In: the chain that a server sent. Out: whether it is trusted, and rustls's error if not.

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::verify_server_name;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{
    CertificateError, DigitallySignedStruct, Error, OtherError, RootCertStore, SignatureScheme,
};
use std::sync::Arc;

/// See the module.
#[derive(Debug)]
pub(super) struct Trusted {
    chains: Arc<WebPkiServerVerifier>,
    roots: Vec<Vec<u8>>,
}

impl Trusted {
    /// Trusts these certificates, DER, and what they signed; `None` when none can be parsed.
    pub(super) fn new(roots: &[Vec<u8>], provider: &Arc<CryptoProvider>) -> Option<Self> {
        let mut store = RootCertStore::empty();
        let parsed = roots.iter().map(|der| CertificateDer::from(der.clone()));
        // Some systems have certificates that are too old to be parsed.
        if store.add_parsable_certificates(parsed).0 == 0 {
            return None;
        }
        let provider = Arc::clone(provider);
        let chains = WebPkiServerVerifier::builder_with_provider(Arc::new(store), provider).build();
        let chains = chains.expect("there is a root, and there are no revocation lists");
        Some(Self { chains, roots: roots.to_vec() })
    }

    fn has(&self, certificate: &CertificateDer<'_>) -> bool {
        self.roots.iter().any(|root| root.as_slice() == certificate.as_ref())
    }
}

/// Whether a certificate was refused only because it is marked as an authority.
fn is_authority(error: &Error) -> bool {
    match error {
        Error::InvalidCertificate(CertificateError::Other(OtherError(error))) => {
            error.downcast_ref() == Some(&webpki::Error::CaUsedAsEndEntity)
        }
        _ => false,
    }
}

impl ServerCertVerifier for Trusted {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        others: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let verified = self.chains.verify_server_cert(certificate, others, name, ocsp, now);
        match verified {
            Err(error) if is_authority(&error) => {
                if !self.has(certificate) {
                    return Err(CertificateError::UnknownIssuer.into());
                }
                verify_server_name(&ParsedCertificate::try_from(certificate)?, name)?;
                Ok(ServerCertVerified::assertion())
            }
            _ => verified,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.chains.verify_tls12_signature(message, certificate, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.chains.verify_tls13_signature(message, certificate, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.chains.supported_verify_schemes()
    }
}
