//! Finds the peers, and installs missing ones.
//!
//! What apt does not have goes into `.cache/peers`, so only apt packages change the machine. A peer
//! that cannot be installed is absent, which is not an error.

use super::options::{Missing, Setting};
use super::peers::{PEERS, Peer, Source};
use super::supervise::Supervisor;
use super::words::{Words, words};
use anyhow::Result;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

const CACHE: &str = ".cache/peers";
/// `cargo install` compiles three hundred crates.
const INSTALL_PATIENCE: Duration = Duration::from_secs(1800);
const VERSION_PATIENCE: Duration = Duration::from_secs(10);

/// A peer on the machine.
struct Found {
    program: PathBuf,
    version: String,
}

/// The available peers.
#[derive(Default)]
pub struct Peers {
    found: BTreeMap<&'static str, Found>,
}

impl Peers {
    /// Looks for all peers, and installs missing ones on request.
    pub fn gather(supervisor: &mut Supervisor, setting: &Setting) -> Result<Self> {
        let all: Vec<&Peer> = PEERS.iter().collect();
        Self::gather_only(supervisor, setting, &all)
    }

    /// Looks for the wanted peers, and installs missing ones on request.
    pub fn gather_only(
        supervisor: &mut Supervisor,
        setting: &Setting,
        wanted: &[&Peer],
    ) -> Result<Self> {
        let (missing, scratch) = (setting.missing, &setting.scratch());
        let mut peers = Self::default();
        for peer in wanted {
            let mut found = find(supervisor, peer, scratch)?;
            if found.is_none() && missing == Missing::Install && peer.source != Source::Nowhere {
                install(supervisor, peer.name, peer.source, scratch)?;
                found = find(supervisor, peer, scratch)?;
            }
            if let Some(found) = found {
                peers.found.insert(peer.name, found);
            }
        }
        Ok(peers)
    }

    /// Whether a peer can be started.
    pub fn has(&self, peer: &Peer) -> bool {
        self.found.contains_key(peer.name)
    }

    /// Path of the program of a peer.
    pub fn program(&self, peer: &Peer) -> String {
        let found = self.found.get(peer.name);
        found.map_or(peer.name.to_owned(), |found| found.program.to_string_lossy().into_owned())
    }

    /// Names and versions of the available ones.
    pub fn versions(&self) -> impl Iterator<Item = (&'static str, &str)> {
        self.found.iter().map(|(name, found)| (*name, found.version.as_str()))
    }

    /// Names of the absent ones.
    pub fn absent(&self) -> impl Iterator<Item = &'static str> {
        PEERS.iter().filter(|peer| !self.has(peer)).map(|peer| peer.name)
    }
}

/// Installs programs that the harness itself needs; returns those that are still missing.
pub fn need(
    supervisor: &mut Supervisor,
    setting: &Setting,
    programs: &[(&'static str, &'static str)],
) -> Result<Vec<&'static str>> {
    for (program, package) in programs {
        if lookup(program).is_none() && setting.missing == Missing::Install {
            install(supervisor, program, Source::Apt(package), &setting.scratch())?;
        }
    }
    Ok(programs.iter().map(|(name, _)| *name).filter(|name| lookup(name).is_none()).collect())
}

fn find(supervisor: &mut Supervisor, peer: &Peer, scratch: &Path) -> Result<Option<Found>> {
    let Some(program) = lookup(peer.name) else { return Ok(None) };
    let (arguments, known_by) = peer.version;
    let path = program.to_string_lossy().into_owned();
    let line = std::iter::once(path).chain(words(arguments)).collect();
    let printed = printed(supervisor, line, scratch)?;
    let version = printed.lines().find(|line| line.contains(known_by));
    Ok(version.map(|version| Found { program, version: version.trim().to_owned() }))
}

/// The output of a short command, stdout and stderr.
fn printed(supervisor: &mut Supervisor, line: Words, scratch: &Path) -> Result<String> {
    let (stdout, stderr) = (scratch.join("version.stdout"), scratch.join("version.stderr"));
    let Ok(process) = supervisor.start(line, &stdout, &stderr) else { return Ok(String::new()) };
    if supervisor.wait(process, Instant::now() + VERSION_PATIENCE)?.is_none() {
        supervisor.kill(process)?;
    }
    let text = |path: &Path| std::fs::read(path).unwrap_or_default();
    let bytes = [text(&stdout), text(&stderr)].concat();
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The first program with that name on the PATH, or in the cache.
fn lookup(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let cache = [format!("{CACHE}/bin"), format!("{CACHE}/node_modules/.bin")].map(PathBuf::from);
    let folders = std::env::split_paths(&path).chain(cache);
    folders.map(|folder| folder.join(name)).find(|program| program.is_file())
}

fn install(supervisor: &mut Supervisor, name: &str, source: Source, scratch: &Path) -> Result<()> {
    let lines = recipe(source);
    let Some(last) = lines.last() else { return Ok(()) };
    eprintln!("bench: {name} is missing, installing it: {}", last.join(" "));
    for line in lines {
        let (stdout, stderr) = (scratch.join("install.stdout"), scratch.join("install.stderr"));
        let Ok(process) = supervisor.start(line, &stdout, &stderr) else {
            eprintln!("bench: {name} stays absent, its installer is not on this machine");
            return Ok(());
        };
        let exit = supervisor.wait(process, Instant::now() + INSTALL_PATIENCE)?;
        if !exit.is_some_and(|exit| exit.status.success()) {
            supervisor.kill(process)?;
            let text = std::fs::read_to_string(&stderr).unwrap_or_default();
            let reason = text.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("no reason");
            eprintln!("bench: {name} stays absent: {}", reason.trim());
            return Ok(());
        }
    }
    Ok(())
}

/// The commands that install something, without asking.
fn recipe(source: Source) -> Vec<Words> {
    let apt = |package| {
        vec![
            words(&["apt-get", "-q", "update"]),
            words(&["apt-get", "-q", "-y", "--no-install-recommends", "install", package]),
        ]
    };
    match source {
        Source::Apt(package) => apt(package),
        Source::Npm(package) => {
            vec![words(&["npm", "install", "--no-fund", "--no-audit", "--prefix", CACHE, package])]
        }
        Source::Cargo(package) => {
            vec![words(&["cargo", "install", package, "--locked", "--root", CACHE])]
        }
        Source::Go(package) => {
            // The path must be absolute, because the words are run without a shell.
            let folder = std::env::current_dir().unwrap_or_default().join(CACHE).join("bin");
            let setting = format!("GOBIN={}", folder.display());
            vec![words(&["env", &setting, "go", "install", package])]
        }
        Source::Nowhere => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_looked_up_on_the_path() {
        assert!(lookup("sh").is_some());
        assert!(lookup("no-program-has-this-name").is_none());
    }

    #[test]
    fn recipes_do_not_ask_and_stay_in_the_cache() {
        let last = |source| recipe(source).pop().unwrap_or_default().join(" ");
        assert_eq!(last(Source::Apt("wrk")), "apt-get -q -y --no-install-recommends install wrk");
        assert!(last(Source::Npm("autocannon")).contains("--prefix .cache/peers autocannon"));
        assert_eq!(last(Source::Cargo("oha")), "cargo install oha --locked --root .cache/peers");
        assert!(last(Source::Go("hey")).contains("/.cache/peers/bin go install hey"));
        assert_eq!(last(Source::Nowhere), "");
    }

    #[test]
    fn a_program_of_another_kind_is_not_a_peer() {
        let mut supervisor = Supervisor::new().unwrap();
        let scratch = std::env::temp_dir().join(format!("bench-find-{}", std::process::id()));
        std::fs::create_dir_all(&scratch).unwrap();
        let peer = |known_by| Peer {
            name: "sh",
            version: (&["-c", "echo this is a shell"], known_by),
            ..PEERS[..1].iter().map(|peer| Peer { ..*peer }).next().unwrap()
        };
        let found = find(&mut supervisor, &peer("a shell"), &scratch).unwrap().unwrap();
        assert_eq!(found.version, "this is a shell");
        assert!(find(&mut supervisor, &peer("wrk "), &scratch).unwrap().is_none());
        std::fs::remove_dir_all(&scratch).unwrap();
    }
}
