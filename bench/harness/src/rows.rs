//! The rows of the table, with the bounds for `ceiling`.

use super::bounds::{Bound, Measure};
use super::contender::{Contender, Driver, Ours};
use super::install::Peers;
use super::load::{Protocol, Reuse, Transport};
use super::peers::{Depth, PEERS};

/// The server of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    Fasthttp,
    /// net/http with TLS, and with session tickets or without.
    NethttpTls(Tickets),
    Sink,
    /// A server of both versions of HTTP on one port, with TLS or without.
    H2o(Transport),
    /// grpc-go.
    Grpc,
    /// The responder of the floor, so that the server is not the wall.
    Floor,
    /// No server: the null driver makes the responses.
    None,
}

/// Whether a server lets a client resume an earlier TLS session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tickets {
    Offered,
    /// Each handshake is a full one, whatever the client supports.
    Off,
}

/// The network between client and server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    Loopback,
    /// Two network namespaces, each with its own CPU for receiving.
    Veth,
}

/// The figure that is divided by the requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Figure {
    /// User and kernel time of the client's process and its children.
    ProcessCpu,
    /// All time in which the client's CPU was not idle.
    WholeCpu,
}

/// One row.
pub struct Row {
    pub name: &'static str,
    pub title: &'static str,
    pub target: Target,
    pub path: &'static str,
    pub connections: u32,
    pub depth: u32,
    pub transport: Transport,
    pub protocol: Protocol,
    pub reuse: Reuse,
    pub place: Place,
    pub figure: Figure,
    /// The driver of the bounds: what `--driver auto` chooses on a kernel that has it.
    pub driver: Driver,
    /// Pauses of `--coalesce` to measure, microseconds.
    pub coalesce_us: &'static [u32],
    pub bounds: &'static [Bound],
}

const SIMPLE: Row = Row {
    name: "depth-1",
    title: "fasthttp /simple, 50 connections, depth 1",
    target: Target::Fasthttp,
    path: "/simple",
    connections: 50,
    depth: 1,
    transport: Transport::Tcp,
    protocol: Protocol::Http1,
    reuse: Reuse::Kept,
    place: Place::Loopback,
    figure: Figure::ProcessCpu,
    driver: Driver::Uring,
    coalesce_us: &[],
    bounds: &[],
};

const VETH: Row = Row {
    target: Target::Floor,
    place: Place::Veth,
    figure: Figure::WholeCpu,
    coalesce_us: &[50, 100, 200],
    ..SIMPLE
};

const CHURN: Row = Row {
    name: "churn",
    title: "fasthttp /simple, 50 at a time, a connection for each request",
    reuse: Reuse::Closed,
    ..SIMPLE
};

const TLS: Row = Row {
    name: "tls-1",
    title: "net/http /simple over TLS, 50 connections, depth 1",
    target: Target::NethttpTls(Tickets::Offered),
    transport: Transport::Tls,
    ..SIMPLE
};

const NULL: Row = Row {
    target: Target::None,
    path: "",
    driver: Driver::Null,
    bounds: &[Bound::at_least(Measure::RequestsPerCpuSecond, 10e6)],
    ..SIMPLE
};

const HTTP2: Row = Row {
    name: "h2-1",
    title: "h2o /simple over HTTP/2, 50 connections, one stream each",
    target: Target::H2o(Transport::Tcp),
    protocol: Protocol::Http2,
    ..SIMPLE
};

const GRPC: Row = Row {
    name: "grpc-1",
    title: "grpc-go shop.Catalog/Read, 50 connections, one call each",
    target: Target::Grpc,
    path: "/shop.Catalog/Read",
    protocol: Protocol::Grpc,
    ..SIMPLE
};

/// Every row, in the order of the table. Memory is not divided by requests and has its own file.
pub const ROWS: &[Row] = &[
    Row {
        coalesce_us: &[50, 100, 200],
        bounds: &[
            Bound::at_most(Measure::CostOverFloor, 1.10),
            Bound::at_most(Measure::CostOver("wrk"), 0.92),
            Bound::at_most(Measure::CostOver("oha"), 0.75),
            Bound::at_most(Measure::CostOver("autocannon"), 0.55),
        ],
        ..SIMPLE
    },
    Row {
        name: "depth-100",
        title: "fasthttp /simple, 50 connections, depth 100",
        depth: 100,
        bounds: &[
            Bound::at_most(Measure::CostOverFloor, 1.25),
            Bound::at_most(Measure::CostOver("wrk"), 0.85),
            Bound::at_most(Measure::CostOver("autocannon"), 0.06),
            Bound::at_most(Measure::UserShareOver("wrk"), 0.50),
        ],
        ..SIMPLE
    },
    Row {
        name: "read",
        title: "fasthttp /read (4.5 KB), 50 connections, depth 1",
        path: "/read",
        bounds: &[
            Bound::at_most(Measure::CostOverFloor, 1.10),
            Bound::at_most(Measure::CostOver("wrk"), 0.95),
        ],
        ..SIMPLE
    },
    Row {
        name: "veth-1",
        title: "floor responder over veth, 50 connections, depth 1, whole client CPU",
        bounds: &[Bound::at_most(Measure::CostOver("wrk"), 0.60)],
        ..VETH
    },
    Row {
        name: "veth-16",
        title: "floor responder over veth, 50 connections, depth 16, whole client CPU",
        depth: 16,
        bounds: &[Bound::at_most(Measure::CostOver("wrk"), 0.50)],
        ..VETH
    },
    CHURN,
    TLS,
    Row {
        name: "tls-churn-full",
        title: "net/http /simple over TLS without tickets, 50 at a time, a connection for each \
                request and each handshake a full one",
        target: Target::NethttpTls(Tickets::Off),
        reuse: Reuse::Closed,
        ..TLS
    },
    Row {
        name: "tls-churn-resumed",
        title: "net/http /simple over TLS with tickets, 50 at a time, a connection for each \
                request; clients may resume their sessions",
        reuse: Reuse::Closed,
        ..TLS
    },
    Row { bounds: &[Bound::at_most(Measure::CostOverHttp1, 1.05)], ..HTTP2 },
    Row {
        name: "h2-32",
        title: "h2o /simple over HTTP/2, 50 connections, 32 streams each",
        depth: 32,
        bounds: &[Bound::at_most(Measure::CostOver("h2load"), 0.30)],
        ..HTTP2
    },
    Row {
        name: "h2-100",
        title: "h2o /simple over HTTP/2, 50 connections, 100 streams each",
        depth: 100,
        bounds: &[Bound::at_most(Measure::CostOver("h2load"), 0.30)],
        ..HTTP2
    },
    Row {
        name: "tls-h2-1",
        title: "h2o /simple over HTTP/2 and TLS, 50 connections, one stream each",
        target: Target::H2o(Transport::Tls),
        transport: Transport::Tls,
        ..HTTP2
    },
    GRPC,
    Row {
        name: "grpc-32",
        title: "grpc-go shop.Catalog/Read, 50 connections, 32 calls each",
        depth: 32,
        bounds: &[Bound::at_most(Measure::CostOver("ghz"), 0.05)],
        ..GRPC
    },
    Row { name: "null-1", title: "null driver, 50 connections, depth 1: user code alone", ..NULL },
    Row {
        name: "null-100",
        title: "null driver, 50 connections, depth 100: user code alone",
        depth: 100,
        ..NULL
    },
];

impl Row {
    /// The contender of the bounds.
    pub fn subject(&self) -> Contender {
        Contender::Ceiling(Ours::plain(self.driver))
    }

    /// Our HTTP/1.1 against the server of a row with HTTP/2.
    pub fn with_http1(&self) -> Contender {
        Contender::Ceiling(Ours { is_http1: true, ..Ours::plain(self.driver) })
    }

    /// All contenders, in the order of the table.
    pub fn contenders(&self, peers: &Peers) -> Vec<Contender> {
        if self.target == Target::None {
            return vec![self.subject()];
        }
        let both = [Driver::Uring, Driver::Epoll];
        // The floor keeps its connections, and has neither TLS nor streams.
        let is_plain = self.transport == Transport::Tcp && self.protocol == Protocol::Http1;
        let has_floor = self.reuse == Reuse::Kept && is_plain;
        let floors = both.map(Contender::Floor).into_iter().filter(|_| has_floor);
        let ours = both.map(|driver| Contender::Ceiling(Ours::plain(driver)));
        let coalesced = self.coalesce_us.iter().map(|coalesce_us| {
            Contender::Ceiling(Ours { coalesce_us: *coalesce_us, ..Ours::plain(self.driver) })
        });
        let http1 = (self.protocol == Protocol::Http2).then(|| self.with_http1());
        let others = PEERS.iter().filter(|peer| {
            let is_http1 = self.protocol == Protocol::Http1;
            let is_deep = self.depth == 1 || peer.depth == Depth::Any || !is_http1;
            let can = peer.can(self.protocol, self.transport, self.reuse);
            is_deep && can && peers.has(peer)
        });
        let others = others.map(Contender::Peer);
        floors.chain(ours).chain(http1).chain(coalesced).chain(others).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peers;

    #[test]
    fn names_are_unique_and_bounds_name_existing_peers() {
        for (index, row) in ROWS.iter().enumerate() {
            assert!(ROWS[..index].iter().all(|other| other.name != row.name));
            for bound in row.bounds {
                if let Some(name) = bound.measure.peer() {
                    let peer = peers::named(name).expect("a bound names a peer");
                    assert!(peer.can(row.protocol, row.transport, row.reuse), "{}", row.name);
                    let is_deep = row.depth == 1 || row.protocol != Protocol::Http1;
                    assert!(is_deep || peer.depth == Depth::Any, "{}", row.name);
                }
            }
        }
    }

    #[test]
    fn floor_and_ceiling_take_part_with_both_drivers() {
        let names = |row: &Row| {
            let contenders = row.contenders(&Peers::default());
            contenders.iter().map(Contender::name).collect::<Vec<_>>().join(", ")
        };
        let four = "floor uring, floor epoll, ceiling uring, ceiling epoll";
        let coalesced = "ceiling uring +50us, ceiling uring +100us, ceiling uring +200us";
        assert_eq!(names(&ROWS[0]), format!("{four}, {coalesced}"));
        assert_eq!(names(&ROWS[1]), four);
        assert_eq!(names(&CHURN), "ceiling uring, ceiling epoll");
        assert_eq!(names(&TLS), "ceiling uring, ceiling epoll");
        assert_eq!(names(&HTTP2), "ceiling uring, ceiling epoll, ceiling uring http1");
        assert_eq!(names(&GRPC), "ceiling uring, ceiling epoll");
        assert_eq!(names(ROWS.last().unwrap()), "ceiling null");
    }
}
