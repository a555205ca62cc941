//! The messages between a controller and an agent.

use engine::job::{Order, Pace};
use model::curve::Curve;
use model::facts::ClockOffset;
use model::fleet::Shares;
use model::load::{Life, Spacing, Trial};
use model::maps::IntoMap;
use model::tick::ThreadKind;
use remote::printable;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::net::SocketAddr;
use std::str::FromStr;
use std::sync::Arc;

/// A random number that identifies one start of a process, or a job; 128 bits, as hexadecimal text.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(try_from = "String", into = "String")]
pub struct Id(pub [u8; 16]);

impl Id {
    /// The id of nothing: orders outside any job carry it.
    pub const NONE: Self = Self([0; 16]);

    /// A new random id.
    pub fn random() -> Self {
        let mut bytes = [0; 16];
        aws_lc_rs::rand::fill(&mut bytes).expect("the system gives random bytes");
        Self(bytes)
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl From<Id> for String {
    fn from(id: Id) -> Self {
        id.to_string()
    }
}

impl FromStr for Id {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = "an id has 32 hexadecimal digits";
        if text.len() != 32 || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(wrong);
        }
        u128::from_str_radix(text, 16).map(|value| Self(value.to_be_bytes())).map_err(|_| wrong)
    }
}

impl TryFrom<String> for Id {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

/// Facts about an agent and its host.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Facts {
    /// Version of its program.
    pub version: String,
    /// Name of its host.
    pub hostname: String,
    /// Release of its kernel.
    pub kernel: String,
    /// CPUs it may use.
    pub cpus: u32,
    /// Memory, bytes; absent if not known.
    pub memory_bytes: Option<u64>,
    /// Local addresses.
    pub addresses: Vec<String>,
    /// Local ports for connections to one address; absent if not known.
    pub ports: Option<u32>,
    /// Speed of its link, megabits per second; absent if not known.
    pub link_mbps: Option<u32>,
    /// Labels, for example `zone=a`.
    pub labels: BTreeMap<String, String>,
    /// The rate that it can send, measured or given by its user, requests per second; absent if not
    /// known.
    pub capacity: Option<f64>,
    /// The highest rate that it may send, requests per second; absent if there is no limit.
    pub rate_max: Option<f64>,
    /// Where it may send load.
    pub allow: Vec<String>,
    /// Id of this start of its kernel, which agents on one host share; empty if not known.
    pub boot: String,
}

impl Facts {
    /// With texts that are safe for a terminal, because an agent may be hostile.
    pub fn printable(self) -> Self {
        let safe = |text: String| printable(&text);
        let all = |texts: Vec<String>| texts.into_iter().map(safe).collect();
        let labels = self.labels.into_iter().map(|(label, value)| (safe(label), safe(value)));
        Self {
            version: safe(self.version),
            hostname: safe(self.hostname),
            kernel: safe(self.kernel),
            addresses: all(self.addresses),
            labels: labels.into_map(),
            allow: all(self.allow),
            boot: safe(self.boot),
            ..self
        }
    }
}

/// An agent announces itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Hello {
    /// [`PROTOCOL`](crate::PROTOCOL) of the agent.
    pub protocol: u32,
    /// Its name.
    pub agent: String,
    /// Identifies this start of its process: orders for another one are refused.
    pub challenge: Id,
    /// Its monotonic clock, nanoseconds.
    pub now_ns: u64,
    /// The job that it is carrying out.
    pub job: Option<Id>,
    /// Facts about the agent and its host.
    pub facts: Facts,
}

/// An offered job: the whole trial, and the agent's part in it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Offer {
    /// The trial of the whole fleet. Settings of one host are left out: threads, CPUs, driver,
    /// sources, files.
    pub trial: Trial,
    /// This agent's part, for each kind of worker.
    pub shares: Shares,
}

/// An order to the crew of an agent, for the whole fleet: each agent takes its share. Instants are
/// those of the agent's clock.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "order", rename_all = "snake_case")]
pub enum CrewOrder {
    /// [`Order::Connect`].
    Connect {
        /// Number of the level's visit.
        load: u32,
        /// Connections of the whole fleet.
        connections: u32,
        /// Connections that may be open in the whole fleet.
        connections_max: u32,
        /// Requests in flight per connection.
        depth: u32,
        /// How requests become due; absent in closed loop.
        open: Option<OpenPace>,
        /// How long connections live.
        life: Life,
    },
    /// [`Order::Warm`].
    Warm,
    /// [`Order::Measure`].
    Measure {
        /// Start of the window, agent's clock.
        begin_ns: u64,
        /// End of the window, agent's clock; absent if the budget decides.
        end_ns: Option<u64>,
        /// Requests of the whole fleet.
        budget: Option<u64>,
        /// How long to wait for responses.
        drain_ns: u64,
    },
    /// [`Order::Stop`].
    Stop,
    /// [`Order::Quit`].
    Quit,
}

/// [`Pace::Open`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OpenPace {
    /// Rate of the whole fleet over time.
    pub curve: Curve,
    /// How planned instants are spaced.
    pub arrivals: Spacing,
    /// Seed of the spacing.
    pub seed: u64,
}

/// Converts an instant from one clock to another; the far future stays the same.
pub fn carried(ns: u64, offset_ns: i64) -> u64 {
    if ns == u64::MAX { ns } else { ns.saturating_add_signed(offset_ns) }
}

impl CrewOrder {
    /// An order of the lab, with instants of the controller's clock, for an agent whose clock is
    /// ahead by `offset_ns`.
    pub fn of(order: &Order, offset_ns: i64) -> Self {
        match order {
            Order::Connect { load, connections, connections_max, depth, pace, life } => {
                let open = match pace {
                    Pace::Closed => None,
                    Pace::Open { curve, arrivals, seed } => {
                        let curve = Curve::clone(curve);
                        Some(OpenPace { curve, arrivals: *arrivals, seed: *seed })
                    }
                };
                Self::Connect {
                    load: *load,
                    connections: *connections,
                    connections_max: *connections_max,
                    depth: *depth,
                    open,
                    life: *life,
                }
            }
            Order::Warm => Self::Warm,
            Order::Measure { begin_ns, end_ns, budget, drain_ns, .. } => Self::Measure {
                begin_ns: carried(*begin_ns, offset_ns),
                end_ns: (*end_ns != u64::MAX).then(|| carried(*end_ns, offset_ns)),
                budget: *budget,
                drain_ns: *drain_ns,
            },
            Order::Stop => Self::Stop,
            Order::Quit => Self::Quit,
        }
    }

    /// As an order of the engine, still for the whole fleet.
    pub fn into_order(self) -> Order {
        match self {
            Self::Connect { load, connections, connections_max, depth, open, life } => {
                let pace = open.map_or(Pace::Closed, |open| Pace::Open {
                    curve: Arc::new(open.curve),
                    arrivals: open.arrivals,
                    seed: open.seed,
                });
                Order::Connect { load, connections, connections_max, depth, pace, life }
            }
            Self::Warm => Order::Warm,
            Self::Measure { begin_ns, end_ns, budget, drain_ns } => Order::Measure {
                begin_ns,
                end_ns: end_ns.unwrap_or(u64::MAX),
                budget,
                drain_ns,
                skip_until_ns: 0,
            },
            Self::Stop => Order::Stop,
            Self::Quit => Order::Quit,
        }
    }
}

/// A numbered item from the controller.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "command", rename_all = "snake_case")]
pub enum Command {
    /// A job follows, in pieces.
    Offer {
        /// The length of the data in the pieces.
        blob: BlobHead,
    },
    /// The fleet is complete: the job starts.
    Begin {
        /// How far the agent's clock is ahead of the controller's.
        clock: ClockOffset,
    },
    /// An order for one of the agent's crews.
    Crew {
        /// The crew: for requests, or for subscribers.
        crew: ThreadKind,
        /// The order.
        order: CrewOrder,
    },
    /// No more orders come: report what was measured.
    Finish,
    /// End the current load, whichever controller started it.
    Stop {
        /// Why, for people.
        why: String,
    },
}

/// Length of data that is sent in pieces.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlobHead {
    /// Compressed bytes, as sent.
    pub packed_bytes: u64,
    /// Uncompressed bytes.
    pub bytes: u64,
}

/// A numbered item from an agent, except ticks and pieces.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "report", rename_all = "snake_case")]
pub enum Report {
    /// It accepts the job.
    Accepted {
        /// Where its connections go.
        addresses: Vec<SocketAddr>,
    },
    /// It refuses the job.
    Refused(Refusal),
    /// It ended its load without an order.
    Halted {
        /// Why.
        why: Halt,
        /// When, agent's clock.
        at_ns: u64,
    },
    /// Its part is over; no tick follows.
    Ended {
        /// How.
        ended: Ended,
        /// Its record follows in pieces; absent if there is none.
        record: Option<BlobHead>,
    },
}

impl Report {
    /// With texts that are safe for a terminal, because an agent may be hostile.
    pub fn printable(self) -> Self {
        match self {
            Self::Refused(refusal) => {
                Self::Refused(Refusal { why: printable(&refusal.why), ..refusal })
            }
            Self::Halted { why, at_ns } => Self::Halted { why: why.printable(), at_ns },
            Self::Ended { ended: Ended::Failed(why), record } => {
                Self::Ended { ended: Ended::Failed(printable(&why)), record }
            }
            Self::Accepted { .. } | Self::Ended { .. } => self,
        }
    }
}

/// Why an agent refuses a job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    /// The reason, for people.
    pub why: String,
    /// Whether the server does not respond to the agent; otherwise the job is not allowed or not
    /// possible.
    #[serde(default)]
    pub is_unreachable: bool,
}

impl From<String> for Refusal {
    fn from(why: String) -> Self {
        Self { why, is_unreachable: false }
    }
}

/// Why an agent ended its load by itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", content = "why", rename_all = "snake_case")]
pub enum Halt {
    /// Its lease was not renewed.
    Lease,
    /// Its clock went back.
    Clock,
    /// `ceiling fleet stop`, or the user of the agent.
    Stopped(String),
    /// It refused an order.
    Refused(String),
    /// The controller does not accept its measurements.
    Full,
}

impl Halt {
    /// With texts that are safe for a terminal.
    pub(crate) fn printable(self) -> Self {
        match self {
            Self::Stopped(why) => Self::Stopped(printable(&why)),
            Self::Refused(why) => Self::Refused(printable(&why)),
            Self::Lease | Self::Clock | Self::Full => self,
        }
    }

    /// The reason, for people.
    pub fn text(&self) -> String {
        match self {
            Self::Lease => "its lease was not renewed".to_string(),
            Self::Clock => "its clock went back".to_string(),
            Self::Stopped(why) => format!("it was stopped: {why}"),
            Self::Refused(why) => format!("it refused an order: {why}"),
            Self::Full => "the controller did not accept its measurements".to_string(),
        }
    }
}

/// How an agent's part ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", content = "why", rename_all = "snake_case")]
pub enum Ended {
    /// As ordered.
    Complete,
    /// Early; the reason was reported.
    Halted,
    /// It could not go on.
    Failed(String),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_text_in_messages() {
        let id = Id([0xa5; 16]);
        assert_eq!(id.to_string().parse::<Id>(), Ok(id));
        assert_eq!(serde_json::to_string(&id).unwrap(), format!("\"{id}\""));
        for wrong in ["", "a5", &"g".repeat(32), &"+".repeat(32), &"a".repeat(33)] {
            assert!(wrong.parse::<Id>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn orders_keep_their_meaning_on_the_way() {
        let orders = [
            Order::Connect {
                load: 3,
                connections: 7,
                connections_max: 9,
                depth: 2,
                pace: Pace::Open {
                    curve: Arc::new(Curve::constant(1_000.5)),
                    arrivals: Spacing::Poisson,
                    seed: u64::MAX,
                },
                life: Life::default(),
            },
            Order::Warm,
            Order::Measure {
                begin_ns: 5_000,
                end_ns: 9_000,
                budget: None,
                drain_ns: 1,
                skip_until_ns: 0,
            },
            Order::Measure {
                begin_ns: 5_000,
                end_ns: u64::MAX,
                budget: Some(4),
                drain_ns: 1,
                skip_until_ns: 0,
            },
            Order::Stop,
            Order::Quit,
        ];
        for order in orders {
            let sent = CrewOrder::of(&order, 1_000);
            let json = serde_json::to_vec(&Command::Crew {
                crew: ThreadKind::Requesting,
                order: sent.clone(),
            })
            .unwrap();
            let Command::Crew { order: came, .. } = serde_json::from_slice(&json).unwrap() else {
                panic!("another command arrived");
            };
            assert_eq!(came, sent);
            let back = CrewOrder::of(&came.into_order(), -1_000).into_order();
            assert_eq!(back, order, "there and back between two clocks");
        }
    }
}
