//! Whatever a source has, the flow that is written from it is read back with the same request.

use flow::{Flow, Given};
use import::{KINDS, import};
use model::flow::{Piece, Text};
use proptest::prelude::*;
use serde_json::{Value, json};

fn of(kind: &str, content: &[u8]) -> Result<String, String> {
    let kind = KINDS.iter().find(|one| one.name == kind).unwrap();
    let mut input = content;
    let written = import(kind, "generated", &mut input, None);
    written.map(|written| written.text).map_err(|wrong| wrong.to_string())
}

/// Reads a flow whose variables are all given.
fn read(text: &str) -> Flow {
    let mut given = Given::default();
    for hole in text.split("{{").skip(1).filter_map(|rest| rest.split_once("}}")) {
        given.variables.insert(hole.0.trim().to_string(), "given".to_string());
    }
    given.variables.insert("base".to_string(), "http://127.0.0.1:1".to_string());
    let flow = flow::read("generated", text, &given, &mut |path| Ok(path.into()));
    flow.unwrap_or_else(|wrong| panic!("{wrong}\n{text}"))
}

/// What goes out for a text without holes.
fn sent(text: &Text) -> String {
    let pieces = text.0.iter().map(|piece| match piece {
        Piece::Plain(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        Piece::Hole(..) => "{hole}".to_string(),
        Piece::Base64(inside) => sent(inside),
    });
    pieces.collect()
}

fn decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        let two = after.get(..2).and_then(|two| std::str::from_utf8(two).ok());
        let byte = two.and_then(|two| u8::from_str_radix(two, 16).ok());
        match (first, byte) {
            (b'%', Some(byte)) => {
                bytes.push(byte);
                rest = &after[2..];
            }
            _ => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Letters that mean something in a flow, a URL or a form, and others.
fn text() -> impl Strategy<Value = String> {
    "[a-c0-9 #\\\\{}`\"'<>:;,\\[\\]()%&=+/?é✓\n\t-]{0,24}"
}

/// The same on one line.
fn line() -> impl Strategy<Value = String> {
    text().prop_map(|text| text.replace(['\n', '\t'], " ").trim().to_string())
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        text().prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::hash_map(text(), inner, 0..3)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

/// A body, and its type.
fn body() -> impl Strategy<Value = (String, String)> {
    let of = |kind: &'static str| move |text: String| (text, kind.to_string());
    prop_oneof![
        value().prop_map(|value| value.to_string()).prop_map(of("application/json")),
        value().prop_map(|value| format!("{value:#}")).prop_map(of("application/json; v=1")),
        text().prop_map(of("text/plain")),
        text().prop_map(of("application/json")),
        text().prop_map(of("application/x-www-form-urlencoded")),
        prop::collection::vec((line(), line()), 1..4)
            .prop_map(|pairs| {
                let encode = |text: &str| -> String {
                    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
                };
                let pairs = pairs.iter().map(|(a, b)| format!("{}={}", encode(a), encode(b)));
                pairs.collect::<Vec<_>>().join("&")
            })
            .prop_map(of("application/x-www-form-urlencoded")),
    ]
}

fn is_same_body(is: &str, was: &str, media_type: &str) -> bool {
    let json = |text: &str| serde_json::from_str::<Value>(text).ok();
    let is_json = json(was).is_some() && json(is) == json(was);
    // Forms are encoded anew.
    let is_form = media_type.contains("form") && decoded(is) == decoded(&was.replace('+', "%20"));
    is == was || is_json || is_form
}

proptest! {
    #[test]
    fn requests_of_recordings_and_commands_are_read_back(
        method in "[A-Z]{1,8}",
        path in line(),
        query in line(),
        headers in prop::collection::vec(("[Xx]-[a-c]{1,6}", line()), 0..4),
        (content, media_type) in body(),
    ) {
        prop_assume!(!["OPTIONS", "CONNECT", "HTTP"].contains(&method.as_str()));
        let path = format!("/{}", path.replace(['?', '#'], ""));
        let query = query.replace('#', "").trim_end().to_string();
        let url = format!("http://a.example{path}?{query}");
        let fields = headers.iter().map(|(name, value)| json!({"name": name, "value": value}));
        let mut fields: Vec<Value> = fields.collect();
        fields.push(json!({"name": "Content-Type", "value": media_type}));
        let recorded = json!({"log": {"entries": [{"request": {
            "method": method, "url": url, "headers": fields,
            "postData": {"mimeType": media_type, "text": content},
        }}]}});
        let quoted = |text: &str| format!("'{}'", text.replace('\'', "'\\''"));
        let mut command = format!(
            "curl -X {method} {} --data-raw {} -H {}",
            quoted(&url), quoted(&content), quoted(&format!("Content-Type: {media_type}"))
        );
        for (name, value) in headers.iter().filter(|(_, value)| !value.is_empty()) {
            command += &format!(" -H {}", quoted(&format!("{name}: {value}")));
        }
        for (kind, source) in [("har", recorded.to_string()), ("curl", command)] {
            let text = of(kind, source.as_bytes()).unwrap();
            let flow = read(&text);
            prop_assert_eq!(flow.steps.len(), 1, "{}", text);
            let step = &flow.steps[0];
            prop_assert_eq!(&step.method, &method);
            let target = sent(&step.path);
            let (is_path, is_query) = target.split_once('?').unwrap_or((&target, ""));
            prop_assert_eq!(decoded(is_path), decoded(&path), "{}", text);
            prop_assert_eq!(decoded(is_query), decoded(&query), "{}", text);
            let mut expected: Vec<(String, String)> = headers
                .iter()
                .filter(|(_, value)| kind == "har" || !value.is_empty())
                .map(|(name, value)| (name.clone(), value.clone()))
                .collect();
            if !content.is_empty() || kind == "har" {
                expected.push(("Content-Type".to_string(), media_type.clone()));
            }
            let mut is: Vec<(String, String)> =
                step.headers.iter().map(|(name, value)| (name.clone(), sent(value))).collect();
            is.sort();
            expected.sort();
            if kind == "har" || !content.is_empty() {
                prop_assert_eq!(is, expected, "{}", text);
            }
            let body = sent(&step.body);
            prop_assert!(is_same_body(&body, &content, &media_type), "{}: {:?}", text, body);
        }
    }

    /// Any file is imported as a flow that can be read, or refused.
    #[test]
    fn any_file_is_survived(
        kind in 0..KINDS.len(),
        lines in prop::collection::vec(
            (0..4000usize, prop_oneof![Just(String::new()), text()]),
            0..40,
        ),
    ) {
        let fixtures = [
            include_str!("../fixtures/shop.curl"),
            include_str!("../fixtures/shop.http"),
            include_str!("../fixtures/shop.openapi.yaml"),
            include_str!("../fixtures/shop.postman.json"),
        ];
        let all: Vec<&str> = fixtures.iter().flat_map(|text| text.lines()).collect();
        let lines = lines.iter().map(|(at, more)| format!("{}{more}", all[at % all.len()]));
        let text = lines.collect::<Vec<_>>().join("\n");
        if let Ok(written) = of(KINDS[kind].name, text.as_bytes()) {
            read(&written);
        }
    }

    /// The same for documents with any values at the places of others.
    #[test]
    fn any_value_in_a_document_is_survived(at in 0..600usize, value in value()) {
        for (kind, text) in [
            ("postman", include_str!("../fixtures/shop.postman.json")),
            ("har", include_str!("../fixtures/shop.har")),
        ] {
            let mut document: Value = serde_json::from_str(text).unwrap();
            let mut left = at;
            replace(&mut document, &mut left, &value);
            if let Ok(written) = of(kind, document.to_string().as_bytes()) {
                read(&written);
            }
        }
    }
}

/// Puts a value at the place of the so many-th one.
fn replace(document: &mut Value, left: &mut usize, value: &Value) {
    if *left == 0 {
        *document = value.clone();
    }
    *left = left.wrapping_sub(1);
    match document {
        Value::Array(values) => values.iter_mut().for_each(|one| replace(one, left, value)),
        Value::Object(members) => {
            members.values_mut().for_each(|one| replace(one, left, value));
        }
        _ => {}
    }
}
