//! What a client of a probe may choose of a listed server: `[target.allow]`.
//!
//! Everything that is not listed is refused, and each refusal says what was requested and what the
//! list allows. A value goes to the server as one word and never to a shell.

use model::starting::{Limits, StartOrder};
use model::units::{parse_count, parse_cpus, show_bytes};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};

/// Words that a client may append.
const ARGS_MAX: usize = 64;
/// The part of a request that a refusal shows.
const SHOWN_MAX_CHARS: usize = 100;

/// What a client may choose; nothing by default.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Allow {
    /// Arguments, each by its name.
    args: BTreeMap<String, Choice>,
    /// Variables of the environment.
    env: BTreeMap<String, Choice>,
    /// CPUs that it may be limited to.
    cpus: String,
    /// Services of the list that may run beside it.
    services: Vec<String>,
    /// Limits that it may get.
    limits: LimitChoices,
}

/// Limits as ranges, from least to greatest.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct LimitChoices {
    /// CPUs' worth of time, such as `0.1..8`.
    cpu: Option<String>,
    /// Memory, such as `64M..8G`.
    memory: Option<String>,
}

/// The values of one argument or variable.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(untagged)]
enum Choice {
    /// `true`: an argument without a value.
    Flag(bool),
    /// From the first to the second number, both included.
    Span(String),
    /// One of these words.
    Words(Vec<String>),
}

impl Choice {
    /// Whether a list may contain this.
    fn check(&self, what: &str) -> Result<(), String> {
        let is_sound = match self {
            Self::Flag(is_allowed) => *is_allowed,
            Self::Span(text) => span(text).is_some(),
            Self::Words(words) => !words.is_empty(),
        };
        if is_sound {
            return Ok(());
        }
        Err(format!(
            "{what} is not a span of numbers such as \"1..128\", a list of words such as \
             [\"one\", \"two\"], or true for an argument without a value"
        ))
    }

    fn takes(&self, value: &str) -> bool {
        match self {
            Self::Flag(_) => false,
            Self::Span(text) => number(value).zip(span(text)).is_some_and(|(value, ends)| {
                (ends.low..=ends.high).contains(&value.value) && (value.is_whole || !ends.is_whole)
            }),
            Self::Words(words) => words.iter().any(|word| word == value),
        }
    }

    fn show(&self) -> String {
        match self {
            Self::Flag(_) => String::new(),
            Self::Span(text) => text.clone(),
            Self::Words(words) => words.join("|"),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct Number {
    value: f64,
    is_whole: bool,
}

/// Digits with at most one point, and a sign; nothing that another program could read differently.
fn number(text: &str) -> Option<Number> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let is_plain = digits.len() <= 15
        && digits.starts_with(|first: char| first.is_ascii_digit())
        && digits.chars().all(|one| one.is_ascii_digit() || one == '.');
    let value = text.parse().ok().filter(|_| is_plain)?;
    Some(Number { value, is_whole: !text.contains('.') })
}

/// Least and greatest number.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Ends {
    low: f64,
    high: f64,
    is_whole: bool,
}

fn span(text: &str) -> Option<Ends> {
    let (low, high) = text.split_once("..")?;
    let (low, high) = (number(low)?, number(high)?);
    let ends = Ends { low: low.value, high: high.value, is_whole: low.is_whole && high.is_whole };
    (ends.low <= ends.high).then_some(ends)
}

fn span_of_bytes(text: &str) -> Option<(u64, u64)> {
    let (low, high) = text.split_once("..")?;
    let ends = (parse_count(low).ok()?, parse_count(high).ok()?);
    (ends.0 <= ends.1).then_some(ends)
}

impl Allow {
    /// Whether a list may contain this; the services are those that it lists.
    pub(crate) fn check(&self, services: &BTreeSet<&str>) -> Result<(), String> {
        for (name, choice) in &self.args {
            choice.check(&format!("args: {name}"))?;
            if !name.starts_with('-') || name.contains(['=', ' ']) {
                return Err(format!("args: '{name}' is not a name such as \"--workers\""));
            }
        }
        for (name, choice) in &self.env {
            choice.check(&format!("env: {name}"))?;
            if matches!(choice, Choice::Flag(_)) {
                return Err(format!("env: {name} needs values, for example \"1..128\""));
            }
        }
        if !self.cpus.is_empty() && parse_cpus(&self.cpus).is_none() {
            let cpus = &self.cpus;
            return Err(format!("cpus: '{cpus}' is not a list of CPUs; for example \"0-7\""));
        }
        if let Some(name) = self.services.iter().find(|name| !services.contains(name.as_str())) {
            return Err(format!("services: there is no service '{name}' in this list"));
        }
        let LimitChoices { cpu, memory } = &self.limits;
        if let Some(cpu) = cpu.as_ref().filter(|cpu| span(cpu).is_none_or(|ends| ends.low <= 0.0)) {
            return Err(format!(
                "limits.cpu: '{cpu}' is not a span of CPUs; for example \"0.1..8\""
            ));
        }
        if let Some(memory) = memory.as_ref().filter(|memory| span_of_bytes(memory).is_none()) {
            return Err(format!(
                "limits.memory: '{memory}' is not a span of sizes; for example \"64M..8G\""
            ));
        }
        Ok(())
    }

    /// Whether a client may ask for this; if not, what it asked for and what the list allows.
    pub(crate) fn permits(&self, order: &StartOrder) -> Result<(), String> {
        self.permits_args(&order.args)?;
        self.permits_env(&order.env)?;
        self.permits_cpus(&order.cpus)?;
        for name in &order.services {
            if !self.services.contains(name) {
                let lists = listed(&self.services.join(", "), "services = [\"postgres\"]");
                return Err(format!("it asks for the service '{}', and {lists}", shown(name)));
            }
        }
        self.permits_limits(&order.limits)
    }

    pub(crate) fn permits_args(&self, args: &[String]) -> Result<(), String> {
        if args.len() > ARGS_MAX {
            let count = args.len();
            return Err(format!(
                "it asks for {count} arguments, and at most {ARGS_MAX} are accepted"
            ));
        }
        let mut seen = BTreeSet::new();
        let mut words = args.iter();
        while let Some(word) = words.next() {
            let (name, joined) = match word.split_once('=') {
                Some((name, value)) => (name, Some(value)),
                None => (word.as_str(), None),
            };
            let Some(choice) = self.args.get(name) else {
                let allowed = listed(&self.shown_args(), "args = { \"--workers\" = \"1..128\" }");
                return Err(format!("it asks for the argument '{}', and {allowed}", shown(name)));
            };
            if !seen.insert(name) {
                return Err(format!("it asks for the argument {name} twice, and once is allowed"));
            }
            let value = match (choice, joined) {
                (Choice::Flag(_), None) => continue,
                (Choice::Flag(_), Some(value)) => {
                    let value = shown(value);
                    return Err(format!(
                        "it asks for {name} with the value '{value}', and the list allows {name} \
                         without a value"
                    ));
                }
                (_, Some(value)) => Some(value),
                (_, None) => words.next().map(String::as_str),
            };
            let allowed = choice.show();
            let Some(value) = value else {
                return Err(format!(
                    "it asks for {name} without a value, and the list allows {allowed}"
                ));
            };
            if !choice.takes(value) {
                let value = shown(value);
                return Err(format!("it asks for {name} {value}, and the list allows {allowed}"));
            }
        }
        Ok(())
    }

    fn shown_args(&self) -> String {
        let args = self.args.iter().map(|(name, choice)| format!("{name} {}", choice.show()));
        args.map(|arg| arg.trim_end().to_string()).collect::<Vec<_>>().join(", ")
    }

    pub(crate) fn permits_env(&self, env: &BTreeMap<String, String>) -> Result<(), String> {
        for (name, value) in env {
            let Some(choice) = self.env.get(name) else {
                let names: Vec<_> = self.env.keys().map(String::as_str).collect();
                let allowed = listed(&names.join(", "), "env = { GOMAXPROCS = \"1..128\" }");
                return Err(format!("it asks for the variable '{}', and {allowed}", shown(name)));
            };
            if !choice.takes(value) {
                let (value, allowed) = (shown(value), choice.show());
                return Err(format!("it asks for {name}={value}, and the list allows {allowed}"));
            }
        }
        Ok(())
    }

    fn permits_cpus(&self, cpus: &str) -> Result<(), String> {
        if cpus.is_empty() {
            return Ok(());
        }
        let Some(asked) = parse_cpus(cpus) else {
            let cpus = shown(cpus);
            return Err(format!("it asks for the CPUs '{cpus}', which is not a list such as 0-3"));
        };
        let allowed = parse_cpus(&self.cpus).unwrap_or_default();
        if asked.iter().all(|cpu| allowed.contains(cpu)) {
            return Ok(());
        }
        let allowed = listed(&self.cpus, "cpus = \"0-3\"");
        Err(format!("it asks for the CPUs {}, and {allowed}", shown(cpus)))
    }

    fn permits_limits(&self, limits: &Limits) -> Result<(), String> {
        let LimitChoices { cpu, memory } = &self.limits;
        if let Some(asked) = limits.cpu {
            let ends = cpu.as_deref().and_then(span);
            if !ends.is_some_and(|ends| (ends.low..=ends.high).contains(&asked)) {
                let allowed =
                    listed(cpu.as_deref().unwrap_or_default(), "limits = { cpu = \"0.1..8\" }");
                return Err(format!("it asks for a limit of {asked} CPUs, and {allowed}"));
            }
        }
        if let Some(asked) = limits.memory_bytes {
            let ends = memory.as_deref().and_then(span_of_bytes);
            if !ends.is_some_and(|(low, high)| (low..=high).contains(&asked)) {
                let example = "limits = { memory = \"64M..8G\" }";
                let allowed = listed(memory.as_deref().unwrap_or_default(), example);
                let asked = show_bytes(asked as f64);
                return Err(format!("it asks for a limit of {asked} of memory, and {allowed}"));
            }
        }
        Ok(())
    }
}

/// What the list allows, or how to make it allow something.
fn listed(allowed: &str, example: &str) -> String {
    if allowed.is_empty() {
        return format!(
            "the list allows none; in [target.allow] on the probe's host, for example {example}"
        );
    }
    format!("the list allows {allowed}")
}

/// A part of a request, for a line of text.
fn shown(text: &str) -> String {
    text.chars().take(SHOWN_MAX_CHARS).collect()
}

#[cfg(test)]
mod tests {
    use crate::Targets;
    use model::starting::{Limits, StartOrder};
    use proptest::prelude::*;

    const LIST: &str = r#"
        [[target]]
        name = "web"
        run = ["web"]
        ready = { event = "listening" }
        [target.allow]
        env = { GOMAXPROCS = "1..128", GOGC = ["off", "100"] }
        cpus = "0-3,6"
        services = ["postgres"]
        limits = { cpu = "0.1..8", memory = "64M..8G" }
        [target.allow.args]
        "--workers" = "1..128"
        "--share" = "0.1..0.9"
        "--hub" = ["one", "sharded"]
        "--prefork" = true
        "--db" = ["postgres://{postgres}/bench"]

        [[target]]
        name = "bare"
        run = ["bare"]
        ready = { event = "listening" }

        [[service]]
        name = "postgres"
        run = ["postgres"]
        ready = { event = "listening" }

        [[service]]
        name = "etcd"
        run = ["etcd"]
        ready = { event = "listening" }
    "#;

    fn order(change: impl FnOnce(&mut StartOrder)) -> StartOrder {
        let mut order = StartOrder { server: "web".to_string(), ..StartOrder::default() };
        change(&mut order);
        order
    }

    fn with_args(words: &str) -> StartOrder {
        order(|order| order.args = words.split_whitespace().map(str::to_string).collect())
    }

    fn with_env(name: &str, value: &str) -> StartOrder {
        order(|order| order.env = [(name.to_string(), value.to_string())].into())
    }

    fn with_limits(cpu: Option<f64>, memory_bytes: Option<u64>) -> StartOrder {
        order(|order| order.limits = Limits { cpu, memory_bytes })
    }

    fn permitted(order: &StartOrder) -> Result<(), String> {
        let list = Targets::parse(LIST).unwrap();
        list.target(&order.server).and_then(|target| target.permits(order))
    }

    #[test]
    fn what_the_list_allows_is_taken() {
        let all = order(|order| {
            let args = ["--workers", "8", "--share=0.5", "--hub", "one", "--prefork", "--db"];
            order.args = args.map(str::to_string).to_vec();
            order.args.push("postgres://{postgres}/bench".to_string());
            order.env = [("GOMAXPROCS", "4"), ("GOGC", "off")]
                .map(|(name, value)| (name.to_string(), value.to_string()))
                .into();
            order.cpus = "1,6".to_string();
            order.services = vec!["postgres".to_string()];
            order.limits = Limits { cpu: Some(0.5), memory_bytes: Some(256_000_000) };
        });
        assert_eq!(permitted(&all), Ok(()));
        assert_eq!(permitted(&order(|_| ())), Ok(()));
        assert_eq!(permitted(&order(|order| order.server = "bare".to_string())), Ok(()));
        for args in ["--workers 1", "--workers 128", "--share 0.9", "--workers=007"] {
            assert_eq!(permitted(&with_args(args)), Ok(()), "{args}");
        }
    }

    #[test]
    fn what_the_list_does_not_allow_is_refused_with_what_it_does() {
        let bare = |change: fn(&mut StartOrder)| {
            order(|order| {
                order.server = "bare".to_string();
                change(order);
            })
        };
        let of = |text: &str| text.to_string();
        let cases: Vec<(StartOrder, &[&str])> = vec![
            (order(|order| order.server = of("/bin/sh")), &["no target '/bin/sh'", "web, bare"]),
            (order(|order| order.server = of("postgres")), &["no target 'postgres'", "web, bare"]),
            (with_args("--exec /bin/sh"), &["the argument '--exec'", "--workers 1..128"]),
            (with_args("/etc/passwd"), &["the argument '/etc/passwd'", "--hub one|sharded"]),
            (with_args("--workers 129"), &["--workers 129", "allows 1..128"]),
            (with_args("--workers 0"), &["--workers 0", "allows 1..128"]),
            (with_args("--workers 2.5"), &["--workers 2.5", "allows 1..128"]),
            (with_args("--workers=1e1"), &["--workers 1e1", "allows 1..128"]),
            (with_args("--workers $(id)"), &["--workers $(id)", "allows 1..128"]),
            (with_args("--workers"), &["--workers without a value", "1..128"]),
            (with_args("--workers 1 --workers 2"), &["--workers twice"]),
            (with_args("--share inf"), &["--share inf", "0.1..0.9"]),
            (with_args("--hub three"), &["--hub three", "one|sharded"]),
            (with_args("--hub one|sharded"), &["--hub one|sharded"]),
            (with_args("--prefork=9"), &["--prefork with the value '9'", "without a value"]),
            (with_args("--prefork 9"), &["the argument '9'"]),
            (with_args(&"--prefork ".repeat(65)), &["65 arguments", "at most 64"]),
            (with_env("LD_PRELOAD", "/x.so"), &["LD_PRELOAD", "GOGC, GOMAXPROCS"]),
            (with_env("GOMAXPROCS", "0"), &["GOMAXPROCS=0", "1..128"]),
            (with_env("GOGC", "50"), &["GOGC=50", "off|100"]),
            (order(|order| order.cpus = of("4")), &["the CPUs 4", "0-3,6"]),
            (order(|order| order.cpus = of("0-9")), &["the CPUs 0-9", "0-3,6"]),
            (order(|order| order.cpus = of("all")), &["'all'", "such as 0-3"]),
            (order(|order| order.services = vec![of("etcd")]), &["'etcd'", "allows postgres"]),
            (with_limits(Some(0.05), None), &["0.05 CPUs", "0.1..8"]),
            (with_limits(Some(f64::NAN), None), &["NaN CPUs", "0.1..8"]),
            (with_limits(None, Some(1 << 40)), &["of memory", "64M..8G"]),
            (bare(|order| order.args = vec!["-v".into()]), &["'-v'", "none", "--workers"]),
            (bare(|order| order.cpus = "0".into()), &["CPUs 0", "none", "cpus = "]),
            (bare(|order| order.limits.cpu = Some(1.0)), &["1 CPUs", "none", "0.1..8"]),
            (bare(|order| order.services = vec!["postgres".into()]), &["none", "services = "]),
            (bare(|order| order.env = [("A".into(), "1".into())].into()), &["'A'", "none"]),
        ];
        for (order, words) in cases {
            let why = permitted(&order).expect_err(&format!("{order:?}"));
            for word in words {
                assert!(why.contains(word), "'{word}' in: {why}");
            }
        }
        let long = with_args(&"x".repeat(5000));
        assert!(permitted(&long).unwrap_err().len() < 400, "what is shown is bounded");
    }

    proptest! {
        /// Whatever is requested, what passes consists of words that the list itself allows.
        #[test]
        fn no_word_passes_that_the_list_does_not_name(
            args in prop::collection::vec(
                prop_oneof![
                    any::<String>(),
                    "-{0,2}[a-z]{1,8}(=[^ ]{0,8})?",
                    prop::sample::select(vec!["--workers", "--hub", "--prefork", "one", "7"])
                        .prop_map(str::to_string),
                    "--workers=-?[0-9]{1,4}",
                ],
                0..6,
            ),
        ) {
            if permitted(&order(|order| order.args = args.clone())).is_ok() {
                for word in &args {
                    let (name, value) = word.split_once('=').unwrap_or((word, "1"));
                    let names = ["--workers", "--share", "--hub", "--prefork", "--db"];
                    let is_name = names.contains(&name);
                    let is_word = ["one", "sharded"].contains(&word.as_str());
                    let is_number = |text: &str| {
                        text.parse::<f64>().is_ok_and(|value| (0.1..=128.0).contains(&value))
                    };
                    let is_value = is_number(value) || ["one", "sharded"].contains(&value);
                    prop_assert!(is_name && is_value || is_word || is_number(word), "{args:?}");
                }
            }
        }
    }

    #[test]
    fn a_list_that_cannot_be_meant_is_refused_as_a_whole() {
        for (was, is, said) in [
            ("\"--workers\" = \"1..128\"", "\"--workers\" = \"128..1\"", "--workers"),
            ("\"--workers\" = \"1..128\"", "\"--workers\" = \"many\"", "a span of numbers"),
            ("\"--prefork\" = true", "\"--prefork\" = false", "--prefork"),
            ("\"--prefork\" = true", "\"prefork\" = true", "not a name such as"),
            ("GOGC = [\"off\", \"100\"]", "GOGC = true", "GOGC needs values"),
            ("cpus = \"0-3,6\"", "cpus = \"all\"", "not a list of CPUs"),
            ("[\"postgres\"]\n", "[\"mysql\"]\n", "no service 'mysql'"),
            ("cpu = \"0.1..8\"", "cpu = \"0..8\"", "not a span of CPUs"),
            ("memory = \"64M..8G\"", "memory = \"8G\"", "not a span of sizes"),
            ("[target.allow]", "[target.allow]\ncommand = true", "command"),
            ("name = \"bare\"", "name = \"bare\"\nlisten = \"eth0\"", "192.0.2.7"),
        ] {
            assert!(LIST.contains(was), "{was}");
            let why = Targets::parse(&LIST.replace(was, is)).unwrap_err().to_string();
            assert!(why.contains(said), "'{said}' in: {why}");
        }
    }
}
