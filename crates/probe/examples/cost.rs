//! What the probe costs: on a made-up host with 128 CPUs, and on this one; as root also with a
//! server in a network namespace of its own, beside 40 others.
//!
//! `cargo run --release -p probe --example cost`

use model::reading::{Data, ProbeCost};
use model::root::Root;
use probe::cost::by_source;
use probe::fake_host::{SERVER_PID, Size, write_host};
use probe::{Config, Sampler};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Argument with which this program is a server of sleeping threads.
const SLEEP: &str = "sleep";
const THREADS: u32 = 5000;
const NAMESPACES: usize = 40;

fn main() -> std::io::Result<()> {
    if std::env::args().nth(1).as_deref() == Some(SLEEP) {
        sleep();
    }
    let size = Size { cpus: 128, queues: 64, other_interrupts: 300, threads: THREADS };
    let folder = Folder(std::env::temp_dir().join(format!("probe-cost-{}", std::process::id())));
    write_host(&folder.0, size)?;
    let root = Root::below(&folder.0);
    let made_up = Config { server_pid: Some(SERVER_PID), root, ..remote() };
    print("128 CPUs, 64 queues, 300 more interrupts, 5000 threads, as files: our part", &made_up);
    print("this host, no server", &Config::default());

    let program = std::env::current_exe()?;
    let mut server = Server::start(Command::new(&program).arg(SLEEP))?;
    server.wait_for_threads()?;
    let real = Config { server_pid: Some(server.0.id()), port: Some(1), ..remote() };
    print("this host, a server of 5000 threads", &real);
    drop(server);

    let others: Vec<Server> = (0..NAMESPACES)
        .map(|_| Server::start(Command::new("unshare").args(["--net", "sleep", "3600"])))
        .collect::<std::io::Result<_>>()?;
    let mut server = Server::start(Command::new("unshare").arg("--net").arg(&program).arg(SLEEP))?;
    if server.wait_for_threads().is_err() {
        println!("no server in a network namespace of its own: that needs root");
        return Ok(());
    }
    let begin = Instant::now();
    // An address that no host has, so that every namespace is searched.
    let found = probe::find_server(([192, 0, 2, 1], 1).into());
    let looked_ms = begin.elapsed().as_secs_f64() * 1e3;
    println!("looked through {} namespaces once: {looked_ms:.1} ms ({found:?})", others.len() + 1);
    let inside = Config { inner_port: Some(1), server_pid: Some(server.0.id()), ..real };
    print("this host, a server of 5000 threads in a network namespace of its own", &inside);
    Ok(())
}

/// As in a separate probe process, which has no other use for descriptors.
fn remote() -> Config {
    Config { kept_files: 8192, ..Config::default() }
}

fn print(title: &str, config: &Config) {
    println!(
        "{title}\n{:>18} {:>12} {:>14} {:>10}",
        "source", "us per read", "read every ms", "% of CPU"
    );
    let mut costs = by_source(config, 31);
    costs.sort_by(|a, b| b.cpus().total_cmp(&a.cpus()));
    for cost in &costs {
        let (read_us, paced_ms) = (cost.read_ns as f64 / 1e3, cost.paced_ns as f64 / 1e6);
        let percent = cost.cpus() * 100.0;
        println!("{:>18} {read_us:>12.1} {paced_ms:>14.0} {percent:>10.3}", cost.name);
    }
    let sum: f64 = costs.iter().map(|cost| cost.cpus() * 100.0).sum();
    println!("{:>18} {:>12} {:>14} {sum:>10.3}", "all", "", "");

    let sampler = Sampler::start(config.clone());
    std::thread::sleep(Duration::from_secs(20));
    let readings = sampler.stop();
    for (thread, is_inside) in [("the sampler", false), ("the thread inside", true)] {
        let costs = readings.iter().filter_map(|reading| match reading.data.opened() {
            (Data::ProbeCost(cost), inside) if inside == is_inside => Some(*cost),
            _ => None,
        });
        let costs: Vec<ProbeCost> = costs.collect();
        // The first round opens the files, and the last one reads everything.
        if let [_, first, .., last, _] = &costs[..] {
            print_cost(thread, "once it runs:", first, last);
        }
        if let Some(last) = costs.last() {
            print_cost(thread, "with start and stop:", &ProbeCost::default(), last);
        }
    }
    println!();
}

fn print_cost(thread: &str, what: &str, first: &ProbeCost, last: &ProbeCost) {
    let rounds = (last.rounds - first.rounds).max(1) as f64;
    let (cpu_ns, elapsed_ns) =
        ((last.cpu_ns - first.cpu_ns) as f64, (last.elapsed_ns - first.elapsed_ns) as f64);
    println!(
        "{thread}, {what:<20} {:.0} us per round, {:.2} % of one CPU at {:.1} Hz",
        cpu_ns / 1e3 / rounds,
        cpu_ns / elapsed_ns * 100.0,
        rounds / (elapsed_ns / 1e9),
    );
}

/// Threads that do nothing until the process is killed.
fn sleep() -> ! {
    for _ in 0..THREADS {
        let thread = std::thread::Builder::new().stack_size(64 << 10);
        thread
            .spawn(|| {
                loop {
                    std::thread::park()
                }
            })
            .expect("a thread");
    }
    loop {
        std::thread::park();
    }
}

struct Folder(std::path::PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

struct Server(Child);

impl Server {
    fn start(command: &mut Command) -> std::io::Result<Self> {
        Ok(Self(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn()?))
    }

    fn wait_for_threads(&mut self) -> std::io::Result<()> {
        let threads = Path::new("/proc").join(self.0.id().to_string()).join("task");
        while std::fs::read_dir(&threads)?.count() <= THREADS as usize {
            if let Some(ended) = self.0.try_wait()? {
                return Err(std::io::Error::other(ended.to_string()));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
