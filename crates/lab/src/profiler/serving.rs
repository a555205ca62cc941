//! Whether the processes that were profiled are all that served the requests of a visit.
//!
//! Seconds blocked in some of the workers, divided by the requests of all of them, would give a
//! share that is too small, and a wrong bound. So figures per request need profiles of every
//! serving process.

use judge::observe::ThreadShare;
use model::facts::{ProcessFacts, ServerFacts};
use model::maps::IntoMap;
use model::profile::ProfileKind;
use std::collections::{BTreeMap, BTreeSet};

/// A process with less than this share of the server's CPU time does not matter: if it listens, or
/// if it only has the name of a process that listens, such as a master of workers.
const LISTENING_MIN: f64 = 0.001;
const OTHER_MIN: f64 = 0.01;
/// Processes that are listed by name.
const NAMED_MAX: usize = 8;

/// What the profiles of one kind cover.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Captured {
    /// Processes that were covered.
    pub(crate) pids: BTreeSet<u32>,
    /// Endpoints whose process is not known on this host.
    pub(crate) unknown: BTreeSet<String>,
}

/// The processes that served the requests of a visit.
#[derive(Debug, PartialEq)]
pub(crate) struct Serving {
    /// Names by process.
    names: BTreeMap<u32, String>,
    /// They are on another host, where an endpoint cannot be matched to its process.
    is_far: bool,
}

impl Serving {
    /// Processes that listen on the port under test, or run the same program as one that does, and
    /// used CPU time; when no listener is known, all that used CPU time. Otherwise the reason.
    pub(crate) fn of(
        server: Option<&ServerFacts>,
        threads: Option<&[ThreadShare]>,
    ) -> Result<Self, String> {
        let Some(server) = server else {
            return Err("the server's processes are not known".to_string());
        };
        let listens = |one: &ProcessFacts| one.listeners.is_some_and(|listeners| listeners > 0);
        let listening: BTreeMap<u32, &str> = server
            .processes
            .iter()
            .filter(|one| listens(one))
            .map(|one| (one.pid, one.name.as_str()))
            .into_map();
        let programs: BTreeSet<&str> = listening.values().copied().collect();
        let mut seen: BTreeMap<u32, (&str, f64)> = BTreeMap::new();
        for one in &server.processes {
            seen.insert(one.pid, (&one.name, 0.0));
        }
        for thread in threads.unwrap_or_default() {
            let place = seen.entry(thread.pid).or_insert(("", 0.0));
            place.1 += thread.run;
            if place.0.is_empty() && thread.tid == thread.pid {
                place.0 = &thread.name;
            }
        }
        let all: f64 = seen.values().map(|(_, run)| run).sum();
        let serves = |pid: u32, name: &str, run: f64| {
            let is_listening = listening.contains_key(&pid);
            let least = if is_listening { LISTENING_MIN } else { OTHER_MIN };
            let is_candidate = is_listening || programs.is_empty() || programs.contains(name);
            // Without CPU times, every process may have served.
            is_candidate && (all <= 0.0 || run >= least * all)
        };
        let names: BTreeMap<u32, String> = seen
            .into_iter()
            .filter(|(pid, (name, run))| serves(*pid, name, *run))
            .map(|(pid, (name, _))| (pid, name.to_string()))
            .into_map();
        if names.is_empty() {
            return Err("it is not known which of the server's processes serve".to_string());
        }
        Ok(Self { names, is_far: false })
    }

    /// These processes as a probe saw them.
    pub(crate) fn elsewhere(self) -> Self {
        Self { is_far: true, ..self }
    }

    /// Why profiles of a kind do not cover all processes that served; `None` if they do.
    pub(crate) fn absent(
        &self,
        kind: ProfileKind,
        captured: &BTreeMap<ProfileKind, Captured>,
    ) -> Option<String> {
        let nobody = Captured::default();
        let own = captured.get(&kind).unwrap_or(&nobody);
        if self.is_far {
            let (asked, serving) = (own.pids.len() + own.unknown.len(), self.names.len());
            let why = format!("{asked} of the {serving} processes that serve were profiled");
            return (asked < serving).then_some(why);
        }
        let missing = self.missing(&own.pids);
        if missing.is_empty() {
            return None;
        }
        // Helpers without an endpoint next to workers that have one: all workers were profiled, one
        // by one.
        let is_beside = kind.is_of_cpu() && missing.len() == self.names.len();
        let of_cpu = captured.iter().filter(|(kind, _)| kind.is_of_cpu());
        let covered = of_cpu.flat_map(|(_, one)| one.pids.iter().copied()).collect();
        if is_beside && !own.pids.is_empty() && self.missing(&covered).is_empty() {
            return None;
        }
        let many = if missing.len() == 1 { ("process", "was") } else { ("processes", "were") };
        let named = missing.iter().take(NAMED_MAX);
        let mut named: Vec<_> = named.map(|pid| format!("{pid} ({})", self.names[pid])).collect();
        if missing.len() > NAMED_MAX {
            named.push(format!("{} more", missing.len() - NAMED_MAX));
        }
        let mut why =
            format!("{} {} also served and {} not profiled", many.0, named.join(", "), many.1);
        if let Some(source) = own.unknown.first() {
            why.push_str(&format!("; it is not known which process is behind {source}"));
        }
        Some(why)
    }

    fn missing(&self, covered: &BTreeSet<u32>) -> Vec<u32> {
        self.names.keys().copied().filter(|pid| !covered.contains(pid)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(pid: u32, name: &str, listeners: Option<u32>) -> ProcessFacts {
        ProcessFacts { pid, name: name.to_string(), listeners, ..ProcessFacts::default() }
    }

    fn server(processes: Vec<ProcessFacts>) -> ServerFacts {
        ServerFacts {
            pid: 1,
            found_by: "port".to_string(),
            command: String::new(),
            pids: processes.iter().map(|one| one.pid).collect(),
            processes,
            threads: 1,
            cpus_allowed: Vec::new(),
            pinned_threads: BTreeMap::new(),
            quotas: Vec::new(),
            open_files_limit: None,
            listeners: 1,
            container: None,
            network: None,
            passed_on_by: None,
            unreadable: Vec::new(),
        }
    }

    fn ran(pid: u32, run: f64) -> ThreadShare {
        ThreadShare { pid, tid: pid, name: "web".to_string(), run, ..ThreadShare::default() }
    }

    fn serving(processes: Vec<ProcessFacts>, threads: &[ThreadShare]) -> Serving {
        Serving::of(Some(&server(processes)), Some(threads)).unwrap()
    }

    /// Profiles of a kind and the processes in them.
    fn captured(kinds: &[(ProfileKind, &[u32])]) -> BTreeMap<ProfileKind, Captured> {
        let of = |pids: &[u32]| Captured { pids: pids.iter().copied().collect(), ..<_>::default() };
        kinds.iter().map(|(kind, pids)| (*kind, of(pids))).collect()
    }

    const BLOCK: ProfileKind = ProfileKind::Block;

    /// A master that serves nothing, two workers, and a third that came later.
    fn prefork() -> Serving {
        let processes = vec![
            process(1, "web", Some(0)),
            process(2, "web", Some(1)),
            process(3, "web", Some(1)),
            process(9, "logger", Some(0)),
        ];
        serving(processes, &[ran(1, 0.001), ran(2, 0.5), ran(3, 0.5), ran(4, 0.5), ran(9, 0.2)])
    }

    #[test]
    fn workers_serve_and_their_master_does_not() {
        assert_eq!(prefork().names.keys().copied().collect::<Vec<_>>(), [2, 3, 4]);
        // A worker without connections need not be profiled.
        let idle = vec![process(2, "web", Some(1)), process(3, "web", Some(1))];
        let idle = serving(idle, &[ran(2, 0.9), ran(3, 0.0001)]);
        assert_eq!(idle.absent(BLOCK, &captured(&[(BLOCK, &[2])])), None);
        // Where no listener is known, every process with CPU time serves.
        let unseen = vec![process(2, "a", None), process(3, "b", None)];
        assert_eq!(serving(unseen.clone(), &[ran(2, 0.5), ran(3, 0.1)]).names.len(), 2);
        assert_eq!(serving(unseen, &[ran(2, 0.5)]).names.len(), 1);
    }

    #[test]
    fn a_worker_that_was_not_profiled_is_named() {
        let prefork = prefork();
        let absent = |pids: &[u32]| prefork.absent(BLOCK, &captured(&[(BLOCK, pids)]));
        assert_eq!(absent(&[2, 3, 4]), None);
        let one = absent(&[2, 4, 9]).unwrap();
        assert_eq!(one, "process 3 (web) also served and was not profiled");
        assert!(absent(&[2]).unwrap().starts_with("processes 3 (web), 4 (web) also served"));
    }

    #[test]
    fn perf_adds_only_cpu_time_to_endpoints() {
        let prefork = prefork();
        let (cpu, perf) = (ProfileKind::Cpu, ProfileKind::Perf);
        let helpers = captured(&[(cpu, &[2, 3, 4]), (perf, &[9]), (BLOCK, &[2, 3, 4])]);
        for kind in [cpu, perf, BLOCK] {
            assert_eq!(prefork.absent(kind, &helpers), None, "{kind:?}");
        }
        // A function of the program has a part of its cost in the other kind.
        let split = captured(&[(cpu, &[2, 3]), (perf, &[4]), (BLOCK, &[2, 3])]);
        for kind in [cpu, perf, BLOCK] {
            assert!(prefork.absent(kind, &split).is_some(), "{kind:?}");
        }
    }

    #[test]
    fn what_is_not_known_is_not_all() {
        let unknown = Serving::of(None, None).unwrap_err();
        assert_eq!(unknown, "the server's processes are not known");
        let nobody = Serving::of(Some(&server(Vec::new())), None).unwrap_err();
        assert!(nobody.contains("which of"), "{nobody}");
        let mut named = captured(&[(BLOCK, &[])]);
        named.entry(BLOCK).or_default().unknown.insert("http://10.0.0.1:6060/".to_string());
        let why = prefork().absent(BLOCK, &named).unwrap();
        assert!(why.contains("which process is behind http://10.0.0.1:6060/"), "{why}");
        // On another host, as many endpoints as there are processes count as all of them.
        let far = Serving { is_far: true, ..prefork() };
        assert_eq!(
            far.absent(BLOCK, &named).unwrap(),
            "1 of the 3 processes that serve were profiled"
        );
        for port in 1..3 {
            let source = format!("http://10.0.0.1:{port}/");
            named.entry(BLOCK).or_default().unknown.insert(source);
        }
        assert_eq!(far.absent(BLOCK, &named), None);
    }
}
