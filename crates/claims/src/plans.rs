//! A plan or a command line of others never causes a panic, and a plan that needs no trust reads no
//! file and no variable, and reaches nothing but the server that it starts.

use arbitrary::Unstructured;
use model::load::{DriverKind, Level, ServerProcess, Trial};
use model::profile::ProfileChoice;
use model::route::Address;
use model::sample::Bodies;
use model::secret::{self, Secrets};
use model::tls::Trust;
use plan::{GivenHosts, Machine, Plan, Server, Sources, Surroundings, Targets, command};
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::sync::LazyLock;

const TARGETS: &str = "[[target]]\nname = \"web\"\nrun = [\"web\"]\n\
                       ready = { event = \"listening\" }\n\
                       allow = { args = { \"--workers\" = \"1..8\" } }\n";

/// The server's address while nothing runs (RFC 5737).
const ADDR: &str = "192.0.2.1:1";

/// Values at the edge of what options take, and the ways in which one can name a file.
const VALUES: &[&str] = &[
    "",
    "0",
    "1",
    "-1",
    "4",
    "1k",
    "1e308",
    "NaN",
    "18446744073709551616",
    "1..1k*2",
    "100,500,1k..8k",
    "1s",
    "10s",
    "0s",
    "1s±5%",
    "forever",
    "on",
    "off",
    "auto",
    "all",
    "none",
    "200",
    "2xx,304",
    "p99<2ms,errors<1%",
    "wrk",
    "/a",
    "/{{seq}}?x={{random:1..9}}",
    "{{csv:f.csv:a}}",
    "A: {{ csv :f.csv:a}}",
    "{{\tcsv:f.csv:a}}",
    "{{{{{{csv:f.csv:a}}",
    "@f.txt",
    "f.txt",
    "A: b",
    "Authorization: Bearer QZX",
    "Host: 192.0.2.9",
    "me:QZX@192.0.2.9:1",
    "http://me:QZX@192.0.2.9:1/",
    "http://192.0.2.9:1/",
    "192.0.2.9:1",
    "192.0.2.1:1:192.0.2.9:1",
    "192.0.2.1:1:192.0.2.9",
    "nats://192.0.2.9",
    "192.0.2.2",
    "zone=a",
    "1k:20k/2s@5s",
    "0:1k/1m",
    "\u{1b}[2J\u{202e}",
    "é😀",
    "'\"\\",
    "--",
    "-x",
];

/// URLs as a plan may write them.
const URLS: &[&str] = &[
    "http://{addr}/",
    "https://{addr}/{{csv:f.csv:a}}",
    "tcp://{addr}",
    "http://{addr}?{{ csv:f.csv:a }}",
    "--targets=f://{addr}",
    "-ff://{addr}",
    "--proxy=http://{addr}",
    "-kx=http://{addr}/",
    "HTTP://{addr}/#@192.0.2.9",
];

/// The long names of all options.
static OPTIONS: LazyLock<Vec<String>> = LazyLock::new(|| {
    let commands = command();
    let all = commands.get_subcommands().flat_map(|command| command.get_arguments());
    let names = all.flat_map(|one| {
        let old = one.get_all_aliases().unwrap_or_default().into_iter();
        old.chain(one.get_long()).map(str::to_string).collect::<Vec<_>>()
    });
    names.collect::<BTreeSet<_>>().into_iter().collect()
});

/// Ends with a panic where one of them does not hold.
pub fn hold(bytes: &[u8]) {
    if let Ok(text) = std::str::from_utf8(bytes) {
        holds_for(text);
        let words: Vec<String> = text.split_whitespace().map(str::to_string).collect();
        let _ = plan::trial_of(&words, &Noted::default());
        let kept = Secrets::command(&words);
        assert_eq!(kept.len(), words.len());
        assert_eq!(secret::words(&words).len(), words.len());
    }
    if let Ok(text) = composed(&mut Unstructured::new(bytes)) {
        holds_for(&text);
    }
}

/// A plan of one cell, whose keys and values the bytes choose.
fn composed(choices: &mut Unstructured<'_>) -> arbitrary::Result<String> {
    let mut load = toml::Table::new();
    let command = *choices.choose(&["load", "ramp", "churn", "find", "fanout"])?;
    load.insert("command".to_string(), command.into());
    if choices.ratio(3, 4)? {
        load.insert("url".to_string(), (*choices.choose(URLS)?).into());
    }
    if choices.ratio(1, 2)? {
        load.insert("expand".to_string(), 4.into());
    }
    for _ in 0..choices.int_in_range(0..=4)? {
        let key = choices.choose(&OPTIONS)?.clone();
        let value = *choices.choose(VALUES)?;
        let value = match choices.int_in_range(0..=3)? {
            0 => toml::Value::from(true),
            1 => vec![value, *choices.choose(VALUES)?].into(),
            _ => value.into(),
        };
        load.insert(key, value);
    }
    let mut server = toml::Table::from_iter([("target".to_string(), "web".into())]);
    if choices.ratio(1, 4)? {
        server.insert("args".to_string(), vec!["--workers", *choices.choose(VALUES)?].into());
    }
    let plan = toml::Table::from_iter([
        ("schema".to_string(), "ceiling.plan/1".into()),
        ("question".to_string(), (*choices.choose(VALUES)?).into()),
        ("server".to_string(), server.into()),
        ("load".to_string(), load.into()),
    ]);
    Ok(toml::to_string(&plan).unwrap_or_default())
}

fn holds_for(text: &str) {
    let once = plan::without_secrets(text);
    assert_eq!(plan::without_secrets(&once), once);
    let targets = Targets::parse(TARGETS).expect("the list is sound");
    let Ok(plan) = Plan::parse(text, &targets, &GivenHosts::default()) else { return };
    let read = |path: &str| Err(format!("cannot read {path}"));
    let root = Path::new("/");
    let rehearsed =
        plan.rehearsed(Surroundings { targets: &targets, list: None, root, read: &read });
    let why = plan::untrusted(&plan, &targets);
    assert_eq!(rehearsed.contains("\nneeds --trust: "), why.is_some(), "{text}");
    if why.is_some() || plan.cells.iter().any(|cell| cell.check().is_err()) {
        return;
    }
    for cell in &plan.cells {
        assert!(matches!(cell.server, Server::Started { .. }), "{text}");
        let machine = Noted::default();
        let trial = plan::trial_of(&cell.words(ADDR, None, None), &machine);
        assert_eq!(machine.noted.take(), [""; 0], "{text}");
        if let Ok(trial) = trial {
            reaches_only_the_server(&trial, text);
        }
    }
}

fn reaches_only_the_server(trial: &Trial, text: &str) {
    let addr: Address = ADDR.parse().expect("it is an address");
    assert!(trial.addresses.iter().all(|one| *one == addr), "{text}");
    assert!(trial.proxy.is_none() && trial.runtime.is_none() && trial.confirm.is_none(), "{text}");
    assert_eq!(trial.server, ServerProcess::ByPort, "{text}");
    assert_eq!(trial.sample_bodies, Bodies::Dropped, "{text}");
    assert!(matches!(trial.profile, None | Some(ProfileChoice::Auto)), "{text}");
    let is_plain = |tls: &model::tls::TlsChoice| {
        !matches!(tls.trust, Trust::File(_)) && tls.identity.is_none()
    };
    assert!(trial.tls.as_ref().is_none_or(is_plain), "{text}");
}

/// A host that notes which files and variables it is asked for.
#[derive(Default)]
struct Noted {
    noted: RefCell<Vec<String>>,
}

impl Machine for Noted {
    fn cpus(&self) -> Vec<usize> {
        (0..8).collect()
    }

    fn parallelism(&self) -> usize {
        8
    }

    fn driver(&self) -> (DriverKind, String) {
        (DriverKind::Epoll, String::new())
    }

    fn uring(&self) -> Result<(), String> {
        Ok(())
    }

    fn ktls(&self) -> Result<(), String> {
        Ok(())
    }

    fn resolve(&self, host: &str, port: u16) -> Result<Vec<SocketAddr>, String> {
        let ip = host.parse().map_err(|_| "there is no resolver".to_string())?;
        Ok(vec![SocketAddr::new(ip, port)])
    }

    fn sources(
        &self,
        _asked: &Sources,
        _levels: &[Level],
        _addresses: &[Address],
    ) -> Result<Vec<IpAddr>, String> {
        Ok(Vec::new())
    }

    fn read(&self, path: &str) -> Result<Vec<u8>, String> {
        self.noted.borrow_mut().push(path.to_string());
        Ok(b"a\n1\n".to_vec())
    }

    fn variable(&self, name: &str) -> Option<String> {
        self.noted.borrow_mut().push(name.to_string());
        Some("QZX".to_string())
    }

    fn seed(&self) -> u64 {
        1
    }

    fn program(&self, _name: &str) -> Result<(), String> {
        Ok(())
    }
}
