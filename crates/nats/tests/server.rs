//! The client against nats-server, and against a malicious server.
//!
//! nats-server is built by `make nats-server`.

use nats::{Client, Credentials, Event, Failure, Seed, Settings, Subject};
use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// Longest wait; only a hang takes longer.
const PATIENCE: Duration = Duration::from_secs(120);

fn program() -> PathBuf {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.cache/nats/nats-server");
    assert!(path.exists(), "{} is missing: run make nats-server", path.display());
    path.canonicalize().unwrap()
}

/// A server with TLS and two users, in a folder that is removed at the end.
struct Server {
    folder: PathBuf,
    port: u16,
    child: Child,
    seeds: Vec<Seed>,
    authority_pem: String,
}

impl Server {
    fn start(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("nats-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir(&folder).unwrap();
        let authority_pem = certificate(&folder);
        let seeds: Vec<Seed> = (0..2).map(|_| Seed::random()).collect();
        // A port that was free a moment ago.
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let user = |seed: &Seed, publish: &str, subscribe: &str| {
            format!(
                "{{ nkey: {}, permissions: {{ publish: [\"{publish}\"], subscribe: \
                 [\"{subscribe}\"] }} }}\n",
                seed.user()
            )
        };
        let text = format!(
            "listen: \"127.0.0.1:{port}\"\n\
             tls {{ cert_file: server.pem, key_file: server.key }}\n\
             authorization {{ users = [\n{}{}] }}\n",
            user(&seeds[0], "a.up", "a.down"),
            user(&seeds[1], "a.down", "*.up"),
        );
        fs::write(folder.join("nats.conf"), text).unwrap();
        let child = spawn(&folder);
        Self { folder, port, child, seeds, authority_pem }
    }

    fn again(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        self.child = spawn(&self.folder);
    }

    fn settings(&self, seed: &Seed, subject: &str) -> Settings {
        let file = Credentials::file("test", seed, &self.authority_pem);
        Settings {
            servers: format!("nats://localhost:{}", self.port).parse().unwrap(),
            credentials: Credentials::parse(&file).unwrap(),
            name: "test".to_string(),
            subjects: vec![subject.parse().unwrap()],
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = fs::remove_dir_all(&self.folder);
    }
}

fn spawn(folder: &Path) -> Child {
    let mut command = Command::new(program());
    command.args(["-c", "nats.conf"]).current_dir(folder);
    command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

/// Makes a certificate for localhost in the folder; returns its authority.
fn certificate(folder: &Path) -> String {
    let key = rcgen::KeyPair::generate().unwrap();
    let mut params = rcgen::CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    let authority = params.self_signed(&key).unwrap();
    let issuer = rcgen::Issuer::new(params, key);
    let key = rcgen::KeyPair::generate().unwrap();
    let names = vec!["localhost".to_string(), "127.0.0.1".to_string()];
    let leaf = rcgen::CertificateParams::new(names).unwrap().signed_by(&key, &issuer).unwrap();
    fs::write(folder.join("server.pem"), leaf.pem()).unwrap();
    fs::write(folder.join("server.key"), key.serialize_pem()).unwrap();
    authority.pem()
}

/// Waits for an event for which `is_it` holds; failed attempts before it are ignored.
fn await_event(client: &mut Client, is_it: impl Fn(&Event) -> bool) -> Event {
    let begin = Instant::now();
    while begin.elapsed() < PATIENCE {
        match client.next(Duration::from_millis(100)) {
            Some(event) if is_it(&event) => return event,
            _ => {}
        }
    }
    panic!("the event did not come");
}

fn await_up(client: &mut Client) {
    await_event(client, |event| matches!(event, Event::Up { .. }));
}

fn subject(text: &str) -> Subject {
    text.parse().unwrap()
}

#[test]
fn payloads_pass_as_permitted_and_the_connection_comes_back() {
    let mut server = Server::start("passes");
    let mut agent = Client::new(server.settings(&server.seeds[0], "a.down")).unwrap();
    let mut control = Client::new(server.settings(&server.seeds[1], "*.up")).unwrap();
    assert_eq!(agent.publish(&subject("a.up"), b"early"), Err(Failure::NotUp));
    await_up(&mut agent);
    await_up(&mut control);

    let large = vec![7; 1 << 20];
    for payload in [&b""[..], b"\r\nPING\r\n", &large] {
        agent.publish(&subject("a.up"), payload).unwrap();
        let sent = Event::Payload { subject: "a.up".to_string(), payload: payload.to_vec() };
        let flush = |agent: &mut Client| while agent.next(Duration::ZERO).is_some() {};
        let begin = Instant::now();
        loop {
            flush(&mut agent);
            match control.next(Duration::from_millis(10)) {
                Some(event) => break assert!(event == sent, "another payload"),
                None => assert!(begin.elapsed() < PATIENCE),
            }
        }
    }
    for wrong in ["b.up", "a.down"] {
        agent.publish(&subject(wrong), b"x").unwrap();
        let refused = await_event(&mut agent, |event| matches!(event, Event::Refused { .. }));
        let Event::Refused { why } = refused else { unreachable!() };
        assert!(why.contains("Permissions Violation") && why.contains(wrong), "{why}");
    }
    agent.publish(&subject("a.up"), b"after").unwrap();
    let after = await_event(&mut control, |event| matches!(event, Event::Payload { .. }));
    let only = Event::Payload { subject: "a.up".to_string(), payload: b"after".to_vec() };
    assert_eq!(after, only, "a forbidden message reached no one");

    server.again();
    await_event(&mut agent, |event| matches!(event, Event::Down { .. }));
    await_up(&mut agent);
    await_event(&mut control, |event| matches!(event, Event::Up { .. }));
    agent.publish(&subject("a.up"), b"back").unwrap();
    await_event(
        &mut control,
        |event| matches!(event, Event::Payload { payload, .. } if payload == b"back"),
    );
}

#[test]
fn strangers_are_refused_and_so_are_strange_servers() {
    let server = Server::start("strangers");
    let down = |settings: Settings| {
        let mut client = Client::new(settings).unwrap();
        let is_told = |event: &Event| {
            matches!(event, Event::Up { .. })
                || matches!(event, Event::Down { why, .. } if !matches!(why, Failure::Io(_)))
        };
        match await_event(&mut client, is_told) {
            Event::Down { why, .. } => why,
            event => panic!("{event:?}"),
        }
    };
    let stranger = server.settings(&Seed::random(), "a.down");
    assert!(matches!(down(stranger), Failure::Denied(_)));

    let other = rcgen::generate_simple_self_signed(["localhost".to_string()]).unwrap().cert.pem();
    let seed = &server.seeds[0];
    let credentials = Credentials::parse(&Credentials::file("", seed, &other)).unwrap();
    let settings = Settings { credentials, ..server.settings(seed, "a.down") };
    assert!(matches!(down(settings), Failure::Tls(_)), "the certificate is of another authority");

    let mut settings = server.settings(seed, "a.down");
    settings.servers = format!("nats://127.0.0.2:{}", server.port).parse().unwrap();
    // The server listens only on 127.0.0.1.
    let mut client = Client::new(settings).unwrap();
    let why = await_event(&mut client, |event| matches!(event, Event::Down { .. }));
    assert!(matches!(why, Event::Down { why: Failure::Io(_), .. }), "{why:?}");
}

/// A server that sends these bytes to a client that connects, and reads what it sends.
fn lying(says: &'static [u8]) -> (u16, thread::JoinHandle<Vec<u8>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let work = move || {
        let (mut stream, _): (TcpStream, _) = listener.accept().unwrap();
        stream.write_all(says).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(1))).unwrap();
        let mut heard = Vec::new();
        let _ = stream.read_to_end(&mut heard);
        heard
    };
    (port, thread::spawn(work))
}

#[test]
fn nothing_is_said_in_plain_text_to_who_has_no_tls() {
    let pem = rcgen::generate_simple_self_signed(["a".to_string()]).unwrap().cert.pem();
    let file = Credentials::file("", &Seed::random(), &pem);
    for (says, expected) in [
        (&b"INFO {\"nonce\":\"abc\"}\r\n"[..], Failure::Plain),
        (
            b"INFO {\"nonce\":\"abc\",\"tls_required\":true}\r\nMSG a.down 1 1\r\nx\r\n",
            Failure::Tls("bytes in plain text before the handshake".to_string()),
        ),
        (b"-ERR 'Authorization Violation'\r\n", Failure::Denied("Authorization Violation".into())),
        (
            b"MSG a.down 1 9999999999\r\n",
            nats::ProtocolError::LongPayload { bytes: 9_999_999_999 }.into(),
        ),
    ] {
        let (port, heard) = lying(says);
        let mut client = Client::new(Settings {
            servers: format!("nats://127.0.0.1:{port}").parse().unwrap(),
            credentials: Credentials::parse(&file).unwrap(),
            name: "test".to_string(),
            subjects: vec![subject("a.down")],
        })
        .unwrap();
        let event = await_event(&mut client, |event| !matches!(event, Event::Up { .. }));
        let Event::Down { why, .. } = event else { panic!("{event:?}") };
        assert_eq!(why, expected);
        assert_eq!(heard.join().unwrap(), b"", "not a byte");
    }
}
