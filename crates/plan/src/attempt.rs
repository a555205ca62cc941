//! `ceiling try`: what is tried once, and the way to its server.

use crate::auth;
use crate::calls::Reach;
use crate::endpoints::WayOptions;
use crate::flows::{FlowValues, Written};
use crate::machine::Machine;
use crate::options::HttpText;
use crate::secure::Secure;
use crate::url::{Scheme, Url, is_url, with_scheme};
use crate::usage::{Refusal, Usage};
use crate::values::{Body, Header, Method, Seed, Time, TokenFile, TryText, VariableName};
use clap::Args;
use flow::Flow;
use model::flow::{Step, Text};
use model::load::HttpChoice;
use model::pass::Mask;
use model::route::Address;
use model::tls::{ProxyChoice, TlsChoice};

/// What is tried once.
#[derive(Debug, Args)]
pub struct Attempt {
    /// A flow, which is a file of Hurl (<https://hurl.dev>) with steps of one user; or a URL
    #[arg(value_name = "FILE|URL")]
    what: TryText,

    #[command(flatten)]
    values: FlowValues,

    /// A header for every request that has none of this name, 'Name: value'; repeatable
    #[arg(short = 'H', long = "header", value_name = "LINE")]
    headers: Vec<Header>,

    /// Send Authorization with the value of this variable of the environment, such as 'Bearer abc'
    #[arg(long, value_name = "NAME", conflicts_with = "bearer_file")]
    auth_env: Option<VariableName>,

    /// Send Authorization: Bearer with the token in this file
    #[arg(long, value_name = "FILE")]
    bearer_file: Option<TokenFile>,

    /// For a URL: the method; POST when there is a body, else GET
    #[arg(short = 'X', long, value_name = "METHOD")]
    method: Option<Method>,

    /// For a URL: the body
    #[arg(short = 'b', long, value_name = "TEXT")]
    body: Option<Body>,

    /// Version of HTTP; auto offers both by ALPN
    #[arg(long, value_name = "1|2|auto", default_value = "1", hide_possible_values = true)]
    http: HttpText,

    /// A step without a complete response within T failed
    #[arg(short = 'T', long, value_name = "T", default_value = "10s")]
    timeout: Time,

    /// Seed of random values in the flow; drawn when not given
    #[arg(long, value_name = "N")]
    seed: Option<Seed>,

    #[command(flatten)]
    ways: WayOptions,

    #[command(flatten)]
    secure: Secure,
}

/// A flow, and everything that is needed to take its steps once.
#[derive(Debug)]
pub struct Tried {
    /// The steps.
    pub flow: Flow,
    /// Where the server may be.
    pub addresses: Vec<Address>,
    /// What requests name as the server.
    pub authority: String,
    /// How connections are encrypted.
    pub tls: Option<TlsChoice>,
    /// The proxy.
    pub proxy: Option<ProxyChoice>,
    /// Version of HTTP.
    pub http: HttpChoice,
    /// A response after this time failed, nanoseconds.
    pub timeout_ns: u64,
    /// Seed of random values.
    pub seed: u64,
    /// What must not be shown.
    pub mask: Mask,
}

impl Tried {
    /// The way to the server.
    pub fn reach(&self) -> Reach<'_> {
        let way = (self.tls.as_ref(), self.proxy.as_ref());
        Reach::of((&self.addresses, &self.authority), way, self.timeout_ns)
    }
}

impl Attempt {
    /// Reads the flow and finds the server; refuses what cannot be tried.
    pub fn resolve(&self, machine: &dyn Machine) -> Result<Tried, Refusal> {
        let text = &self.what.0;
        // A file goes before a host that is called like it.
        let is_file = text.ends_with(".hurl") || machine.read(text).is_ok();
        let (mut flow, secrets) = match text.contains("://") || is_url(text) && !is_file {
            true => (self.single()?, Vec::new()),
            false => self.written(machine)?,
        };
        self.add_headers(&mut flow, machine)?;
        let url = Url::typed(&flow.base).map_err(Usage::from)?;
        if !matches!(url.scheme, Scheme::Http | Scheme::Https) {
            let way_out = if url.scheme.is_grpc() { "ceiling grpc describe SERVER" } else { "" };
            return Err(Usage(format!(
                "'{}' is no http or https URL; {}",
                url.text,
                if way_out.is_empty() { "for example http://127.0.0.1:8083/" } else { way_out }
            ))
            .into());
        }
        let tls = self.secure.tls_for(&url, machine)?;
        let proxy = self.secure.proxy_for(&url);
        if proxy.as_ref().is_some_and(|proxy| !proxy.tunnels()) {
            let why = "--proxy: a proxy that reads requests is not possible here; give \
                       --proxy-tunnel";
            return Err(why.into());
        }
        let near = self.secure.proxy().map_or(&url, |proxy| &proxy.url);
        if let Some(why) = self.ways.without_effect(&near.host, near.port) {
            return Err(Usage(why).into());
        }
        let found = self.ways.find(&near.host, near.port, machine);
        let addresses = found.map_err(|error| Refusal::NoAddress(error.to_string()))?.1;
        let http = match self.http {
            HttpText::One => HttpChoice::One,
            HttpText::Two => HttpChoice::Two,
            HttpText::Auto if url.scheme.is_secure() => HttpChoice::Auto,
            HttpText::Auto => HttpChoice::One,
        };
        Ok(Tried {
            flow,
            addresses,
            authority: url.authority,
            tls,
            proxy,
            http,
            timeout_ns: self.timeout.0,
            seed: self.seed.as_ref().map_or_else(|| machine.seed(), |seed| seed.0),
            mask: Mask::of(secrets),
        })
    }

    /// A flow of one step, for a URL.
    fn single(&self) -> Result<Flow, Usage> {
        if let Some(option) = self.values.given() {
            return Err(Usage(format!("{option}: a URL has no variables; leave it out")));
        }
        let url = Url::typed(&with_scheme(&self.what.0)).map_err(Usage::from)?;
        let body = self.body.as_ref().map(|body| body.0.clone().into_bytes()).unwrap_or_default();
        let default = if self.body.is_some() { "POST" } else { "GET" };
        let method = self.method.as_ref().map_or_else(|| default.into(), |one| one.0.clone());
        let scheme = url.scheme.name();
        let path = Text::plain(url.path.clone());
        let step = Step { body: Text::plain(body), ..Step::new(&method, path) };
        Ok(Flow {
            name: url.path.clone(),
            steps: vec![step],
            variables: Vec::new(),
            base: format!("{scheme}://{}", url.authority),
        })
    }

    /// The flow of a file, and the secrets that were given for it.
    fn written(&self, machine: &dyn Machine) -> Result<(Flow, Vec<String>), Refusal> {
        let file = &self.what.0;
        for (is_given, option) in
            [(self.method.is_some(), "--method"), (self.body.is_some(), "--body")]
        {
            if is_given {
                return Err(Usage(format!("{option}: the steps of a flow have their own")).into());
            }
        }
        let Written { flow, secrets } = self.values.read(file, None, machine)?;
        Ok((flow, secrets))
    }

    /// Adds headers of the command line to steps that have none of the same name.
    fn add_headers(&self, flow: &mut Flow, machine: &dyn Machine) -> Result<(), Usage> {
        let asked = (self.auth_env.as_ref(), self.bearer_file.as_ref());
        let headers = self.headers.iter().cloned().chain(auth::of(asked, &self.headers, machine)?);
        headers.for_each(|header| flow.add_header(header.0));
        Ok(())
    }
}
