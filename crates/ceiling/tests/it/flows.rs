//! Flows against a shop whose pages depend on each other: what the command did is what the shop
//! counted, over both versions of HTTP.

use crate::harness::certificates::Certificates;
use crate::harness::{Folder, Server, root, run, turn};
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::net::TcpListener;
use std::thread;

/// The flow of the shop.
fn shop_flow() -> String {
    root().join("targets/shop.hurl").display().to_string()
}

/// The variables of that flow, as options.
fn variables(base: &str) -> Vec<String> {
    let base = format!("base={base}");
    let values = [base.as_str(), "user_name=ann", "password=s3cret"];
    values.iter().flat_map(|value| ["--variable".to_string(), (*value).to_string()]).collect()
}

/// Tries a flow of a few lines; returns the exit code, the document and the errors.
fn tried(lines: &str, base: &str, more: &[&str]) -> (i32, Value, String) {
    // Tests run side by side, and each has its server.
    let folder = Folder::new(&format!("try-{}", base.rsplit(':').next().unwrap()));
    let file = folder.file("flow.hurl");
    std::fs::write(&file, lines).unwrap();
    let base = format!("base={base}");
    let said = run(&[&["try", &file, "--variable", &base, "--json"], more].concat());
    let document = serde_json::from_str(&said.stdout).unwrap_or(Value::Null);
    (said.code, document, said.stderr)
}

#[test]
fn a_customer_buys_one_thing_over_both_versions() {
    let _turn = turn();
    let server = Server::start("target-shop", &[]);
    let base = server.url("");
    for version in ["1", "2"] {
        let variables = variables(&base);
        let variables: Vec<&str> = variables.iter().map(String::as_str).collect();
        let flow = shop_flow();
        let all = [&["try", &flow, "--http", version, "--seed", "1"], &variables[..]].concat();
        let text = run(&all);
        assert_eq!(text.code, 0, "{}{}", text.stdout, text.stderr);
        assert!(text.stdout.ends_with("good: 5 steps, 6 requests\n"), "{}", text.stdout);
        assert!(text.stdout.lines().all(|line| line.chars().count() <= 80), "{}", text.stdout);
        // Neither what was given nor what was captured, in whatever place.
        for secret in ["s3cret", "Bearer ", "session="] {
            assert!(!text.stdout.contains(secret), "{secret}: {}", text.stdout);
        }
        let document = run(&[&all[..], &["--json", "--show-secrets"]].concat()).record();
        let requests = document["requests"].as_array().unwrap();
        let statuses: Vec<u64> =
            requests.iter().map(|one| one["answer"]["status"].as_u64().unwrap()).collect();
        assert_eq!(statuses, [200, 200, 200, 303, 200, 201], "HTTP/{version}");
        let token = requests[0]["captured"][0]["value"].as_str().unwrap();
        let sent = requests[3]["sent"]["headers"].to_string();
        assert!(sent.contains(&format!("Bearer {token}")), "{sent}");
        assert!(sent.contains(&format!("session={token}")), "{sent}");
    }
    let each = |status: &str| json!({ status: 4 });
    let counted = json!({
        "login": each("200"), "page": each("200"), "products": each("200"),
        "basket": each("303"), "show": each("200"), "checkout": each("201"),
    });
    assert_eq!(server.stop()["steps"], counted);
}

#[test]
fn a_flow_goes_through_tls() {
    let _turn = turn();
    let certificates = Certificates::new("flow-tls");
    let server = certificates.server_of("target-shop", "server", &[]);
    let ca = certificates.file("ca.pem");
    let base = format!("https://127.0.0.1:{}", server.port);
    for (asked, version) in [("1", "1.1"), ("2", "2"), ("auto", "2")] {
        let get = "GET {{base}}/products?page=1\nHTTP 200\n";
        let (code, document, errors) = tried(get, &base, &["--cacert", &ca, "--http", asked]);
        assert_eq!(code, 0, "{errors}");
        assert_eq!(document["requests"][0]["answer"]["version"], version);
    }
    let (code, _, errors) = tried("GET {{base}}/\n", &base, &[]);
    assert_eq!(code, 5, "{errors}");
    assert!(errors.contains("no trusted authority"), "{errors}");
}

#[test]
fn the_first_thing_that_is_not_as_it_should_be_ends_the_pass() {
    let _turn = turn();
    let server = Server::start("target-shop", &[]);
    let base = server.url("");
    let login = "POST {{base}}/login\n{\"user\":\"ann\",\"password\":\"s3cret\"}\nHTTP 200\n";
    let products = "GET {{base}}/products?page=2\nHTTP 200\n";
    for (lines, words) in [
        ("GET {{base}}/products\nHTTP 200\n".to_string(), "status 400, and 200 is good"),
        ("GET {{base}}/page\n".into(), "status 401, which is an error"),
        (
            format!("{login}[Captures]\na: jsonpath \"$.none\"\n"),
            "line 5: nothing captured for a: nothing is there",
        ),
        (
            "GET {{base}}/none\nHTTP *\n[Captures]\na: jsonpath \"$.none\"\n".into(),
            "line 4: nothing captured for a: the body is no whole JSON",
        ),
        (
            format!("{products}[Asserts]\njsonpath \"$.page\" > 2\n"),
            "line 4: jsonpath \"$.page\" > 2: it is 2",
        ),
        (
            format!("{products}[Asserts]\njsonpath \"$.products[0].name\" not == \"thing 20\"\n"),
            "it is \"thing 20\"",
        ),
        (
            format!("{products}[Asserts]\nheader \"X-None\" contains \"a\"\n"),
            "header \"X-None\" contains \"a\": nothing is there",
        ),
        (
            format!("{login}[Captures]\nwhere: jsonpath \"$.user.name\"\nGET {{{{where}}}}\n"),
            "'ann' is no path of http://127.0.0.1",
        ),
    ] {
        let (code, document, errors) = tried(&lines, &base, &[]);
        assert_eq!(code, 3, "{lines}{errors}");
        assert_eq!(document["is_good"], false);
        let requests = document["requests"].as_array().unwrap();
        let failed = requests.last().unwrap()["failed"].as_str().unwrap();
        assert!(failed.contains(words), "{lines}: {failed}");
    }
}

/// A value that a server chose is nothing that can be smuggled into the next request.
#[test]
fn a_captured_line_break_ends_the_pass() {
    let _turn = turn();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    thread::spawn(move || {
        let body = "{\"a\":\"x\\r\\nX-Evil: 1\"}";
        let length = body.len();
        for mut stream in listener.incoming().flatten() {
            let _ = stream.read(&mut [0; 4096]);
            let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n");
            let _ = stream.write_all(format!("{head}{body}").as_bytes());
        }
    });
    let lines =
        "GET {{base}}/\nHTTP 200\n[Captures]\na: jsonpath \"$.a\"\nGET {{base}}/\nX-A: {{a}}\n";
    let (code, document, _) = tried(lines, &base, &[]);
    assert_eq!(code, 3, "{document}");
    let failed = document["requests"][1]["failed"].as_str().unwrap();
    assert!(failed.contains("line break"), "{failed}");
}

#[test]
fn repetitions_conditions_and_one_url_are_tried_too() {
    let _turn = turn();
    let server = Server::start("target-shop", &[]);
    let lines = "GET {{base}}/products?page={{seq}}\n[Options]\nrepeat: 3\n\
                 GET {{base}}/none\n[Options]\nvariable: no=true\nskip: {{no}}\n";
    let (code, document, errors) = tried(lines, &server.url(""), &[]);
    assert_eq!(code, 0, "{document}{errors}");
    let requests = document["requests"].as_array().unwrap();
    let paths: Vec<&Value> = requests.iter().map(|one| &one["sent"]["path"]).collect();
    assert_eq!(paths[..3], ["/products?page=1", "/products?page=2", "/products?page=3"]);
    assert_eq!((requests.len(), paths[3]), (4, &Value::Null), "the last one is left out");
    let url = run(&["try", &server.url("/products?page=1"), "-q"]);
    assert_eq!((url.code, url.stdout.as_str()), (0, "good: 1 step, 1 request\n"));
    let login = "{\"user\":\"ann\",\"password\":\"wrong\"}";
    let url = run(&["try", &server.url("/login"), "-b", login]);
    assert_eq!(url.code, 3);
    assert!(url.stdout.contains("FAILS     status 401, which is an error"), "{}", url.stdout);
    let counted = server.stop();
    assert_eq!(counted["steps"]["products"]["200"], 4);
    // Three requests of one user take one connection.
    assert_eq!(counted["connections"], 3);
}

#[test]
fn what_cannot_be_tried_is_said_in_one_line() {
    let folder = Folder::new("try-wrong");
    let file = folder.file("wrong.hurl");
    std::fs::write(&file, "GET http://127.0.0.1:1/\nHTTP 200\n[Asserts]\nxpath \"//a\" exists\n")
        .unwrap();
    for (arguments, words) in [
        (vec!["try", &file], "wrong.hurl, line 4: 'xpath' needs the whole page"),
        (vec!["try", "none.hurl"], "cannot read none.hurl"),
        (vec!["try", "grpc://127.0.0.1:1/a.B/C"], "is no http or https URL; ceiling grpc describe"),
        (vec!["try", "http://a/", "--variable", "a=b"], "--variable: a URL has no variables"),
        (vec!["try", &file, "-X", "PUT"], "--method: the steps of a flow have their own"),
        (vec!["try", &file, "--variable", "ab"], "a name and a value"),
    ] {
        let said = run(&arguments);
        assert_eq!(said.code, 2, "{arguments:?}: {}", said.stderr);
        assert!(said.stderr.contains(words), "{arguments:?}: {}", said.stderr);
        assert_eq!(said.stderr.lines().count(), 1, "{}", said.stderr);
    }
    let refused = run(&["try", "http://127.0.0.1:1/"]);
    assert_eq!(refused.code, 5, "{}", refused.stderr);
}

/// What the account of users says is what the shop counted: no user began before the window, so all
/// requests but those of the one user before the load are theirs.
#[test]
fn users_of_a_load_are_those_that_the_shop_saw() {
    for driver in ["epoll", "uring"] {
        if driver == "uring" && engine::driver::uring::check().is_err() {
            continue;
        }
        let _turn = turn();
        let server = Server::start("target-shop", &["--fail", "basket", "--every", "7"]);
        let variables = variables(&server.url(""));
        let variables: Vec<&str> = variables.iter().map(String::as_str).collect();
        let flow = shop_flow();
        let load = ["load", "--flow", &flow, "-c", "5", "-d", "400ms", "--warmup", "0", "-t", "2"];
        let said = run(&[&load[..], &["--driver", driver, "--json"], &variables].concat());
        assert!(said.code == 0 || said.code == 4, "{}: {}", said.code, said.stderr);
        let record = said.record();
        let point = &record["points"][0];
        let users = &point["users"];
        let count = |key: &str| users[key].as_u64().unwrap();
        assert_eq!(count("begun"), count("completed") + count("failed"), "{users}");
        assert!(count("failed") > 0 && count("completed") > count("failed"), "{users}");
        assert_eq!(users["flow_ns"]["count"], count("completed"));
        assert_eq!(users["flow_ns"]["censored"], count("failed"));
        let seen = server.stop();
        let served = |step: &str, status: &str| seen["steps"][step][status].as_u64().unwrap_or(0);
        let steps = users["steps"].as_array().unwrap();
        let step = |place: usize, key: &str| steps[place][key].as_u64().unwrap();
        let names: Vec<&str> = steps.iter().map(|step| step["name"].as_str().unwrap()).collect();
        assert_eq!(names[3..5], ["POST /basket", "POST /basket -> redirect"]);
        // The one user before the load is not among them.
        for (place, name, status) in
            [(0, "login", "200"), (1, "page", "200"), (4, "show", "200"), (5, "checkout", "201")]
        {
            assert_eq!(step(place, "good") + 1, served(name, status), "{name}: {seen} {users}");
        }
        assert_eq!(step(3, "failed"), served("basket", "500"), "{seen} {users}");
        assert_eq!(step(3, "good") + 1, served("basket", "303"), "{seen} {users}");
        assert_eq!(count("begun") + 1, served("login", "200"));
        // Requests count by when they were sent, and users of the window go on after it.
        let failed = point["requests"]["failed"].as_u64().unwrap();
        assert!(failed <= served("basket", "500") && failed > 0, "{failed}: {seen}");
        let gate = |gate: &&Value| gate["id"] == "conservation";
        let gates = point["gates"].as_array().unwrap();
        assert_eq!(gates.iter().find(gate).unwrap()["ok"], true);
        assert!(!said.stdout.contains("s3cret"), "a secret is in the record");
    }
}

/// Users who are due while the server stands still begin then, and wait; whoever looked only when
/// the server answers would see a few.
#[test]
fn users_who_are_due_wait_for_a_server_that_stands_still() {
    let _turn = turn();
    let frozen = ["--freeze-after", "2s", "--freeze-for", "1s"];
    let server = Server::start("target-shop", &frozen);
    let variables = variables(&server.url(""));
    let variables: Vec<&str> = variables.iter().map(String::as_str).collect();
    let flow = shop_flow();
    let load = ["load", "--flow", &flow, "-R", "50", "--arrivals", "fixed", "-d", "4", "--json"];
    let said = run(&[&load[..], &["--warmup", "0", "-t", "2"], &variables].concat());
    assert!(said.code == 0 || said.code == 4, "{}: {}", said.code, said.stderr);
    let record = said.record();
    let point = &record["points"][0];
    let users = &point["users"];
    let count = |key: &str| users[key].as_u64().unwrap();
    assert_eq!((count("due"), count("unstarted")), (200, 0), "{users}");
    assert_eq!(point["load"]["connections"], 1000, "so many at a time, if it is not said");
    assert_eq!((count("begun"), count("completed")), (200, 200), "{users}");
    // 50 of 200 were due in that second, and waited for what was left of it.
    let (p90, max) = (&users["flow_ns"]["p90"], &users["flow_ns"]["max"]);
    assert!(p90.as_u64().unwrap() >= 400_000_000, "{users}");
    assert!(max.as_u64().unwrap() >= 950_000_000, "{users}");
    let login = &point["targets"][0]["latency_ns"]["p90"];
    assert!(login.as_u64().unwrap() >= 400_000_000, "the first step is due with the user: {login}");
    let gates = point["gates"].as_array().unwrap();
    let gate = gates.iter().find(|gate| gate["id"] == "conservation");
    assert_eq!(gate.unwrap()["ok"], true);
    assert_eq!(server.stop()["steps"]["login"]["200"], 201);
}

/// Users who think, whose connections the server closes meanwhile, go on with new ones, also after
/// the window.
#[test]
fn users_go_on_after_the_window_and_with_new_connections() {
    let _turn = turn();
    let server = Server::start("target-shop", &["--idle", "50ms"]);
    let folder = Folder::new("load-think");
    let file = folder.file("think.hurl");
    let lines = "POST {{base}}/login\n{\"user\":\"ann\",\"password\":\"{{password}}\"}\nHTTP 200\n\
                 [Captures]\ntoken: jsonpath \"$.token\"\n\
                 GET {{base}}/page\nAuthorization: Bearer {{token}}\n\
                 [Options]\ndelay: 300ms\nHTTP 200\n";
    std::fs::write(&file, lines).unwrap();
    let base = format!("base={}", server.url(""));
    let load = ["load", "--flow", &file, "--variable", &base, "--variable", "password=s3cret"];
    let more = ["-c", "4", "-d", "200ms", "--warmup", "0", "-t", "1", "--json"];
    let record = run(&[&load[..], &more].concat()).record();
    let users = &record["points"][0]["users"];
    assert_eq!((&users["begun"], &users["completed"]), (&json!(4), &json!(4)), "{users}");
    // The time to think is none of the flow's.
    assert!(users["flow_ns"]["max"].as_u64().unwrap() < 250_000_000, "{users}");
    let seen = server.stop();
    assert_eq!(seen["steps"]["page"]["200"], 5);
    // Another one found out whether anybody is there.
    assert_eq!(seen["connections"], 11, "two for each user, and for the one before");
}

#[test]
fn a_flow_that_fails_for_one_user_is_no_load() {
    let _turn = turn();
    let server = Server::start("target-shop", &[]);
    let flow = shop_flow();
    let base = format!("base={}", server.url(""));
    let more = ["--variable", "user_name=ann", "--variable", "password=wrong"];
    let said = run(&[&["load", "--flow", &flow, "--variable", &base], &more[..]].concat());
    assert_eq!(said.code, 3, "{}", said.stderr);
    let why = "shop, line 2, POST /login: status 401, and 200 is good; this was one user before";
    assert!(said.stderr.contains(why), "{}", said.stderr);
    for (more, words) in [
        (vec!["-R", "9", "--max-connections", "2000"], "-c is how many users there may be"),
        (vec!["-p", "2"], "a user waits for each response"),
        (vec!["--http", "2"], "HTTP/2 is not possible with users yet"),
        (vec!["-n", "10"], "give -d, how long users begin for"),
        (vec!["--variable", "none"], "a name and a value"),
    ] {
        let values = ["--variable", "user_name=ann", "--variable", "password=s3cret"];
        let flow = ["load", "--flow", &flow, "--variable", &base];
        let said = run(&[&flow[..], &values, &more].concat());
        assert_eq!(said.code, 2, "{more:?}: {}", said.stderr);
        assert!(said.stderr.contains(words), "{more:?}: {}", said.stderr);
    }
    let seen = server.stop();
    assert_eq!(seen["steps"], json!({ "login": { "401": 1 } }), "nothing but one user was sent");
}
