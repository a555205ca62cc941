//! The messages between client and probe.

use model::facts::{HostFacts, Privilege, ServerFacts};
use model::reading::Reading;
use model::starting::{StartOrder, TargetExit};
use model::tuning::{TuneOrder, TuneOutcome};
use probe::{monotonic_ns, wall_ns};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::net::IpAddr;

/// Version of everything in this file and of the readings.
pub const VERSION: u32 = 5;

/// From the client.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum ToProbe {
    /// The client, and the server that it asks about.
    Hello(Hello),
    /// Asks for the time on the probe's host.
    Ping {
        /// Monotonic time of the client, nanoseconds.
        sent_ns: u64,
    },
    /// Asks for one last round of everything; in a session for a server, to end that server.
    Stop,
    /// Asks to plan, change or restore knobs of the host; only in a session for that.
    Tune(Box<TuneOrder>),
    /// Asks to start a server of the probe's list; only in a session for that, and once.
    Start(Box<StartOrder>),
}

/// What a session is for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Purpose {
    /// To observe the host and the server: the probe sends readings.
    #[default]
    Watch,
    /// To change the host: the probe responds to orders and sends no readings.
    Tune,
    /// To have a server started, which ends with the session; the probe sends no readings.
    Start,
}

/// The first message.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// [`VERSION`] of the client.
    pub version: u32,
    /// The secret that both ends have.
    pub token: String,
    /// The address that the client connects to, in case several servers listen on the port; the
    /// probe's host may not have it.
    pub ip: Option<IpAddr>,
    /// Port under test: the server is the process that listens there.
    pub port: Option<u16>,
    /// Time between rounds of reading, nanoseconds.
    pub period_ns: u64,
    /// When the probe ends by itself, nanoseconds after the welcome.
    pub ends_after_ns: Option<u64>,
    /// What the session is for.
    pub purpose: Purpose,
}

impl fmt::Debug for Hello {
    /// Without the secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Hello {{ version: {}, port: {:?} }}", self.version, self.port)
    }
}

/// From the probe.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum FromProbe {
    /// The response to a hello.
    Welcome(Box<Welcome>),
    /// The other response to a hello.
    Refused {
        /// Why.
        why: Refusal,
    },
    /// The response to a ping.
    Pong(Pong),
    /// One reading, with the probe's own times.
    Reading(Reading),
    /// The response to an order.
    Tuned(Box<TuneOutcome>),
    /// The server that was ordered listens.
    Started(Box<Started>),
    /// The server that was ordered does not run.
    NotStarted {
        /// What was asked and what the list allows, or why it could not be started.
        why: String,
    },
    /// A line that the server wrote on standard error.
    Line {
        /// Without the end of the line.
        text: String,
    },
    /// The server has ended, as asked or by itself.
    Ended(Box<TargetExit>),
    /// The end.
    Bye {
        /// Why there is no more.
        why: Farewell,
    },
}

/// A server that a probe has started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Started {
    /// Its name in the list.
    pub name: String,
    /// Words it was started with; secrets are masked.
    pub words: Vec<String>,
    /// HOST:PORT as the server reports it; the host may stand for all its addresses.
    pub addr: String,
    /// Its process on the probe's host.
    pub pid: u32,
}

/// What the probe is and sees.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Welcome {
    /// Version of the program.
    pub program: String,
    /// The host.
    pub host: HostFacts,
    /// The server's process tree, when it was found.
    pub server: Option<ServerFacts>,
    /// Why it was not.
    pub unseen: Option<String>,
    /// What the probe may see.
    pub privilege: Privilege,
}

/// Times of one response, nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pong {
    /// As it came with the ping, on the client's clock.
    pub sent_ns: u64,
    /// When the probe read the ping, on its clock.
    pub received_ns: u64,
    /// Unix time of the probe's host between its two other times.
    pub wall_ns: i64,
    /// When the probe wrote the response, on its clock.
    pub answered_ns: u64,
}

impl Pong {
    /// The response to a ping that was just read.
    pub fn now(sent_ns: u64) -> Self {
        let received_ns = monotonic_ns();
        let (wall_ns, answered_ns) = (wall_ns(), monotonic_ns());
        Self { sent_ns, received_ns, wall_ns, answered_ns }
    }
}

/// Why the probe refused a hello.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "kebab-case")]
pub enum Refusal {
    /// The versions differ.
    #[error("it speaks version {spoken} of the protocol; use the same ceiling on both hosts")]
    Version {
        /// The probe's.
        spoken: u32,
    },
    /// The token is another one.
    #[error(
        "wrong token; --probe-token-file here and --token-file on its host must hold the same one"
    )]
    Token,
    /// It serves as many clients as allowed.
    #[error(
        "it serves {clients_max} clients already, which is its limit; wait, or restart it with \
         --max-clients {}", clients_max.saturating_add(1)
    )]
    Busy {
        /// The limit.
        clients_max: u32,
    },
    /// It was started to observe, not to change.
    #[error("it was started without --allow-tune, so it changes nothing on its host")]
    Tuning,
    /// It has no list of servers.
    #[error(
        "it was started without --allow-start, so it starts no server; for example ceiling probe \
         serve --allow-start servers.toml"
    )]
    Starting,
    /// The first message was something else.
    #[error("it rejects our hello: {0}")]
    Hello(String),
}

/// Why a probe ends a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "kebab-case")]
pub enum Farewell {
    /// The client asked.
    #[error("the client asked it to stop")]
    Asked,
    /// The time that the client set is over.
    #[error("the time that the client set is over")]
    Over,
    /// The probe was stopped on its host.
    #[error("it was stopped on its host")]
    Stopped,
    /// The client sends nothing.
    #[error("it timed out waiting for the client")]
    Unheard,
    /// The client reads nothing.
    #[error("the client stopped reading from it")]
    Untaken,
}

/// The version of a hello, whatever else is in it.
pub fn hello_version(bytes: &[u8]) -> Option<u32> {
    #[derive(Deserialize)]
    struct Stamp {
        version: u32,
    }
    serde_json::from_slice::<Stamp>(bytes).ok().map(|stamp| stamp.version)
}
