//! Tests of what people write, and of what they get wrong.

use crate::{Cell, Change, Duel, GivenHosts, Plan, PlanError, Server, Targets};
use proptest::prelude::*;

const TARGETS: &str = r#"
[[target]]
name = "fiber"
run = ["bin/target-fiber", "--port", "{port}"]
ready = { event = "listening" }

[[service]]
name = "postgres"
run = ["scripts/postgres", "{dir}"]
ready = { event = "listening" }
"#;

fn parse(body: &str) -> Result<Plan, PlanError> {
    let targets = Targets::parse(TARGETS).unwrap();
    let text = format!("schema = \"ceiling.plan/1\"\nquestion = \"Why?\"\n{body}");
    Plan::parse(&text, &targets, &GivenHosts::default())
}

fn cells(body: &str) -> Vec<Cell> {
    parse(body).unwrap().cells
}

fn error(body: &str) -> String {
    parse(body).unwrap_err().to_string()
}

#[test]
fn a_cell_changes_what_all_have_in_common() {
    let cells = cells(
        r#"
walls = ["S1"]
[server]
target = "fiber"
cpus = "0"
services = ["postgres"]
[load]
path = "/read"
connections = 64
[[cell]]
name = "as it is"
[[cell]]
name = "deep"
load = { depth = 16, confirm = true, strict = false, streams = false, header = ["A: 1", "B: 2"] }
server = { cpus = "0-1", args = ["--db={postgres}"], env = { GOMAXPROCS = "1" } }
walls = []
"#,
    );
    assert_eq!(cells[0].load.options, ["--connections=64"]);
    assert_eq!(cells[0].load.url, "http://{addr}/read");
    assert_eq!(cells[0].walls[0].id(), "S1");
    let options = ["--confirm", "--connections=64", "--depth=16", "--header=A: 1", "--header=B: 2"];
    assert_eq!(cells[1].load.options, options);
    assert!(cells[1].walls.is_empty());
    let Server::Started { target, args, cpus, env, services, .. } = &cells[1].server else {
        panic!()
    };
    assert_eq!((target.as_str(), cpus.as_str()), ("fiber", "0-1"));
    assert_eq!(
        (args.as_slice(), services.as_slice()),
        (&["--db={postgres}".into()][..], &["postgres".into()][..])
    );
    assert_eq!(env["GOMAXPROCS"], "1");
}

#[test]
fn every_combination_is_a_cell_and_the_last_key_turns_fastest() {
    let cells = cells(
        "server.target = \"fiber\"\n[[vary]]\nkey = \"load.path\"\nvalues = [\"/a\", \"/b\"]\n\
         [[vary]]\nkey = \"server.args\"\nvalues = [[\"--workers\", \"1\"], []]\n",
    );
    let names: Vec<_> = cells.iter().map(|cell| cell.name.as_str()).collect();
    let expected = [
        "path /a, args --workers 1",
        "path /a, args none",
        "path /b, args --workers 1",
        "path /b, args none",
    ];
    assert_eq!(names, expected);
    assert_eq!(cells[3].load.url, "http://{addr}/b");
}

#[test]
fn an_error_says_what_is_wrong_and_what_is_accepted() {
    for (body, said) in [
        ("server.target = \"nginx\"", "no target 'nginx'; accepted are fiber"),
        ("server = {}", "either target, which is started, or addr"),
        ("server = { target = \"fiber\", addr = \"h:1\" }", "either target"),
        ("server = { addr = \"h:1\", cpus = \"0\" }", "this plan does not start"),
        ("server = { target = \"fiber\", services = [\"etcd\"] }", "accepted are postgres, fiber"),
        ("server = { target = \"fiber\", cpu = \"0\" }", "unknown field `cpu`"),
        ("server.target = \"fiber\"\nload.command = \"probe\"", "not one of load, ramp"),
        ("server.target = \"fiber\"\nload.path = \"read\"", "must start with a slash"),
        ("server.target = \"fiber\"\nload = { path = \"/\", url = \"tcp://{addr}\" }", "exclude"),
        ("server.target = \"fiber\"\nload.url = \"http://h/\"", "a scheme and {addr}"),
        ("server.target = \"fiber\"\nload.runs = \"x\"", "set by ceiling run itself"),
        ("server.target = \"fiber\"\nload.header = { a = 1 }", "a text, a number, true"),
        ("server.target = \"fiber\"\nload.thread = false", "there is no option --thread;"),
        ("server = { target = \"fiber\", cpus = \"0-\" }", "server.cpus is '0-', but takes"),
        ("server.target = \"fiber\"\nclient.neighbours = \"x\"", "client.neighbours is 'x'"),
        ("server.target = \"fiber\"\nclient.nice = 20", "-20 to 19"),
        ("server.target = \"fiber\"\nwalls = [\"Z1\"]", "no wall 'Z1'; for example"),
        (
            "server.target = \"fiber\"\nvary = [{ key = \"depth\", values = [1] }]",
            "must start with",
        ),
        ("server.target = \"fiber\"\nvary = [{ key = \"load.depth\", values = [] }]", "makes 0"),
        ("server.target = \"fiber\"\ncell = [{ name = \"a\" }, { name = \"a\" }]", "this name"),
        ("server.target = 1", "invalid type"),
        ("servers = 1", "line 3: unknown field `servers`"),
        ("server = ", "line 3: "),
    ] {
        let message = error(body);
        assert!(message.contains(said), "{body}: {message}");
        assert_eq!(message.lines().count(), 1, "{message}");
    }
    let other = Plan::parse(
        "schema = \"ceiling.plan/2\"\nquestion = \"?\"",
        &Targets::default(),
        &GivenHosts::default(),
    );
    assert!(other.unwrap_err().to_string().contains("'ceiling.plan/2' where 'ceiling.plan/1'"));
}

#[test]
fn a_cell_has_the_url_or_the_path_that_was_said_last() {
    let body = "server.target = \"fiber\"\nload.path = \"/read\"\n[[cell]]\nname = \"one\"\n\
                [[cell]]\nname = \"two\"\nload.url = \"tcp://{addr}\"\n";
    let urls: Vec<String> = cells(body).into_iter().map(|cell| cell.load.url).collect();
    assert_eq!(urls, ["http://{addr}/read", "tcp://{addr}"]);
    let body = "server.target = \"fiber\"\nload.url = \"tcp://{addr}\"\n[[vary]]\n\
                key = \"load.path\"\nvalues = [\"/a\", \"/b\"]\n";
    let urls: Vec<String> = cells(body).into_iter().map(|cell| cell.load.url).collect();
    assert_eq!(urls, ["http://{addr}/a", "http://{addr}/b"]);
}

#[test]
fn a_list_is_levels_where_an_option_is_given_once() {
    let of =
        |load: &str| cells(&format!("server.target = \"fiber\"\nload = {{ {load} }}")).remove(0);
    let cell = of("connections = [100, 500, 1000], header = [\"A: 1\", \"B: 2\"]");
    let options = ["--connections=100,500,1000", "--header=A: 1", "--header=B: 2"];
    assert_eq!(cell.load.options, options);
    assert_eq!(cell.check(), Ok(()));
    let rates = of("command = \"ramp\", rate = [\"100k\", 200000, \"400k..800k\"]");
    assert_eq!(rates.load.options, ["--rate=100k,200000,400k..800k"]);
    assert_eq!(rates.check(), Ok(()));
    let falling = of("connections = [500, 100]").check().unwrap_err();
    assert!(falling.contains("'500,100' is not a count, a range") && falling.contains("rises"));
    for wrong in ["[]", "[[1], [2]]", "[true]"] {
        let error =
            error(&format!("server.target = \"fiber\"\nload = {{ connections = {wrong} }}"));
        assert!(error.contains("connections = [100, 500, 1000]"), "{error}");
    }
}

#[test]
fn a_product_that_never_ends_is_refused() {
    let vary = "[[vary]]\nkey = \"load.depth\"\nvalues = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]\n";
    let message = error(&format!("server.target = \"fiber\"\n{}", vary.repeat(40)));
    assert!(message.contains("makes 10000 cells, but a plan has 1 to 1000"), "{message}");
}

#[test]
fn a_target_without_words_is_refused() {
    let text = "[[service]]\nname = \"s\"\nrun = []\nready = { event = \"listening\" }\n";
    assert!(Targets::parse(text).unwrap_err().to_string().contains("'s' has no words"));
}

proptest! {
    /// Files are hostile until parsed.
    #[test]
    fn any_text_is_read_or_refused(text in "[a-z\\[\\]={}\",. \\n0-9]{0,200}") {
        let targets = Targets::parse(TARGETS).unwrap();
        let _ = Targets::parse(&text);
        let _ = parse(&text);
        let _ = Plan::parse(&text, &targets, &GivenHosts::default());
    }
}

/// A misspelled `listen` left the server on loopback.
#[test]
fn an_unknown_key_of_a_list_is_refused_with_its_line() {
    let read = |more: &str| Targets::parse(&format!("{TARGETS}{more}")).map(drop);
    for more in [
        "build = [\"go\"]\nversion = [\"x\"]\nstop = { signal = \"SIGTERM\" }\nprofile = {}\n",
        "listen = \"192.0.2.7\"\n[[target]]\nname = \"b\"\nrun = [\"b\"]\n\
         ready = { event = \"up\", path = \"/\", status = 200, body = \"ok\" }\n",
    ] {
        assert_eq!(read(more), Ok(()), "{more}");
    }
    for (more, part) in [
        ("listn = \"192.0.2.7\"", "line 11: unknown field `listn`, expected one of `name`"),
        ("[[servers]]\nname = \"b\"", "line 11: unknown field `servers`, expected `target`"),
        ("[service.alow]", "line 11: unknown field `alow`"),
    ] {
        let why = read(more).unwrap_err().to_string();
        assert!(why.contains(part), "{more}: {why}");
    }
}

#[test]
fn knobs_are_read_and_what_is_no_knob_is_told() {
    let read = |tune: &str| {
        let text = format!("server.target = \"fiber\"\n[[cell]]\nname = \"a\"\ntune = {tune}\n");
        parse(&text).map(|plan| plan.cells[0].tune.clone())
    };
    let values = "{ rps = \"0-1\", x = 7, y.z = 8 }";
    let tune = read(&format!("{{ only = [\"rps\"], cpus = \"0/1\", values = {values} }}"));
    let tune = tune.unwrap().pop().unwrap();
    assert_eq!((tune.only, tune.cpus.as_str()), (vec!["rps".to_string()], "0/1"));
    assert_eq!(tune.values["rps"], "0-1");
    assert_eq!((tune.values["x"].as_str(), tune.values["y/z"].as_str()), ("7", "8"));
    for nothing in [
        "{}",
        "{ only = [], cpus = \"0/1\" }",
        "{ only = [], profile = \"seeds\" }",
        "{ values = {}, device = \"eth0\" }",
    ] {
        assert_eq!(read(nothing).unwrap(), [], "{nothing}");
    }
    for (wrong, said) in [
        ("{ profile = \"seeds\" }", "tune.only"),
        ("{ profile = \"seeds\" }", "[\"rps\"], or only = [] to turn none"),
        ("{ profile = \"seeds\", values = {} }", "[\"rps\"], or only = [] to turn none"),
        ("{ cpus = \"0/1\" }", "tune.cpus is '0/1', but tune.only"),
        ("{ device = \"eth0\" }", "tune.device is 'eth0', but tune.only"),
        ("{ knobs = [\"rps\"] }", "unknown field"),
        ("{ only = [\"rps\"], values = { rps = true } }", "a text or a number"),
    ] {
        let error = read(wrong).unwrap_err().to_string();
        assert!(error.contains(said), "{error}");
    }
}

/// Two knobs are two factors, so that their interaction is known.
#[test]
fn each_knob_can_be_a_factor_of_its_own() {
    let vary = |knob: &str, values: &str| {
        format!("[[vary]]\nkey = \"tune.only.{knob}\"\nvalues = {values}\n")
    };
    let both = [vary("rps", "[false, true]"), vary("rfs", "[false, true]")].concat();
    let base = "server.target = \"fiber\"\ntune = { profile = \"seeds\", only = [\"xps\"], \
                ensure = [\"irqbalance\"] }\n";
    let plan = parse(&format!("{base}{both}[design]\n")).unwrap();
    let of = |cell: &Cell| (cell.name.clone(), cell.tune[0].only.join(" "));
    let found: Vec<_> = plan.cells.iter().map(of).collect();
    let expected = [
        ("no rps, no rfs", "xps"),
        ("no rps, rfs", "xps rfs"),
        ("rps, no rfs", "xps rps"),
        ("rps, rfs", "xps rps rfs"),
    ];
    assert_eq!(found, expected.map(|(name, only)| (name.to_string(), only.to_string())));
    assert!(plan.cells.iter().all(|cell| cell.tune[0].ensure == ["irqbalance"]));
    assert_eq!(plan.cells[3].tune[0].shown(), "xps, rps, rfs, ensure irqbalance, profile seeds");
    let factors: Vec<_> = plan.design.unwrap().factors.into_iter().map(|one| one.name).collect();
    assert_eq!(factors, ["tune.only.rps", "tune.only.rfs"]);
    // Without any knob nothing is turned in the cell that has none of them.
    let bare = parse(&format!("server.target = \"fiber\"\ntune.profile = \"seeds\"\n{both}"));
    assert!(bare.unwrap().cells[0].tune.is_empty());
    let wrong = error(&format!("{base}{}", vary("rps", "[\"on\"]")));
    assert!(wrong.contains("values = [false, true]"), "{wrong}");
}

#[test]
fn a_prediction_is_about_cells_that_there_are() {
    let text = |change: &str, low: &str| {
        format!(
            "server.target = \"fiber\"\n[[cell]]\nname = \"a, 1\"\n[[cell]]\nname = \"b, 1\"\n\
             [[cell]]\nname = \"b, 2\"\n[[prediction]]\nknob = \"T5\"\nbaseline = \"a\"\n\
             change = \"{change}\"\nlow = {low}\nhigh = 0.1\n"
        )
    };
    let plan = parse(&text("b", "-0.1")).unwrap();
    assert_eq!((plan.predictions[0].low, plan.predictions[0].high), (-0.1, Some(0.1)));
    for (change, low, said) in [
        ("c", "-0.1", "no cell is 'c'"),
        ("b", "0.2", "says nothing"),
        ("a", "0.0", "says nothing"),
    ] {
        let error = parse(&text(change, low)).unwrap_err().to_string();
        assert!(error.contains(said), "{error}");
    }
}

#[test]
fn a_plan_that_is_written_can_be_read() {
    let table = |text: &str| text.parse::<toml::Table>().unwrap();
    let predicted = model::experiment::PlannedPrediction {
        knob: "T5".to_string(),
        baseline: String::new(),
        change: String::new(),
        low: -0.35,
        high: None,
        why: "CPU 0 is \"full\": 0.99 / 0.64 - 1\n".to_string(),
        run: "run-1".to_string(),
    };
    let duel = Duel {
        question: "Does 'rps' help?".to_string(),
        server: table("target = \"fiber\""),
        load: table("command = \"load\"\npath = \"/read\"\nconnections = 8"),
        change: Change::Tune(table("only = [\"rps\"]")),
        predicted: predicted.clone(),
    };
    let plan =
        Plan::parse(&duel.text("rps"), &Targets::parse(TARGETS).unwrap(), &GivenHosts::default())
            .unwrap();
    let names: Vec<_> = plan.cells.iter().map(|cell| cell.name.as_str()).collect();
    let turns = ["as it is, 1", "rps, 1", "rps, 2", "as it is, 2"];
    assert_eq!(names[..4], turns, "A B B A");
    assert_eq!(names.len(), 8);
    let is_tuned: Vec<_> = plan.cells.iter().map(|cell| !cell.tune.is_empty()).collect();
    assert_eq!(is_tuned[..4], [false, true, true, false]);
    assert_eq!(plan.predictions[0].why, predicted.why);
    assert_eq!(plan.predictions[0].high, None);
    assert_eq!(plan.cells[0].load.url, "http://{addr}/read");
}

/// A plan turns the knobs it was written for, and nothing else.
#[test]
fn knobs_are_read_from_a_plan_as_they_were_written_into_it() {
    let values = [("dev-weight/dev_weight", "128"), ("rps", "0-1")];
    let values = values.map(|(word, value)| (word.to_string(), value.to_string()));
    let all = [
        crate::Tune { only: vec!["rps".into()], profile: "seeds".into(), ..Default::default() },
        crate::Tune { only: vec!["T12".into()], cpus: "0/1-3".into(), ..Default::default() },
        crate::Tune { values: std::collections::BTreeMap::from(values), ..Default::default() },
    ];
    for tune in all {
        let duel = Duel {
            question: "?".to_string(),
            server: toml::Table::from_iter([("addr".to_string(), "127.0.0.1:1".into())]),
            load: toml::Table::from_iter([("command".to_string(), "load".into())]),
            change: Change::Tune(tune.table()),
            predicted: model::experiment::PlannedPrediction {
                knob: "T5".to_string(),
                baseline: String::new(),
                change: String::new(),
                low: 0.0,
                high: None,
                why: String::new(),
                run: String::new(),
            },
        };
        let text = duel.text("changed");
        let plan =
            Plan::parse(&text, &Targets::parse("").unwrap(), &GivenHosts::default()).unwrap();
        let changed = plan.cells.iter().filter(|cell| cell.name.starts_with("changed"));
        let read: Vec<_> = changed.map(|cell| cell.tune.clone()).collect();
        assert_eq!(read, vec![vec![tune.clone()]; 4], "{text}");
    }
}

/// A plan of two hosts; the server's is where the user says.
fn on_hosts(body: &str, set: &[&str]) -> Result<Plan, String> {
    let mut given = GivenHosts::default();
    let pairs = set.iter().map(|pair| pair.split_once('=').unwrap());
    let pairs: Vec<_> = pairs.map(|(key, value)| (key.into(), value.into())).collect();
    given.add_values(&pairs).map_err(|error| error.to_string())?;
    let head = "schema = \"ceiling.plan/1\"\nquestion = \"Why?\"\n";
    let text = format!("{head}{body}\n[hosts.server]\n[hosts.client]\nlink = \"25G\"\n");
    let targets = Targets::parse(TARGETS).unwrap();
    Plan::parse(&text, &targets, &given).map_err(|error| error.to_string())
}

fn rehearsed(plan: &Plan) -> String {
    let (targets, root) = (Targets::parse(TARGETS).unwrap(), std::path::Path::new("/"));
    let read = |_: &str| Err("it is a test".to_string());
    plan.rehearsed(crate::Surroundings { targets: &targets, list: None, root, read: &read })
}

const FAR: [&str; 2] = ["hosts.server.probe=192.0.2.7:9200", "hosts.server.link=10G"];

#[test]
fn a_plan_is_of_one_host_or_two_as_the_user_says() {
    let body = "server = { target = \"fiber\", host = \"server\", cpus = \"0\" }\n\
                load = { command = \"load\", path = \"/read\" }\ntune = { only = [\"rps\"] }";
    let words = |plan: &Plan| plan.cells[0].words("h:1", Some(7), None).join(" ");
    let far = on_hosts(body, &FAR).unwrap();
    assert_eq!(
        words(&far),
        "load http://h:1/read --link=client=25G --link=server=10G --probe=192.0.2.7:9200"
    );
    let near = on_hosts(body, &["hosts.server.here=true"]).unwrap();
    assert_eq!(words(&near), "load http://h:1/read --server-pid=7", "loopback is not a link");
    let names = |plan: &Plan| -> Vec<String> {
        plan.used_hosts().map(|host| format!("{}: {}", host.name, host.shown())).collect()
    };
    assert_eq!(names(&far), ["server: probe 192.0.2.7:9200, link 10G"]);
    assert_eq!(names(&near), ["server: this host"]);
    let rehearsed = rehearsed(&far);
    for part in [
        "hosts\n  client  this host, link 25G\n  server  probe 192.0.2.7:9200, link 10G\n",
        "  server  start fiber  on CPUs 0, host server\n",
        "  tune    rps, host server\n",
    ] {
        assert!(rehearsed.contains(part), "{rehearsed}");
    }
    // A target that is started on another host is in the list there.
    let other = body.replace("fiber", "nginx");
    assert!(on_hosts(&other, &FAR).is_ok());
    let error = on_hosts(&other, &["hosts.server.here=true"]).unwrap_err();
    assert!(error.contains("no target 'nginx'"), "{error}");
    assert!(self::rehearsed(&on_hosts(&other, &[]).unwrap()).contains("--hosts FILE or --set"));
}

#[test]
fn knobs_are_those_of_the_servers_host_unless_another_one_is_named() {
    let hosts = |body: &str| -> Result<Vec<String>, String> {
        let plan = on_hosts(body, &FAR)?;
        let tuned = plan.cells.iter().flat_map(|cell| &cell.tune);
        Ok(tuned.map(|tune| tune.host.name.clone()).collect())
    };
    let started = "server = { target = \"fiber\", host = \"server\" }\n";
    let here = "server = { target = \"fiber\" }\n";
    let there = "server = { addr = \"192.0.2.7:80\" }\n";
    let near = "server = { addr = \"127.0.0.1:80\" }\n";
    let rps = "tune = { only = [\"rps\"] }\n";
    let both = "tune = [{ only = [\"rps\"] }, { host = \"client\", only = [\"rfs\"] }]\n";
    assert_eq!(hosts(&format!("{started}{rps}")).unwrap(), ["server"]);
    assert_eq!(hosts(&format!("{here}{rps}")).unwrap(), ["client"]);
    assert_eq!(hosts(&format!("{near}{rps}")).unwrap(), ["client"]);
    assert_eq!(hosts(&format!("{started}{both}")).unwrap(), ["server", "client"]);
    let named = "server = { addr = \"192.0.2.7:80\", host = \"server\" }\n";
    assert_eq!(hosts(&format!("{named}{rps}")).unwrap(), ["server"]);
    let client = "tune = { host = \"client\", only = [\"rps\"] }\n";
    assert_eq!(hosts(&format!("{there}{client}")).unwrap(), ["client"]);
    // This used to turn the generator's knobs silently, as if they were the server's.
    for server in [there, &format!("{near}load = {{ probe = \"192.0.2.7:9200\" }}\n")] {
        let error = hosts(&format!("{server}{rps}")).unwrap_err();
        for way in ["does not say on which one", "server.host = ", "tune.host = \"client\""] {
            assert!(error.contains(way), "{error}");
        }
    }
    // A cell changes keys of one table, and replaces a list.
    let cell = |tune: &str| format!("{started}{both}[[cell]]\nname = \"a\"\ntune = {tune}\n");
    assert_eq!(hosts(&cell("[]")).unwrap(), [""; 0]);
    assert_eq!(hosts(&cell("{ only = [\"xps\"] }")).unwrap(), ["server"]);
    let one = format!("{started}{rps}[[cell]]\nname = \"a\"\ntune.host = \"client\"\n");
    assert_eq!(hosts(&one).unwrap(), ["client"]);
    let varied = "[[vary]]\nkey = \"tune.only\"\nvalues = [[\"rps\"], []]\n";
    assert_eq!(hosts(&format!("{started}{varied}")).unwrap(), ["server"]);
    let error = hosts(&format!("{started}{both}{varied}")).unwrap_err();
    assert!(error.contains("where tune is one table"), "{error}");
}

#[test]
fn what_hosts_cannot_be_is_said_with_an_example() {
    let far = "target = \"fiber\", host = \"server\"";
    for (body, said) in [
        ("server = { target = \"fiber\", host = \"sever\" }", "the plan has the hosts client"),
        (
            "server = { target = \"fiber\" }\ntune = { host = \"x\", only = [\"rps\"] }",
            "tune.host is 'x'",
        ),
        ("server = { target = \"fiber\" }\ntune = \"rps\"", "a table or a list of tables"),
        (&format!("server = {{ {far}, limits = {{ cpu = 0 }} }}"), "limits = { cpu = 0.5 }"),
        (&format!("server = {{ {far}, limits = {{ memory = \"much\" }} }}"), "memory = \"512M\""),
        (&format!("server = {{ {far}, limits = {{ cpus = 1 }} }}"), "unknown field `cpus`"),
        ("server = { addr = \"h:1\", limits = { cpu = 1 } }", "this plan does not start"),
    ] {
        let error = on_hosts(body, &FAR).unwrap_err();
        assert!(error.contains(said), "{body}: {error}");
        assert_eq!(error.lines().count(), 1, "{error}");
    }
    let body = format!("server = {{ {far} }}\nload = {{ probe = \"192.0.2.7:9200\" }}");
    let error = on_hosts(&body, &FAR).unwrap().cells[0].check().unwrap_err();
    assert!(error.contains("load.probe is set by the host of the server"), "{error}");
    let limited = format!("server = {{ {far}, limits = {{ cpu = 1.5, memory = \"1G\" }} }}");
    let plan = on_hosts(&limited, &FAR).unwrap();
    assert!(plan.cells[0].check().is_ok());
    let Server::Started { limits, .. } = plan.cells[0].server else { panic!() };
    assert_eq!((limits.cpu, limits.memory_bytes), (Some(1.5), Some(1_000_000_000)));
}

#[test]
fn an_address_in_a_plan_needs_trust_and_one_of_the_user_does_not() {
    let body = "server = { target = \"fiber\", host = \"server\" }";
    assert_eq!(crate::untrusted(&on_hosts(body, &FAR).unwrap(), &Targets::default()), None);
    let text = format!(
        "schema = \"ceiling.plan/1\"\nquestion = \"?\"\n{body}\n[hosts.server]\nprobe = \
         \"a:1\"\n[hosts.other]\nprobe = \"b:1\"\n"
    );
    let plan = Plan::parse(&text, &Targets::default(), &GivenHosts::default()).unwrap();
    let why = crate::untrusted(&plan, &Targets::default()).unwrap();
    assert!(why.contains("hosts.server.probe") && !why.contains("hosts.other"), "{why}");
}
