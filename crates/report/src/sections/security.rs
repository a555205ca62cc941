//! TLS and the proxy: the negotiated parameters, and the results of handshakes and tunnels.

use crate::page::{Column, Fact, Table};
use crate::wording::{count, mark_of, ns, or_dash, point_heading, point_mark};
use model::run::{Point, Run};
use model::tls::{Resumption, TlsCause, TlsInfo, Trust};

/// What a handshake before the load negotiated, and the proxy.
pub fn facts(run: &Run) -> Vec<Fact> {
    let target = &run.record.target;
    let mut facts = Vec::new();
    if let Some(tls) = &target.tls {
        facts.push(Fact::new("TLS", agreed(tls)));
        let kernel = tls.ktls.kernel.as_deref().unwrap_or("was not asked");
        let by = if tls.ktls.used { "kernel" } else { "user space" };
        facts.push(Fact::new("Encrypted by", format!("{by}; kTLS: {kernel}")));
    }
    facts.extend(target.proxy.as_ref().map(|proxy| Fact::new("Proxy", proxy.clone())));
    facts
}

fn agreed(tls: &TlsInfo) -> String {
    let mut parts = vec![tls.version.clone(), tls.cipher.clone()];
    parts.extend(tls.group.clone());
    parts.push(match &tls.alpn {
        Some(name) => format!("ALPN {name}"),
        None => "no ALPN".to_string(),
    });
    let name = &tls.server_name;
    parts.push(match &tls.trust {
        Trust::SystemRoots => format!("{name} verified with the authorities of this system"),
        Trust::File(path) | Trust::Sent { file: path, .. } => {
            format!("{name} verified with the authorities in {path}")
        }
        Trust::Anything => "certificate not verified".to_string(),
    });
    if tls.client_certificate_asked {
        parts.push("client certificate requested".to_string());
    }
    parts.push(match tls.resumption {
        Resumption::On => "resumption on".to_string(),
        Resumption::Off => "resumption off".to_string(),
        Resumption::FullEvery(every) => format!("full handshake every {every} connections"),
    });
    parts.join(", ")
}

/// Handshakes and tunnels of each point; nothing for a run with neither.
pub fn handshakes(run: &Run, points: &[&Point]) -> Option<Table> {
    let is_tls = points.iter().any(|point| point.connections.handshakes.handshakes.is_some());
    let is_proxy =
        points.iter().any(|point| point.connections.handshakes.tunnels_refused.is_some());
    if !is_tls && !is_proxy {
        return None;
    }
    let failures = |point: &Point, cause: &str| {
        let failures = point.connections.handshakes.handshake_failures.as_ref();
        failures.map(|failures| failures.get(cause).copied().unwrap_or(0))
    };
    let occurred = |cause: &&str| points.iter().any(|p| failures(p, cause).unwrap_or(0) > 0);
    let causes: Vec<&str> =
        TlsCause::ALL.iter().map(|cause| cause.name()).filter(occurred).collect();
    let mut columns = vec![Column::numbers(point_heading(run))];
    if is_tls {
        let titles = ["handshakes", "resumed", "p50 to shake", "max to shake"];
        columns.extend(titles.map(Column::numbers));
    }
    columns.extend(causes.iter().map(|cause| Column::numbers(cause)));
    if is_proxy {
        columns.extend(["tunnels refused", "last status"].map(Column::numbers));
    }
    let mut table = Table::new(columns).caption(if is_tls { "TLS handshakes" } else { "Tunnels" });
    for point in points {
        let info = &point.connections.handshakes;
        let mut cells = vec![point_mark(point)];
        if is_tls {
            cells.extend([or_dash(info.handshakes, count), resumed(point)]);
            let times = info.handshake_ns.as_ref();
            cells.extend([times.and_then(|t| t.p50), times.and_then(|t| t.max)].map(ns));
        }
        cells.extend(causes.iter().map(|cause| or_dash(failures(point, cause), count)));
        if is_proxy {
            cells.push(or_dash(info.tunnels_refused, count));
            cells.push(or_dash(info.tunnel_status, |status| status.to_string()));
        }
        table.push(mark_of(run, point), cells);
    }
    Some(table)
}

/// Share of handshakes that resumed a session.
fn resumed(point: &Point) -> String {
    let info = &point.connections.handshakes;
    match (info.resumed, info.handshakes) {
        (Some(resumed), Some(all @ 1..)) => format!("{:.0} %", resumed as f64 / all as f64 * 100.0),
        _ => "-".to_string(),
    }
}
