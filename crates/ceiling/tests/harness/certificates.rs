//! Certificates of our own authority, and servers that present them.

use super::{Folder, Server, program};
use std::process::Command;

/// Certificates made for one test.
pub struct Certificates(Folder);

impl Certificates {
    pub fn new(name: &str) -> Self {
        let folder = Folder::new(name);
        let mut command = Command::new(program("target-certs"));
        let made = command.arg("--out").arg(&folder.path).output().unwrap();
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        Self(folder)
    }

    pub fn file(&self, name: &str) -> String {
        self.0.file(name)
    }

    /// A server that presents the certificate of this name.
    pub fn server(&self, name: &str, more: &[&str]) -> Server {
        self.server_of("target-nethttp", name, more)
    }

    /// Another program that presents it.
    pub fn server_of(&self, program: &str, name: &str, more: &[&str]) -> Server {
        let (certificate, key) =
            (self.file(&format!("{name}.pem")), self.file(&format!("{name}.key")));
        let arguments = ["--tls-cert", &certificate, "--tls-key", &key];
        Server::start(program, &[&arguments[..], more].concat())
    }
}
