//! Turns plain values into what rustls works with.

use super::TlsSession;
use super::failure::CertificateRequest;
use super::tickets::{Access, Store, Tickets};
use super::trusted::Trusted;
use model::tls::{Resumption, TlsVersion};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{self, ResolvesClientCert};
use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::sign::CertifiedKey;
use rustls::{
    ClientConfig, ClientConnection, DigitallySignedStruct, Error, InconsistentKeys,
    SignatureScheme, SupportedProtocolVersion, version,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Our certificate chain and its key, both PEM.
#[derive(Debug, Clone, Copy)]
pub struct Identity<'a> {
    /// The certificate, then those that signed it.
    pub chain_pem: &'a [u8],
    /// The private key.
    pub key_pem: &'a [u8],
}

/// The settings of a recipe.
#[derive(Debug)]
pub struct Settings<'a> {
    /// The name that is sent and verified.
    pub server_name: &'a str,
    /// The protocols offered by ALPN, the preferred one first; see
    /// [`Session::ALPN`](crate::session::Session::ALPN).
    pub alpn: &'a [&'static [u8]],
    /// Trusted authorities, DER; absent when any certificate is accepted.
    pub roots: Option<Vec<Vec<u8>>>,
    /// Our certificate, for servers that ask for one.
    pub identity: Option<Identity<'a>>,
    /// Lowest and highest version offered.
    pub versions: (TlsVersion, TlsVersion),
    /// Whether sessions are resumed.
    pub resumption: Resumption,
}

/// What a handshake negotiated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Agreed {
    /// For example `TLSv1.3`.
    pub version: String,
    /// Cipher suite by its standard name.
    pub cipher: String,
    /// Group of the key exchange.
    pub group: Option<String>,
    /// Protocol chosen by ALPN.
    pub alpn: Option<String>,
}

/// Why settings cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RecipeError {
    /// The name is neither a host name nor an address.
    #[error("'{0}' is neither a host name nor an address")]
    ServerName(String),
    /// No certificate in the PEM text.
    #[error("there is no PEM certificate in it")]
    NoCertificate,
    /// No authority can be used.
    #[error("no certificate in it can be used as an authority")]
    NoRoot,
    /// No private key in the PEM text.
    #[error("there is no PEM private key in it")]
    NoKey,
    /// Chain and key cannot be used together.
    #[error("certificate and key cannot be used together: {0}")]
    Identity(String),
}

/// The certificates of a PEM text, DER.
pub fn certificates(pem: &[u8]) -> Result<Vec<Vec<u8>>, RecipeError> {
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    let found = found.map_err(|_| RecipeError::NoCertificate)?;
    if found.is_empty() {
        return Err(RecipeError::NoCertificate);
    }
    Ok(found.into_iter().map(|certificate| certificate.to_vec()).collect())
}

/// The name of a thing in rustls.
pub(super) fn name_of(thing: &impl std::fmt::Debug) -> String {
    format!("{thing:?}")
}

/// How sessions are made; the same for all workers.
#[derive(Debug, Clone)]
pub struct Recipe {
    config: ClientConfig,
    server_name: ServerName<'static>,
    resumption: Resumption,
    pocket: Arc<Pocket>,
}

impl Recipe {
    /// Checks the settings and makes a recipe from them.
    pub fn new(settings: &Settings<'_>) -> Result<Self, RecipeError> {
        let named = || RecipeError::ServerName(settings.server_name.to_string());
        let server_name = ServerName::try_from(settings.server_name.to_string());
        let server_name = server_name.map_err(|_| named())?;
        let provider = Arc::new(aws_lc_rs::default_provider());
        let pocket = Arc::new(Pocket::new(settings.identity, &provider)?);
        let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_protocol_versions(&versions(settings.versions))
            .expect("the provider has suites for both versions");
        let verifier: Arc<dyn ServerCertVerifier> = match &settings.roots {
            Some(roots) => Arc::new(Trusted::new(roots, &provider).ok_or(RecipeError::NoRoot)?),
            None => Arc::new(Unverified),
        };
        let builder = builder.dangerous().with_custom_certificate_verifier(verifier);
        let mut config = builder.with_client_cert_resolver(pocket.clone());
        config.alpn_protocols = settings.alpn.iter().map(|name| name.to_vec()).collect();
        config.resumption = client::Resumption::disabled();
        Ok(Self { config, server_name, resumption: settings.resumption, pocket })
    }

    /// Whether a server has asked for our certificate.
    pub fn was_asked_for_identity(&self) -> bool {
        self.pocket.asked() != CertificateRequest::No
    }
}

fn versions((lowest, highest): (TlsVersion, TlsVersion)) -> Vec<&'static SupportedProtocolVersion> {
    let all = [(TlsVersion::V12, &version::TLS12), (TlsVersion::V13, &version::TLS13)];
    let offered = all.into_iter().filter(|(known, _)| (lowest..=highest).contains(known));
    offered.map(|(_, version)| version).collect()
}

/// Makes the sessions of one worker; they share tickets with each other and with no other worker.
#[derive(Debug)]
pub struct Client {
    resuming: Arc<ClientConfig>,
    full: Arc<ClientConfig>,
    full_every: u32,
    made: u32,
    server_name: ServerName<'static>,
    pocket: Arc<Pocket>,
}

impl Client {
    /// For a worker with this many connections.
    pub fn new(recipe: &Recipe, connections: u32) -> Self {
        let tickets = Arc::new(Tickets::new(connections));
        let with = |access| {
            let mut config = recipe.config.clone();
            if recipe.resumption != Resumption::Off {
                let store = Store { tickets: Arc::clone(&tickets), access };
                config.resumption = client::Resumption::store(Arc::new(store));
            }
            Arc::new(config)
        };
        Self {
            resuming: with(Access::Resume),
            full: with(Access::LeaveOnly),
            full_every: match recipe.resumption {
                Resumption::FullEvery(connections) => connections.max(1),
                Resumption::On | Resumption::Off => u32::MAX,
            },
            made: 0,
            server_name: recipe.server_name.clone(),
            pocket: Arc::clone(&recipe.pocket),
        }
    }

    /// A session for a connection that was just made; its first records wait to be sent.
    pub fn session(&mut self) -> TlsSession {
        let is_full = self.made == 0;
        self.made = (self.made + 1) % self.full_every;
        let config = if is_full { &self.full } else { &self.resuming };
        let made = ClientConnection::new(Arc::clone(config), self.server_name.clone());
        let mut tls = made.expect("the recipe was checked");
        tls.set_buffer_limit(None);
        TlsSession {
            tls,
            is_shaking: true,
            peer_has_closed: false,
            failure: None,
            pocket: Arc::clone(&self.pocket),
        }
    }
}

/// Our certificate, if any, and whether the server asked for it.
#[derive(Debug)]
pub(super) struct Pocket {
    key: Option<Arc<CertifiedKey>>,
    was_asked: AtomicBool,
}

impl Pocket {
    fn new(identity: Option<Identity<'_>>, provider: &CryptoProvider) -> Result<Self, RecipeError> {
        let key = identity.map(|identity| certified(identity, provider)).transpose()?;
        Ok(Self { key: key.map(Arc::new), was_asked: AtomicBool::new(false) })
    }
}

fn certified(
    identity: Identity<'_>,
    provider: &CryptoProvider,
) -> Result<CertifiedKey, RecipeError> {
    let chain = certificates(identity.chain_pem)?.into_iter().map(CertificateDer::from).collect();
    let key = PrivateKeyDer::from_pem_slice(identity.key_pem).map_err(|_| RecipeError::NoKey)?;
    let wrong = |error: Error| RecipeError::Identity(error.to_string());
    let key = provider.key_provider.load_private_key(key).map_err(wrong)?;
    let certified = CertifiedKey::new(chain, key);
    match certified.keys_match() {
        Err(error @ Error::InconsistentKeys(InconsistentKeys::KeyMismatch)) => Err(wrong(error)),
        // A certificate that cannot be read here, as one of version 1: the server decides.
        _ => Ok(certified),
    }
}

impl Pocket {
    /// Whether a server asked for our certificate.
    pub(super) fn asked(&self) -> CertificateRequest {
        match (self.was_asked.load(Ordering::Relaxed), &self.key) {
            (false, _) => CertificateRequest::No,
            (true, None) => CertificateRequest::InVain,
            (true, Some(_)) => CertificateRequest::Shown,
        }
    }
}

impl ResolvesClientCert for Pocket {
    fn resolve(&self, _: &[&[u8]], _: &[SignatureScheme]) -> Option<Arc<CertifiedKey>> {
        self.was_asked.store(true, Ordering::Relaxed);
        self.key.clone()
    }

    fn has_certs(&self) -> bool {
        self.key.is_some()
    }
}

/// Accepts any certificate, and so any signature by it over the handshake: one of version 1, or
/// with a key that is too short to be verified here, has none that could be checked. Who can make a
/// certificate that is not looked at can make its signature as well.
#[derive(Debug)]
struct Unverified;

impl ServerCertVerifier for Unverified {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    /// All that TLS 1.2 and 1.3 have names for.
    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        use SignatureScheme as Is;
        vec![
            Is::ECDSA_NISTP256_SHA256,
            Is::ECDSA_NISTP384_SHA384,
            Is::ECDSA_NISTP521_SHA512,
            Is::ED25519,
            Is::ED448,
            Is::RSA_PSS_SHA256,
            Is::RSA_PSS_SHA384,
            Is::RSA_PSS_SHA512,
            Is::RSA_PKCS1_SHA256,
            Is::RSA_PKCS1_SHA384,
            Is::RSA_PKCS1_SHA512,
            Is::ECDSA_SHA1_Legacy,
            Is::RSA_PKCS1_SHA1,
        ]
    }
}
