//! Decides whether an agent accepts an offered job, and whether it carries out an order of that
//! job: the wish of the controller's user must be within what the agent's user allows.
//!
//! An agent receives no files and reads none: a job that names a file on a host is refused. So is
//! anything that would lead its load past its allow-list: proxies, given addresses, Unix sockets,
//! requests and handshakes for another host, and requests to a port that is only for connections.

use crate::allow::Allow;
use crate::message::{CrewOrder, Offer};
use model::curve::{Curve, Leg};
use model::load::{Arrival, Level, Life, Request, ServerProcess, Trial};
use model::route::{Address, Lookup};
use model::tick::ThreadKind;
use model::tls::{TlsChoice, Trust};
use plan::{Scheme, Url};
use std::collections::BTreeSet;
use std::mem::{Discriminant, discriminant};

/// The limits that the agent's user sets.
#[derive(Debug, Clone, Default)]
pub struct Limits {
    /// Where load may go.
    pub allow: Allow,
    /// Highest rate of this agent, requests per second; absent if there is no limit.
    pub rate_max: Option<f64>,
}

/// Relative rounding error that is tolerated in a rate.
const ROUNDING: f64 = 1e-9;

/// The URL of an offered job, if the job is within the limits. Its addresses are not known yet:
/// they must pass [`Allow::check_addresses`].
///
/// # Errors
///
/// The reason why it is refused, for people.
pub fn offer(offer: &Offer, limits: &Limits) -> Result<Url, String> {
    let trial = &offer.trial;
    let url = Url::typed(&trial.url).map_err(|error| error.to_string())?;
    limits.allow.check_url(&url).map_err(|error| error.to_string())?;
    let mut streams = trial.fanout.iter().map(|fanout| &fanout.streams);
    let is_idle = |level: &Level| level.depth == 0;
    if trial.requests.is_empty()
        || streams.any(Vec::is_empty)
        || trial.levels.is_empty()
        || trial.levels.iter().any(is_idle)
    {
        return Err("the offer has no load".to_string());
    }
    no_way_around(trial, &url, &limits.allow)?;
    no_files(trial)?;
    handshakes(trial, &url, &limits.allow)?;
    hosts(trial, &url, &limits.allow)?;
    // HTTP/2 greets before any request.
    if url.scheme == Scheme::Tcp && (trial.fanout.is_some() || !trial.manner.http.is_one()) {
        return Err(ONLY_CONNECTIONS.to_string());
    }
    for level in &trial.levels {
        life(&level.life, url.scheme)?;
        if let Arrival::Open { curve, .. } = &level.arrival {
            sane(curve)?;
        }
    }
    let Some(rate_max) = limits.rate_max else { return Ok(url) };
    if trial.fanout.is_some() {
        return Err(SUBSCRIBING.to_string());
    }
    for level in &trial.levels {
        rate(peak(level)?, offer.shares.asking.fraction(), rate_max)?;
    }
    let searched = trial.search.as_ref().map_or(0.0, |search| search.highest);
    rate(searched, offer.shares.asking.fraction(), rate_max)?;
    Ok(url)
}

/// Checks that an order is within the job and the limits.
///
/// # Errors
///
/// The reason why it is refused, for people.
pub fn order(order: &CrewOrder, job: &Offer, limits: &Limits) -> Result<(), String> {
    let CrewOrder::Connect { connections, connections_max, depth, open, life, .. } = order else {
        return Ok(());
    };
    let levels = || job.trial.levels.iter();
    let most = levels().map(Level::connections_max).max().unwrap_or(0);
    let deepest = levels().map(|level| level.depth).max().unwrap_or(0);
    if *connections > *connections_max || *connections_max > most || *depth > deepest {
        return Err("it asks for more connections than the job has".to_string());
    }
    let url = Url::typed(&job.trial.url).map_err(|error| error.to_string())?;
    self::life(life, url.scheme)?;
    if let Some(open) = open {
        sane(&open.curve)?;
    }
    match (limits.rate_max, open) {
        (None, _) => Ok(()),
        // The requests of devices have no plan.
        (Some(_), Some(_)) if life.hold.is_some() => Err(CLOSED.to_string()),
        (Some(_), None) => Err(CLOSED.to_string()),
        (Some(rate_max), Some(open)) => {
            rate(open.curve.peak_rate(), job.shares.asking.fraction(), rate_max)
        }
    }
}

/// What the crews of a job were ordered in the current level.
#[derive(Debug, Default)]
pub struct Ordered([Vec<Discriminant<CrewOrder>>; 2]);

impl Ordered {
    /// Notes an order. A level has at most one of each kind for a crew: the queues of the workers
    /// have room for these, and for no more.
    ///
    /// # Errors
    ///
    /// The crew has already had an order of this kind in this level.
    pub fn note(&mut self, crew: ThreadKind, order: &CrewOrder) -> Result<(), String> {
        if let (ThreadKind::Requesting, CrewOrder::Connect { .. }) = (crew, order) {
            self.0.iter_mut().for_each(Vec::clear);
        }
        let (had, kind) = (&mut self.0[crew as usize], discriminant(order));
        if had.contains(&kind) {
            return Err("a level has no second order of this kind".to_string());
        }
        had.push(kind);
        Ok(())
    }
}

const CLOSED: &str = "this agent has a --max-rate, which a closed loop cannot keep; give a rate, \
                      for example -R 1k";

const ONLY_CONNECTIONS: &str = "a tcp URL is for connections without requests";

const SUBSCRIBING: &str = "this agent has a --max-rate, and subscribers of a fan-out have no \
                           planned rate; take agents without one";

/// Largest planned rate of a level, requests per second of the whole fleet.
fn peak(level: &Level) -> Result<f64, String> {
    match &level.arrival {
        Arrival::Closed => Err(CLOSED.to_string()),
        // Devices whose requests have no plan are a closed loop as well.
        Arrival::Open { .. } if level.life.hold.is_some() => Err(CLOSED.to_string()),
        Arrival::Open { curve, .. } => Ok(curve.peak_rate()),
    }
}

/// Checks a curve from the network, which may be malformed.
fn sane(curve: &Curve) -> Result<(), String> {
    let is_rate = |rate: f64| rate.is_finite() && rate >= 0.0;
    let is_leg = |leg: &Leg| is_rate(leg.from) && is_rate(leg.to);
    if !curve.legs().is_empty() && curve.legs().iter().all(is_leg) {
        return Ok(());
    }
    Err("its rate is not a number".to_string())
}

/// Checks the life of connections from the network. Where the URL is only for connections, none of
/// them may send a request.
fn life(life: &Life, scheme: Scheme) -> Result<(), String> {
    if life.requests.is_some_and(|(least, most)| least > most) {
        return Err("its connections have more requests at least than at most".to_string());
    }
    if scheme == Scheme::Tcp && life.requests != Some((0, 0)) {
        return Err(ONLY_CONNECTIONS.to_string());
    }
    Ok(())
}

fn rate(whole: f64, part: f64, rate_max: f64) -> Result<(), String> {
    let mine = whole * part;
    // Written so that NaN is refused.
    if mine <= rate_max * (1.0 + ROUNDING) {
        return Ok(());
    }
    Err(format!("{mine} requests per second are above this agent's --max-rate of {rate_max}"))
}

fn no_way_around(trial: &Trial, url: &Url, allow: &Allow) -> Result<(), String> {
    if trial.proxy.is_some() {
        return Err("an agent never uses a proxy; leave out --proxy".to_string());
    }
    if matches!(trial.resolution.how, Lookup::Given | Lookup::UnixSocket) {
        return Err("an agent resolves names itself and accepts no given addresses; leave out \
                    --resolve, --connect-to and --unix-socket"
            .to_string());
    }
    if trial.addresses.iter().any(|address| matches!(address, Address::Unix(_))) {
        return Err("an agent never connects to unix sockets; leave out --unix-socket".to_string());
    }
    let name = &trial.resolution.name;
    if !name.is_empty() && *name != format!("{}:{}", bracketed(&url.host), url.port) {
        // The connections would go to another host than that of the URL.
        let scheme = url.scheme.name();
        let other = Url::parse(&format!("{scheme}://{name}")).map_err(|error| error.to_string())?;
        allow.check_url(&other).map_err(|error| error.to_string())?;
        return Err("an agent connects to the host of the URL and to no other; leave out \
                    --connect-to"
            .to_string());
    }
    Ok(())
}

fn bracketed(host: &str) -> String {
    if host.contains(':') { format!("[{host}]") } else { host.to_string() }
}

fn no_files(trial: &Trial) -> Result<(), String> {
    let reads = |tls: &TlsChoice| matches!(tls.trust, Trust::File(_)) || tls.identity.is_some();
    if trial.tls.as_ref().is_some_and(reads) {
        return Err("an agent reads no files of certificates or keys".to_string());
    }
    let watches = trial.profile.is_some() || trial.evidence.is_some();
    if matches!(trial.server, ServerProcess::Probe(_)) || watches {
        return Err("only the controller reads the server's probe".to_string());
    }
    Ok(())
}

/// Checks that there is TLS just where the URL says so, and that it asks for no other host: a
/// server may route a connection by the name in its handshake.
fn handshakes(trial: &Trial, url: &Url, allow: &Allow) -> Result<(), String> {
    match (&trial.tls, url.scheme.is_secure()) {
        (Some(tls), true) if tls.server_name == url.host => Ok(()),
        (Some(tls), true) => allow
            .check((url.scheme, &tls.server_name, url.port))
            .map_err(|error| format!("--sni: {error}")),
        (None, false) => Ok(()),
        (Some(_), false) => Err(format!("{} has no TLS", url.text)),
        (None, true) => Err(format!("{} is never loaded without TLS", url.text)),
    }
}

/// Checks the Host of each request: a server may route it to another host than that of the URL.
fn hosts(trial: &Trial, url: &Url, allow: &Allow) -> Result<(), String> {
    let streams = trial.fanout.iter().flat_map(|fanout| &fanout.streams);
    let requests: Vec<&Request> = trial.requests.iter().chain(streams).collect();
    let is_host = |(name, _): &&(String, String)| name.eq_ignore_ascii_case("host");
    let mut named = BTreeSet::new();
    for request in &requests {
        if !request.path.starts_with('/') && request.path != "*" {
            return Err(format!("'{}' is not a path", request.path.escape_debug()));
        }
        named.insert(&*request.host);
        named.extend(request.headers.iter().filter(is_host).map(|(_, value)| value.trim()));
    }
    let scheme = url.scheme.name();
    for host in named.into_iter().filter(|host| !host.is_empty() && *host != url.authority) {
        let other = Url::parse(&format!("{scheme}://{host}")).map_err(|error| error.to_string())?;
        allow.check_url(&other).map_err(|error| error.to_string())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
