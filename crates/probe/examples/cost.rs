//! What the probe costs: on a made-up host with 128 CPUs, and on this one.
//!
//! `cargo run --release -p probe --example cost`

use model::reading::{Data, ProbeCost};
use probe::cost::by_source;
use probe::fake_host::{SERVER_PID, Size, write_host};
use probe::{Config, Root, Sampler};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Argument with which this program is a server of sleeping threads.
const SLEEP: &str = "sleep";
const THREADS: u32 = 2000;

fn main() -> std::io::Result<()> {
    if std::env::args().nth(1).as_deref() == Some(SLEEP) {
        sleep();
    }
    let size = Size { cpus: 128, queues: 64, other_interrupts: 300, threads: THREADS };
    let folder = Folder(std::env::temp_dir().join(format!("probe-cost-{}", std::process::id())));
    write_host(&folder.0, size)?;
    let root = Root::below(&folder.0);
    let made_up = Config { server_pid: Some(SERVER_PID), root, ..remote() };
    print("128 CPUs, 64 queues, 300 more interrupts, 2000 threads, as files: our part", &made_up);
    print("this host, no server", &Config::default());

    let server =
        Server(Command::new(std::env::current_exe()?).arg(SLEEP).stdout(Stdio::null()).spawn()?);
    let threads = Path::new("/proc").join(server.0.id().to_string()).join("task");
    while std::fs::read_dir(&threads)?.count() <= THREADS as usize {
        std::thread::sleep(Duration::from_millis(20));
    }
    let real = Config { server_pid: Some(server.0.id()), port: Some(1), ..remote() };
    print("this host, a server of 2000 threads", &real);
    Ok(())
}

/// As in a probe of its own, which has no other use for descriptors.
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
    let costs = readings.iter().filter_map(|reading| match &reading.data {
        Data::ProbeCost(cost) => Some(*cost),
        _ => None,
    });
    let costs: Vec<ProbeCost> = costs.collect();
    // The first round opens the files, and the last one reads everything.
    if let [_, first, .., last, _] = &costs[..] {
        print_cost("once it runs:", first, last);
    }
    if let Some(last) = costs.last() {
        print_cost("with start and stop:", &ProbeCost::default(), last);
    }
    println!();
}

fn print_cost(what: &str, first: &ProbeCost, last: &ProbeCost) {
    let rounds = (last.rounds - first.rounds).max(1) as f64;
    let (cpu_ns, elapsed_ns) =
        ((last.cpu_ns - first.cpu_ns) as f64, (last.elapsed_ns - first.elapsed_ns) as f64);
    println!(
        "the sampler, {what:<20} {:.0} us per round, {:.2} % of one CPU at {:.1} Hz",
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

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
