//! What is true of each option of the commands that make load, in one table.
//!
//! In: the name or the letter of an option. Out: its facts, for whoever reads a command line: a
//! record, a plan, a page. Never: a guess. An option without a row is unknown, and nothing may be
//! concluded from its name. A test in `plan` compares the table with the command line.

/// The facts of an option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Facts {
    /// The long name, without dashes.
    pub name: &'static str,
    /// The letter, if it has one.
    pub letter: Option<char>,
    /// What its value is.
    pub value: Value,
    /// What it can reach with its value.
    pub reach: Reach,
    /// What it is about.
    pub about: About,
}

/// What the value of an option is, as far as it matters where secrets are hidden.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Value {
    /// It has none, or may have one behind an equals sign only.
    Flag,
    /// A text, a number, a name.
    Plain,
    /// All of it is a secret.
    Secret,
    /// A header.
    Header,
    /// A name, and a password after a colon: an option of another program.
    User,
    /// An address, perhaps a URL without a scheme.
    Address,
    /// Hosts and ports, or the name of a variable: no secret, though it may look like one.
    Open,
}

/// What an option can reach with its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// The load and the reports about it. It opens no file, names no address and changes nothing.
    Load,
    /// A file that is read.
    File,
    /// A variable of our environment.
    Variable,
    /// Another address or socket, or a host behind one.
    Address,
    /// The server, which is changed or looked into.
    Server,
    /// The record, which then keeps what others sent or what is secret.
    Record,
    /// One run, its files and its process: `ceiling run` sets it for each cell itself.
    Run,
}

/// What an option is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum About {
    /// What is sent, and which responses are good.
    Requests,
    /// What all requests have, also those of the subscribers of a fan-out.
    AllRequests,
    /// Where connections lead, and how long they last.
    Connection,
    /// Encryption.
    Tls,
    /// How a search ends.
    Search,
    /// How the load is made, whatever is asked for.
    Generator,
    /// The agents that make the load.
    Fleet,
    /// Where the telemetry of the server comes from.
    Telemetry,
    /// The links of the hosts.
    Link,
    /// How much load, and how often.
    Level,
    /// A shape of the rate that has its own end.
    Shape,
    /// How long, or how many requests.
    Length,
    /// What the run must fulfil.
    Objective,
    /// What is done to the server beside the load.
    Experiment,
    /// What is written, and where.
    Output,
}

impl Facts {
    /// Whether a command that a verdict proposes takes the option over: it is about requests, the
    /// connections for them, or how they are observed. Such a command has its own load, and a
    /// person reads its output.
    pub fn is_carried(self) -> bool {
        use About::*;
        matches!(
            self.about,
            Requests
                | AllRequests
                | Connection
                | Tls
                | Search
                | Generator
                | Fleet
                | Telemetry
                | Link
        )
    }

    /// Whether it says where the load runs and where it is seen, and not what it is.
    pub fn is_of_place(self) -> bool {
        matches!(self.about, About::Telemetry | About::Link)
    }
}

/// The option with this long name, without dashes.
pub fn named(name: &str) -> Option<Facts> {
    ALL.iter().find(|facts| facts.name == name).copied()
}

/// The option that a word of a command line is: `--rate` or `--rate=5k`.
pub fn typed(word: &str) -> Option<Facts> {
    let word = word.strip_prefix("--")?;
    named(word.split_once('=').map_or(word, |(name, _)| name))
}

/// The option with this letter.
pub fn lettered(letter: char) -> Option<Facts> {
    ALL.iter().find(|facts| facts.letter == Some(letter)).copied()
}

macro_rules! options {
    ($($name:literal $($letter:literal)? $value:ident $reach:ident $about:ident;)*) => {
        /// Every option of every command that makes load.
        pub const ALL: &[Facts] = &[$(Facts {
            name: $name,
            letter: options!(@letter $($letter)?),
            value: Value::$value,
            reach: Reach::$reach,
            about: About::$about,
        }),*];
    };
    (@letter $letter:literal) => { Some($letter) };
    (@letter) => { None };
}

// name                 value   reach    about
options! {
    "agents"            Plain   Address  Fleet;
    "arrivals"          Plain   Load     Level;
    "auth-env"          Open    Variable AllRequests;
    "baseline"          Plain   File     Objective;
    "bearer-file"       Plain   File     AllRequests;
    "body" 'b'          Secret  Load     Requests;
    "body-file" 'f'     Plain   File     Requests;
    "budget"            Plain   Load     Search;
    "cacert"            Plain   File     Tls;
    "cert"              Plain   File     Tls;
    "check-body"        Plain   Load     Requests;
    "check-length"      Plain   Load     Requests;
    "check-sha256"      Plain   Load     Requests;
    "check-status"      Plain   Load     Requests;
    "coalesce"          Plain   Load     Generator;
    "confirm"           Flag    Server   Experiment;
    "confirm-route"     Plain   Server   Experiment;
    "connect-to"        Open    Address  Connection;
    "connections" 'c'   Plain   Load     Level;
    "cpus"              Plain   Load     Generator;
    "depth" 'p'         Plain   Load     Connection;
    "devices" 'c'       Plain   Load     Level;
    "driver"            Plain   Load     Generator;
    "duration" 'd'      Plain   Load     Length;
    "events"            Plain   Load     Requests;
    "expand"            Plain   Load     Requests;
    "expect"            Plain   Load     Objective;
    "fail-if"           Plain   Load     Objective;
    "fleet"             Plain   Address  Fleet;
    "fleet-keys"        Plain   File     Fleet;
    "header" 'H'        Header  Load     AllRequests;
    "hold"              Plain   Load     Connection;
    "insecure" 'k'      Flag    Load     Tls;
    "json"              Flag    Run      Output;
    "junit"             Plain   Run      Output;
    "keep-requests"     Flag    Record   AllRequests;
    "keep-runs"         Plain   Run      Output;
    "key"               Plain   File     Tls;
    "ktls"              Plain   Load     Tls;
    "latency" 'L'       Flag    Load     Output;
    "link"              Plain   Load     Link;
    "live"              Plain   Run      Output;
    "max-connections"   Plain   Load     Level;
    "may-touch-server"  Flag    Server   Experiment;
    "method" 'X'        Plain   Load     Requests;
    "no-color"          Flag    Load     Output;
    "out" 'o'           Plain   Run      Output;
    "precision"         Plain   Load     Search;
    "probe"             Open    Address  Telemetry;
    "probe-pin"         Plain   Address  Telemetry;
    "probe-token-file"  Plain   File     Telemetry;
    "profile"           Plain   Server   Experiment;
    "proxy" 'x'         Address Address  Connection;
    "proxy-tunnel"      Flag    Address  Connection;
    "quiet" 'q'         Flag    Run      Output;
    "ramp"              Plain   Load     Shape;
    "ramp-down"         Plain   Load     Connection;
    "ramp-up"           Plain   Load     Connection;
    "rate" 'R'          Plain   Load     Level;
    "repeats"           Plain   Load     Level;
    "replay"            Plain   File     Shape;
    "requests" 'n'      Plain   Load     Length;
    "requests-per-conn" Plain   Load     Connection;
    "resolve"           Open    Address  Connection;
    "retry-unprocessed" Plain   Load     Requests;
    "runs"              Plain   Run      Output;
    "runtime"           Plain   Address  Telemetry;
    "sample-failures"   Flag    Record   AllRequests;
    "secret-header"     Plain   Load     AllRequests;
    "seed"              Plain   Load     Level;
    "server-pid"        Plain   Run      Telemetry;
    "sine"              Plain   Load     Level;
    "slo"               Plain   Load     Objective;
    "sni"               Open    Load     Tls;
    "source"            Plain   Load     Connection;
    "spike"             Plain   Load     Level;
    "steps"             Plain   Load     Shape;
    "streams"           Plain   Load     Requests;
    "strict"            Flag    Load     Objective;
    "subscribers" 'c'   Plain   Load     Level;
    "summary"           Plain   Run      Output;
    "targets" 'i'       Plain   File     Requests;
    "threads" 't'       Plain   Load     Generator;
    "timeout" 'T'       Plain   Load     Requests;
    "tls-resume"        Plain   Load     Tls;
    "tls-version"       Plain   Load     Tls;
    "tool"              Plain   Load     Generator;
    "trial"             Plain   Load     Search;
    "tui"               Flag    Run      Output;
    "unix-socket"       Plain   Address  Connection;
    "verbose" 'v'       Flag    Load     Output;
    "visits"            Plain   Load     Level;
    "warmup"            Plain   Load     Level;
    "write-path"        Plain   Load     Requests;
    "write-rate"        Plain   Load     Requests;
    "writers"           Plain   Load     Requests;
}
