//! The scenarios: what each is made of, what its wall is, and the one list of them.

use crate::dice::Dice;
use crate::proof::Proof;
use crate::setup::Setup;
use model::wall::WallId;

macro_rules! registry {
    ($($module:ident),* $(,)?) => {
        $(mod $module;)*
        /// Every scenario, in the order of the table.
        pub const ALL: &[&Scenario] = &[$(&$module::SCENARIO),*];
    };
}

registry! {
    little_load, sleeping_server, round_trip, generator_quota, generator_neighbour, generator_loop,
    late_generator, client_link, client_ports, client_files, burst_credit, limiter_reject,
    packet_rate, slow_acceptor, accept_burst, syn_queue, server_files, backlog_drops, server_link,
    send_buffer, skewed_listeners, server_cpus, one_thread, quota, parent_quota, quota_with_noise,
    cpu_mask, server_neighbour, lock, lock_class, pool, downstream_quota, downstream_pool,
    limiter_delay, pauses, delayed_ack, capped_keep_alive, quota_and_link,
}

/// A way to build a run whose wall is known.
#[derive(Debug)]
pub struct Scenario {
    /// Stable name, for `--only`.
    pub name: &'static str,
    /// What the verdict has to be.
    pub truth: Truth,
    /// How the wall is made, in a sentence.
    pub construction: &'static str,
    /// What a naive rule says.
    pub trap: &'static str,
    /// What shows that the wall is where it was built.
    pub proof: Proof,
    /// The run of a draw. The limit that makes the wall is multiplied by the factor, so that more
    /// is better; 1 is the kept run.
    pub set_up: fn(&mut Dice, f64) -> Setup,
}

/// What the verdict has to be.
#[derive(Debug, Clone, Copy)]
pub enum Truth {
    /// One of these walls; the first is the cause.
    Wall(&'static [WallId]),
    /// No wall was reached.
    NoWall,
    /// Both of these.
    Both(WallId, WallId),
}

impl Truth {
    /// The truth as written in tables.
    pub fn word(&self) -> String {
        let ids: Vec<_> = self.walls().iter().map(WallId::to_string).collect();
        match self {
            Self::Wall(_) => ids.join("/"),
            Self::NoWall => "none".to_owned(),
            Self::Both(..) => ids.join("+"),
        }
    }

    /// The walls in it.
    pub fn walls(&self) -> Vec<WallId> {
        match self {
            Self::Wall(walls) => walls.to_vec(),
            Self::NoWall => vec![WallId::M2, WallId::C3, WallId::N1],
            Self::Both(one, other) => vec![*one, *other],
        }
    }
}

/// The scenario of a name.
pub fn find(name: &str) -> Option<&'static Scenario> {
    ALL.iter().copied().find(|scenario| scenario.name == name)
}

/// Prints them.
pub fn print_list() {
    for scenario in ALL {
        println!("{:<22} {:<8} {}", scenario.name, scenario.truth.word(), scenario.construction);
        println!("{:31} trap: {}", "", scenario.trap);
    }
}
