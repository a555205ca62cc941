//! The signature of a manifest: with the key itself, or through `ssh-keygen` if the key needs a
//! passphrase or an SSH agent.

use crate::exit::Failure;
use pack::signature::{Key, KeyFault, NAMESPACE, Signed, Trusted, check};
use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Size limit of a key file in bytes.
const KEY_BYTES_MAX: u64 = 64 << 10;

/// A signature.
pub struct Signature {
    /// The signature as `ssh-keygen` writes it.
    pub text: String,
    /// Fingerprint of its key.
    pub key: String,
}

/// Signs a manifest.
pub fn sign(path: &Path, manifest: &[u8]) -> Result<Signature, Failure> {
    let wrong = |why: String| Failure::Usage(format!("--key {}: {why}", path.display()));
    let key = read(path).map_err(|error| wrong(error.to_string()))?;
    let text = match Key::parse(&key) {
        Ok(key) => key.sign(manifest),
        Err(KeyFault::Protected) => by_ssh_keygen(path, manifest).map_err(wrong)?,
        Err(_) if Trusted::parse(&key).is_ok() => by_ssh_keygen(path, manifest).map_err(wrong)?,
        Err(fault) => return Err(wrong(fault.to_string())),
    };
    match check(manifest, Some(&text), None) {
        Signed::Unknown { key } => Ok(Signature { text, key }),
        Signed::Bad { why } => Err(wrong(format!("its signature cannot be read back: {why}"))),
        _ => Err(wrong(
            "ssh-keygen made no signature; give an ed25519 key, for example --key \
             ~/.ssh/id_ed25519"
                .to_string(),
        )),
    }
}

fn read(path: &Path) -> std::io::Result<String> {
    let mut text = String::new();
    File::open(path)?.take(KEY_BYTES_MAX).read_to_string(&mut text)?;
    Ok(text)
}

fn by_ssh_keygen(path: &Path, manifest: &[u8]) -> Result<String, String> {
    let spawn = |program: PathBuf| {
        let mut command = Command::new(program);
        command.args(["-Y", "sign", "-n", NAMESPACE, "-f"]).arg(path);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()
    };
    let mut child = host::program::find("ssh-keygen").and_then(spawn).map_err(|error| {
        format!("the key has a passphrase or is in an agent, and ssh-keygen failed: {error}")
    })?;
    // If ssh-keygen ends before it reads, its exit code reports that.
    let _ = child.stdin.take().map(|mut input| input.write_all(manifest));
    let output = child.wait_with_output().map_err(|error| error.to_string())?;
    match output.status.success() {
        true => String::from_utf8(output.stdout).map_err(|error| error.to_string()),
        false => Err("ssh-keygen did not sign; its reason is above".to_string()),
    }
}
