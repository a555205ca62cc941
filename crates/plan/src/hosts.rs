//! The hosts of a plan: what the plan calls them, and where the user says they are.
//!
//! A plan names a host and holds no address. A hosts file, or values of the command line, say how
//! to reach the probe there, or that the host is this one. Later values replace earlier ones: the
//! plan, then the file, then the command line.

use crate::far_probe::chosen;
use crate::machine::Machine;
use crate::typed::Typed;
use crate::usage::Usage;
use crate::values::{HostPort, LinkText, Pin};
use crate::{PlanError, text_error};
use model::load::ProbeChoice;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use toml::{Table, Value};

/// What a plan calls the host that `ceiling run` runs on.
pub const CLIENT: &str = "client";

/// Keys of a host, in the order in which errors list them.
const KEYS: &str = "probe, token-file, pin, link, here";

/// A host, as far as the user described it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Host {
    /// What the plan calls it.
    pub name: String,
    /// Where it is.
    pub place: Place,
    /// The limits of its link, in the syntax of `--link`.
    pub link: Option<String>,
    /// Keys that neither the user nor a file of the user's choice set, and that need trust.
    pub(crate) untrusted: Vec<String>,
}

/// Where a host is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// It is the one that `ceiling run` runs on.
    Here,
    /// It is another one, and its probe is known.
    Far(FarProbe),
    /// The user did not say.
    Unknown,
}

/// How to reach the probe of a host. The token and the pin may come from the environment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FarProbe {
    /// HOST:PORT.
    pub address: String,
    /// File with the token.
    pub token_file: Option<String>,
    /// SHA-256 of its certificate.
    pub pin: Option<String>,
}

/// Whether hosts were given by the user, or came with the plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// The user gave them on the command line.
    User,
    /// They are in a file beside the plan that the user did not name.
    Plan,
}

/// What the user says about hosts besides the plan.
#[derive(Debug, Clone, Default)]
pub struct GivenHosts {
    layers: Vec<Layer>,
    /// The folder of the plan, to which file names in it are relative.
    folder: PathBuf,
}

/// Hosts of one origin.
#[derive(Debug, Clone)]
struct Layer {
    hosts: BTreeMap<String, HostText>,
    origin: Origin,
    /// The folder that relative file names start from; empty is the folder of the process.
    folder: PathBuf,
    /// Whether every name must be one of the plan: a file may serve several plans.
    is_exact: bool,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
struct HostText {
    probe: Option<String>,
    token_file: Option<String>,
    pin: Option<String>,
    link: Option<String>,
    here: Option<bool>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileText {
    #[serde(default)]
    hosts: BTreeMap<String, HostText>,
}

impl GivenHosts {
    /// No hosts yet, for a plan file.
    pub fn of(plan: &Path) -> Self {
        let folder = plan.parent().unwrap_or(Path::new("")).to_path_buf();
        Self { layers: Vec::new(), folder }
    }

    /// Adds the hosts of a file.
    pub fn add_file(&mut self, text: &str, path: &Path, origin: Origin) -> Result<(), PlanError> {
        let file: FileText = toml::from_str(text).map_err(|error| text_error(&error, text))?;
        let folder = path.parent().unwrap_or(Path::new("")).to_path_buf();
        for (name, host) in &file.hosts {
            host.check(name)?;
        }
        self.layers.push(Layer { hosts: file.hosts, origin, folder, is_exact: false });
        Ok(())
    }

    /// Adds the values of the command line: pairs of a key and its value.
    pub fn add_values(&mut self, pairs: &[(String, String)]) -> Result<(), PlanError> {
        let mut tables: BTreeMap<String, Table> = BTreeMap::new();
        for (path, text) in pairs {
            let wrong = |why: String| PlanError::Text(format!("--set {path}={text}: {why}"));
            let parts: Vec<&str> = path.split('.').collect();
            let ["hosts", name, key] = parts[..] else {
                return Err(wrong(format!(
                    "only keys of hosts can be set, which are hosts.NAME.KEY with one of {KEYS}; \
                     for example --set hosts.server.probe={}",
                    HostPort::EXAMPLE
                )));
            };
            let value = match (key, text.as_str()) {
                ("here", "true") => Value::Boolean(true),
                ("here", "false") => Value::Boolean(false),
                ("here", _) => {
                    let example = format!("for example --set hosts.{name}.here=true");
                    return Err(wrong(format!("here is true or false; {example}")));
                }
                _ => Value::String(text.clone()),
            };
            let table = tables.entry(name.to_string()).or_default();
            if table.insert(key.to_string(), value).is_some() {
                return Err(wrong("this key was set before; give it once".to_string()));
            }
        }
        let mut hosts = BTreeMap::new();
        for (name, table) in tables {
            let host = HostText::read(&name, table)
                .map_err(|error| PlanError::Text(format!("--set: {error}")))?;
            hosts.insert(name, host);
        }
        let (origin, folder) = (Origin::User, PathBuf::new());
        self.layers.push(Layer { hosts, origin, folder, is_exact: true });
        Ok(())
    }

    /// The hosts that a plan names, with all that is said about them; the client is always one of
    /// them.
    pub(crate) fn resolve(
        &self,
        of_plan: &BTreeMap<String, Table>,
    ) -> Result<Vec<Host>, PlanError> {
        let mut plan = BTreeMap::new();
        for (name, table) in of_plan {
            plan.insert(name.clone(), HostText::read(name, table.clone())?);
        }
        let mut names: Vec<String> = plan.keys().cloned().collect();
        if !names.iter().any(|name| name == CLIENT) {
            names.push(CLIENT.to_string());
        }
        for layer in self.layers.iter().filter(|layer| layer.is_exact) {
            if let Some(name) = layer.hosts.keys().find(|name| !names.contains(name)) {
                let why = format!("the plan has no host of this name; it has {}", shown(&names));
                return Err(PlanError::Text(format!("--set hosts.{name}: {why}")));
            }
        }
        let (origin, folder) = (Origin::Plan, self.folder.clone());
        let first = Layer { hosts: plan, origin, folder, is_exact: false };
        let layers: Vec<&Layer> = [&first].into_iter().chain(&self.layers).collect();
        Ok(names.iter().map(|name| host(name, &layers)).collect())
    }
}

/// One host over all layers.
fn host(name: &str, layers: &[&Layer]) -> Host {
    let mut known: BTreeMap<&str, (String, Origin)> = BTreeMap::new();
    let (mut link, mut is_here) = (None, name == CLIENT);
    for layer in layers {
        let Some(asked) = layer.hosts.get(name) else { continue };
        let token_file = asked.token_file.as_ref().map(|file| {
            let file = layer.folder.join(file);
            file.display().to_string()
        });
        let pin = asked.pin.as_ref().map(|pin| pin.to_ascii_lowercase());
        for (key, value) in [("probe", &asked.probe), ("token-file", &token_file), ("pin", &pin)] {
            if let Some(value) = value {
                known.insert(key, (value.clone(), layer.origin));
            }
        }
        link = asked.link.clone().or(link);
        match (asked.here, &asked.probe) {
            (Some(here), None) => is_here = here,
            (_, Some(_)) => is_here = false,
            (None, None) => {}
        }
    }
    let of = |key: &str| known.get(key).map(|(value, _)| value.clone());
    let place = match of("probe") {
        _ if is_here => Place::Here,
        Some(address) => {
            Place::Far(FarProbe { address, token_file: of("token-file"), pin: of("pin") })
        }
        None => Place::Unknown,
    };
    let is_far = matches!(place, Place::Far(_));
    let came = known.iter().filter(|(_, (_, origin))| is_far && *origin == Origin::Plan);
    let untrusted = came.map(|(key, _)| format!("hosts.{name}.{key}")).collect();
    Host { name: name.to_string(), place, link, untrusted }
}

impl HostText {
    fn read(name: &str, table: Table) -> Result<Self, PlanError> {
        let host: Self = table.try_into().map_err(|error: toml::de::Error| {
            let why = error.message().replace('\n', ", ");
            PlanError::Text(format!("hosts.{name}: {why}"))
        })?;
        host.check(name)?;
        Ok(host)
    }

    fn check(&self, name: &str) -> Result<(), PlanError> {
        let wrong = |why: String| Err(PlanError::Text(format!("hosts.{name}{why}")));
        let is_name = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        if name.is_empty() || !name.bytes().all(is_name) {
            let example = "for example [hosts.server]";
            return wrong(format!(
                ": a name has lower-case letters, digits and hyphens; {example}"
            ));
        }
        let is_bare = self.probe.is_none() && self.token_file.is_none() && self.pin.is_none();
        if name == CLIENT && !(is_bare && self.here.is_none()) {
            return wrong(
                " is the host that ceiling run runs on, and takes only link; for example \
                 hosts.client.link = \"25G\""
                    .to_string(),
            );
        }
        if self.here == Some(true) && self.probe.is_some() {
            return wrong(
                " has either a probe or here = true; for example here = true".to_string(),
            );
        }
        let of = |key: &str, text: &str, takes: &str, example: &str| {
            let example = format!("hosts.{name}.{key} = \"{example}\"");
            wrong(format!(".{key} is '{text}', but takes {takes}; for example {example}"))
        };
        match (&self.probe, &self.pin, &self.link) {
            (Some(text), ..) if text.parse::<HostPort>().is_err() => {
                of("probe", text, HostPort::TAKES, HostPort::EXAMPLE)
            }
            (_, Some(text), _) if text.parse::<Pin>().is_err() => {
                of("pin", text, Pin::TAKES, Pin::EXAMPLE)
            }
            (.., Some(text)) if !is_link(text) => {
                of("link", text, "SPEED[,PACKETSpps][,burst TIME]", "25G")
            }
            _ => Ok(()),
        }
    }
}

/// Limits of a link without a side: the name of the host is the side.
fn is_link(text: &str) -> bool {
    text.parse::<LinkText>().is_ok_and(|link| link.side.is_none())
}

fn shown(names: &[String]) -> String {
    let mut names: Vec<&str> = names.iter().map(String::as_str).collect();
    names.sort_unstable();
    names.join(", ")
}

/// The host of a name, or an error with the names that exist.
pub(crate) fn named<'a>(hosts: &'a [Host], name: &str, key: &str) -> Result<&'a Host, String> {
    hosts.iter().find(|host| host.name == name).ok_or_else(|| {
        let names: Vec<String> = hosts.iter().map(|host| host.name.clone()).collect();
        format!(
            "{key} is '{name}', but the plan has the hosts {}; for example a table [hosts.server]",
            shown(&names)
        )
    })
}

impl Default for Host {
    /// The one that `ceiling run` runs on.
    fn default() -> Self {
        Self { name: CLIENT.to_string(), place: Place::Here, link: None, untrusted: Vec::new() }
    }
}

impl Host {
    /// Whether it is the one that `ceiling run` runs on.
    pub fn is_here(&self) -> bool {
        self.place == Place::Here
    }

    /// Whether both are one host: this one may have several names.
    pub fn is_same(&self, other: &Self) -> bool {
        self.name == other.name || (self.is_here() && other.is_here())
    }

    /// Where it is, in words.
    pub fn shown(&self) -> String {
        let mut text = match &self.place {
            Place::Here => "this host".to_string(),
            Place::Far(probe) => format!("probe {}", probe.address),
            Place::Unknown => "not known: --hosts FILE or --set says where it is".to_string(),
        };
        if let Some(link) = &self.link {
            text += &format!(", link {link}");
        }
        text
    }

    /// The probe, with token and pin; nothing for this host. An error when it is not known.
    pub fn probe(&self, machine: &dyn Machine) -> Result<Option<ProbeChoice>, Usage> {
        let name = &self.name;
        match &self.place {
            Place::Here => Ok(None),
            Place::Far(FarProbe { address, token_file, pin }) => {
                let what = format!("hosts.{name}.probe {address}");
                let keys = (format!("hosts.{name}.token-file"), format!("hosts.{name}.pin"));
                let given = (token_file.clone(), pin.clone());
                chosen(&what, address, given, (&keys.0, &keys.1), machine).map(Some)
            }
            Place::Unknown => Err(Usage(format!(
                "host '{name}' of the plan is not known; give the address of its probe with --set \
                 hosts.{name}.probe={example}, or a file with [hosts.{name}] and probe = \
                 \"{example}\" with --hosts FILE, or run all on this host with --set \
                 hosts.{name}.here=true",
                example = HostPort::EXAMPLE
            ))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::Nowhere;

    fn plan(text: &str) -> BTreeMap<String, Table> {
        let table: Table = text.parse().unwrap();
        let hosts = table.get("hosts").and_then(Value::as_table).cloned().unwrap_or_default();
        hosts.into_iter().map(|(name, host)| (name, host.as_table().unwrap().clone())).collect()
    }

    fn resolved(of_plan: &str, file: &str, values: &[&str]) -> Result<Vec<Host>, String> {
        let mut given = GivenHosts::of(Path::new("plans/plan.toml"));
        given
            .add_file(file, Path::new("/etc/hosts.toml"), Origin::User)
            .map_err(|error| error.to_string())?;
        let pairs = values.iter().map(|pair| pair.split_once('=').unwrap());
        let pairs: Vec<_> = pairs.map(|(key, value)| (key.into(), value.into())).collect();
        given.add_values(&pairs).map_err(|error| error.to_string())?;
        given.resolve(&plan(of_plan)).map_err(|error| error.to_string())
    }

    fn server(of_plan: &str, file: &str, values: &[&str]) -> Host {
        let hosts = resolved(of_plan, file, values).unwrap();
        named(&hosts, "server", "server.host").unwrap().clone()
    }

    fn far(address: &str, token_file: Option<&str>) -> Place {
        let token_file = token_file.map(str::to_string);
        Place::Far(FarProbe { address: address.to_string(), token_file, pin: None })
    }

    #[test]
    fn the_file_replaces_the_plan_and_the_command_line_replaces_the_file() {
        let named = "[hosts.server]";
        assert_eq!(server(named, "", &[]).place, Place::Unknown);
        let file = "[hosts.server]\nprobe = \"a:1\"\ntoken-file = \"t\"\nlink = \"10G\"\n\
                    [hosts.other]\nprobe = \"b:1\"";
        let host = server(named, file, &[]);
        assert_eq!(host.place, far("a:1", Some("/etc/t")), "a file is named from its folder");
        assert_eq!((host.link.as_deref(), host.untrusted.len()), (Some("10G"), 0));
        let host = server(named, file, &["hosts.server.probe=c:2"]);
        assert_eq!(host.place, far("c:2", Some("/etc/t")));
        let here = "[hosts.server]\nhere = true";
        assert_eq!(server(here, "", &[]).place, Place::Here);
        assert_eq!(server(here, file, &[]).place, far("a:1", Some("/etc/t")));
        assert_eq!(server(named, file, &["hosts.server.here=true"]).place, Place::Here);
        assert_eq!(server(here, "", &["hosts.server.here=false"]).place, Place::Unknown);
    }

    #[test]
    fn what_came_with_the_plan_needs_trust_unless_the_user_said_otherwise() {
        let of_plan = "[hosts.server]\nprobe = \"a:1\"\ntoken-file = \"t\"";
        let host = server(of_plan, "", &[]);
        assert_eq!(host.place, far("a:1", Some("plans/t")));
        assert_eq!(host.untrusted, ["hosts.server.probe", "hosts.server.token-file"]);
        let host = server(of_plan, "", &["hosts.server.probe=b:1"]);
        assert_eq!(host.untrusted, ["hosts.server.token-file"]);
        let host = server(of_plan, "", &["hosts.server.here=true"]);
        assert!(host.untrusted.is_empty(), "nothing is reached");
    }

    #[test]
    fn what_cannot_be_is_said_with_an_example() {
        for (of_plan, file, value, asked) in [
            ("[hosts.A]", "", "", "lower-case letters"),
            ("[hosts.server]\nprobe = \"a\"", "", "", "hosts.server.probe = \"192.0.2.7:9200\""),
            ("[hosts.server]\npin = \"a\"", "", "", "but takes a SHA-256"),
            ("[hosts.server]\nlink = \"client=1G\"", "", "", "link = \"25G\""),
            ("[hosts.server]\nhere = true\nprobe = \"a:1\"", "", "", "either a probe or here"),
            ("[hosts.server]\naddr = \"a:1\"", "", "", "unknown field `addr`"),
            ("[hosts.client]\nprobe = \"a:1\"", "", "", "takes only link"),
            ("", "[hosts.server]\nprobe = 1", "", "line 2: invalid type"),
            ("", "[host.server]", "", "unknown field `host`"),
            ("", "", "load.depth=1", "only keys of hosts can be set"),
            ("", "", "hosts.server=1", "hosts.NAME.KEY with one of probe, token-file"),
            ("[hosts.a]\n[hosts.b]", "", "hosts.c.here=true", "it has a, b, client"),
            ("[hosts.server]", "", "hosts.server.here=yes", "here is true or false"),
            ("[hosts.server]", "", "hosts.server.port=1", "unknown field `port`"),
        ] {
            let values: Vec<&str> = [value].into_iter().filter(|one| !one.is_empty()).collect();
            let error = resolved(of_plan, file, &values).unwrap_err();
            assert!(error.contains(asked), "{of_plan} {file} {value}: {error}");
            assert_eq!(error.lines().count(), 1, "{error}");
        }
        let hosts = resolved("[hosts.server]", "", &[]).unwrap();
        let error = named(&hosts, "sever", "server.host").unwrap_err();
        assert!(error.contains("hosts client, server"), "{error}");
        let error = hosts[1].probe(&Nowhere).map(|_| String::new()).unwrap_or_else(|why| why.0);
        assert_eq!(error, "", "the client is here");
        let error = hosts[0].probe(&Nowhere).unwrap_err().0;
        for way in ["--set hosts.server.probe=", "--hosts FILE", "--set hosts.server.here=true"] {
            assert!(error.contains(way), "{error}");
        }
        let far = server("[hosts.server]", "", &["hosts.server.probe=a:1"]);
        let error = far.probe(&Nowhere).unwrap_err().0;
        assert!(error.contains("hosts.server.token-file"), "{error}");
        assert!(error.contains("CEILING_PROBE_TOKEN_FILE"), "{error}");
    }
}
