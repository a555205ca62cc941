//! Calls of gRPC: the schema of a server, and messages made of the JSON that a user wrote.

use crate::auth;
use crate::endpoints::WayOptions;
use crate::machine::Machine;
use crate::mix::{self, Recipe};
use crate::options::{DriverChoice, Options};
use crate::secure::Secure;
use crate::url::Url;
use crate::usage::{Refusal, Usage};
use crate::values::{Header, ProtoFile, ProtoFolder, ProtosetFile, ServerText, Time};
use clap::Args;
use model::call::Replies;
use model::load::{MixTarget, Request};
use model::route::Address;
use model::tls::{ProxyChoice, TlsChoice};
use schema::{Method, Schema};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// The units of `grpc-timeout`, the finest first, nanoseconds, and the most digits of its number
/// (<https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md>).
const UNITS: [(u64, &str); 4] = [(1, "n"), (1_000, "u"), (1_000_000, "m"), (1_000_000_000, "S")];
const TIMEOUT_MAX: u64 = 99_999_999;

/// Where the schema of a server comes from, other than from itself.
#[derive(Debug, Clone, Default, Args)]
pub struct SchemaOptions {
    /// For gRPC: a .proto file with the schema, in the place of server reflection; repeatable
    #[arg(long = "proto", value_name = "FILE", conflicts_with = "protoset")]
    files: Vec<ProtoFile>,

    /// For gRPC: a folder below which imports of --proto are; repeatable
    #[arg(long = "proto-path", value_name = "DIR", requires = "files")]
    folders: Vec<ProtoFolder>,

    /// For gRPC: a set of descriptors with the schema, as protoc --include_imports
    /// --descriptor_set_out writes it
    #[arg(long, value_name = "FILE")]
    protoset: Option<ProtosetFile>,
}

/// Where a schema comes from.
#[derive(Debug)]
pub enum SchemaFrom<'a> {
    /// `.proto` files, and the folders of what they import.
    Files(Vec<PathBuf>, Vec<PathBuf>),
    /// A set of descriptors.
    Set(PathBuf),
    /// A server that describes itself.
    Server(&'a Reach<'a>),
}

/// How a server is asked before the load.
#[derive(Debug)]
pub struct Reach<'a> {
    /// Where it may be; the first one that accepts is asked.
    pub addresses: &'a [Address],
    /// What calls name as the server.
    pub authority: &'a str,
    /// How connections are encrypted.
    pub tls: Option<&'a TlsChoice>,
    /// The proxy.
    pub proxy: Option<&'a ProxyChoice>,
    /// Metadata of every call.
    pub headers: Vec<(String, String)>,
    /// What is asked about: services or messages; everything when there is none.
    pub symbols: Vec<String>,
    /// How long each step may take, nanoseconds.
    pub timeout_ns: u64,
}

impl<'a> Reach<'a> {
    /// Without metadata, and about everything.
    pub fn of(
        (addresses, authority): (&'a [Address], &'a str),
        (tls, proxy): (Option<&'a TlsChoice>, Option<&'a ProxyChoice>),
        timeout_ns: u64,
    ) -> Self {
        let (headers, symbols) = (Vec::new(), Vec::new());
        Self { addresses, authority, tls, proxy, headers, symbols, timeout_ns }
    }
}

impl SchemaOptions {
    fn from<'a>(&self, reach: &'a Reach<'a>) -> SchemaFrom<'a> {
        let files: Vec<PathBuf> = self.files.iter().map(|file| file.0.clone()).collect();
        match &self.protoset {
            Some(set) => SchemaFrom::Set(set.0.clone()),
            None if files.is_empty() => SchemaFrom::Server(reach),
            None => {
                SchemaFrom::Files(files, self.folders.iter().map(|one| one.0.clone()).collect())
            }
        }
    }

    /// The first option that was given.
    fn given(&self) -> Option<&'static str> {
        let all = [(!self.files.is_empty(), "--proto"), (self.protoset.is_some(), "--protoset")];
        all.into_iter().find(|(is_given, _)| *is_given).map(|(_, option)| option)
    }
}

/// The schema; nothing on a host that asks no server.
fn schema(
    options: &SchemaOptions,
    reach: &Reach<'_>,
    machine: &dyn Machine,
) -> Result<Option<Schema>, Refusal> {
    let usage = |why: String| match options.given() {
        Some(option) => Refusal::Usage(Usage(format!("{option}: {why}"))),
        // Where the address is what was typed, it is there already.
        None if why.starts_with(reach.authority) => Refusal::NoAddress(why),
        None => Refusal::NoAddress(format!("{}: {why}", reach.authority)),
    };
    let set = machine.schema(&options.from(reach)).map_err(usage)?;
    set.map(|set| Schema::of_set(&set)).transpose().map_err(usage)
}

/// Refuses what only calls have where a URL is no gRPC.
pub fn none_meant(options: &Options, url: &Url, recipes: &[Recipe]) -> Result<(), Usage> {
    let deadline = options.deadline.as_ref().map(|_| "--deadline");
    let has_fields = recipes.iter().any(|recipe| recipe.checks.json.is_some());
    let fields = has_fields.then_some("--check-json");
    match options.schema.given().or(deadline).or(fields) {
        Some(option) if !url.scheme.is_grpc() => Err(Usage(format!(
            "{option} is about calls of gRPC, which {} does not ask for; for example \
             grpc://{}/package.Service/Method",
            url.text, url.authority
        ))),
        _ => Ok(()),
    }
}

/// The headers that every call has besides its metadata.
pub fn headers(options: &Options) -> Result<Vec<Header>, Usage> {
    let own = ["content-type", "te", "grpc-timeout"];
    let typed = options.headers.iter().map(|header| &header.0.0);
    if let Some(name) = { typed }.find(|name| own.contains(&&*name.to_ascii_lowercase())) {
        let way_out =
            if name.eq_ignore_ascii_case("grpc-timeout") { ", or give --deadline" } else { "" };
        return Err(Usage(format!("-H {name}: every call has it; leave it out{way_out}")));
    }
    if options.method.is_some() {
        let why = "--method: every call is a POST; leave it out, and write the method of gRPC into \
                   the URL, as in grpc://HOST:PORT/package.Service/Method";
        return Err(why.into());
    }
    let mut all =
        vec![("content-type", "application/grpc".to_string()), ("te", "trailers".to_string())];
    all.extend(options.deadline.as_ref().map(|deadline| ("grpc-timeout", timeout(deadline.0))));
    Ok(all.into_iter().map(|(name, value)| Header((name.to_string(), value))).collect())
}

/// A time as `grpc-timeout` has it: in the finest unit in which it fits, rounded up.
fn timeout(ns: u64) -> String {
    let fits = UNITS.iter().map(|(each, unit)| (ns.div_ceil(*each), unit));
    let (count, unit) =
        { fits }.find(|(count, _)| *count <= TIMEOUT_MAX).unwrap_or((TIMEOUT_MAX, &"S"));
    format!("{count}{unit}")
}

/// Puts messages in the place of the JSON of requests, and numbers of fields into the checks of
/// their replies. Returns the descriptors with which samples of calls are read, if they are.
pub fn encode(
    (requests, targets): (&mut [Request], &mut [MixTarget]),
    options: &Options,
    reach: Reach<'_>,
    machine: &dyn Machine,
) -> Result<Vec<u8>, Refusal> {
    let mut symbols: Vec<String> =
        requests.iter().filter_map(|request| service(&request.path)).collect();
    symbols.sort();
    symbols.dedup();
    let headers = metadata(options, machine)?;
    let reach = Reach { headers, symbols, ..reach };
    let Some(schema) = schema(&options.schema, &reach, machine)? else { return Ok(Vec::new()) };
    let mut methods: BTreeMap<String, Method> = BTreeMap::new();
    for request in &mut *requests {
        let path = request.path.clone();
        let wrong = |why: String| Refusal::Usage(Usage(why));
        if !methods.contains_key(&path) {
            methods.insert(path.clone(), schema.method(&path).map_err(wrong)?);
        }
        let method = &methods[&path];
        request.replies = method.replies();
        request.body = method.messages(&request.body).map_err(|why| {
            let has_template = options.expand.is_none() && mix::has_placeholder(&request.body);
            let hint = if has_template { "; --expand 1000 fills templates in" } else { "" };
            wrong(format!("{}: {why}{hint}", path.trim_start_matches('/')))
        })?;
        let checks = &mut targets[request.target as usize].checks;
        if let (Some(json), true) = (&checks.json, checks.fields.is_empty()) {
            let fields = method.fields(json.text().as_bytes());
            checks.fields = fields.map_err(|why| wrong(format!("--check-json: {why}")))?;
        }
    }
    if options.driver == DriverChoice::Null {
        one_kind(requests)?;
    }
    Ok(if options.sample_failures { schema.to_set() } else { Vec::new() })
}

/// Refuses conversations beside other calls, which the null driver does not tell apart.
fn one_kind(requests: &[Request]) -> Result<(), Usage> {
    let is_talk = |request: &&Request| request.replies == Replies::Each && !request.body.is_empty();
    let talks = requests.iter().filter(is_talk).count();
    if talks == 0 || talks == requests.len() {
        return Ok(());
    }
    Err("--driver null answers conversations or other calls, and the mix has both; for example a \
         mix of conversations alone"
        .into())
}

/// The service of a path.
fn service(path: &str) -> Option<String> {
    let (service, _) = path.trim_start_matches('/').split_once('/')?;
    Some(service.to_string())
}

/// Which server is asked what it has, or where its schema is.
#[derive(Debug, Args)]
pub struct SchemaQuestion {
    /// Where: [grpc[s]://]HOST[:PORT]; without a scheme, in plain text
    #[arg(required_unless_present_any = ["files", "protoset"])]
    server: Option<ServerText>,

    #[command(flatten)]
    schema: SchemaOptions,

    /// Metadata, 'name: value'; repeatable
    #[arg(short = 'H', long = "header", value_name = "LINE")]
    headers: Vec<Header>,

    /// How long the server may take
    #[arg(short = 'T', long, value_name = "T", default_value = "10s")]
    timeout: Time,

    #[command(flatten)]
    secure: Secure,
}

impl SchemaQuestion {
    /// Where calls go, as the beginning of their URL.
    pub fn place(&self) -> String {
        let text = self.server.as_ref().map_or("grpc://HOST:PORT", |server| &server.0);
        let text = text.trim_end_matches('/');
        if text.contains("://") { text.to_string() } else { format!("grpc://{text}") }
    }

    /// What the server has; all of it, or what these symbols need.
    pub fn ask(&self, symbols: Vec<String>, machine: &dyn Machine) -> Result<Schema, Refusal> {
        let url = match &self.server {
            Some(_) => Url::typed(&self.place()).map_err(Usage::from)?,
            None => Url::typed("grpc://localhost").map_err(Usage::from)?,
        };
        if !url.scheme.is_grpc() {
            return Err(Usage(format!(
                "'{}' is no server of gRPC; for example grpc://{}",
                url.text, url.authority
            ))
            .into());
        }
        let tls = self.secure.tls_for(&url, machine)?;
        let proxy = self.secure.proxy_for(&url);
        let near = self.secure.proxy().map_or(&url, |proxy| &proxy.url);
        let addresses = match self.schema.given() {
            Some(_) => Vec::new(),
            None => {
                let found = WayOptions::default().find(&near.host, near.port, machine);
                found.map_err(|error| Refusal::NoAddress(error.to_string()))?.1
            }
        };
        let way = (tls.as_ref(), proxy.as_ref());
        let reach = Reach::of((&addresses, &url.authority), way, self.timeout.0);
        let headers = self.headers.iter().map(|header| header.0.clone()).collect();
        let reach = Reach { headers, symbols, ..reach };
        let schema = schema(&self.schema, &reach, machine)?;
        schema.ok_or_else(|| "no server is asked here".into())
    }
}

/// The metadata of the calls of a load.
fn metadata(options: &Options, machine: &dyn Machine) -> Result<Vec<(String, String)>, Usage> {
    let all = options.headers.iter().cloned().chain(auth::header(options, machine)?);
    Ok(all.map(|header| header.0).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deadline_is_never_earlier_than_asked() {
        for (ns, text) in [
            (1, "1n"),
            (99_999_999, "99999999n"),
            (100_000_001, "100001u"),
            (500_000_000, "500000u"),
            (250_000_000_000, "250000m"),
            (3_600_000_000_000, "3600000m"),
            (u64::MAX, "99999999S"),
        ] {
            assert_eq!(timeout(ns), text, "{ns}");
        }
    }
}
