//! Files of every kind become flows that can be read and have what the files have.

use flow::{Flow, Given};
use import::{KINDS, Written, import};
use model::flow::{Piece, Source, Text};
use std::path::Path;

/// Imports a fixture by its name, whose part behind the dot is the kind.
fn imported(name: &str) -> Written {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(name);
    let content = std::fs::read(file).unwrap();
    of(name.split('.').nth(1).unwrap(), &content).unwrap_or_else(|why| panic!("{name}: {why}"))
}

fn of(kind: &str, content: &[u8]) -> Result<Written, String> {
    let kind = KINDS.iter().find(|one| one.name == kind).unwrap();
    let mut input = content;
    import(kind, "shop", &mut input, None).map_err(|wrong| wrong.to_string())
}

/// Reads a flow; each variable that its first lines ask for is given as `<name>`.
fn read(written: &Written) -> Flow {
    let mut given = Given::default();
    for line in written.text.lines().take_while(|line| line.starts_with('#')) {
        let rest = line.trim_start_matches(['#', ' ']);
        let name = rest.strip_prefix("--variable ").or(rest.strip_prefix("--secret-env "));
        let Some(name) = name.and_then(|rest| rest.split([' ', '=']).next()) else { continue };
        given.variables.insert(name.to_string(), format!("<{name}>"));
    }
    given.variables.insert("base".to_string(), "http://127.0.0.1:1".to_string());
    let flow = flow::read("shop", &written.text, &given, &mut |path| Ok(path.into()));
    flow.unwrap_or_else(|wrong| panic!("{wrong}\n{}", written.text))
}

/// A text with its holes in braces.
fn shown(flow: &Flow, text: &Text) -> String {
    let pieces = text.0.iter().map(|piece| match piece {
        Piece::Plain(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        Piece::Hole(Source::Variable(place), _) => {
            format!("{{{}}}", flow.variables[usize::from(*place)].name)
        }
        Piece::Hole(source, _) => format!("{{{source:?}}}"),
        Piece::Base64(inside) => format!("base64({})", shown(flow, inside)),
    });
    pieces.collect()
}

/// Every step: method and path, headers, cookies, and body.
fn steps(flow: &Flow) -> Vec<String> {
    let steps = flow.steps.iter().map(|step| {
        let mut lines = vec![format!("{} {}", step.method, shown(flow, &step.path))];
        let pairs = step.headers.iter().chain(&step.cookies);
        lines.extend(pairs.map(|(name, value)| format!("{name}: {}", shown(flow, value))));
        let body = shown(flow, &step.body);
        lines.extend((!body.is_empty()).then_some(body));
        lines.join("\n")
    });
    steps.collect()
}

#[test]
fn every_kind_has_a_fixture_without_its_secrets() {
    for kind in KINDS {
        let end = match kind.name {
            "postman" => "postman.json",
            "openapi" => "openapi.yaml",
            other => other,
        };
        let written = imported(&format!("shop.{end}"));
        read(&written);
        for secret in ["s3cret", "abcdef0123456789", "old-token"] {
            assert!(!written.text.contains(secret), "{}: {}", kind.name, written.text);
            assert!(!written.summary.join("").contains(secret), "{}", kind.name);
        }
        assert!(
            written
                .text
                .lines()
                .filter(|line| line.starts_with('#'))
                .all(|line| { line.chars().count() <= 100 })
        );
        assert!(written.summary[0].ends_with("from shop"), "{:?}", written.summary);
        assert!(written.summary[1].contains("1 of other servers") || kind.name == "har");
    }
}

#[test]
fn commands_of_curl_are_the_requests_that_they_send() {
    let written = imported("shop.curl");
    let flow = read(&written);
    let steps = steps(&flow);
    let login = "POST /login\nUser-Agent: Mozilla/5.0\nContent-Type: application/json\n\
                 {\"user\":\"ann\",\"password\":\"<password>\",\
                 \"note\":\"it's # \\u00e9 {\\u007bx}}\"}";
    assert_eq!(steps[0], login);
    assert_eq!(steps[1], "GET /products?page=2&q=a%20b%26c");
    let begin = "POST /basket\nAuthorization: Bearer <token>\n\
                 Content-Type: multipart/form-data; boundary=";
    assert!(steps[2].starts_with(begin), "{}", steps[2]);
    assert!(steps[2].contains("session: <token>\nlang: de\n"), "{}", steps[2]);
    assert!(steps[2].contains("name=\"product\"\r\n\r\n23; \"x\"\r\n"), "{}", steps[2]);
    assert!(steps[2].contains("filename=\"a b.png\"\r\nContent-Type: image/png"), "{}", steps[2]);
    assert_eq!(steps[3], "HEAD /");
    assert_eq!(steps[4], "PUT /up\nAuthorization: Basic base64(ann:<password>)\nlist.csv");
    assert_eq!(
        written.summary[1],
        "2 of 7 requests left out: 1 of other servers, 1 no command of curl"
    );
    for comment in [
        "# --insecure: it is said of a whole run; give -k",
        "# --compressed: left out",
        "# Needs the file a b.png\n",
        "# Needs the file list.csv\n",
    ] {
        assert!(written.text.contains(comment), "{}", written.text);
    }
}

#[test]
fn a_recording_tells_think_times_cookies_and_captures() {
    let written = imported("shop.har");
    let flow = read(&written);
    let steps = steps(&flow);
    assert_eq!(steps.len(), 6);
    let agent =
        "User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0";
    let referer = "Accept: */*\nReferer: http://127.0.0.1:1/shop";
    assert_eq!(
        steps[0],
        format!(
            "POST /login\n{agent}\n{referer}\nContent-Type: application/json\n\
             {{\"user\":\"ann\",\"password\":\"<password>\"}}"
        )
    );
    // The cookie of the login is kept by the user.
    assert_eq!(steps[1], format!("GET /page\n{agent}\n{referer}"));
    let basket = "Authorization: Bearer {token}\nOrigin: http://127.0.0.1:1\n\
                  Content-Type: application/x-www-form-urlencoded\n_csrf={csrf}&product=23";
    assert!(steps[3].ends_with(basket), "{}", steps[3]);
    assert!(steps[4].starts_with("GET /basket/{id}\n"), "{}", steps[4]);
    assert!(steps[5].ends_with("{\"basket\": \"{id}\"}"), "{}", steps[5]);
    let delays: Vec<u64> = flow.steps.iter().map(|step| step.delay_ns / 1_000_000).collect();
    assert_eq!(delays, [0, 800, 0, 2500, 0, 1200]);
    let good = |place: usize, status| flow.steps[place].statuses.as_ref().unwrap().holds(status);
    assert!(good(0, 200) && good(3, 303) && good(5, 201) && !good(5, 200));
    for line in [
        "token: jsonpath \"$.token\"\n",
        "csrf: regex \"name=\\\"_csrf\\\" value=\\\"([^\\\"]+)\"\n",
        "id: header \"Location\" regex \"/basket/([^ \\\\t\\\\r\\\\n]+)\"\n",
    ] {
        assert!(written.text.contains(line), "{line}{}", written.text);
    }
    assert_eq!(written.summary[1], "3 of 9 requests left out: 1 image, 1 font, 1 of other servers");
}

#[test]
fn request_files_keep_names_variables_and_captures() {
    let written = imported("shop.http");
    let flow = read(&written);
    let steps = steps(&flow);
    assert!(
        steps[0].ends_with("{\"user\": \"ann\", \"password\": \"<password>\"}"),
        "{}",
        steps[0]
    );
    assert_eq!(steps[1], "GET /products?page=2&trace={Uuid}");
    let basket = "POST /basket\nAuthorization: Bearer {login_token}\n\
                  Content-Type: application/x-www-form-urlencoded\nproduct=23&note=a%20b";
    assert_eq!(steps[2], basket);
    assert!(steps[3].contains("Bearer {session_token}"), "{}", steps[3]);
    assert!(steps[3].contains("name=\"title\"\r\n\r\nAnn\r\n"), "{}", steps[3]);
    assert!(steps[3].contains("Content-Type: image/png\r\n\r\n./a.png\r\n"), "{}", steps[3]);
    assert_eq!(
        written.summary[1],
        "2 of 6 requests left out: 1 of other servers, 1 without a URL of HTTP"
    );
    assert!(written.text.contains("#    client.global.set("), "{}", written.text);
}

#[test]
fn collections_keep_folders_authorization_and_bodies() {
    let written = imported("shop.postman.json");
    let flow = read(&written);
    let steps = steps(&flow);
    let login = "POST /login\nContent-Type: application/json\n\
                 {\"user\": \"ann\", \"password\": \"<password>\"}";
    assert_eq!(steps[0], login);
    assert!(flow.steps[0].statuses.as_ref().unwrap().holds(200));
    assert_eq!(steps[1], "GET /basket/7?full=%3Cfull%3E\nAuthorization: Bearer {token}");
    assert!(steps[2].ends_with("\nproduct=23"), "{}", steps[2]);
    assert!(steps[3].starts_with("POST /picture?sign=%3Capi_key%3E\n"), "{}", steps[3]);
    assert!(steps[3].contains("\r\n\r\na.png\r\n"), "{}", steps[3]);
    let query = "{\"query\": \"query($id: Int) { product(id: $id) { name } }\", \
                 \"variables\": {\"id\": <product>}}";
    assert!(steps[4].ends_with(query), "{}", steps[4]);
    for comment in [
        "# Folder: Account\n",
        "# Script before the request, left out:\n#  pm.variables.set('a', 1)\n",
        "# Left out: authorization of the kind hawk; give a header with -H\n",
        "# Needs the file a.png\n",
    ] {
        assert!(written.text.contains(comment), "{comment}{}", written.text);
    }
}

#[test]
fn descriptions_give_each_operation_a_request() {
    let written = imported("shop.openapi.yaml");
    let flow = read(&written);
    let steps = steps(&flow);
    let login = "POST /v1/login\nContent-Type: application/json\n{\n  \
                 \"user\": \"<user_value>\",\n  \"password\": \"<password>\",\n  \"more\": [";
    assert!(steps[0].starts_with(login), "{}", steps[0]);
    assert!(steps[0].contains("\"size\": \"small\""), "{}", steps[0]);
    assert!(!steps[0].contains("parent"), "what need not be there is left out: {}", steps[0]);
    assert!(flow.steps[0].statuses.as_ref().unwrap().holds(201));
    let product = "GET /v1/products/%3Cproducts_id%3E?full=false\nX-Trace: on\n\
                   Authorization: Bearer <token>";
    assert_eq!(steps[1].replace("/<products_id>", "/%3Cproducts_id%3E"), product);
    assert!(steps[2].ends_with("\nproduct=23"), "{}", steps[2]);
    assert!(
        steps[3].starts_with("POST /v1/picture?api_key=%3Capi_key_secret%3E\n"),
        "{}",
        steps[3]
    );
    for comment in ["# Optional, left out: lang\n", "(first in step 2; integer, Its number)\n"] {
        assert!(written.text.contains(comment), "{comment}{}", written.text);
    }
}

#[test]
fn what_is_no_file_of_its_kind_is_said_with_the_way_round() {
    for (kind, content, words) in [
        ("curl", "wget http://a/", "there is no request in it; it should be command lines of curl"),
        ("curl", "curl --frobnicate http://a/", "--frobnicate is no option that is known here"),
        ("curl", "curl -H", "-H has no value behind it"),
        ("curl", "curl ^\"http://a/^\"", "choose \"Copy as cURL (bash)\""),
        ("har", "{\"log\": {\"entries\": [{\"request\"", "line 1: this is no HAR file: EOF"),
        ("har", "{\"log\": {\"entries\": []}}", "there is no request in it"),
        ("har", "[]", "a HAR file begins with"),
        ("postman", "{\"requests\": []}", "it is of version 1; export it as v2.1"),
        ("postman", "{\"values\": []}", "it is an environment"),
        ("postman", "{", "this is no collection of Postman"),
        ("openapi", "swagger: '2.0'", "accepted are OpenAPI 3.0 and 3.1, so convert it first"),
        ("openapi", "a: 1", "openapi is ''"),
        ("openapi", "openapi: 3.0.0\npaths: {}", "there is no request in it"),
        ("http", "### nothing\n", "there is no request in it; it should be a request file"),
    ] {
        let why = of(kind, content.as_bytes()).map(|written| written.text).expect_err(content);
        assert!(why.contains(words), "{kind} {content}: {why}");
    }
    assert!(of("http", b"GET \xff").unwrap_err().contains("the file is no text (UTF-8)"));
    assert!(of("curl", "\u{feff}curl http://a/".as_bytes()).is_ok(), "a mark of the byte order");
}

/// An entry of a HAR file.
fn entry(path: &str, token: &str, body: &str, response: &str) -> String {
    serde_json::json!({
        "request": {
            "method": "POST", "url": format!("http://h.example{path}"),
            "headers": [{"name": "Authorization", "value": format!("Bearer {token}")}],
            "postData": {"mimeType": "text/plain", "text": body},
        },
        "response": {"status": 200, "content": {"mimeType": "application/json", "text": response}},
    })
    .to_string()
}

fn recording(entries: &[String]) -> Written {
    let text = format!("{{\"log\": {{\"entries\": [{}]}}}}", entries.join(","));
    of("har", text.as_bytes()).unwrap()
}

/// A flow that is too large is refused as a whole.
#[test]
fn what_a_flow_has_no_room_for_is_left_out() {
    let entries: Vec<String> = (0..1002).map(|at| entry(&format!("/{at}"), "", "", "")).collect();
    let written = recording(&entries);
    assert_eq!(read(&written).steps.len(), 1000);
    assert_eq!(written.summary[1], "2 of 1002 requests left out: 2 beyond 1000 steps");

    let body = "x y ".repeat(1 << 18);
    let entries: Vec<String> = (0..5).map(|at| entry(&format!("/{at}"), "", &body, "")).collect();
    let written = recording(&entries);
    assert_eq!(read(&written).steps.len(), 2);
    assert_eq!(written.summary[1], "3 of 5 requests left out: 3 beyond 3 MiB");

    let requests = (0..202).map(|at| {
        format!("GET http://h/{at}\n\n> {{% client.global.set('v{at}', response.body.a); %}}\n")
    });
    let text = requests.collect::<Vec<_>>().join("###\n");
    let written = of("http", text.as_bytes()).unwrap();
    assert_eq!((read(&written).steps.len(), read(&written).variables.len()), (200, 200));
    let summary = "2 of 202 requests left out: 2 beyond 200 captured variables";
    assert_eq!(written.summary[1], summary);

    let long = entry(&format!("/{}", "x".repeat(5 << 20)), "", "", "");
    let written = recording(&[long, entry("/", "", "", "")]);
    assert!(written.text.len() < 1000, "{}", written.text.len());
    assert!(written.text.contains("more than 4 MiB"), "{}", written.text);
}

#[test]
fn captures_that_are_too_many_are_told() {
    let of = |count: usize| {
        let values = (0..count).map(|at| format!("value-{at:04}")).collect::<Vec<_>>();
        let response = serde_json::json!(values).to_string();
        recording(&[
            entry("/", "", "", &response),
            entry(&format!("/{}", values.join("/")), "", "", ""),
        ])
    };
    for (count, captured, is_told) in [(150, 150, false), (151, 150, true)] {
        let written = of(count);
        assert_eq!(read(&written).variables.len(), captured);
        let told = written.text.contains("# Some values that a response gave may have no capture");
        assert_eq!(told, is_told, "{count}");
    }
}

#[test]
fn a_secret_has_no_name_that_something_else_has() {
    let login = entry("/login", "", "", "{\"token\": \"abc12345678\"}");
    let entries = [
        login,
        entry("/a", "abc12345678", "", ""),
        entry("/b", "another1", "", ""),
        entry("/c", "another2", "", ""),
        entry("/d", "another1", "", ""),
    ];
    let written = recording(&entries);
    let steps = steps(&read(&written));
    assert_eq!(steps[0], "POST /login\nAuthorization: Bearer", "before the login");
    let tokens = ["{token}", "<token_2>", "<token_3>", "<token_2>"];
    for (step, token) in steps[1..].iter().zip(tokens) {
        assert!(step.ends_with(&format!("\nAuthorization: Bearer {token}")), "{step}");
    }
    let text =
        b"GET http://h/a\nX-Token: {{token}}\n\n###\nGET http://h/b\nAuthorization: Bearer x1\n";
    let flow = read(&of("http", text).unwrap());
    let sent = self::steps(&flow).join(" ");
    assert!(sent.contains("X-Token: <token> ") && sent.contains("Bearer <token_2>"), "{sent}");
}

/// The steps of a source.
fn steps_of(kind: &str, content: &str) -> Vec<String> {
    steps(&read(&of(kind, content.as_bytes()).unwrap()))
}

#[test]
fn a_secret_is_sought_under_every_name_as_a_word() {
    let body = r#"{"password": "s3cretive", "again": "is s3cretive!", "more": "s3cretives"}"#;
    let steps = steps_of("curl", &format!("curl http://h/s3cretive -d '{body}' -H 'X-Pin: 1234'"));
    assert!(steps[0].starts_with("POST /%3Cpassword%3E\n"), "{}", steps[0]);
    let body = r#"{"password": "<password>", "again": "is <password>!", "more": "s3cretives"}"#;
    assert!(steps[0].ends_with(body), "{}", steps[0]);
    let steps = steps_of("curl", r#"curl http://h/1234 --json '{"password": "1234", "b": 1234}'"#);
    assert!(steps[0].starts_with("POST /1234\n"), "any text may have it: {}", steps[0]);
}

#[test]
fn a_think_time_begins_when_all_requests_before_are_answered() {
    let entry = |second: &str, took_ms: u32| {
        serde_json::json!({
            "startedDateTime": format!("2026-11-18T11:06:{second}Z"), "time": took_ms,
            "request": {"method": "GET", "url": "http://h/"},
        })
    };
    let entries = [entry("00.000", 5000), entry("00.100", 100), entry("05.200", 10)];
    let entries = entries.map(|entry| entry.to_string());
    let flow = read(&recording(&entries));
    let delays: Vec<u64> = flow.steps.iter().map(|step| step.delay_ns / 1_000_000).collect();
    assert_eq!(delays, [0, 0, 200]);
}

#[test]
fn a_recording_goes_to_the_server_that_answers() {
    let entry = |url: &str, status: u16, cookies: &str| {
        let headers = [serde_json::json!({"name": "Cookie", "value": cookies})];
        let request = serde_json::json!({"method": "GET", "url": url, "headers": headers});
        serde_json::json!({"request": request, "response": {"status": status}}).to_string()
    };
    let entries = [
        entry("http://h.example/", 301, ""),
        entry("http://h.example/a", 302, ""),
        entry("https://h.example/", 200, "_ga=GA1.2.345678901; lang=de"),
        entry("https://h.example/kept", 304, ""),
    ];
    let written = recording(&entries);
    assert!(written.summary[2].contains("base=https://h.example"), "{:?}", written.summary);
    let flow = read(&written);
    assert_eq!(steps(&flow), ["GET /\nlang: de", "GET /kept"]);
    let is_good = |status| flow.steps[1].statuses.as_ref().unwrap().holds(status);
    assert!(is_good(200) && !is_good(304), "what a browser had comes whole");
}

#[test]
fn a_method_of_several_lines_makes_no_step_of_its_own() {
    let written =
        of("curl", b"curl http://h/a\ncurl -X $'GET http://h/b\\nGET' http://h/c").unwrap();
    assert_eq!(steps(&read(&written)), ["GET /a"]);
    assert!(written.text.contains("it reads as more than one step"), "{}", written.text);
}

#[test]
fn a_variable_that_a_response_sets_has_no_value_of_the_file() {
    let text = "@order = old1\n@page = 7\nGET http://h/in\n\n> {% client.global.set(\"order\", \
                response.body.id); %}\n\n###\nGET http://h/{{page}}?order={{order}}\n";
    assert_eq!(steps_of("http", text), ["GET /in", "GET /7?order={order}"]);
}

#[test]
fn what_only_the_server_writes_is_not_sent() {
    let schema = "{required: [id, name], properties: {id: {type: integer, readOnly: true, \
                  example: 7}, name: {type: string, example: Ann}}}";
    let text = format!(
        "openapi: 3.0.0\nservers: [{{url: 'http://h'}}]\npaths:\n  /a:\n    post:\n      \
         requestBody: {{content: {{application/json: {{schema: {schema}}}}}}}\n"
    );
    assert!(steps_of("openapi", &text)[0].ends_with("\n{\n  \"name\": \"Ann\"\n}"), "{text}");
}
