//! Hostile archives: each is refused with its reason.

mod by_hand;

use by_hand::{ByHand, listed, opened, opened_within};
use pack::{Limits, MANIFEST, Refused};

const A: &[(&str, &[u8])] = &[("a", b"1234")];

#[test]
fn an_archive_by_hand_is_read_when_it_is_good() {
    let good = ByHand::listing(A).file("a", b"1234").archive();
    let (good, files) = opened(&good).unwrap();
    assert!(good.is_whole && good.changed.is_empty());
    assert_eq!(files, [("a".to_string(), b"1234".to_vec())]);
    let other = ByHand::listing(A).file("a", b"1235").archive();
    assert_eq!(opened(&other).unwrap().0.changed, ["a"]);
}

#[test]
fn names_that_lead_out_of_the_folder_are_refused_in_headers_and_in_the_manifest() {
    for (name, said) in [
        ("/etc/passwd", "it is absolute"),
        ("../a", "'..'"),
        ("a/../../b", "'..'"),
        ("a//b", "empty"),
        (".git/config", "starts with a dot"),
        ("runs/.git/config", "starts with a dot"),
        ("a\nb", "0x0a"),
        ("a\\b", "0x5c"),
        ("\u{430}", "0xd0"),
        ("a\u{202e}b", "0xe2"),
    ] {
        let in_header = ByHand::listing(A).file(name, b"1234").refused();
        assert!(in_header.contains(said), "{name:?}: {in_header}");
        let in_manifest = ByHand::listing(&[(name, b"1234")]).file(name, b"1234").refused();
        assert!(in_manifest.contains(said), "{name:?}: {in_manifest}");
        assert!(in_manifest.chars().all(|letter| (' '..='~').contains(&letter)), "{in_manifest:?}");
    }
}

#[test]
fn a_name_with_bytes_behind_its_end_is_refused() {
    let said = ByHand::listing(A).entry(b"a\0b", b'0', "", 4, b"1234").refused();
    assert!(said.contains("not as ceiling writes it"), "{said}");
}

#[test]
fn links_devices_pipes_folders_and_extensions_are_refused() {
    for (kind, said) in [
        (b'1', "a hard link"),
        (b'2', "a symbolic link"),
        (b'3', "a device"),
        (b'4', "a device"),
        (b'5', "a folder"),
        (b'6', "a pipe"),
        (b'L', "a GNU tar long name"),
        (b'K', "a GNU tar long name"),
        (b'S', "a sparse file"),
        (b'x', "a pax header"),
        (b'g', "a pax header"),
        (b'Z', "of an unknown kind"),
    ] {
        let by_hand = || ByHand::listing(A);
        let refused = by_hand().entry(b"a", kind, "/etc/passwd", 0, b"").refused();
        assert!(refused.contains(said), "{}: {refused}", kind as char);
        let long = "a".repeat(100_000);
        let size = long.len() as u64;
        let refused = by_hand().entry(b"a", kind, "", size, long.as_bytes()).refused();
        assert!(refused.contains(said), "{}: {refused}", kind as char);
    }
    let link = ByHand::listing(A).entry(b"a", b'0', "/etc/passwd", 4, b"1234").refused();
    assert!(link.contains("not as ceiling writes it"), "{link}");
}

#[test]
fn files_that_are_missing_twice_or_not_listed_are_refused() {
    let two: &[(&str, &[u8])] = &[("a", b"1234"), ("b", b"56")];
    let refused = |tar: ByHand| tar.refused();
    let said = refused(ByHand::listing(two).file("a", b"1234"));
    assert_eq!(said, "'b' is in the manifest and not in the archive");
    let said = refused(ByHand::listing(two).file("b", b"56"));
    assert_eq!(said, "'a' is in the manifest and not in the archive");
    let said = refused(ByHand::listing(two).file("a", b"1234").file("a", b"1234"));
    assert_eq!(said, "'a' occurs twice");
    let said = refused(ByHand::listing(A).file("a", b"1234").file("b", b"56"));
    assert_eq!(said, "'b' is not in the manifest");
    let said = refused(ByHand::listing(A).file("a", b"1234").file(MANIFEST, b"{}"));
    assert_eq!(said, "'manifest.json' occurs twice");
    let said = refused(ByHand::default().file("a", b"1234"));
    assert_eq!(said, "its first file is 'a' and not manifest.json");
    let same: &[(&str, &[u8])] = &[("a", b"1234"), ("a", b"1234")];
    assert!(refused(ByHand::listing(same)).contains("it occurs twice"));
}

#[test]
fn names_that_differ_by_case_or_are_files_and_folders_are_refused() {
    let refused = |names: [&str; 2]| {
        let files = names.map(|name| (name, &b"1"[..]));
        ByHand::listing(&files).file(names[0], b"1").file(names[1], b"1").refused()
    };
    assert!(refused(["A", "a"]).contains("only by case"));
    assert!(refused(["B/a", "b/c"]).contains("only by case"));
    assert!(refused(["a", "a/b"]).contains("a file and a folder"));
    assert!(refused(["MANIFEST.json", "a"]).contains("only by case"));
}

#[test]
fn sizes_that_disagree_are_refused_before_they_are_used() {
    let said = ByHand::listing(A).file("a", b"123").refused();
    assert_eq!(said, "'a' has 3 bytes; the manifest says 4");
    let huge = ByHand::listing(A).entry(b"a", b'0', "", 0o77_777_777_777, b"1234").refused();
    assert!(huge.contains("the manifest says 4"), "{huge}");
    let more = ByHand::listing(A).file("a", b"1234").raw(&[b'7'; 512]).refused();
    assert!(more.contains("header of a file is wrong") || more.contains("unknown kind"), "{more}");
    let huge = ByHand::default().entry(MANIFEST.as_bytes(), b'0', "", 1 << 32, b"{").refused();
    assert!(huge.contains("manifest.json' has 4294967296 bytes"), "{huge}");
    let mut padded = ByHand::listing(A).file("a", b"1234").archive();
    assert!(opened(&padded).is_ok());
    padded = ByHand::listing(A).entry(b"a", b'0', "", 4, b"1234x").archive();
    assert!(matches!(opened(&padded), Err(Refused::Padding(name)) if name == "a"));
}

#[test]
fn bytes_behind_the_end_of_the_tar_are_refused() {
    let good = || ByHand::listing(A).file("a", b"1234");
    let behind = good().raw(&[0; 1024]).file("b", b"56").archive();
    assert!(matches!(opened(&behind), Err(Refused::Trailing)));
    let zeros = good().raw(&[0; 512]).archive();
    assert!(matches!(opened(&zeros), Err(Refused::Trailing)));
}

/// The sizes in a manifest are compared with the limits before anything is unpacked.
#[test]
fn bombs_are_refused_by_size_number_and_ratio() {
    let zeros = vec![0; 1 << 20];
    let bomb: &[(&str, &[u8])] = &[("a", &zeros)];
    let archive = ByHand::listing(bomb).file("a", &zeros).archive();
    assert!(archive.len() < 1000, "{}", archive.len());
    let refused = |limits: Limits| opened_within(&archive, &limits).unwrap_err().to_string();
    let all = Limits::default();
    let said = refused(Limits { ratio_from_bytes: 1 << 16, ..all });
    assert!(said.contains("decompression bomb"), "{said}");
    let said = refused(Limits { file_bytes: 1 << 16, ..all });
    assert_eq!(said, "'a' has 1048576 bytes; the limit is 65536");
    let said = refused(Limits { total_bytes: 1 << 16, ..all });
    assert_eq!(said, "its files have 1048576 bytes; the limit is 65536");
    let said = refused(Limits { files: 0, ..all });
    assert_eq!(said, "it has 1 files; the limit is 0");
    let said = refused(Limits { archive_bytes: 100, ..all });
    assert!(said.ends_with("the limit is 100"), "{said}");
    let mut manifest = listed(&[("a", b""), ("b", b"")]);
    manifest.files[0].bytes = u64::MAX;
    manifest.files[1].bytes = u64::MAX;
    let most = Limits { file_bytes: u64::MAX, ..all };
    assert!(matches!(manifest.check(&most), Err(Refused::Large { bytes: u64::MAX, .. })));
}

#[test]
fn a_manifest_that_is_none_is_refused() {
    let refused = |text: &str| ByHand::default().file(MANIFEST, text.as_bytes()).refused();
    let good = String::from_utf8(listed(A).to_bytes()).unwrap();
    for (text, said) in [
        (String::new(), "EOF"),
        ("[]".to_string(), "manifest.json: invalid"),
        ("[".repeat(100_000), "manifest.json: invalid"),
        (good.replace("pack/1", "pack/2"), "unknown schema 'ceiling.pack/2'"),
        (good.replace("gzip-helps", "../gzip"), "its slug"),
        (good.replace("0.1.0", "0.1\\u001b[2J"), "its version"),
        (good.replace("\"bytes\": 4", "\"bytes\": -4"), "invalid value"),
        (good.replace("\"bytes\": 4", "\"bytes\": 4, \"bytes\": 4"), "duplicate field"),
        (good.replace("\"sha256\": \"", "\"sha256\": \"0"), "no SHA-256"),
    ] {
        let refused = refused(&text);
        assert!(refused.contains(said), "{said}: {refused}");
    }
}
