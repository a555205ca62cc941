//! What a step looks for, in responses that arrive in pieces.

use model::check::Statuses;
use model::flow::{
    Assert, Capture, Comparison, Filter, Found, Key, Kind, Operand, Query, Step, Test, Text,
};
use model::random::Random;
use proptest::prelude::*;
use wire::fill::Values;
use wire::look::{Facts, Look, Miss, Nothing, filler};

fn step() -> Step {
    Step::new("GET", Text::plain("/"))
}

/// A path of names and places, with dots between them.
fn path(text: &str) -> Query {
    let keys = text.split('.').filter(|key| !key.is_empty());
    Query::Json(
        keys.map(|key| match (key, key.parse()) {
            ("*", _) => Key::All,
            (_, Ok(place)) => Key::Nth(place),
            _ => Key::Name(key.into()),
        })
        .collect(),
    )
}

fn assert_that(query: Query, filters: Vec<Filter>, test: Test) -> Step {
    let of = Found { query: 0, filters };
    let assert = Assert { of, is_not: false, test, text: String::new(), line: 1 };
    Step { queries: vec![query], asserts: vec![assert], ..step() }
}

const BODY: &str = r#"{"id": 7, "big": 9007199254740993, "part": 0.50, "name": "Ann \"A\"",
    "tags": ["a", "b,]", 3, null, {"x": [1]}], "none": null, "yes": true, "empty": [],
    "at": "2026-11-30T10:00:00.5+01:00", "uuid": "123e4567-e89b-12d3-a456-426614174000"}"#;

const FACTS: Facts = Facts { status: 200, version: "1.1", duration_ns: 12_700_000 };

/// Judges a response whose body is cut at these places; returns what came of it and the values.
fn judged(step: &Step, body: &[u8], facts: &Facts, cuts: &[usize]) -> (Result<(), Miss>, Values) {
    let look = Look::new(step).unwrap();
    let (mut sight, mut values) = (look.sight(), Values::new(4, 1000));
    values.set(3, b"7").unwrap();
    for (name, value) in [
        ("content-type", "text/plain"),
        ("Set-Cookie", "sid=abc; Path=/"),
        ("set-cookie", "other=1"),
        ("X-Twice", "first"),
        ("x-twice", "second"),
    ] {
        look.field(&mut sight, name.as_bytes(), value.as_bytes());
    }
    let mut from = 0;
    for cut in cuts.iter().map(|cut| cut % (body.len() + 1)) {
        if cut > from {
            look.body(&mut sight, &body[from..cut]);
            from = cut;
        }
    }
    look.body(&mut sight, &body[from..]);
    let mut random = Random::new(1, 1);
    let mut fill = filler(&mut random, "now", 1);
    (look.judge(&mut sight, facts, &mut values, &mut fill), values)
}

fn holds(step: &Step) -> bool {
    judged(step, BODY.as_bytes(), &FACTS, &[]).0.is_ok()
}

fn equal(operand: Operand) -> Test {
    Test::Compare(Comparison::Equal, operand)
}

fn text(text: &str) -> Operand {
    Operand::Text(Text::plain(text))
}

fn number(text: &str) -> Operand {
    Operand::Number(text.into())
}

#[test]
fn values_are_compared_as_their_kinds_are() {
    let is = |query: &str, test: Test| holds(&assert_that(path(query), vec![], test));
    assert!(is("id", equal(number("7"))) && is("id", equal(number("7.0"))));
    assert!(!is("id", equal(text("7"))), "a number is no text");
    assert!(is("big", equal(number("9007199254740993"))));
    assert!(!is("big", equal(number("9007199254740992"))), "digits that a float has not");
    assert!(is("part", equal(number("0.5"))) && is("part", Test::Is(Kind::Float)));
    assert!(is("id", Test::Is(Kind::Integer)) && !is("id", Test::Is(Kind::Float)));
    assert!(is("name", equal(text("Ann \"A\""))) && is("none", equal(Operand::Null)));
    assert!(is("yes", equal(Operand::Boolean(true))) && is("yes", Test::Is(Kind::Boolean)));
    assert!(is("tags", Test::Is(Kind::List)) && is("", Test::Is(Kind::Object)));
    assert!(is("empty", Test::Is(Kind::Empty)) && !is("tags", Test::Is(Kind::Empty)));
    assert!(is("at", Test::Is(Kind::IsoDate)) && !is("name", Test::Is(Kind::IsoDate)));
    assert!(is("uuid", Test::Is(Kind::Uuid)) && !is("at", Test::Is(Kind::Uuid)));
    for (element, is_there) in [
        (text("a"), true),
        (text("b,]"), true),
        (text("b"), false),
        (number("3"), true),
        (text("3"), false),
        (Operand::Null, true),
    ] {
        assert_eq!(is("tags", Test::Contains(element.clone())), is_there, "{element:?}");
        assert_eq!(is("tags.*", Test::Contains(element)), is_there);
    }
    let order = |comparison, than: &str| is("id", Test::Compare(comparison, number(than)));
    assert!(order(Comparison::Greater, "6") && !order(Comparison::Greater, "7"));
    assert!(order(Comparison::AtLeast, "7") && order(Comparison::Less, "70"));
    assert!(order(Comparison::AtMost, "7") && order(Comparison::Unequal, "8"));
    assert!(is("none", Test::Exists) && !is("absent", Test::Exists));
    assert!(is("name", Test::Matches("^Ann".into())) && !is("id", Test::Matches("7".into())));
    assert!(is("name", Test::StartsWith(Text::plain("Ann"))));
    assert!(is("name", Test::EndsWith(Text::plain("\""))));
    let loose = |value: &str| equal(Operand::Loose(Text::plain(value)));
    assert!(is("id", loose("7")) && is("yes", loose("true")) && !is("id", loose("x")));
}

#[test]
fn a_test_that_a_value_is_not_made_for_fails_either_way() {
    for is_not in [false, true] {
        for (query, test) in [
            (path("name"), Test::Compare(Comparison::Greater, number("1"))),
            (path("id"), Test::Contains(text("7"))),
            (path("absent"), equal(text("x"))),
            (Query::Header("x-none".into()), Test::Matches("a".into())),
        ] {
            let mut step = assert_that(query, vec![], test);
            step.asserts[0].is_not = is_not;
            assert!(!holds(&step), "{step:?}");
        }
    }
    let mut step = assert_that(path("absent"), vec![], Test::Exists);
    step.asserts[0].is_not = true;
    assert!(holds(&step));
}

#[test]
fn each_query_sees_its_part_of_a_response() {
    let is = |query, filters, test| holds(&assert_that(query, filters, test));
    let header = |name: &str| Query::Header(name.into());
    assert!(is(header("x-twice"), vec![], equal(text("first"))));
    assert!(is(Query::Cookie("sid".into()), vec![], equal(text("abc"))));
    assert!(!is(Query::Cookie("si".into()), vec![], Test::Exists));
    assert!(is(Query::Status, vec![], equal(number("200"))));
    assert!(is(Query::Version, vec![], equal(text("1.1"))));
    assert!(is(Query::Duration, vec![], equal(number("12"))));
    assert!(is(Query::Bytes, vec![], equal(number(&BODY.len().to_string()))));
    assert!(is(Query::Body, vec![], Test::Contains(text("Ann"))));
    assert!(is(Query::Variable(3), vec![], equal(number("7"))));
    assert!(!is(Query::Variable(0), vec![], Test::Exists));
    let sum = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
    let empty = assert_that(Query::Sha256, vec![], equal(text(sum)));
    assert_eq!(judged(&empty, b"", &FACTS, &[]).0, Ok(()));
    assert!(is(path("tags"), vec![Filter::Count], equal(number("5"))));
    assert!(is(path("tags.*"), vec![Filter::Count], equal(number("5"))));
    assert!(is(path(""), vec![Filter::Count], equal(number("10"))));
    let year = vec![Filter::Regex("^([0-9]{4})-".into()), Filter::Number];
    assert!(is(path("at"), year, equal(number("2026"))));
    assert!(!is(path("name"), vec![Filter::Number], Test::Exists), "no number");
    assert!(is(path("id"), vec![Filter::Text], equal(text("7"))));
}

#[test]
fn the_status_goes_first_and_captures_stay() {
    let capture =
        |query, variable| Capture { variable, from: Found { query, filters: vec![] }, line: 1 };
    let captures = vec![capture(0, 0), capture(1, 1), capture(2, 2)];
    let queries = vec![path("id"), path("absent"), path("name")];
    let step = Step { queries, captures, ..step() };
    let (result, values) = judged(&step, BODY.as_bytes(), &FACTS, &[]);
    assert_eq!(result, Err(Miss::Capture(1, Nothing::Absent)));
    assert_eq!((values.get(0), values.get(1)), (Some(&b"7"[..]), None));
    assert_eq!(values.get(2), Some("Ann \"A\"".as_bytes()));
    let (result, _) = judged(&step, b"<html>", &FACTS, &[]);
    assert_eq!(result, Err(Miss::Capture(0, Nothing::NotJson)));
    let (result, _) = judged(&step, BODY.as_bytes(), &Facts { status: 503, ..FACTS }, &[]);
    assert_eq!(result, Err(Miss::Status));
    let any = Step { statuses: Some("2xx,5xx".parse::<Statuses>().unwrap()), ..step.clone() };
    let (result, _) = judged(&any, BODY.as_bytes(), &Facts { status: 503, ..FACTS }, &[]);
    assert_eq!(result, Err(Miss::Capture(1, Nothing::Absent)));
    let long = format!("{{\"id\": \"{}\"}}", "x".repeat(2000));
    let (result, _) = judged(&step, long.as_bytes(), &FACTS, &[]);
    assert_eq!(result, Err(Miss::NoRoom(0)));
}

proptest! {
    /// What is found does not depend on the pieces in which a body arrives.
    #[test]
    fn pieces_do_not_matter(mut cuts in prop::collection::vec(0usize..400, 0..12)) {
        cuts.sort_unstable();
        let tests = [
            (path("tags.4.x.0"), vec![], equal(number("1"))),
            (path("name"), vec![], equal(text("Ann \"A\""))),
            (Query::Body, vec![Filter::Regex("\"big\": ([0-9]+),".into())], Test::Exists),
            (Query::Bytes, vec![], equal(number(&BODY.len().to_string()))),
        ];
        for (query, filters, test) in tests {
            let step = assert_that(query, filters, test);
            let result = judged(&step, BODY.as_bytes(), &FACTS, &cuts).0;
            prop_assert_eq!(result, Ok(()), "{:?}", step.queries);
        }
    }
}
