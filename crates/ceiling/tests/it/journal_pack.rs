//! Entries that are packed, and verified with nothing but the archive.

use crate::harness::{Finished, Folder, ceiling, root, run, targets_file, turn};
use serde_json::Value;
use std::fs;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

const PLAN: &str = r#"schema = "ceiling.plan/1"
question = "Do two cells of one server fail?"
server = { target = "sink", args = ["--threads", "1"] }
load = { command = "load", path = "/simple", requests = 2000, connections = 2 }
design = { blocks = 3 }
[[cell]]
name = "one"
[[cell]]
name = "deep"
load = { depth = 4 }
"#;

const FINDING: &str = r#"
[[finding]]
text = "No request fails."
condition = "cells.one.errors < 1%"
"#;

/// Keys for tests only, made by `ssh-keygen -t ed25519`.
const KEYS: &str = "crates/ceiling/tests/it/keys";

/// A journal with one entry, which is called `deep`.
struct Journal {
    folder: Folder,
}

impl Journal {
    fn new(name: &str) -> Self {
        let journal = Self { folder: Folder::new(name) };
        let plan = journal.path("plan.toml");
        fs::write(&plan, PLAN).unwrap();
        journal.says(0, &["new", "deep", "--plan", &shown(&plan), "--journal", &journal.place()]);
        journal
    }

    /// A journal whose entry has a result and a finding.
    fn measured(name: &str) -> Self {
        let journal = Self::new(name);
        let _turn = turn();
        let place = journal.place();
        let words = ["run", "deep", "--servers", &targets_file(), "-q", "--journal", &place];
        journal.says(0, &words);
        let entry = journal.path("journal/deep/entry.toml");
        let text = fs::read_to_string(&entry).unwrap();
        fs::write(&entry, text + FINDING).unwrap();
        journal
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path.join(name)
    }

    fn place(&self) -> String {
        shown(&self.path("journal"))
    }

    fn says(&self, code: i32, arguments: &[&str]) -> Finished {
        let said = run(&[&["journal"], arguments].concat());
        assert_eq!(said.code, code, "{arguments:?}: {}{}", said.stdout, said.stderr);
        said
    }

    /// Packs the entry; returns the path of the archive.
    fn pack(&self, name: &str, more: &[&str]) -> PathBuf {
        let (archive, place) = (self.path(name), self.place());
        let words = ["pack", "deep", "-o", &shown(&archive), "--journal", &place];
        self.says(0, &[&words[..], more].concat());
        archive
    }

    fn verify(&self, code: i32, archive: &Path, more: &[&str]) -> Value {
        let said = self.says(code, &[&["verify", &shown(archive), "--json"], more].concat());
        said.record()
    }

    /// The folder of the result.
    fn result(&self) -> PathBuf {
        let mut results = fs::read_dir(self.path("journal/deep/results")).unwrap();
        results.next().unwrap().unwrap().path()
    }

    /// A key of the tests, which git keeps readable for all.
    fn key(&self, name: &str) -> String {
        let from = root().join(KEYS).join(name);
        let to = self.path(name);
        let _ = fs::remove_file(&to);
        let file = fs::File::options().write(true).create_new(true).mode(0o600).open(&to);
        std::io::copy(&mut fs::File::open(from).unwrap(), &mut file.unwrap()).unwrap();
        shown(&to)
    }
}

fn shown(path: &Path) -> String {
    path.to_str().unwrap().to_string()
}

/// How many lines of a part of a document have an outcome.
fn count(document: &Value, part: &str, outcome: &str) -> usize {
    let lines = document[part].as_array().unwrap();
    lines.iter().filter(|line| line["outcome"] == outcome).count()
}

fn outcomes(document: &Value, outcome: &str) -> usize {
    ["runs", "figures", "findings"].iter().map(|part| count(document, part, outcome)).sum()
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap().flatten();
    let mut names: Vec<_> = entries.map(|entry| entry.file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn an_entry_is_packed_signed_and_made_again_from_the_archive_alone() {
    let journal = Journal::measured("pack");
    let (key, public) = (journal.key("one"), journal.key("one.pub"));
    let archive = journal.pack("a.tar.zst", &["--key", &key]);
    let bytes = fs::read(&archive).unwrap();
    let again = journal.pack("b.tar.zst", &["--key", &key]);
    assert!(bytes == fs::read(again).unwrap(), "the same entry makes the same bytes");
    // Nothing but the archive is left.
    fs::rename(journal.path("journal"), journal.path("elsewhere")).unwrap();

    let document = journal.verify(0, &archive, &["--pub", &public]);
    assert_eq!(document["schema"], "ceiling.verified/1");
    assert_eq!(document["signature"]["state"], "good", "{document}");
    let said = document["signature"]["said"].as_str().unwrap();
    assert!(said.contains("Good \"ceiling.pack\" signature for one@test"), "{said}");
    assert_eq!(outcomes(&document, "differs"), 0, "{document}");
    assert_eq!(outcomes(&document, "cannot_be"), 0, "{document}");
    assert_eq!(count(&document, "runs", "same"), 6);
    assert_eq!(count(&document, "findings", "same"), 1);
    // Eight figures of each of two cells; and of one contrast, a ratio and a conclusion per figure.
    assert!(count(&document, "figures", "same") >= 18, "{document}");

    let said = journal.says(0, &["verify", &shown(&archive)]);
    assert!(said.stdout.contains("All that could be made again is the same."), "{}", said.stdout);
    assert!(!said.stdout.contains("ceiling-verify"), "{}", said.stdout);
    for (keys, state) in [(journal.key("other.pub"), "other_key"), (public.clone(), "good")] {
        let code = if state == "good" { 0 } else { 3 };
        assert_eq!(journal.verify(code, &archive, &["--pub", &keys])["signature"]["state"], state);
    }
    assert_eq!(journal.verify(0, &archive, &[])["signature"]["state"], "unknown_key");
    let words = ["verify", &shown(&archive), "--pub"];
    for keys in ["no-such-key", &shown(&journal.path("plan.toml"))] {
        journal.says(2, &[&words[..], &[keys]].concat());
    }
    let signers = journal.path("signers");
    let allowed = |options: &str| {
        let key = fs::read_to_string(&public).unwrap();
        fs::write(&signers, format!("ann@example.org {options}{key}")).unwrap();
        shown(&signers)
    };
    let good = allowed("namespaces=\"ceiling.pack\" ");
    assert_eq!(journal.verify(0, &archive, &["--pub", &good])["signature"]["state"], "good");
    let other = allowed("namespaces=\"git\" ");
    assert_eq!(journal.verify(3, &archive, &["--pub", &other])["signature"]["state"], "other_key");

    // Flips bits from the start to the end of the archive: each change is refused or reported.
    fs::copy(journal.path("a.tar.zst.sig"), journal.path("other.tar.zst.sig")).unwrap();
    for part in 1..20 {
        let at = bytes.len() * part / 20;
        let mut other = bytes.clone();
        other[at] ^= 1 << (part % 8);
        fs::write(journal.path("other.tar.zst"), other).unwrap();
        let said = run(&["journal", "verify", &shown(&journal.path("other.tar.zst"))]);
        assert!([2, 3].contains(&said.code), "byte {at}: {} {}", said.code, said.stdout);
    }
}

/// Runs a script with the usual tools, in a folder.
fn script(folder: &Path, script: &str) {
    let output = Command::new("sh").args(["-ec", script]).current_dir(folder).output().unwrap();
    assert!(output.status.success(), "{script}: {}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn the_usual_tools_check_an_archive_and_make_one() {
    let journal = Journal::new("pack-tar");
    let (key, public) = (journal.key("one"), journal.key("one.pub"));
    journal.pack("a.tar.zst", &["--key", &key]);
    let check = "zstd -qdc a.tar.zst | tar -x; cd deep; sha256sum -c --strict --quiet SHA256SUMS; \
                 cmp entry.toml ../journal/deep/entry.toml; cd ..; \
                 echo \"ann@example.org $(cat one.pub)\" > signers; \
                 ssh-keygen -Y verify -f signers -I ann@example.org -n ceiling.pack \
                 -s a.tar.zst.sig < a.tar.zst";
    script(&journal.folder.path, check);
    let make = "(cd journal/deep; sha256sum *.* > SHA256SUMS); \
                tar --format=ustar -C journal -c deep | zstd -q > b.tar.zst; \
                ssh-keygen -q -Y sign -f one -n ceiling.pack b.tar.zst";
    script(&journal.folder.path, make);
    let document = journal.verify(0, &journal.path("b.tar.zst"), &["--pub", &public]);
    assert_eq!(document["signature"]["state"], "good", "{document}");
    // An archive that is packed again has no signature of the one before.
    journal.pack("a.tar.zst", &[]);
    assert!(!journal.path("a.tar.zst.sig").exists());
}

#[test]
fn without_ssh_keygen_signatures_are_refused_with_the_reason() {
    let journal = Journal::new("pack-no-keygen");
    let archive = journal.pack("a.tar.zst", &["--key", &journal.key("one")]);
    let without = |arguments: &[&str], code: i32| {
        let mut command = ceiling(&[&["journal"], arguments].concat());
        let said =
            Finished::of(command.env("PATH", journal.folder.path.as_os_str()).output().unwrap());
        assert_eq!(said.code, code, "{}", said.stderr);
        said.stderr
    };
    let refused = without(&["verify", &shown(&archive)], 2);
    assert!(refused.contains("signatures need ssh-keygen"), "{refused}");
    fs::remove_file(journal.path("a.tar.zst.sig")).unwrap();
    without(&["verify", &shown(&archive)], 0);
}

#[test]
fn ssh_keygen_signs_with_a_key_that_has_a_passphrase() {
    let journal = Journal::new("pack-passphrase");
    let key = journal.key("protected");
    let ask = journal.path("ask");
    fs::write(&ask, "#!/bin/sh\necho secret\n").unwrap();
    fs::set_permissions(&ask, fs::Permissions::from_mode(0o700)).unwrap();
    let archive = journal.path("a.tar.zst");
    let pack = |ask: &Path| {
        let mut command = ceiling(&["journal", "pack", "deep", "--json", "--key", &key]);
        command.args(["--journal", &journal.place(), "-o", &shown(&archive)]);
        command.env("SSH_ASKPASS", ask).env("SSH_ASKPASS_REQUIRE", "force");
        Finished::of(command.output().unwrap())
    };
    let refused = pack(Path::new("/bin/false"));
    assert_eq!(refused.code, 2, "{}", refused.stderr);
    assert!(refused.stderr.contains("ssh-keygen did not sign") && !archive.exists());
    let said = pack(&ask);
    assert_eq!(said.code, 0, "{}", said.stderr);
    let document = journal.verify(0, &archive, &[]);
    assert_eq!(document["signature"]["state"], "unknown_key");
    assert_eq!(said.record()["signature"], format!("{}.sig", shown(&archive)));
}

#[test]
fn figures_that_do_not_follow_from_the_runs_are_told() {
    let journal = Journal::measured("pack-differs");
    // A median that nobody measured.
    let path = journal.result().join("experiment.json");
    let text = fs::read_to_string(&path).unwrap();
    let mut document: Value = serde_json::from_str(&text).unwrap();
    let summaries = document["summaries"].as_array_mut().unwrap();
    let rate = summaries.iter_mut().find(|one| one["cell"] == "one" && one["figure"] == "rate");
    rate.unwrap()["median"] = Value::from(123_456_789.0);
    fs::write(&path, document.to_string()).unwrap();
    let archive = journal.pack("median.tar.zst", &[]);
    let found = journal.verify(3, &archive, &[]);
    assert!(outcomes(&found, "differs") == 1, "{found}");
    let said = journal.says(3, &["verify", &shown(&archive)]);
    assert!(said.stdout.contains("Made again, something differs."), "{}", said.stdout);
    fs::write(&path, &text).unwrap();

    // A wall that the readings do not show.
    let runs = journal.result().join("runs");
    let record = runs.join(&names(&runs)[0]).join("run.json");
    let was = fs::read_to_string(&record).unwrap();
    let mut other: Value = serde_json::from_str(&was).unwrap();
    other["verdict"]["wall"] = Value::from("K11");
    fs::write(&record, other.to_string()).unwrap();
    let found = journal.verify(3, &journal.pack("wall.tar.zst", &[]), &[]);
    assert_eq!(count(&found, "runs", "differs"), 1, "{}", found["runs"]);
    fs::write(&record, was).unwrap();

    // Without the raw readings of a run its cell cannot be made again.
    fs::remove_file(record.with_file_name("readings.ndjson")).unwrap();
    let found = journal.verify(0, &journal.pack("readings.tar.zst", &[]), &[]);
    assert_eq!(count(&found, "runs", "cannot_be"), 1, "{}", found["runs"]);
    assert!(count(&found, "figures", "cannot_be") > 8, "{}", found["figures"]);
    assert_eq!(count(&found, "findings", "cannot_be"), 1, "{}", found["findings"]);
    assert_eq!(outcomes(&found, "differs"), 0, "{found}");
}

#[test]
fn an_archive_is_unpacked_only_where_it_was_asked_for() {
    let journal = Journal::new("pack-extract");
    let archive = journal.pack("a.tar.zst", &[]);
    let before = names(&journal.folder.path);
    journal.verify(0, &archive, &[]);
    let to = journal.path("copy");
    journal.says(0, &["verify", &shown(&archive), "--extract", &shown(&to)]);
    assert_eq!(names(&to), ["entry.toml", "notes.md", "plan.toml"]);
    let said = journal.says(2, &["verify", &shown(&archive), "--extract", &shown(&to)]);
    assert!(said.stderr.contains("it exists already"), "{}", said.stderr);
    let nowhere = shown(&journal.path("no/folder"));
    let said = journal.says(2, &["verify", &shown(&archive), "--extract", &nowhere]);
    assert!(said.stderr.contains("the parent folder does not exist"), "{}", said.stderr);
    // An archive that is not signed by a key of `--pub` is not kept.
    let public = root().join(KEYS).join("one.pub");
    let words = ["verify", &shown(&archive), "--pub", &shown(&public), "--extract"];
    journal.says(3, &[&words[..], &[&shown(&journal.path("not"))]].concat());
    let mut after = names(&journal.folder.path);
    after.retain(|name| name != "copy");
    assert_eq!(after, before, "nothing else was written");
}

#[test]
fn what_others_must_not_read_and_what_is_no_file_is_not_packed() {
    let journal = Journal::new("pack-refused");
    let (out, place) = (shown(&journal.path("a.tar.zst")), journal.place());
    let refused = || {
        let said = journal.says(2, &["pack", "deep", "-o", &out, "--journal", &place]);
        assert!(!Path::new(&out).exists());
        said.stderr
    };
    let said = journal.says(0, &["pack", "deep", "-o", &out, "--journal", &place, "--dry-run"]);
    assert!(said.stdout.contains("notes.md") && said.stdout.contains("Nothing was written."));
    assert!(!Path::new(&out).exists());

    let plan = journal.path("journal/deep/plan.toml");
    fs::write(
        &plan,
        PLAN.replace("\"/simple\"", "\"/simple\", header = \"Authorization: Bearer QZXsecret\""),
    )
    .unwrap();
    let said = refused();
    assert!(said.contains("it contains a secret") && !said.contains("QZXsecret"), "{said}");
    fs::write(&plan, PLAN).unwrap();

    fs::create_dir(journal.path("journal/deep/foreign")).unwrap();
    symlink("/etc/passwd", journal.path("journal/deep/foreign/wrk.txt")).unwrap();
    assert!(refused().contains("it is a link"));
    fs::remove_file(journal.path("journal/deep/foreign/wrk.txt")).unwrap();
    fs::write(journal.path("journal/deep/foreign/caf\u{e9}.txt"), "").unwrap();
    assert!(refused().contains("ASCII letters and digits"));
}

#[test]
fn what_is_no_archive_is_refused_with_its_reason() {
    let folder = Folder::new("pack-none");
    let path = folder.path.join("a.tar.zst");
    let refused = |bytes: &[u8]| {
        fs::write(&path, bytes).unwrap();
        let said = run(&["journal", "verify", &shown(&path)]);
        assert_eq!(said.code, 2, "{}", said.stdout);
        said.stderr
    };
    assert!(refused(&[0; 4096]).contains("it is not a tar compressed with zstd"));
    let said = refused(&pack::fuzzing::packed(&[0; 1024]));
    assert!(said.contains("it has no SHA256SUMS"), "{said}");
    let said = run(&["journal", "verify", &shown(&folder.path)]);
    assert!(said.code == 2 && said.stderr.contains("it is not a file"), "{}", said.stderr);
}
