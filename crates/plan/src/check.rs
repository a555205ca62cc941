//! Whether the loads of a plan can be made, before anything is started: a run and a rehearsal ask
//! the same questions here.

use crate::PlanError;
use crate::cell::{Cell, Server};
use crate::cells::Plan;
use crate::hosts::{Host, Place};
use crate::load;
use crate::machine::{Machine, Read, Unasked};
use model::load::{ProbeChoice, Trial};
use model::secret::{self, Secrets};
use std::collections::BTreeMap;

/// Stands for the address of a server on another host whose place is not known (RFC 5737).
const ELSEWHERE: &str = "192.0.2.1:1";
/// Stands for the address of a server on this host.
const HERE: &str = "127.0.0.1:1";

impl Plan {
    /// Whether this host can make the load of each cell: it has the CPUs, sources and files that
    /// the load asks for, and the tool that makes it. `read` gives the content of a file; no
    /// resolver is asked. Where the plan does not say where its hosts are, the generator's host may
    /// be another one too, and only what holds on every host is checked.
    ///
    /// # Errors
    ///
    /// The first cell whose load cannot be made, or that makes the load of another cell although
    /// the plan writes it differently.
    pub fn check(
        &self,
        probes: &BTreeMap<String, ProbeChoice>,
        read: Read<'_>,
        machine: &dyn Machine,
    ) -> Result<(), PlanError> {
        let is_known = self.used_hosts().all(|host| host.place != Place::Unknown);
        let mut made: Vec<(&Cell, Trial)> = Vec::new();
        for cell in &self.cells {
            let wrong = |why: String| PlanError::Cell { cell: cell.name.clone(), why };
            let of_any_host = Unasked::reading(read);
            let host = if is_known { of_any_host.on(machine) } else { of_any_host };
            let trial = cell.trial(probes, &host).map_err(wrong)?;
            let is_it = |(other, known): &&(&Cell, Trial)| {
                cell.is_only_written_differently(other) && *known == trial
            };
            if let Some((other, _)) = made.iter().find(is_it) {
                return Err(wrong(format!(
                    "on this host it makes the same load as '{}', so they would be one cell \
                     measured twice; give other values, or leave one out with --only",
                    other.name
                )));
            }
            made.push((cell, trial));
        }
        Ok(())
    }
}

impl Cell {
    /// The trial of its load on a host.
    fn trial(
        &self,
        probes: &BTreeMap<String, ProbeChoice>,
        host: &dyn Machine,
    ) -> Result<Trial, String> {
        let probe = self.host.as_ref().and_then(|host| probes.get(&host.name));
        let addr = match (&self.server, &self.host) {
            (Server::Running { addr }, _) => addr.clone(),
            // The probe starts it at another port of its own address, or the list says which.
            (_, Some(Host { place: Place::Far(probe), .. })) => probe.address.clone(),
            (_, Some(Host { place: Place::Unknown, .. })) => ELSEWHERE.to_string(),
            (_, Some(Host { place: Place::Here, .. }) | None) => HERE.to_string(),
        };
        let mut words = self.words(&addr, None, probe);
        // Its token and pin are not known where those of another host are not.
        words.retain(|word| probe.is_some() || !word.starts_with("--probe="));
        let known = Secrets::of_command(&words);
        let trial = load::trial_of(&words, host);
        trial.map_err(|why| secret::without(&why.trim_end().replace('\n', " "), &known))
    }

    /// Whether it differs from another cell in the words of its load and in nothing else. Two cells
    /// with the same words are meant: they show what the host varies.
    fn is_only_written_differently(&self, other: &Self) -> bool {
        let Self { name: _, server, host, client, load, tune, walls: _, links: _ } = self;
        *load != other.load
            && (server, host, client, tune)
                == (&other.server, &other.host, &other.client, &other.tune)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::Nowhere;
    use crate::{GivenHosts, Targets};

    /// What is wrong on a host with one CPU and a resolver that knows nothing.
    fn wrong(body: &str, given: &[(&str, &str)]) -> Option<String> {
        let text = format!(
            "schema = \"ceiling.plan/1\"\nquestion = \"?\"\nserver = {{ target = \"web\", host = \
             \"server\" }}\nhosts.server = {{}}\n{body}"
        );
        let targets = "[[target]]\nname = \"web\"\nrun = [\"web\"]\nready = { event = \"up\" }\n";
        let mut hosts = GivenHosts::default();
        let pair = |(key, value): &(&str, &str)| (format!("hosts.server.{key}"), value.to_string());
        hosts.add_values(&given.iter().map(pair).collect::<Vec<_>>()).unwrap();
        let plan = Plan::parse(&text, &Targets::parse(targets).unwrap(), &hosts).unwrap();
        for cell in &plan.cells {
            cell.check().unwrap();
        }
        let read = |path: &str| Err(format!("cannot read {path}"));
        let choice = |host: &Host| match &host.place {
            Place::Far(probe) => Some(ProbeChoice {
                address: probe.address.clone(),
                token_file: "token".to_string(),
                pin: "ab".repeat(32),
            }),
            Place::Here | Place::Unknown => None,
        };
        let probes = plan.used_hosts().filter_map(|host| Some((host.name.clone(), choice(host)?)));
        let probes: BTreeMap<_, _> = probes.collect();
        plan.check(&probes, &read, &Nowhere).err().map(|error| error.to_string())
    }

    const HERE: &[(&str, &str)] = &[("here", "true")];
    const FAR: &[(&str, &str)] = &[("probe", "probe.test:9200")];

    #[test]
    fn what_this_host_cannot_do_is_refused_once_it_is_the_generators() {
        for (load, said) in [
            ("threads = 5", "at most 4 here"),
            ("cpus = \"7\"", "may not use CPU 7"),
            ("command = \"load\"\nbody-file = \"x\"", "cannot read x"),
            ("tool = \"k6\"\nthreads = 2", "k6 uses every CPU that it may, 1 here"),
        ] {
            let load = format!("[load]\n{load}\n");
            for given in [HERE, FAR] {
                let why = wrong(&load, given).unwrap_or_default();
                assert!(why.starts_with("cell 'all': ") && why.contains(said), "{load}: {why}");
            }
        }
        // It may be run on a host that has more CPUs, but a file is needed everywhere.
        assert_eq!(wrong("load.threads = 64", &[]), None);
        assert!(wrong("load = { command = \"load\", body-file = \"x\" }", &[]).is_some());
    }

    #[test]
    fn what_depends_on_where_the_server_is_is_known() {
        let link = "load = { command = \"load\", link = \"50G\" }";
        assert!(wrong(link, HERE).unwrap().contains("loopback"));
        assert_eq!((wrong(link, FAR), wrong(link, &[])), (None, None));
        let evidence = "load = { command = \"load\", evidence = \"kernel\" }";
        assert!(wrong(evidence, FAR).unwrap().contains("--probe is about another one"));
        assert_eq!(wrong(evidence, HERE), None);
    }

    /// A host with as many CPUs as a level says makes the same load with "auto".
    #[test]
    fn cells_that_come_to_the_same_load_are_refused_and_equal_cells_are_meant() {
        let vary = "load.command = \"load\"\n[[vary]]\nkey = \"load.threads\"\n";
        let why = wrong(&format!("{vary}values = [1, \"auto\"]"), FAR).unwrap();
        assert!(why.contains("cell 'threads auto'") && why.contains("'threads 1'"), "{why}");
        assert_eq!(wrong(&format!("{vary}values = [2, \"auto\"]"), FAR), None);
        assert_eq!(wrong(&format!("{vary}values = [1, \"auto\"]"), &[]), None, "not known yet");
        let twice = "[[cell]]\nname = \"a\"\n[[cell]]\nname = \"b\"\n";
        assert_eq!(wrong(twice, FAR), None);
    }
}
