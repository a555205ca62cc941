//! Header blocks of the standard, at random, and against the rules.

use super::*;
use proptest::prelude::*;

/// One field of a block, as a server may encode it.
#[derive(Debug, Clone)]
enum Coded {
    Static(u8),
    /// An entry of the table of the connection, if there are so many.
    Dynamic(u8),
    /// Inserted, or not, with a name of the static table or its own.
    Literal {
        inserts: bool,
        name: Option<u8>,
        text: String,
        value: String,
    },
    Limit(u16),
}

fn coded() -> impl Strategy<Value = Coded> {
    let name = prop_oneof![Just("content-length".to_string()), "[a-z-]{1,30}"];
    let value = prop_oneof!["[0-9]{1,3}", "[ -~]{0,40}"];
    let literal = (any::<bool>(), prop::option::of(1u8..62), name, value);
    prop_oneof![
        2 => (1u8..62).prop_map(Coded::Static),
        4 => (0u8..8).prop_map(Coded::Dynamic),
        3 => literal.prop_map(|(inserts, name, text, value)| Coded::Literal {
            inserts,
            name,
            text,
            value
        }),
        1 => (0u16..400).prop_map(Coded::Limit),
    ]
}

fn put(coded: &Coded, output: &mut Vec<u8>) {
    match coded {
        Coded::Static(index) => put_integer(usize::from(*index), 0x80, 7, output),
        Coded::Dynamic(index) => put_integer(62 + usize::from(*index), 0x80, 7, output),
        Coded::Limit(limit) => put_integer(usize::from(*limit), 0x20, 5, output),
        Coded::Literal { inserts, name, text, value } => {
            let (pattern, bits) = if *inserts { (0x40, 6) } else { (0, 4) };
            put_integer(name.map_or(0, usize::from), pattern, bits, output);
            if name.is_none() {
                put_string(text.as_bytes(), output);
            }
            put_string(value.as_bytes(), output);
        }
    }
}

fn entries(decoder: &Decoder) -> Vec<Field> {
    (0..decoder.table.count).filter_map(|index| decoder.table.get(index)).collect()
}

proptest! {
    /// Blocks that repeat mean what they mean when each is decoded, and leave the same table.
    #[test]
    fn a_block_that_is_remembered_means_the_same(
        blocks in prop::collection::vec((prop::collection::vec(coded(), 1..5), 0usize..12), 1..12)
    ) {
        let (mut memory, mut plain) = (Decoder::new(), Decoder::new());
        // Some come as they came before, and any of them as head or as trailers.
        for (nth, (fields, again)) in blocks.iter().enumerate() {
            let fields = blocks[..nth].get(*again).map_or(fields, |(before, _)| before);
            let mut block = Vec::new();
            fields.iter().for_each(|field| put(field, &mut block));
            for part in [Part::Head, Part::Trailers, Part::Head] {
                plain.memos.iter_mut().for_each(|memo| memo.length = 0);
                let expected = plain.read(part, &block);
                prop_assert_eq!(memory.read(part, &block), expected);
                if expected.is_err() {
                    return Ok(());
                }
                prop_assert_eq!(entries(&memory), entries(&plain));
                prop_assert_eq!(memory.table.size, plain.table.size);
                let sum: u32 = entries(&plain).iter().map(|field| field.size()).sum();
                prop_assert!(plain.table.size == sum && sum <= plain.table.limit);
            }
        }
    }

    #[test]
    fn any_bytes_are_a_block_or_an_error(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = Decoder::new().read(Part::Head, &bytes);
    }
}

/// RFC 7541 appendix C.5, whose table has 256 octets: entries are evicted.
#[test]
fn the_responses_of_the_standard_are_read() {
    let mut decoder = Decoder::new();
    decoder.table.limit = 256;
    let date = |second: &str| format!("\x61\x1dMon, 21 Oct 2013 20:13:{second} GMT").into_bytes();
    let end: &[u8] = b"\x6e\x17https://www.example.com";
    let first = [&b"\x48\x03302\x58\x07private"[..], &date("21"), end].concat();
    let second = b"\x48\x03307\xc1\xc0\xbf".to_vec();
    let cookie = b"\x77\x38foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1";
    let third = [&b"\x88\xc1"[..], &date("22"), b"\xc0\x5a\x04gzip", cookie].concat();
    for (block, status, size) in [(first, 302, 222), (second, 307, 222), (third, 200, 215)] {
        let fields = decoder.read(Part::Head, &block).unwrap();
        assert_eq!((fields.status, fields.is_malformed), (status, false));
        assert_eq!(decoder.table.size, size, "{status}");
    }
}

#[test]
fn a_field_of_a_response_is_encoded_and_read() {
    let mut block = Vec::new();
    for (name, value) in [(":status", "404"), ("content-length", "1234567"), ("x-a", "b")] {
        put_field(name, value.as_bytes(), Literal::Plain, &mut block);
    }
    let fields = Decoder::new().read(Part::Head, &block).unwrap();
    let length = Some(1_234_567);
    let expected = Fields { status: 404, length, bytes: 35, ..Fields::default() };
    assert_eq!(fields, expected);
}

#[test]
fn what_a_response_may_not_have_is_malformed() {
    let ok = [(":status", "200")];
    let bad: [&[(&str, &str)]; 12] = [
        &[(":status", "200"), (":status", "200")],
        &[("a", "b"), (":status", "200")],
        &[(":status", "20")],
        &[(":status", "0200")],
        &[(":path", "/")],
        &[("Upper", "b")],
        &[("connection", "close")],
        &[("transfer-encoding", "chunked")],
        &[("content-length", "+5")],
        &[("content-length", "5"), ("content-length", "6")],
        &[("a", "b\r\nc: d")],
        &[("", "b")],
    ];
    let read = |fields: &[(&str, &str)]| {
        let mut block = Vec::new();
        for (name, value) in fields {
            put_field(name, value.as_bytes(), Literal::Plain, &mut block);
        }
        Decoder::new().read(Part::Head, &block).unwrap().is_malformed
    };
    assert!(!read(&ok) && !read(&[("content-length", "5"), ("content-length", "5")]));
    for fields in bad {
        assert!(read(fields), "{fields:?}");
    }
    assert!(read(&[("a-name-that-is-longer-than-any-that-mattersX", "b")]), "a capital at its end");
}

/// A bomb makes the table as large as it may be, and refers to its entry again and again.
#[test]
fn what_a_block_refers_to_takes_no_memory() {
    let mut block = Vec::new();
    put_integer(0, 0x40, 6, &mut block);
    put_string(b"a", &mut block);
    put_string(&[b'0'; 4000], &mut block);
    block.extend(std::iter::repeat_n(0xbe, 16_000));
    let fields = Decoder::new().read(Part::Head, &block).unwrap();
    assert_eq!(fields.bytes, 16_001 * 4001);
    assert!(size_of::<Decoder>() <= 5 * 1024, "{}", size_of::<Decoder>());
}

#[test]
fn what_cannot_be_read_is_refused() {
    let bad: [&[u8]; 7] = [
        b"\x80",
        b"\xbe",
        b"\x3f\xe2\x1f",
        b"\x88\x20",
        b"\x40\x01a",
        b"\x7f\xff\xff\xff\xff\xff\xff",
        b"\x00\x81\xff\x01a",
    ];
    for block in bad {
        assert_eq!(
            Decoder::new().read(Part::Head, block),
            Err(ProtocolError::BadHeaderBlock),
            "{block:?}"
        );
    }
}

/// The same bytes refer to another entry once the block itself has inserted one.
#[test]
fn a_remembered_block_that_refers_means_what_the_table_has_now() {
    let mut decoder = Decoder::new();
    let literal = |name: &str, value: &str| Coded::Literal {
        inserts: true,
        name: None,
        text: name.to_string(),
        value: value.to_string(),
    };
    let (mut first, mut block) = (Vec::new(), Vec::new());
    put(&literal(":status", "204"), &mut first);
    assert_eq!(decoder.read(Part::Head, &first).unwrap().status, 204);
    [Coded::Dynamic(0), literal("x", "y")].iter().for_each(|field| put(field, &mut block));
    assert_eq!(decoder.read(Part::Head, &block).unwrap().status, 204);
    assert_eq!(decoder.read(Part::Head, &block).unwrap(), Fields { bytes: 4, ..Fields::default() });
}

/// Responses with trailers alternate between two blocks.
#[test]
fn heads_and_trailers_are_remembered_side_by_side() {
    let mut decoder = Decoder::new();
    let blocks = [(Part::Head, &b"\x88\x54\x01a"[..]), (Part::Trailers, &b"\x00\x01x\x01b"[..])];
    for (part, block) in blocks {
        decoder.read(part, block).unwrap();
    }
    assert_eq!(
        decoder.memos.each_ref().map(|memo| &memo.bytes[..memo.length]),
        blocks.map(|b| b.1)
    );
}
