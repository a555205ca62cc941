//! How many machines a rate needs: the result of `ceiling size`, with its arithmetic.

use serde::{Deserialize, Serialize};

/// A figure with its 95 % interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// Best value.
    pub value: f64,
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end of the interval.
    pub high: f64,
}

/// The question.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Wish {
    /// Requests per second, over all machines.
    pub rate: f64,
    /// CPUs of one client machine.
    pub client_cpus: u32,
    /// Speed of its link in each direction, bits per second; absent when it is not known.
    pub link_bits_per_s: Option<f64>,
    /// Share of a machine that is planned for, so that the generator is not the wall.
    pub headroom: f64,
}

/// One line of the arithmetic.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    /// What is computed.
    pub what: String,
    /// The figures it is computed from, and the result.
    pub arithmetic: String,
}

/// A whole number of machines with the ends of its interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machines {
    /// For the measured cost.
    pub value: u64,
    /// For the lower end of its interval.
    pub low: u64,
    /// For the upper end: the number to plan with.
    pub high: u64,
}

/// Least traffic of one request, as frames on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Traffic {
    /// Bytes towards the server, framing included.
    pub request_bytes: f64,
    /// Bytes from the server, framing included.
    pub answer_bytes: f64,
    /// Packets towards the server.
    pub request_packets: f64,
    /// Packets from the server.
    pub answer_packets: f64,
}

/// An agent of a fleet, as it describes itself.
#[derive(Debug, Clone, PartialEq)]
pub struct Agent {
    /// Its name.
    pub name: String,
    /// CPUs that it may use.
    pub cpus: u32,
    /// Speed of its link, bits per second; absent when it is not known.
    pub link_bits_per_s: Option<f64>,
    /// Requests per second that it can send to the fastest possible server, or may send; absent
    /// when it is not known.
    pub rate_max: Option<f64>,
}

/// What the connected agents of a fleet can do for the wish.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FleetFit {
    /// Their names.
    pub agents: Vec<String>,
    /// Requests per second of all of them, each used up to the headroom of the wish.
    pub rate: Estimate,
    /// Missing client machines of the kind in the wish, for the upper end of the cost.
    pub missing: u64,
}

/// The result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Sizing {
    /// The question.
    pub wish: Wish,
    /// Index of the point in the record whose cost was taken.
    pub point: usize,
    /// CPU time of the generator per request, microseconds.
    pub client_us_per_request: Estimate,
    /// CPU time of the server per request, microseconds; absent when it was not observed.
    pub server_us_per_request: Option<Estimate>,
    /// Each request on the wire.
    pub traffic: Traffic,
    /// CPUs that all clients together use.
    pub client_cpus: Estimate,
    /// Client machines for their CPUs.
    pub machines_for_cpus: Machines,
    /// Client machines for their links; absent when the speed is not known.
    pub machines_for_link: Option<Machines>,
    /// Client machines: the larger of the two.
    pub machines: Machines,
    /// What a fleet can do of it; absent when none was named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fleet: Option<FleetFit>,
    /// CPUs that the server would use; absent when it was not observed.
    pub server_cpus: Option<Estimate>,
    /// Rate at which the CPUs of the server of the run are full; absent when it was not observed.
    pub server_full_at: Option<Estimate>,
    /// The arithmetic, line by line.
    pub steps: Vec<Step>,
    /// Notes for the reader, one sentence each.
    pub cautions: Vec<String>,
}
