//! One schema, from files and from servers that describe themselves in different ways.

use model::call::{CallStatus, Replies};
use model::field::{Field, FieldValue};
use prost::Message;
use prost_types::{FileDescriptorProto, FileDescriptorSet};
use schema::{Reply, Schema, compile, framed, reflect};
use std::path::PathBuf;

fn fixture(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(name)
}

fn set() -> Vec<u8> {
    compile(&[fixture("shop.proto")], &[]).unwrap()
}

fn shop() -> Schema {
    Schema::of_set(&set()).unwrap()
}

#[test]
fn what_a_file_imports_is_found_beside_it() {
    let rows = shop().rows();
    assert_eq!(rows.len(), 1);
    let lines: Vec<String> = rows[0].methods.iter().map(|method| method.line()).collect();
    assert_eq!(lines[0], "rpc Read(shop.ReadRequest) returns (shop.Item)");
    assert_eq!(lines[4], "rpc Watch(shop.WatchRequest) returns (stream shop.Item)");
    let missing = compile(&[fixture("none.proto")], &[]).unwrap_err();
    assert!(missing.contains("none.proto") && !missing.contains('\n'), "{missing}");
    // Elsewhere, its import is not found.
    let elsewhere = compile(&[fixture("shop.proto")], &[PathBuf::from("/proc")]).unwrap_err();
    assert!(!elsewhere.contains('\n'), "{elsewhere}");
}

#[test]
fn json_becomes_a_message_with_its_prefix() {
    let read = shop().method("/shop.Catalog/Read").unwrap();
    for json in ["{\"id\":150}", "{\"id\":\"150\"}"] {
        assert_eq!(read.messages(json.as_bytes()).unwrap(), [0, 0, 0, 0, 3, 0x08, 0x96, 0x01]);
    }
    for json in ["", " ", "{}", "{\"id\":0}"] {
        assert_eq!(read.messages(json.as_bytes()).unwrap(), framed(&[]), "{json:?}");
    }
    let echo = shop().method("shop.Catalog/Echo").unwrap();
    let item = "{\"madeAt\":\"1970-01-01T00:00:01Z\",\"parts\":[{\"colour\":\"RED\"}]}";
    let message = echo.messages(item.as_bytes()).unwrap();
    assert_eq!(message, [&[0, 0, 0, 0, 8][..], &[0x22, 2, 8, 1], &[0x2a, 2, 0x18, 1]].concat());
    let same = item.replace("madeAt", "made_at");
    assert_eq!(echo.messages(same.as_bytes()).unwrap(), message, "both names of a field");
    assert!(echo.messages(echo.example().as_bytes()).is_ok(), "{}", echo.example());
}

#[test]
fn messages_are_shown_as_json_as_far_as_there_is_room() {
    let talk = shop().method("/shop.Catalog/Talk").unwrap();
    let json = "[{\"id\":1,\"colour\":\"RED\"},{},{\"name\":\"\u{e9}\u{202e}\"}]";
    let body = talk.messages(json.as_bytes()).unwrap();
    let all = ["{\"id\":\"1\",\"colour\":\"RED\"}", "{}", "{\"name\":\"\u{e9}\u{202e}\"}"];
    assert_eq!(talk.show_request(&body, 1000), all);
    assert_eq!(talk.show_reply(&[], 1000), [""; 0]);
    // In the middle of a character, and between two messages.
    assert_eq!(talk.show_reply(&body[9..], 12), ["{}", "{\"name\":\".."]);
    assert_eq!(talk.show_request(&body, 25), [all[0], ".."]);
    // What did not come, is no such message, or is compressed.
    assert_eq!(talk.show_reply(&body[..body.len() - 1], 1000)[2], "{}..");
    assert_eq!(talk.show_reply(&body[..3], 1000), [".."]);
    let wrong = talk.show_reply(&framed(&[0x0f]), 1000);
    assert_eq!(wrong, ["1 bytes that are no shop.Item"]);
    assert_eq!(talk.show_reply(&[1, 0, 0, 0, 1, 7], 1000), ["a compressed message"]);
    let set = Schema::of_set(&shop().to_set()).unwrap();
    assert_eq!(set.method("/shop.Catalog/Talk").unwrap().show_request(&body, 1000), all);
}

/// A method that streams its requests takes a list; what is no list is one message.
#[test]
fn a_list_becomes_messages_each_with_its_prefix() {
    let collect = shop().method("/shop.Catalog/Collect").unwrap();
    let (one, two) = ([0, 0, 0, 0, 2, 8, 1], [0, 0, 0, 0, 3, 0x12, 1, b'n']);
    for (json, messages) in [
        ("[{\"id\":1},{\"name\":\"n\"}]", [&one[..], &two[..]].concat()),
        (" [ ]", Vec::new()),
        ("[{}]", framed(&[])),
        ("{\"id\":\"1\"}", one.to_vec()),
        ("", framed(&[])),
    ] {
        assert_eq!(collect.messages(json.as_bytes()).unwrap(), messages, "{json:?}");
    }
    assert!(collect.messages(collect.example().as_bytes()).unwrap().len() > 20);
    let read = shop().method("/shop.Catalog/Read").unwrap();
    let wrong = read.messages(b"[{\"id\":1}]").unwrap_err();
    let said =
        "the message is no shop.ReadRequest but a list, and the method takes one; for example";
    assert_eq!(wrong, format!("{said} '{{\"id\":1}}'"));
    for (json, words) in [
        ("[{\"id\":1},{\"idd\":1}]", "message 2 of 2: shop.Item has no field 'idd'"),
        ("[1]", "message 1 of 1: the message is no shop.Item"),
        ("[{}", "not JSON"),
    ] {
        let wrong = collect.messages(json.as_bytes()).unwrap_err();
        assert!(wrong.contains(words), "{json}: {wrong}");
    }
}

#[test]
fn json_becomes_fields_with_their_numbers() {
    let read = shop().method("/shop.Catalog/Read").unwrap();
    let field = |path: &[u32], value, is_default| Field { path: path.to_vec(), value, is_default };
    use FieldValue::{Bytes, Message, Varint};
    for (json, fields) in [
        ("{\"id\":\"150\"}", vec![field(&[1], Varint(150), false)]),
        ("{\"id\":-1}", vec![field(&[1], Varint(u64::MAX), false)]),
        ("{\"id\":0}", vec![field(&[1], Varint(0), true)]),
        ("{\"name\":\"\"}", vec![field(&[2], Bytes(Vec::new()), true)]),
        (
            "{\"colour\":\"RED\",\"name\":\"an item\"}",
            vec![field(&[2], Bytes(b"an item".to_vec()), false), field(&[3], Varint(1), false)],
        ),
        (
            "{\"madeAt\":\"1970-01-01T00:00:01Z\"}",
            vec![field(&[4, 1], Varint(1), false), field(&[4, 2], Varint(0), true)],
        ),
    ] {
        assert_eq!(read.fields(json.as_bytes()).unwrap(), fields, "{json}");
    }
    for (json, words) in [
        ("{\"idd\":1}", "did you mean id?"),
        ("{\"id\":\"x\"}", "field 'id' takes int64"),
        ("{\"id\":null}", "'id' is null"),
        ("{\"parts\":[]}", "'parts' is a list"),
    ] {
        let wrong = read.fields(json.as_bytes()).unwrap_err();
        assert!(wrong.contains(words), "{json}: {wrong}");
    }
    let set = compile(&[fixture("kinds.proto")], &[]).unwrap();
    let kinds = Schema::of_set(&set).unwrap().method("/kinds.All/Get").unwrap();
    let json = "{\"sint\":-1,\"fixed\":7,\"float\":1.5,\"flag\":true,\"maybe\":0,\"inner\":{}}";
    let fields = kinds.fields(json.as_bytes()).unwrap();
    assert_eq!(
        fields,
        [
            field(&[1], Varint(1), false),
            field(&[2], FieldValue::Fixed64(7), false),
            field(&[3], FieldValue::Fixed32(1.5f32.to_bits()), false),
            field(&[4], Varint(1), false),
            // One that may be absent is not there by itself.
            field(&[5], Varint(0), false),
            field(&[6], Message, false),
        ]
    );
    let deep = kinds.fields(b"{\"inner\":{\"inner\":{\"fixed\":0}}}").unwrap();
    assert_eq!(deep, [field(&[6, 6, 2], FieldValue::Fixed64(0), true)]);
    let deeper = format!("{}{{}}{}", "{\"inner\":".repeat(9), "}".repeat(9));
    assert!(kinds.fields(deeper.as_bytes()).unwrap_err().contains("too deep"));
}

/// The field, what it takes, and an example.
#[test]
fn what_does_not_fit_is_named() {
    let echo = shop().method("/shop.Catalog/Echo").unwrap();
    for (json, words) in [
        ("{\"id\":", ["not JSON", "for example '{"]),
        ("{\"idd\":1}", ["shop.Item has no field 'idd'", "did you mean id?"]),
        ("{\"parts\":[{\"id\":1},{\"nam\":2}]}", ["'parts.nam'", "did you mean name?"]),
        ("{\"id\":\"x\"}", ["field 'id' takes int64, not \"x\"", "{\"id\":1}"]),
        ("{\"id\":99999999999999999999}", ["field 'id' takes int64", "{\"id\":1}"]),
        ("{\"name\":7}", ["field 'name' takes string, not 7", "{\"name\":\"text\"}"]),
        ("{\"colour\":\"BLUE\"}", ["shop.Colour (ANY, RED)", "{\"colour\":\"RED\"}"]),
        ("{\"made_at\":\"now\"}", ["google.protobuf.Timestamp", "2026-01-02T03:04:05Z"]),
        ("{\"parts\":{\"id\":1}}", ["repeated shop.Item", "[{"]),
        ("{\"parts\":[{\"parts\":[{\"name\":[]}]}]}", ["'parts.parts.name'", "takes string"]),
        ("[1]", ["the message is no shop.Item", "for example '{"]),
    ] {
        let wrong = echo.messages(json.as_bytes()).unwrap_err();
        let is_said = words.iter().all(|word| wrong.contains(word));
        assert!(is_said && !wrong.contains('\n'), "{json}: {wrong}");
    }
}

#[test]
fn methods_are_found_or_what_is_meant_is_told() {
    let shop = shop();
    for (path, words) in [
        ("/shop.Catalog/Red", "no method Red; did you mean Read?"),
        ("/shop.Catalog/Delete", "there is Read, Echo, Slow, Fail"),
        ("/shop.Katalog/Read", "no service shop.Katalog; did you mean shop.Catalog?"),
        ("/", "for example /shop.Catalog/Read"),
        ("/shop.Catalog/", "for example /shop.Catalog/Read"),
    ] {
        let wrong = shop.method(path).unwrap_err();
        assert!(wrong.contains(words), "{path}: {wrong}");
    }
    for (method, replies) in [
        ("Read", Replies::One),
        ("Watch", Replies::Stream),
        ("Collect", Replies::One),
        ("Talk", Replies::Each),
    ] {
        let method = shop.method(&format!("/shop.Catalog/{method}")).unwrap();
        assert_eq!(method.replies(), replies);
    }
}

#[test]
fn everything_can_be_described() {
    let shop = shop();
    let names = |symbol: &str| -> Vec<String> {
        shop.describe(symbol).unwrap().into_iter().map(|one| one.name).collect()
    };
    assert_eq!(
        names("shop.Catalog/Read"),
        ["shop.Catalog/Read", "shop.ReadRequest", "shop.Item", "shop.Colour"]
    );
    assert_eq!(names("shop.Catalog.Read"), names("/shop.Catalog/Read"));
    assert_eq!((names("shop.Catalog").len(), names("shop.Colour").len()), (1, 1));
    let item = &shop.describe("shop.Item").unwrap()[0];
    assert!(item.proto.contains("  repeated shop.Item parts = 5;\n"), "{}", item.proto);
    let wrong = shop.describe("shop.Itme").unwrap_err();
    assert!(wrong.contains("did you mean shop.Item?"), "{wrong}");
}

/// A field of a message with a text, as the protocol has it.
fn field(number: u8, text: &[u8]) -> Vec<u8> {
    [&[number << 3 | 2, text.len() as u8][..], text].concat()
}

/// A server that speaks one version and has each file by itself.
fn answer(version: &str, path: &str, message: &[u8]) -> Reply {
    let ended = |status| Reply { status, body: Vec::new() };
    if path != format!("/grpc.reflection.{version}.ServerReflection/ServerReflectionInfo") {
        return ended(CallStatus::Unimplemented);
    }
    let files = FileDescriptorSet::decode(&set()[..]).unwrap().file;
    let file = |name: &str| {
        let file = files.iter().find(|file| file.name() == name).map(Message::encode_to_vec)?;
        let mut inner = vec![1 << 3 | 2];
        prost::encode_length_delimiter(file.len(), &mut inner).unwrap();
        inner.extend(file);
        let mut all = vec![4 << 3 | 2];
        prost::encode_length_delimiter(inner.len(), &mut all).unwrap();
        Some([all, inner].concat())
    };
    let (asked, text) = (message[5] >> 3, String::from_utf8_lossy(&message[7..]).into_owned());
    let known = match (asked, text.as_str()) {
        (7, _) => Some(field(6, &field(1, &field(1, b"shop.Catalog")))),
        (4, "shop.Catalog") => file("shop.proto"),
        (3, name) => file(name),
        _ => None,
    };
    let body = known.unwrap_or_else(|| field(7, &field(2, b"not found")));
    Reply { status: CallStatus::Ok, body: framed(&body) }
}

#[test]
fn a_server_describes_itself_file_by_file() {
    for version in ["v1", "v1alpha"] {
        for symbols in [&[][..], &["shop.Catalog".to_string()], &["no.Such".to_string()]] {
            let mut calls = 0;
            let set = reflect(symbols, &mut |path, message| {
                calls += 1;
                Ok(answer(version, path, message))
            });
            let schema = Schema::of_set(&set.unwrap()).unwrap();
            assert!(schema.method("/shop.Catalog/Echo").is_ok(), "{version} {symbols:?}");
            assert!(calls <= 7, "{calls}");
        }
    }
}

#[test]
fn a_server_that_does_not_is_told_from_one_that_may_not() {
    let none =
        |status| reflect(&[], &mut |_, _| Ok(Reply { status, body: Vec::new() })).unwrap_err();
    let without = none(CallStatus::Unimplemented);
    assert!(without.contains("does not describe itself") && without.contains("--proto FILE"));
    let forbidden = none(CallStatus::Unauthenticated);
    assert!(forbidden.contains("UNAUTHENTICATED") && forbidden.contains("-H"), "{forbidden}");
    let odd =
        reflect(&[], &mut |_, _| Ok(Reply { status: CallStatus::Ok, body: framed(b"\xff\xff") }));
    assert!(odd.unwrap_err().contains("sent no answer"));
}

/// What answers the question for a file: the file, as a server sends it.
fn sent(file: &FileDescriptorProto) -> Reply {
    let file = file.encode_to_vec();
    let wrapped = |tag: u8, inner: &[u8]| {
        let mut all = vec![tag << 3 | 2];
        prost::encode_length_delimiter(inner.len(), &mut all).unwrap();
        [all, inner.to_vec()].concat()
    };
    Reply { status: CallStatus::Ok, body: framed(&wrapped(4, &wrapped(1, &file))) }
}

/// A file that imports the next one, without end, and one that never stops growing.
#[test]
fn a_server_that_describes_itself_without_end_is_stopped() {
    let endless = |padding: usize| {
        let mut calls = 0_u32;
        let came = reflect(&["shop.Catalog".to_string()], &mut |path, message| {
            calls += 1;
            if calls == 1 {
                return Ok(answer("v1", path, message));
            }
            Ok(sent(&FileDescriptorProto {
                name: Some(format!("{calls}.proto")),
                package: Some("x".repeat(padding)),
                dependency: vec![format!("{}.proto", calls + 1)],
                ..FileDescriptorProto::default()
            }))
        });
        (came.unwrap_err(), calls)
    };
    // One file with too many imports, each of which is answered with what is there already.
    let many: Vec<String> = (0..20_000).map(|at| format!("{at}.proto")).collect();
    let file = FileDescriptorProto { dependency: many, ..FileDescriptorProto::default() };
    let mut calls = 0_u32;
    let came = reflect(&["shop.Catalog".to_string()], &mut |path, message| {
        calls += 1;
        if calls == 1 {
            return Ok(answer("v1", path, message));
        }
        let again = FileDescriptorProto { dependency: Vec::new(), ..file.clone() };
        Ok(sent(if calls == 2 { &file } else { &again }))
    });
    assert!(came.unwrap_err().contains("imports more than 10000") && calls < 10_100, "{calls}");
    let (why, calls) = endless(0);
    assert!(why.contains("more than 10000 files") && calls < 10_100, "{why}: {calls}");
    let (why, calls) = endless(1 << 20);
    assert!(why.contains("more than 64 MiB") && calls < 70, "{why}: {calls}");
}
