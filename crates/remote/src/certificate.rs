//! The certificate that a probe makes for itself, and the client that accepts no other.

use crate::token::{self, TokenError, hexadecimal, io_error};
use rustls::client::Resumption;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, aws_lc_rs, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error, ServerConfig, SignatureScheme,
    version,
};
use sha2::{Digest, Sha256};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// A certificate and a key have a few kilobytes.
const PEM_BYTES_MAX: u64 = 64 << 10;

/// Name in the certificate; no client checks it.
const NAME: &str = "ceiling-probe";

/// Why a probe has no certificate.
#[derive(Debug, thiserror::Error)]
pub enum IdentityError {
    /// The file cannot be read or made.
    #[error(transparent)]
    File(#[from] TokenError),
    /// Its content cannot be used.
    #[error("{}: {why}; remove it, and ceiling makes a new one with a new pin", path.display())]
    Broken {
        /// Which file.
        path: PathBuf,
        /// What is wrong.
        why: String,
    },
}

/// A probe's certificate and key.
#[derive(Debug)]
pub struct Identity {
    /// Configuration of TLS sessions with clients.
    pub config: Arc<ServerConfig>,
    /// SHA-256 of the certificate, hexadecimal.
    pub pin: String,
}

impl Identity {
    /// From a PEM file, which is made when absent.
    pub fn read_or_make(path: &Path) -> Result<Self, IdentityError> {
        let broken = |why: String| IdentityError::Broken { path: path.to_path_buf(), why };
        if !path.exists() {
            let made = rcgen::generate_simple_self_signed([NAME.to_string()]);
            let made = made.map_err(|error| broken(error.to_string()))?;
            let pem = format!("{}{}", made.cert.pem(), made.signing_key.serialize_pem());
            token::write_secret(path, pem.as_bytes()).map_err(token::io_error(path))?;
        }
        let mut pem = Vec::new();
        let read = token::open_secret(path)?.take(PEM_BYTES_MAX).read_to_end(&mut pem);
        read.map_err(io_error(path))?;
        let certificate = CertificateDer::from_pem_slice(&pem)
            .map_err(|_| broken("there is no PEM certificate in it".to_string()))?;
        let key = PrivateKeyDer::from_pem_slice(&pem)
            .map_err(|_| broken("there is no PEM private key in it".to_string()))?;
        let pin = pin_of(&certificate);
        let builder = ServerConfig::builder_with_provider(provider())
            .with_protocol_versions(&[&version::TLS13])
            .expect("the provider has suites for TLS 1.3");
        let mut config = builder
            .with_no_client_auth()
            .with_single_cert(vec![certificate], key)
            .map_err(|error| broken(error.to_string()))?;
        // Sessions are few and long: none is resumed.
        config.send_tls13_tickets = 0;
        Ok(Self { config: Arc::new(config), pin })
    }
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(aws_lc_rs::default_provider())
}

/// SHA-256 of a certificate, hexadecimal.
fn pin_of(certificate: &CertificateDer<'_>) -> String {
    hexadecimal(&Sha256::digest(certificate))
}

/// Accepts only the certificate with the pin.
#[derive(Debug)]
pub struct Pinned {
    pin: String,
    provider: Arc<CryptoProvider>,
    /// The pin of a certificate that was refused.
    refused: Mutex<Option<String>>,
}

impl Pinned {
    /// A client's configuration, and the verifier that keeps the pin of a wrong certificate.
    pub fn client(pin: &str) -> (Arc<ClientConfig>, Arc<Self>) {
        let pinned = Arc::new(Self {
            pin: pin.to_string(),
            provider: provider(),
            refused: Mutex::default(),
        });
        let builder = ClientConfig::builder_with_provider(provider())
            .with_protocol_versions(&[&version::TLS13])
            .expect("the provider has suites for TLS 1.3");
        let verifier = Arc::<Self>::clone(&pinned);
        let builder = builder.dangerous().with_custom_certificate_verifier(verifier);
        let mut config = builder.with_no_client_auth();
        config.resumption = Resumption::disabled();
        (Arc::new(config), pinned)
    }

    /// The pin of the certificate that was refused, if one was.
    pub fn refused(&self) -> Option<String> {
        self.refused.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl ServerCertVerifier for Pinned {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let pin = pin_of(certificate);
        if pin == self.pin {
            return Ok(ServerCertVerified::assertion());
        }
        *self.refused.lock().unwrap_or_else(PoisonError::into_inner) = Some(pin);
        Err(Error::InvalidCertificate(CertificateError::ApplicationVerificationFailure))
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Err(Error::General("only TLS 1.3 is supported".to_string()))
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signed, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
