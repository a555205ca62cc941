//! Third-party servers from package registries, configured as their users do.
//!
//! The wall of each is a limit of its configuration or of the place where it runs. Their start
//! scripts are in `walls/ordinary`, a folder for each.

use crate::dice::Dice;
use crate::options::Watch;
use crate::scenario::Scenario;
use crate::setup::{Program, Setup};

mod begin;

mod apache_event;
mod apache_prefork;
mod caddy_upstream;
mod fpm_children;
mod go_mutex;
mod go_semaphore;
mod go_streams;
mod go_streams_light;
mod gunicorn_sync;
mod haproxy_deny;
mod haproxy_maxconn;
mod haproxy_server_maxconn;
mod java_heap;
mod java_nagle;
mod java_pool;
mod nginx_files;
mod nginx_limit_delay;
mod nginx_limit_reject;
mod nginx_log;
mod nginx_quota;
mod nginx_renewed;
mod nginx_streams;
mod node_agent;
mod node_cpu;
mod node_streams;
mod node_streams_light;
mod node_wait;
mod node_window;
mod pgbouncer_pool;
mod postgres_commit;
mod postgres_pool;
mod postgres_row;
mod puma_threads;
mod python_gil;
mod python_memory;
mod redis_slow;
mod sqlite_commit;
mod tomcat_accept;
mod tomcat_threads;
mod uvicorn_blocked;
mod uvicorn_threads;

pub use begin::begin;

/// Every scenario of the family, in the order of the table.
pub const ALL: &[&Scenario] = &[
    &apache_event::SCENARIO,
    &apache_prefork::SCENARIO,
    &fpm_children::SCENARIO,
    &nginx_limit_delay::SCENARIO,
    &nginx_limit_reject::SCENARIO,
    &nginx_files::SCENARIO,
    &nginx_log::SCENARIO,
    &nginx_quota::SCENARIO,
    &nginx_renewed::SCENARIO,
    &nginx_streams::SCENARIO,
    &haproxy_server_maxconn::SCENARIO,
    &haproxy_maxconn::SCENARIO,
    &haproxy_deny::SCENARIO,
    &caddy_upstream::SCENARIO,
    &node_agent::SCENARIO,
    &node_cpu::SCENARIO,
    &node_streams::SCENARIO,
    &node_streams_light::SCENARIO,
    &node_wait::SCENARIO,
    &node_window::SCENARIO,
    &uvicorn_threads::SCENARIO,
    &uvicorn_blocked::SCENARIO,
    &gunicorn_sync::SCENARIO,
    &python_gil::SCENARIO,
    &puma_threads::SCENARIO,
    &redis_slow::SCENARIO,
    &postgres_row::SCENARIO,
    &postgres_pool::SCENARIO,
    &pgbouncer_pool::SCENARIO,
    &go_semaphore::SCENARIO,
    &go_streams::SCENARIO,
    &go_streams_light::SCENARIO,
    &go_mutex::SCENARIO,
    &java_pool::SCENARIO,
    &java_nagle::SCENARIO,
    &java_heap::SCENARIO,
    &tomcat_threads::SCENARIO,
    &tomcat_accept::SCENARIO,
    &postgres_commit::SCENARIO,
    &sqlite_commit::SCENARIO,
    &python_memory::SCENARIO,
];

/// The usual load: closed loop, a growing number of connections.
pub const RAMP: &str = "ramp {url} -c 2..32*2 -d 1.5s --warmup 300ms";

/// The load that proves their labels.
pub const PROOF: &str = "load {url} -c 32 -d 2s";

/// Names of the placements, by their number.
pub const PLACES: [&str; 3] = ["pinned", "seen from outside", "shared CPUs"];

/// The placement in which server and generator share their CPUs.
const SHARED: u32 = 2;

/// A run of a server in a place that the dice choose: 0, pinned to its CPU; 1, the same in a
/// container that is watched from outside; 2, on CPUs shared with the generator.
pub fn placed(dice: &mut Dice, mut server: Program, client: &str) -> Setup {
    let place = dice.whole("placement", 0, SHARED);
    if place == SHARED {
        server.cpus = "0-1";
    }
    let mut setup = at(place, server, client);
    if place == SHARED {
        setup.client.cpus = "0-1";
    }
    setup
}

/// A run of a server that takes so much CPU time that a generator on the same CPUs would be late:
/// pinned to its CPU, or in a container that is watched from outside.
pub fn apart(dice: &mut Dice, server: Program, client: &str) -> Setup {
    at(dice.whole("placement", 0, SHARED - 1), server, client)
}

fn at(place: u32, server: Program, client: &str) -> Setup {
    let mut setup = Setup::new("", client);
    setup.server = server;
    setup.watch = if place == 1 { Watch::Outside } else { Watch::Probe };
    setup
}

/// A low rate over HTTP/2 in open loop, which does not reach the limit of streams of the server
/// with these settings; that limit is below what the load may have in flight.
fn light_streams(dice: &mut Dice, factor: f64, name: &'static str, settings: &str) -> Setup {
    let rate = f64::from(dice.whole("rate", 20, 60) * 10) * factor;
    let streams = dice.whole("streams", 8, 20);
    let load = format!("load {{url}} --http2-prior-knowledge -c 4 -p 32 -R {rate:.0} -d 5s");
    placed(dice, Program::ordinary(name, &format!("{settings} STREAMS={streams}")), &load)
}

/// The setup with a service that the server calls.
pub fn asking(service: Program, mut setup: Setup) -> Setup {
    setup.downstream = Some(service);
    setup
}

/// A count of the configuration, multiplied; at least one.
pub fn scaled(count: u32, factor: f64) -> u32 {
    ((f64::from(count) * factor).round() as u32).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{catalogue, held_out};
    use std::collections::BTreeSet;
    use std::path::Path;

    #[test]
    fn every_program_of_every_scenario_can_be_begun() {
        let walls = Path::new(env!("CARGO_MANIFEST_DIR"));
        for scenario in ALL.iter().chain(held_out::ALL) {
            let mut dice = Dice::new(1, scenario.name, 0);
            let setup = (scenario.set_up)(&mut dice, 1.0);
            let place = dice.drawn().get("placement").copied();
            assert!(place.is_some_and(|place| (place as usize) < PLACES.len()));
            for program in [Some(setup.server), setup.downstream].into_iter().flatten() {
                let family = program.origin.scripts().expect(scenario.name);
                let script = walls.join(family).join(program.name).join("start");
                assert!(script.exists(), "{}", script.display());
                // The settings are environment variables.
                assert!(program.words.iter().all(|word| word.contains('=')), "{}", scenario.name);
            }
        }
    }

    #[test]
    fn a_name_is_one_scenario_of_all_families() {
        let names: Vec<_> = catalogue::all().map(|scenario| scenario.name).collect();
        assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len());
    }
}
