//! Knobs that a program or a person must turn: ceiling predicts and reports each, and changes none.
//!
//! To add one, write its constant with its page above it, a line in [`REGISTRY`](super::REGISTRY),
//! and what it must predict in the table of the test.

use crate::knob::{Act, Knob};
use crate::predict::{self, Count};
use model::tuning::{Prediction, Scope, Signals, TakesEffect};
use model::verdict::Named;
use model::wall::WallId;

/// T13: a listener per worker: SO_REUSEPORT, prefork, number of workers.
///
/// Path: settings of the server.
/// Matters when: one thread that accepts or dispatches is full while CPUs idle (S2, K14).
/// Predicts: at most fullest over mean of the CPUs, less 1; nothing where the network or the
/// generator limits.
/// Risk: uneven shares by hash; connections stuck behind a worker that stalls; a shorter queue for
/// each worker.
/// Verify: as many LISTEN sockets as workers; connections per worker.
/// With: the backlog (T30), which is per listener; choice of the listener (T14).
/// Source: socket(7), SO_REUSEPORT.
pub const LISTENERS: Knob = Knob {
    id: "T13",
    name: "listeners",
    about: "how many threads or processes accept",
    scope: Scope::Process,
    takes_effect: TakesEffect::Restart,
    is_disruptive: false,
    relieves: &[WallId::S2, WallId::K14],
    risk: "uneven shares, and connections stuck behind one worker",
    act: Act::Advice { now: |_| None, advice: "One worker per CPU, each with its own listener." },
    predict: listeners,
};

/// Share of one CPU from which a thread is full.
const THREAD_FULL: f64 = 0.95;

fn listeners(signals: &Signals) -> Prediction {
    let reconsider = "a thread of the server above 95 % of a CPU while others idle (S2)";
    if let Some(nothing) = predict::elsewhere(signals, LISTENERS.relieves, reconsider) {
        return nothing;
    }
    let thread = predict::finite(signals.server.hottest_thread);
    let (Some(thread), Some(busy)) = (thread, predict::mean_busy(signals)) else {
        return predict::unknown("the server's busiest thread, or its CPUs", reconsider);
    };
    let noise = predict::noise(signals);
    let shown = format!(
        "the busiest thread uses {:.0} % of a CPU, CPUs are {:.0} % busy",
        thread * 100.0,
        busy * 100.0
    );
    if thread < THREAD_FULL || busy <= 1e-4 {
        return Prediction::no_effect(noise, shown, reconsider);
    }
    let high = (1.0 / busy - 1.0).max(noise);
    let arithmetic = format!("{shown}: at most 1 / {busy:.3} - 1 = {high:.2}");
    Prediction::bounded(-noise, Some(high), arithmetic, reconsider)
}

/// T14: the listener chosen by the receiving CPU: BPF of SO_REUSEPORT, SO_INCOMING_CPU.
///
/// Path: the server: SO_ATTACH_REUSEPORT_CBPF or SO_INCOMING_CPU on its listeners.
/// Matters when: the server's CPUs limit, a request costs few microseconds, one worker is pinned
/// per CPU with one queue per CPU.
/// Predicts: at most 38 %, which others published for a server of 5 microseconds per request; a
/// larger one measured nothing.
/// Risk: workers that are not in the order of the CPUs send everything to the wrong place.
/// Verify: connections accepted on the CPU of their worker, above 95 %.
/// With: pinned workers (T12), interrupts (T1), XPS (T8); makes RFS (T6) unnecessary.
/// Source: socket(7), SO_INCOMING_CPU; a published account of 1.2 million requests per second.
pub const LISTENER_BY_CPU: Knob = Knob {
    id: "T14",
    name: "listener-by-cpu",
    about: "connections served where their packets arrive",
    scope: Scope::Process,
    takes_effect: TakesEffect::Restart,
    is_disruptive: false,
    relieves: &[WallId::S1, WallId::S2, WallId::K4, WallId::S8],
    risk: "a wrong order of workers sends all to the wrong CPU",
    act: Act::Advice {
        now: |_| None,
        advice: "After pinning one worker and one queue per CPU, choose the listener by the CPU \
            that received the packet.",
    },
    predict: |signals| {
        let reconsider = "CPUs of the server above 95 % with a few microseconds per request";
        let share = predict::share_of_gain(BY_CPU_GAIN);
        let us = predict::finite(signals.server.us_per_request).filter(|us| *us > BY_CPU_US);
        let share = us.map_or(share, |us| share * BY_CPU_US / us);
        let what = "work away from the receiving CPU, at most as published elsewhere";
        predict::work(signals, LISTENER_BY_CPU.relieves, Some(share), what, reconsider)
    },
};

/// Gain that others published, with pinning and XPS together.
const BY_CPU_GAIN: f64 = 0.38;
/// CPU time per request of the published server, microseconds; costlier servers gain less.
const BY_CPU_US: f64 = 6.63;

/// T15: one wake-up per connection: EPOLLEXCLUSIVE, an accept mutex.
///
/// Path: the server: EPOLLEXCLUSIVE when it adds its listener to epoll.
/// Matters when: workers share one listener and more than two wake for each new connection.
/// Predicts: nothing while connections stay; then what a profile says about wake-ups.
/// Risk: connections pile up at the worker that wakes first.
/// Verify: context switches per accepted connection.
/// With: a listener per worker (T13), which makes it unnecessary.
/// Source: epoll_ctl(2), EPOLLEXCLUSIVE.
pub const EXCLUSIVE_WAKEUPS: Knob = Knob {
    id: "T15",
    name: "exclusive-wakeups",
    about: "threads woken per new connection",
    scope: Scope::Process,
    takes_effect: TakesEffect::Restart,
    is_disruptive: false,
    relieves: &[WallId::S1, WallId::S2, WallId::A8],
    risk: "connections pile up at the worker that wakes first",
    act: Act::Advice {
        now: |_| None,
        advice: "With a shared listener add it with EPOLLEXCLUSIVE.",
    },
    predict: |signals| {
        let reconsider = "new connections above 1 % of the requests, and wake-ups in a profile";
        let rates = predict::finite(signals.connection_rate).zip(predict::finite(signals.rate));
        match rates {
            Some((opened, rate)) if opened < rate * 0.01 => {
                let arithmetic =
                    format!("{opened:.0} connections for {rate:.0} requests per second");
                Prediction::no_effect(predict::noise(signals), arithmetic, reconsider)
            }
            _ => predict::work(
                signals,
                EXCLUSIVE_WAKEUPS.relieves,
                None,
                "threads woken in vain",
                reconsider,
            ),
        }
    },
};

/// T30: the backlog that the application asks for in listen().
///
/// Path: the second argument of listen(2): 128, 511 or 1024 by default in common runtimes.
/// Matters when: handshakes overflow the accept queue (K1) and the listener has less than
/// somaxconn.
/// Predicts: nothing until the queue overflows; then what rate times the stall of the acceptor
/// needs, up to the next wall.
/// Risk: longer queues hide a slow acceptor behind latency.
/// Verify: Send-Q of the LISTEN socket, `ss -ltn`, after a restart.
/// With: somaxconn (T29): the smaller one applies.
/// Source: listen(2), ss(8).
pub const LISTEN_BACKLOG: Knob = Knob {
    id: "T30",
    name: "listen-backlog",
    about: "accept queue that the application asks for",
    scope: Scope::Process,
    takes_effect: TakesEffect::Restart,
    is_disruptive: false,
    relieves: &[WallId::K1],
    risk: "a longer queue hides a slow acceptor behind latency",
    act: Act::Advice {
        now: |_| None,
        advice: "Listen with a backlog of rate x the longest stall of the acceptor, at least \
            somaxconn, and start the server again.",
    },
    predict: |signals| {
        let side = &signals.server;
        let held = side.backlog.map_or("its limit".to_string(), |limit| format!("{limit}"));
        let count = Count {
            relieved: LISTEN_BACKLOG.relieves,
            hits: side.accept_overflows,
            what: &format!("handshakes refused with the accept queue at {held}"),
            removes: "their second try a second later",
            reconsider: "ListenOverflows of the server's namespace above 0, Send-Q below somaxconn",
        };
        predict::count(signals, &count)
    },
};

/// T36: how long orphans stay in FIN_WAIT_2, tcp_fin_timeout.
///
/// Path: `/proc/sys/net/ipv4/tcp_fin_timeout`, seconds.
/// Matters when: orphans in FIN_WAIT_2 pile up because peers do not close. It does not shorten
/// TIME_WAIT, which is 60 s in the kernel's source.
/// Predicts: nothing, and no port comes back sooner.
/// Risk: peers that respond late get a reset.
/// Verify: the number of sockets in FIN_WAIT_2.
/// With: ports (T34, T35), which it does not free.
/// Source: Linux Documentation/networking/ip-sysctl.rst, include/net/tcp.h, TCP_TIMEWAIT_LEN.
pub const TCP_FIN_TIMEOUT: Knob = Knob {
    id: "T36",
    name: "tcp-fin-timeout",
    about: "time of orphaned sockets in FIN_WAIT_2",
    scope: Scope::Namespace,
    takes_effect: TakesEffect::Now,
    is_disruptive: false,
    relieves: &[WallId::K13],
    risk: "peers that respond late get a reset",
    act: Act::Advice {
        now: |host| {
            let text = host.text("/proc/sys/net/ipv4/tcp_fin_timeout")?;
            Some(format!("{} s", text.trim()))
        },
        advice: "Leave it. For ports in TIME_WAIT see ip-local-port-range and tcp-tw-reuse.",
    },
    predict: |signals| {
        let reconsider = "thousands of orphans in FIN_WAIT_2 on the server";
        let held = predict::needed(signals.connection_rate, 60.0)
            .map(|held| format!(": {held:.0} sockets at this rate, before and after"));
        let arithmetic =
            format!("TIME_WAIT lasts 60 s whatever this value is{}", held.unwrap_or_default());
        Prediction::no_effect(predict::noise(signals), arithmetic, reconsider)
    },
};

/// T38: connections that stay, keep-alive on both sides.
///
/// Path: settings of client and server: keep-alive, its timeout, requests per connection.
/// Matters when: a new connection per request or few requests (A8): the handshake costs round
/// trips, CPU on both sides, and ports.
/// Predicts: nothing when connections stay; otherwise up to the next wall, usually the largest
/// effect of this group.
/// Risk: a different workload when real clients do not keep their connections.
/// Verify: connections per second fall while requests per second do not.
/// With: ports (T34, T35) and accept queues (T29, T30), which it makes unnecessary to raise.
/// Source: RFC 9112 section 9.3.
pub const KEEP_ALIVE: Knob = Knob {
    id: "T38",
    name: "keep-alive",
    about: "requests per connection",
    scope: Scope::Process,
    takes_effect: TakesEffect::Restart,
    is_disruptive: false,
    relieves: &[WallId::A8],
    risk: "a different workload when real clients close",
    act: Act::Advice {
        now: |_| None,
        advice: "Keep connections on both sides: more requests per connection, a longer idle \
            timeout.",
    },
    predict: |signals| {
        let reconsider = "new connections above 1 % of the requests (A8)";
        let rates = predict::finite(signals.connection_rate).zip(predict::finite(signals.rate));
        let Some((opened, rate)) = rates.filter(|(_, rate)| *rate > 0.0) else {
            return predict::unknown("connections per request", reconsider);
        };
        let shown = format!("{opened:.0} new connections for {rate:.0} requests per second");
        if opened < rate * CHURN {
            return Prediction::no_effect(predict::noise(signals), shown, reconsider);
        }
        // Handshakes cost the generator too, so this can help whichever side is the wall.
        let arithmetic = format!("{shown}: without them up to the next wall");
        Prediction::bounded(-predict::noise(signals), None, arithmetic, reconsider)
    },
};

/// Share of requests that open a connection from which the advice mentions handshakes.
const CHURN: f64 = 0.01;

/// T40: data with the first packet, TCP fast open.
///
/// Path: `/proc/sys/net/ipv4/tcp_fastopen`, bits: 1 client, 2 server; and TCP_FASTOPEN of the
/// listener.
/// Matters when: short connections over a path of more than 5 ms. Rare on a LAN.
/// Predicts: at most one round trip of the time of each new connection.
/// Risk: the first data may arrive twice; some middleboxes on the path drop such SYNs.
/// Verify: TCPFastOpenPassive of /proc/net/netstat grows.
/// With: connections that stay (T38), which make it unnecessary.
/// Source: RFC 7413, Linux Documentation/networking/ip-sysctl.rst.
pub const TCP_FASTOPEN: Knob = Knob {
    id: "T40",
    name: "tcp-fastopen",
    about: "data in the SYN of a connection",
    scope: Scope::Namespace,
    takes_effect: TakesEffect::NewListen,
    is_disruptive: false,
    relieves: &[WallId::N1, WallId::A8],
    risk: "first data may arrive twice; paths that drop such SYNs",
    act: Act::Advice {
        now: |host| Some(host.text("/proc/sys/net/ipv4/tcp_fastopen")?.trim().to_string()),
        advice: "Only for short connections over a long path; both programs must ask for it.",
    },
    predict: tcp_fastopen,
};

/// Round trip from which it is worth the trouble, microseconds.
const LONG_US: f64 = 5_000.0;

fn tcp_fastopen(signals: &Signals) -> Prediction {
    let reconsider = "new connections with a round trip above 5 ms";
    let rates = predict::finite(signals.connection_rate).zip(predict::finite(signals.rate));
    let churn =
        rates.filter(|(_, rate)| *rate > 0.0).map(|(opened, rate)| (opened / rate).min(1.0));
    let rtt_us = predict::finite(signals.rtt_us);
    let (Some(churn), Some(rtt_us)) = (churn, rtt_us) else {
        return predict::unknown("round trip, or connections per request", reconsider);
    };
    if churn < 0.01 || rtt_us < LONG_US {
        let arithmetic = format!(
            "{:.1} % of requests open a connection, a round trip takes {rtt_us:.0} us",
            churn * 100.0
        );
        return Prediction::no_effect(predict::noise(signals), arithmetic, reconsider);
    }
    let saved_us = rtt_us * churn.min(1.0);
    let all_us = signals.p50_ns.map_or(saved_us, |ns| ns as f64 / 1e3) + saved_us;
    let share = Some(saved_us / all_us);
    predict::waiting(
        signals,
        TCP_FASTOPEN.relieves,
        share,
        "is a round trip that it saves",
        reconsider,
    )
}

/// T48: fewer copies: sendfile, zero copy, larger writes, io_uring.
///
/// Path: the application: sendfile(2), MSG_ZEROCOPY, writev(2), io_uring.
/// Matters when: the server's CPUs limit (S1, S2) and copies or system calls are a large share of
/// its profile.
/// Predicts: with m microseconds of copies of c per request, at most c / (c - m) - 1; unknown
/// without a profile.
/// Risk: for responses below about 10 kB zero copy costs more than the copy.
/// Verify: the share of copies in a profile, before and after.
/// With: none.
/// Source: Linux Documentation/networking/msg_zerocopy.rst.
pub const ZERO_COPY: Knob = Knob {
    id: "T48",
    name: "zero-copy",
    about: "copies and system calls per response",
    scope: Scope::Process,
    takes_effect: TakesEffect::Restart,
    is_disruptive: false,
    relieves: &[WallId::S1, WallId::S2, WallId::S8],
    risk: "small responses cost more than their copy",
    act: Act::Advice {
        now: |_| None,
        advice: "Take a profile; where copies or system calls are above a tenth, write more at \
            once or without a copy.",
    },
    predict: |signals| {
        let reconsider = "copies or system calls above 10 % of a profile at a CPU wall";
        let what = "copies and system calls";
        predict::work(signals, ZERO_COPY.relieves, None, what, reconsider)
    },
};

/// T50: audits, seccomp, tracing and packet sockets of other programs.
///
/// Path: `auditctl -s`, seccomp of the container, tracing programs, `/proc/net/packet`.
/// Matters when: the server's CPUs limit and system calls or packets pass through a filter.
/// Predicts: at most what others published for a server of a few microseconds per request:
/// 11 % for audits and seccomp, 6 % for one packet socket; 18 % together.
/// Risk: less security, and a service that stops.
/// Verify: `auditctl -s` has no rules, /proc/net/packet no lines, profiles no filters.
/// With: connection tracking (T49).
/// Source: packet(7), seccomp(2), a published account of 1.2 million requests per second.
pub const WATCHERS: Knob = Knob {
    id: "T50",
    name: "watchers",
    about: "programs that look at every system call or packet",
    scope: Scope::Host,
    takes_effect: TakesEffect::Restart,
    is_disruptive: false,
    relieves: &[WallId::S1, WallId::S2, WallId::K4],
    risk: "security, and services that stop",
    act: Act::Advice {
        now: |host| {
            let sockets = host.text("/proc/net/packet")?.lines().skip(1).count();
            Some(format!("{sockets} packet sockets"))
        },
        advice: "Find who listens to every packet (`ss -0 -p`) and which filters system calls \
            pass; stop those that are not needed.",
    },
    predict: |signals| {
        let reconsider =
            "a CPU of the server above 95 %, and filters or packet sockets in its profile";
        let share = Some(predict::share_of_gain(WATCHERS_GAIN));
        let what = "audits, seccomp and packet sockets, at most as published elsewhere";
        predict::work(signals, WATCHERS.relieves, share, what, reconsider)
    },
};

/// Gains that others published for audits with seccomp, and for a packet socket.
const WATCHERS_GAIN: f64 = 1.11 * 1.06 - 1.0;

/// T53: mitigations of vulnerabilities of the CPU.
///
/// Path: `mitigations=` on the command line of the kernel; reported from
/// `/sys/devices/system/cpu/vulnerabilities/*`.
/// Matters when: the server's CPUs limit and requests are mostly system calls.
/// Predicts: at most 28 %, what others published for a CPU of 2018; newer ones lose far
/// less.
/// Risk: every process of the host may read what it should not. Ceiling never changes it.
/// Verify: the same files after a restart.
/// With: none.
/// Source: Linux Documentation/admin-guide/hw-vuln, a published account of 1.2 million requests per
/// second.
pub const MITIGATIONS: Knob = Knob {
    id: "T53",
    name: "mitigations",
    about: "price of safety in each system call",
    scope: Scope::Host,
    takes_effect: TakesEffect::Reboot,
    is_disruptive: false,
    relieves: &[WallId::S1, WallId::S2, WallId::K4],
    risk: "security of the whole host; never changed by ceiling",
    act: Act::Advice {
        now: |host| {
            let folder = "/sys/devices/system/cpu/vulnerabilities";
            let names = host.names_in(folder);
            let is_on = |name: &&String| {
                let text = host.text(&format!("{folder}/{name}")).unwrap_or_default();
                text.starts_with("Mitigation")
            };
            let on = names.iter().filter(is_on).count();
            (!names.is_empty()).then(|| format!("{on} of {} faults mitigated", names.len()))
        },
        advice: "Leave them on. On a host that runs only a trusted test, compare once \
            without them to know their price.",
    },
    predict: |signals| {
        let reconsider =
            "a CPU of the server above 95 %, with requests that are mostly system calls";
        let share = Some(predict::share_of_gain(MITIGATIONS_GAIN));
        let what = "mitigations, at most as published for a CPU of 2018";
        predict::work(signals, MITIGATIONS.relieves, share, what, reconsider)
    },
};

/// Gain that others published, on a CPU of 2018.
const MITIGATIONS_GAIN: f64 = 0.28;

/// T59: CPUs that the kernel leaves alone: nohz_full, isolcpus, rcu_nocbs.
///
/// Path: the command line of the kernel; reported from `/proc/cmdline`.
/// Matters when: kernel threads on the server's CPUs make its tail latency jitter. It does not move
/// a rate that CPUs do not limit.
/// Predicts: at most the share of the time in which threads waited for a CPU.
/// Risk: the scheduler puts no load on isolated CPUs: everything must be pinned.
/// Verify: `/sys/devices/system/cpu/isolated`, `nohz_full`; interrupts of the timer per CPU.
/// With: placement of the server (T12).
/// Source: Linux Documentation/admin-guide/kernel-parameters.rst.
pub const ISOLATED_CPUS: Knob = Knob {
    id: "T59",
    name: "isolated-cpus",
    about: "CPUs without ticks and foreign threads",
    scope: Scope::Host,
    takes_effect: TakesEffect::Reboot,
    is_disruptive: false,
    relieves: &[WallId::S1, WallId::S2, WallId::S6],
    risk: "isolated CPUs get no threads by themselves",
    act: Act::Advice {
        now: |host| {
            let line = host.text("/proc/cmdline")?;
            let is_one = |word: &&str| {
                ["nohz_full=", "isolcpus=", "rcu_nocbs="].iter().any(|name| word.starts_with(name))
            };
            let found: Vec<&str> = line.split_whitespace().filter(is_one).collect();
            Some(if found.is_empty() { "none".to_string() } else { found.join(" ") })
        },
        advice: "Only against tail latency from kernel threads; pin the server to the isolated \
            CPUs.",
    },
    predict: |signals| {
        let reconsider = "threads of the server that wait for a CPU above 1 % of the time (S6)";
        let share = signals.server.waiting_share;
        if let Some(nothing) =
            predict::cpus_have_time(signals, reconsider).filter(|_| share.is_some())
        {
            return nothing;
        }
        predict::waiting(
            signals,
            ISOLATED_CPUS.relieves,
            share,
            "its threads waited for a CPU",
            reconsider,
        )
    },
};

/// T60: memory management of the runtime: collector, allocator, workers.
///
/// Path: settings of the server, for example GOGC, GOMEMLIMIT, its allocator, its number of
/// workers.
/// Matters when: the collector takes CPU at a CPU wall, or its pauses stop the whole application
/// (A5).
/// Predicts: with m microseconds of collection of c per request, at most c / (c - m) - 1; unknown
/// without a profile.
/// Risk: memory.
/// Verify: the share of the collector in a profile, before and after.
/// With: limits of the control group (T58), from which runtimes count CPUs.
/// Source: the documentation of the runtime.
pub const RUNTIME: Knob = Knob {
    id: "T60",
    name: "runtime",
    about: "collector and allocator of the server",
    scope: Scope::Process,
    takes_effect: TakesEffect::Restart,
    is_disruptive: false,
    relieves: &[WallId::A5, WallId::S1, WallId::S2],
    risk: "memory",
    act: Act::Advice {
        now: |_| None,
        advice: "Take a profile of the server; where the collector is above a tenth, give it more \
            memory.",
    },
    predict: |signals| {
        let reconsider = "a collector above 10 % of a profile at a CPU wall, or pauses (A5)";
        predict::work(signals, RUNTIME.relieves, None, "garbage collection", reconsider)
    },
};

/// T61: more of the generator: threads, processes, hosts.
///
/// Path: `--threads` of ceiling, more generator hosts.
/// Matters when: the generator is the wall (C1 to C11). Look at it first: while it is the wall, no
/// change of the server shows.
/// Predicts: up to the next wall: by the CPUs of the server at most 1 / busy - 1.
/// Risk: on one host it takes CPUs from the server.
/// Verify: the generator's CPUs below 80 %, the generator delay gone.
/// With: everything else.
/// Source: docs/method.md.
pub const GENERATOR: Knob = Knob {
    id: "T61",
    name: "generator",
    about: "what the load comes from",
    scope: Scope::Process,
    takes_effect: TakesEffect::Restart,
    is_disruptive: false,
    relieves: &[
        WallId::C1,
        WallId::C2,
        WallId::C3,
        WallId::C4,
        WallId::C5,
        WallId::C6,
        WallId::C9,
        WallId::C10,
        WallId::C11,
    ],
    risk: "on one host it takes CPUs from the server",
    act: Act::Advice {
        now: |_| None,
        advice: "Give the generator more threads, more CPUs or a separate host, and measure again \
            before turning anything else.",
    },
    predict: generator,
};

fn generator(signals: &Signals) -> Prediction {
    let reconsider = "a verdict with the generator as wall (C1 to C11)";
    let is_wall =
        matches!(signals.wall, Some(Named::Wall(wall)) if GENERATOR.relieves.contains(&wall));
    if !is_wall && !signals.client_is_wall {
        return predict::only_at(signals, GENERATOR.relieves, "more load", reconsider);
    }
    let noise = predict::noise(signals);
    let busy = predict::mean_busy(signals).filter(|busy| *busy > 1e-4);
    let most = busy.map(|busy| (1.0 / busy - 1.0).max(noise));
    let shown = busy.zip(most).map(|(busy, most)| {
        format!("its server's CPUs are {:.1} % busy: 1 / {busy:.3} - 1 = {most:.1}", busy * 100.0)
    });
    let shown = shown.unwrap_or("the server's CPUs were not measured".to_string());
    let arithmetic =
        format!("the generator was the wall; {shown}, or less if another wall is nearer");
    Prediction::bounded(-noise, most, arithmetic, reconsider)
}

/// T62: several requests in flight on one connection: pipelining, streams.
///
/// Path: settings of the generator and the client.
/// Matters when: never for a comparison: it is a different workload. It moves the packet rate (K9,
/// C6) and the round trip (N1), not the bandwidth.
/// Predicts: up to the next wall where packets or round trips limit; nothing elsewhere.
/// Risk: a figure that no real client reaches.
/// Verify: packets per request fall.
/// With: HTTP/2 needs it.
/// Source: RFC 9112 section 9.3.2, RFC 9113.
pub const PIPELINING: Knob = Knob {
    id: "T62",
    name: "pipelining",
    about: "requests in flight per connection",
    scope: Scope::Process,
    takes_effect: TakesEffect::Restart,
    is_disruptive: false,
    relieves: &[WallId::K9, WallId::C6, WallId::N1, WallId::C3],
    risk: "a figure of a different workload",
    act: Act::Advice {
        now: |_| None,
        advice: "Only where real clients do it; report it as a separate experiment.",
    },
    predict: |signals| {
        predict::only_at(
            signals,
            PIPELINING.relieves,
            "fewer packets and round trips per request, for a different workload",
            "the packet rate or the round trip as wall (K9, C6, N1)",
        )
    },
};

/// T63: fewer bytes per response: compression, smaller bodies.
///
/// Path: settings of the server, bodies of the application.
/// Matters when: a link is full (K8, C5).
/// Predicts: at most the ratio of the bytes, less 1; a price in CPU on both hosts.
/// Risk: a generator that must decompress can lose half of its rate.
/// Verify: bytes per response and link use fall.
/// With: bodies that are compressed once and kept cost the server nothing.
/// Source: RFC 9110 section 8.4.
pub const COMPRESSION: Knob = Knob {
    id: "T63",
    name: "compression",
    about: "bytes per response",
    scope: Scope::Process,
    takes_effect: TakesEffect::Restart,
    is_disruptive: false,
    relieves: &[WallId::K8, WallId::C5],
    risk: "CPU on both hosts; a weak client can halve the rate",
    act: Act::Advice {
        now: |_| None,
        advice: "On a full link send precompressed bodies; elsewhere leave it.",
    },
    predict: |signals| {
        let reconsider = "a link above 95 % of its speed (K8, C5)";
        let Some(bytes) = predict::finite(signals.bytes_per_response) else {
            return predict::unknown("bytes per response", reconsider);
        };
        let body = (bytes - HEAD).max(0.0);
        let ratio = bytes.max(1.0) / (bytes.max(1.0) - body + body / RATIO);
        predict::fewer_bytes(signals, ratio.max(1.0), PRICE, reconsider)
    },
};

/// How much text usually shrinks at best.
const RATIO: f64 = 4.0;
/// Bytes of a response that are never compressed: its head.
const HEAD: f64 = 120.0;
/// Share of the rate that a client that must decompress can lose.
const PRICE: f64 = 0.5;

/// T64: less writing: log level, access logs.
///
/// Path: settings of the server.
/// Matters when: lines per request cost CPU at a CPU wall, or a lock or a disk behind them limits
/// (A10).
/// Predicts: with m microseconds of writing of c per request, at most c / (c - m) - 1; unknown
/// without a profile.
/// Risk: less is known when something breaks.
/// Verify: lines per second, the share of writing in a profile.
/// With: storage (A6).
/// Source: the documentation of the server.
pub const LOGGING: Knob = Knob {
    id: "T64",
    name: "logging",
    about: "lines written per request",
    scope: Scope::Process,
    takes_effect: TakesEffect::Restart,
    is_disruptive: false,
    relieves: &[WallId::A10, WallId::S1, WallId::S2],
    risk: "less is known when something breaks",
    act: Act::Advice {
        now: |_| None,
        advice: "Run once with access logs off; where that moves the rate, write in batches or \
            sample.",
    },
    predict: |signals| {
        let reconsider = "writing above 10 % of a profile at a CPU wall (A10)";
        predict::work(signals, LOGGING.relieves, None, "writing of logs", reconsider)
    },
};
