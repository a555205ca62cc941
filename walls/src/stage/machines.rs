//! Two virtual machines instead of namespaces: this one is the generator's host, and the other one
//! is the server's, which runs what is sent to its shell (`scripts/vm/server`).
//!
//! Each has its own kernel, clocks and a network device with queues. Limits are set on the server's
//! machine: groups by `walls seat`, the rest by shell lines.

use super::{Seat, cpu_of};
use crate::setup::{Actor, Host, Receive, Setup, Shape};
use anyhow::{Context, Result, bail};
use std::fmt::Write as _;
use std::fs;
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::path::Path;
use std::process::Command;

/// Address of the generator's machine; `scripts/vm/run` assigns both.
const HERE: &str = "10.98.0.2";
/// Address of the server's machine.
const THERE: &str = "10.98.0.1";
/// Where its shell listens.
const SHELL: &str = "10.98.0.1:7";

/// The network device of a machine.
const NIC: &str = "eth0";

/// CPUs of a machine.
pub const ALL_CPUS: &str = "0-1";

/// Length of the per-CPU backlog where a setup has none: the kernel's default.
const BACKLOG_PACKETS: u32 = 1000;

/// See the module. Dropping it ends what runs on the server's machine and removes its limits.
pub struct Machines;

impl Machines {
    /// Makes what the setup needs.
    pub fn build(setup: &Setup) -> Result<Self> {
        refuse(setup)?;
        let machines = Self;
        there(&lift())?;
        there(&limit(setup)?)?;
        Ok(machines)
    }

    /// The command that runs a program on its host.
    pub fn command(seat: Seat<'_>, program: &Path, words: &[String]) -> Result<Command> {
        if seat.host == Host::Client {
            let mut command = Command::new("taskset");
            command.args(["-c", ALL_CPUS]).arg(program).args(words);
            return Ok(command);
        }
        let own = std::env::current_exe().context("no path of this program")?;
        let mut line = vec![own.display().to_string(), "seat".to_owned()];
        line.extend(["--stage".to_owned(), tag(), "--name".to_owned(), seat.name.to_owned()]);
        line.extend(seat.words());
        line.extend(["--".to_owned(), program.display().to_string()]);
        line.extend(words.iter().cloned());
        let line: Vec<String> = line.iter().map(|word| quoted(word)).collect();
        let mut command = Command::new(&own);
        command.args(["there", &format!("exec {} </dev/null", line.join(" "))]);
        Ok(command)
    }

    /// Address of a host.
    pub fn address(host: Host) -> String {
        if host == Host::Client { HERE.to_owned() } else { THERE.to_owned() }
    }

    /// Makes a folder on the server's machine.
    pub fn make_folder(folder: &Path) -> Result<()> {
        there(&format!("mkdir -p {}", quoted(&folder.display().to_string()))).map(drop)
    }

    /// Copies a file from the server's machine.
    pub fn bring(file: &Path) -> Result<()> {
        let text = there(&format!("cat {}", quoted(&file.display().to_string())))?;
        fs::write(file, text).with_context(|| format!("cannot write {}", file.display()))
    }
}

impl Drop for Machines {
    fn drop(&mut self) {
        if let Err(error) = there(&lift()) {
            eprintln!("walls: {error:#}");
        }
    }
}

/// Refuses parts of a setup that only namespaces support.
fn refuse(setup: &Setup) -> Result<()> {
    let is_burner = |actor: &Actor| matches!(actor, Actor::Burner { .. });
    let lacking = [
        (setup.downstream.is_some(), "a third host"),
        (setup.skew.is_some(), "a choice of source ports"),
        (!setup.actors.iter().all(is_burner), "an actor that burns no CPU time"),
        (!setup.sysctls.is_empty(), "kernel parameters"),
        (setup.client.allowance.quota.is_some(), "a quota of the generator"),
    ];
    match lacking.iter().find(|(is_wanted, _)| *is_wanted) {
        Some((_, what)) => bail!("two machines do not support this part of a scenario: {what}"),
        None => Ok(()),
    }
}

/// The shell lines that set the limits of a setup.
fn limit(setup: &Setup) -> Result<String> {
    let mut lines = String::new();
    let cpu = cpu_of(Host::Server);
    match setup.receive {
        Receive::Threaded => {}
        Receive::Backlog => {
            let _ = writeln!(lines, "{}", for_queues(&format!("echo {:x}", 1 << cpu)));
        }
        Receive::Interrupts => lines += &interrupts(&cpu.to_string()),
    }
    if let Some(one_way) = setup.one_way {
        // The round trip takes as long as with a delay in each direction.
        let (delay_us, lost) = (2 * one_way.as_micros(), setup.lost * 100.0);
        let _ = writeln!(
            lines,
            "tc qdisc replace dev {NIC} root netem limit 10000 delay {delay_us}us loss {lost:.3}%"
        );
    }
    for shape in &setup.shapes {
        match shape {
            Shape::Sent(Host::Server, discipline) => {
                let _ = writeln!(lines, "tc qdisc replace dev {NIC} root {discipline}");
            }
            Shape::Filtered(Host::Server, count) => {
                // Older kernels allow at most 4096 filters of one priority.
                let _ = writeln!(
                    lines,
                    "tc qdisc add dev {NIC} ingress\n\
                     seq {count} | awk '{{ print \"filter add dev {NIC} parent ffff: protocol ip \
                     prio \" 1 + int($1 / 4000) \" u32 match ip src 192.0.2.1 flowid :1\" }}' | \
                     tc -batch -"
                );
            }
            Shape::Sent(..) | Shape::Received(..) | Shape::Filtered(..) => {
                bail!("two machines do not support this shape: {shape:?}")
            }
        }
    }
    if let Some(packets) = setup.backlog_packets {
        let _ = writeln!(lines, "echo {packets} >/proc/sys/net/core/netdev_max_backlog");
    }
    if let Some(connections) = setup.tracked {
        lines += &track(connections);
    }
    Ok(lines)
}

/// Tracks connections from here on, except those of the shell. Ended ones expire at once, because
/// the kernel's table is not recreated for each run.
fn track(connections: u32) -> String {
    format!(
        "nft -f - <<END\n\
         table ip track {{\n\
         chain raw {{ type filter hook prerouting priority -300; tcp dport 7 notrack; }}\n\
         chain back {{ type filter hook output priority -300; tcp sport 7 notrack; }}\n\
         chain first {{ type filter hook prerouting priority 0; ct state new counter; }}\n\
         }}\nEND\n\
         for state in time_wait close fin_wait close_wait last_ack; do\n\
         echo 1 >/proc/sys/net/netfilter/nf_conntrack_tcp_timeout_$state; done\n\
         echo {connections} >/proc/sys/net/netfilter/nf_conntrack_max\n"
    )
}

/// The shell lines that end all programs there and remove all limits. The connection table is empty
/// after its module is reloaded.
fn lift() -> String {
    let own = std::env::current_exe().unwrap_or_default();
    let clear = format!("{} clear {}", quoted(&own.display().to_string()), tag());
    format!(
        "{clear}\n\
         tc qdisc del dev {NIC} root 2>/dev/null || true\n\
         tc qdisc del dev {NIC} ingress 2>/dev/null || true\n\
         ! nft list table ip track >/dev/null 2>&1 || nft delete table ip track\n\
         PATH=/run/vm:$PATH rmmod nft_ct nf_conntrack 2>/dev/null || true\n\
         echo {BACKLOG_PACKETS} >/proc/sys/net/core/netdev_max_backlog\n\
         {}\n{}",
        for_queues("echo 0"),
        interrupts("$((number % $(nproc)))")
    )
}

/// Writes the output of a command to the steering mask of each queue.
fn for_queues(command: &str) -> String {
    format!("for mask in /sys/class/net/{NIC}/queues/rx-*/rps_cpus; do {command} >$mask; done")
}

/// Sends the interrupts of each queue, whose `number` is known, to a CPU.
fn interrupts(cpu: &str) -> String {
    format!(
        "grep -E 'virtio[0-9]+-(in|out)put' /proc/interrupts | while IFS=': ' read irq rest; do\n\
         number=${{rest##*put.}}\n\
         echo {cpu} >/proc/irq/$irq/smp_affinity_list; done\n"
    )
}

/// The tag of this process there.
fn tag() -> String {
    std::process::id().to_string()
}

/// A word, quoted for a shell.
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// Runs lines there; returns their output.
fn there(script: &str) -> Result<String> {
    let mut stream = send(&format!("(set -e\n{script}\n) 2>&1\necho \"exit $?\"\n"))?;
    let mut said = String::new();
    stream.read_to_string(&mut said).context("the other machine said nothing")?;
    match said.trim_end().rsplit_once("exit ") {
        Some((said, "0")) => Ok(said.trim_end().to_owned()),
        _ => bail!("`{script}` failed on the other machine: {}", said.trim()),
    }
}

fn send(script: &str) -> Result<TcpStream> {
    let stream = TcpStream::connect(SHELL)
        .with_context(|| format!("no shell at {SHELL}: it is for make -C walls machines"))?;
    (&stream).write_all(script.as_bytes())?;
    stream.shutdown(Shutdown::Write)?;
    Ok(stream)
}

/// Runs a line there and prints its output until it ends.
pub fn relay(script: &str) -> Result<()> {
    let mut stream = send(&format!("{script}\n"))?;
    let mut out = io::stdout().lock();
    let mut some = [0; 4096];
    loop {
        match stream.read(&mut some)? {
            0 => return Ok(()),
            count => {
                out.write_all(&some[..count])?;
                out.flush()?;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn limits_are_made_on_the_device_of_the_server() {
        let mut setup = Setup::new("", "load {url}");
        assert_eq!(limit(&setup).unwrap(), "");
        setup.one_way = Some(Duration::from_millis(10));
        setup.lost = 0.02;
        assert_eq!(
            limit(&setup).unwrap(),
            "tc qdisc replace dev eth0 root netem limit 10000 delay 20000us loss 2.000%\n"
        );
        setup.shapes = vec![Shape::Sent(Host::Client, "tbf".to_owned())];
        assert!(limit(&setup).is_err(), "only the server's machine has limits");
    }

    #[test]
    fn a_word_with_quotes_is_one_word() {
        assert_eq!(quoted("it's"), "'it'\\''s'");
    }
}
