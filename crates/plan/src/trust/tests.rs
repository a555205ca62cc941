//! Tests of what a plan needs trust for, however it is written.

use super::*;
use crate::GivenHosts;
use std::collections::BTreeSet;

const TARGETS: &str = r#"
[[target]]
name = "web"
run = ["web", "--port", "{port}"]
ready = { event = "listening" }
allow = { args = { "--workers" = "1..8", "--prefork" = true }, env = { GOMAXPROCS = "1..8" } }
"#;

fn needs(body: &str) -> Vec<String> {
    let targets = Targets::parse(TARGETS).unwrap();
    let text = format!("schema = \"ceiling.plan/1\"\nquestion = \"?\"\n{body}");
    let plan = Plan::parse(&text, &targets, &GivenHosts::default());
    keys(&plan.unwrap_or_else(|error| panic!("{body}: {error}")), &targets)
}

fn needs_of_load(load: &str) -> Vec<String> {
    needs(&format!("server = {{ target = \"web\" }}\n[load]\ncommand = \"load\"\n{load}"))
}

/// A new option needs a row in `model::option`; until then it needs trust.
#[test]
fn every_option_of_a_load_has_its_facts() {
    let commands = command();
    let arguments = commands.get_subcommands().flat_map(clap::Command::get_arguments);
    let mut seen = BTreeSet::new();
    for argument in arguments {
        let Some(name) = argument.get_long().filter(|name| *name != "help") else { continue };
        let facts = option::named(name);
        let facts = facts.unwrap_or_else(|| panic!("--{name}: give it a row in model::option"));
        assert_eq!(facts.letter, argument.get_short(), "--{name}");
        let is_flag = facts.value == option::Value::Flag;
        assert_eq!(is_flag, !argument.get_action().takes_values(), "--{name}");
        seen.insert(name.to_string());
    }
    let names: Vec<&str> = option::ALL.iter().map(|facts| facts.name).collect();
    assert_eq!(names, seen.iter().map(String::as_str).collect::<Vec<_>>(), "each once, in order");
}

#[test]
fn an_option_without_facts_needs_trust() {
    for reach in [None, Some(Reach::File), Some(Reach::Run)] {
        let set = Set { name: "new".to_string(), reach, values: vec!["1".to_string()] };
        assert_eq!(set.needs().as_deref(), Some("load.new"));
    }
}

/// A value of an option that can hold a file's name is that of an option that says so.
#[test]
fn options_with_files_are_classified_as_such() {
    let commands = command();
    let arguments = commands.get_subcommands().flat_map(clap::Command::get_arguments);
    let values = arguments.filter(|one| one.get_action().takes_values());
    for argument in values {
        let name = argument.get_long().unwrap_or_default();
        let value = argument.get_value_names().unwrap_or_default();
        let is_file = value.iter().any(|value| ["FILE", "PATH", "DIR"].contains(&value.as_str()));
        // Paths of URLs.
        let is_known = ["events", "write-path"].contains(&name);
        let is_harmless = option::named(name).is_some_and(|facts| facts.reach == Reach::Load);
        assert!(!is_file || is_known || !is_harmless, "--{name}");
    }
}

#[test]
fn load_on_the_started_server_needs_no_trust() {
    for load in [
        "",
        "path = \"/a?b=c\"\nheader = [\"A: b\", \"B: {seq}\"]\nbody = \"{ }\"",
        "url = \"https://{addr}/x\"\ninsecure = true\nsni = \"a.test\"",
        "expand = 10\npath = \"/{{seq}}\"\nheader = \"A: {{ uuid }}\"\nbody = \"{{random:1..9}}\"",
        "header = \"A: {{csv:/etc/passwd:x}}\"",
        "rate = \"1k\"\narrivals = \"poisson\"\nexpect = \"p99<1s\"\nlink = \"25G\"",
        "profile = \"auto\"\nduration = \"10s\"",
        "tool = \"wrk\"\nwarmup = \"0s\"",
        "source = \"10.0.0.1\"\ncpus = \"0,7\"\nthreads = 2\ndriver = \"uring\"",
    ] {
        assert_eq!(needs_of_load(load), [""; 0], "{load}");
    }
    for command in ["ramp", "churn", "find", "fanout"] {
        let more = if command == "find" { "load.slo = \"p99<1s\"" } else { "" };
        let text = format!("server.target = \"web\"\nload.command = \"{command}\"\n{more}");
        assert_eq!(needs(&text), [""; 0], "{command}");
    }
}

/// The parser that runs reads blanks around the word, in every part of a request.
#[test]
fn a_file_in_a_template_needs_trust_however_it_is_spelled() {
    for template in [
        "{{csv:F:a}}",
        "{{ csv:F:a }}",
        "{{csv :F:a}}",
        "{{\\tcsv\\t:F:a}}",
        "{{\\u00a0csv\\u2003:\\u3000F :a}}",
        "{{{{ {{csv: F :a}}",
        "{{{{csv:x}} {{seq}}{{ csv:F:a}}",
    ] {
        for load in [
            format!("header = [\"A: b\", \"B: {template}\"]"),
            format!("secret-header = \"x\"\nheader = \"x: {template}\""),
            format!("body = \"{template}\""),
            format!("path = \"/{}\"", template.replace(['\u{20}'], "").replace("\\t", "")),
        ] {
            // A path has no blanks, and two of the spellings are lost with them.
            let needs = needs_of_load(&format!("expand = 4\n{load}"));
            assert_eq!(needs.len(), 1, "{load}: {needs:?}");
            assert!(needs[0].contains("{{csv:FILE}}") || needs[0] == "load", "{needs:?}");
        }
    }
}

/// Nothing was found by looking at the text of keys: the parser knows abbreviations and old names.
#[test]
fn an_option_needs_trust_wherever_it_stands() {
    for (load, key) in [
        ("keep-requests = true", "load.keep-requests"),
        ("sample-failures = true", "load.sample-failures"),
        ("body-file = \"/etc/hostname\"", "load.body-file"),
        ("proxy = \"http://127.0.0.1:9\"", "load.proxy"),
        ("profile = \"127.0.0.1:6060\"", "load.profile"),
        ("evidence = \"kernel\"", "load.evidence"),
        ("profile = [\"auto\", \"127.0.0.1:6060\"]", "load.profile"),
        ("url = \"--targets=mix://{addr}\"", "load.targets"),
        ("url = \"--bearer-file=x://{addr}/y\"", "load.bearer-file"),
        ("url = \"-fx://{addr}\"", "load.body-file"),
        ("url = \"-kfx://{addr}\"", "load.body-file"),
    ] {
        let needs = needs_of_load(load);
        let is_found = needs.iter().any(|one| one == key || one.starts_with("load, which"));
        assert!(is_found, "{load}: {needs:?}");
    }
}

#[test]
fn what_the_list_allows_a_server_needs_no_trust_and_anything_else_does() {
    let with = |server: &str| needs(&format!("server = {{ target = \"web\", {server} }}"));
    for allowed in [
        "args = [\"--workers\", \"2\"]",
        "args = [\"--workers=8\", \"--prefork\"]",
        "env = { GOMAXPROCS = \"1\" }",
        "cpus = \"0-1\", limits = { cpu = 0.5, memory = \"64M\" }",
    ] {
        assert_eq!(with(allowed), [""; 0], "{allowed}");
    }
    for (more, key) in [
        ("args = [\"--workers\", \"99\"]", "server.args (--workers 99)"),
        ("args = [\"--load-module\", \"/tmp/x.so\"]", "server.args (--load-module /tmp/x.so)"),
        ("args = [\"--prefork\", \"-c/tmp/x\"]", "server.args (--prefork -c/tmp/x)"),
        ("env = { GOMAXPROCS = \"x\" }", "server.env.GOMAXPROCS"),
        ("env = { GOMAXPROCS = \"1\", LD_PRELOAD = \"/tmp/x.so\" }", "server.env.LD_PRELOAD"),
    ] {
        assert_eq!(with(more), [key], "{more}");
    }
    assert_eq!(needs("server.addr = \"192.0.2.7:80\""), ["server.addr"]);
}

#[test]
fn a_rehearsal_shows_every_file_also_those_that_files_name() {
    let text = "schema = \"ceiling.plan/1\"\nquestion = \"?\"\n\
                server = { target = \"web\", env = { LD_PRELOAD = \"/tmp/evil.so\", \
                DB_PASSWORD = \"QZX\" } }\nclient = { nice = 5, neighbours = \"1\" }\n\
                [load]\ncommand = \"load\"\nexpand = 2\ntargets = \"mix.txt\"\n\
                header = \"A: {{ csv:keys.csv:a }}\"\nbearer-file = \"token\"\n\
                probe = \"192.0.2.8:9200\"\nprobe-token-file = \"probe.token\"\n";
    let targets = Targets::parse(TARGETS).unwrap();
    let plan = Plan::parse(text, &targets, &GivenHosts::default()).unwrap();
    let read = |name: &str| match name {
        "mix.txt" => Ok(b"POST /a\n@body.bin\n\nGET /{{csv:rows.csv:b}}\n".to_vec()),
        "body.bin" | "token" => Ok(b"abc".to_vec()),
        "rows.csv" => Ok(b"b\n1\n".to_vec()),
        "keys.csv" => Ok(b"a\n1\n".to_vec()),
        name => Err(format!("cannot read {name}")),
    };
    let (list, root) = (std::path::Path::new("/srv/list.toml"), std::path::Path::new("/srv"));
    let around = crate::Surroundings { targets: &targets, list: Some(list), root, read: &read };
    let said = plan.rehearsed(around);
    for part in [
        "programs, run in /srv, from /srv/list.toml\n  web     web --port '{port}'\n",
        "  env     LD_PRELOAD=/tmp/evil.so\n",
        "  env     DB_PASSWORD=***\n",
        "  client  priority 5\n",
        "  client  busy neighbours on CPUs 1\n",
        "needs --trust: server.env.DB_PASSWORD, server.env.LD_PRELOAD, ",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    for file in ["mix.txt", "body.bin", "rows.csv", "keys.csv", "token", "probe.token"] {
        assert!(said.contains(&format!("  reads   {file}\n")), "{file}: {said}");
    }
    // A text of the plan is no line of ours.
    let lying = text.replace("question = \"?\"", "question = \"?\\nneeds --trust: nothing\"");
    let plan = Plan::parse(&lying, &targets, &GivenHosts::default()).unwrap();
    let said = plan.rehearsed(around);
    assert!(said.starts_with("?\\nneeds --trust: nothing\n"), "{said}");
    assert_eq!(said.lines().filter(|line| line.starts_with("needs --trust")).count(), 1);
    let gone = |_: &str| Err("no such file".to_string());
    let said = plan.rehearsed(crate::Surroundings { read: &gone, ..around });
    assert!(said.contains("  reads   mix.txt\n") && said.contains("  reads   more may follow"));
}

#[test]
fn a_rehearsal_asks_for_the_speed_of_a_link_that_the_load_crosses() {
    let targets = Targets::parse(TARGETS).unwrap();
    let text = "schema = \"ceiling.plan/1\"\nquestion = \"?\"\nhosts.there = {}\n\
                server = { target = \"web\", host = \"there\" }\n";
    let shown = |values: &[(&str, &str)]| {
        let pair = |(key, value): &(&str, &str)| (format!("hosts.{key}"), value.to_string());
        let mut hosts = GivenHosts::default();
        hosts.add_values(&values.iter().map(pair).collect::<Vec<_>>()).unwrap();
        let read = |_: &str| Err("nothing is read".to_string());
        let around = crate::Surroundings {
            targets: &targets,
            list: None,
            root: std::path::Path::new("/"),
            read: &read,
        };
        Plan::parse(text, &targets, &hosts).unwrap().rehearsed(around)
    };
    assert!(shown(&[]).contains("for example hosts.there.link = \"25G\""));
    let one = shown(&[("there.probe", "192.0.2.7:9200"), ("there.link", "50G")]);
    assert!(one.contains("link    of client: ") && one.contains("hosts.client.link"), "{one}");
    assert!(!shown(&[("there.here", "true")]).contains("link    of"), "loopback is no link");
    assert!(!shown(&[("there.link", "50G"), ("client.link", "50G")]).contains("link    of"));
}
