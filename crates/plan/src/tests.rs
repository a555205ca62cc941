//! What people write, and what they get wrong.

use crate::{Cell, Change, Duel, Plan, PlanError, Server, Targets};
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
    Plan::parse(&format!("schema = \"ceiling.plan/1\"\nquestion = \"Why?\"\n{body}"), &targets)
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
load = { depth = 16, confirm = true, quiet-less = false, header = ["A: 1", "B: 2"] }
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
    let Server::Started { target, args, cpus, env, services } = &cells[1].server else { panic!() };
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
        ("server.target = \"fiber\"\nload.path = \"read\"", "begins with a slash"),
        ("server.target = \"fiber\"\nload = { path = \"/\", url = \"tcp://{addr}\" }", "exclude"),
        ("server.target = \"fiber\"\nload.url = \"http://h/\"", "a scheme and {addr}"),
        ("server.target = \"fiber\"\nload.runs = \"x\"", "set by ceiling run itself"),
        ("server.target = \"fiber\"\nload.header = { a = 1 }", "a text, a number, true"),
        ("server = { target = \"fiber\", cpus = \"0-\" }", "server.cpus is '0-', and takes"),
        ("server.target = \"fiber\"\nclient.neighbours = \"x\"", "client.neighbours is 'x'"),
        ("server.target = \"fiber\"\nclient.nice = 20", "-20 to 19"),
        ("server.target = \"fiber\"\nwalls = [\"Z1\"]", "no wall 'Z1'; for example"),
        ("server.target = \"fiber\"\nvary = [{ key = \"depth\", values = [1] }]", "begins with"),
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
    let other = Plan::parse("schema = \"ceiling.plan/2\"\nquestion = \"?\"", &Targets::default());
    assert!(other.unwrap_err().to_string().contains("'ceiling.plan/2' where 'ceiling.plan/1'"));
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
    assert!(message.contains("makes 10000 cells, and a plan has 1 to 1000"), "{message}");
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
        let _ = Plan::parse(&text, &targets);
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
    let tune = tune.unwrap().unwrap();
    assert_eq!((tune.only, tune.cpus.as_str()), (vec!["rps".to_string()], "0/1"));
    assert_eq!(tune.values["rps"], "0-1");
    assert_eq!((tune.values["x"].as_str(), tune.values["y/z"].as_str()), ("7", "8"));
    assert_eq!(read("{}").unwrap(), None);
    for (wrong, said) in [
        ("{ profile = \"seeds\" }", "tune.only"),
        ("{ knobs = [\"rps\"] }", "unknown field"),
        ("{ only = [\"rps\"], values = { rps = true } }", "a text or a number"),
    ] {
        let error = read(wrong).unwrap_err().to_string();
        assert!(error.contains(said), "{error}");
    }
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
    let predicted = model::experiment::Foretold {
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
    let plan = Plan::parse(&duel.text("rps"), &Targets::parse(TARGETS).unwrap()).unwrap();
    let names: Vec<_> = plan.cells.iter().map(|cell| cell.name.as_str()).collect();
    let turns = ["as it is, 1", "rps, 1", "rps, 2", "as it is, 2"];
    assert_eq!(names[..4], turns, "A B B A");
    assert_eq!(names.len(), 8);
    let is_tuned: Vec<_> = plan.cells.iter().map(|cell| cell.tune.is_some()).collect();
    assert_eq!(is_tuned[..4], [false, true, true, false]);
    assert_eq!(plan.predictions[0].why, predicted.why);
    assert_eq!(plan.predictions[0].high, None);
    assert_eq!(plan.cells[0].load.url, "http://{addr}/read");
}

/// A plan turns what it was written for, and nothing else.
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
            predicted: model::experiment::Foretold {
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
        let plan = Plan::parse(&text, &Targets::parse("").unwrap()).unwrap();
        let changed = plan.cells.iter().filter(|cell| cell.name.starts_with("changed"));
        let read: Vec<_> = changed.map(|cell| cell.tune.clone()).collect();
        assert_eq!(read, vec![Some(tune.clone()); 4], "{text}");
    }
}
