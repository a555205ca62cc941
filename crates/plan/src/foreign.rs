//! Options as other tools spell them: what a person types who knows curl, wrk, hey, oha, ab, k6,
//! vegeta, h2load, siege, bombardier or autocannon, and what it is called here.
//!
//! In: words that our command line refuses. Out: which of our options does that, with an example.
//! Never: an option that does the same as another one of ours.

use clap::Command;

/// A spelling of others.
#[derive(Debug, Clone, Copy)]
pub struct Foreign {
    /// How others write it; `-rate` is how programs in Go do.
    pub names: &'static [&'static str],
    /// Which values are meant, where we have such an option or others disagree.
    pub value: Value,
    /// What does that here.
    pub says: &'static str,
    /// Words of ours that do it, with `{}` in place of a plain value; empty where nothing does.
    pub example: &'static str,
}

/// The form of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Value {
    /// Any, or none.
    Any,
    /// A number, such as `100`.
    Number,
    /// A number with a unit of time, such as `30s`.
    Time,
    /// A name and a password, with a colon.
    Credentials,
    /// A type of content, such as `text/html`.
    Type,
    /// What a body looks like: JSON, a form, or `@FILE`.
    Body,
    /// The name of a file, with a dot or a slash.
    File,
}

const NO_HTTP3: &str =
    "ceiling speaks HTTP/1.1 and HTTP/2, which --http chooses; gRPC has grpc:// in its URL";
const BASIC: &str = "a user and a password are a header; put the value into a variable and name it";
const BASIC_EXAMPLE: &str = "--auth-env AUTH, with AUTH=\"Basic $(printf USER:PASSWORD | base64)\"";

const fn of(names: &'static [&'static str], says: &'static str, example: &'static str) -> Foreign {
    Foreign { names, value: Value::Any, says, example }
}

impl Foreign {
    const fn if_value(self, value: Value) -> Self {
        Self { value, ..self }
    }
}

/// All of them. Of several for one name, the first whose value fits is meant.
pub const FOREIGN: &[Foreign] = &[
    // Durations and numbers of requests.
    of(&["-z", "--time", "--run-time"], "how long is -d", "-d {}"),
    of(&["-D"], "how long is -d", "-d {}").if_value(Value::Time),
    of(&["-t"], "how long is -d, and -t is threads", "-d {}").if_value(Value::Time),
    of(
        &["--iterations", "--amount", "-a", "-N", "--num-requests", "--count", "--reps"],
        "how many requests is -n",
        "-n {}",
    )
    .if_value(Value::Number),
    // Connections.
    of(
        &["--concurrency", "--clients", "--vus", "--users", "--conns", "-u", "--concurrent"],
        "how many connections is -c",
        "-c {}",
    )
    .if_value(Value::Number),
    of(&["-workers", "--workers", "-w", "-max-workers"], "threads of the generator is -t", "-t {}")
        .if_value(Value::Number),
    of(&["--max-concurrent-streams", "-M"], "requests in flight per connection is -p", "-p {}"),
    of(
        &["-disable-keepalive", "--disable-keepalive", "--no-keepalive", "--no-connection-reuse"],
        "a new connection for each request is --requests-per-conn 1",
        "--requests-per-conn 1",
    ),
    of(&["--keepalive", "--keep-alive"], "connections are kept unless the server closes them", ""),
    // Rates.
    of(
        &["-q", "--qps", "--rps", "-rate", "-r", "--req-rate", "--overall-rate", "--throughput"],
        "requests per second over all connections is -R",
        "-R {}",
    )
    .if_value(Value::Number),
    of(
        &["--stage", "--stages", "-s"],
        "a rate that rises is --ramp FROM:TO/TIME",
        "--ramp 0:5k/1m",
    )
    .if_value(Value::Time),
    of(
        &["--latency-correction", "--burst-delay", "--burst-rate", "--delay", "--think-time"],
        "with -R, latency counts from the instant at which a request is due",
        "-R 1k",
    ),
    // Bodies.
    of(
        &["--data", "--data-raw", "--data-binary", "--data-ascii", "--data-urlencode", "-d"],
        "a body is -b, or -f for a file",
        "-b '{\"a\":1}'",
    )
    .if_value(Value::Body),
    of(
        &["--data", "--data-raw", "--data-binary", "--data-ascii", "--data-urlencode"],
        "a body is -b, or -f for a file",
        "-b '{\"a\":1}'",
    ),
    of(&["--json"], "JSON is a body and its type; our --json prints the record", JSON),
    of(
        &["-D", "-p", "--body-path", "--postfile", "--input-file", "-body"],
        "a file with the body is -f",
        "-f body.json",
    )
    .if_value(Value::File),
    of(&["-F", "--form", "--form-string"], "a form is a file with its parts and its type", FORM),
    of(
        &["-T", "--content-type"],
        "the type of a body is a header",
        "-H 'Content-Type: application/json'",
    )
    .if_value(Value::Type),
    // Headers.
    of(&["-A", "-a", "-u", "-P", "--auth", "--user", "--basic"], BASIC, BASIC_EXAMPLE)
        .if_value(Value::Credentials),
    of(&["--user", "--auth", "--basic", "-u", "-a"], BASIC, BASIC_EXAMPLE),
    of(&["--bearer", "--oauth2-bearer", "--token"], "a token is in a file", "--bearer-file token"),
    of(&["-A", "--accept"], "what is accepted is a header", "-H 'Accept: text/html'")
        .if_value(Value::Type),
    of(
        &["-A", "-U", "--user-agent"],
        "the name of the client is a header",
        "-H 'User-Agent: mine/1.0'",
    ),
    of(&["--host", "--authority"], "the Host is a header", "-H 'Host: example.test'"),
    of(&["-C", "--cookie"], "a cookie is a header", "-H 'Cookie: a=1'"),
    of(&["-e", "--referer"], "where a request comes from is a header", "-H 'Referer: http://h/'"),
    of(
        &["--compressed", "--tr-encoding", "--compression"],
        "compression is asked for with a header",
        "-H 'Accept-Encoding: gzip'",
    ),
    of(
        &["-disable-compression", "--disable-compression"],
        "nothing asks for compression unless a header does",
        "",
    ),
    // Methods and URLs.
    of(&["--request"], "the method is -X", "-X POST"),
    of(&["-I", "--head"], "the method is -X", "-X HEAD"),
    of(&["-G", "--get"], "without a body the method is GET", "-X GET"),
    of(&["--url", "--uri", "--base-uri", "-B"], "the URL is a word of its own", ""),
    of(
        &["--script", "-s", "--lua"],
        "requests that differ are lines of a file, or templates with --expand",
        "-i mix.jsonl",
    )
    .if_value(Value::File),
    of(
        &["--rand-regex-url", "--urls-from-file"],
        "several URLs are lines of a file",
        "-i mix.jsonl",
    ),
    of(
        &["--location", "--redirects", "-redirects", "--max-redirs", "--redirect"],
        "redirects are not followed; give the URL at their end",
        "",
    ),
    // Protocols.
    of(
        &["--http2", "--h2c", "--http-version", "--npn-list", "--alpn-list"],
        "the version of HTTP is --http",
        "--http 2",
    ),
    of(&["--http3", "--http3-only", "--grpc"], NO_HTTP3, ""),
    of(&["--http1.1", "--h1", "--http1"], "HTTP/1.1 is what ceiling speaks; leave it out", ""),
    of(&["--http1.0", "-0"], NO_HTTP3, ""),
    // Times, certificates, ways.
    of(
        &["--max-time", "--connect-timeout", "--response-timeout"],
        "how long a request may take is -T",
        "-T {}",
    ),
    of(
        &["--insecure-skip-tls-verify", "--skip-verify", "--no-check-certificate"],
        "any certificate is accepted with -k",
        "-k",
    ),
    of(&["--interface", "--bind", "-laddr"], "the address to connect from is --source", SOURCE),
    of(&["-4", "--ipv4", "-6", "--ipv6"], "a host's address is given", RESOLVE),
    of(&["--retry", "--retries"], "no request is sent again: a failure is a result", ""),
    // Output.
    of(
        &["--output", "-g", "--csv", "--summary-export", "-w", "--write-out"],
        "results go to files",
        "-o run.csv",
    ),
    of(
        &["--silent", "-S", "--no-tui", "--no-progress", "--no-progressbar"],
        "less text is -q",
        "-q",
    ),
    of(&["-s"], "less text is -q", "-q"),
    of(&["--latencies", "--percentiles", "-l"], "all percentiles is -L", "-L"),
    of(&["--cpu", "--threads-per-core"], "the CPUs of the generator", "--cpus 1"),
];

const JSON: &str = "-b '{\"a\":1}' -H 'Content-Type: application/json'";
const FORM: &str = "-f form.txt -H 'Content-Type: multipart/form-data; boundary=b'";
const SOURCE: &str = "--source 127.0.0.1";
const RESOLVE: &str = "--resolve localhost:8083:127.0.0.1";

/// Commands that make load; the others have none of these options.
const WITH_LOAD: [&str; 5] = ["load", "ramp", "find", "churn", "fanout"];
/// Longest value that is repeated in an example.
const SHOWN_MAX: usize = 16;

impl Value {
    fn fits(self, value: Option<&str>) -> bool {
        let Some(value) = value else { return self == Self::Any };
        let (number, unit) =
            value.split_at(value.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(value.len()));
        let is_number = number.parse::<f64>().is_ok();
        match self {
            Self::Any => true,
            Self::Number => is_number && (unit.is_empty() || ["k", "K", "M"].contains(&unit)),
            Self::Time => is_number && ["ms", "s", "S", "m", "M", "h", "H"].contains(&unit),
            Self::Credentials => value.contains(':'),
            // A name of a client has a capital: Mozilla/5.0.
            Self::Type => {
                let begins = |c: char| c.is_ascii_lowercase() || c == '*';
                value.contains('/') && value.starts_with(begins)
            }
            Self::Body => value.starts_with(['{', '[', '@', '"', '<']) || value.contains('='),
            Self::File => value.contains(['.', '/']) && !value.contains("://") && !is_number,
        }
    }
}

/// A word that was typed, with the value that follows it or is in it.
struct Typed<'a> {
    name: &'a str,
    value: Option<&'a str>,
}

impl<'a> Typed<'a> {
    fn at(words: &'a [String], at: usize) -> Self {
        let word = words[at].as_str();
        match word.split_once('=') {
            Some((name, value)) => Self { name, value: Some(value) },
            None => {
                let next = words.get(at + 1).map(String::as_str);
                Self { name: word, value: next.filter(|next| !next.starts_with("--")) }
            }
        }
    }

    /// `-z5s` as `-z` and `5s`.
    fn letter(word: &'a str) -> Option<Self> {
        let end = word.char_indices().nth(2)?.0;
        let is_short = word.starts_with('-') && !word.starts_with("--");
        is_short.then(|| Self { name: &word[..end], value: Some(&word[end..]) })
    }

    /// What does it here.
    fn equivalent(&self, is: Refused) -> Option<&'static Foreign> {
        let mut named = FOREIGN.iter().filter(|one| one.names.contains(&self.name));
        let is_sure = |one: &Foreign| one.value != Value::Any || is == Refused::Unknown;
        let fitting = { named.clone() }.find(|one| is_sure(one) && one.value.fits(self.value));
        // Whatever the value of an unknown option is, a name with one meaning has that.
        let only = named.next().filter(|_| is == Refused::Unknown && named.next().is_none());
        fitting.or(only)
    }

    fn hint(&self, is: Refused) -> Option<String> {
        let one = self.equivalent(is)?;
        let is_plain = |value: &&str| {
            value.len() <= SHOWN_MAX && value.chars().all(|c| c.is_ascii_alphanumeric() || c == '.')
        };
        let else_shown = if ["-d {}", "-T {}"].contains(&one.example) { "10s" } else { "100" };
        let value = self.value.filter(is_plain).filter(|_| one.value.fits(self.value));
        let example = one.example.replace("{}", value.unwrap_or(else_shown));
        let example = if example.is_empty() { example } else { format!("; for example {example}") };
        Some(format!("{}: {}{example}", self.name, one.says))
    }
}

/// What our command line refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Refused {
    /// An option that we do not have, or a word that is one too many: the name says what is meant.
    Unknown,
    /// The value of one of our options: the value must say what else is meant.
    ValueOfOurs,
}

/// What does here what an option of other tools does. `refused` is the option that our command line
/// does not have, one of ours whose value it refuses, or the word that is one too many.
pub fn hint(words: &[String], refused: &str, command: &Command) -> Option<String> {
    let load = words.iter().find(|word| WITH_LOAD.contains(&word.as_str()))?;
    let known = command.find_subcommand(load);
    let name = refused.split([' ', '=']).next().unwrap_or(refused);
    let is = if name.starts_with("--") && known.is_some_and(|known| has(known, &name[2..])) {
        Refused::ValueOfOurs
    } else {
        Refused::Unknown
    };
    let of_word = |at: usize| {
        let typed = Typed::at(words, at);
        let is_before = !name.starts_with('-') && typed.value == Some(name);
        if typed.name == name || is_before && typed.name.starts_with('-') {
            return typed.hint(is);
        }
        if !starts_as(name, typed.name, known) {
            return None;
        }
        if typed.name.len() == 2 {
            return typed.hint(is);
        }
        // Programs in Go take one dash before a long name.
        let long = &typed.name[1..];
        if known.is_some_and(|known| has(known, long)) {
            return Some(format!("{}: two dashes; for example --{long}", typed.name));
        }
        typed.hint(Refused::Unknown).or_else(|| Typed::letter(&words[at])?.hint(is))
    };
    (0..words.len()).find_map(of_word)
}

/// Whether a command has an option with this long name.
fn has(command: &Command, long: &str) -> bool {
    command.get_arguments().any(|one| one.get_long() == Some(long))
}

/// Whether a typed word with one dash is how our command line read the refused option: by its
/// letter.
fn starts_as(refused: &str, typed: &str, known: Option<&Command>) -> bool {
    let mut letters = typed.strip_prefix('-').into_iter().flat_map(str::chars);
    let Some(letter) = letters.next().filter(|letter| *letter != '-') else { return false };
    let is_it = |one: &&clap::Arg| {
        let has_letter = one.get_short() == Some(letter)
            || one.get_all_short_aliases().is_some_and(|all| all.contains(&letter));
        has_letter && refused.strip_prefix("--") == one.get_long()
    };
    refused.strip_prefix('-') == Some(letter.encode_utf8(&mut [0; 4]))
        || known.into_iter().flat_map(Command::get_arguments).any(|one| is_it(&one))
}
