//! Hostile archives: each is refused with its reason.

mod by_hand;

use by_hand::{ByHand, FOLDER, opened, opened_within, sum};
use pack::{Limits, Refused};

const A: &[(&str, &[u8])] = &[("a", b"1234")];

#[test]
fn an_archive_by_hand_is_read_when_it_is_good() {
    let good = ByHand::listing(A).file("a", b"1234").archive();
    let (good, files) = opened(&good).unwrap();
    assert_eq!((&*good.folder, good.changed.len()), (FOLDER, 0));
    assert_eq!(files, [("a".to_string(), b"1234".to_vec())]);
    let other = ByHand::listing(A).file("a", b"1235").archive();
    assert_eq!(opened(&other).unwrap().0.changed, ["a"]);
}

/// As `tar --format=ustar --zstd -cf a.tar.zst gzip-helps` makes it: folders, the list anywhere, a
/// binary mark, and zeros that fill the last record.
#[test]
fn an_archive_of_tar_and_sha256sum_is_read() {
    let list = format!("{} *b/c\n", sum(b"56"));
    let tar = ByHand::default()
        .entry(b"gzip-helps/", b'5', "", 0, b"")
        .entry(b"gzip-helps/b/", b'5', "", 0, b"")
        .file("b/c", b"56")
        .file("SHA256SUMS", list.as_bytes())
        .raw(&[0; 8192]);
    let (opened, files) = opened(&tar.archive()).unwrap();
    assert_eq!((opened.files.len(), opened.changed.len()), (1, 0));
    assert_eq!(files, [("b/c".to_string(), b"56".to_vec())]);
}

#[test]
fn names_that_lead_out_of_the_folder_are_refused() {
    for (name, said) in [
        ("/etc/passwd", "it is absolute"),
        ("../a", "'..'"),
        ("gzip-helps/../../b", "'..'"),
        ("gzip-helps//b", "empty"),
        ("gzip-helps/.git/config", "starts with a dot"),
        ("gzip-helps/runs/.git/config", "starts with a dot"),
        ("gzip-helps/a\nb", "0x0a"),
        ("gzip-helps/a\\b", "0x5c"),
        ("gzip-helps/\u{430}", "0xd0"),
        ("gzip-helps/a\u{202e}b", "0xe2"),
        ("other/a", "is not in the folder of the archive"),
        ("a", "is not in the folder of the archive"),
    ] {
        for kind in [b'0', b'5'] {
            let tar = ByHand::listing(A).file("a", b"1234");
            let refused = tar.entry(name.as_bytes(), kind, "", 0, b"").refused();
            assert!(refused.contains(said), "{name:?}: {refused}");
            assert!(refused.chars().all(|letter| (' '..='~').contains(&letter)));
        }
    }
    let bytes = ByHand::listing(A).entry(b"gzip-helps/\xff", b'0', "", 0, b"").refused();
    assert!(bytes.contains("0xef"), "{bytes}");
}

#[test]
fn links_devices_pipes_and_extensions_are_refused() {
    for (kind, said) in [
        (b'1', "a hard link"),
        (b'2', "a symbolic link"),
        (b'3', "a device"),
        (b'4', "a device"),
        (b'6', "a pipe"),
        (b'L', "a GNU tar long name"),
        (b'K', "a GNU tar long name"),
        (b'S', "a sparse file"),
        (b'x', "a pax header"),
        (b'g', "a pax header"),
        (b'Z', "of an unknown kind"),
    ] {
        let by_hand = || ByHand::listing(A);
        let refused = by_hand().entry(b"gzip-helps/a", kind, "/etc/passwd", 0, b"").refused();
        assert!(refused.contains(said), "{}: {refused}", kind as char);
        let long = "a".repeat(100_000);
        let size = long.len() as u64;
        let refused = by_hand().entry(b"gzip-helps/a", kind, "", size, long.as_bytes()).refused();
        assert!(refused.contains(said), "{}: {refused}", kind as char);
    }
    let folder = ByHand::listing(A).entry(b"gzip-helps/a/", b'5', "", 4, b"1234").refused();
    assert!(folder.contains("a folder with bytes of its own"), "{folder}");
}

#[test]
fn files_that_are_missing_twice_or_not_listed_are_refused() {
    let two: &[(&str, &[u8])] = &[("a", b"1234"), ("b", b"56")];
    let said = ByHand::listing(two).file("a", b"1234").refused();
    assert_eq!(said, "SHA256SUMS names 'b', which is not in the archive");
    let said = ByHand::listing(A).file("a", b"1234").file("a", b"1234").refused();
    assert_eq!(said, "the name 'a' is refused: it occurs twice");
    let said = ByHand::listing(A).file("a", b"1234").file("b", b"56").refused();
    assert_eq!(said, "SHA256SUMS does not name 'b'");
    let said = ByHand::listing(A).file("a", b"1234").file("SHA256SUMS", b"").refused();
    assert_eq!(said, "the name 'SHA256SUMS' is refused: it occurs twice");
    let said = ByHand::default().file("a", b"1234").refused();
    assert!(said.starts_with("it has no SHA256SUMS"), "{said}");
    let same: &[(&str, &[u8])] = &[("a", b"1234"), ("a", b"1234")];
    let said = ByHand::listing(same).file("a", b"1234").refused();
    assert_eq!(said, "SHA256SUMS: line 2: it names a file for the second time");
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
    assert!(refused(["sha256SUMS", "a"]).contains("only by case"));
}

#[test]
fn sizes_that_do_not_fit_are_refused_before_they_are_used() {
    let huge = |name: &str| {
        let tar = ByHand::listing(A).file("a", b"1234");
        tar.entry(format!("{FOLDER}/{name}").as_bytes(), b'0', "", 1 << 32, b"{").refused()
    };
    assert_eq!(huge("b"), "'b' has 4294967296 bytes; the limit is 1073741824");
    let sums = ByHand::default().entry(b"gzip-helps/SHA256SUMS", b'0', "", 1 << 32, b"").refused();
    assert_eq!(sums, "'SHA256SUMS' has 4294967296 bytes; the limit is 33554432");
    let more = ByHand::listing(A).file("a", b"1234").raw(&[b'7'; 512]).refused();
    assert!(more.contains("is damaged"), "{more}");
    let short = ByHand::listing(A).entry(b"gzip-helps/a", b'0', "", 1 << 20, b"1234").refused();
    assert!(short.contains("is cut short"), "{short}");
}

#[test]
fn bytes_behind_the_end_of_the_tar_are_refused() {
    let good = || ByHand::listing(A).file("a", b"1234").raw(&[0; 1024]);
    assert!(matches!(opened(&good().file("b", b"56").archive()), Err(Refused::Trailing)));
    assert!(matches!(opened(&good().raw(&[0; 2 << 20]).archive()), Err(Refused::Trailing)));
}

/// The sizes in headers are compared with the limits before anything is unpacked.
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
    assert!(said.ends_with("the limit is 65536"), "{said}");
    assert_eq!(refused(Limits { files: 1, ..all }), "it has more than 1 files and folders");
    let said = refused(Limits { archive_bytes: 100, ..all });
    assert!(said.ends_with("the limit is 100"), "{said}");
    let folders =
        (0..9).fold(ByHand::listing(&[]), |tar, _| tar.entry(b"gzip-helps/b/", b'5', "", 0, b""));
    let many = opened_within(&folders.archive(), &Limits { files: 9, ..all });
    assert!(matches!(many, Err(Refused::ManyFiles { most: 9 })), "{many:?}");
}

#[test]
fn a_list_that_is_none_is_refused() {
    let sum = sum(b"1234");
    for (list, said) in [
        ("hello\n".to_string(), "line 1: it is too short"),
        (format!("{sum} a\n"), "line 1: it is not 64"),
        (format!("{sum}  a\n{}  b\n", "x".repeat(64)), "line 2: it is not 64"),
        (format!("{}  a\n", sum.to_uppercase()), "line 1: it is not 64"),
        (format!("{}\u{430}  a\n", &sum[..63]), "line 1: it is too short"),
        (format!("{sum}  ../a\n"), "SHA256SUMS does not name 'a'"),
    ] {
        let refused = ByHand::sums(&list).file("a", b"1234").refused();
        assert!(refused.contains(said), "{said}: {refused}");
    }
}
