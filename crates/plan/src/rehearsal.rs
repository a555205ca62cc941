//! What a plan would do, in words: every program, variable, file, address and knob.
//!
//! A person reads it to decide whether to trust a plan, so nothing that runs may be missing: the
//! fields of what is described are all named here, and a new one does not compile until it is shown
//! or passed over on purpose. A text of the plan cannot pretend to be a line of ours, because its
//! line feeds are escaped.

use crate::cell::{Cell, Client, Server};
use crate::cells::Plan;
use crate::design;
use crate::hosts::{CLIENT, FarProbe, Host, Place};
use crate::target::{Target, Targets};
use crate::trust;
use model::printable::printable;
use model::secret::{self, Secrets};
use model::shell;
use std::path::Path;

/// What is around a plan.
#[derive(Clone, Copy)]
pub struct Surroundings<'a> {
    /// The list of servers, and the file that it is from.
    pub targets: &'a Targets,
    /// The file of that list, if there is one.
    pub list: Option<&'a Path>,
    /// The folder that listed commands run in.
    pub root: &'a Path,
    /// Reads a file, to find the files that it names in turn.
    pub read: &'a dyn Fn(&str) -> Result<Vec<u8>, String>,
}

impl Plan {
    /// What the plan would do, in words.
    pub fn rehearsed(&self, around: Surroundings<'_>) -> String {
        let mut text = format!("{}\n", printable(&self.question));
        if self.hosts.iter().any(|host| *host != Host::default()) {
            text += "\nhosts\n";
            for host in &self.hosts {
                text += &format!("  {:7} {}\n", host.name, printable(&of_host(host)));
            }
            text += &unstated_links(&self.hosts);
        }
        if let Some(design) = &self.design {
            text += &design::rehearsed(design, &self.cells);
        }
        text += &self.lasts().text;
        text += &programs(self, around);
        for cell in &self.cells {
            text += &format!("\n{}\n", printable(&cell.name));
            for (what, of) in of_cell(cell, around) {
                text += &format!("  {what:7} {}\n", printable(&of));
            }
        }
        let needs = trust::keys(self, around.targets);
        if !needs.is_empty() {
            text += &format!("\nneeds --trust: {}\n", printable(&needs.join(", ")));
        }
        text
    }
}

/// The commands of the list that are started, each once.
fn programs(plan: &Plan, around: Surroundings<'_>) -> String {
    let mut all: Vec<&Target> = Vec::new();
    for cell in plan.cells.iter().filter(|cell| is_near(cell)) {
        let Server::Started { target, services, .. } = &cell.server else { continue };
        let of_services = services.iter().map(|name| around.targets.part(name));
        for one in [around.targets.target(target)].into_iter().chain(of_services).flatten() {
            if !all.iter().any(|known| known.name == one.name) {
                all.push(one);
            }
        }
    }
    if all.is_empty() {
        return String::new();
    }
    let list = around.list.map_or(String::new(), |list| format!(", from {}", list.display()));
    let mut text = format!("\nprograms, run in {}{list}\n", around.root.display());
    for one in all {
        let listen = one.listen.as_ref().map_or(String::new(), |at| format!(", at {at}"));
        let words = shell::line(&secret::words(&one.run));
        text += &format!("  {:7} {words}{listen}\n", one.name);
    }
    text
}

fn is_near(cell: &Cell) -> bool {
    cell.host.as_ref().is_none_or(Host::is_here)
}

fn of_host(host: &Host) -> String {
    let mut text = host.shown();
    if let Place::Far(FarProbe { address: _, token_file, pin }) = &host.place {
        for (what, of) in [("token file", token_file), ("pin", pin)] {
            text += &of.as_ref().map_or(String::new(), |of| format!(", {what} {of}"));
        }
    }
    text
}

/// The hosts whose link the plan does not state, where the load crosses one: without its speed no
/// share of it is known, and many drivers of virtual machines report none.
fn unstated_links(hosts: &[Host]) -> String {
    let unstated = hosts.iter().filter(|host| host.link.is_none());
    let names: Vec<&str> = unstated.map(|host| host.name.as_str()).collect();
    match names.first() {
        Some(first) if !hosts.iter().all(Host::is_here) => format!(
            "  link    of {}: what the driver reports; where that is nothing, give it, for example \
             hosts.{first}.link = \"25G\"\n",
            names.join(", ")
        ),
        _ => String::new(),
    }
}

/// Everything about a cell, each with what it is.
fn of_cell(cell: &Cell, around: Surroundings<'_>) -> Vec<(&'static str, String)> {
    let Cell { name: _, server, host, client, load: _, tune, walls: _, links: _ } = cell;
    let on = host.as_ref().filter(|host| host.name != CLIENT);
    let on = on.map_or(String::new(), |host| format!(", host {}", host.name));
    let (mut of, addr) = of_server(server, &on);
    let Client { nice, neighbours } = client;
    if *nice != 0 {
        of.push(("client", format!("priority {nice}")));
    }
    if !neighbours.is_empty() {
        of.push(("client", format!("busy neighbours on CPUs {neighbours}")));
    }
    let words = [&["ceiling".to_string()][..], &cell.words(&addr, None, None)].concat();
    of.push(("load", Secrets::command(&words).join(" ")));
    let (files, unknown) = trust::files(cell, around.read);
    of.extend(files.into_iter().map(|file| ("reads", file)));
    of.extend(unknown.map(|why| ("reads", format!("more may follow: {why}"))));
    of.extend(tune.iter().map(|tune| ("tune", tune.shown())));
    of
}

/// How a server is started, and where it is.
fn of_server(server: &Server, on: &str) -> (Vec<(&'static str, String)>, String) {
    match server {
        Server::Started { target, args, cpus, env, services, limits } => {
            let mut text = format!("start {target} {}", secret::words(args).join(" "));
            if !cpus.is_empty() {
                text += &format!(" on CPUs {cpus}");
            }
            if !services.is_empty() {
                text += &format!(" beside {}", services.join(", "));
            }
            if let Some(cpu) = limits.cpu {
                text += &format!(", limited to the time of {cpu} CPUs");
            }
            if let Some(bytes) = limits.memory_bytes {
                text += &format!(", limited to {bytes} bytes");
            }
            let variables = env.iter().map(|(name, value)| format!("{name}={value}"));
            let variables = variables.map(|text| ("env", secret::text(&text)));
            let of = [("server", text + on)].into_iter().chain(variables).collect();
            (of, "{addr}".to_string())
        }
        Server::Running { addr } => {
            (vec![("server", format!("external server at {addr}{on}"))], addr.clone())
        }
    }
}
