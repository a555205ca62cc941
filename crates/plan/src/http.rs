//! Which version of HTTP is spoken, and what does not go with HTTP/2.

use crate::options::{HttpText, Options};
use crate::shape::Shape;
use crate::url::{Scheme, Url};
use crate::usage::Usage;
use crate::values::Window;
use model::load::{HttpChoice, Question};

/// The version as requested, where the rest of the load can be made with it.
pub fn choice(options: &Options, url: &Url, shape: &Shape) -> Result<HttpChoice, Usage> {
    let (choice, typed) = match options.http {
        Some(HttpText::One) if url.scheme.is_grpc() => {
            return Err("--http 1: gRPC needs HTTP/2; leave it out".into());
        }
        _ if url.scheme.is_grpc() => (HttpChoice::Two, "gRPC"),
        _ if options.http2_prior_knowledge => (HttpChoice::Two, "--http2-prior-knowledge"),
        None | Some(HttpText::One) => return Ok(HttpChoice::One),
        Some(HttpText::Two) => (HttpChoice::Two, "--http 2"),
        // Without TLS the server is not asked.
        Some(HttpText::Auto) if url.scheme != Scheme::Https => return Ok(HttpChoice::One),
        Some(HttpText::Auto) => (HttpChoice::Auto, "--http auto"),
    };
    if choice == HttpChoice::Auto && options.fleet.is_given() {
        let text = "--http auto: agents of a fleet could agree on different versions with the \
                    server; give --http 1 or --http 2";
        return Err(text.into());
    }
    if url.scheme == Scheme::Tcp {
        return Err(Usage(format!("{typed}: a tcp URL is for bare connections; use an http URL")));
    }
    match obstacle(options, url, shape) {
        Some((what, way_out)) => Err(Usage(format!("{typed}: {what} not possible yet; {way_out}"))),
        None => Ok(choice),
    }
}

/// The window that was asked for, which HTTP/1.1 does not have.
pub fn window(options: &Options, url: &Url, shape: &Shape) -> Result<Option<u32>, Usage> {
    let Some(Window(bytes)) = options.window else { return Ok(None) };
    match choice(options, url, shape)? {
        HttpChoice::Two => Ok(Some(bytes)),
        HttpChoice::One | HttpChoice::Auto => Err(Usage(
            "--window: HTTP/1.1 has no window of its own; give --http 2, or leave it out".into(),
        )),
    }
}

/// What keeps a load from HTTP/2, and the way out.
fn obstacle(options: &Options, url: &Url, shape: &Shape) -> Option<(&'static str, &'static str)> {
    let proxy = options.secure.proxy_for(url);
    let rules = [
        (
            shape.question == Question::Fanout && url.scheme.is_grpc(),
            "a fan-out of calls is",
            "ceiling load, ramp, find and churn make calls",
        ),
        (
            proxy.is_some_and(|proxy| !proxy.tunnels()),
            "a proxy that reads requests is",
            "give --proxy-tunnel, or leave --proxy out",
        ),
        (
            options.retry_unprocessed.is_some(),
            "requests that are sent again are",
            "leave --retry-unprocessed out",
        ),
    ];
    rules.into_iter().find(|(is, ..)| *is).map(|(_, what, way_out)| (what, way_out))
}
