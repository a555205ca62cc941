//! `bench steering`: tests the predictions for a knob.
//!
//! RPS and RFS are predicted from a run and then measured, once where one CPU full of receive
//! softirq is the wall and once where it is not. Two hosts are namespaces joined by a veth pair
//! with four queues. CPU 1 receives all packets of the server, as with a card of one queue;
//! generator and server have CPU 0. Filter rules that match nothing make each packet cost as much
//! as the wall needs, on the receiving CPU. In the second scene there are no rules, and the server
//! serves eight requests at a time for two milliseconds each.

use crate::options::{self, Missing, Programs, Setting};
use crate::rounds::Bench;
use crate::statistics::Spread;
use crate::veth::Namespaces;
use crate::words::{Words, words};
use anyhow::{Context, Result, bail, ensure};
use clap::Args;
use serde_json::Value;
use std::fmt::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

const QUEUES: u32 = 4;
/// Generator and server; the other CPU receives packets.
const CPU: u32 = 0;
/// Their names in `ceiling tune`, and their ids. RFS works on top of RPS.
const KNOBS: [(&str, &str); 2] = [("rps", "T5"), ("rfs", "T6")];
const PATIENCE: Duration = Duration::from_secs(20);

/// The command line.
#[derive(Debug, Args)]
pub struct Options {
    #[arg(long, value_name = "N", env = "ROUNDS", default_value = "4")]
    rounds: u32,
    /// Load of each run, whole seconds
    #[arg(long, value_name = "T", env = "SECONDS_EACH", default_value = "3")]
    seconds: u32,
    /// Filter rules of the first scene
    #[arg(long, value_name = "N", env = "RULES", default_value = "6000")]
    rules: u32,
    #[arg(long, value_name = "DIR", default_value = "out/steering")]
    out: PathBuf,
    #[command(flatten)]
    programs: Programs,
}

/// Runs both scenes and prints a line for each knob.
pub fn run(options: Options) -> Result<ExitCode> {
    ensure!(rustix::process::geteuid().is_root(), "network namespaces need root");
    options::check_cpus()?;
    let programs = &options.programs;
    options::check_programs([&programs.ceiling, &programs.sink])?;
    // Records and the journal of an earlier run would be taken for those of this one.
    let _ = std::fs::remove_dir_all(&options.out);
    let mut bench = Bench::new(Setting {
        rounds: options.rounds,
        // Plus a second of warm-up.
        slot_ms: options.seconds * 1_000 + 1_000,
        seed: options::drawn_seed(),
        missing: Missing::LeaveOut,
        out: options.out,
        programs: options.programs,
    })?;
    let pool = ["--serve-at-once", "8", "--delay", "fixed:2ms"];
    play(&mut bench, "softirq is the wall", options.seconds, options.rules, &[])?;
    play(&mut bench, "a pool is the wall", options.seconds, 0, &pool)?;
    Ok(ExitCode::SUCCESS)
}

/// A prepared scene: both hosts, the server and its probe.
struct Scene<'b> {
    bench: &'b mut Bench,
    hosts: Namespaces,
    seconds: u32,
    /// The options to connect to the probe.
    probe: Vec<String>,
}

fn play(bench: &mut Bench, name: &str, seconds: u32, rules: u32, sink: &[&str]) -> Result<()> {
    let mut scene = Scene::set_up(bench, seconds, rules, sink)?;
    for (at, (knob, id)) in KNOBS.into_iter().enumerate() {
        let base = scene.valid_run()?;
        let prediction = scene.prediction(&base, id)?;
        let mut rates = [Vec::new(), Vec::new()];
        for round in 0..scene.bench.setting.rounds {
            let order = if round % 2 == 0 { [1, 0] } else { [0, 1] };
            for turned in order {
                rates[turned].push(scene.rate((turned == 1).then_some(knob))?);
            }
        }
        let [plain, turned] = rates;
        let changes = plain.iter().zip(&turned).map(|(plain, turned)| turned / plain - 1.0);
        let changes = Spread::of(changes).context("no round was measured")?;
        println!("{}", line(name, knob, &base["verdict"], &prediction, &changes));
        if at == 0 {
            scene.apply(knob)?;
        }
    }
    scene.tune(&["revert"])?;
    scene.bench.supervisor.stop_all()
}

impl<'b> Scene<'b> {
    fn set_up(bench: &'b mut Bench, seconds: u32, rules: u32, sink: &[&str]) -> Result<Self> {
        let hosts = Namespaces::joined(CPU, CPU, QUEUES)?;
        let (nic, ip) = (hosts.server_nic().to_owned(), hosts.server_ip());
        for queue in 0..QUEUES {
            let script = format!("echo 2 > /sys/class/net/{nic}/queues/rx-{queue}/rps_cpus");
            hosts.configure_server(words(&["sh", "-c", &script]))?;
        }
        if rules > 0 {
            let file = bench.scratch("rules");
            std::fs::write(&file, filters(&nic, rules))?;
            hosts.configure_server(words(&["tc", "qdisc", "add", "dev", &nic, "ingress"]))?;
            hosts.configure_server(words(&["tc", "-batch", &file.to_string_lossy()]))?;
        }
        let program = bench.setting.programs.sink.to_string_lossy().into_owned();
        let fixed = [&*program, "--addr", ip, "--port", "8080", "--threads", "1"];
        bench.serve("sink", hosts.on_server(words(&[&fixed[..], sink].concat())))?;
        let mut scene = Self { bench, hosts, seconds, probe: Vec::new() };
        scene.serve_probe()?;
        Ok(scene)
    }

    /// Starts `ceiling probe serve`, which prints the options to connect to it.
    fn serve_probe(&mut self) -> Result<()> {
        let ceiling = self.ceiling();
        let file = |name: &str| self.bench.setting.out.join(name).to_string_lossy().into_owned();
        let (token, journal) = (file("token"), file("journal"));
        let listen = format!("{}:9200", self.hosts.server_ip());
        let flags = ["--listen", &listen, "--token-file", &token, "--allow-tune", "--journal"];
        let line = [&[&*ceiling, "probe", "serve"][..], &flags, &[&*journal]].concat();
        let stdout = self.bench.scratch("probe.stdout");
        let line = self.hosts.in_server_namespace(words(&line));
        self.bench.supervisor.start(line, &stdout, &self.bench.scratch("probe.stderr"))?;
        let deadline = Instant::now() + PATIENCE;
        while Instant::now() < deadline {
            let printed = std::fs::read_to_string(&stdout).unwrap_or_default();
            let first = printed.split_once('\n').and_then(|(first, _)| first.find("--probe "));
            if let Some(at) = first {
                let options = printed[at..].lines().next().unwrap_or_default();
                self.probe = options.split_whitespace().map(str::to_owned).collect();
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        bail!("the probe printed no line with --probe")
    }

    fn ceiling(&self) -> String {
        self.bench.setting.programs.ceiling.to_string_lossy().into_owned()
    }

    /// Runs `ceiling` on the generator's host; returns its output. Exit codes 3 and 4 qualify a
    /// figure that was measured.
    fn run(&mut self, arguments: &[&str]) -> Result<String> {
        let ceiling = self.ceiling();
        let line: Words = words(&[&[&*ceiling], arguments].concat());
        let [ran] = self.bench.run([self.hosts.on_client(line)])?;
        match ran.exit.status.code() {
            Some(3 | 4) => Ok(ran.stdout),
            _ => ran.good(),
        }
    }

    fn load(&mut self, more: &[&str]) -> Result<Value> {
        let url = format!("http://{}:8080/", self.hosts.server_ip());
        let (seconds, cpu) = (format!("{}s", self.seconds), CPU.to_string());
        let fixed = ["load", &url, "-c", "64", "-d", &seconds, "--warmup", "1s", "--cpus", &cpu];
        let printed = self.run(&[&fixed[..], &["--json"], more].concat())?;
        Ok(serde_json::from_str(&printed)?)
    }

    /// A valid run with the probe. A busy machine occasionally spoils one, and an invalid run
    /// predicts nothing.
    fn valid_run(&mut self) -> Result<Value> {
        let runs = self.runs();
        let probe = self.probe.clone();
        let probe: Vec<&str> = probe.iter().map(String::as_str).collect();
        for _ in 0..5 {
            let record = self.load(&[&["--runs", &*runs][..], &probe].concat())?;
            if record["verdict"]["side"] != "measurement" {
                return Ok(record);
            }
        }
        bail!("five runs were no measurements: the machine is too busy")
    }

    fn runs(&self) -> String {
        self.bench.setting.out.join("runs").to_string_lossy().into_owned()
    }

    /// The prediction of `ceiling advise` for a knob, from a stored run.
    fn prediction(&mut self, base: &Value, id: &str) -> Result<Value> {
        let run = format!("{}/{}", self.runs(), base["id"].as_str().unwrap_or_default());
        let advice: Value = serde_json::from_str(&self.run(&["advise", &run, "--json"])?)?;
        let parts = advice.as_object().into_iter().flat_map(|parts| parts.values());
        let rows = parts.filter_map(Value::as_array).flatten();
        let row = rows.into_iter().find(|row| row["knob"] == id);
        row.map(|row| row["prediction"].clone()).with_context(|| format!("no advice for {id}"))
    }

    /// The rate without a knob, or with a knob that is applied and reverted.
    fn rate(&mut self, knob: Option<&str>) -> Result<f64> {
        let transaction = knob.map(|knob| self.apply(knob)).transpose()?;
        let record = self.load(&[]);
        if let Some(transaction) = transaction {
            self.tune(&["revert", "--transaction", &transaction])?;
        }
        record?["points"][0]["rate"].as_f64().context("the record has no rate")
    }

    fn apply(&mut self, knob: &str) -> Result<String> {
        let nic = self.hosts.server_nic().to_owned();
        let what = ["--profile", "seeds", "--only", knob, "--device", &nic, "--cpus", "0-1/0"];
        let printed = self.tune(&[&["apply", "--json"][..], &what].concat())?;
        let printed: Value = serde_json::from_str(&printed)?;
        let transaction = printed["transaction"].as_str();
        Ok(transaction.context("`tune apply` printed no transaction")?.to_owned())
    }

    fn tune(&mut self, arguments: &[&str]) -> Result<String> {
        let probe = self.probe.clone();
        let probe: Vec<&str> = probe.iter().map(String::as_str).collect();
        self.run(&[&["tune"][..], arguments, &probe].concat())
    }
}

/// Rules for `tc -batch` that match no packet; each packet is compared with all of them.
fn filters(nic: &str, rules: u32) -> String {
    let mut text = String::new();
    for at in 0..rules {
        let (host, port) = (at % 250 + 1, at % 60_000);
        let _ = writeln!(
            text,
            "filter add dev {nic} parent ffff: prio 1 protocol ip u32 match ip src \
             192.0.2.{host}/32 match ip dport {port} 0xffff flowid 1:1"
        );
    }
    text
}

fn line(name: &str, knob: &str, verdict: &Value, said: &Value, changes: &Spread) -> String {
    let percent = |share: f64| format!("{:+.1} %", share * 100.0);
    let bound = |side: &str| said[side].as_f64().map_or("the next wall".into(), percent);
    let (low, high) = (said["low"].as_f64(), said["high"].as_f64());
    let is_inside = low.is_some_and(|low| changes.median >= low)
        && high.is_none_or(|high| changes.median <= high);
    let word = |name: &str| verdict[name].as_str().unwrap_or("unknown").to_owned();
    format!(
        "{name} (verdict {} {}), {knob}: predicted {} to {}; measured {} ({} to {}): {}\n  {}",
        word("wall"),
        word("confidence"),
        bound("low"),
        bound("high"),
        percent(changes.median),
        percent(changes.min),
        percent(changes.max),
        if is_inside { "inside" } else { "OUTSIDE" },
        said["arithmetic"].as_str().unwrap_or_default()
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_prediction_that_does_not_come_true_is_named() {
        let verdict = json!({ "wall": "K6", "confidence": "likely" });
        let changes = Spread::of([0.5, 0.6, 0.7]).unwrap();
        let said = |high: Value| json!({ "low": -0.1, "high": high, "arithmetic": "a / b" });
        let text = line("s", "rps", &verdict, &said(json!(0.8)), &changes);
        assert!(text.contains("predicted -10.0 % to +80.0 %; measured +60.0 %"), "{text}");
        assert!(text.contains("inside\n  a / b"));
        assert!(line("s", "rps", &verdict, &said(json!(0.5)), &changes).contains("OUTSIDE"));
        let open = line("s", "rps", &verdict, &said(Value::Null), &changes);
        assert!(open.contains("to the next wall;") && open.contains("inside"), "{open}");
    }

    #[test]
    fn each_filter_is_one_line() {
        assert_eq!(filters("vs", 3).lines().count(), 3);
        assert!(filters("vs", 1).starts_with("filter add dev vs parent ffff: prio 1"));
    }
}
