//! The authorities that are trusted to sign server certificates.

use crate::link::Failure;
use rustls::client::Resumption;
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::CertificateDer;
use rustls::{ClientConfig, RootCertStore};
use std::sync::Arc;

/// Trusts only these authorities (DER), or those of the system if the list is empty.
pub(crate) fn config(authorities: &[Vec<u8>]) -> Result<Arc<ClientConfig>, Failure> {
    let mut roots = RootCertStore::empty();
    let given = authorities.iter().map(|der| CertificateDer::from(der.clone()));
    let all: Vec<_> = match authorities {
        [] => rustls_native_certs::load_native_certs().certs,
        _ => given.collect(),
    };
    if roots.add_parsable_certificates(all).0 == 0 {
        let why = match authorities {
            [] => "this system has no CA certificates; put one in the credentials",
            _ => "the credentials have no CA certificate that can be read",
        };
        return Err(Failure::Tls(why.to_string()));
    }
    let builder = ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("the provider has suites for TLS 1.2 and 1.3");
    let mut config = builder.with_root_certificates(roots).with_no_client_auth();
    // Connections are few and long, so resumption is not needed.
    config.resumption = Resumption::disabled();
    Ok(Arc::new(config))
}
