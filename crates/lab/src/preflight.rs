//! The steps between a connection and the first request: a tunnel, a handshake. Each is tried once
//! before any load, so that an error is reported at once and in words.

use engine::driver::ktls;
use model::call::Spoken;
use model::load::{HttpChoice, HttpVersion, Trial};
use model::route::Address;
use model::tls::{
    KernelTls, KernelTlsInfo, ProxyChoice, Resumption, TlsCause, TlsChoice, TlsInfo, TlsVersion,
    Trust,
};
use std::fs;
use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::{Duration, Instant};
use wire::http1::Http1;
use wire::http2::Http2;
use wire::session::Session as _;
use wire::tls::{
    Client, Failure, Identity, Recipe, RecipeError, Settings, TlsSession, certificates,
};
use wire::tunnel::{self, ProxyResponse};

/// How long a server that asked for our certificate may take to refuse it after the handshake.
const REFUSAL: Duration = Duration::from_secs(1);

/// What all connections of a run do before their first request.
#[derive(Debug, Clone, Default)]
pub struct Manners {
    /// How they are encrypted.
    pub recipe: Option<Arc<Recipe>>,
    /// The request for a tunnel.
    pub tunnel: Option<Arc<[u8]>>,
    /// The version of HTTP that is spoken; before both sides have agreed, the lowest.
    pub http: HttpVersion,
}

/// Why a trial's certificates cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SecretsError {
    /// A file cannot be read.
    #[error("{option}: cannot read {path}: {error}; give a PEM file, for example {option} a.pem")]
    File {
        /// Option that named it.
        option: &'static str,
        /// The file.
        path: String,
        /// The system's reason.
        error: io::Error,
    },
    /// What an option gave cannot be used.
    #[error("{option}: {given}: {error}; for example {option} {example}")]
    Recipe {
        /// The option.
        option: &'static str,
        /// What it gave.
        given: String,
        /// Why it cannot be used.
        error: RecipeError,
        /// An example that could be used.
        example: &'static str,
    },
    /// The system has no authorities.
    #[error("this system has no trusted authorities ({0}); name a file with --cacert FILE, or -k")]
    NoSystemRoots(String),
}

/// Why requests are impossible although the target accepts connections.
#[derive(Debug, thiserror::Error)]
pub enum GreetError {
    /// The handshake failed.
    #[error("TLS with {address} failed: {what} ({}: {failure}); {advice}", failure.cause.name())]
    Tls {
        /// Where.
        address: Address,
        /// In plain words.
        what: &'static str,
        /// What to do.
        advice: String,
        /// What rustls says.
        failure: Failure,
    },
    /// The proxy refused.
    #[error(
        "proxy {address} refused a tunnel to {target} with status {status}{}",
        explain_status(*status, *named)
    )]
    Refused {
        /// The proxy.
        address: Address,
        /// The target.
        target: String,
        /// Its response.
        status: u16,
        /// Whether it was given a name and a password.
        named: Named,
    },
    /// What arrived is not the response of a proxy.
    #[error(
        "{address} does not respond to CONNECT like an HTTP proxy; for example -x http://HOST:3128"
    )]
    NotAProxy {
        /// The address that responded.
        address: Address,
    },
    /// The server does not speak HTTP/2.
    #[error("{address} does not speak HTTP/2: {said}; for example {way_out}")]
    NotHttp2 {
        /// The address that responded.
        address: Address,
        /// What it said instead.
        said: String,
        /// An option that does without.
        way_out: &'static str,
    },
    /// The connection broke, or nothing arrived.
    #[error("{address}: {stage}: {error}")]
    Io {
        /// Where.
        address: Address,
        /// The step that failed.
        stage: &'static str,
        /// The system's reason.
        error: io::Error,
    },
}

/// Whether a proxy was given a name and a password.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Named {
    /// It was.
    Yes,
    /// It was not.
    No,
}

fn explain_status(status: u16, named: Named) -> &'static str {
    match (status, named) {
        (407, Named::No) => "; give it -x http://USER:PASSWORD@HOST:PORT",
        (407, Named::Yes) => "; it does not take the name or password of -x",
        (403 | 405, _) => "; it does not allow that target",
        (502..=504, _) => "; it cannot reach that target",
        _ => "",
    }
}

impl Manners {
    /// Reads all files that a trial names.
    pub fn of(trial: &Trial) -> Result<Self, SecretsError> {
        match trial.manner.http {
            HttpChoice::One => Self::settled(trial, HttpVersion::One),
            HttpChoice::Two => Self::settled(trial, HttpVersion::Two),
            HttpChoice::Auto => Self::offering(
                (trial.tls.as_ref(), trial.proxy.as_ref()),
                &[Http2::ALPN, Http1::ALPN],
            ),
        }
    }

    /// The same for a version of HTTP that is certain: no other is offered.
    pub fn settled(trial: &Trial, http: HttpVersion) -> Result<Self, SecretsError> {
        let alpn = match http {
            HttpVersion::One => Http1::ALPN,
            HttpVersion::Two => Http2::ALPN,
        };
        let way = (trial.tls.as_ref(), trial.proxy.as_ref());
        Ok(Self { http, ..Self::offering(way, &[alpn])? })
    }

    /// The same for connections that have no trial yet, encrypted and by a proxy as chosen.
    pub fn offering(
        (tls, proxy): (Option<&TlsChoice>, Option<&ProxyChoice>),
        alpn: &[&'static [u8]],
    ) -> Result<Self, SecretsError> {
        let recipe = tls.map(|choice| recipe(choice, alpn)).transpose()?;
        let tunnel = proxy
            .filter(|proxy| proxy.tunnels())
            .map(|proxy| tunnel::request(&proxy.target, proxy.authorization.as_deref()).into());
        Ok(Self { recipe: recipe.map(Arc::new), tunnel, http: HttpVersion::One })
    }

    /// Connects to `address`, and through the proxy if it has a tunnel.
    pub fn connect(
        &self,
        proxy: Option<&ProxyChoice>,
        address: &Address,
        timeout: Duration,
    ) -> Result<Socket, GreetError> {
        let failed = |stage| {
            let address = address.clone();
            move |error| GreetError::Io { address, stage, error }
        };
        let mut stream = Socket::connect(address, timeout).map_err(failed("connect"))?;
        if let (Some(request), Some(proxy)) = (&self.tunnel, proxy) {
            let response = ask(&mut stream, request).map_err(failed("asking for a tunnel"))?;
            match response {
                ProxyResponse::Open => {}
                ProxyResponse::Refused(status) => {
                    let target = proxy.target.clone();
                    let address = address.clone();
                    let named = if proxy.authorization.is_some() { Named::Yes } else { Named::No };
                    return Err(GreetError::Refused { address, target, status, named });
                }
                ProxyResponse::Partial | ProxyResponse::Malformed => {
                    return Err(GreetError::NotAProxy { address: address.clone() });
                }
            }
        }
        Ok(stream)
    }

    /// Connects once to `address` and does what every connection will do. Returns what the
    /// handshake negotiated, if there is one.
    pub fn try_once(
        &self,
        trial: &Trial,
        address: &Address,
        timeout: Duration,
    ) -> Result<Option<TlsInfo>, GreetError> {
        if self.recipe.is_none() && self.tunnel.is_none() && self.http == HttpVersion::One {
            // A bare connection was tried when the address was reached; another would take a port.
            return Ok(None);
        }
        let failed = |stage| {
            let address = address.clone();
            move |error| GreetError::Io { address, stage, error }
        };
        let mut stream = self.connect(trial.proxy.as_ref(), address, timeout)?;
        let is_grpc = Spoken::of(&trial.requests) == Spoken::Grpc;
        let else_try = |option| if is_grpc { "the port of its gRPC server" } else { option };
        let (Some(recipe), Some(choice)) = (&self.recipe, &trial.tls) else {
            if self.http == HttpVersion::Two {
                greet(&mut stream)
                    .map_err(|said| not_http2(address, said, else_try("--http 1")))?;
            }
            return Ok(None);
        };
        let begin = Instant::now();
        match shake(&mut stream, recipe) {
            Ok(session) => {
                let info = info(&session, recipe, choice);
                // A server without ALPN ends no handshake.
                let is_agreed = info.as_ref().is_some_and(is_http2);
                if self.http == HttpVersion::Two && !is_agreed {
                    let said = "it agrees on no protocol by ALPN".to_string();
                    return Err(not_http2(address, said, else_try("--http auto")));
                }
                Ok(info)
            }
            Err(ShakeError::Tls(failure)) => {
                let (what, advice) = advise(failure.cause, choice);
                Err(GreetError::Tls { address: address.clone(), what, advice, failure })
            }
            Err(ShakeError::Io(error)) if is_timeout(&error) => {
                let waited = format!("no response in {:.1} s", begin.elapsed().as_secs_f64());
                Err(failed("TLS handshake")(io::Error::new(ErrorKind::TimedOut, waited)))
            }
            Err(ShakeError::Io(error)) => Err(failed("TLS handshake")(error)),
        }
    }
}

/// Whether a server speaks TLS: it finishes a handshake, or ends it with a TLS error.
pub fn speaks_tls(address: &Address, timeout: Duration) -> bool {
    let settings = Settings {
        server_name: "localhost",
        alpn: &[Http1::ALPN],
        roots: None,
        identity: None,
        versions: (TlsVersion::V12, TlsVersion::V13),
        resumption: Resumption::Off,
    };
    let recipe = Recipe::new(&settings).expect("nothing of it is given by a user");
    let Ok(mut stream) = Socket::connect(address, timeout) else { return false };
    match shake(&mut stream, &recipe) {
        Ok(_) => true,
        Err(ShakeError::Tls(failure)) => {
            !matches!(failure.cause, TlsCause::NotTls | TlsCause::Closed)
        }
        Err(ShakeError::Io(_)) => false,
    }
}

fn recipe(choice: &TlsChoice, alpn: &[&'static [u8]]) -> Result<Recipe, SecretsError> {
    let read = |option: &'static str, path: &String| {
        fs::read(path).map_err(|error| SecretsError::File { option, path: path.clone(), error })
    };
    let wrong = |option, given: &str, example| {
        let given = given.to_string();
        move |error| SecretsError::Recipe { option, given, error, example }
    };
    let roots =
        |file: &String, pem: &[u8]| certificates(pem).map_err(wrong("--cacert", file, "ca.pem"));
    let (roots, roots_from) = match &choice.trust {
        Trust::Anything => (None, String::new()),
        Trust::SystemRoots => (Some(system_roots()?), "the system's".to_string()),
        Trust::File(path) => (Some(roots(path, &read("--cacert", path)?)?), path.clone()),
        Trust::Sent { file, pem } => (Some(roots(file, pem.as_bytes())?), file.clone()),
    };
    let files = match &choice.identity {
        Some((chain, key)) => Some((read("--cert", chain)?, read("--key", key)?)),
        None => None,
    };
    let identity = files.as_ref().map(|(chain, key)| Identity { chain_pem: chain, key_pem: key });
    let settings = Settings {
        server_name: &choice.server_name,
        alpn,
        roots,
        identity,
        versions: choice.versions,
        resumption: choice.resumption,
    };
    let (chain, key) = choice.identity.clone().unwrap_or_default();
    Recipe::new(&settings).map_err(|error| match error {
        RecipeError::ServerName(_) => wrong("--sni", &choice.server_name, "example.org")(error),
        RecipeError::NoRoot => wrong("--cacert", &roots_from, "ca.pem")(error),
        RecipeError::NoCertificate => wrong("--cert", &chain, "client.pem")(error),
        RecipeError::NoKey | RecipeError::Identity(_) => wrong("--key", &key, "client.key")(error),
    })
}

fn system_roots() -> Result<Vec<Vec<u8>>, SecretsError> {
    let loaded = rustls_native_certs::load_native_certs();
    if loaded.certs.is_empty() {
        let why = loaded.errors.first().map_or("none found".to_string(), ToString::to_string);
        return Err(SecretsError::NoSystemRoots(why));
    }
    Ok(loaded.certs.iter().map(|certificate| certificate.to_vec()).collect())
}

/// A blocking connection of either kind.
pub enum Socket {
    /// Of a network.
    Tcp(TcpStream),
    /// Inside this host.
    Unix(UnixStream),
}

impl Socket {
    fn connect(address: &Address, timeout: Duration) -> io::Result<Self> {
        let socket = match address {
            Address::Tcp(tcp) => {
                let stream = TcpStream::connect_timeout(tcp, timeout)?;
                stream.set_nodelay(true)?;
                Self::Tcp(stream)
            }
            Address::Unix(path) => Self::Unix(UnixStream::connect(path)?),
        };
        socket.give_up_after(timeout)?;
        Ok(socket)
    }

    /// Makes reads and writes that take longer fail.
    fn give_up_after(&self, timeout: Duration) -> io::Result<()> {
        let timeout = Some(timeout);
        match self {
            Self::Tcp(stream) => {
                stream.set_read_timeout(timeout).and_then(|()| stream.set_write_timeout(timeout))
            }
            Self::Unix(stream) => {
                stream.set_read_timeout(timeout).and_then(|()| stream.set_write_timeout(timeout))
            }
        }
    }
}

impl Read for Socket {
    /// A read with a time limit is not restarted after a signal (signal(7)), so this restarts it.
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let taken = match self {
                Self::Tcp(stream) => stream.read(buffer),
                Self::Unix(stream) => stream.read(buffer),
            };
            match taken {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                other => return other,
            }
        }
    }
}

impl Write for Socket {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.write(bytes),
            Self::Unix(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Asks for a tunnel and reads the response, and no byte beyond it.
fn ask(stream: &mut Socket, request: &[u8]) -> io::Result<ProxyResponse> {
    stream.write_all(request)?;
    let (mut head, mut piece) = (Vec::new(), [0; 4096]);
    loop {
        let length = stream.read(&mut piece)?;
        head.extend_from_slice(&piece[..length]);
        match tunnel::response(&head) {
            ProxyResponse::Partial if length > 0 => {}
            response => return Ok(response),
        }
    }
}

/// Whether HTTP/2 was agreed on.
pub fn is_http2(info: &TlsInfo) -> bool {
    info.alpn.as_ref().is_some_and(|alpn| alpn.as_bytes() == Http2::ALPN)
}

fn not_http2(address: &Address, said: String, way_out: &'static str) -> GreetError {
    GreetError::NotHttp2 { address: address.clone(), said, way_out }
}

/// Starts HTTP/2 and waits for the settings of the server; what it did instead, if it has none.
fn greet(stream: &mut Socket) -> Result<(), String> {
    let (mut session, mut words) = (Http2::for_depth(1), Vec::new());
    session.begin(&mut words);
    stream.write_all(&words).map_err(|error| error.to_string())?;
    let mut heard = [0; 16 * 1024];
    while !session.is_ready() {
        let length = match stream.read(&mut heard) {
            Ok(0) => return Err("it closed the connection".to_string()),
            Ok(length) => length,
            Err(error) if is_timeout(&error) => return Err("it sent nothing".to_string()),
            Err(error) => return Err(error.to_string()),
        };
        if session.addressee(&mut &heard[..length]).is_err() {
            let begin = String::from_utf8_lossy(&heard[..length.min(16)]);
            return Err(format!("what it sent begins with {begin:?}"));
        }
    }
    Ok(())
}

enum ShakeError {
    Tls(Failure),
    Io(io::Error),
}

impl From<io::Error> for ShakeError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// One handshake. A server that asked for our certificate gets a moment to refuse it: with TLS 1.3
/// it does so after the handshake.
fn shake(stream: &mut Socket, recipe: &Recipe) -> Result<TlsSession, ShakeError> {
    let mut session = Client::new(recipe, 1).session();
    while session.is_shaking() {
        step(stream, &mut session)?;
    }
    flush(stream, &mut session)?;
    // With TLS 1.2 the server judged the certificate before the end of the handshake.
    if recipe.was_asked_for_identity() && session.is_version_13() {
        stream.give_up_after(REFUSAL)?;
        while session.tickets() == 0 && !session.peer_has_closed() {
            match step(stream, &mut session) {
                Err(ShakeError::Io(error)) if is_timeout(&error) => break,
                other => other?,
            }
        }
    }
    session.close();
    // The connection ends for the server too; it is no failure if the server has already closed it.
    let _ = flush(stream, &mut session);
    Ok(session)
}

/// Sends what waits and reads what has arrived.
fn step(stream: &mut Socket, session: &mut TlsSession) -> Result<(), ShakeError> {
    flush(stream, session)?;
    let mut records = [0; 16 * 1024];
    let length = stream.read(&mut records)?;
    let mut input = &records[..length];
    while !input.is_empty() {
        if let Err(failure) = session.receive(&mut input, &mut [0; 4096]) {
            let _ = flush(stream, session);
            return Err(ShakeError::Tls(failure));
        }
    }
    if length == 0 || session.is_shaking() && session.peer_has_closed() {
        return Err(ShakeError::Tls(Failure::closed()));
    }
    Ok(())
}

pub fn flush(stream: &mut Socket, session: &mut TlsSession) -> io::Result<()> {
    let mut records = Vec::new();
    session.take_output(&mut records);
    stream.write_all(&records)
}

pub fn is_timeout(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut)
}

fn info(session: &TlsSession, recipe: &Recipe, choice: &TlsChoice) -> Option<TlsInfo> {
    let agreed = session.agreed()?;
    Some(TlsInfo {
        version: agreed.version,
        cipher: agreed.cipher,
        group: agreed.group,
        alpn: agreed.alpn,
        server_name: choice.server_name.clone(),
        trust: choice.trust.recorded(),
        client_certificate_asked: recipe.was_asked_for_identity(),
        resumption: choice.resumption,
        ktls: kernel_tls(choice.kernel),
    })
}

fn kernel_tls(asked: KernelTls) -> KernelTlsInfo {
    let kernel = (asked == KernelTls::Auto).then(|| match ktls::check() {
        Ok(()) => "available".to_string(),
        Err(reason) => format!("not available: {reason}"),
    });
    KernelTlsInfo { asked, used: false, kernel }
}

/// What went wrong in plain words, and what to do about it.
pub fn advise(cause: TlsCause, choice: &TlsChoice) -> (&'static str, String) {
    let name = &choice.server_name;
    let trusted = match &choice.trust {
        Trust::File(path) | Trust::Sent { file: path, .. } => {
            format!("--cacert {path} holds another authority")
        }
        Trust::SystemRoots | Trust::Anything => "name its authority with --cacert FILE".to_string(),
    };
    let or_any = match choice.trust {
        Trust::Anything => "",
        _ => ", or accept any certificate with -k",
    };
    match cause {
        TlsCause::UnknownIssuer => {
            ("no trusted authority signed its certificate", format!("{trusted}{or_any}"))
        }
        TlsCause::Expired => {
            ("its certificate has expired", format!("renew it on the server{or_any}"))
        }
        TlsCause::NotYetValid => {
            ("its certificate is not valid yet", format!("check both clocks{or_any}"))
        }
        TlsCause::WrongName => (
            "its certificate is for another name",
            format!("'{name}' was looked for: name another with --sni NAME{or_any}"),
        ),
        TlsCause::BadCertificate => ("its certificate is bad", format!("replace it{or_any}")),
        TlsCause::NoSharedVersion => (
            "no TLS version in common",
            "1.2 and 1.3 can be offered, see --tls-version".to_string(),
        ),
        TlsCause::NoSharedCipher => (
            "no cipher suite or group in common",
            "allow an AEAD suite with forward secrecy on the server".to_string(),
        ),
        TlsCause::NoSharedProtocol => (
            "it does not take this version of HTTP by ALPN",
            "ask for what it takes with --http auto".to_string(),
        ),
        TlsCause::CertificateRequired => {
            ("it requires a client certificate", "give one with --cert FILE --key FILE".to_string())
        }
        TlsCause::CertificateRefused => (
            "it rejects our certificate",
            "give one that it trusts with --cert FILE --key FILE".to_string(),
        ),
        TlsCause::UnknownName => (
            "it has no certificate for the name sent",
            format!("'{name}' was sent: name another with --sni NAME"),
        ),
        TlsCause::Alert | TlsCause::Other => {
            ("the handshake broke", "see the server's log".to_string())
        }
        TlsCause::Closed => (
            "it closed the connection",
            "see the server's log; it may not be a TLS port".to_string(),
        ),
        TlsCause::NotTls => {
            ("its response is not TLS", "use http:// if it serves plain HTTP".to_string())
        }
    }
}
