//! What an experiment measures, kept until it has ended: visits that are added later must be of the
//! same plan with the same secrets, of the same servers, and by the same generator.
//!
//! Secrets are compared by salted digests. They are in a file of their own, in a folder that only
//! its owner may read, and it is removed when the experiment is whole, because a digest of a short
//! secret can be guessed.

use crate::process::program;
use model::secret;
use model::shell;
use plan::{Plan, Server, Target, Targets};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// The file in the folder of an experiment. Its name is hidden, so that no archive has it.
pub const BEGUN: &str = ".begun.json";

/// What is measured, and by what.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Begun {
    salt: String,
    /// Digest of the plan with its secrets.
    plan: String,
    version: String,
    /// Digest of our own program.
    ceiling: String,
    /// The servers and services of this host that the plan starts, by name.
    servers: BTreeMap<String, ListedServer>,
}

/// A server on the list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct ListedServer {
    /// Its command without secrets.
    command: String,
    /// Digest of its command with its secrets.
    words: String,
    /// Digests of its program, and of the script of a program that is found by name.
    files: BTreeMap<PathBuf, String>,
}

impl Begun {
    /// What the plan measures now. `root` is the folder that the listed commands run in.
    pub fn now(text: &str, plan: &Plan, targets: &Targets, root: &Path) -> Result<Self, String> {
        let mut salt = [0; 16];
        let random = Path::new("/dev/urandom");
        let read = File::open(random).and_then(|mut file| file.read_exact(&mut salt));
        read.map_err(|error| file_error(random, &error))?;
        Ok(Self::salted(hex(&salt), text, plan, targets, root))
    }

    /// What the plan measures now, with the salt of another list, to be compared with that.
    pub fn like(&self, text: &str, plan: &Plan, targets: &Targets, root: &Path) -> Self {
        Self::salted(self.salt.clone(), text, plan, targets, root)
    }

    fn salted(salt: String, text: &str, plan: &Plan, targets: &Targets, root: &Path) -> Self {
        let mut servers = BTreeMap::new();
        let is_near = |cell: &&plan::Cell| cell.host.as_ref().is_none_or(plan::Host::is_here);
        for cell in plan.cells.iter().filter(is_near) {
            let Server::Started { target, services, .. } = &cell.server else { continue };
            let parts = services.iter().map(|name| targets.part(name));
            for one in [targets.target(target)].into_iter().chain(parts).flatten() {
                let listed = || ListedServer::of(one, &salt, root);
                servers.entry(one.name.clone()).or_insert_with(listed);
            }
        }
        Self {
            plan: salted(&salt, text),
            salt,
            version: env!("CARGO_PKG_VERSION").to_string(),
            ceiling: digest(Path::new("/proc/self/exe")),
            servers,
        }
    }

    /// What differs now, in words; empty when the experiment can go on. The texts of the plans
    /// without their secrets are the same.
    pub fn differences(&self, now: &Self) -> Vec<String> {
        let mut all = Vec::new();
        if self.plan != now.plan {
            all.push("a secret in the plan is another one".to_string());
        }
        if self.version != now.version {
            let (was, is) = (&self.version, &now.version);
            all.push(format!("it began with ceiling {was}, and this is {is}"));
        } else if self.ceiling != now.ceiling {
            let version = &self.version;
            all.push(format!("it began with another build of ceiling {version}"));
        }
        for (name, now) in &now.servers {
            match self.servers.get(name) {
                Some(was) => all.extend(was.differences(name, now)),
                None => all.push(format!("{name} was not on the list of servers")),
            }
        }
        all
    }
}

impl ListedServer {
    fn of(target: &Target, salt: &str, root: &Path) -> Self {
        let mut files = BTreeMap::new();
        let first = target.run.first().map_or("", String::as_str);
        let mut add = |path: PathBuf| {
            let of = digest(&path);
            files.insert(path, of);
        };
        match found(first, root) {
            // An interpreter runs the first file that it is given.
            Some(path) if !first.contains('/') => {
                add(path);
                let script = target.run.iter().skip(1).map(|word| root.join(word));
                { script }.find(|path| path.is_file()).into_iter().for_each(add);
            }
            Some(path) => add(path),
            None => {}
        }
        let listen = target.listen.clone().unwrap_or_default();
        let words = [&target.run[..], &[listen]].concat();
        Self {
            command: shell::line(&secret::words(&target.run)),
            words: salted(salt, &words.join("\0")),
            files,
        }
    }

    fn differences(&self, name: &str, now: &Self) -> Vec<String> {
        if self.command != now.command {
            let (was, is) = (&self.command, &now.command);
            return vec![format!("{name} was started with {was}, and is started with {is} now")];
        }
        if self.words != now.words {
            return vec![format!("{name} has another secret or address in its command")];
        }
        let is_other = |(path, of): &(&PathBuf, &String)| self.files.get(*path) != Some(*of);
        let changed = now.files.iter().filter(is_other);
        changed.map(|(path, _)| format!("{} is not the file it was", path.display())).collect()
    }
}

/// The file of a program: below the root, or where PATH finds it.
fn found(word: &str, root: &Path) -> Option<PathBuf> {
    if word.contains('/') { Some(program(word, root)) } else { host::program::find(word).ok() }
}

fn salted(salt: &str, text: &str) -> String {
    hex(&Sha256::digest(format!("{salt}\0{text}")))
}

/// SHA-256 of a file, or why there is none: a file that cannot be read is like itself.
fn digest(path: &Path) -> String {
    let mut hash = Sha256::new();
    match File::open(path).and_then(|mut file| io::copy(&mut file, &mut hash)) {
        Ok(_) => hex(&hash.finalize()),
        Err(error) => error.to_string(),
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

pub(crate) fn file_error(path: &Path, error: &io::Error) -> String {
    format!("{}: {error}", path.display())
}

#[cfg(test)]
mod tests {
    use super::*;
    use plan::GivenHosts;
    use std::{env, fs};

    const PLAN: &str = "schema = \"ceiling.plan/1\"\nquestion = \"?\"\n\
                        server = { target = \"web\", services = [\"db\"] }\n";

    fn begun(was: Option<&Begun>, root: &Path, more: &str, plan: &str) -> Begun {
        let list = format!(
            "[[target]]\nname = \"web\"\nrun = [\"bin/web\"{more}]\nready = {{ event = \"e\" }}\n\
             [[service]]\nname = \"db\"\nrun = [\"sh\", \"db.sh\"]\nready = {{ event = \"e\" }}\n"
        );
        let targets = Targets::parse(&list).unwrap();
        let read = Plan::parse(PLAN, &targets, &GivenHosts::default()).unwrap();
        match was {
            None => Begun::now(plan, &read, &targets, root).unwrap(),
            Some(was) => was.like(plan, &read, &targets, root),
        }
    }

    #[test]
    fn an_experiment_goes_on_with_what_it_measured_and_with_nothing_else() {
        let root = env::temp_dir().join(format!("ceiling-begun-{}", std::process::id()));
        let _ = fs::remove_dir_all(&root);
        fs::create_dir_all(root.join("bin")).unwrap();
        let write = |name: &str, text: &str| fs::write(root.join(name), text).unwrap();
        write("bin/web", "one");
        write("db.sh", "one");
        let was = begun(None, &root, ", \"--token\", \"a\"", PLAN);
        let differences = |more: &str, plan: &str| {
            let now = begun(Some(&was), &root, more, plan);
            was.differences(&now).join("; ")
        };
        let same = ", \"--token\", \"a\"";
        assert_eq!(differences(same, PLAN), "");
        assert_eq!(differences(same, "another"), "a secret in the plan is another one");
        let slow = ", \"--token\", \"a\", \"--delay\", \"5ms\"";
        assert!(
            differences(slow, PLAN).ends_with("--delay 5ms now"),
            "{}",
            differences(slow, PLAN)
        );
        let other = differences(", \"--token\", \"b\"", PLAN);
        assert_eq!(other, "web has another secret or address in its command");
        let listen = ", \"--token\", \"a\"]\nlisten = \"127.0.0.1:9\"\nversion = [\"x\"";
        assert_eq!(differences(listen, PLAN), other);
        write("bin/web", "two");
        assert!(differences(same, PLAN).ends_with("bin/web is not the file it was"));
        write("bin/web", "one");
        write("db.sh", "two");
        assert!(differences(same, PLAN).ends_with("db.sh is not the file it was"));
        write("db.sh", "one");
        let rebuilt = Begun { ceiling: "x".to_string(), ..was.clone() };
        assert_eq!(
            rebuilt.differences(&was),
            [format!("it began with another build of ceiling {}", was.version)]
        );
        let older = Begun { version: "0.0.9".to_string(), ..was.clone() };
        assert!(older.differences(&was)[0].starts_with("it began with ceiling 0.0.9, and"));
        // Two experiments with one secret have digests that do not show it.
        let again = begun(None, &root, same, PLAN);
        assert!(again.plan != was.plan && again.servers["web"].words != was.servers["web"].words);
        fs::remove_dir_all(&root).unwrap();
    }
}
