//! Before any load: raises limits, tries the target once, finds the server's process.

use crate::crews::{self, Crews};
use crate::error::LabError;
use crate::limits::{self, Tables};
use crate::preflight::{self, Manners};
use crate::record::RunBuilder;
use crate::setting::Setting;
use crate::watch::ReadingSource;
use crate::{pass, server, target};
use model::event::Event;
use model::facts::ServerFacts;
use model::load::{DriverKind, HttpChoice, HttpVersion, Level, ServerProcess, Stop, Trial};
use model::route::{self, Address};
use plan::Reach;
use probe::{Config, Ends, Sampler};
use std::sync::Arc;
use std::time::Duration;
use wire::program::Program;

/// The flow of a trial, prepared.
fn program(trial: &Trial) -> Result<Option<Arc<Program>>, LabError> {
    let Some(flow) = trial.flow.as_ref().and_then(|load| load.flow.as_ref()) else {
        return Ok(None);
    };
    let date = jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    let program = Program::new((**flow).clone(), date).map_err(LabError::Flow)?;
    Ok(Some(Arc::new(program)))
}

/// Longest wait for an address that is tried, nanoseconds.
const TRY_NS: u64 = 3_000_000_000;

impl<'a> RunBuilder<'a> {
    /// Makes sure that a trial can run here, and looks at the server.
    pub(crate) fn set_up(
        setting: Setting<'a>,
        trial: &'a Trial,
        notify: &mut dyn FnMut(Event),
    ) -> Result<Self, LabError> {
        let mut run = Self::new(setting, trial, Manners::of(trial)?);
        run.program = program(trial)?;
        if let Setting::Model(model) = setting {
            run.set_routes(&trial.addresses, notify);
            run.target.server = model.server();
            return Ok(run);
        }
        if let Setting::Fleet(_) = setting {
            run.lead(notify)?;
            return Ok(run);
        }
        if trial.driver == DriverKind::Null {
            run.notices.push("driver null: no server received any request".to_string());
            return Ok(run);
        }
        let levels: Vec<Level> = Crews::of_all(trial).iter().map(Crews::both).collect();
        let connections = levels.iter().map(Level::connections_max).max().unwrap_or(1);
        let (connections, threads) = match Tables::of(trial.driver, 1) {
            Tables::OfWorkers(_) => crews::fullest(trial),
            Tables::OfProcess => (connections, 1),
        };
        let tables = Tables::of(trial.driver, threads);
        if let Some(raised) = limits::allow_files(u64::from(connections), tables)? {
            run.notice(raised, notify);
        }
        let timeout = Duration::from_nanos(trial.timeout_ns.min(TRY_NS));
        let (good, bad) = target::reach(&trial.addresses, timeout)?;
        for unreachable in bad {
            run.notice(format!("skipping an address: {unreachable}"), notify);
        }
        run.set_routes(&good, notify);
        if run.routes.is_empty() {
            return Err(LabError::NoRoute);
        }
        run.agree(&good, timeout, notify)?;
        // After the connections above: their ports are not free at once.
        limits::allow_ports(&levels, &run.routes)?;
        let address = run.routes[0].to.clone();
        run.find_server(&address, notify)?;
        run.try_flow(&good)?;
        Ok(run)
    }

    /// Takes the steps of a flow once as one user, so that what is wrong with it is known before
    /// the load.
    fn try_flow(&self, addresses: &[Address]) -> Result<(), LabError> {
        let Some(program) = &self.program else { return Ok(()) };
        let trial = self.trial;
        let flow = program.flow();
        let authority = flow.base.split_once("://").map_or(&*flow.base, |(_, host)| host);
        let way = (trial.tls.as_ref(), trial.proxy.as_ref());
        let reach = Reach::of((addresses, authority), way, trial.timeout_ns);
        let (http, timeout_ns, seed) = (trial.manner.http, trial.timeout_ns, trial.seed);
        let setting = pass::Setting { reach: &reach, http, timeout_ns, seed };
        let mut failed = None;
        let is_good = pass::pass(flow, &setting, &mut |taken| {
            failed = taken.failed.as_ref().map(|why| (taken.step.clone(), taken.line, why.clone()));
        });
        let is_good = is_good.map_err(|error| LabError::Flow(error.to_string()))?;
        match failed.filter(|_| !is_good) {
            Some((step, line, why)) => Err(LabError::Flow(format!(
                "{}, line {line}, {step}: {why}; this was one user before the load; ceiling try \
                 shows everything",
                flow.name
            ))),
            None => Ok(()),
        }
    }

    /// Does once with each address what every connection will do, and settles what is spoken.
    fn agree(
        &mut self,
        addresses: &[Address],
        timeout: Duration,
        notify: &mut dyn FnMut(Event),
    ) -> Result<(), LabError> {
        let mut speak_2 = true;
        for address in addresses {
            let agreed = self.manners.try_once(self.trial, address, timeout)?;
            speak_2 &= agreed.as_ref().is_some_and(preflight::is_http2);
            self.target.tls = self.target.tls.take().or(agreed);
        }
        if self.trial.manner.http == HttpChoice::Auto {
            let http = if speak_2 { HttpVersion::Two } else { HttpVersion::One };
            self.manners = Manners::settled(self.trial, http)?;
            let text = match http {
                HttpVersion::Two => "--http auto: HTTP/2, which the server takes by ALPN",
                HttpVersion::One => "--http auto: HTTP/1.1; the server does not take h2 by ALPN",
            };
            self.notice(text.to_string(), notify);
        }
        Ok(())
    }

    /// For a controller, which sends nothing: every agent tries the target itself, and only a probe
    /// on the server's host is called from here.
    fn lead(&mut self, notify: &mut dyn FnMut(Event)) -> Result<(), LabError> {
        let (ServerProcess::Probe(_), Some(address)) =
            (&self.trial.server, self.trial.addresses.first())
        else {
            return Ok(());
        };
        self.find_server(address, notify)
    }

    /// Where readings of this host come from. There are none on a host that only leads a fleet: its
    /// own activity says nothing about the load.
    pub(crate) fn source(&self) -> ReadingSource<'a> {
        match self.setting {
            Setting::Live => {}
            Setting::Fleet(_) => return ReadingSource::Ended,
            Setting::Model(model) => return ReadingSource::Model(model),
        }
        self.live_source(None)
    }

    /// Where readings of this host come from; the process of a tool may be the generator.
    pub(crate) fn live_source(&self, tool_pid: Option<u32>) -> ReadingSource<'a> {
        // Behind a proxy the port is that of the proxy.
        let first = self.trial.addresses.first().filter(|_| self.trial.proxy.is_none());
        let server = self.target.server.as_ref();
        // Another tool looks the name up itself, and may connect to other addresses of it.
        let routes = self.routes.iter().filter(|_| tool_pid.is_none());
        let addresses = routes.filter_map(|route| Some(route.to.tcp()?.ip())).collect();
        let whole = Config::default();
        let window_ns = match self.trial.stop {
            Stop::AfterNs(window_ns) => window_ns,
            Stop::AfterRequests(_) => whole.window_ns,
        };
        ReadingSource::live(Sampler::start(Config {
            window_ns,
            server_pid: server.map(|server| server.pid),
            tool_pid,
            port: first.and_then(Address::port),
            addresses,
            inner_port: server.and_then(ServerFacts::inner_port),
            ends: self.ends(),
            runtime: self.trial.runtime,
            ..whole
        }))
    }

    /// Looks at the server's processes here, or asks the probe on its host to.
    fn find_server(
        &mut self,
        address: &Address,
        notify: &mut dyn FnMut(Event),
    ) -> Result<(), LabError> {
        if let ServerProcess::Probe(choice) = &self.trial.server {
            let (far, host, unseen) = server::call(self.trial, choice, address)?;
            (self.far, self.target.probe) = (Some(far), Some(host));
            unseen.into_iter().for_each(|unseen| self.notice(unseen, notify));
            return Ok(());
        }
        match server::identify(self.trial, address) {
            Ok(facts) => {
                server::passed_on(&facts).into_iter().for_each(|text| self.notice(text, notify));
                self.target.server = Some(facts);
            }
            Err(why) => self.notice(why, notify),
        }
        Ok(())
    }

    /// Which ends of the load are on this host.
    fn ends(&self) -> Ends {
        if self.target.probe.is_some() { Ends::Client } else { Ends::Both }
    }

    fn set_routes(&mut self, reached: &[Address], notify: &mut dyn FnMut(Event)) {
        self.routes = route::routes(reached, &self.trial.sources);
        let is_used = |address: &&Address| self.routes.iter().any(|route| route.to == **address);
        let (used, left_out): (Vec<_>, Vec<_>) = reached.iter().partition(is_used);
        self.target.addresses = used.iter().map(ToString::to_string).collect();
        for address in left_out {
            let text = format!("skipping an address that no --source can reach: {address}");
            self.notice(text, notify);
        }
    }
}
