//! A plan and its cells: what they have in common is written once, and each cell changes it.

use crate::cell::{Cell, Client, Server, Visit};
use crate::design::{self, DesignText};
use crate::factors;
use crate::hosts::{CLIENT, GivenHosts, Host, named};
use crate::load::{self};
use crate::only::chosen;
use crate::secrets::{masked, secret_headers};
use crate::target::Targets;
use crate::tune::Tables;
use crate::usage::Usage;
use crate::{PlanError, SCHEMA, text_error};
use model::experiment::{Design, PlannedPrediction};
use model::maps::IntoMap;
use model::shell;
use model::starting::Limits;
use model::units::{parse_count, parse_cpus};
use model::wall::WallId;
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::iter;
use std::net::SocketAddr;
use toml::{Table, Value};

/// Most cells of one plan: a typo must not ask for a year of load.
const CELLS_MAX: usize = 1000;

/// An experiment, resolved.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// The question that it answers.
    pub question: String,
    /// The host that `ceiling run` runs on, and those that the plan names, by name.
    pub hosts: Vec<Host>,
    /// In the order they are measured in; at least one.
    pub cells: Vec<Cell>,
    /// Predictions of cells against others.
    pub predictions: Vec<PlannedPrediction>,
    /// How often and in which order they are visited; without one, once and as written.
    pub design: Option<Design>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PlanText {
    schema: String,
    question: String,
    #[serde(default)]
    hosts: BTreeMap<String, Table>,
    #[serde(default)]
    server: Table,
    #[serde(default)]
    client: Table,
    #[serde(default)]
    load: Table,
    tune: Option<Value>,
    #[serde(default)]
    walls: Vec<String>,
    #[serde(default)]
    cell: Vec<CellText>,
    #[serde(default)]
    vary: Vec<Vary>,
    #[serde(default)]
    prediction: Vec<PlannedPrediction>,
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
    tune: Option<Value>,
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
    host: Option<String>,
    #[serde(default)]
    args: Vec<String>,
    #[serde(default)]
    cpus: String,
    #[serde(default)]
    env: BTreeMap<String, String>,
    #[serde(default)]
    services: Vec<String>,
    #[serde(default)]
    limits: LimitsText,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct LimitsText {
    cpu: Option<f64>,
    memory: Option<String>,
}

/// The tables of a cell and its name, before they are read.
#[derive(Clone)]
struct Draft {
    name: Vec<String>,
    tables: BTreeMap<&'static str, Table>,
    tune: Tables,
    walls: Vec<String>,
}

const TABLES: [&str; 3] = ["server", "client", "load"];

/// The key of knobs, which are a table or a list of them.
const TUNE: &str = "tune";

impl Plan {
    /// Reads a plan. Targets and services of this host must be in the list.
    pub fn parse(text: &str, targets: &Targets, given: &GivenHosts) -> Result<Self, PlanError> {
        let plan: PlanText = toml::from_str(text).map_err(|error| text_error(&error, text))?;
        if plan.schema != SCHEMA {
            return Err(PlanError::Schema(plan.schema));
        }
        let hosts = given.resolve(&plan.hosts)?;
        let mut drafts = drafts(&plan)?;
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
            cells.push(draft.resolve(name.clone(), targets, &hosts).map_err(wrong)?);
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
        let (question, predictions) = (plan.question, plan.prediction);
        Ok(Self { question, hosts, cells, predictions, design })
    }

    /// All visits, in their order.
    pub fn visits(&self) -> Vec<Visit> {
        match &self.design {
            Some(design) => design::visits(design, &self.cells),
            None => (0..self.cells.len()).map(|cell| Visit { cell, block: None }).collect(),
        }
    }

    /// Keeps only the cells that these texts mean; all when there are none. Each has names or
    /// beginnings of names, with commas between them. The floor stays with the baseline.
    pub fn choose(&mut self, only: &[&str]) -> Result<(), Usage> {
        if only.is_empty() {
            return Ok(());
        }
        let names: Vec<&str> = self.cells.iter().map(|cell| cell.name.as_str()).collect();
        let mut cells = BTreeSet::new();
        for text in only {
            cells.extend(chosen(text, &names)?);
        }
        let at = |name: &str| names.iter().position(|one| *one == name);
        if let Some(design) = &self.design
            && let Some(baseline) = at(&design.baseline)
        {
            if !cells.contains(&baseline) {
                let all = iter::once(names[baseline]).chain(only.iter().copied());
                let words = all.flat_map(|text| ["--only".to_string(), text.to_string()]);
                return Err(Usage(format!(
                    "--only leaves out '{}', with which the design compares all cells; for \
                     example {}",
                    names[baseline],
                    shell::line(&words.collect::<Vec<_>>())
                )));
            }
            cells.extend(design.floor.as_deref().and_then(at));
        }
        let is_kept: Vec<bool> = (0..names.len()).map(|at| cells.contains(&at)).collect();
        if let Some(design) = &mut self.design {
            design::keep_only(design, &is_kept);
        }
        let mut each = is_kept.into_iter();
        self.cells.retain(|_| each.next().unwrap_or(true));
        Ok(())
    }

    /// The hosts that its cells use, by name.
    pub fn used_hosts(&self) -> impl Iterator<Item = &Host> {
        let is_of = |cell: &Cell, host: &Host| {
            let tuned = cell.tune.iter().map(|tune| &tune.host);
            cell.host.iter().chain(tuned).any(|used| used == host)
        };
        self.hosts.iter().filter(move |host| self.cells.iter().any(|cell| is_of(cell, host)))
    }
}

/// Whether both sides of a prediction are cells, and its bounds an interval.
fn check(one: &PlannedPrediction, names: &BTreeSet<String>) -> Result<(), String> {
    for side in [&one.baseline, &one.change] {
        if !names.iter().any(|name| PlannedPrediction::means(side, name)) {
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

fn drafts(plan: &PlanText) -> Result<Vec<Draft>, PlanError> {
    let base = [
        ("server", plan.server.clone()),
        ("client", plan.client.clone()),
        ("load", plan.load.clone()),
    ]
    .into_map();
    let tune = |cell: &str, value: Option<&Value>| {
        Tables::of(value).map_err(|why| PlanError::Cell { cell: cell.to_string(), why })
    };
    let all = tune("all", plan.tune.as_ref())?.unwrap_or(Tables::One(Table::new()));
    if plan.cell.is_empty() {
        let walls = plan.walls.clone();
        return Ok(vec![Draft { name: vec![], tables: base, tune: all, walls }]);
    }
    let draft = |cell: &CellText| {
        let mut tables = base.clone();
        for (name, own) in
            [("server", &cell.server), ("client", &cell.client), ("load", &cell.load)]
        {
            let table = tables.entry(name).or_default();
            for (key, value) in own {
                change(table, key, value);
            }
        }
        let walls = cell.walls.clone().unwrap_or_else(|| plan.walls.clone());
        let tune = all.changed(tune(&cell.name, cell.tune.as_ref())?);
        Ok(Draft { name: vec![cell.name.clone()], tables, tune, walls })
    };
    plan.cell.iter().map(draft).collect()
}

/// Changes a key that cells have in common. Of `path` and `url`, one replaces the other.
fn change(table: &mut Table, key: &str, value: &Value) {
    match key {
        "path" => drop(table.remove("url")),
        "url" => drop(table.remove("path")),
        _ => {}
    }
    table.insert(key.to_string(), value.clone());
}

/// Each draft with each value, the values in the inner loop.
fn varied(drafts: &[Draft], vary: &Vary) -> Result<Vec<Draft>, PlanError> {
    let wrong = |why: String| PlanError::Cell { cell: "vary".to_string(), why };
    let parts = vary.key.split_once('.');
    let (table, key) = parts
        .and_then(|(table, key)| {
            let mut names = TABLES.into_iter().chain([TUNE]);
            Some((names.find(|name| *name == table)?, key))
        })
        .ok_or_else(|| {
            wrong(format!(
                "key is '{}', but must start with server., client., load. or tune.; for example \
                 key = \"load.depth\"",
                vary.key
            ))
        })?;
    let count = drafts.len() * vary.values.len();
    if count == 0 || count > CELLS_MAX {
        return Err(wrong(format!(
            "'{}' makes {count} cells, but a plan has 1 to {CELLS_MAX}; for example values = \
             [1, 10]",
            vary.key
        )));
    }
    let mut all = Vec::new();
    for draft in drafts {
        let listed = draft.tables.get("load").map(secret_headers).unwrap_or_default();
        for (at, value) in vary.values.iter().enumerate() {
            let mut draft = draft.clone();
            if let (TUNE, Some(knob)) = (table, key.strip_prefix("only.")) {
                draft.name.push(draft.tune.with_knob(knob, value).map_err(wrong)?);
                all.push(draft);
                continue;
            }
            let changed = match table {
                TUNE => draft.tune.only_one().map_err(wrong)?,
                table => draft.tables.entry(table).or_default(),
            };
            change(changed, key, value);
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

/// A value as a person would write it.
fn shown(value: &Value) -> String {
    match value {
        Value::String(text) if text.is_empty() => "none".to_string(),
        // It leaves an option out.
        Value::Boolean(false) => "none".to_string(),
        Value::String(text) => text.clone(),
        Value::Array(values) if values.is_empty() => "none".to_string(),
        Value::Array(values) => values.iter().map(shown).collect::<Vec<_>>().join(" "),
        other => other.to_string(),
    }
}

impl Draft {
    fn resolve(&self, name: String, targets: &Targets, hosts: &[Host]) -> Result<Cell, String> {
        let read = |error: toml::de::Error| error.message().replace('\n', ", ");
        let server: ServerText = self.tables["server"].clone().try_into().map_err(read)?;
        let client: Client = self.tables["client"].clone().try_into().map_err(read)?;
        if !(-20..=19).contains(&client.nice) {
            return Err(format!(
                "client.nice is {}, but a priority is -20 to 19; for example nice = 19",
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
        if !is_of_server(&load.url) {
            return Err(format!(
                "load.url is '{}', but must start with a scheme and {{addr}}, which stands for the \
                 server; for example url = \"tcp://{{addr}}\"",
                load.url
            ));
        }
        let host = server.host(hosts)?;
        let server = server.resolve(targets, host.as_ref())?;
        let knobs_of = match (&host, &server) {
            (Some(host), _) => Ok(host.clone()),
            (None, Server::Running { addr }) if load.has("probe") || !is_loopback(addr) => {
                Err(format!(
                    "tune turns knobs of a host, and the plan does not say on which one the server \
                     at {addr} is; for example server.host = \"server\" with a table \
                     [hosts.server], or tune.host = \"client\" for the host that ceiling run \
                     runs on"
                ))
            }
            (None, _) => Ok(Host::default()),
        };
        let tune = self.tune.read(hosts, &knobs_of)?;
        let links = links(hosts, host.as_ref(), &server);
        Ok(Cell { name, server, host, client, load, tune, walls, links })
    }
}

/// The links between the generator and a server, as far as the plan states them. Loopback is not a
/// link.
fn links(hosts: &[Host], host: Option<&Host>, server: &Server) -> Vec<String> {
    let is_near = match (host, server) {
        (Some(host), _) => host.is_here(),
        (None, Server::Running { addr }) => is_loopback(addr),
        (None, Server::Started { .. }) => true,
    };
    let client = hosts.iter().find(|host| host.name == CLIENT);
    let side = |side: &str, host: Option<&Host>| Some(format!("{side}={}", host?.link.as_ref()?));
    let both = [side("client", client), side("server", host)];
    both.into_iter().flatten().filter(|_| !is_near).collect()
}

/// Whether an address is certainly one of this host.
fn is_loopback(addr: &str) -> bool {
    let ip = addr.parse::<SocketAddr>().map(|addr| addr.ip());
    let name = addr.rsplit_once(':').map_or(addr, |(name, _)| name);
    ip.map_or(name == "localhost", |ip| ip.is_loopback())
}

/// Whether a URL starts with a scheme and the server of the cell, and not with another host.
fn is_of_server(url: &str) -> bool {
    let behind = url.split_once("://").and_then(|(_, rest)| rest.strip_prefix("{addr}"));
    behind.is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', '?']))
}

/// Refuses a text that is neither empty nor a list of CPUs.
fn cpus(key: &str, list: &str) -> Result<(), String> {
    if list.is_empty() || parse_cpus(list).is_some() {
        return Ok(());
    }
    Err(format!("{key} is '{list}', but takes CPU numbers; for example {key} = \"0,2-3\""))
}

impl LimitsText {
    fn resolve(&self) -> Result<Limits, String> {
        if let Some(cpu) = self.cpu
            && !(cpu > 0.0 && cpu.is_finite())
        {
            return Err(format!(
                "server.limits.cpu is {cpu}, but takes CPU time in CPUs, above 0; for example \
                 limits = {{ cpu = 0.5 }}"
            ));
        }
        let bytes = |text: &String| {
            let number = text.strip_suffix('B').unwrap_or(text);
            parse_count(number).map_err(|_| {
                format!(
                    "server.limits.memory is '{text}', but takes bytes with k, M or G; for example \
                     limits = {{ memory = \"512M\" }}"
                )
            })
        };
        let memory_bytes = self.memory.as_ref().map(bytes).transpose()?;
        Ok(Limits { cpu: self.cpu, memory_bytes })
    }
}

impl ServerText {
    /// The host that it is on; a server that is started has one.
    fn host(&self, hosts: &[Host]) -> Result<Option<Host>, String> {
        let name = match (&self.host, &self.addr) {
            (Some(name), _) => name,
            (None, None) => CLIENT,
            (None, Some(_)) => return Ok(None),
        };
        named(hosts, name, "server.host").cloned().map(Some)
    }

    /// `host` is the host of the server. A target that is started on another host is in the list of
    /// its probe.
    fn resolve(self, targets: &Targets, host: Option<&Host>) -> Result<Server, String> {
        let limits = self.limits.resolve()?;
        match (self.target, self.addr) {
            (Some(target), None) => {
                if host.is_none_or(Host::is_here) {
                    targets.target(&target)?;
                    for service in &self.services {
                        targets.part(service)?;
                    }
                }
                let (args, cpus, env, services) = (self.args, self.cpus, self.env, self.services);
                Ok(Server::Started { target, args, cpus, env, services, limits })
            }
            (None, Some(addr)) => {
                let is_bare = self.args.is_empty() && self.env.is_empty() && self.cpus.is_empty();
                if is_bare && self.services.is_empty() && limits.is_none() {
                    return Ok(Server::Running { addr });
                }
                Err("server.addr is a server that this plan does not start: args, cpus, env, \
                     services and limits are for one that it starts; for example target = \
                     \"nethttp\""
                    .to_string())
            }
            _ => Err("server has either target, which is started, or addr, which runs already; \
                      for example target = \"nethttp\" or addr = \"192.0.2.7:8083\""
                .to_string()),
        }
    }
}
