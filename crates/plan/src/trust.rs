//! What a plan asks for beyond load on a server that the list of targets names.
//!
//! Such a plan is code of its author: it can start programs through the environment, send files
//! elsewhere, or change the server. So it is carried out only when the user says so. What a load
//! reaches is decided by what reads it: the command line's own parser says which options are set,
//! and the trial is made on a host that notes what it is asked for.

use crate::allow::Allow;
use crate::cell::{Cell, Client, Server};
use crate::cells::Plan;
use crate::load::{self, command};
use crate::machine::Unasked;
use crate::target::Targets;
use crate::url::Url;
use clap::parser::ValueSource;
use clap::{Arg, ArgMatches};
use model::option::{self, Reach};
use model::secret::{self, Secrets};
use std::collections::BTreeMap;

/// Stands for the server's address while a command line is read (RFC 5737). Nothing is sent there.
const ADDR: &str = "192.0.2.1:1";

/// Why an untrusted plan is refused, or nothing: each key, and how to allow it.
pub fn untrusted(plan: &Plan, targets: &Targets) -> Option<String> {
    let keys = keys(plan, targets);
    (!keys.is_empty()).then(|| {
        format!(
            "it sets {}, which can run programs, read files, send load elsewhere or change the \
             server (docs/experiments.md); read the plan as you would read a script, then allow it \
             with --trust; --dry-run shows what it would do",
            keys.join(", ")
        )
    })
}

/// The keys of a plan that need trust.
pub(crate) fn keys(plan: &Plan, targets: &Targets) -> Vec<String> {
    let mut keys: Vec<String> = Vec::new();
    let of_hosts = plan.used_hosts().flat_map(|host| host.untrusted.clone());
    let of_cells = plan.cells.iter().flat_map(|cell| keys_of(cell, targets));
    for key in of_hosts.chain(of_cells) {
        if !keys.contains(&key) {
            keys.push(key);
        }
    }
    keys
}

/// The keys of a cell that need trust. Its fields are all named, so that a new one is thought of.
fn keys_of(cell: &Cell, targets: &Targets) -> Vec<String> {
    let Cell { server, host, client, load, name: _, tune: _, walls: _, links: _ } = cell;
    let Client { nice: _, neighbours: _ } = client;
    let mut keys = Vec::new();
    match server {
        Server::Started { target, args, env, cpus: _, services: _, limits: _ } => {
            // The probe of another host has a list of its own, which may have targets that ours has
            // not. It refuses what that list does not allow, also to who trusts the plan.
            let is_far = host.as_ref().is_some_and(|host| !host.is_here());
            let allow = targets.target(target).map(|target| &target.allow).ok();
            let refuses = |is_permitted: &dyn Fn(&Allow) -> bool| {
                allow.map_or(!is_far, |allow| !is_permitted(allow))
            };
            if !args.is_empty() && refuses(&|allow| allow.permits_args(args).is_ok()) {
                keys.push(format!("server.args ({})", args.join(" ")));
            }
            for (name, value) in env {
                let one = BTreeMap::from([(name.clone(), value.clone())]);
                if refuses(&|allow| allow.permits_env(&one).is_ok()) {
                    keys.push(format!("server.env.{name}"));
                }
            }
        }
        Server::Running { .. } => keys.push("server.addr".to_string()),
    }
    let words = load.words(ADDR, &[]);
    let set = match options(&words) {
        Ok(set) => set,
        Err(why) => return [keys, vec![format!("load, which cannot be read ({why})")]].concat(),
    };
    keys.extend(set.iter().filter_map(Set::needs));
    if keys.is_empty() {
        // What is left is read without a file, or it is not what it seems.
        let machine = Unasked::default();
        let trial = load::trial_of(&words, &machine);
        match machine.asked().first() {
            Some(file) => {
                let at = set.iter().find(|one| one.values.iter().any(|text| text.contains(file)));
                let key = at.map_or("load".to_string(), |one| format!("load.{}", one.name));
                keys.push(format!("{key} with {{{{csv:FILE}}}} ({file})"));
            }
            None => keys.extend(trial.err().map(|_| "load".to_string())),
        }
    }
    keys
}

/// An option that a command line sets.
struct Set {
    name: String,
    /// What it can reach; nothing for one without facts, which needs trust.
    reach: Option<Reach>,
    values: Vec<String>,
}

impl Set {
    /// Its key, if it needs trust.
    fn needs(&self) -> Option<String> {
        let is_harmless = match (self.name.as_str(), self.reach) {
            ("url", _) => self.values.iter().all(|url| is_of_server(url)),
            // `auto` profiles the server's own processes, which ceiling finds by itself.
            ("profile", _) => self.values == ["auto"],
            (_, reach) => reach == Some(Reach::Load),
        };
        (!is_harmless).then(|| format!("load.{}", self.name))
    }
}

fn is_of_server(url: &str) -> bool {
    Url::typed(url).is_ok_and(|url| url.authority == ADDR)
}

/// The options that these words set, as their parser reads them.
fn options(words: &[String]) -> Result<Vec<Set>, String> {
    let all = [&["ceiling".to_string()], words].concat();
    let matches = command().try_get_matches_from(all).map_err(|error| error.kind().to_string())?;
    let (name, matches) = matches.subcommand().ok_or("it has no command")?;
    let command = command();
    let of = command.find_subcommand(name).ok_or("it has no command")?;
    Ok(of.get_arguments().filter_map(|argument| set(argument, matches)).collect())
}

fn set(argument: &Arg, matches: &ArgMatches) -> Option<Set> {
    let id = argument.get_id().as_str();
    if matches.value_source(id) != Some(ValueSource::CommandLine) {
        return None;
    }
    let values = matches.get_raw(id).unwrap_or_default();
    let values = values.map(|value| value.to_string_lossy().into_owned()).collect();
    let name = argument.get_long().unwrap_or(id).to_string();
    let reach = argument.get_long().and_then(option::named).map(|facts| facts.reach);
    Some(Set { name, reach, values })
}

/// The files that a load reads: those that its options name, and those that they name in turn, as
/// far as they are read here; and why that may not be all. `read` gives the content of a file.
pub(crate) fn files(
    cell: &Cell,
    read: &dyn Fn(&str) -> Result<Vec<u8>, String>,
) -> (Vec<String>, Option<String>) {
    let words = cell.load.words(ADDR, &[]);
    let set = options(&words).unwrap_or_default();
    let is_file = |one: &&Set| one.reach == Some(Reach::File);
    let named = set.iter().filter(is_file).flat_map(|one| one.values.clone());
    let machine = Unasked::reading(read);
    let trial = load::trial_of(&words, &machine);
    let mut files: Vec<String> = Vec::new();
    for file in named.chain(machine.asked()) {
        if !files.contains(&file) {
            files.push(file);
        }
    }
    let known = Secrets::of_command(&words);
    let why = trial.err().filter(|_| !files.is_empty());
    (files, why.map(|why| secret::without(&why.replace('\n', " "), &known)))
}

#[cfg(test)]
mod tests;
