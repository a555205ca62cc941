//! What people write, and what they get wrong.

use crate::{Cell, Plan, PlanError, Server, Targets};
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
        ("server = { addr = \"h:1\", cpus = \"0\" }", "somebody else's server"),
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
