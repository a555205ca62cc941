//! The list of what may be started: `targets/targets.toml`.

use crate::allow::Allow;
use crate::{PlanError, text_error};
use model::starting::StartOrder;
use serde::Deserialize;
use serde::de::IgnoredAny;
use std::collections::BTreeSet;
use std::net::{IpAddr, SocketAddr};

/// A server under test, or something that it needs beside it, as its entry says. Keys that begin
/// with an underscore here are for other readers of the list.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Target {
    /// What it is called in plans and records.
    pub name: String,
    /// Words that start it; `{addr}` and `{port}` stand for where it must listen, `{dir}` for a
    /// folder of its own.
    pub run: Vec<String>,
    /// When it is ready.
    pub ready: Ready,
    /// Where it must listen: an address, or an address and a port; by default a free port of
    /// loopback.
    #[serde(default)]
    pub listen: Option<String>,
    /// What clients of a probe may choose, and plans without trust.
    #[serde(default)]
    pub(crate) allow: Allow,
    #[serde(default, rename = "build")]
    _build: IgnoredAny,
    #[serde(default, rename = "version")]
    _version: IgnoredAny,
    #[serde(default, rename = "stop")]
    _stop: IgnoredAny,
    #[serde(default, rename = "profile")]
    _profile: IgnoredAny,
}

impl Target {
    /// Whether a client of a probe may have this server started with these settings.
    pub fn permits(&self, order: &StartOrder) -> Result<(), String> {
        self.allow.permits(order)
    }

    /// Address and port to listen on; port 0 is a free one.
    pub fn place(&self) -> Result<SocketAddr, String> {
        let Some(text) = &self.listen else { return Ok(SocketAddr::from(([127, 0, 0, 1], 0))) };
        let port_0 = |ip: IpAddr| SocketAddr::from((ip, 0));
        text.parse().or_else(|_| text.parse().map(port_0)).map_err(|_| {
            format!(
                "'{}': listen = \"{text}\" is not an address; for example listen = \"192.0.2.7\" \
                 or \"192.0.2.7:8080\"",
                self.name
            )
        })
    }
}

/// The line that it writes when it is ready.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ready {
    /// Its event.
    pub event: String,
    #[serde(default, rename = "path")]
    _path: IgnoredAny,
    #[serde(default, rename = "status")]
    _status: IgnoredAny,
    #[serde(default, rename = "body")]
    _body: IgnoredAny,
}

/// All that may be started.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Targets {
    #[serde(default)]
    target: Vec<Target>,
    #[serde(default)]
    service: Vec<Target>,
    /// Why there is no list.
    #[serde(skip)]
    absent: Option<String>,
}

impl Targets {
    /// Reads the list.
    pub fn parse(text: &str) -> Result<Self, PlanError> {
        let targets: Self = toml::from_str(text).map_err(|error| text_error(&error, text))?;
        let mut all = targets.target.iter().chain(&targets.service);
        if let Some(target) = all.find(|target| target.run.is_empty()) {
            return Err(PlanError::Text(format!("'{}' has no words in run", target.name)));
        }
        targets.check().map_err(PlanError::Text)?;
        Ok(targets)
    }

    /// Checks what the types do not express.
    fn check(&self) -> Result<(), String> {
        let services = self.target.iter().chain(&self.service);
        let services: BTreeSet<&str> = services.map(|one| one.name.as_str()).collect();
        for target in &self.target {
            target.place()?;
            let named = |why| format!("'{}': allow.{why}", target.name);
            target.allow.check(&services).map_err(named)?;
        }
        Ok(())
    }

    /// The list, with this address to listen on for each target that names none.
    pub fn listening_on(mut self, ip: IpAddr) -> Self {
        for target in &mut self.target {
            target.listen.get_or_insert_with(|| ip.to_string());
        }
        self
    }

    /// No list: a plan that starts nothing needs none, and any other gets the reason as an error.
    pub fn absent(why: String) -> Self {
        Self { absent: Some(why), ..Self::default() }
    }

    /// The target of a name, or an error with the names that exist.
    pub fn target(&self, name: &str) -> Result<&Target, String> {
        self.target.iter().find(|target| target.name == name).ok_or_else(|| {
            if let Some(why) = &self.absent {
                return why.clone();
            }
            let names: Vec<_> = self.target.iter().map(|target| target.name.as_str()).collect();
            format!("there is no target '{name}'; accepted are {}", names.join(", "))
        })
    }

    /// The service of a name, which may also be a target; or an error with the names that exist.
    pub fn part(&self, name: &str) -> Result<&Target, String> {
        let all = || self.service.iter().chain(&self.target);
        all().find(|target| target.name == name).ok_or_else(|| {
            if let Some(why) = &self.absent {
                return why.clone();
            }
            let names: Vec<_> = all().map(|target| target.name.as_str()).collect();
            format!("there is no service '{name}'; accepted are {}", names.join(", "))
        })
    }
}
