//! Signatures by ceiling and by `ssh-keygen`.

use pack::signature::{Key, KeyFault, NAMESPACE, Signed, Trusted, check};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Keys for tests only, made by `ssh-keygen -t ed25519`.
const KEY: &str = include_str!("keys/one");
const KEY_PUB: &str = include_str!("keys/one.pub");
const OTHER_PUB: &str = include_str!("keys/other.pub");
const PROTECTED: &str = include_str!("keys/protected");
const ECDSA: &str = include_str!("keys/ecdsa");

fn trusted(text: &str) -> Trusted {
    Trusted::parse(text).unwrap()
}

#[test]
fn a_signature_is_good_for_its_message_and_key_alone() {
    let signature = Key::parse(KEY).unwrap().sign(b"a message");
    let said = |message: &[u8], keys: Option<&Trusted>| check(message, Some(&signature), keys);
    let (ours, other) = (trusted(KEY_PUB), trusted(OTHER_PUB));
    assert_eq!(said(b"a message", Some(&ours)), Signed::Good { key: "one@test".to_string() });
    let of_other = said(b"a message", Some(&other));
    assert!(matches!(of_other, Signed::Other { key } if key.starts_with("SHA256:")));
    assert!(matches!(said(b"a message", None), Signed::Unknown { .. }));
    assert!(matches!(said(b"a massage", Some(&ours)), Signed::Bad { .. }));
    assert_eq!(check(b"a message", None, Some(&ours)), Signed::No);
    assert_eq!(Key::parse(KEY).unwrap().sign(b"a message"), signature);
}

#[test]
fn one_letter_of_a_signature_is_told() {
    let signature = Key::parse(KEY).unwrap().sign(b"a message");
    let ours = trusted(KEY_PUB);
    for at in 0..signature.len() {
        let mut other = signature.clone().into_bytes();
        other[at] ^= 1;
        let Ok(other) = String::from_utf8(other) else { continue };
        if other.split_whitespace().eq(signature.split_whitespace()) {
            continue;
        }
        let said = check(b"a message", Some(&other), Some(&ours));
        assert!(!matches!(said, Signed::Good { .. }), "letter {at}: {said:?}");
    }
}

#[test]
fn keys_that_cannot_sign_here_say_why() {
    assert_eq!(Key::parse(PROTECTED).unwrap_err(), KeyFault::Protected);
    let ecdsa = Key::parse(ECDSA).unwrap_err().to_string();
    assert!(ecdsa.contains("ed25519"), "{ecdsa}");
    let public = Key::parse(KEY_PUB).unwrap_err().to_string();
    assert!(public.contains("not an OpenSSH private key"), "{public}");
}

#[test]
fn public_keys_are_found_in_every_file_that_ssh_has() {
    let key = KEY_PUB.trim();
    for text in [
        key.to_string(),
        format!("# a comment\n\n{key}\n"),
        format!("ann@example.org namespaces=\"ceiling.pack\" {key}"),
        format!("ann@example.org Namespaces=\"git,ceiling.pack\",no-pty {key}"),
        format!("command=\"ls -l\",no-pty {key}"),
        format!("{OTHER_PUB}\nssh-ed25519 AAAAbroken\n{key}"),
    ] {
        let signature = Key::parse(KEY).unwrap().sign(b"a message");
        let said = check(b"a message", Some(&signature), Some(&trusted(&text)));
        assert_eq!(said, Signed::Good { key: "one@test".to_string() }, "{text}");
    }
    for text in ["", "# ssh-ed25519", "ssh-ed25519", "hello"] {
        assert!(Trusted::parse(text).is_err(), "{text:?}");
    }
    for limit in [
        "ann@example.org namespaces=\"git\"",
        "ann@example.org namespaces=\"ceiling.packages\"",
        "ann@example.org namespaces=\"git,my.ceiling.pack\"",
        "ann@example.org namespaces=\"ceiling.pack,!ceiling.pack\"",
        "ceiling.pack@example.org namespaces=\"git\"",
        "expiry-time=\"20200101\"",
        "@revoked *",
        "ann@example.org valid-before=\"20200101\"",
        "ann@example.org namespaces=\"ceiling.pack\",valid-after=\"20990101\"",
        "ann@example.org cert-authority",
    ] {
        assert!(Trusted::parse(&format!("{limit} {key}")).is_err(), "{limit}");
    }
}

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("pack-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir(&path).unwrap();
        Self(path)
    }

    fn file(&self, name: &str, text: &str) -> PathBuf {
        use std::os::unix::fs::OpenOptionsExt;
        let path = self.0.join(name);
        let file = fs::File::options().write(true).create_new(true).mode(0o600).open(&path);
        file.unwrap().write_all(text.as_bytes()).unwrap();
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Runs `ssh-keygen` with a message on stdin; nothing where it is not installed.
fn ssh_keygen(arguments: &[&str], message: &[u8]) -> Option<(bool, String)> {
    let mut child = Command::new("ssh-keygen")
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    // It may exit before reading.
    let _ = child.stdin.take().unwrap().write_all(message);
    let output = child.wait_with_output().unwrap();
    Some((output.status.success(), String::from_utf8_lossy(&output.stdout).into_owned()))
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}

#[test]
fn ssh_keygen_checks_ours_and_we_check_that_of_ssh_keygen() {
    let folder = Folder::new("keygen");
    let signature = folder.file("sig", &Key::parse(KEY).unwrap().sign(b"a message"));
    let signers = folder.file("signers", &format!("ann@example.org {KEY_PUB}"));
    let verify = |message: &[u8]| {
        let (signers, signature) = (shown(&signers), shown(&signature));
        let words = ["-Y", "verify", "-f", &signers, "-I", "ann@example.org", "-n", NAMESPACE];
        ssh_keygen(&[&words[..], &["-s", &signature]].concat(), message)
    };
    let Some((is_good, said)) = verify(b"a message") else {
        eprintln!("skipped: ssh-keygen is not installed");
        return;
    };
    assert!(is_good && said.contains("Good \"ceiling.pack\" signature"), "{said}");
    assert!(!verify(b"a massage").unwrap().0);
    let key = shown(&folder.file("key", KEY));
    let sign = |namespace| ssh_keygen(&["-Y", "sign", "-f", &key, "-n", namespace], b"a message");
    let (_, theirs) = sign(NAMESPACE).unwrap();
    let good = Signed::Good { key: "one@test".to_string() };
    assert_eq!(check(b"a message", Some(&theirs), Some(&trusted(KEY_PUB))), good);
    let (_, file) = sign("file").unwrap();
    let said = check(b"a message", Some(&file), Some(&trusted(KEY_PUB)));
    assert!(matches!(said, Signed::Bad { why } if why.contains("made for 'file'")));
}
