//! The kinds of values that options take.

use crate::typed;
use crate::which_agents::WhichAgents;
use model::curve::Curve;
use model::link::LinkChoice;
use model::load::{EvidenceFrom, Hold};
use model::profile::ProfileChoice;
use model::rate_syntax;
use model::tool::Tool;
use model::units::{Levels, RATE_MAX, parse_count, parse_cpus, parse_duration_ns, parse_rate};
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

typed! {
    /// Where load goes.
    text UrlText(String), "http[s]://HOST[:PORT][/PATH]", "http://127.0.0.1:8083/";
    /// A server of gRPC.
    text ServerText(String), "[grpc[s]://]HOST[:PORT]", "127.0.0.1:50051";
    /// A name of a schema.
    text SymbolName(String), "a service, a method or a message", "shop.Catalog/Read";
    /// A stored run.
    file RunPath(PathBuf), "last, last~1, an id or its beginning, a directory or a record", "last";
    /// A stored run, or none.
    file RunChoice(PathBuf), "a run as in ceiling show, or none", "last";
    /// A plan.
    file PlanFile(PathBuf), "a plan file", "experiments/04-ramp/plan.toml";
    /// A plan that is written.
    file NewPlan(PathBuf), "a file", "rps.toml";
    /// The list of servers that a plan may start.
    file ServersFile(PathBuf), "a file", "targets/targets.toml";
    /// Where the hosts of a plan are.
    file HostsFile(PathBuf), "a file", "hosts.toml";
    /// A value of a plan's hosts.
    option Setting((String, String)), "hosts.NAME.KEY=VALUE", "hosts.server.probe=192.0.2.7:9200",
        |text| text.split_once('=').map(|(key, value)| (key.to_string(), value.to_string()));
    /// The folder of an experiment.
    file ExperimentFolder(PathBuf), "a folder", "out/runs/20260101T120000-ramp";
    /// A flow or a URL.
    text TryText(String), "a file or a URL", "shop.hurl";
    /// What users do.
    file FlowFile(PathBuf), "a file", "shop.hurl";
    /// A mix of requests.
    file MixFile(PathBuf), "a file", "targets.txt";
    /// The body of a request.
    file BodyFile(PathBuf), "a file", "body.json";
    /// A schema of gRPC.
    file ProtoFile(PathBuf), "a .proto file", "shop.proto";
    /// Where schemas are.
    file ProtoFolder(PathBuf), "a folder", "protos";
    /// A set of descriptors.
    file ProtosetFile(PathBuf), "a file", "shop.protoset";
    /// Rates over time.
    file RecordingFile(PathBuf), "a file", "rates.csv";
    /// A result.
    file OutFile(PathBuf), "a file", "report.html";
    /// A result for CI.
    file JunitFile(PathBuf), "a file", "junit.xml";
    /// A summary that is appended.
    file SummaryFile(PathBuf), "a file", "summary.md";
    /// Certificates or a key.
    file PemFile(PathBuf), "a file", "client.pem";
    /// A token.
    file TokenFile(PathBuf), "a file", "probe.token";
    /// What another tool printed.
    file ForeignFile(PathBuf), "a file with what a load generator printed, or - for the standard \
                                input", "wrk.txt";
    /// A command line of another tool.
    option CommandLine(String), "a command line", "'wrk -t1 -c50 -d10s http://host/'",
        |text| (!text.trim().is_empty()).then(|| text.to_string());
    /// Where runs are kept.
    file RunsFolder(PathBuf), "a directory or none", "none";
    /// Where the journal of changed knobs is.
    file JournalFolder(PathBuf), "a directory", "tune-journal";
    /// Keys of a fleet.
    file KeysFolder(PathBuf), "a folder", "fleet-keys";
    /// Credentials of an agent.
    file CredentialsFile(PathBuf), "a file", "fleet-keys/agents/a1.creds";
    /// Where pages are written to.
    file Folder(PathBuf), "a directory", "man";

    /// A count that fits in 32 bits.
    option Count(u64), "a number above 0", "50", |text| within(text, 1..=u64::from(u32::MAX));
    /// Requests in flight on one connection.
    option Depth(u32), "a number from 1 to 10000", "16", |text| small(text, 1..=10_000);
    /// A window of HTTP/2.
    option Window(u32), "a number of bytes from 1 to 2147483647", "64k",
        |text| within(text, 1..=0x7fff_ffff).map(|bytes| bytes as u32);
    /// An address of this host.
    option LocalAddress(IpAddr), "an IP address of this host", "192.0.2.7",
        |text| text.parse().ok();
    /// Clients at a time.
    option Clients(u32), "a number of clients from 1 to 64", "4", |text| small(text, 1..=64);
    /// How often something is repeated.
    option Repeats(u32), "a number from 0 to 20", "2", |text| small(text, 0..=20);
    /// How often something is visited.
    option Visits(u32), "a number from 1 to 100", "3", |text| small(text, 1..=100);
    /// Streams of events.
    option Streams(u32), "a number from 1 to 1M", "100", |text| small(text, 1..=1_000_000);
    /// Connections that write; there may be none.
    option Writers(u32), "a number from 0 to 1M", "4", |text| small(text, 0..=1_000_000);
    /// How many are listed; nothing for all.
    option Listed(Option<usize>), "a number above 0, or all", "20", count_or_all;
    /// How many runs stay; nothing for all.
    option KeepRuns(Option<usize>), "a number above 0, or all", "200", count_or_all;
    /// How many runs stay.
    option Kept(u32), "a number of runs from 0 to 1M", "50", |text| small(text, 0..=1_000_000);
    /// How long ago, seconds.
    option Age(u64), "a time with m, h, d or w", "30d", age_s;
    /// Disk space, bytes.
    option Space(u64), "bytes, with k, M or G", "500MB", |text| {
        let digits = text.strip_suffix('B').unwrap_or(text);
        parse_count(digits).ok()
    };
    /// A seed.
    option Seed(u64), "a whole number", "42", |text| text.parse().ok();
    /// A process.
    option Pid(u32), "a process id", "4711", |text| text.parse().ok().filter(|pid| *pid > 0);
    /// Another load generator.
    option ToolName(Tool), "wrk, wrk2, oha, hey, h2load, vegeta, k6, autocannon or ghz", "wrk",
        Tool::parse;
    /// A port.
    option Port(u16), "a port", "8080", |text| text.parse().ok().filter(|port| *port > 0);

    /// CPUs in the order given.
    option CpuList(Vec<usize>), "a list of CPU numbers", "1,2", parse_cpus;
    /// A socket's address.
    option Socket(SocketAddr), "an address and a port", "127.0.0.1:9200", |text| text.parse().ok();
    /// A host, by name or address, and a port.
    option HostPort(String), "HOST:PORT", "192.0.2.7:9200", host_port;
    /// The broker of a fleet, and the name of the fleet.
    option FleetUrl(String), "nats://HOST[:PORT][,HOST..][/NAME], or tls:// for TLS alone",
        "nats://nats.example:4222/staging", |text| {
            let behind = text.strip_prefix("nats://").or_else(|| text.strip_prefix("tls://"))?;
            (!behind.is_empty()).then(|| text.to_string())
        };
    /// Some agents of a fleet.
    option Agents(WhichAgents), "a number, all, or LABEL=VALUE", "zone=a",
        |text| text.parse().ok();
    /// SHA-256 of a certificate.
    option Pin(String), "a SHA-256 of 64 hexadecimal digits",
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", pin;
    /// What a link lets through.
    result LinkText(LinkChoice), "[client=|server=]SPEED[,PACKETSpps][,burst TIME]", "25G",
        |text| text.parse::<LinkChoice>().map_err(|error| error.to_string());
    /// The path of a unix socket. The kernel takes 108 bytes with the zero at the end, see unix(7).
    option SocketPath(PathBuf), "a path of 1 to 107 bytes, as the kernel takes it",
        "/run/server.sock", |text| (1..108).contains(&text.len()).then(|| PathBuf::from(text));
    /// A path on the server under test.
    option Route(String), "a path on the server under test", "/small", |text| {
        let is_path = text.starts_with('/') && text.bytes().all(|byte| byte.is_ascii_graphic());
        is_path.then(|| text.to_string())
    };
    /// The path of a stream or of a write; `{stream}` stands for its number.
    option StreamPath(String), "a path that starts with /", "'/events/{stream}'", |text| {
        let is_plain = |byte: u8| byte > b' ' && byte != 0x7f;
        (text.starts_with('/') && text.bytes().all(is_plain)).then(|| text.to_string())
    };
    /// The name of a header.
    option HeaderName(String), "the name of a header", "X-Session", |text| {
        let is_name = |byte: u8| byte.is_ascii_graphic() && !b":,;".contains(&byte);
        (!text.is_empty() && text.bytes().all(is_name)).then(|| text.to_string())
    };
    /// A variable of the environment.
    option VariableName(String), "the name of a variable", "API_TOKEN", |text| {
        let is_name = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        (!text.is_empty() && text.bytes().all(is_name)).then(|| text.to_string())
    };
    /// A variable of a flow and its value.
    option Assigned((String, String)), "a name and a value", "user=ann", |text| {
        let (name, value) = text.split_once('=')?;
        let is_name = |letter: char| letter.is_alphanumeric() || "_-.".contains(letter);
        let is_good = !name.is_empty() && name.chars().all(is_name);
        is_good.then(|| (name.to_string(), value.to_string()))
    };
    /// Where profiles come from.
    option Profiles(ProfileChoice), "auto, perf, or addresses with ports", "auto",
        |text| match text {
            _ if text.rsplit(':').next()?.contains('-') => profile_ports(text),
            "auto" => Some(ProfileChoice::Auto),
            "perf" => Some(ProfileChoice::Perf),
            _ => {
                let addresses = text.split(',').map(str::parse).collect::<Result<_, _>>();
                addresses.ok().map(ProfileChoice::Addresses)
            }
        };

    /// Where further evidence comes from.
    option Evidence(EvidenceFrom), "kernel", "kernel", |text| EvidenceFrom::parse(text);

    /// A time above zero, nanoseconds.
    result Time(u64), "a time", "10s", |text| {
        match parse_duration_ns(text) {
            Ok(0) => Err(format!("'{text}' is not a valid time: it must be greater than zero")),
            parsed => parsed.map_err(|error| error.to_string()),
        }
    };
    /// A wait that costs latency, nanoseconds; 0 is off.
    option Pause(u64), "a time of at most 10ms, or 0 for off", "50us",
        |text| parse_duration_ns(text).ok().filter(|ns| *ns <= 10_000_000);
    /// How long the warm-up is, nanoseconds; nothing for auto.
    result Warmup(Option<u64>), "a time or auto", "1s", |text| match text {
        "auto" => Ok(None),
        _ => parse_duration_ns(text).map(Some).map_err(|error| format!("{error}, or auto")),
    };
    /// Worker threads; nothing for auto.
    option Threads(Option<u32>), "a number of threads from 1 to 1024, or auto", "2",
        |text| match text {
            "auto" => Some(None),
            _ => small(text, 1..=1024).map(Some),
        };
    /// How long a client holds its connection.
    option HoldTime(Hold), "a time, a time and a share around it, or forever", "1s±5%", hold;
    /// Requests on one connection, between two numbers.
    option PerConnection((u32, u32)), "a number of requests, or two as MIN:MAX", "1:10", between;
    /// Requests on one connection, between two numbers above zero.
    result Capped((u32, u32)), "a number of requests, or two as MIN:MAX", "1:10",
        |text| match between(text) {
            Some((0, _)) => Err(format!("'{text}' has connections without a request")),
            Some(range) => Ok(range),
            None => Err(format!("'{text}' is not a number of requests, or two as MIN:MAX")),
        };

    /// Requests per second.
    result Rate(f64), "a rate per second", "20k",
        |text| parse_rate(text).map_err(|error| error.to_string());
    /// One rate, where a range is likely to be tried.
    result OneRate(f64), "a rate per second", "20k", |text| {
        if text.contains("..") {
            let url = "http://127.0.0.1:8083/";
            return Err(format!(
                "'{text}' is a range of rates, which ramp visits; for example ceiling ramp {url} \
                 -R {text}"
            ));
        }
        parse_rate(text).map_err(|error| error.to_string())
    };
    /// Rates that are visited.
    result Rates(Levels), "rates, a range of them, or a list", "1k..64k*2", |text| {
        let rates = Levels::parse(text.strip_suffix("/s").unwrap_or(text));
        let rates = rates.map_err(|error| error.to_string())?;
        let fits = rates.highest() as f64 <= RATE_MAX;
        fits.then_some(rates).ok_or_else(|| format!("'{text}' goes beyond 100M, the highest rate"))
    };
    /// The rates that a search stays between.
    option RateBounds((f64, f64)), "a rising range of rates LO..HI", "1k..50k", |text| {
        let (low, high) = text.split_once("..")?;
        let (low, high) = (parse_rate(low).ok()?, parse_rate(high).ok()?);
        (high > low).then_some((low, high))
    };
    /// Numbers of connections that are visited.
    result Connections(Levels), "a number, a range or a list of them", "100..10k*10", |text| {
        let levels = Levels::parse(text).map_err(|error| error.to_string())?;
        let fits = levels.highest() <= u64::from(u32::MAX);
        fits.then_some(levels).ok_or_else(|| format!("'{text}' is beyond what one host can open"))
    };
    /// Rates one after the other.
    result Steps(Curve), "rates and a time", "1k,5k,2k/10s",
        |text| rate_syntax::parse_steps(text).map_err(|error| error.to_string());
    /// Rates that rise and fall in straight lines.
    result Lines(Curve), "two rates and a time", "0:100k/30s",
        |text| rate_syntax::parse_ramp(text).map_err(|error| error.to_string());
    /// A rate with a burst.
    result Spike(Curve), "two rates and two times", "1k:20k/2s@5s",
        |text| rate_syntax::parse_spike(text).map_err(|error| error.to_string());
    /// A rate in waves; how long it lasts is known with the window.
    text Sine(String), "two rates and a time", "1k:5k/10s";
    /// The width of an interval.
    option Share(f64), "a share from 0.1% to 100%", "2%", |text| {
        let share: f64 = text.strip_suffix('%')?.parse().ok()?;
        (0.1..=100.0).contains(&share).then_some(share / 100.0)
    };
    /// A part of a whole.
    option Part(f64), "a share above 0 and up to 1", "0.7",
        |text| text.parse().ok().filter(|share| *share > 0.0 && *share <= 1.0);
    /// Bits per second.
    option Link(f64), "bits per second, above zero", "10G",
        |text| parse_count(text).ok().filter(|bits| *bits > 0).map(|bits| bits as f64);

    /// A header. What was typed may hold a secret, so the error does not show it.
    result Header((String, String)), "a header, 'Name: value'", "'Accept: application/json'",
        |text| {
            let header = text.split_once(':').map(|(name, value)| (name, value.trim()));
            let header = header.filter(|(name, _)| !name.is_empty() && !name.contains(' '));
            let header = header.map(|(name, value)| (name.to_string(), value.to_string()));
            header.ok_or_else(|| "the value given is not a header, 'Name: value'".to_string())
        };
    /// A method.
    text Method(String), "a method", "PUT";
    /// A text that is sent.
    result Body(String), "a text", "'{\"a\":1}'",
        |text| match text.strip_prefix('@') {
            Some(file) => Err(format!(
                "'{text}' would be sent as written; to send a file, whose name may start with @, \
                 give -f {file}"
            )),
            None => Ok(text.to_string()),
        };
    /// A host's name.
    text HostName(String), "a host name", "example.org";
    /// A remark.
    text Note(String), "a text", "'RPS under load'";
    /// The number of a transaction.
    text Transaction(String), "the number of a transaction", "17";
    /// A network device.
    text Device(String), "a network device", "eth0";
    /// A word of another tool's command line.
    text ToolWord(String), "options and a URL, as that tool takes them", "-c100";
    /// Names of cells, or how they begin.
    text CellName(String), "names of cells, or how they begin", "simple,read";
    /// A knob of a run's advice.
    text KnobName(String), "a knob's id or name", "rps";
}

fn within(text: &str, range: std::ops::RangeInclusive<u64>) -> Option<u64> {
    parse_count(text).ok().filter(|count| range.contains(count))
}

fn small(text: &str, range: std::ops::RangeInclusive<u64>) -> Option<u32> {
    within(text, range).and_then(|count| u32::try_from(count).ok())
}

/// A number above zero; nothing for `all`.
fn count_or_all(text: &str) -> Option<Option<usize>> {
    match text {
        "all" => Some(None),
        _ => within(text, 1..=1_000_000).map(|count| Some(count as usize)),
    }
}

/// Seconds of a time that is longer than those of load: `90m`, `30d`.
fn age_s(text: &str) -> Option<u64> {
    const UNITS: [(char, u64); 4] = [('m', 60), ('h', 3600), ('d', 86_400), ('w', 604_800)];
    let (digits, unit_s) =
        UNITS.iter().find_map(|(unit, seconds)| Some((text.strip_suffix(*unit)?, seconds)))?;
    digits.parse::<u32>().ok().map(|count| u64::from(count) * unit_s)
}

/// `1`, or `100:200`.
fn between(text: &str) -> Option<(u32, u32)> {
    let (least, most) = text.split_once(':').unwrap_or((text, text));
    let count = |text| parse_count(text).ok().and_then(|count| u32::try_from(count).ok());
    let (least, most) = (count(least)?, count(most)?);
    (least <= most && most < u32::MAX).then_some((least, most))
}

/// `forever`, a time, or a time with a share around it.
fn hold(text: &str) -> Option<Hold> {
    if text == "forever" {
        return Some(Hold::Forever);
    }
    let (time, share) = match text.split_once('±').or_else(|| text.split_once("+-")) {
        Some((time, share)) => (time, share.strip_suffix('%')?),
        None => (text, "0"),
    };
    let (ns, percent) = (parse_duration_ns(time).ok()?, share.trim().parse::<f64>().ok()?);
    (0.0..=100.0).contains(&percent).then_some(Hold::For { ns, jitter: percent / 100.0 })
}

fn host_port(text: &str) -> Option<String> {
    let (host, port) = text.rsplit_once(':')?;
    let is_host = !host.is_empty() && (!host.contains(':') || host.starts_with('['));
    let is_port = port.parse::<u16>().is_ok_and(|port| port > 0);
    (is_host && is_port && !text.contains('/')).then(|| text.to_string())
}

fn pin(text: &str) -> Option<String> {
    let is_right = text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_right.then(|| text.to_ascii_lowercase())
}

/// Most endpoints of one range.
const PROFILE_PORTS_MAX: u16 = 1024;

/// A range of ports on one address: `127.0.0.1:6060-6067`.
fn profile_ports(text: &str) -> Option<ProfileChoice> {
    let (first, last) = text.rsplit_once('-')?;
    let (first, last) = (first.parse::<SocketAddr>().ok()?, last.parse::<u16>().ok()?);
    let is_range = last.checked_sub(first.port()).is_some_and(|span| span < PROFILE_PORTS_MAX);
    is_range.then(|| ProfileChoice::Ports(first.ip(), first.port(), last))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holds_are_read() {
        assert_eq!(hold("forever"), Some(Hold::Forever));
        assert_eq!(hold("2s"), Some(Hold::For { ns: 2_000_000_000, jitter: 0.0 }));
        for text in ["1s±5%", "1s+-5%"] {
            assert_eq!(hold(text), Some(Hold::For { ns: 1_000_000_000, jitter: 0.05 }), "{text}");
        }
        for text in ["", "x", "1s±", "1s±5", "1s±500%", "±5%"] {
            assert_eq!(hold(text), None, "{text}");
        }
    }

    #[test]
    fn endpoints_of_profiles_are_a_list_or_a_range_of_ports() {
        let of = |text: &str| text.parse::<Profiles>().map(|profiles| profiles.0).ok();
        let local = |port| SocketAddr::from(([127, 0, 0, 1], port));
        let two = ProfileChoice::Addresses(vec![local(6060), local(6061)]);
        assert_eq!(of("127.0.0.1:6060,127.0.0.1:6061"), Some(two));
        let range = ProfileChoice::Ports(local(0).ip(), 6060, 6187);
        assert_eq!(of("127.0.0.1:6060-6187"), Some(range));
        assert!(matches!(of("[::1]:1-1024"), Some(ProfileChoice::Ports(_, 1, 1024))));
        for wrong in ["127.0.0.1:2-1", "127.0.0.1:1-1025", "127.0.0.1-2", "a:1-2", "127.0.0.1:1-"] {
            assert_eq!(of(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn requests_are_a_number_or_two() {
        assert_eq!((between("1"), between("1:1k")), (Some((1, 1)), Some((1, 1000))));
        for text in ["", "-1", "5:1", "1:", "1:2:3"] {
            assert_eq!(between(text), None, "{text}");
        }
    }

    #[test]
    fn ages_have_a_unit() {
        let ages = [("90m", 5400), ("2h", 7200), ("30d", 2_592_000), ("1w", 604_800)];
        for (text, seconds) in ages {
            assert_eq!(age_s(text), Some(seconds), "{text}");
        }
        for text in ["", "30", "d", "-1d", "1.5d", "1y"] {
            assert_eq!(age_s(text), None, "{text}");
        }
    }

    #[test]
    fn addresses_have_a_host_and_a_port() {
        for right in ["127.0.0.1:9200", "server.test:1", "[::1]:65535"] {
            assert_eq!(host_port(right).as_deref(), Some(right));
        }
        for wrong in ["", "a", "a:", ":1", "a:0", "a:65536", "::1:9200", "http://a:1"] {
            assert_eq!(host_port(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_pin_is_a_digest_in_small_letters() {
        let upper = "E3B0C44298FC1C149AFBF4C8996FB92427AE41E4649B934CA495991B7852B855";
        assert_eq!(pin(upper), Some(upper.to_ascii_lowercase()));
        assert_eq!((pin(&upper[1..]), pin(&format!("{}x", &upper[1..]))), (None, None));
    }
}
