//! Two simple rules in common use; the judge must do better.

use crate::rejudge::best;
use model::reading::Data;
use model::run::{Point, Run};
use model::verdict::Named;
use model::wall::WallId;
use observe::{CpuShare, Observed, QuotaShare, Raw, ThreadShare};

/// Definition of the first rule, for the table.
pub const HIGHEST: &str = "B1, highest utilisation wins: of client CPUs (C1), hottest client \
    thread (C2), server CPUs (S1), hottest server thread (S2), link by its nominal speed (K8), \
    descriptors of client (C8) and server (K3), the one used most is named.";

/// Definition of the second rule, for the table.
pub const CHECKLIST: &str = "B2, checklist, first match: descriptors > 90 % (K3, C8); more than \
    one ListenOverflow per second (K1); quota throttles in > 25 % of periods (S3, C1); failed \
    requests > 1 % (M4); link > 90 % of its nominal speed (K8); retransmits > 1 % of segments \
    (N2); server CPUs > 85 % (S1); client CPUs > 85 % (C1); else nothing is wrong (none).";

/// The speed that virtual devices report, which simple tools take as true.
const NOMINAL_BITS_PER_SECOND: f64 = 10e9;

/// Utilisations of a point, from 0 to 1; 0 without a reading.
struct Used {
    client_cpus: f64,
    client_thread: f64,
    server_cpus: f64,
    server_thread: f64,
    link: f64,
    client_files: f64,
    server_files: f64,
}

/// The wall by the first rule.
pub fn highest(run: &Run) -> Named {
    let Some(point) = best(&run.record) else { return Named::Unknown };
    let observed = Raw::from(run).observed(&run.record, point);
    let used = used(run, point, &observed);
    let candidates = [
        (used.client_cpus, WallId::C1),
        (used.client_thread, WallId::C2),
        (used.server_cpus, WallId::S1),
        (used.server_thread, WallId::S2),
        (used.link, WallId::K8),
        (used.client_files, WallId::C8),
        (used.server_files, WallId::K3),
    ];
    let highest = candidates.into_iter().max_by(|left, right| left.0.total_cmp(&right.0));
    highest.map_or(Named::Unknown, |(_, wall)| Named::Wall(wall))
}

/// The wall by the second rule.
pub fn checklist(run: &Run) -> Named {
    let Some(point) = best(&run.record) else { return Named::Unknown };
    let observed = Raw::from(run).observed(&run.record, point);
    let used = used(run, point, &observed);
    let far = observed.far.as_deref().unwrap_or(&observed);
    let seconds = point.load.duration_s.max(0.001);
    let tcp = |name: &str| {
        let count = far.tcp.as_ref().and_then(|tcp| tcp.get(name)).copied();
        count.unwrap_or(0) as f64
    };
    let throttled = |quotas: &Option<Vec<QuotaShare>>| {
        quotas.iter().flatten().any(|quota| quota.throttled_periods > 0.25)
    };
    let failed = point.requests.failed as f64 / point.requests.sent.max(1) as f64;
    let checks = [
        (used.server_files > 0.9, WallId::K3),
        (used.client_files > 0.9, WallId::C8),
        (tcp("TcpExt.ListenOverflows") / seconds > 1.0, WallId::K1),
        (throttled(&far.server_quotas), WallId::S3),
        (throttled(&observed.client_quotas), WallId::C1),
        (failed > 0.01, WallId::M4),
        (used.link > 0.9, WallId::K8),
        (tcp("Tcp.RetransSegs") > 0.01 * tcp("Tcp.OutSegs").max(1.0), WallId::N2),
        (used.server_cpus > 0.85, WallId::S1),
        (used.client_cpus > 0.85, WallId::C1),
    ];
    let first = checks.into_iter().find(|(is_so, _)| *is_so);
    first.map_or(Named::None, |(_, wall)| Named::Wall(wall))
}

fn used(run: &Run, point: &Point, observed: &Observed) -> Used {
    let record = &run.record;
    let far = observed.far.as_deref().unwrap_or(observed);
    let busy = |seen: &Observed, allowed: &[u32]| {
        let cpus = seen.cpus.iter().flatten().filter(|share| allowed.contains(&share.cpu));
        let busy: Vec<f64> = cpus.map(CpuShare::busy).collect();
        busy.iter().sum::<f64>() / busy.len().max(1) as f64
    };
    let hottest = |threads: &Option<Vec<ThreadShare>>| {
        threads.iter().flatten().map(|thread| thread.run).fold(0.0, f64::max)
    };
    let files = |files: Option<model::reading::OpenFiles>| {
        files.map_or(0.0, |files| files.open as f64 / files.limit.max(1) as f64)
    };
    let target = &record.target;
    let server = target.server.as_ref().or_else(|| target.probe.as_ref()?.server.as_ref());
    Used {
        client_cpus: busy(observed, &record.host.cpus_allowed),
        client_thread: hottest(&observed.client_threads),
        server_cpus: server.map_or(0.0, |server| busy(far, &server.cpus_allowed)),
        server_thread: hottest(&far.server_threads),
        link: link(run, point),
        client_files: files(observed.client_files),
        server_files: files(far.server_files),
    }
}

/// Share of the nominal speed in the busier direction of the client's links.
fn link(run: &Run, point: &Point) -> f64 {
    let (begin_ns, end_ns) = point.window_ns;
    let inside = run.readings.iter().filter(|one| one.begin_ns >= begin_ns && one.end_ns <= end_ns);
    let bytes = |data: &Data| match data {
        Data::Interfaces(interfaces) => {
            let links = interfaces.iter().filter(|interface| interface.name != "lo");
            let (sent, received): (Vec<u64>, Vec<u64>) =
                links.map(|link| (link.tx_bytes, link.rx_bytes)).unzip();
            Some((sent.iter().sum::<u64>(), received.iter().sum::<u64>()))
        }
        _ => None,
    };
    let seen: Vec<_> = inside.filter_map(|one| Some((one.at_ns(), bytes(&one.data)?))).collect();
    let (Some((from_ns, first)), Some((to_ns, last))) = (seen.first(), seen.last()) else {
        return 0.0;
    };
    let seconds = to_ns.saturating_sub(*from_ns) as f64 / 1e9;
    let most = last.0.saturating_sub(first.0).max(last.1.saturating_sub(first.1));
    if seconds > 0.0 { most as f64 * 8.0 / seconds / NOMINAL_BITS_PER_SECOND } else { 0.0 }
}
