//! SSH signatures beside archives, made and checked by `ssh-keygen`.

use crate::exit::Failure;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Seek};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// The purpose of a signature: one that was made for another purpose is not valid for an archive.
const NAMESPACE: &str = "ceiling.pack";
/// Prefixes of the kinds of SSH keys.
const KINDS: [&str; 3] = ["ssh-", "ecdsa-", "sk-"];
/// Whose signature it is when a key has no comment that can name it.
const UNNAMED: &str = "signer";

/// The result of checking a signature. Each text is what ssh-keygen printed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Signed {
    /// There is none.
    No,
    /// It is valid, and made by a trusted key.
    Good(String),
    /// It is valid, and no trusted keys were given.
    Unknown(String),
    /// It is valid, and made by none of the trusted keys.
    Other(String),
    /// It is not valid, or cannot be checked.
    Bad(String),
}

/// Where the signature of an archive is.
pub fn path_of(archive: &Path) -> PathBuf {
    let mut path = OsString::from(archive);
    path.push(".sig");
    PathBuf::from(path)
}

/// Signs a file with a key, or with the key of an agent whose public half is given.
pub fn sign(key: &Path, archive: &mut File) -> Result<Vec<u8>, Failure> {
    let wrong = |why: String| Failure::Usage(format!("--key {}: {why}", key.display()));
    let input = from_start(archive).map_err(|error| wrong(error.to_string()))?;
    let mut command = ssh_keygen()?;
    command
        .args(["sign", "-q", "-n", NAMESPACE, "-f"])
        .arg(key)
        .stdin(input)
        .stderr(Stdio::inherit());
    let output = command.output().map_err(|error| wrong(error.to_string()))?;
    match output.status.success() && !output.stdout.is_empty() {
        true => Ok(output.stdout),
        false => Err(wrong("ssh-keygen did not sign; its reason is above".to_string())),
    }
}

/// The file of the keys to trust, as `ssh-keygen` reads it. `given` is a public key, or a file with
/// public keys or allowed signers.
pub fn signers(given: &str) -> Result<String, Failure> {
    let wrong = |why: String| Failure::Usage(format!("--pub {given}: {why}"));
    let is_kind = |word: &str| KINDS.iter().any(|kind| word.starts_with(kind));
    let is_key = |text: &str| text.split_whitespace().any(is_kind);
    let text = match given.contains(' ') && is_key(given) {
        true => given.to_string(),
        false => fs::read_to_string(given).map_err(|error| {
            wrong(format!(
                "it is not a public SSH key, and reading it as a file failed: {error}; for \
                 example --pub ~/.ssh/id_ed25519.pub"
            ))
        })?,
    };
    if !text.lines().any(|line| !line.starts_with('#') && is_key(line)) {
        return Err(wrong(
            "there is no SSH public key in it; for example 'ssh-ed25519 AAAA.. you@host'".into(),
        ));
    }
    let line = |line: &str| match line.split_whitespace().next().is_some_and(is_kind) {
        true => format!("{} {line}\n", name_of(line)),
        false => format!("{line}\n"),
    };
    Ok(text.lines().map(line).collect())
}

/// The comment of a public key, as a name that has no meaning of its own to ssh-keygen.
fn name_of(key: &str) -> &str {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "@._-".contains(letter);
    let comment = key.split_whitespace().nth(2);
    comment.filter(|comment| comment.chars().all(is_plain)).unwrap_or(UNNAMED)
}

/// Checks the signature beside an archive against the keys in a file; without one, only whether it
/// is valid.
pub fn check(path: &Path, archive: &mut File, signers: Option<&Path>) -> Result<Signed, Failure> {
    let signature = path_of(path);
    if fs::symlink_metadata(&signature).is_err_and(|error| error.kind() == ErrorKind::NotFound) {
        return Ok(Signed::No);
    }
    let mut asked = |word: &str, more: &[&OsString]| -> Result<Output, Failure> {
        let failed = |error: io::Error| Failure::File(format!("ssh-keygen: {error}"));
        let input = from_start(archive).map_err(failed)?;
        let mut command = ssh_keygen()?;
        command.args([word, "-n", NAMESPACE, "-s"]).arg(&signature).args(more);
        command.stdin(input).output().map_err(failed)
    };
    let valid = asked("check-novalidate", &[])?;
    if !valid.status.success() {
        return Ok(Signed::Bad(text(&valid)));
    }
    let Some(signers) = signers.map(|path| path.as_os_str().to_os_string()) else {
        return Ok(Signed::Unknown(text(&valid)));
    };
    let (from, is) = (OsString::from("-f"), OsString::from("-I"));
    let found = asked("find-principals", &[&from, &signers])?;
    let names = String::from_utf8_lossy(&found.stdout).into_owned();
    let Some(name) = names.lines().next().filter(|_| found.status.success()) else {
        return Ok(Signed::Other(text(&valid)));
    };
    let verified = asked("verify", &[&from, &signers, &is, &OsString::from(name)])?;
    match verified.status.success() {
        true => Ok(Signed::Good(text(&verified))),
        false => Ok(Signed::Other(text(&verified))),
    }
}

fn ssh_keygen() -> Result<Command, Failure> {
    let program = host::program::find("ssh-keygen").map_err(|error| {
        Failure::Usage(format!(
            "signatures need ssh-keygen, and {error}; install it (Debian: openssh-client)"
        ))
    })?;
    let mut command = Command::new(program);
    command.arg("-Y");
    Ok(command)
}

fn from_start(file: &mut File) -> io::Result<File> {
    file.rewind()?;
    file.try_clone()
}

/// What it printed, as one line.
fn text(output: &Output) -> String {
    let all = [&output.stdout[..], &output.stderr].concat();
    let text = String::from_utf8_lossy(&all);
    text.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join("; ")
}
