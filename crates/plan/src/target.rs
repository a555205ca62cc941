//! The list of what may be started: `targets/targets.toml`.

use crate::{PlanError, text_error};
use serde::Deserialize;

/// A server under test, or something that it needs beside it, as its entry says.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Target {
    /// What it is called in plans and records.
    pub name: String,
    /// Words that start it; `{addr}` and `{port}` stand for where it shall listen, `{dir}` for a
    /// folder of its own.
    pub run: Vec<String>,
    /// When it answers.
    pub ready: Ready,
}

/// The line after which it answers.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Ready {
    /// Its event.
    pub event: String,
}

/// All that may be started.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
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
        Ok(targets)
    }

    /// No list: a plan that starts nothing needs none, and any other gets the reason as an error.
    pub fn absent(why: String) -> Self {
        Self { absent: Some(why), ..Self::default() }
    }

    /// The target of a name, or which names there are.
    pub fn target(&self, name: &str) -> Result<&Target, String> {
        self.target.iter().find(|target| target.name == name).ok_or_else(|| {
            if let Some(why) = &self.absent {
                return why.clone();
            }
            let names: Vec<_> = self.target.iter().map(|target| target.name.as_str()).collect();
            format!("there is no target '{name}'; accepted are {}", names.join(", "))
        })
    }

    /// The service of a name; also a target may be one. Or which names there are.
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
