//! Files that are flows, and files that are not.

use flow::{Flow, Given, Wrong, read};
use model::flow::{Escape, Key, Piece, Query, Skip, Source, Step, Test, Text};
use proptest::prelude::*;

/// Reads a file for which the server and a password are given.
fn given() -> Given {
    let variables = [("base", "http://127.0.0.1:8083"), ("password", "p\"w d"), ("id", "7")];
    let variables = variables.map(|(name, value)| (name.to_string(), value.to_string()));
    Given { variables: variables.into(), columns: vec!["user_name".into()], base: None }
}

fn flow(text: &str) -> Result<Flow, Wrong> {
    read("shop", text, &given(), &mut |path| match path {
        "a.bin" => Ok(vec![0, 255]),
        _ => Err(format!("{path} is not there")),
    })
}

/// A text with its holes in braces.
fn shown(text: &Text) -> String {
    let pieces = text.0.iter().map(|piece| match piece {
        Piece::Plain(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        Piece::Hole(Source::Variable(place), escape) => format!("<{place} {escape:?}>"),
        Piece::Hole(source, _) => format!("<{source:?}>"),
        Piece::Base64(inside) => format!("<base64 {}>", shown(inside)),
    });
    pieces.collect()
}

fn headers(step: &Step) -> Vec<String> {
    step.headers.iter().map(|(name, value)| format!("{name}: {}", shown(value))).collect()
}

const SHOP: &str = r##"# A user logs in, buys and leaves.
POST {{base}}/login?from=a%20b   # with a comment
X-Trace: a\#b \u{e9}\u{20}   # spaces before a comment are none of it
{
    "user": "{{user_name}}",
    "password": "{{password}}",
    "count": {{id}}
}

HTTP/1.1 200
Content-Type: application/json
[Captures]
token: jsonpath "$.token" redact
order: jsonpath "$['order ids'][0].id"   # the first
[Asserts]
jsonpath "$.items" count > 1
jsonpath "$.name" not contains "x"
header "X-Id" matches /^[a-z]{2}\/.*$/
duration < 500

PUT {{base}}/orders/{{order}}
[Options]
delay: 1s
repeat: 3
max-time: 2
skip: {{token}}
variable: note=of {{order}}
[Query]
q: {{order}} & more
[BasicAuth]
bob: {{token}}
[Cookies]
lang: de
[Form]
note: {{note}}
file: {{newUuid}}
HTTP *

GET {{order}}
HEAD {{base}}
"##;

#[test]
fn a_flow_is_read_with_all_that_it_says() {
    let flow = flow(SHOP).unwrap();
    assert_eq!((flow.base.as_str(), flow.steps.len()), ("http://127.0.0.1:8083", 4));
    let names: Vec<&str> = flow.variables.iter().map(|variable| variable.name.as_str()).collect();
    assert_eq!(names, ["user_name", "token", "order", "note"]);
    let secrets: Vec<bool> = flow.variables.iter().map(|variable| variable.is_secret).collect();
    assert_eq!(secrets, [false, true, false, false]);

    let login = &flow.steps[0];
    assert_eq!((login.name.as_str(), login.line), ("POST /login?from=a%20b", 2));
    assert_eq!(headers(login), ["X-Trace: a#b é ", "Content-Type: application/json"]);
    let body = shown(&login.body);
    assert!(body.contains("\"user\": \"<0 Json>\""), "{body}");
    assert!(body.contains("\"password\": \"p\\\"w d\""), "a given value is escaped too: {body}");
    assert!(body.contains("\"count\": 7\n}"), "{body}");
    assert!(login.statuses.as_ref().unwrap().holds(200));
    assert!(!login.statuses.as_ref().unwrap().holds(201));
    let path = vec![Key::Name("order ids".into()), Key::Nth(0), Key::Name("id".into())];
    assert!(login.queries.contains(&Query::Json(path)), "{:?}", login.queries);
    let asserts: Vec<&str> = login.asserts.iter().map(|assert| assert.text.as_str()).collect();
    assert_eq!(asserts[..2], ["version == \"1.1\"", "header \"Content-Type\" == application/json"]);
    assert_eq!(asserts.len(), 6);
    assert!(login.asserts[3].is_not);
    assert_eq!(login.asserts[4].test, Test::Matches("^[a-z]{2}/.*$".into()));

    let order = &flow.steps[1];
    assert_eq!(shown(&order.path), "/orders/<2 Url>?q=<2 Part>%20%26%20more");
    assert_eq!(order.name, "PUT /orders/{..}");
    assert_eq!((order.delay_ns, order.repeat), (1_000_000_000, 3));
    assert_eq!(order.timeout_ns, Some(2_000_000_000));
    assert!(matches!(order.skip, Skip::When(_)));
    assert_eq!((order.sets[0].0, shown(&order.sets[0].1)), (3, "of <2 Raw>".to_string()));
    assert_eq!(
        headers(order),
        [
            "Authorization: Basic <base64 bob:<1 Raw>>",
            "Content-Type: application/x-www-form-urlencoded"
        ]
    );
    assert_eq!(shown(&order.body), "note=<3 Part>&file=<Uuid>");
    assert_eq!(order.cookies[0].0, "lang");
    assert!(order.statuses.as_ref().unwrap().holds(500), "HTTP * takes any");

    // What was captured may be a whole URL; that is known when it is sent.
    assert_eq!(flow.steps[2].path.0, [Piece::Hole(Source::Variable(2), Escape::Url)]);
    assert_eq!((shown(&flow.steps[3].path).as_str(), &flow.steps[3].statuses), ("/", &None));
}

#[test]
fn bodies_end_where_they_should() {
    let body = |text: &str| {
        let flow = flow(&format!("POST {{{{base}}}}/\n{text}\nHTTP 200\n")).unwrap();
        assert_eq!(flow.steps.len(), 1);
        assert!(flow.steps[0].statuses.is_some(), "{text}");
        let step = &flow.steps[0];
        (shown(&step.body), headers(step).concat())
    };
    let json = "Content-Type: application/json".to_string();
    for (text, is) in [
        ("{\"a\":{\"b\":[1,{}]}}", "{\"a\":{\"b\":[1,{}]}}"),
        ("[\"]\", \"\\\"\"] # two", "[\"]\", \"\\\"\"]"),
        ("\"x # y\"", "\"x # y\""),
        ("null", "null"),
        ("{\"a\": \"#\" }", "{\"a\": \"#\" }"),
    ] {
        assert_eq!(body(text), (is.to_string(), json.clone()), "{text}");
    }
}

#[test]
fn texts_between_backticks_files_and_bytes_are_bodies() {
    let body = |text: &str| {
        let flow = flow(&format!("POST {{{{base}}}}/\n{text}\nHTTP 200\n"));
        flow.map(|flow| shown(&flow.steps[0].body)).map_err(|wrong| wrong.to_string())
    };
    assert_eq!(body("```\na {{id}}\nb\n```").as_deref(), Ok("a 7\nb\n"));
    assert_eq!(body("```raw\na {{id}}\n```").as_deref(), Ok("a {{id}}\n"));
    assert_eq!(body("`a {{id}}`").as_deref(), Ok("a 7"));
    assert_eq!(body("`a \\`b\\` \\\\`").as_deref(), Ok("a `b` \\"));
    assert!(body("`a").unwrap_err().contains("line 2: the ` is not closed"));
    assert_eq!(body("hex,61 62;").as_deref(), Ok("ab"));
    assert_eq!(body("base64,YWI=;").as_deref(), Ok("ab"));
    let graphql = body("```graphql\n{ me(id: \"{{id}}\") }\n```");
    assert_eq!(graphql.as_deref(), Ok("{\"query\":\"{ me(id: \\\"7\\\") }\\u000A\"}"));
    assert!(body("file,b.bin;").unwrap_err().contains("line 2: b.bin is not there"));
    let multipart = body("[Multipart]\na: {{id}}\nf: file,a.bin; image/png").unwrap();
    assert!(multipart.contains("name=\"a\"\r\n\r\n7\r\n--"), "{multipart}");
    assert!(multipart.contains("filename=\"a.bin\"\r\nContent-Type: image/png\r\n\r\n"));
    assert!(multipart.ends_with("--\r\n"));
}

#[test]
fn what_is_wrong_is_said_with_its_line_and_the_way_round() {
    let get = |rest: &str| format!("GET {{{{base}}}}/\n{rest}");
    let answer = |rest: &str| get(&format!("HTTP 200\n{rest}"));
    for (text, words) in [
        ("".to_string(), "line 1: there is no request in it; for example GET http"),
        ("get http://a/".into(), "line 1: a method is written in capitals: GET"),
        ("{\"log\": {}}".into(), "line 1: this looks like a HAR file"),
        ("GET /read".into(), "'/read' is no URL; for example http://127.0.0.1:8083/read"),
        ("GET {{host}}/".into(), "nothing gives {{host}} a value here; "),
        ("GET {{user_name}}/".into(), "the first URL begins with http:// and a server"),
        (get("GET http://other/"), "line 2: 'http://other' is another server than"),
        (get("X-A: {{b"), "line 2: {{ has no }} after it"),
        (get("X-A: \\x"), "line 2: a \\ is followed by"),
        (get("word"), "line 2: 'word' is neither 'name: value' nor a request"),
        (get("[Captures]\na: status"), "[Captures] comes after a line such as HTTP 200"),
        (get("[Headers]"), "[Headers] is no section of a request; accepted are [Query]"),
        (get("[Options]\nretry: 3"), "poll with 'repeat' and 'delay'"),
        (get("[Options]\ninsecure: true"), "it is said of the whole run; give -k"),
        (get("[Options]\nrepeat: 0"), "repeat: '0' is no number from 1 to 1000"),
        (get("[Options]\naws-sigv4: x"), "accepted are delay, repeat, skip"),
        (get("<xml/>"), "write it between lines of ```"),
        (get("{\"a\": 1"), "line 2: the JSON of the body has no end"),
        (get("HTTP 2xx"), "'HTTP 2xx' has no status; for example HTTP 200 or HTTP *"),
        (get("HTTP/3 200"), "HTTP/3 is not spoken"),
        (answer("[Asserts]\nxpath \"//a\" exists"), "line 4: 'xpath' needs the whole page; "),
        (answer("[Asserts]\njsonpath \"$..id\" == 1"), "accepted are names, places and [*]"),
        (answer("[Asserts]\nstatus"), "'' is no test; accepted are == !="),
        (answer("[Asserts]\nstatus == maybe"), "'maybe' is no value; for example \"text\", 7"),
        (answer("[Asserts]\nbody split \",\" exists"), "filter 'split' is not possible here"),
        (answer("[Asserts]\nbody matches /(/"), "is no regular expression"),
        (answer("[Captures]\na: regex /b/"), "has 0 groups, and the value is that of one"),
        (answer("[Captures]\na: cookie \"b[Path]\""), "only the value of a cookie is kept"),
        (answer("[Captures]\nb c: status"), "'b c' is no name of a variable"),
        (answer("[Asserts]\nvariable \"none\" exists"), "has no value here"),
        (answer("{\"a\": 1}"), "a whole body of JSON is not compared; "),
    ] {
        let why = flow(&text).expect_err(&text).to_string();
        assert!(why.contains(words), "{text:?}: {why}");
    }
}

#[test]
fn a_hole_has_a_value_only_after_the_step_that_captures_it() {
    let text = "GET {{base}}/{{later}}\nHTTP 200\n[Captures]\nlater: status\n";
    let why = flow(text).unwrap_err().to_string();
    let begin = "line 1: nothing gives {{later}} a value here; captured before it: user_name;";
    assert!(why.starts_with(begin), "{why}");
    assert!(why.ends_with("or give --variable later=VALUE"), "{why}");
    let again = format!("GET {{{{base}}}}/\nHTTP 200\n[Captures]\nlater: status\n{text}");
    assert_eq!(flow(&again).unwrap().steps.len(), 2);
}

proptest! {
    /// Any text is a flow or has an error with a line that it has.
    #[test]
    fn any_text_is_survived(
        lines in prop::collection::vec(
            prop_oneof![
                prop::sample::select(SHOP.lines().map(str::to_string).collect::<Vec<_>>()),
                "[ -~]{0,30}",
                "[{}\\[\\]\"`<#:\\\\ ]{0,8}",
                Just("```".to_string()),
            ],
            0..20,
        )
    ) {
        let text = lines.join("\n");
        if let Err(wrong) = flow(&text) {
            prop_assert!((wrong.line as usize) <= lines.len().max(1) + 1, "{}", wrong);
            prop_assert!(!wrong.what.is_empty());
        }
    }
}
