//! Why TLS failed, by cause.

use model::tls::TlsCause;
use rustls::{AlertDescription, CertificateError, Error, InvalidMessage, PeerIncompatible};
use std::sync::Arc;

/// The end of a connection that TLS caused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text}")]
pub struct Failure {
    /// Cause.
    pub cause: TlsCause,
    /// What rustls says about it.
    pub text: Arc<str>,
}

/// Whether the server asked for our certificate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CertificateRequest {
    /// It did not.
    No,
    /// It did, and we have none.
    InVain,
    /// It did, and we sent one.
    Shown,
}

impl Failure {
    /// The cause of an error. A server that requires a certificate reports that in many ways, so
    /// what counts is whether it asked for one.
    pub(super) fn of(error: &Error, asked: CertificateRequest) -> Self {
        let cause = match error {
            Error::InvalidCertificate(error) => of_certificate(error),
            Error::AlertReceived(alert) => of_alert(*alert, asked),
            Error::PeerIncompatible(error) => of_incompatible(error),
            Error::NoApplicationProtocol => TlsCause::NoSharedProtocol,
            Error::InvalidMessage(
                InvalidMessage::InvalidContentType
                | InvalidMessage::UnknownProtocolVersion
                | InvalidMessage::MessageTooLarge,
            ) => TlsCause::NotTls,
            _ => TlsCause::Other,
        };
        Self { cause, text: error.to_string().into() }
    }

    /// The peer closed in the middle of a handshake.
    pub fn closed() -> Self {
        let text = "the server closed the connection during the handshake";
        Self { cause: TlsCause::Closed, text: text.into() }
    }

    /// The failure once more; the text is shared.
    pub(super) fn again(&self) -> Self {
        Self { cause: self.cause, text: Arc::clone(&self.text) }
    }
}

fn of_certificate(error: &CertificateError) -> TlsCause {
    match error {
        // An authority that was created again has the old name and another key.
        CertificateError::UnknownIssuer | CertificateError::BadSignature => TlsCause::UnknownIssuer,
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => TlsCause::Expired,
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            TlsCause::NotYetValid
        }
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            TlsCause::WrongName
        }
        _ => TlsCause::BadCertificate,
    }
}

fn of_alert(alert: AlertDescription, asked: CertificateRequest) -> TlsCause {
    match alert {
        AlertDescription::CertificateRequired => TlsCause::CertificateRequired,
        AlertDescription::HandshakeFailure | AlertDescription::BadCertificate
            if asked == CertificateRequest::InVain =>
        {
            TlsCause::CertificateRequired
        }
        AlertDescription::HandshakeFailure | AlertDescription::DecryptError
            if asked == CertificateRequest::Shown =>
        {
            TlsCause::CertificateRefused
        }
        AlertDescription::BadCertificate
        | AlertDescription::UnsupportedCertificate
        | AlertDescription::CertificateRevoked
        | AlertDescription::CertificateExpired
        | AlertDescription::CertificateUnknown
        | AlertDescription::UnknownCA
        | AlertDescription::AccessDenied => TlsCause::CertificateRefused,
        AlertDescription::ProtocolVersion => TlsCause::NoSharedVersion,
        AlertDescription::HandshakeFailure | AlertDescription::InsufficientSecurity => {
            TlsCause::NoSharedCipher
        }
        AlertDescription::NoApplicationProtocol => TlsCause::NoSharedProtocol,
        AlertDescription::UnrecognisedName => TlsCause::UnknownName,
        _ => TlsCause::Alert,
    }
}

fn of_incompatible(error: &PeerIncompatible) -> TlsCause {
    match error {
        PeerIncompatible::ServerDoesNotSupportTls12Or13
        | PeerIncompatible::ServerTlsVersionIsDisabledByOurConfig => TlsCause::NoSharedVersion,
        _ => TlsCause::NoSharedCipher,
    }
}
