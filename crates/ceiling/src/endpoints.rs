//! Options about the way to the target: where connections go to and come from.

use clap::Args;
use lab::endpoints::{ConnectTo, Given, Sources, Ways};
use std::path::PathBuf;

/// Instead of what the URL's host and port resolve to, and from where.
#[derive(Debug, Args)]
pub struct WayOptions {
    /// Local addresses to connect from, in turn; auto takes as many loopback ones as the
    /// connections need ports
    #[arg(long, value_name = "A,B,CIDR|auto", value_parser = source)]
    source: Option<Sources>,

    /// Connect to another host and port than those of the URL; empty ones match or keep any;
    /// repeatable
    #[arg(long, value_name = "HOST1:PORT1:HOST2:PORT2", value_parser = connect_to)]
    connect_to: Vec<ConnectTo>,

    /// Addresses of a host (* is any) and port, instead of asking the resolver; repeatable
    #[arg(long, value_name = "HOST:PORT:ADDR[,ADDR]", value_parser = given)]
    resolve: Vec<Given>,

    /// Connect to a unix socket; the URL gives Host header and path
    #[arg(long, value_name = "PATH", conflicts_with_all = ["source", "connect_to", "resolve"],
          value_parser = unix_socket)]
    unix_socket: Option<PathBuf>,
}

impl WayOptions {
    /// What was said.
    pub fn ways(&self) -> Ways {
        Ways {
            connect_to: self.connect_to.clone(),
            given: self.resolve.clone(),
            unix_socket: self.unix_socket.clone(),
            sources: self.source.clone(),
        }
    }
}

fn source(text: &str) -> Result<Sources, String> {
    Sources::parse(text).ok_or_else(|| {
        format!(
            "'{text}' is not a list of at most {} local addresses or nets, or auto; for example \
             127.0.0.1,127.0.0.2 or 127.0.0.0/28",
            lab::ports::SOURCES_MAX
        )
    })
}

fn connect_to(text: &str) -> Result<ConnectTo, String> {
    ConnectTo::parse(text).ok_or_else(|| {
        format!(
            "'{text}' is not HOST1:PORT1:HOST2:PORT2, each part of which may be empty; for example \
             example.test:80:127.0.0.1:8083"
        )
    })
}

fn given(text: &str) -> Result<Given, String> {
    Given::parse(text).ok_or_else(|| {
        format!(
            "'{text}' is not HOST:PORT:ADDR[,ADDR]; for example example.test:80:127.0.0.1,[::1]"
        )
    })
}

/// The kernel takes 108 bytes with the zero at the end, see unix(7).
fn unix_socket(text: &str) -> Result<PathBuf, String> {
    if (1..108).contains(&text.len()) {
        return Ok(PathBuf::from(text));
    }
    Err(format!(
        "'{text}' is not a path of 1 to 107 bytes, as the kernel takes it; for example \
         /run/server.sock"
    ))
}
