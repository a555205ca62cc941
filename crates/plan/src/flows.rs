//! Flows of the command line: the file, the values of its variables, and what does not go with
//! users.

use crate::machine::Machine;
use crate::options::{HttpText, Options};
use crate::shape::Shape;
use crate::url::Url;
use crate::usage::Usage;
use crate::values::{Assigned, VariableName};
use clap::Args;
use flow::Flow;
use model::load::{FlowLoad, MixTarget, Question, Request, Stop};
use model::secret;
use std::path::Path;
use std::sync::Arc;
use wire::program::Program;

/// Longest drain that users may take, nanoseconds.
const DRAIN_MAX_NS: u64 = 600_000_000_000;

/// Values of variables.
#[derive(Debug, Clone, Default, Args)]
pub struct FlowValues {
    /// A value for {{NAME}} in a flow; repeatable
    #[arg(long = "variable", value_name = "NAME=VALUE")]
    pub variables: Vec<Assigned>,

    /// The same with a value that is never shown: that of a variable of the environment; repeatable
    #[arg(long = "secret-env", value_name = "NAME")]
    pub secrets: Vec<VariableName>,
}

/// A flow that was read, and the secrets that were given for it.
#[derive(Debug)]
pub struct Written {
    /// The flow.
    pub flow: Flow,
    /// What must not be shown.
    pub secrets: Vec<String>,
}

impl FlowValues {
    /// The first option that was given.
    pub fn given(&self) -> Option<&'static str> {
        let all = [
            (!self.variables.is_empty(), "--variable"),
            (!self.secrets.is_empty(), "--secret-env"),
        ];
        all.into_iter().find(|(is_given, _)| *is_given).map(|(_, option)| option)
    }

    /// Reads a flow; `base` goes in the place of the server that it names.
    pub fn read(
        &self,
        file: &str,
        base: Option<String>,
        machine: &dyn Machine,
    ) -> Result<Written, Usage> {
        let bytes = machine.read(file).map_err(Usage)?;
        let text = String::from_utf8(bytes).map_err(|_| {
            Usage(format!("{file} is no text; a flow begins with a line like GET URL"))
        })?;
        let mut given = flow::Given { base, ..flow::Given::default() };
        let mut secrets = Vec::new();
        for Assigned((name, value)) in &self.variables {
            if secret::is_secret(name) {
                secrets.push(value.clone());
            }
            given.variables.insert(name.clone(), value.clone());
        }
        for VariableName(name) in &self.secrets {
            let value = machine.variable(name).ok_or_else(|| {
                Usage(format!("--secret-env {name}: the variable is not set or is empty"))
            })?;
            secrets.push(value.clone());
            given.variables.insert(name.clone(), value);
        }
        let folder = Path::new(file).parent().unwrap_or(Path::new(""));
        let name = Path::new(file).file_stem().unwrap_or_default().to_string_lossy();
        let read = flow::read(&name, &text, &given, &mut |beside| {
            machine.read(&folder.join(beside).display().to_string())
        });
        let flow = read.map_err(|wrong| Usage(format!("{file}, {wrong}")))?;
        Ok(Written { flow, secrets })
    }
}

/// A load of users: the flow, where its server is, and what each step is called.
pub struct UserPlan {
    /// Where.
    pub url: Url,
    /// A request for each step, without what its holes are filled with.
    pub requests: Vec<Request>,
    /// The steps.
    pub targets: Vec<MixTarget>,
    /// The flow.
    pub load: FlowLoad,
}

/// The load of users that the options describe.
pub fn resolve(file: &Path, options: &Options, machine: &dyn Machine) -> Result<UserPlan, Usage> {
    let typed = options.url.as_ref().map(|url| Url::typed(&url.0)).transpose()?;
    if let Some(url) = typed.as_ref().filter(|url| url.path != "/") {
        return Err(Usage(format!(
            "--flow: its steps have whole paths, so '{}' of the URL would not be sent; give the \
             server alone",
            secret::text(&url.path)
        )));
    }
    let base = typed.map(|url| format!("{}://{}", url.scheme.name(), url.authority));
    let file = file.display().to_string();
    let mut flow = options.flow_values.read(&file, base, machine)?.flow;
    add_headers(&mut flow, options, machine)?;
    let long = flow.steps.iter().find(|step| step.timeout_ns.is_some());
    if let Some(step) = long {
        return Err(Usage(format!(
            "{file}, line {}: max-time of one step is not possible in a load yet; give --timeout \
             for all",
            step.line
        )));
    }
    let url = Url::typed(&flow.base)?;
    let wrong = |why: String| Usage(format!("{file}: {}", secret::text(&why)));
    let program = Program::new(flow.clone(), String::new()).map_err(wrong)?;
    program.tape().map_err(|error| wrong(error.to_string()))?;
    let targets = program.names().into_iter().map(|name| MixTarget {
        name: secret::text(&name),
        weight: 1,
        ..MixTarget::default()
    });
    Ok(UserPlan {
        targets: targets.collect(),
        requests: program.requests(),
        load: FlowLoad { name: flow.name.clone(), flow: Some(Arc::new(flow)) },
        url,
    })
}

/// Adds headers of the command line to steps that have none of the same name.
fn add_headers(flow: &mut Flow, options: &Options, machine: &dyn Machine) -> Result<(), Usage> {
    let headers = options.headers.iter().cloned().chain(crate::auth::header(options, machine)?);
    headers.for_each(|header| flow.add_header(header.0));
    Ok(())
}

/// What a load of users is not possible with, and the way out.
fn refused(options: &Options, shape: &Shape) -> Result<(), Usage> {
    let caps = |level: &model::load::Level| level.life != Default::default();
    let rules = [
        (
            !matches!(shape.question, Question::Load | Question::Ramp),
            "this command",
            "ceiling load and ceiling ramp do",
        ),
        (
            shape.levels.iter().any(|level| level.spare > 0),
            "--max-connections",
            "-c is how many users there may be at a time",
        ),
        (shape.levels.iter().any(caps), "--requests-per-conn", "each user has a connection"),
        (matches!(shape.stop, Stop::AfterRequests(_)), "-n", "give -d, how long users begin for"),
        (options.depth.0 > 1, "-p", "a user waits for each response"),
        (
            matches!(options.http, Some(HttpText::Two | HttpText::Auto))
                || options.http2_prior_knowledge,
            "HTTP/2",
            "leave it out; ceiling try --http 2 takes one pass",
        ),
        (options.fleet.is_given(), "--fleet", "leave it out"),
        (options.confirm.is_given(), "--confirm", "leave it out"),
        (options.retry_unprocessed.is_some(), "--retry-unprocessed", "leave it out"),
        (options.expand.is_some(), "--expand", "the holes of a flow are filled for each request"),
        (options.checks.is_given(), "--check-..", "write [Asserts] into the flow"),
        (shape.tool.is_some(), "--tool", "leave it out"),
    ];
    match rules.into_iter().find(|(is, ..)| *is) {
        Some((_, what, way_out)) => {
            Err(Usage(format!("--flow: {what} is not possible with users yet; {way_out}")))
        }
        None => Ok(()),
    }
}

/// How long what was begun in a window may take to end after it, nanoseconds; refuses what is not
/// possible with users.
pub fn drained(load: Option<&FlowLoad>, options: &Options, shape: &Shape) -> Result<u64, Usage> {
    let timeout_ns = options.timeout.0;
    let Some(flow) = load.and_then(|load| load.flow.as_ref()) else { return Ok(timeout_ns) };
    refused(options, shape)?;
    Ok(drain_ns(flow, timeout_ns))
}

/// How long users may take to end after the window, nanoseconds: as long as a flow can take.
fn drain_ns(flow: &Flow, timeout_ns: u64) -> u64 {
    let each = flow.steps.iter().map(|step| {
        let requests = u64::from(step.redirects_max.min(1)) + 1;
        let once_ns = timeout_ns.saturating_mul(requests).saturating_add(step.delay_ns);
        once_ns.saturating_mul(u64::from(step.repeat))
    });
    each.fold(0, u64::saturating_add).min(DRAIN_MAX_NS)
}
