//! Decides whether an agent accepts an offered job, and whether it carries out an order of that
//! job: the wish of the controller's user must be within what the agent's user allows.
//!
//! An agent receives no files and reads none: a job that names a file on a host is refused. So is
//! anything that would lead its connections past its allow-list: proxies, given addresses, Unix
//! sockets, and requests for another host.

use crate::allow::Allow;
use crate::message::{CrewOrder, Offer};
use model::curve::{Curve, Leg};
use model::load::{Arrival, Level, Request, ServerProcess, Trial};
use model::route::{Address, Lookup};
use model::tls::{TlsChoice, Trust};
use plan::{Scheme, Url};
use std::collections::BTreeSet;

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
    if trial.requests.is_empty() && url.scheme != Scheme::Tcp || trial.levels.is_empty() {
        return Err("the offer has no load".to_string());
    }
    no_way_around(trial, &url, &limits.allow)?;
    no_files(trial)?;
    hosts(trial, &url, &limits.allow)?;
    for level in &trial.levels {
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

const CLOSED: &str = "this agent has a --max-rate, which a closed loop cannot keep; give a rate, \
                      for example -R 1k";

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
        let (scheme, _) = scheme_of(url);
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
    if matches!(trial.server, ServerProcess::Probe(_)) || trial.profile.is_some() {
        return Err("only the controller reads the server's probe".to_string());
    }
    Ok(())
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
    let (scheme, _) = scheme_of(url);
    for host in named.into_iter().filter(|host| !host.is_empty() && *host != url.authority) {
        let other = Url::parse(&format!("{scheme}://{host}")).map_err(|error| error.to_string())?;
        allow.check_url(&other).map_err(|error| error.to_string())?;
    }
    Ok(())
}

fn scheme_of(url: &Url) -> (&'static str, Scheme) {
    let word = match url.scheme {
        Scheme::Http => "http",
        Scheme::Https => "https",
        Scheme::Tcp => "tcp",
    };
    (word, url.scheme)
}

#[cfg(test)]
mod tests;
