//! C2: one worker thread of the generator is saturated while its host has CPU to spare.
//!
//! Rule: a worker ran or waited for more than 95 % of the window while the CPUs it may use are
//! busy for less than 90 %, or are more than there are workers. Our workers sleep when nothing is
//! left to do, so one that never sleeps always had work queued.
//! Mimics: K4 on the client (receive work charged to the thread).
//! Confirm: the same load on twice the threads raises the rate by more than 15 %.

use super::{Family, Seen, Test};
use crate::case::{Case, HOT, Host, percent};

pub fn test(case: &Case<'_>) -> Test {
    let (Some(hottest), Some(load)) = (case.hottest_worker(), case.worker_load()) else {
        return Test::Untested;
    };
    let allowed = case.client_cpus();
    let has_spare_cpus = (case.trial.threads as usize) < allowed.len()
        || case.busy(Host::Client, &allowed).is_none_or(|busy| busy < 0.90);
    if load < HOT || !has_spare_cpus {
        return Test::NotSeen;
    }
    let mut seen = Seen::default()
        .with(
            Family::ThreadStates,
            "client",
            "schedstat",
            &format!("on-CPU share of {}", hottest.name),
            percent(hottest.run),
            "with waiting over 95 %",
        )
        .with(
            Family::QueueLocation,
            "client",
            "schedstat",
            &format!("share in which {} slept: work was always queued", hottest.name),
            percent((1.0 - load).max(0.0)),
            "under 5 %",
        );
    if let Some(workers) = case.workers().filter(|workers| workers.len() > 1) {
        let calm = workers.iter().filter(|worker| worker.wanted() < 0.8).count();
        if calm > 0 {
            seen.against.push(format!("{calm} other workers have slack: uneven connections?"));
        }
    }
    let threads = (case.trial.threads * 2).min(case.host.cpus_online.len() as u32);
    let step = if threads > case.trial.threads {
        format!("use more threads: -t {threads}")
    } else {
        "use a host with more CPUs for the generator".to_string()
    };
    Test::Seen(seen.next(step))
}

#[cfg(test)]
mod tests {
    use crate::fixture::Fixture;
    use crate::walls::Test;

    #[test]
    fn one_hot_worker_on_an_idle_host_is_seen() {
        let mut fixture = Fixture::good();
        fixture.trial.threads = 1;
        fixture.worker(0.98, 0.01);
        let Test::Seen(seen) = super::test(&fixture.case()) else { panic!("not seen") };
        assert!(seen.families() == 2 && seen.next[0].contains("-t 2"), "{seen:?}");
        fixture.worker(0.80, 0.01);
        assert_eq!(super::test(&fixture.case()), Test::NotSeen);
    }

    #[test]
    fn without_thread_readings_it_is_untested() {
        let mut fixture = Fixture::good();
        fixture.observed.client_threads = None;
        assert_eq!(super::test(&fixture.case()), Test::Untested);
    }
}
