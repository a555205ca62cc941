//! What is said on the line.

use model::facts::{HostFacts, Privilege, ServerFacts};
use model::reading::Reading;
use model::tuning::{Order, Response};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::net::IpAddr;

/// Version of everything in this file and of the readings.
pub const VERSION: u32 = 3;

/// From the client.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum ToProbe {
    /// Who asks, and about what.
    Hello(Hello),
    /// Asks what time it is there.
    Ping {
        /// Monotonic time of the client, nanoseconds.
        sent_ns: u64,
    },
    /// Asks for one last round of everything.
    Stop,
    /// Asks to plan, change or put back knobs of the host; only in a session that said so.
    Tune(Box<Order>),
}

/// What a session is for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Purpose {
    /// To watch the host and the server: readings come.
    #[default]
    Watch,
    /// To change the host: orders are answered, and no readings come.
    Tune,
}

/// The first message.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// [`VERSION`] of the client.
    pub version: u32,
    /// The secret that both ends were given.
    pub token: String,
    /// The address that the client connects to, in case several servers listen on the port; it may
    /// be unknown there.
    pub ip: Option<IpAddr>,
    /// Port under test: the server to look at is who listens there.
    pub port: Option<u16>,
    /// Time between rounds of reading, nanoseconds.
    pub period_ns: u64,
    /// The probe ends by itself so long after the welcome, nanoseconds.
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
    Tuned(Box<Response>),
    /// The end.
    Bye {
        /// Why there is no more.
        why: Farewell,
    },
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
    /// When the ping was read, on the probe's.
    pub received_ns: u64,
    /// When the response was written, on the probe's.
    pub answered_ns: u64,
}

/// Why a hello was turned down.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "kebab-case")]
pub enum Refusal {
    /// Another version is spoken.
    #[error("it speaks version {spoken} of the protocol; use the same ceiling on both hosts")]
    Version {
        /// The probe's.
        spoken: u32,
    },
    /// Another token.
    #[error(
        "the token is wrong; --probe-token-file must hold the same as --token-file on its host"
    )]
    Token,
    /// As many clients as allowed.
    #[error(
        "it has {clients_max} clients already, as many as it takes; wait, or restart it with \
         --max-clients {}", clients_max + 1
    )]
    Busy {
        /// The limit.
        clients_max: u32,
    },
    /// It was started to watch, not to change.
    #[error("it changes nothing on its host: it was started without --allow-tune")]
    Tuning,
    /// The first message was something else.
    #[error("it did not understand our hello: {0}")]
    Hello(String),
}

/// Why a probe ends a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "kebab-case")]
pub enum Farewell {
    /// The client asked.
    #[error("it was asked to stop")]
    Asked,
    /// The time that the client set is over.
    #[error("the time it was asked for is over")]
    Over,
    /// Somebody ended the probe.
    #[error("it was stopped on its host")]
    Stopped,
    /// The client says nothing.
    #[error("it heard nothing of us for too long")]
    Unheard,
    /// The client takes nothing.
    #[error("we took nothing from it for too long")]
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
