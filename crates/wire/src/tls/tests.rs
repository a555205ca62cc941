//! TLS sessions against servers of rustls, in memory.

use super::*;
use crate::http1::Http1;
use crate::session::Session as _;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use model::tls::{Resumption, TlsCause, TlsVersion};
use proptest::prelude::*;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use rustls::{RootCertStore, ServerConfig, ServerConnection};

const BOTH: (TlsVersion, TlsVersion) = (TlsVersion::V12, TlsVersion::V13);

/// An authority, and a certificate that it signed for `server.test`.
struct Authority {
    root: CertifiedIssuer<'static, KeyPair>,
}

impl Authority {
    fn new(name: &str) -> Self {
        let mut params = CertificateParams::new([]).unwrap();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let root = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        Self { root }
    }

    fn der(&self) -> Vec<u8> {
        self.root.der().to_vec()
    }

    fn sign(
        &self,
        params: &CertificateParams,
    ) -> (CertificateDer<'static>, PrivateKeyDer<'static>) {
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.root).unwrap();
        (certificate.der().clone(), PrivateKeyDer::try_from(key.serialize_der()).unwrap())
    }

    fn server(&self, change: impl FnOnce(&mut CertificateParams)) -> ServerConfig {
        let mut params = CertificateParams::new(["server.test".to_string()]).unwrap();
        change(&mut params);
        let (certificate, key) = self.sign(&params);
        ServerConfig::builder()
            .with_no_client_auth()
            .with_single_cert(vec![certificate], key)
            .unwrap()
    }
}

fn recipe(root: Option<Vec<u8>>, resumption: Resumption) -> Recipe {
    Recipe::new(&Settings {
        server_name: "server.test",
        alpn: &[Http1::ALPN],
        roots: root.map(|root| vec![root]),
        identity: None,
        versions: BOTH,
        resumption,
    })
    .unwrap()
}

fn serve(config: &Arc<ServerConfig>) -> ServerConnection {
    ServerConnection::new(Arc::clone(config)).unwrap()
}

/// Lets both sides exchange records until neither has any; returns the client's failure.
fn talk(session: &mut TlsSession, server: &mut ServerConnection) -> Option<Failure> {
    let mut plain = [0; 256];
    loop {
        let mut output = Vec::new();
        session.take_output(&mut output);
        let mut rest = &output[..];
        while !rest.is_empty() && server.read_tls(&mut rest).unwrap() > 0 {
            let _ = server.process_new_packets();
        }
        let mut records = Vec::new();
        while server.wants_write() {
            server.write_tls(&mut records).unwrap();
        }
        let mut input = &records[..];
        if input.is_empty() && output.is_empty() {
            return None;
        }
        while !input.is_empty() {
            if let Err(failure) = session.receive(&mut input, &mut plain) {
                return Some(failure);
            }
        }
    }
}

fn cause(recipe: &Recipe, config: ServerConfig) -> Option<TlsCause> {
    let mut session = Client::new(recipe, 1).session();
    talk(&mut session, &mut serve(&Arc::new(config))).map(|failure| failure.cause)
}

#[test]
fn failures_have_the_cause_that_a_user_can_act_on() {
    let (ours, theirs, renewed) = (Authority::new("A"), Authority::new("B"), Authority::new("A"));
    let trusting = recipe(Some(ours.der()), Resumption::On);
    let long_ago = |year| rcgen::date_time_ymd(year, 1, 1);
    assert_eq!(cause(&trusting, ours.server(|_| {})), None);
    assert_eq!(cause(&trusting, theirs.server(|_| {})), Some(TlsCause::UnknownIssuer));
    assert_eq!(cause(&trusting, renewed.server(|_| {})), Some(TlsCause::UnknownIssuer));
    let expired = ours.server(|params| params.not_after = long_ago(2001));
    assert_eq!(cause(&trusting, expired), Some(TlsCause::Expired));
    let early = ours.server(|params| params.not_before = long_ago(3001));
    assert_eq!(cause(&trusting, early), Some(TlsCause::NotYetValid));
    let other = ours.server(|params| {
        *params = CertificateParams::new(["other.test".to_string()]).unwrap();
    });
    assert_eq!(cause(&trusting, other), Some(TlsCause::WrongName));
    let mut other_protocol = ours.server(|_| {});
    other_protocol.alpn_protocols = vec![b"h2".to_vec()];
    assert_eq!(cause(&trusting, other_protocol), Some(TlsCause::NoSharedProtocol));
    let unverified = recipe(None, Resumption::On);
    for config in [theirs.server(|_| {}), theirs.server(|params| params.not_after = long_ago(2001))]
    {
        assert_eq!(cause(&unverified, config), None, "nothing is looked at");
    }
}

/// What is inside a DER value with a length of two bytes or less, and what is behind it.
fn inside(der: &[u8]) -> (&[u8], &[u8]) {
    let (at, length) = match der[1] {
        0x82 => (4, usize::from(der[2]) << 8 | usize::from(der[3])),
        0x81 => (3, usize::from(der[2])),
        length => (2, usize::from(length)),
    };
    der[at..].split_at(length)
}

fn sequence(content: &[u8]) -> Vec<u8> {
    let length = u16::try_from(content.len()).unwrap().to_be_bytes();
    [&[0x30, 0x82, length[0], length[1]], content].concat()
}

/// A certificate without its version, which makes it one of version 1 (RFC 5280, 4.1.2.1).
fn of_version_1(der: &[u8]) -> Vec<u8> {
    let (signed, signature) = inside(inside(der).0);
    let nameless = signed.strip_prefix(&[0xa0, 3, 2, 1, 2]).expect("version 3");
    sequence(&[&sequence(nameless), signature].concat())
}

#[test]
fn any_certificate_is_accepted_when_none_is_looked_at() {
    let (root, _) = signed_by_itself(|_| {});
    let key = KeyPair::generate().unwrap();
    let params = CertificateParams::new(["server.test".to_string()]).unwrap();
    let certificate = params.self_signed(&key).unwrap();
    let provider = rustls::crypto::aws_lc_rs::default_provider();
    let as_key = |pair: &KeyPair| {
        let der = PrivateKeyDer::try_from(pair.serialize_der()).unwrap();
        provider.key_provider.load_private_key(der).unwrap()
    };
    let stranger = KeyPair::generate().unwrap();
    // The last signs the handshake with a key that is not that of the certificate.
    for (certificate, signer) in [
        (of_version_1(certificate.der()), &key),
        (b"no certificate at all".to_vec(), &key),
        (certificate.der().to_vec(), &stranger),
    ] {
        for version in [&rustls::version::TLS12, &rustls::version::TLS13] {
            let shown = CertifiedKey::new(vec![certificate.clone().into()], as_key(signer));
            let config = ServerConfig::builder_with_protocol_versions(&[version])
                .with_no_client_auth()
                .with_cert_resolver(Arc::new(SingleCertAndKey::from(shown)));
            assert_eq!(cause(&recipe(None, Resumption::On), config.clone()), None, "{version:?}");
            let trusting = recipe(Some(root.clone()), Resumption::On);
            assert!(cause(&trusting, config).is_some(), "and refused when one is looked at");
        }
    }
}

/// curl and OpenSSL send a certificate of version 1; the server decides about it.
#[test]
fn our_own_certificate_may_be_of_version_1_and_must_fit_its_key() {
    let (key, other) = (KeyPair::generate().unwrap(), KeyPair::generate().unwrap());
    let params = CertificateParams::new(["client.test".to_string()]).unwrap();
    let certificate = params.self_signed(&key).unwrap();
    let old = of_version_1(certificate.der());
    let pem = |der: &[u8]| {
        let body = STANDARD.encode(der);
        format!("-----BEGIN CERTIFICATE-----\n{body}\n-----END CERTIFICATE-----\n")
    };
    let made = |chain: String, key: &KeyPair| {
        let key = key.serialize_pem();
        let identity = Identity { chain_pem: chain.as_bytes(), key_pem: key.as_bytes() };
        Recipe::new(&Settings {
            server_name: "server.test",
            alpn: &[Http1::ALPN],
            roots: None,
            identity: Some(identity),
            versions: BOTH,
            resumption: Resumption::Off,
        })
    };
    assert!(made(pem(&old), &key).is_ok());
    assert!(made(pem(certificate.der()), &key).is_ok());
    let wrong = made(pem(certificate.der()), &other).unwrap_err().to_string();
    assert!(wrong.contains("cannot be used together"), "{wrong}");
}

/// A self-signed certificate that is marked as an authority, as `openssl req -x509` makes it, and a
/// server that uses it.
fn signed_by_itself(change: impl FnOnce(&mut CertificateParams)) -> (Vec<u8>, ServerConfig) {
    let mut params = CertificateParams::new(["server.test".to_string()]).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    change(&mut params);
    let key = KeyPair::generate().unwrap();
    let certificate = params.self_signed(&key).unwrap().der().clone();
    let key = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
    let config = ServerConfig::builder()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.clone()], key)
        .unwrap();
    (certificate.to_vec(), config)
}

#[test]
fn a_certificate_that_is_trusted_itself_may_be_an_authority() {
    let trusting = |root| recipe(Some(root), Resumption::On);
    let (root, server) = signed_by_itself(|_| {});
    assert_eq!(cause(&trusting(root), server), None);
    let (root, server) =
        signed_by_itself(|params| params.not_after = rcgen::date_time_ymd(2001, 1, 1));
    assert_eq!(cause(&trusting(root), server), Some(TlsCause::Expired));
    let (root, server) = signed_by_itself(|params| {
        params.subject_alt_names = vec![rcgen::SanType::DnsName("other.test".try_into().unwrap())];
    });
    assert_eq!(cause(&trusting(root), server), Some(TlsCause::WrongName));
    let ((root, _), (_, stranger)) = (signed_by_itself(|_| {}), signed_by_itself(|_| {}));
    assert_eq!(cause(&trusting(root), stranger), Some(TlsCause::UnknownIssuer));
}

#[test]
fn versions_must_overlap() {
    let authority = Authority::new("A");
    let (certificate, key) =
        authority.sign(&CertificateParams::new(["server.test".to_string()]).unwrap());
    let only_13 = ServerConfig::builder_with_protocol_versions(&[&rustls::version::TLS13])
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)
        .unwrap();
    let old = Recipe::new(&Settings {
        server_name: "server.test",
        alpn: &[Http1::ALPN],
        roots: None,
        identity: None,
        versions: (TlsVersion::V12, TlsVersion::V12),
        resumption: Resumption::Off,
    });
    assert_eq!(cause(&old.unwrap(), only_13), Some(TlsCause::NoSharedVersion));
}

#[test]
fn a_server_that_wants_a_certificate_is_understood_in_both_versions() {
    let authority = Authority::new("A");
    let mut roots = RootCertStore::empty();
    roots.add(authority.root.der().clone()).unwrap();
    let roots = Arc::new(roots);
    for version in [&rustls::version::TLS12, &rustls::version::TLS13] {
        let (certificate, key) =
            authority.sign(&CertificateParams::new(["server.test".to_string()]).unwrap());
        let verifier = WebPkiClientVerifier::builder(Arc::clone(&roots)).build().unwrap();
        let config = ServerConfig::builder_with_protocol_versions(&[version])
            .with_client_cert_verifier(verifier)
            .with_single_cert(vec![certificate], key)
            .unwrap();
        let config = Arc::new(config);
        let bare = recipe(None, Resumption::Off);
        let mut session = Client::new(&bare, 1).session();
        let failure = talk(&mut session, &mut serve(&config)).unwrap();
        assert_eq!(failure.cause, TlsCause::CertificateRequired, "{failure}");
        assert!(bare.was_asked_for_identity());

        for (issuer, expected) in
            [(&authority, None), (&Authority::new("B"), Some(TlsCause::CertificateRefused))]
        {
            let key = KeyPair::generate().unwrap();
            let params = CertificateParams::new(["client.test".to_string()]).unwrap();
            let chain = params.signed_by(&key, &issuer.root).unwrap().pem();
            let key = key.serialize_pem();
            let identity = Identity { chain_pem: chain.as_bytes(), key_pem: key.as_bytes() };
            let recipe = Recipe::new(&Settings {
                server_name: "server.test",
                alpn: &[Http1::ALPN],
                roots: None,
                identity: Some(identity),
                versions: BOTH,
                resumption: Resumption::Off,
            });
            let mut session = Client::new(&recipe.unwrap(), 1).session();
            let cause = talk(&mut session, &mut serve(&config)).map(|failure| failure.cause);
            assert_eq!(cause, expected);
        }
    }
}

#[test]
fn sessions_resume_as_asked() {
    let authority = Authority::new("A");
    for version in [&rustls::version::TLS12, &rustls::version::TLS13] {
        let (certificate, key) =
            authority.sign(&CertificateParams::new(["server.test".to_string()]).unwrap());
        let mut config = ServerConfig::builder_with_protocol_versions(&[version])
            .with_no_client_auth()
            .with_single_cert(vec![certificate], key)
            .unwrap();
        config.ticketer = rustls::crypto::aws_lc_rs::Ticketer::new().unwrap();
        let config = Arc::new(config);
        let resumed = |resumption| {
            let mut client = Client::new(&recipe(Some(authority.der()), resumption), 4);
            let mut kinds = String::new();
            for _ in 0..7 {
                let mut session = client.session();
                let mut server = serve(&config);
                assert_eq!(talk(&mut session, &mut server), None);
                let is_resumed = server.handshake_kind() == Some(HandshakeKind::Resumed);
                assert_eq!(session.is_resumed(), is_resumed, "both sides agree");
                kinds.push(if is_resumed { 'r' } else { 'F' });
            }
            kinds
        };
        assert_eq!(resumed(Resumption::On), "Frrrrrr");
        assert_eq!(resumed(Resumption::Off), "FFFFFFF");
        assert_eq!(resumed(Resumption::FullEvery(3)), "FrrFrrF");
        assert_eq!(resumed(Resumption::FullEvery(1)), "FFFFFFF");
    }
}

#[test]
fn what_is_not_tls_is_told() {
    let mut session = Client::new(&recipe(None, Resumption::Off), 1).session();
    let mut input = &b"HTTP/1.1 400 Bad Request\r\n\r\n"[..];
    let failure = session.receive(&mut input, &mut [0; 64]).unwrap_err();
    assert_eq!(failure.cause, TlsCause::NotTls, "{failure}");
}

#[test]
fn wrong_settings_are_told_apart() {
    let authority = Authority::new("A");
    let (ours, other) = (KeyPair::generate().unwrap(), KeyPair::generate().unwrap());
    let chain = CertificateParams::new(["a".to_string()]).unwrap();
    let chain = chain.signed_by(&ours, &authority.root).unwrap().pem();
    let with = |server_name, key_pem: &str, roots| {
        Recipe::new(&Settings {
            server_name,
            alpn: &[Http1::ALPN],
            roots,
            identity: Some(Identity { chain_pem: chain.as_bytes(), key_pem: key_pem.as_bytes() }),
            versions: BOTH,
            resumption: Resumption::On,
        })
        .err()
    };
    assert_eq!(with("::1", &ours.serialize_pem(), None), None);
    assert!(matches!(with("a b", &ours.serialize_pem(), None), Some(RecipeError::ServerName(_))));
    assert!(matches!(with("a", &other.serialize_pem(), None), Some(RecipeError::Identity(_))));
    assert_eq!(with("a", "nothing", None), Some(RecipeError::NoKey));
    let rubbish = Some(vec![vec![1, 2, 3]]);
    assert_eq!(with("a", &ours.serialize_pem(), rubbish), Some(RecipeError::NoRoot));
    assert_eq!(certificates(b"no pem"), Err(RecipeError::NoCertificate));
    assert_eq!(certificates(chain.as_bytes()).map(|found| found.len()), Ok(1));
}

/// A whole conversation: the records of the server, and what they contain.
fn conversation(responses: &[Vec<u8>], ends: bool) -> (TlsSession, ServerConnection, Vec<u8>) {
    let authority = Authority::new("A");
    let config = Arc::new(authority.server(|_| {}));
    let mut session = Client::new(&recipe(None, Resumption::Off), 1).session();
    let mut server = serve(&config);
    assert_eq!(talk(&mut session, &mut server), None);
    server.set_buffer_limit(None);
    let mut records = Vec::new();
    for response in responses {
        server.writer().write_all(response).unwrap();
        server.write_tls(&mut records).unwrap();
    }
    if ends {
        server.send_close_notify();
    }
    while server.wants_write() {
        server.write_tls(&mut records).unwrap();
    }
    (session, server, records)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// However the stream is cut and however small the buffer is, the same bytes come out, and the
    /// end is detected.
    #[test]
    fn any_cut_of_the_stream_gives_the_same_plain_bytes(
        responses in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40_000), 1..4),
        cuts in prop::collection::vec(1usize..20_000, 1..40),
        room in 1usize..70_000,
    ) {
        let (mut session, _server, records) = conversation(&responses, true);
        let (mut plain, mut got) = (vec![0; room], Vec::new());
        let mut rest = &records[..];
        for cut in cuts.into_iter().chain([usize::MAX]) {
            let (mut piece, later) = rest.split_at(cut.min(rest.len()));
            rest = later;
            loop {
                let filled = session.receive(&mut piece, &mut plain).unwrap();
                got.extend_from_slice(&plain[..filled]);
                if filled == 0 && piece.is_empty() {
                    break;
                }
            }
        }
        prop_assert!(got == responses.concat(), "the same bytes");
        prop_assert!(session.peer_has_closed());
    }

    /// What came before a broken record is returned, then the failure, every time.
    #[test]
    fn a_broken_record_is_no_plain_text(
        response in prop::collection::vec(any::<u8>(), 1..2000),
        bit in 0usize..8,
        place in 5usize..500,
    ) {
        let responses = std::slice::from_ref(&response);
        let (mut session, mut server, mut records) = conversation(responses, false);
        let good = records.len();
        server.writer().write_all(&[7; 500]).unwrap();
        server.write_tls(&mut records).unwrap();
        records[good + place] ^= 1 << bit;
        let (mut input, mut plain) = (&records[..], [0; 10_000]);
        let filled = session.receive(&mut input, &mut plain).unwrap();
        prop_assert_eq!(&plain[..filled], &response[..]);
        for _ in 0..2 {
            prop_assert!(session.receive(&mut input, &mut plain).is_err());
        }
        let mut alert = Vec::new();
        session.take_output(&mut alert);
        prop_assert!(!alert.is_empty(), "an alert tells the peer");
    }

    #[test]
    fn noise_never_breaks_a_session(noise in prop::collection::vec(any::<u8>(), 0..2000)) {
        let mut session = Client::new(&recipe(None, Resumption::Off), 1).session();
        let mut input = &noise[..];
        let mut plain = [0; 64];
        while !input.is_empty() {
            if session.receive(&mut input, &mut plain).is_err() {
                break;
            }
        }
    }
}
