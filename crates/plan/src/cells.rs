//! A plan and its cells: what they have in common is written once, and each cell changes it.

use crate::design::{self, DesignText};
use crate::factors;
use crate::load::{self, Load};
use crate::secrets::{masked, secret_headers};
use crate::target::Targets;
use crate::tune::{self, Tune};
use crate::usage::Usage;
use crate::{PlanError, SCHEMA, text_error};
use model::experiment::{Design, Foretold};
use model::secret::{self, Secrets};
use model::units::parse_cpus;
use model::wall::WallId;
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use toml::{Table, Value};

/// Cells of one plan at most: a slip of the pen must not ask for a year of load.
const CELLS_MAX: usize = 1000;

/// An experiment, resolved.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// What it is to answer.
    pub question: String,
    /// In the order they are measured in; at least one.
    pub cells: Vec<Cell>,
    /// What is said beforehand of cells against others.
    pub predictions: Vec<Foretold>,
    /// How often and in which order they are visited; without one, once and as written.
    pub design: Option<Design>,
}

/// One measurement of a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Visit {
    /// Place of the cell in the plan.
    pub cell: usize,
    /// The block, from 1, and 0 of a visit that warms up; nothing without a design.
    pub block: Option<u32>,
}

/// One server under one load.
#[derive(Debug, Clone, PartialEq)]
pub struct Cell {
    /// Tells it from the others.
    pub name: String,
    /// What is measured.
    pub server: Server,
    /// What is done to the generator.
    pub client: Client,
    /// What is asked of ceiling.
    pub load: Load,
    /// Knobs that are turned while it is measured; nothing leaves the host as it is.
    pub tune: Option<Tune>,
    /// Walls that would be as expected; empty when nothing is.
    pub walls: Vec<WallId>,
}

/// What is measured.
#[derive(Debug, Clone, PartialEq)]
pub enum Server {
    /// A target that is started for the cell, and ended after it.
    Started {
        /// Its name in the list of targets.
        target: String,
        /// Appended to its words; `{NAME}` stands for where a service is.
        args: Vec<String>,
        /// CPUs it may use, as the kernel writes them; empty means all.
        cpus: String,
        /// Added to its environment.
        env: BTreeMap<String, String>,
        /// What must run beside it.
        services: Vec<String>,
    },
    /// A server that somebody else started, for instance on another host.
    Running {
        /// HOST:PORT.
        addr: String,
    },
}

/// What is done to the generator, to show what a bad one says.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Client {
    /// Priority, -20 to 19.
    pub nice: i32,
    /// CPUs that a busy neighbour each uses as well, as the kernel writes them.
    pub neighbours: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PlanText {
    schema: String,
    question: String,
    #[serde(default)]
    server: Table,
    #[serde(default)]
    client: Table,
    #[serde(default)]
    load: Table,
    #[serde(default)]
    tune: Table,
    #[serde(default)]
    walls: Vec<String>,
    #[serde(default)]
    cell: Vec<CellText>,
    #[serde(default)]
    vary: Vec<Vary>,
    #[serde(default)]
    prediction: Vec<Foretold>,
    design: Option<DesignText>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct CellText {
    name: String,
    #[serde(default)]
    server: Table,
    #[serde(default)]
    client: Table,
    #[serde(default)]
    load: Table,
    #[serde(default)]
    tune: Table,
    walls: Option<Vec<String>>,
}

/// One setting that takes several values; with several of them every combination is a cell.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Vary {
    key: String,
    values: Vec<Value>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ServerText {
    target: Option<String>,
    addr: Option<String>,
    #[serde(default)]
    args: Vec<String>,
    #[serde(default)]
    cpus: String,
    #[serde(default)]
    env: BTreeMap<String, String>,
    #[serde(default)]
    services: Vec<String>,
}

/// The four tables of a cell and its name, before they are read.
#[derive(Clone)]
struct Draft {
    name: Vec<String>,
    tables: BTreeMap<&'static str, Table>,
    walls: Vec<String>,
}

const TABLES: [&str; 4] = ["server", "client", "load", "tune"];

impl Plan {
    /// Reads a plan; targets and services must be in the list.
    pub fn parse(text: &str, targets: &Targets) -> Result<Self, PlanError> {
        let plan: PlanText = toml::from_str(text).map_err(|error| text_error(&error, text))?;
        if plan.schema != SCHEMA {
            return Err(PlanError::Schema(plan.schema));
        }
        let mut drafts = drafts(&plan);
        for vary in &plan.vary {
            drafts = varied(&drafts, vary)?;
        }
        let mut names = BTreeSet::new();
        let mut cells = Vec::new();
        for draft in &drafts {
            let name = if draft.name.is_empty() { "all".into() } else { draft.name.join(", ") };
            let wrong = |why| PlanError::Cell { cell: name.clone(), why };
            if !names.insert(name.clone()) {
                return Err(wrong("two cells have this name; give each its own".to_string()));
            }
            cells.push(draft.resolve(name.clone(), targets).map_err(wrong)?);
        }
        for one in &plan.prediction {
            check(one, &names).map_err(|why| PlanError::Cell { cell: "prediction".into(), why })?;
        }
        let own = (!plan.cell.is_empty()).then(|| "cell".to_string());
        let keys = own.into_iter().chain(plan.vary.iter().map(|vary| vary.key.clone()));
        let keys: Vec<String> = keys.collect();
        let parts: Vec<Vec<String>> = drafts.into_iter().map(|draft| draft.name).collect();
        let of = factors::of(&keys, &parts);
        let design = plan.design.map(|design| design.resolve(&mut cells, of)).transpose();
        let design = design.map_err(|why| PlanError::Cell { cell: "design".to_string(), why })?;
        Ok(Self { question: plan.question, cells, predictions: plan.prediction, design })
    }

    /// All visits, in their order.
    pub fn visits(&self) -> Vec<Visit> {
        match &self.design {
            Some(design) => design::visits(design, &self.cells),
            None => (0..self.cells.len()).map(|cell| Visit { cell, block: None }).collect(),
        }
    }

    /// Keeps only cells whose names begin so; all when nothing is named.
    pub fn choose(&mut self, only: &[&str]) -> Result<(), Usage> {
        for name in only {
            if !self.cells.iter().any(|cell| cell.name.starts_with(name)) {
                let names: Vec<_> = self.cells.iter().map(|cell| cell.name.as_str()).collect();
                return Err(Usage(format!(
                    "--only {name}: no cell begins so; there are {}",
                    names.join(", ")
                )));
            }
        }
        let is_chosen = |cell: &Cell| only.iter().any(|name| cell.name.starts_with(name));
        self.cells.retain(|cell| only.is_empty() || is_chosen(cell));
        Ok(())
    }

    /// What would be done, in words.
    pub fn rehearsed(&self) -> String {
        let mut text = format!("{}\n", self.question);
        if let Some(design) = &self.design {
            text += &design::rehearsed(design, &self.cells);
        }
        text += &self.lasts().said;
        for cell in &self.cells {
            let (server, addr) = match &cell.server {
                Server::Started { target, args, cpus, services, .. } => {
                    let mut server = format!("start {target} {}", secret::words(args).join(" "));
                    if !cpus.is_empty() {
                        server += &format!(" on CPUs {cpus}");
                    }
                    if !services.is_empty() {
                        server += &format!(" beside {}", services.join(", "));
                    }
                    (server, "{addr}".to_string())
                }
                Server::Running { addr } => (format!("external server at {addr}"), addr.clone()),
            };
            let words = Secrets::command(&cell.load.words(&addr, None)).join(" ");
            text += &format!("\n{}\n  server  {server}\n  load    ceiling {words}\n", cell.name);
            if let Some(tune) = &cell.tune {
                text += &format!("  tune    {}\n", tune.shown());
            }
        }
        text
    }
}

impl Cell {
    /// Whether the command line takes what is asked of this cell's server.
    pub fn check(&self) -> Result<(), String> {
        match &self.server {
            Server::Started { .. } => self.load.check(None),
            Server::Running { addr } => self.load.check(Some(addr)),
        }
    }
}

/// Whether both sides of a prediction are cells, and its bounds an interval.
fn check(one: &Foretold, names: &BTreeSet<String>) -> Result<(), String> {
    for side in [&one.baseline, &one.change] {
        if !names.iter().any(|name| Foretold::means(side, name)) {
            let names: Vec<_> = names.iter().map(String::as_str).collect();
            return Err(format!(
                "no cell is '{side}' or '{side}, 1'; cells are {}",
                names.join("; ")
            ));
        }
    }
    let is_empty = one.high.is_some_and(|high| high < one.low);
    if is_empty || !one.low.is_finite() || one.baseline == one.change {
        return Err(format!(
            "'{}' against '{}' from {} to {:?} says nothing; for example low = -0.02 and high = \
             0.3",
            one.change, one.baseline, one.low, one.high
        ));
    }
    Ok(())
}

fn drafts(plan: &PlanText) -> Vec<Draft> {
    let base = BTreeMap::from([
        ("server", plan.server.clone()),
        ("client", plan.client.clone()),
        ("load", plan.load.clone()),
        ("tune", plan.tune.clone()),
    ]);
    if plan.cell.is_empty() {
        return vec![Draft { name: vec![], tables: base, walls: plan.walls.clone() }];
    }
    let draft = |cell: &CellText| {
        let mut tables = base.clone();
        for (name, own) in [
            ("server", &cell.server),
            ("client", &cell.client),
            ("load", &cell.load),
            ("tune", &cell.tune),
        ] {
            let table = tables.entry(name).or_default();
            table.extend(own.iter().map(|(key, value)| (key.clone(), value.clone())));
        }
        let walls = cell.walls.clone().unwrap_or_else(|| plan.walls.clone());
        Draft { name: vec![cell.name.clone()], tables, walls }
    };
    plan.cell.iter().map(draft).collect()
}

/// Each draft with each value, the values in the inner loop.
fn varied(drafts: &[Draft], vary: &Vary) -> Result<Vec<Draft>, PlanError> {
    let wrong = |why: String| PlanError::Cell { cell: "vary".to_string(), why };
    let parts = vary.key.split_once('.');
    let (table, key) = parts
        .and_then(|(table, key)| Some((TABLES.into_iter().find(|name| *name == table)?, key)))
        .ok_or_else(|| {
            wrong(format!(
                "key is '{}', and begins with server., client., load. or tune.; for example key = \
                 \"load.depth\"",
                vary.key
            ))
        })?;
    let count = drafts.len() * vary.values.len();
    if count == 0 || count > CELLS_MAX {
        return Err(wrong(format!(
            "'{}' makes {count} cells, and a plan has 1 to {CELLS_MAX}; for example values = \
             [1, 10]",
            vary.key
        )));
    }
    let mut all = Vec::new();
    for draft in drafts {
        let listed = draft.tables.get("load").map(secret_headers).unwrap_or_default();
        for (at, value) in vary.values.iter().enumerate() {
            let mut draft = draft.clone();
            draft.tables.entry(table).or_default().insert(key.to_string(), value.clone());
            let value = shown(value);
            // Names are shown; a secret is shown by its number.
            let is_secret = masked(key, &value, &listed) != value;
            let value = if is_secret { (at + 1).to_string() } else { value };
            draft.name.push(format!("{key} {value}"));
            all.push(draft);
        }
    }
    Ok(all)
}

/// A value as a person would say it.
fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(values) if values.is_empty() => "none".to_string(),
        Value::Array(values) => values.iter().map(shown).collect::<Vec<_>>().join(" "),
        other => other.to_string(),
    }
}

impl Draft {
    fn resolve(&self, name: String, targets: &Targets) -> Result<Cell, String> {
        let read = |error: toml::de::Error| error.message().replace('\n', ", ");
        let server: ServerText = self.tables["server"].clone().try_into().map_err(read)?;
        let client: Client = self.tables["client"].clone().try_into().map_err(read)?;
        if !(-20..=19).contains(&client.nice) {
            return Err(format!(
                "client.nice is {}, and a priority is -20 to 19; for example nice = 19",
                client.nice
            ));
        }
        cpus("client.neighbours", &client.neighbours)?;
        cpus("server.cpus", &server.cpus)?;
        let wall = |id: &String| {
            let known = WallId::parse(id);
            known.ok_or_else(|| format!("there is no wall '{id}'; for example walls = [\"S1\"]"))
        };
        let walls = self.walls.iter().map(wall).collect::<Result<_, _>>()?;
        let load = load::read(&self.tables["load"])?;
        let tune = tune::read(&self.tables["tune"])?;
        if !is_of_server(&load.url) {
            return Err(format!(
                "load.url is '{}', and begins with a scheme and {{addr}}, where the server is; for \
                 example url = \"tcp://{{addr}}\"",
                load.url
            ));
        }
        Ok(Cell { name, server: server.resolve(targets)?, client, load, tune, walls })
    }
}

/// Whether a URL begins with a scheme and the server of the cell, and not with another host.
fn is_of_server(url: &str) -> bool {
    let behind = url.split_once("://").and_then(|(_, rest)| rest.strip_prefix("{addr}"));
    behind.is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', '?']))
}

/// Whether a list of CPUs, which may be empty, is one.
fn cpus(key: &str, list: &str) -> Result<(), String> {
    if list.is_empty() || parse_cpus(list).is_some() {
        return Ok(());
    }
    Err(format!("{key} is '{list}', and takes CPU numbers; for example {key} = \"0,2-3\""))
}

impl ServerText {
    fn resolve(self, targets: &Targets) -> Result<Server, String> {
        match (self.target, self.addr) {
            (Some(target), None) => {
                targets.target(&target)?;
                for service in &self.services {
                    targets.part(service)?;
                }
                let (args, cpus, env, services) = (self.args, self.cpus, self.env, self.services);
                Ok(Server::Started { target, args, cpus, env, services })
            }
            (None, Some(addr)) => {
                let is_bare = self.args.is_empty() && self.env.is_empty() && self.cpus.is_empty();
                if is_bare && self.services.is_empty() {
                    return Ok(Server::Running { addr });
                }
                Err("server.addr is a server that this plan does not start: args, cpus, env \
                     and services are for one that it starts; for example target = \"nethttp\""
                    .to_string())
            }
            _ => Err("server has either target, which is started, or addr, which runs already; \
                      for example target = \"nethttp\" or addr = \"192.0.2.7:8083\""
                .to_string()),
        }
    }
}
