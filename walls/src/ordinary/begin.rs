//! Starts third-party software on the stage, and waits until it listens.

use crate::running::Running;
use crate::setup::{Host, Program};
use crate::stage::{Seat, Stage};
use anyhow::{Context, Result, bail};
use std::fs::{self, File};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

/// Exit code of a start script whose software is not installed (EX_UNAVAILABLE).
const NOT_INSTALLED: i32 = 69;

/// Interpreters and databases take a while on a busy machine.
const LISTENS_WITHIN: Duration = Duration::from_secs(90);

/// Starts a program of a family; returns it with its port. `asked` is the address of what it calls.
pub fn begin(
    stage: &Stage,
    (family, program): (&str, &Program),
    seat: Seat<'_>,
    scripts: &Path,
    asked: Option<String>,
) -> Result<(Running, u16)> {
    let port = match seat.host {
        Host::Downstream => 8081,
        _ => 8080,
    };
    let script = scripts.join(family).join(program.name).join("start");
    let script = script.canonicalize().with_context(|| format!("no {}", script.display()))?;
    let folder = stage.folder(seat.name)?;
    let mut words = vec![format!("PORT={port}"), format!("DIR={}", folder.display())];
    words.extend(asked.map(|asked| format!("DOWNSTREAM={asked}")));
    words.extend(program.words.iter().cloned());
    words.extend(["bash".to_owned(), script.display().to_string()]);
    let mut command = stage.command(seat, Path::new("env"), &words)?;
    let log = folder.join("log");
    let file = File::create(&log).with_context(|| format!("cannot write {}", log.display()))?;
    let mut server = Running(command.stdout(file.try_clone()?).stderr(file).spawn()?);
    let began = Instant::now();
    while !is_listening(server.0.id(), port) {
        if let Some(status) = server.0.try_wait()? {
            if status.code() == Some(NOT_INSTALLED) {
                bail!("{} is not installed: make -C walls {family} installs it", program.name);
            }
            let said = fs::read_to_string(&log).unwrap_or_default();
            bail!("{} ended with {status}: {}", program.name, said.trim());
        }
        if began.elapsed() > LISTENS_WITHIN {
            let said = fs::read_to_string(&log).unwrap_or_default();
            bail!("{} did not listen on {port}: {}", program.name, said.trim());
        }
        thread::sleep(Duration::from_millis(50));
    }
    Ok((server, port))
}

/// Whether a socket listens on the port in the network namespace of the process.
fn is_listening(process: u32, port: u16) -> bool {
    ["tcp", "tcp6"].iter().any(|table| {
        let table = fs::read_to_string(format!("/proc/{process}/net/{table}"));
        table.is_ok_and(|table| lists_listener(&table, port))
    })
}

/// Whether a table of `/proc/net` has a listener on the port.
fn lists_listener(table: &str, port: u16) -> bool {
    let local = format!(":{port:04X}");
    table.lines().skip(1).any(|line| {
        let mut words = line.split_whitespace().skip(1);
        // Local address, the other one, and the state, where 0A is LISTEN.
        words.next().is_some_and(|address| address.ends_with(&local)) && words.nth(1) == Some("0A")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_from_the_port_is_no_listener() {
        let table = "  sl  local_address rem_address   st tx_queue rx_queue\n   \
                     0: 00000000:1F90 00000000:0000 0A 00000000:00000000\n   \
                     1: 0100007F:1F91 0100007F:9C40 01 00000000:00000000\n";
        assert!(lists_listener(table, 8080));
        assert!(!lists_listener(table, 8081), "established");
        assert!(!lists_listener(table, 80));
    }
}
