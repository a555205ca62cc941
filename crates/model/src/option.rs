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
    /// Where help shows it.
    pub shown: Shown,
}

/// Where help shows an option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shown {
    /// First, and by `-h`: most people need it.
    First,
    /// By `--help`, under the heading of what it is about.
    Later,
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

    /// The heading under which help shows it; nothing for one of those that come first.
    pub fn heading(self) -> Option<&'static str> {
        use About::*;
        let heading = match self.about {
            Requests | AllRequests => "Requests",
            Connection => "Connections",
            Tls => "TLS",
            Search | Level | Shape | Length => "Load",
            Generator => "Generator",
            Fleet => "Fleet",
            Telemetry | Link | Experiment => "Server and hosts",
            Objective => "What must hold",
            Output => "Output",
        };
        (self.shown == Shown::Later).then_some(heading)
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
    ($($name:literal $($letter:literal)? $value:ident $reach:ident $about:ident
        $shown:ident;)*) => {
        /// Every option of every command that makes load.
        pub const ALL: &[Facts] = &[$(Facts {
            name: $name,
            letter: options!(@letter $($letter)?),
            value: Value::$value,
            reach: Reach::$reach,
            about: About::$about,
            shown: Shown::$shown,
        }),*];
    };
    (@letter $letter:literal) => { Some($letter) };
    (@letter) => { None };
}

// name              value   reach    about       shown
options! {
    "agents"            Plain   Address  Fleet       Later;
    "arrivals"          Plain   Load     Level       Later;
    "auth-env"          Open    Variable AllRequests Later;
    "baseline"          Plain   File     Objective   Later;
    "bearer-file"       Plain   File     AllRequests Later;
    "body" 'b'          Secret  Load     Requests    First;
    "body-file" 'f'     Plain   File     Requests    Later;
    "budget"            Plain   Load     Search      First;
    "cacert"            Plain   File     Tls         Later;
    "cert"              Plain   File     Tls         Later;
    "check-body"        Plain   Load     Requests    Later;
    "check-json"        Plain   Load     Requests    Later;
    "check-length"      Plain   Load     Requests    Later;
    "check-sha256"      Plain   Load     Requests    Later;
    "check-status"      Plain   Load     Requests    Later;
    "coalesce"          Plain   Load     Generator   Later;
    "confirm"           Flag    Server   Experiment  First;
    "confirm-route"     Plain   Server   Experiment  Later;
    "connect-to"        Open    Address  Connection  Later;
    "connections" 'c'   Plain   Load     Level       First;
    "cpus"              Plain   Load     Generator   Later;
    "deadline"          Plain   Load     Requests    Later;
    "depth" 'p'         Plain   Load     Connection  Later;
    "devices" 'c'       Plain   Load     Level       First;
    "driver"            Plain   Load     Generator   Later;
    "duration" 'd'      Plain   Load     Length      First;
    "events"            Plain   Load     Requests    Later;
    "evidence"          Plain   Server   Experiment  Later;
    "expand"            Plain   Load     Requests    Later;
    "expect"            Plain   Load     Objective   First;
    "fail-if"           Plain   Load     Objective   Later;
    "fleet"             Plain   Address  Fleet       Later;
    "fleet-keys"        Plain   File     Fleet       Later;
    "flow"              Plain   File     Requests    Later;
    "header" 'H'        Header  Load     AllRequests First;
    "hold"              Plain   Load     Connection  First;
    "http"              Plain   Load     Connection  Later;
    "http2-prior-knowledge" Flag Load    Connection  Later;
    "insecure" 'k'      Flag    Load     Tls         Later;
    "json"              Flag    Run      Output      Later;
    "junit"             Plain   Run      Output      Later;
    "keep-requests"     Flag    Record   AllRequests Later;
    "keep-runs"         Plain   Run      Output      Later;
    "key"               Plain   File     Tls         Later;
    "ktls"              Plain   Load     Tls         Later;
    "latency" 'L'       Flag    Load     Output      Later;
    "link"              Plain   Load     Link        Later;
    "live"              Plain   Run      Output      Later;
    "max-connections"   Plain   Load     Level       Later;
    "may-touch-server"  Flag    Server   Experiment  Later;
    "method" 'X'        Plain   Load     Requests    First;
    "no-color"          Flag    Load     Output      Later;
    "out" 'o'           Plain   Run      Output      First;
    "precision"         Plain   Load     Search      Later;
    "probe"             Open    Address  Telemetry   First;
    "probe-pin"         Plain   Address  Telemetry   Later;
    "probe-token-file"  Plain   File     Telemetry   Later;
    "profile"           Plain   Server   Experiment  Later;
    "proto"             Plain   File     Requests    Later;
    "proto-path"        Plain   File     Requests    Later;
    "protoset"          Plain   File     Requests    Later;
    "proxy" 'x'         Address Address  Connection  Later;
    "proxy-tunnel"      Flag    Address  Connection  Later;
    "quiet" 'q'         Flag    Run      Output      Later;
    "ramp"              Plain   Load     Shape       Later;
    "ramp-down"         Plain   Load     Connection  Later;
    "ramp-up"           Plain   Load     Connection  Later;
    "rate" 'R'          Plain   Load     Level       First;
    "repeats"           Plain   Load     Level       Later;
    "replay"            Plain   File     Shape       Later;
    "requests" 'n'      Plain   Load     Length      First;
    "requests-per-conn" Plain   Load     Connection  Later;
    "resolve"           Open    Address  Connection  Later;
    "retry-unprocessed" Plain   Load     Requests    Later;
    "runs"              Plain   Run      Output      Later;
    "runtime"           Plain   Address  Telemetry   Later;
    "sample-failures"   Flag    Record   AllRequests Later;
    "secret-env"        Open    Variable Requests    Later;
    "secret-header"     Plain   Load     AllRequests Later;
    "seed"              Plain   Load     Level       Later;
    "server-pid"        Plain   Run      Telemetry   Later;
    "sine"              Plain   Load     Level       Later;
    "slo"               Plain   Load     Objective   First;
    "sni"               Open    Load     Tls         Later;
    "source"            Plain   Load     Connection  Later;
    "spike"             Plain   Load     Level       Later;
    "steps"             Plain   Load     Shape       Later;
    "streams"           Plain   Load     Requests    First;
    "strict"            Flag    Load     Objective   Later;
    "subscribers" 'c'   Plain   Load     Level       First;
    "summary"           Plain   Run      Output      Later;
    "targets" 'i'       Plain   File     Requests    Later;
    "threads" 't'       Plain   Load     Generator   Later;
    "timeout" 'T'       Plain   Load     Requests    Later;
    "tls-resume"        Plain   Load     Tls         Later;
    "tls-version"       Plain   Load     Tls         Later;
    "tool"              Plain   Load     Generator   Later;
    "trial"             Plain   Load     Search      Later;
    "tui"               Flag    Run      Output      Later;
    "unix-socket"       Plain   Address  Connection  Later;
    "variable"          Plain   Load     Requests    Later;
    "verbose" 'v'       Flag    Load     Output      First;
    "visits"            Plain   Load     Level       First;
    "warmup"            Plain   Load     Level       Later;
    "window"            Plain   Load     Connection  Later;
    "write-path"        Plain   Load     Requests    Later;
    "write-rate"        Plain   Load     Requests    Later;
    "writers"           Plain   Load     Requests    First;
}
