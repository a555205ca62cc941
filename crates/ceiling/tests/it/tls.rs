//! HTTPS and proxies: handshakes are counted as the server counts them, a wrong certificate ends
//! the command at once with one line that says what to do, and a tunnel carries both protocols.

use crate::harness::certificates::Certificates;
use crate::harness::{Finished, Server, ceiling, count, run, turn};
use serde_json::Value;
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

fn https(server: &Server) -> String {
    format!("https://127.0.0.1:{}/simple", server.port)
}

fn drivers() -> Vec<&'static str> {
    let has_uring = engine::driver::uring::check().is_ok();
    if has_uring { vec!["uring", "epoll"] } else { vec!["epoll"] }
}

/// Runs a load with `--json`. A short load may break a gate; the caller does not care.
fn load(arguments: &[&str]) -> Value {
    let said = run(&[&["load"], arguments, &["-t", "1", "--json"]].concat());
    assert!(said.code == 0 || said.code == 4, "{}: {}", said.code, said.stderr);
    said.record()
}

/// The command must end with exit code 5 and one line that has all of `words`.
fn unreachable(arguments: &[&str], words: &[&str]) {
    let said = run(&[&["load"], arguments].concat());
    assert_eq!(said.code, 5, "{arguments:?}: {}", said.stderr);
    assert_eq!(said.stderr.trim_end().lines().count(), 1, "{arguments:?}: {}", said.stderr);
    for word in words {
        assert!(said.stderr.contains(word), "{arguments:?}: '{word}' in {}", said.stderr);
    }
}

#[test]
fn a_load_over_tls_is_counted_as_the_server_counts_it() {
    let certificates = Certificates::new("tls-plain");
    let ca = certificates.file("ca.pem");
    for driver in drivers() {
        let _turn = turn();
        let server = certificates.server("server", &[]);
        let arguments = ["--cacert", &ca, "-n", "3000", "-c", "6", "-p", "4", "--driver", driver];
        let record = load(&[&[https(&server).as_str()], &arguments[..]].concat());
        let point = &record["points"][0];
        assert_eq!(count(point, "/requests/completed"), 3000, "{driver}");
        assert_eq!(count(point, "/status/2xx"), 3000);
        assert_eq!(count(point, "/connections/handshakes"), 6);
        assert_eq!(count(point, "/connections/handshake_ns/count"), 6);
        assert_eq!(count(point, "/connections/connect_ns/count"), 6);
        assert_eq!(point["connections"]["handshake_failures"], serde_json::json!({}));
        assert_eq!(point["connections"]["tunnels_refused"], Value::Null);
        let tls = &record["target"]["tls"];
        assert_eq!((&tls["version"], &tls["alpn"]), (&"TLSv1.3".into(), &"http/1.1".into()));
        assert!(tls["cipher"].as_str().unwrap().starts_with("TLS_"), "{tls}");
        assert_eq!(tls["ktls"]["used"], false);
        assert!(tls["ktls"]["kernel"].as_str().unwrap().contains("available"), "{tls}");
        let stopped = server.stop();
        assert_eq!(count(&stopped, "/requests_served"), 3000);
        // One before the load.
        assert_eq!(count(&stopped, "/tls_handshakes"), 6 + 1);
    }
}

#[test]
fn plain_http_has_no_figures_of_tls() {
    let _turn = turn();
    let server = Server::start("target-nethttp", &[]);
    let record = load(&[&server.url("/simple"), "-n", "20", "-c", "2"]);
    assert_eq!(record["target"]["tls"], Value::Null);
    for figure in ["handshakes", "resumed", "handshake_ns", "handshake_failures"] {
        assert_eq!(record["points"][0]["connections"][figure], Value::Null, "{figure}");
    }
}

/// All handshakes, and the resumed ones among them, of a load with a new connection for each
/// request: by the record, then by the server.
fn reconnect(certificates: &Certificates, driver: &str, more: &[&str]) -> [u64; 4] {
    let server = certificates.server("server", &[]);
    let (url, ca) = (https(&server), certificates.file("ca.pem"));
    let arguments =
        [&url, "-H", "Connection: close", "--cacert", &ca, "-n", "300", "-c", "3", "--driver"];
    let record = load(&[&arguments[..], &[driver], more].concat());
    let point = &record["points"][0];
    assert_eq!(count(point, "/requests/completed"), 300, "{driver} {more:?}: {point}");
    assert_eq!(count(point, "/errors/tls"), 0);
    let stopped = server.stop();
    [
        count(point, "/connections/handshakes"),
        count(point, "/connections/resumed"),
        count(&stopped, "/tls_handshakes"),
        count(&stopped, "/tls_resumed"),
    ]
}

#[test]
fn sessions_are_resumed_as_asked_and_the_server_agrees() {
    let certificates = Certificates::new("tls-resume");
    for driver in drivers() {
        let _turn = turn();
        for (more, least, most) in [
            (&["--tls-resume", "on"][..], 290, 300),
            (&["--tls-resume", "off"], 0, 0),
            (&["--tls-resume", "10"], 260, 271),
            (&["--tls-version", "1.2"], 290, 300),
        ] {
            let [shaken, resumed, served, served_resumed] = reconnect(&certificates, driver, more);
            let what = format!("{driver} {more:?}: {shaken} {resumed}, {served} {served_resumed}");
            assert!((300..=303).contains(&shaken), "{what}");
            let share = resumed * 300 / shaken;
            assert!((least..=most).contains(&share), "{what}");
            // One before the load, and connections that were opened after the last response.
            assert!((shaken + 1..=shaken + 4).contains(&served), "{what}");
            assert!((resumed..=resumed + 3).contains(&served_resumed), "{what}");
        }
    }
}

#[test]
fn bad_certificates_end_at_once_with_what_to_do() {
    let certificates = Certificates::new("tls-bad");
    let ca = certificates.file("ca.pem");
    let _turn = turn();
    let good = certificates.server("server", &[]);
    let url = https(&good);
    unreachable(&[&url], &["unknown-issuer", "--cacert", "-k"]);
    let other = certificates.file("other-ca.pem");
    unreachable(&[&url, "--cacert", &other], &["unknown-issuer", "another authority", "-k"]);
    unreachable(&[&url, "--cacert", &ca, "--sni", "wrong.test"], &["wrong-name", "--sni"]);
    for (name, words) in
        [("expired", ["expired", "renew", "-k"]), ("wrongname", ["wrong-name", "--sni", "-k"])]
    {
        let server = certificates.server(name, &[]);
        unreachable(&[&https(&server), "--cacert", &ca], &words);
        let record = load(&[&https(&server), "-k", "-n", "20", "-c", "2"]);
        assert_eq!(count(&record, "/points/0/requests/completed"), 20, "-k looks at nothing");
        assert_eq!(record["target"]["tls"]["trust"], "anything");
    }
    let server = certificates.server("wrongname", &[]);
    let sni = [&https(&server), "--cacert", &ca, "--sni", "other.test", "-n", "20", "-c", "2"];
    assert_eq!(count(&load(&sni), "/points/0/requests/completed"), 20);
}

#[test]
fn a_certificate_of_ours_is_shown_to_a_server_that_asks() {
    let certificates = Certificates::new("tls-client");
    let ca = certificates.file("ca.pem");
    let _turn = turn();
    let server = certificates.server("server", &["--client-ca", &ca]);
    let url = https(&server);
    for version in ["1.2", "1.3"] {
        let bare = [&url, "--cacert", &ca, "--tls-version", version];
        unreachable(&bare, &["certificate-required", "--cert FILE --key FILE"]);
    }
    let (cert, key) = (certificates.file("client.pem"), certificates.file("client.key"));
    let with = ["--cacert", &ca, "--cert", &cert, "--key", &key, "-n", "50", "-c", "2"];
    let record = load(&[&[url.as_str()], &with[..]].concat());
    assert_eq!(count(&record, "/points/0/requests/completed"), 50);
    assert_eq!(record["target"]["tls"]["client_certificate_asked"], true);

    let other = Certificates::new("tls-client-other");
    let (cert, key) = (other.file("client.pem"), other.file("client.key"));
    let with = [&url, "--cacert", &ca, "--cert", &cert, "--key", &key];
    unreachable(&with, &["certificate-refused", "--cert"]);
}

#[test]
fn versions_and_ports_without_tls_are_told_apart() {
    let certificates = Certificates::new("tls-versions");
    let _turn = turn();
    let server = certificates.server("server", &[]);
    let record = load(&[&https(&server), "-k", "--tls-version", "1.2", "-n", "20", "-c", "2"]);
    assert_eq!(record["target"]["tls"]["version"], "TLSv1.2");
    let plain = Server::start("target-nethttp", &[]);
    unreachable(&[&https(&plain), "-k"], &["not-tls", "http://"]);
}

/// A proxy that counts its tunnels and the connections whose requests it reads, and requires this
/// authorization if given.
struct Proxy {
    address: SocketAddr,
    counts: Arc<Counts>,
}

#[derive(Default)]
struct Counts {
    tunnels: AtomicU64,
    forwarded: AtomicU64,
}

impl Proxy {
    fn start(authorization: Option<&'static str>, refusal: Option<&'static str>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let counts = Arc::new(Counts::default());
        let counted = Arc::clone(&counts);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let counted = Arc::clone(&counted);
                thread::spawn(move || serve_proxy(stream, authorization, refusal, &counted));
            }
        });
        Self { address, counts }
    }

    fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Tunnels, and connections whose requests it read.
    fn counted(&self) -> (u64, u64) {
        let count = |of: &AtomicU64| of.load(Ordering::SeqCst);
        (count(&self.counts.tunnels), count(&self.counts.forwarded))
    }
}

fn serve_proxy(
    mut near: TcpStream,
    authorization: Option<&str>,
    refusal: Option<&str>,
    counts: &Counts,
) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        if near.read(&mut byte).unwrap_or(0) == 0 {
            return;
        }
        head.extend_from_slice(&byte);
    }
    let head = String::from_utf8(head).unwrap();
    let is_allowed = authorization
        .is_none_or(|value| head.contains(&format!("\r\nProxy-Authorization: {value}\r\n")));
    let refusal = if is_allowed { refusal } else { Some("407 Proxy Authentication Required") };
    if let Some(status) = refusal {
        let _ =
            near.write_all(format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n").as_bytes());
        return;
    }
    let (method, rest) = head.split_once(' ').unwrap();
    let whole = rest.split(' ').next().unwrap();
    let target = match method {
        "CONNECT" => whole,
        _ => whole.strip_prefix("http://").unwrap().split('/').next().unwrap(),
    };
    let mut far = TcpStream::connect(target).unwrap();
    if method == "CONNECT" {
        counts.tunnels.fetch_add(1, Ordering::SeqCst);
        near.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n").unwrap();
    } else {
        // A server takes a whole URL as well (RFC 9112, 3.2.2).
        counts.forwarded.fetch_add(1, Ordering::SeqCst);
        far.write_all(head.as_bytes()).unwrap();
    }
    let (mut from, mut to) = (near.try_clone().unwrap(), far.try_clone().unwrap());
    thread::spawn(move || {
        let _ = std::io::copy(&mut from, &mut to);
        let _ = to.shutdown(Shutdown::Write);
    });
    let (mut from, mut to) = (far, near);
    let _ = std::io::copy(&mut from, &mut to);
    let _ = to.shutdown(Shutdown::Both);
}

#[test]
fn a_proxy_reads_plain_requests_and_carries_tls_through_tunnels() {
    let certificates = Certificates::new("proxy");
    let ca = certificates.file("ca.pem");
    for driver in drivers() {
        let _turn = turn();
        let plain = Server::start("target-nethttp", &[]);
        let secured = certificates.server("server", &[]);
        for (url, more, is_tunnel) in [
            (plain.url("/simple"), &[][..], false),
            (plain.url("/simple"), &["--proxy-tunnel"], true),
            (https(&secured), &["--cacert", &ca], true),
        ] {
            let proxy = Proxy::start(None, None);
            let at = proxy.url();
            let asked = [&url, "-x", &at, "-n", "200", "-c", "4", "--driver", driver];
            let record = load(&[&asked[..], more].concat());
            let point = &record["points"][0];
            assert_eq!(count(point, "/requests/completed"), 200, "{driver} {url}");
            assert_eq!(count(point, "/connections/opened"), 4);
            let refused = &point["connections"]["tunnels_refused"];
            assert_eq!(refused.as_u64(), is_tunnel.then_some(0), "null without a tunnel");
            assert_eq!(record["target"]["proxy"], at);
            let addresses = serde_json::json!([proxy.address.to_string()]);
            assert_eq!(record["target"]["addresses"], addresses);
            // A tunnel is tried once before the load.
            let expected = if is_tunnel { (4 + 1, 0) } else { (0, 4) };
            assert_eq!(proxy.counted(), expected, "{url} {more:?}");
        }
    }
}

#[test]
fn a_proxy_that_refuses_is_told_with_its_status_and_no_password_is_kept() {
    let _turn = turn();
    let server = Server::start("target-nethttp", &[]);
    let url = server.url("/simple");
    let strict = Proxy::start(None, Some("403 Forbidden"));
    let tunnel = |proxy: &str, words: &[&str]| {
        unreachable(&[&url, "-x", proxy, "--proxy-tunnel"], words);
    };
    tunnel(&strict.url(), &["refused a tunnel", "403", "127.0.0.1"]);
    // Basic, for me:secret.
    let guarded = Proxy::start(Some("Basic bWU6c2VjcmV0"), None);
    tunnel(&guarded.url(), &["407", "USER:PASSWORD"]);
    let wrong = format!("http://me:secrets@{}", guarded.address);
    tunnel(&wrong, &["407", "does not take the name or password of -x"]);
    // With a scheme, and as curl takes it.
    for with in
        [format!("http://me:secret@{}", guarded.address), format!("me:secret@{}", guarded.address)]
    {
        for more in [&[][..], &["--proxy-tunnel"]] {
            let asked = [&[&url, "--proxy", &with, "-n", "20", "-c", "2"], more].concat();
            let record = load(&asked);
            assert_eq!(count(&record, "/points/0/requests/completed"), 20, "{asked:?}");
            assert!(!record.to_string().contains("secret"), "{}", record["command"]);
            let shown = format!("http://me:***@{}", guarded.address);
            assert_eq!(record["target"]["proxy"], shown);
        }
    }
    let other = TcpListener::bind("127.0.0.1:0").unwrap();
    let place = format!("http://{}", other.local_addr().unwrap());
    thread::spawn(move || {
        for mut stream in other.incoming().flatten() {
            let _ = stream.write_all(b"SSH-2.0-other\r\n");
            let _ = stream.read(&mut [0; 1024]);
        }
    });
    tunnel(&place, &["does not respond to CONNECT", "-x"]);
}

/// The command must refuse with exit code 2 and one line that has all of `words`.
fn refuses(arguments: &[&str], words: &[&str]) {
    let said = Finished::of(ceiling(&[&["load"], arguments].concat()).output().unwrap());
    assert_eq!(said.code, 2, "{arguments:?}: {}", said.stderr);
    assert_eq!(said.stderr.trim_end().lines().count(), 1, "{arguments:?}: {}", said.stderr);
    for word in words {
        assert!(said.stderr.contains(word), "{arguments:?}: '{word}' in {}", said.stderr);
    }
}

#[test]
fn wrong_words_about_tls_and_proxies_are_told() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let place = listener.local_addr().unwrap();
    let (http, https) = (format!("http://{place}/"), format!("https://{place}/"));
    refuses(&[&http, "-k"], &["--insecure", "TLS", "for example https://"]);
    refuses(&[&http, "--sni", "a.test"], &["--sni", "for example https://"]);
    refuses(&[&https, "-k", "--cacert", "x"], &["--cacert", "--insecure"]);
    refuses(&[&https, "--cert", "x"], &["--key", "missing", "for example"]);
    refuses(&[&https, "--cacert", "/nonexistent/ca"], &["--cacert", "/nonexistent/ca", "PEM"]);
    let this = file!().rsplit('/').next().unwrap();
    let source = format!("{}/tests/it/{this}", env!("CARGO_MANIFEST_DIR"));
    refuses(&[&https, "--cacert", &source], &["--cacert", "no PEM certificate"]);
    refuses(&[&https, "-k", "--sni", "a b"], &["--sni", "a b", "for example"]);
    refuses(&[&https, "--tls-resume", "0"], &["--tls-resume", "on, off", "for example"]);
    refuses(&[&https, "--tls-version", "1.1"], &["--tls-version", "1.3", "for example"]);
    refuses(&[&https, "--tls-version", "1.3..1.2"], &["--tls-version", "for example"]);
    refuses(&[&https, "-k", "--ktls", "on"], &["--ktls", "user space", "for example"]);
    refuses(&[&http, "-x", "socks5://127.0.0.1:1"], &["--proxy", "for example -x http://"]);
    refuses(&[&http, "--proxy-tunnel"], &["--proxy", "for example"]);
    refuses(&[&http, "-x", "http://u:secret@a"], &["--proxy", "u:***@a", "no port"]);
    refuses(&["https://null/", "--driver", "null"], &["--driver null", "for example"]);
    let said = run(&["load", &http, "-x", "http://nowhere.invalid:1"]);
    assert_eq!(said.code, 5, "a name that nothing resolves: {}", said.stderr);
}
