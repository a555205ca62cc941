//! Another tool in place of our engine: it runs as its user would run it, while the probes of both
//! hosts read, and its output is audited and judged with those readings.

mod child;
mod flow;

use crate::error::{LabError, ToolError};
use crate::record::RunBuilder;
use crate::setting::Setting;
use crate::watch::{Logs, Watch};
use child::{Child, Ended};
use jiff::Timestamp;
use judge::judge_tool;
use model::audit::{Account, Foreign, Given};
use model::event::Event;
use model::load::Trial;
use model::run::{Outcome, Run};
use model::secret;
use model::shell;
use model::tool::{Tool, ToolCost, ToolRun};
use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tools::{Ask, Connections, Order};

/// How often the tool is checked.
const LOOK: Duration = Duration::from_millis(10);
/// How long to wait for readings of its end from the server's host, nanoseconds.
const FAR_LATE_NS: u64 = remote::SILENCE_MAX.as_nanos() as u64;
/// A tool that runs this much longer than requested hangs, nanoseconds.
const HANGS_NS: u64 = 60_000_000_000;
/// A tool that was asked for a number of requests and runs longer than this hangs, nanoseconds.
const COUNT_MAX_NS: u64 = 600_000_000_000;

/// The stop flag of a run, and who receives its events.
type Beside<'a> = (&'a AtomicBool, &'a mut dyn FnMut(Event));

/// Lets a tool make the load of a trial.
pub(crate) fn run(
    tool: Tool,
    trial: &Trial,
    command: &[String],
    logs: &mut Logs,
    (stop, notify): Beside<'_>,
) -> Result<Run, LabError> {
    let (started_at, name) = (Timestamp::now(), tool.name());
    let program = program(tool)?;
    let failed = |error| ToolError::Run { name, error };
    let folder = child::Folder::make(name).map_err(failed)?;
    let ask = Ask::of(trial, &folder.path().display().to_string());
    let order = ask.and_then(|ask| (tools::peer(tool).order)(&ask));
    let order = order.map_err(|why| ToolError::Asked(name, why))?;
    let version = child::version(&program, tools::peer(tool).version);
    let mut run = RunBuilder::set_up(Setting::Live, trial, notify)?;
    let child = Child::start(&program, &order, &trial.cpus, &folder).map_err(failed)?;
    let mut watch = Watch::new(run.live_source(Some(child.pid())), &mut logs.near);
    if let (Some(far), Some(log)) = (run.far.take(), &mut logs.far) {
        watch = watch.with_far(far, log);
    }
    notify(Event::Notice(format!("{name} makes the load")));
    if let (Connections::Fewer(opened), [level]) = (order.connections, &trial.levels[..]) {
        let (asked, threads) = (level.connections, trial.threads);
        let why = format!("{name} opens as many connections in each of its {threads} threads");
        run.notice(format!("{why}: {opened} and not {asked}"), notify);
    }
    let ended = attended(tool, trial, child, &mut watch, stop)?;
    let window_ns = flow::window(watch.inside(ended.ran_ns), ended.ran_ns);
    await_far(&mut watch, window_ns);
    watch.look();
    watch.take();
    watch.stop();
    let observed = run.observed_at_end(&watch, window_ns);
    if stop.load(Ordering::Relaxed) {
        run.outcome = Outcome::Interrupted;
        return Ok(run.finish(command, started_at));
    }
    if let Some(how) = ended.failure(tools::peer(tool).harmless) {
        let why = ended.last_words().unwrap_or("it said nothing".to_string());
        return Err(ToolError::Ended { name, how, why }.into());
    }
    let words = typed(name, &order);
    let account = audited_account(tool, trial, &program, &order, &ended, version)?;
    if ended.code != Some(0) {
        run.notice(format!("{name} ended with {}", ended.how()), notify);
    }
    let left = ToolRun {
        generator: tool,
        program: program.display().to_string(),
        command: words,
        exit_code: ended.code,
        ran_ns: ended.ran_ns,
        window_ns,
        rate: ToolRun::good_rate(&account.foreign),
        account,
        cpu: ToolCost::default(),
        hosts: BTreeMap::new(),
        gates: Vec::new(),
    };
    let (left, verdict) = judge_tool(run.context(), left, &observed);
    let mut made = run.finish(command, started_at);
    (made.record.tool, made.record.verdict) = (Some(left), verdict);
    Ok(made)
}

/// The program of a tool, found by the PATH.
fn program(tool: Tool) -> Result<PathBuf, ToolError> {
    let (name, get) = (tool.name(), tools::peer(tool).get);
    host::program::find(name).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => ToolError::Absent { name, get },
        _ => ToolError::Run { name, error },
    })
}

/// Reads both hosts until the tool has ended.
fn attended(
    tool: Tool,
    trial: &Trial,
    mut child: Child,
    watch: &mut Watch<'_>,
    stop: &AtomicBool,
) -> Result<Ended, ToolError> {
    let name = tool.name();
    let most_ns = match trial.stop {
        model::load::Stop::AfterNs(ns) => ns.saturating_add(trial.timeout_ns) + HANGS_NS,
        model::load::Stop::AfterRequests(_) => COUNT_MAX_NS,
    };
    let (mut looks, mut is_asked) = (0_u64, false);
    loop {
        std::thread::sleep(LOOK);
        looks += 1;
        if looks.is_multiple_of(10) {
            watch.take();
        }
        if let Some(ended) = child.ended().map_err(|error| ToolError::Run { name, error })? {
            return Ok(ended);
        }
        if stop.load(Ordering::Relaxed) && !is_asked {
            is_asked = true;
            child.ask_to_end();
        }
        if child.age_ns() > most_ns {
            child.kill();
            return Err(ToolError::Hangs(name));
        }
    }
}

/// Waits for the last readings of the server's host, for as long as its probe may be silent.
fn await_far(watch: &mut Watch<'_>, window_ns: (u64, u64)) {
    let begin_ns = engine::clock::now_ns();
    while watch.is_behind(window_ns) && engine::clock::now_ns() < begin_ns + FAR_LATE_NS {
        std::thread::sleep(LOOK);
        watch.take();
    }
}

/// Its command line, without secrets.
fn typed(name: &str, order: &Order) -> Vec<String> {
    let words = [vec![name.to_string()], order.words.clone()].concat();
    secret::words(&words)
}

/// What it reported, audited.
fn audited_account(
    tool: Tool,
    trial: &Trial,
    program: &std::path::Path,
    order: &Order,
    ended: &Ended,
    version: Option<String>,
) -> Result<Account, ToolError> {
    let name = tool.name();
    let silent = |why: String| ToolError::Silent { name, how: ended.how(), why };
    let bytes = ended.output(program, order).map_err(|error| silent(error.to_string()))?;
    let level = trial.levels.first();
    // A number of connections that it does not keep to would refute figures that are right.
    let bound = match order.connections {
        Connections::AsAsked => level.map(|level| level.connections),
        Connections::Fewer(opened) => Some(opened),
        Connections::AsNeeded => None,
    };
    let given = Given {
        command: Some(shell::line(&typed(name, order))),
        connections: bound.map(u64::from),
        depth: level.map(|level| u64::from(level.depth)),
        ..Given::default()
    };
    let read = tools::audit::read(&mut bytes.as_slice(), &given);
    let foreign = read.map_err(|error| silent(ended.last_words().unwrap_or(error.to_string())))?;
    let version = foreign.version.clone().or(version);
    let foreign = Foreign { version, ..foreign };
    Ok(tools::audit::account(name.to_string(), String::new(), foreign, &given))
}
