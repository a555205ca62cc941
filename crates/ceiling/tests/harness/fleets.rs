//! A fleet on loopback: nats-server with its own keys, and agents that are real processes.

use super::{Folder, ceiling, root, run, signal, wait_until};
use serde_json::Value;
use std::fs::{self, File};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

/// A broker and agents that end with their test.
pub struct Fleet {
    pub folder: Folder,
    pub url: String,
    pub controller: String,
    port: u16,
    broker: Child,
    agents: Vec<(String, Child)>,
}

impl Fleet {
    /// Starts a broker and agents `a1`, `a2` and so on, each with one worker, that may load this
    /// host.
    pub fn start(name: &str, agents: usize, more: &[&str]) -> Self {
        let mut fleet = Self::without_agents(name, agents);
        for number in 1..=agents {
            fleet.start_agent(&format!("a{number}"), more);
        }
        fleet.await_idle(agents);
        fleet
    }

    /// Starts a broker only, with keys for agents that do not run.
    pub fn without_agents(name: &str, agents: usize) -> Self {
        let folder = Folder::new(&format!("fleet-{name}"));
        // A port that was free a moment ago.
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let names: Vec<String> = (1..=agents).map(|number| format!("a{number}")).collect();
        let listen = format!("127.0.0.1:{port}");
        let keys = folder.file("keys");
        let said = run(&[
            "fleet",
            "keys",
            &keys,
            "--agents",
            &names.join(","),
            "--name",
            "test",
            "--listen",
            &listen,
        ]);
        assert_eq!(said.code, 0, "{}", said.stderr);
        let key =
            said.stdout.split_whitespace().find(|word| word.starts_with("ceiling-controller:"));
        let controller = key.expect("the controller's key").to_string();
        let broker = broker(&folder, port);
        let url = format!("nats://{listen}/test");
        Self { folder, url, controller, port, broker, agents: Vec::new() }
    }

    pub fn credentials(&self, agent: &str) -> String {
        self.folder.file(&format!("keys/agents/{agent}.creds"))
    }

    pub fn start_agent(&mut self, name: &str, more: &[&str]) {
        let log = File::create(self.folder.file(&format!("{name}.log"))).unwrap();
        let mut command = ceiling(&["agent", "--nats", &self.url, "--name", name, "-t", "1"]);
        command.args(["--credentials", &self.credentials(name), "--controller", &self.controller]);
        if !more.contains(&"--allow") {
            command.args(["--allow", "http://127.0.0.1:*"]);
        }
        if !more.contains(&"--capacity") {
            command.args(["--capacity", "10k"]);
        }
        command.args(more).stdout(Stdio::null()).stderr(log);
        self.agents.push((name.to_string(), command.spawn().unwrap()));
    }

    /// The log of an agent so far.
    pub fn agent_log(&self, agent: &str) -> String {
        let log = fs::read_to_string(self.folder.file(&format!("{agent}.log")));
        log.unwrap_or_else(|error| format!("{agent}.log: {error}"))
    }

    /// The flags of a command with load.
    pub fn flags(&self) -> [String; 4] {
        let keys = self.folder.file("keys/controller");
        ["--fleet".into(), self.url.clone(), "--fleet-keys".into(), keys]
    }

    /// How many agents were started.
    pub fn size(&self) -> usize {
        self.agents.len()
    }

    /// The agents that respond.
    pub fn list(&self) -> Vec<Value> {
        let flags = self.flags();
        let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
        let said = run(&[&["fleet", "list", "--json"][..], &flags].concat());
        assert_eq!(said.code, 0, "{}", said.stderr);
        said.record()["agents"].as_array().unwrap().clone()
    }

    /// Waits until that many agents respond and are idle.
    pub fn await_idle(&self, agents: usize) {
        wait_until("idle agents", || {
            let all = self.list();
            all.len() >= agents && all.iter().all(|agent| agent["job"].is_null())
        });
    }

    pub fn signal(&self, agent: &str, name: &str) {
        let (_, child) = self.agents.iter().find(|(known, _)| known == agent).unwrap();
        signal(child.id(), name);
    }

    pub fn restart_broker(&mut self) {
        self.broker.kill().unwrap();
        self.broker.wait().unwrap();
        self.broker = broker(&self.folder, self.port);
    }
}

impl Drop for Fleet {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.agents.iter().for_each(|(name, _)| println!("{name}:\n{}", self.agent_log(name)));
        }
        for (_, child) in self.agents.iter_mut() {
            let _ = child.kill();
            let _ = child.wait();
        }
        let _ = self.broker.kill();
        let _ = self.broker.wait();
    }
}

fn program() -> PathBuf {
    let path = root().join(".cache/nats/nats-server");
    assert!(path.exists(), "{} is missing: run make nats-server", path.display());
    path
}

fn broker(folder: &Folder, port: u16) -> Child {
    let mut command = Command::new(program());
    command.args(["-c", "nats.conf"]).current_dir(folder.file("keys/nats"));
    let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    wait_until("a broker", || TcpStream::connect(("127.0.0.1", port)).is_ok());
    child
}
