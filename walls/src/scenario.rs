//! What a scenario is: how it is built, and its wall. The scenarios of the lab and of two machines.

use crate::dice::Dice;
use crate::proof::Proof;
use crate::setup::Setup;
use model::tail::TailCause;
use model::wall::WallId;

mod accept_burst;
mod backlog_drops;
mod burst_credit;
mod capped_keep_alive;
mod client_files;
mod client_link;
mod client_packets;
mod client_ports;
mod client_receive_cpu;
mod cpu_mask;
mod delayed_ack;
mod downstream_pool;
mod downstream_quota;
mod generator_loop;
mod generator_neighbour;
mod generator_quota;
pub mod interrupts;
mod late_generator;
mod limiter_delay;
mod limiter_reject;
mod little_load;
mod lock;
mod lock_class;
mod one_thread;
mod packet_loss;
mod packet_rate;
mod parent_quota;
mod pauses;
mod pool;
mod quota;
mod quota_and_link;
mod quota_with_noise;
mod receive_cpu;
mod round_trip;
mod send_buffer;
mod server_cpus;
mod server_files;
mod server_link;
mod server_neighbour;
mod skewed_listeners;
mod sleeping_server;
mod slow_acceptor;
mod spin_lock;
mod storage;
mod syn_queue;
mod time_wait_cap;
mod tracking_table;

/// Every scenario of the lab, in the order of the table.
pub const LAB: &[&Scenario] = &[
    &little_load::SCENARIO,
    &sleeping_server::SCENARIO,
    &round_trip::SCENARIO,
    &time_wait_cap::SCENARIO,
    &generator_quota::SCENARIO,
    &generator_neighbour::SCENARIO,
    &generator_loop::SCENARIO,
    &late_generator::SCENARIO,
    &client_link::SCENARIO,
    &client_packets::SCENARIO,
    &client_receive_cpu::SCENARIO,
    &client_ports::SCENARIO,
    &client_files::SCENARIO,
    &burst_credit::SCENARIO,
    &limiter_reject::SCENARIO,
    &packet_rate::SCENARIO,
    &packet_loss::SCENARIO,
    &slow_acceptor::SCENARIO,
    &accept_burst::SCENARIO,
    &syn_queue::SCENARIO,
    &tracking_table::SCENARIO,
    &server_files::SCENARIO,
    &backlog_drops::SCENARIO,
    &receive_cpu::SCENARIO,
    &server_link::SCENARIO,
    &send_buffer::SCENARIO,
    &skewed_listeners::SCENARIO,
    &server_cpus::SCENARIO,
    &one_thread::SCENARIO,
    &quota::SCENARIO,
    &parent_quota::SCENARIO,
    &quota_with_noise::SCENARIO,
    &cpu_mask::SCENARIO,
    &server_neighbour::SCENARIO,
    &spin_lock::SCENARIO,
    &lock::SCENARIO,
    &lock_class::SCENARIO,
    &pool::SCENARIO,
    &downstream_quota::SCENARIO,
    &downstream_pool::SCENARIO,
    &limiter_delay::SCENARIO,
    &storage::SCENARIO,
    &pauses::SCENARIO,
    &delayed_ack::SCENARIO,
    &capped_keep_alive::SCENARIO,
    &quota_and_link::SCENARIO,
];

/// The scenarios for two machines, in the order of the table: those of the lab whose limits can be
/// set on the server's machine alone.
pub const MACHINES: &[&Scenario] = &[
    &little_load::SCENARIO,
    &sleeping_server::SCENARIO,
    &round_trip::SCENARIO,
    &packet_loss::SCENARIO,
    &slow_acceptor::SCENARIO,
    &tracking_table::SCENARIO,
    &receive_cpu::SCENARIO,
    &interrupts::SCENARIO,
    &server_link::SCENARIO,
    &server_cpus::SCENARIO,
    &one_thread::SCENARIO,
    &quota::SCENARIO,
    &parent_quota::SCENARIO,
    &cpu_mask::SCENARIO,
    &server_neighbour::SCENARIO,
    &lock::SCENARIO,
    &pool::SCENARIO,
];

/// A way to build a run whose wall is known.
#[derive(Debug)]
pub struct Scenario {
    /// Stable name, for `--only`.
    pub name: &'static str,
    /// The accepted verdicts.
    pub truth: Truth,
    /// How the wall is built, in a sentence.
    pub construction: &'static str,
    /// What misleads a naive rule.
    pub trap: &'static str,
    /// How the label is proven.
    pub proof: Proof,
    /// The run of a draw. The limit that makes the wall is multiplied by the factor, so that more
    /// is better; 1 is the kept run.
    pub set_up: fn(&mut Dice, f64) -> Setup,
}

/// The accepted verdicts.
#[derive(Debug, Clone, Copy)]
pub enum Truth {
    /// One of these walls; the first is the cause.
    Wall(&'static [WallId]),
    /// No wall was reached.
    NoWall,
    /// Both of these.
    Both(WallId, WallId),
    /// Not a wall: why the slowest requests are slow. The first of these is the cause, the others
    /// may be named beside it; none where no cause may be named.
    Tail(&'static [TailCause]),
}

impl Truth {
    /// The truth as written in tables.
    pub fn word(&self) -> String {
        let ids: Vec<_> = self.walls().iter().map(WallId::to_string).collect();
        match self {
            Self::Wall(_) => ids.join("/"),
            Self::NoWall => "none".to_owned(),
            Self::Both(..) => ids.join("+"),
            Self::Tail(causes) => causes.first().map_or("none", |cause| cause.key()).to_owned(),
        }
    }

    /// The walls in it.
    pub fn walls(&self) -> Vec<WallId> {
        match self {
            Self::Wall(walls) => walls.to_vec(),
            Self::NoWall => vec![WallId::M2, WallId::C3, WallId::N1],
            Self::Both(one, other) => vec![*one, *other],
            Self::Tail(_) => Vec::new(),
        }
    }
}
