//! The keys of a fleet: made in one folder, with a part for each machine.
//!
//! | where | for | secret |
//! |---|---|---|
//! | `nats/` | the broker: configuration, certificate, its authority | `server.key` |
//! | `controller/` | the controller: credentials, and the key that signs orders | both |
//! | `agents/NAME.creds` | one agent | yes |
//!
//! Existing keys are kept, so that agents can be added. The authority that signed the broker's
//! certificate signs nothing else: its key is discarded.

use crate::key::{ControllerKey, KeyError, PublicKey};
use crate::subject;
use nats::{Credentials, CredentialsError, Seed};
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use remote::write_secret;
use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

/// The configuration of the broker, in its folder.
pub const CONFIGURATION: &str = "nats.conf";
/// The broker's part of the folder.
pub const BROKER: &str = "nats";
/// The controller's part.
pub const CONTROLLER: &str = "controller";
const AGENTS: &str = "agents";
const SIGNING_KEY: &str = "controller.key";
const PUBLIC_KEY: &str = "controller.pub";
const CREDENTIALS: &str = "controller.creds";
const AUTHORITY: &str = "authority.pem";
const CERTIFICATE: &str = "server.pem";
const CERTIFICATE_KEY: &str = "server.key";
/// Where a new broker listens when nothing says otherwise.
pub const LISTEN: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), 4222);
/// Names and addresses of the broker on its own host.
const LOCAL_HOSTS: [&str; 3] = ["localhost", "127.0.0.1", "::1"];
/// Size limit of a credentials file in bytes.
const FILE_BYTES_MAX: u64 = 256 << 10;

/// Which keys to make.
#[derive(Debug, Clone)]
pub struct Wish {
    /// The folder; made if absent.
    pub folder: PathBuf,
    /// Name of the fleet.
    pub fleet: String,
    /// Names of agents, in addition to those that have keys already.
    pub agents: Vec<String>,
    /// Names and addresses of the broker, for its certificate.
    pub hosts: Vec<String>,
    /// Where the broker listens; where its configuration has it, else [`LISTEN`], when not given.
    pub listen: Option<SocketAddr>,
}

/// The keys that were made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Made {
    /// The key that agents must pin.
    pub controller: PublicKey,
    /// Agents with new keys.
    pub new: Vec<String>,
    /// Agents that had keys already.
    pub existing: Vec<String>,
    /// Where the broker listens.
    pub listen: SocketAddr,
}

/// Why keys could not be made or read.
#[derive(Debug, thiserror::Error)]
pub enum KeysError {
    /// The system refused.
    #[error("{}: {error}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The reason of the system.
        error: io::Error,
    },
    /// Hosts were given, but the certificate exists already.
    #[error(
        "{0}: the certificate exists already, for the hosts of the first run; to make a new one, \
         remove the folder and copy the new file to every agent", path.display()
    )]
    Certificate {
        /// The folder.
        path: PathBuf,
    },
    /// The folder has the keys of another fleet.
    #[error(
        "{}: the folder has the keys of the fleet '{fleet}', whose users would lose their \
         subjects; give its name, --name {fleet}, or another folder", path.display()
    )]
    OtherFleet {
        /// The broker's configuration.
        path: PathBuf,
        /// The fleet in it.
        fleet: String,
    },
    /// The configuration of the broker does not tell where it listens.
    #[error(
        "{}: there is no address of the broker in it that can be kept, such as listen: \
         \"0.0.0.0:4222\"; give it, for example --listen 0.0.0.0:4222", path.display()
    )]
    NoListen {
        /// The broker's configuration.
        path: PathBuf,
    },
    /// No certificate could be made.
    #[error("no certificate could be made: {0}")]
    NoCertificate(#[from] rcgen::Error),
    /// The controller's key.
    #[error(transparent)]
    Controller(#[from] KeyError),
    /// A credentials file is wrong.
    #[error("{}: {error}", path.display())]
    Credentials {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        error: CredentialsError,
    },
}

fn io_error(path: &Path) -> impl Fn(io::Error) -> KeysError {
    let path = path.to_path_buf();
    move |error| KeysError::Io { path: path.clone(), error }
}

/// Makes the keys that do not exist yet.
///
/// # Errors
///
/// Hosts are given and the certificate exists already; the folder is another fleet's; no address is
/// given and the configuration has none; or a file cannot be read or made.
pub fn make(wish: &Wish) -> Result<Made, KeysError> {
    let of = |part: &str| wish.folder.join(part);
    let path = of(BROKER).join(CONFIGURATION);
    let before = match fs::read_to_string(&path) {
        Ok(text) => Some(text),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(io_error(&path)(error)),
    };
    let fleet = before.as_deref().and_then(fleet_of).filter(|fleet| *fleet != wish.fleet);
    if let Some(fleet) = fleet.map(str::to_string) {
        return Err(KeysError::OtherFleet { fleet, path });
    }
    let listen = match (wish.listen, &before) {
        (Some(listen), _) => listen,
        (None, None) => LISTEN,
        (None, Some(text)) => listen_of(text).ok_or(KeysError::NoListen { path })?,
    };
    for part in [BROKER, CONTROLLER, AGENTS] {
        let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(of(part));
        made.map_err(io_error(&of(part)))?;
    }
    let authority = authority(&of(BROKER), &wish.hosts)?;
    let signing = of(CONTROLLER).join(SIGNING_KEY);
    if !signing.exists() {
        ControllerKey::generate().write(&signing)?;
    }
    let controller = ControllerKey::read(&signing)?.public();
    let public = of(CONTROLLER).join(PUBLIC_KEY);
    replace(&public, &format!("{controller}\n"))?;
    let path = of(CONTROLLER).join(CREDENTIALS);
    let remark = format!("controller of the fleet {}", wish.fleet);
    let mut users = vec![of_controller(&wish.fleet, &user(&path, &remark, &authority)?)];
    let kept = names(&of(AGENTS))?;
    let all: BTreeSet<String> = kept.iter().chain(&wish.agents).cloned().collect();
    for name in &all {
        let path = of(AGENTS).join(format!("{name}.creds"));
        let remark = format!("agent {name} of the fleet {}", wish.fleet);
        users.push(of_agent(&wish.fleet, name, &user(&path, &remark, &authority)?));
    }
    let path = of(BROKER).join(CONFIGURATION);
    replace(&path, &configuration(&wish.fleet, listen, &users))?;
    let new = all.iter().filter(|name| !kept.contains(*name)).cloned().collect();
    Ok(Made { controller, new, existing: kept.into_iter().collect(), listen })
}

/// Credentials of the controller, and its key, from a folder that [`make`] filled or from its part
/// for the controller.
///
/// # Errors
///
/// One of the files does not exist, is readable by others, or has other contents.
pub fn of_folder(folder: &Path) -> Result<(Credentials, ControllerKey), KeysError> {
    let below = folder.join(CONTROLLER);
    let folder = if below.is_dir() { below } else { folder.to_path_buf() };
    let credentials = credentials(&folder.join(CREDENTIALS))?;
    Ok((credentials, ControllerKey::read(&folder.join(SIGNING_KEY))?))
}

/// Reads credentials from a file.
///
/// # Errors
///
/// The file cannot be read, or has no credentials.
pub fn credentials(path: &Path) -> Result<Credentials, KeysError> {
    let read = || {
        let mut text = String::new();
        io::Read::read_to_string(
            &mut io::Read::take(fs::File::open(path)?, FILE_BYTES_MAX),
            &mut text,
        )?;
        Ok(text)
    };
    let text = read().map_err(io_error(path))?;
    Credentials::parse(&text)
        .map_err(|error| KeysError::Credentials { path: path.to_path_buf(), error })
}

/// The names of agents that have keys.
fn names(folder: &Path) -> Result<BTreeSet<String>, KeysError> {
    let mut names = BTreeSet::new();
    for entry in fs::read_dir(folder).map_err(io_error(folder))? {
        let name = entry.map_err(io_error(folder))?.file_name();
        let name = name.to_string_lossy().strip_suffix(".creds").map(str::to_string);
        names.extend(name.filter(|name| subject::is_name(name)));
    }
    Ok(names)
}

/// The PEM certificate of the broker's authority; it and the broker's certificate are made if
/// absent.
fn authority(folder: &Path, hosts: &[String]) -> Result<String, KeysError> {
    let path = folder.join(AUTHORITY);
    if path.exists() {
        if !hosts.is_empty() {
            return Err(KeysError::Certificate { path });
        }
        return fs::read_to_string(&path).map_err(io_error(&path));
    }
    let key = KeyPair::generate()?;
    let mut params = CertificateParams::new(Vec::new())?;
    params.distinguished_name.push(rcgen::DnType::CommonName, "ceiling fleet authority");
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    let authority = params.self_signed(&key)?.pem();
    let issuer = Issuer::new(params, key);
    let key = KeyPair::generate()?;
    let all = LOCAL_HOSTS.iter().map(ToString::to_string).chain(hosts.iter().cloned());
    let mut params = CertificateParams::new(all.collect::<Vec<_>>())?;
    params.distinguished_name.push(rcgen::DnType::CommonName, "ceiling fleet broker");
    let certificate = params.signed_by(&key, &issuer)?.pem();
    replace(&folder.join(CERTIFICATE_KEY), &key.serialize_pem())?;
    replace(&folder.join(CERTIFICATE), &certificate)?;
    // Written last: this file marks the certificate and its key as complete.
    replace(&path, &authority)?;
    Ok(authority)
}

/// Writes a file that only its owner may read, whole or not at all, also in the place of another.
fn replace(path: &Path, text: &str) -> Result<(), KeysError> {
    let draft = path.with_extension("new");
    // It is there when the program or the host ended between the two steps.
    let _ = fs::remove_file(&draft);
    let written = write_secret(&draft, text.as_bytes());
    written.and_then(|()| fs::rename(&draft, path)).map_err(io_error(path))
}

/// The public key of the credentials in a file, which is made if absent.
fn user(path: &Path, remark: &str, authority: &str) -> Result<String, KeysError> {
    if !path.exists() {
        let text = Credentials::file(remark, &Seed::random(), authority);
        write_secret(path, text.as_bytes()).map_err(io_error(path))?;
    }
    let found = credentials(path)?;
    let Some(seed) = &found.seed else {
        let error = CredentialsError::NoSeed;
        return Err(KeysError::Credentials { path: path.to_path_buf(), error });
    };
    Ok(seed.user())
}

/// A user of the broker in its configuration, with the subjects that this user may use.
fn entry(user: &str, remark: &str, publish: &[String], subscribe: &[String]) -> String {
    let list = |subjects: &[String]| {
        let quoted: Vec<_> = subjects.iter().map(|subject| format!("\"{subject}\"")).collect();
        quoted.join(", ")
    };
    format!(
        "    {{ # {remark}\n      nkey: {user}\n      permissions: {{\n        \
         publish: [{}]\n        subscribe: [{}]\n      }}\n    }}\n",
        list(publish),
        list(subscribe)
    )
}

fn of_controller(fleet: &str, user: &str) -> String {
    let publish = [subject::call(fleet), subject::down(fleet, "*")];
    let subscribe = [subject::hello(fleet, "*"), subject::up(fleet, "*")];
    entry(user, "controller", &publish, &subscribe)
}

fn of_agent(fleet: &str, name: &str, user: &str) -> String {
    let publish = [subject::hello(fleet, name), subject::up(fleet, name)];
    let subscribe = [subject::call(fleet), subject::down(fleet, name)];
    entry(user, &format!("agent {name}"), &publish, &subscribe)
}

/// The fleet in a configuration that [`configuration`] wrote.
fn fleet_of(text: &str) -> Option<&str> {
    let (_, rest) = text.split_once("\"ceiling.")?;
    rest.split_once('.').map(|(fleet, _)| fleet)
}

/// Where the broker of such a configuration listens.
fn listen_of(text: &str) -> Option<SocketAddr> {
    let mut lines = text.lines().filter_map(|line| line.trim().strip_prefix("listen:"));
    lines.next()?.trim().trim_matches('"').parse().ok()
}

fn configuration(fleet: &str, listen: SocketAddr, users: &[String]) -> String {
    format!(
        "# The broker of the fleet '{fleet}'. ceiling fleet keys rewrites this file when agents \
         are\n# added. Paths are relative to this folder, so start the broker here:\n\
         #   nats-server -c {CONFIGURATION}\n\n\
         listen: \"{listen}\"\n\
         max_payload: 1MB\n\n\
         tls {{\n  cert_file: \"{CERTIFICATE}\"\n  key_file: \"{CERTIFICATE_KEY}\"\n  \
         timeout: 5\n}}\n\n\
         authorization {{\n  users = [\n{}  ]\n}}\n",
        users.concat()
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn wish(folder: &Path, agents: &[&str]) -> Wish {
        Wish {
            folder: folder.to_path_buf(),
            fleet: "staging".to_string(),
            agents: agents.iter().map(ToString::to_string).collect(),
            hosts: Vec::new(),
            listen: None,
        }
    }

    #[test]
    fn keys_are_made_once_and_agents_are_added() {
        let folder = std::env::temp_dir().join(format!("agents-keys-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        let first = make(&Wish { hosts: vec!["nats.test".into()], ..wish(&folder, &["a1", "a2"]) });
        let first = first.unwrap();
        assert_eq!((first.new.len(), first.existing.len()), (2, 0));
        let file = |name: &str| fs::read_to_string(folder.join(name)).unwrap();
        let (a1, key) = (file("agents/a1.creds"), file("controller/controller.key"));
        let second = make(&wish(&folder, &["a2", "a3"])).unwrap();
        assert_eq!((second.new, second.existing.len()), (vec!["a3".to_string()], 2));
        assert_eq!(second.controller, first.controller);
        assert_eq!((file("agents/a1.creds"), file("controller/controller.key")), (a1, key));
        let secrets =
            ["agents/a1.creds", "controller/controller.key", "controller/controller.creds"];
        for secret in secrets.into_iter().chain(["nats/server.key"]) {
            let mode = fs::metadata(folder.join(secret)).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600, "{secret}");
        }
        let configuration = file("nats/nats.conf");
        let (credentials, key) = of_folder(&folder).unwrap();
        assert_eq!(key.public(), first.controller);
        assert!(configuration.contains(&credentials.seed.as_ref().unwrap().user()));
        let agents = ["a1", "a2", "a3"].map(|name| folder.join(format!("agents/{name}.creds")));
        let all: Vec<_> = agents.iter().map(|path| super::credentials(path).unwrap()).collect();
        let seeds = all.iter().chain([&credentials]).filter_map(|one| one.seed.as_ref());
        assert!(seeds.map(Seed::text).all(|seed| !configuration.contains(&seed)), "no secret");
        assert_eq!(configuration.matches("nkey: U").count(), 4, "{configuration}");
        assert!(of_folder(&folder.join(CONTROLLER)).is_ok(), "its part alone");
        let hosts = vec!["other".to_string()];
        let refused = make(&Wish { hosts, ..wish(&folder, &[]) }).unwrap_err();
        assert!(matches!(refused, KeysError::Certificate { .. }));
        let other = Wish { fleet: "default".to_string(), ..wish(&folder, &["a4"]) };
        let refused = make(&other).unwrap_err();
        assert!(refused.to_string().contains("--name staging"), "{refused}");
        assert_eq!(file("nats/nats.conf"), configuration, "it is as it was");
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn the_broker_keeps_its_address_when_agents_are_added() {
        let folder = std::env::temp_dir().join(format!("agents-listen-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        let path = folder.join("nats/nats.conf");
        let made = |listen: Option<&str>, agents: &[&str]| {
            let listen = listen.map(|text| text.parse().unwrap());
            make(&Wish { listen, ..wish(&folder, agents) }).map(|made| made.listen.to_string())
        };
        let is_written = |listen: &str| {
            let text = fs::read_to_string(&path).unwrap();
            assert!(text.contains(&format!("\nlisten: \"{listen}\"\n")), "{listen}: {text}");
        };
        for (asked, agents, listen) in [
            (None, "a1", "0.0.0.0:4222"),
            (Some("10.0.0.5:4333"), "a1", "10.0.0.5:4333"),
            (None, "a2", "10.0.0.5:4333"),
            (Some("[::1]:4444"), "a2", "[::1]:4444"),
            (None, "a3", "[::1]:4444"),
        ] {
            assert_eq!(made(asked, &[agents]).unwrap(), listen);
            is_written(listen);
        }
        let text = fs::read_to_string(&path).unwrap();
        let edited = text.replace("listen: \"[::1]:4444\"", "port: 4555");
        fs::write(&path, &edited).unwrap();
        let refused = made(None, &["a4"]).unwrap_err().to_string();
        assert!(refused.contains("nats.conf") && refused.contains("--listen"), "{refused}");
        assert_eq!(fs::read_to_string(&path).unwrap(), edited, "it is as it was");
        assert!(!folder.join("agents/a4.creds").exists());
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn an_agent_has_its_own_subjects_alone() {
        let entry = of_agent("f", "a1", "UX");
        assert!(entry.contains("publish: [\"ceiling.f.hello.a1\", \"ceiling.f.agent.a1.up\"]"));
        assert!(entry.contains("subscribe: [\"ceiling.f.call\", \"ceiling.f.agent.a1.down\"]"));
    }
}
