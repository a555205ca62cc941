//! Knobs of a cell: those that are turned on a host while the cell is measured, and restored after
//! it.

use crate::hosts::{Host, named};
use serde::Deserialize;
use std::collections::BTreeMap;
use toml::{Table, Value};

/// The knobs to turn. This crate does not know which knobs exist.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tune {
    /// The host of the knobs.
    pub host: Host,
    /// The profile, for example `throughput`; empty means the default.
    pub profile: String,
    /// Only these knobs, by id or name. They are what the cell is about: each must change
    /// something.
    pub only: Vec<String>,
    /// Knobs that are turned too where the host does not have what they want: they hold for every
    /// host in the same way, and may change nothing.
    pub ensure: Vec<String>,
    /// Only this device; empty means every one that carries load.
    pub device: String,
    /// CPUs for packets and CPUs for the server, as `0/1`; empty means all do everything.
    pub cpus: String,
    /// Values that are set as given, by knob; for a knob with several kinds of values by the knob,
    /// a slash, and the name of the file: `netdev-budget/netdev_budget`.
    pub values: BTreeMap<String, String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, default)]
#[derive(Default)]
struct TuneText {
    host: Option<String>,
    profile: String,
    only: Vec<String>,
    ensure: Vec<String>,
    device: String,
    cpus: String,
    values: BTreeMap<String, Value>,
}

impl Tune {
    /// The knobs that are named, whatever for.
    pub fn named(&self) -> impl Iterator<Item = &String> {
        self.only.iter().chain(self.values.keys()).chain(&self.ensure)
    }

    /// The knobs in one line.
    pub fn shown(&self) -> String {
        let values = self.values.iter().map(|(knob, value)| format!("{knob} = {value}"));
        let plain = self.only.iter().filter(|knob| !self.values.contains_key(*knob)).cloned();
        let ensured = self.ensure.iter().map(|knob| format!("ensure {knob}"));
        let mut text = plain.chain(values).chain(ensured).collect::<Vec<_>>().join(", ");
        if self.host != Host::default() {
            text = format!("{text}, host {}", self.host.name);
        }
        let of = [("profile", &self.profile), ("device", &self.device), ("CPUs", &self.cpus)];
        for (what, of) in of.into_iter().filter(|(_, of)| !of.is_empty()) {
            text += &format!(", {what} {of}");
        }
        text
    }

    /// Knobs as written in a plan.
    pub fn table(&self) -> Table {
        let words = |words: &[String]| words.iter().cloned().map(Value::String).collect();
        let mut table = Table::new();
        table.insert("only".to_string(), Value::Array(words(&self.only)));
        if !self.ensure.is_empty() {
            table.insert("ensure".to_string(), Value::Array(words(&self.ensure)));
        }
        for (key, text) in [("profile", &self.profile), ("cpus", &self.cpus)] {
            if !text.is_empty() {
                table.insert(key.to_string(), Value::String(text.clone()));
            }
        }
        for (word, value) in &self.values {
            let value = Value::String(value.clone());
            let values = table.entry("values").or_insert_with(|| Value::Table(Table::new()));
            let Some(values) = values.as_table_mut() else { continue };
            match word.split_once('/') {
                None => drop(values.insert(word.clone(), value)),
                Some((knob, file)) => {
                    let of_knob = values.entry(knob).or_insert_with(|| Value::Table(Table::new()));
                    of_knob.as_table_mut().map(|of_knob| of_knob.insert(file.to_string(), value));
                }
            }
        }
        table
    }
}

/// The knobs of a plan, or of a cell, before they are read.
#[derive(Debug, Clone)]
pub(crate) enum Tables {
    /// A table, whose keys a cell changes one by one.
    One(Table),
    /// A list, which a cell replaces.
    List(Vec<Table>),
}

impl Tables {
    /// What the plan says, if anything.
    pub(crate) fn of(value: Option<&Value>) -> Result<Option<Self>, String> {
        let wrong = || {
            "tune is a table or a list of tables; for example tune = { only = [\"rps\"] }"
                .to_string()
        };
        let table = |value: &Value| value.as_table().cloned().ok_or_else(wrong);
        Ok(match value {
            None => None,
            Some(Value::Array(all)) => {
                Some(Self::List(all.iter().map(table).collect::<Result<_, _>>()?))
            }
            Some(value) => Some(Self::One(table(value)?)),
        })
    }

    /// The knobs of all cells, with the changes of one cell.
    pub(crate) fn changed(&self, own: Option<Self>) -> Self {
        match (self, own) {
            (_, None) => self.clone(),
            (Self::One(all), Some(Self::One(own))) => {
                let mut table = all.clone();
                table.extend(own);
                Self::One(table)
            }
            (_, Some(own)) => own,
        }
    }

    /// Turns a knob in the only table, or leaves it as it is: one level of a factor of its own.
    /// Returns the name of the level.
    pub(crate) fn with_knob(&mut self, knob: &str, value: &Value) -> Result<String, String> {
        let Some(is_turned) = value.as_bool() else {
            return Err(format!(
                "tune.only.{knob} takes true and false; for example values = [false, true]"
            ));
        };
        let only = self.only_one()?.entry("only").or_insert_with(|| Value::Array(Vec::new()));
        let Value::Array(words) = only else {
            return Err("tune.only is a list of knobs; for example only = [\"rps\"]".to_string());
        };
        words.retain(|word| word.as_str() != Some(knob));
        if is_turned {
            words.push(Value::String(knob.to_string()));
        }
        Ok(if is_turned { knob.to_string() } else { format!("no {knob}") })
    }

    /// The only table, in which `vary` sets a key.
    pub(crate) fn only_one(&mut self) -> Result<&mut Table, String> {
        match self {
            Self::One(table) => Ok(table),
            Self::List(_) => Err("a key of tune is varied where tune is one table, and it is a \
                                  list here; for example tune = { host = \"server\" }"
                .to_string()),
        }
    }

    /// Reads the knobs. `server` is the host of the server, or why the plan does not say which it
    /// is.
    pub(crate) fn read(
        &self,
        hosts: &[Host],
        server: &Result<Host, String>,
    ) -> Result<Vec<Tune>, String> {
        let tables = match self {
            Self::One(table) => std::slice::from_ref(table),
            Self::List(tables) => &tables[..],
        };
        let read = tables.iter().map(|table| read(table, hosts, server));
        Ok(read.collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect())
    }
}

/// Reads one table; an empty one turns nothing.
fn read(
    table: &Table,
    hosts: &[Host],
    server: &Result<Host, String>,
) -> Result<Option<Tune>, String> {
    let TuneText { host, profile, only, ensure, device, cpus, values } =
        table.clone().try_into().map_err(|error: toml::de::Error| {
            format!("tune: {}", error.message().replace('\n', ", "))
        })?;
    if only.is_empty() && values.is_empty() && ensure.is_empty() {
        // `only = []` says that nothing is turned, for instance in the cell without knobs.
        let says_none = |key: &str| {
            table.contains_key("only") || key != "profile" && table.contains_key("values")
        };
        let given = [("profile", &profile), ("cpus", &cpus), ("device", &device)].into_iter();
        let mut given = given.filter(|(key, text)| !says_none(key) && !text.is_empty());
        return match given.next() {
            None => Ok(None),
            Some((key, text)) => Err(format!(
                "tune.{key} is '{text}', but tune.only must say which knobs to turn; for example \
                 only = [\"rps\"], or only = [] to turn none"
            )),
        };
    }
    let mut texts = BTreeMap::new();
    for (knob, value) in values {
        match value {
            Value::Table(files) => {
                for (file, value) in files {
                    let key = format!("{knob}/{file}");
                    let value = text(&format!("{knob}.{file}"), value)?;
                    texts.insert(key, value);
                }
            }
            value => {
                let value = text(&knob, value)?;
                texts.insert(knob, value);
            }
        }
    }
    let host = match host {
        Some(name) => named(hosts, &name, "tune.host")?.clone(),
        None => server.clone()?,
    };
    Ok(Some(Tune { host, profile, only, ensure, device, cpus, values: texts }))
}

fn text(knob: &str, value: Value) -> Result<String, String> {
    match value {
        Value::String(text) => Ok(text),
        Value::Integer(number) => Ok(number.to_string()),
        _ => Err(format!(
            "tune.values.{knob} must be a text or a number; for example {knob} = \"0-1\""
        )),
    }
}
