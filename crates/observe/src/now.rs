//! A host in the last second, for the live view.

use crate::cpus::CpuShare;
use crate::hosts::{SideHost, counted};
use crate::network::{InterruptUse, LinkUse};
use model::figure::{Figure, OfHost};
use model::host_now::{CpuNow, HostNow, InterruptsNow, LinkNow, STATES_SHOWN};

/// Most interfaces, queues and letters of a name that are shown: the value is sent often.
const LINKS_MAX: usize = 4;
const QUEUES_MIN: usize = 4;
const LETTERS_MAX: usize = 24;

impl SideHost<'_> {
    /// What is shown of it while the run goes on; whose hosts it is follows.
    pub fn now(&self) -> HostNow {
        let seen = self.seen;
        let shown = OfHost::SHOWN_MEANWHILE.map(|of| Figure::Host(of, self.whose));
        let mut figures = self.figures();
        figures.retain(|figure, _| shown.contains(figure));
        figures.values_mut().for_each(|value| *value = short(*value));
        let cpus = seen.cpus.as_deref();
        let queues_max = cpus.map_or(0, <[CpuShare]>::len).max(QUEUES_MIN);
        HostNow {
            sides: Vec::new(),
            figures,
            cpus: cpus.map(|cpus| cpus.iter().map(cpu_now).collect()),
            links: seen.links.as_deref().map(|links| self.links_now(links)),
            interrupts: seen.interrupts.as_deref().map(|all| interrupts_now(all, queues_max)),
        }
    }

    /// The busiest interfaces of those that moved anything.
    fn links_now(&self, links: &[LinkUse]) -> Vec<LinkNow> {
        let capacities = self.capacities();
        let moved = |link: &&LinkUse| link.rx_bytes_s + link.tx_bytes_s;
        let mut moving: Vec<&LinkUse> = links.iter().filter(|link| moved(link) > 0.0).collect();
        moving.sort_by(|left, right| moved(right).total_cmp(&moved(left)));
        let now = |link: &LinkUse| {
            let capacity = capacities.iter().find(|capacity| capacity.link.name == link.name);
            LinkNow {
                name: link.name.chars().take(LETTERS_MAX).collect(),
                received: counted(link.rx_bytes_s, link.rx_packets_s).round(),
                sent: counted(link.tx_bytes_s, link.tx_packets_s).round(),
                shares: capacity.and_then(|of| Some([short(of.received()?), short(of.sent()?)])),
            }
        };
        moving.into_iter().take(LINKS_MAX).map(now).collect()
    }
}

/// A value with the digits that are shown.
fn short(value: f64) -> f64 {
    let scale = if value.abs() < 1.0 { 1e4 } else { 1e1 };
    (value * scale).round() / scale
}

fn cpu_now(of: &CpuShare) -> CpuNow {
    let all = of.shares.by_state();
    let percent = |state: usize| (100.0 * all[state]).round().clamp(0.0, 100.0) as u8;
    (of.cpu, std::array::from_fn::<u8, STATES_SHOWN, _>(percent))
}

fn interrupts_now(all: &[InterruptUse], queues_max: usize) -> Vec<InterruptsNow> {
    let mut busy: Vec<&InterruptUse> = all.iter().filter(|one| one.per_s > 0.0).collect();
    busy.sort_by(|left, right| right.per_s.total_cmp(&left.per_s));
    let name = |one: &InterruptUse| -> String {
        let name = if one.device.is_empty() { &one.irq } else { &one.device };
        name.chars().take(LETTERS_MAX).collect()
    };
    let busiest = busy.into_iter().take(queues_max);
    busiest.map(|one| (name(one), short(one.per_s))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Observed;
    use crate::hosts::Carrier;
    use model::figure::Whose;

    /// What moves most comes first, in whatever direction; what does not move is left out.
    #[test]
    fn the_busiest_interfaces_and_queues_are_shown() {
        let link = |name: &str, rx_bytes_s, tx_bytes_s| LinkUse {
            name: name.to_string(),
            rx_bytes_s,
            tx_bytes_s,
            ..LinkUse::default()
        };
        let queue = |device: &str, per_s| InterruptUse {
            device: device.to_string(),
            per_s,
            ..InterruptUse::default()
        };
        let all = [("a", 1.0, 2.0), ("idle", 0.0, 0.0), ("b", 3.0, 4.0), ("c", 0.0, 9.0)];
        let queues = [("q0", 5.0), ("q1", 0.0), ("q2", 7.0), ("q3", 6.0), ("q4", 1.0), ("q5", 2.0)];
        let seen = Observed {
            links: Some(all.map(|(name, rx, tx)| link(name, rx, tx)).to_vec()),
            interrupts: Some(queues.map(|(name, per_s)| queue(name, per_s)).to_vec()),
            ..Observed::default()
        };
        let host = SideHost {
            whose: Whose::Client,
            seen: &seen,
            nics: &[],
            stated: None,
            carrier: Carrier::Outward,
            parent: None,
        };
        let now = host.now();
        let links: Vec<_> = now.links.unwrap().into_iter().map(|link| link.name).collect();
        assert_eq!(links, ["c", "b", "a"]);
        let queues: Vec<_> = now.interrupts.unwrap().into_iter().map(|(name, _)| name).collect();
        assert_eq!(queues, ["q2", "q3", "q0", "q5"], "no more than there is room for");
    }
}
