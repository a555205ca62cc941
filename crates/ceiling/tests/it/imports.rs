//! Requests that others kept become flows, and such a flow is tried against the shop that they were
//! made for: what the shop counted is what the flow says.

use crate::harness::{Finished, Folder, Server, alone, root, run, turn};
use serde_json::json;
use std::process::Command;

/// A fixture of the importers.
fn fixture(name: &str) -> String {
    root().join("crates/import/fixtures").join(name).display().to_string()
}

#[test]
fn a_recorded_purchase_is_imported_and_tried() {
    let _turn = turn();
    let folder = Folder::new("import-har");
    let flow = folder.file("shop.hurl");
    let written = run(&["import", "har", &fixture("shop.har"), "-o", &flow]);
    assert_eq!((written.code, written.stdout.as_str()), (0, ""), "{}", written.stderr);
    for line in [
        "6 steps from shop.har\n",
        "3 of 9 requests left out: 1 image, 1 font, 1 of other servers\n",
        "give --variable base=http://shop.example:8083 --secret-env password\n",
    ] {
        assert!(written.stderr.contains(line), "{}", written.stderr);
    }
    let server = Server::start("target-shop", &[]);
    let base = format!("base={}", server.url(""));
    let given = ["--variable", &base, "--variable", "password=s3cret"];
    // Every token, form and basket is another one now.
    let tried = run(&[&["try", flow.as_str()], &given[..]].concat());
    assert_eq!(tried.code, 0, "{}{}", tried.stdout, tried.stderr);
    assert!(tried.stdout.ends_with("good: 6 steps, 6 requests\n"), "{}", tried.stdout);
    let one = |status: &str| json!({ status: 1 });
    let counted = json!({
        "login": one("200"), "page": one("200"), "products": one("200"),
        "basket": one("303"), "show": one("200"), "checkout": one("201"),
    });
    assert_eq!(server.stop()["steps"], counted);
    // What a person may have edited stays.
    let again = run(&["import", "har", &fixture("shop.har"), "-o", &flow]);
    assert_eq!(again.code, 1, "{}", again.stderr);
    assert!(again.stderr.contains("shop.hurl: it is there already"), "{}", again.stderr);
}

/// A limit on the size of files fails a write like a full disk.
#[test]
fn a_flow_is_written_as_a_whole_or_not_at_all() {
    let folder = Folder::new("import-full");
    let (har, flow) = (fixture("shop.har"), folder.file("shop.hurl"));
    let script = "trap '' XFSZ; ulimit -f 0; exec \"$@\"";
    let words = ["-c", script, "sh", env!("CARGO_BIN_EXE_ceiling"), "import", "har", &har];
    let mut full = alone(Command::new("sh"));
    let said = Finished::of(full.args(words).args(["-o", &flow]).output().unwrap());
    assert_eq!(said.code, 1, "{}", said.stderr);
    assert!(said.stderr.contains("cannot write"), "{}", said.stderr);
    assert_eq!(std::fs::read_dir(&folder.path).unwrap().count(), 0);
    let said = run(&["import", "har", &har, "-o", &folder.file("none/shop.hurl")]);
    assert_eq!(said.code, 2, "{}", said.stderr);
    assert!(said.stderr.contains("cannot write there"), "{}", said.stderr);
    let said = run(&["import", "har", &har, "-o", "/dev/stdout"]);
    assert!(said.stdout.starts_with("# 6 steps from shop.har\n"), "{}", said.stderr);
}

#[test]
fn commands_are_imported_to_the_standard_output_and_tried() {
    let _turn = turn();
    let server = Server::start("target-shop", &[]);
    let base = server.url("");
    let commands = format!(
        "curl -s '{base}/login' -H 'Content-Type: application/json' \\\n  --data-raw \
         $'{{\"user\":\"ann\",\"password\":\"s3cret\"}}' --compressed\ncurl '{base}/page'\ncurl -G \
         {base}/products -d page=2\n"
    );
    let folder = Folder::new("import-curl");
    let flow = folder.file("shop.hurl");
    let file = folder.file("commands.sh");
    std::fs::write(&file, commands).unwrap();
    let written = run(&["import", "curl", &file]);
    assert_eq!(written.code, 0, "{}", written.stderr);
    assert!(written.stdout.starts_with("# 3 steps from commands.sh\n"), "{}", written.stdout);
    assert!(!written.stdout.contains("s3cret"), "{}", written.stdout);
    std::fs::write(&flow, &written.stdout).unwrap();
    let base = format!("base={base}");
    let given = ["--variable", &base, "--variable", "password=s3cret"];
    let tried = run(&[&["try", flow.as_str()], &given[..]].concat());
    assert_eq!(tried.code, 0, "{}{}", tried.stdout, tried.stderr);
    let one = json!({ "200": 1 });
    assert_eq!(server.stop()["steps"], json!({ "login": one, "page": one, "products": one }));
}

#[test]
fn what_cannot_be_imported_is_said_in_one_line() {
    let har = fixture("shop.har");
    for (arguments, words) in [
        (vec!["import", "har", "none.har"], "none.har: No such file"),
        (vec!["import", "jmeter", &har], "is not curl, har, http, openapi or postman; for example"),
        (vec!["import", "curl", &har], "shop.har, line 1: there is no request in it; it should be"),
        (vec!["import", "curl", "-"], "-, line 1: there is no request in it"),
        (vec!["import", "har", &fixture("shop.http")], "line 1: this is no HAR file"),
        (
            vec!["import", "har", &har, "--server", "https://none.example"],
            "no request of it can be in a flow",
        ),
    ] {
        let said = run(&arguments);
        assert_eq!(said.code, 2, "{arguments:?}: {}", said.stderr);
        assert!(said.stderr.contains(words), "{arguments:?}: {}", said.stderr);
        assert_eq!(said.stderr.lines().count(), 1, "{}", said.stderr);
        assert_eq!(said.stdout, "");
    }
}

#[test]
fn the_server_can_be_chosen() {
    let of = |server: &str| run(&["import", "curl", &fixture("shop.curl"), "--server", server]);
    let said = of("https://elsewhere.example");
    assert!(said.stdout.starts_with("# 1 step from shop.curl\n"), "{}", said.stdout);
    assert!(said.stderr.contains("5 of other servers"), "{}", said.stderr);
}
