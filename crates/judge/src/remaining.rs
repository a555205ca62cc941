//! Lists every wall that remains possible when something limits and no test names it, with the
//! command that tells them apart.
//!
//! In: a case whose tests are silent. Out: a verdict that names no wall but lists the candidates.
//! They have equal shares, because none of the readings prefers one of them.
//! Never: a guess among them.

use crate::case::{Case, percent};
use crate::next::{ramp_command, what_it_waits_in};
use crate::walls::{Family, Seen, refused_beside, takes_turns, unexplained_stalls};
use model::units::{show_count, show_ns};
use model::verdict::{Alternative, Named};
use model::wall::{Side, WallId};

/// Walls, one of which limits.
pub(crate) struct Remaining {
    /// What is known about it, in a sentence.
    pub(crate) name: String,
    /// The walls, all equally probable.
    pub(crate) walls: Vec<WallId>,
    /// The evidence, and the commands that tell them apart.
    pub(crate) seen: Seen,
}

impl Remaining {
    /// The walls as the verdict lists them.
    pub(crate) fn alternatives(&self) -> Vec<Alternative> {
        let share = 1.0 / self.walls.len().max(1) as f64;
        self.walls.iter().map(|wall| Alternative { wall: Named::Wall(*wall), share }).collect()
    }

    /// The side of all of them, if they share one.
    pub(crate) fn side(&self) -> Side {
        let first = self.walls.first().map_or(Side::Unknown, |wall| wall.side());
        if self.walls.iter().all(|wall| wall.side() == first) { first } else { Side::Unknown }
    }
}

/// A wall in few words, because it is one of several.
fn short(wall: WallId) -> &'static str {
    match wall {
        WallId::A1 => "a lock",
        WallId::A2 => "a pool",
        WallId::A3 => "another service",
        WallId::A4 => "a limiter",
        _ => wall.name(),
    }
}

/// "a lock (A1)" for each, with commas and "or".
fn list(walls: &[WallId]) -> String {
    let all: Vec<String> = walls.iter().map(|wall| format!("{} ({wall})", short(*wall))).collect();
    match all.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
        _ => all.concat(),
    }
}

/// Requests wait inside a server that is not busy, and its threads do not show what for.
pub(crate) fn inside(case: &Case<'_>, seen: Seen) -> Remaining {
    let downstreams = case.far().downstreams.as_ref();
    let calls: f64 = downstreams.into_iter().flatten().map(|one| one.connections).sum();
    let mut walls = vec![WallId::A2, WallId::A1, WallId::A4, WallId::A3];
    if calls > 0.0 {
        // It has a service to wait for.
        walls.rotate_right(1);
    }
    let seen = with_places(case, seen).next(what_it_waits_in(case));
    let mut seen = seen.next(
        "a pool, or the connections to another service, let more through when there are more of \
         them; a lock when less is done under it; a limiter with another key (address, header, \
         account)",
    );
    if downstreams.is_some() && calls == 0.0 {
        let what = "against A3: no connection of the server to another service was seen";
        seen.against.push(what.to_string());
    }
    let name = format!("requests wait at a server with slack: {}", list(&walls));
    Remaining { name, walls, seen }
}

/// The rate times the duration of a request at a level without waiting is how many requests the
/// server holds at once (Little): the places of the pool, if the wall is a pool.
fn with_places(case: &Case<'_>, seen: Seen) -> Seen {
    let Some((places, light)) = case.places() else { return seen };
    seen.with(
        Family::RampShape,
        "client",
        "ramp",
        &format!(
            "requests the server works on at once: {}/s x {} at {} in flight",
            show_count(case.point.rate),
            show_ns(light.service_ns.mean.unwrap_or(0) as f64),
            light.load_size()
        ),
        format!("{places:.1}"),
        "the places of the pool, if the wall is a pool",
    )
}

/// A process runs one thread at a time, and no thread is full. Nothing otherwise.
pub(crate) fn in_turns(case: &Case<'_>) -> Option<Remaining> {
    let (pid, run) = takes_turns(case)?;
    let seen = Seen::default().with(
        Family::ThreadStates,
        "server",
        ("schedstat", ["server_threads"]),
        &format!("threads of process {pid} together ran, none of them all the time"),
        percent(run),
        "one CPU's worth: they take turns",
    );
    let seen = crate::walls::with_unread(case, seen)
        .next(
            "start a second process of the server, or let its runtime run more threads at once \
             (GOMAXPROCS, schedulers), and repeat: with a lock inside the process only the second \
             process helps",
        )
        .next(what_it_waits_in(case));
    let walls = vec![WallId::A1, WallId::S2];
    let name = format!("its threads take turns on one CPU: {}", list(&walls));
    Some(Remaining { name, walls, seen })
}

/// The server is busy, and part of its work is to refuse requests. `busy` is the wall that its CPUs
/// show.
pub(crate) fn refusing(case: &Case<'_>, busy: WallId, mut seen: Seen) -> Option<Remaining> {
    let share = refused_beside(case)?;
    seen = seen.with(
        Family::HardCounter,
        "client",
        ("engine", ["status"]),
        "responses with status 4xx or 503",
        percent(share),
        "over 5 %: the server is busy with these too",
    );
    let walls = vec![WallId::A4, busy];
    let name = format!("the server is busy and refuses requests: {}", list(&walls));
    let seen = match case.ramp.is_empty() {
        true => {
            let next = "repeat with fewer requests in flight: if the rate of good responses \
                        stays, a limiter counts them; if it falls, the CPU limits";
            seen.next(next).next(ramp_command(case))
        }
        // The levels below did not tell.
        false => seen.next(
            "repeat with another key (address, header, account), which a limiter counts apart, or \
             with more CPU for the server: which of them raises the rate of good responses?",
        ),
    };
    Some(Remaining { name, walls, seen })
}

/// The server's CPUs are full, and something on its host waits for memory. The kernel reclaims
/// memory on the CPU time of the processes that need it, and no reading tells what is short.
pub(crate) fn short_of_memory(case: &Case<'_>, busy: WallId, seen: &Seen) -> Option<Remaining> {
    let stalled = unexplained_stalls(case)?;
    let seen = seen.clone().with(
        Family::ThreadStates,
        case.server_host_name(),
        ("/proc/pressure/memory", ["pressure"]),
        "time in which something waited for memory",
        percent(stalled),
        "over 5 %",
    );
    let walls = vec![WallId::A9, busy];
    let name = format!("its CPUs are full, and its host is short of memory: {}", list(&walls));
    let seen = seen.next("give the server's group more memory, and see whether the stalls end");
    Some(Remaining { name, walls, seen })
}

/// The server's CPUs are full, and most requests are known to wait for something else.
pub(crate) fn waiting_or_busy(
    case: &Case<'_>,
    (holder, held): (WallId, Seen),
    (busy, mut seen): (WallId, Seen),
) -> Remaining {
    seen.findings.extend(held.findings);
    let walls = vec![holder, busy];
    let name = format!("most requests wait, and its CPUs are full: {}", list(&walls));
    Remaining { name, walls, seen: seen.next(what_it_waits_in(case)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Fixture;
    use observe::DownstreamUse;

    #[test]
    fn what_remains_of_a_server_that_waits_is_listed_with_its_places() {
        let mut fixture = Fixture::good();
        let said = |fixture: &Fixture| {
            let mut light = Fixture::point(1, 250.0);
            light.service_ns.mean = Some(4_000_000);
            let ramp = [&light, &fixture.point];
            let case = Case { ramp: &ramp, ..fixture.case() };
            inside(&case, Seen::default())
        };
        let pool = said(&fixture);
        assert_eq!(pool.walls, [WallId::A2, WallId::A1, WallId::A4, WallId::A3]);
        assert_eq!((pool.side(), pool.alternatives()[3].share), (Side::Server, 0.25));
        assert_eq!(pool.seen.findings[0].evidence.value, "4.0", "1000/s of 4 ms each");
        assert!(pool.name.ends_with("another service (A3)"), "{}", pool.name);
        fixture.observed.downstreams = Some(Vec::new());
        assert!(said(&fixture).seen.against[0].contains("A3"));
        let to = "10.0.0.9:5432".to_string();
        let one = DownstreamUse { to, connections: 4.0, waiting: 1.0, heard_ms: None };
        fixture.observed.downstreams = Some(vec![one]);
        assert_eq!(said(&fixture).walls[0], WallId::A3, "the server calls another service");
    }

    #[test]
    fn a_ramp_that_did_not_tell_is_not_proposed_again() {
        let mut fixture = Fixture::good();
        fixture.refuse(0.8);
        let ramps = |case: &Case<'_>| {
            let left = refusing(case, WallId::S1, Seen::default()).expect("it refuses");
            left.seen.next.iter().any(|step| step.text().contains("ceiling ramp"))
        };
        assert!(ramps(&fixture.case()));
        let ramp = [&fixture.point];
        assert!(!ramps(&Case { ramp: &ramp, ..fixture.case() }));
    }

    #[test]
    fn threads_that_take_turns_are_a_lock_or_one_scheduler() {
        let mut fixture = Fixture::good();
        fixture.server_threads(&[(7, 0.4), (7, 0.35), (7, 0.24)]);
        let found = in_turns(&fixture.case()).unwrap();
        assert_eq!(found.walls, [WallId::A1, WallId::S2]);
        fixture.server_threads(&[(7, 0.4), (7, 0.35)]);
        assert!(in_turns(&fixture.case()).is_none());
    }
}
