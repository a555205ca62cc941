//! What each number of the record means. The record contains this text, so that no number is stored
//! without its definition.

use crate::book::of_points;
use model::maps::IntoMap;
use std::collections::BTreeMap;

const DEFINITIONS: &[(&str, &str)] = &[
    (
        "tool",
        "Where another tool made the load (a plan with load.tool): which one, its command line, \
         its exit code, and ran_ns, the monotonic start and end of its process. There are no \
         points then, because a tool does not report most of their counts. Absent where our engine \
         made the load.",
    ),
    (
        "tool.window_ns",
        "The part of ran_ns in which packets flowed, to a fifth of a second: from the first to the \
         last interval between two readings of TCP's counters that has at least a tenth of the \
         received segments per second of the busiest interval. Readings of both hosts are of this \
         window.",
    ),
    (
        "tool.account",
        "What the tool reported (foreign), and for each of its figures the result of the checks of \
         `ceiling audit`: holds, undecided or impossible, with the arithmetic. What it did not \
         report is null.",
    ),
    (
        "tool.rate",
        "Good responses (2xx and 3xx) per second by the tool's own counts: its rate times the \
         share of good ones in all that it counts; for a tool that prints the mean of windows \
         instead, good ones over its duration. null where it does not tell good ones from others.",
    ),
    (
        "tool.cpu",
        "CPU time of the tool's process tree and of the server's, from the threads that the probes \
         saw in window_ns, as a number of CPUs; and the same per response that the tool counted, \
         with any status. What a thread did between the last reading and its end is not included.",
    ),
    ("tool.hosts", "What was read on both hosts in window_ns: as points[].hosts."),
    (
        "tool.gates",
        "The checks of our own runs, as far as they apply to the tool's figures; ok is null where \
         they cannot decide.",
    ),
    (
        "target.resolution",
        "name: host and port that were looked up, once, before load: those of the URL unless \
         --connect-to names others. how: literal (the name is an address), resolver (of the \
         system), given (--resolve) or unix-socket. answers: all addresses found; those that \
         refused or match no --source are not in target.addresses.",
    ),
    (
        "target.addresses_used",
        "Connections established to each address by the workers, over all levels with their \
         warm-ups, reopened ones included.",
    ),
    ("target.sources_used", "The same by local address; empty when the kernel chose it."),
    (
        "target.server.processes",
        "The processes of the server's tree at the start of the run: pid, name, threads, \
         cpus_allowed (of the first thread) and listeners (listening sockets on the port under \
         test that the process holds; several processes can hold the same). null: not readable. At \
         most 1024 processes; pids has all.",
    ),
    (
        "target.server.network",
        "The server's network namespace, where that is not ours: namespace, as the kernel names \
         it; port, on which the server listens there (it differs from the port under test when \
         that is published; null when not known); addresses; and host: interfaces and kernel \
         parameters as seen from there. Readings of source inside were taken in it, and evidence \
         about the server's sockets, interfaces and TCP counters comes from those. Absent where \
         the server shares our namespace.",
    ),
    (
        "target.server.container",
        "The container that the server's control groups belong to: runtime, id, and name by files \
         of the runtime or by its host name; name is null when neither could be read. Absent where \
         the groups belong to no container.",
    ),
    (
        "target.server.passed_on_by",
        "The program on this host that accepts the connections and passes them on to the server, \
         such as docker-proxy. Requests that wait in it cannot be told from those inside the \
         server, so no requests count as inside it. Absent where none was found; a probe on \
         another host does not look for one.",
    ),
    (
        "target.probe",
        "The server's host, read by a probe there (--probe); null without a probe; with one, \
         target.server is null. server: the process tree that listens on the port under test \
         there; null when it was not found. privilege: none (the counters of the host; the server \
         belongs to another user), read-only (the server's own files too) or root. lost: why its \
         readings end before the run; null when they do not.",
    ),
    (
        "target.probe.clock",
        "The probe's monotonic clock minus ours. A ping and its response bound the offset on both \
         sides; the fastest round trip before, during and after the load is kept. offset_ns is the \
         middle between the least and the greatest offset that any of them allows, and error_ns \
         half of that range. A figure of the server's host is taken from readings that lie inside \
         the measured window by more than error_ns; they are kept with that host's own times in \
         server-readings.ndjson. round_trips: how many were timed.",
    ),
    (
        "host.tuned",
        "Values of this host and network namespace that ceiling tune had changed and not put back \
         when the run started: knob, place, wanted (the written value) and now. null: there is no \
         journal of such changes, or it could not be read. During the run they are read twice a \
         second, and when a point has ended (readings of source tuning). A value that is no longer \
         as written, was put back, or was changed only then breaks the gate tuning of the points \
         in whose window that was seen.",
    ),
    (
        "points[].rate",
        "Good responses (status 2xx or 3xx, no failed check) that arrived in the measured window, \
         whenever they were requested, divided by load.duration_s: requests.arrived / \
         load.duration_s, exactly. Responses after the window do not count; responses in it to \
         requests of the warm-up do. Of 1 to 11 good responses the rate is bounded: by the exact \
         95 % interval of a Poisson count, which is wider than from half to twice of it.",
    ),
    (
        "points[].series",
        "Per second of the window. completed: good responses that arrived in it, whenever they \
         were requested; their sum is requests.arrived. failed: requests that failed in it. p50_ns \
         and p99_ns: of requests sent in the window that were completed in that second. status: \
         complete responses that arrived in it by class, 2xx, 3xx, 4xx, 5xx; bytes_received: their \
         bytes; status_codes: those of them to requests of the window, by code; bytes_sent: bytes \
         of the requests sent in it. For subscribers, completed counts events.",
    ),
    (
        "points[].per_100ms",
        "Good responses that arrived in each tenth of a second of the window; their sum is \
         requests.arrived. For devices these are connections established, for subscribers events.",
    ),
    (
        "points[].load.duration_s",
        "Length of the measured window. Open loop: as ordered. Closed loop: from its start to the \
         last instant at which requests were sent. Count-based (-n): from its start to the last \
         outcome of a request: a response with any status, a failure, or no response. Where no \
         duration was given it is ten times the mean latency of the warm-up when that is longer, \
         up to trial.window_max_ns.",
    ),
    (
        "points[].requests",
        "Requests sent in the measured window and their outcome, in it or later: sent = completed \
         + failed + unanswered. completed: whole response with status 2xx or 3xx and no failed \
         check. failed: whole response with another status or a failed check, or an error of \
         class timeout, reset, closed, parse, unsolicited or unprocessed. unanswered: no whole \
         response when the drain ended. The drain lasts at most as long as the time-out (-T) and \
         ends when nothing is in flight, so there are unanswered requests only where it was cut \
         short: the run was interrupted, or they could not change the result of a trial of a \
         search. planned: the number requested (-n), or in open loop the number due in the \
         window; else null. unsent: planned and never sent, so that planned = sent + unsent. \
         waited: sent, but without a free slot when they were due; limited: those of them for \
         which the server allowed too few streams; renewed: those that waited until a lost \
         connection was opened again; the others waited for a slot of the load. arrived: good \
         responses that arrived in the window, those to requests of the warm-up included: the \
         count behind rate, series and per_100ms. early: had a response, with any status, before \
         the kernel had taken the whole request; their service time ends before the request does. \
         cut: those of them that are completed although the connection ended before the rest was \
         sent. retried: sent again because the server had not processed them \
         (--retry-unprocessed): such a request stays in flight, sent counts it once, its one \
         outcome is that of its last send, its latency and its time-out count from its first \
         planned or sent instant, and bytes.sent counts every send. These three, limited and \
         renewed are absent when zero.",
    ),
    (
        "points[].errors",
        "Classes timeout, reset, closed, parse, unsolicited and unprocessed count requests and \
         are part of requests.failed. unsolicited: bytes came before their response that no \
         request had asked for; those behind a malformed response have its class, parse. \
         unprocessed: on a connection that had answered, the server closed or reset it before any \
         byte of the response; or the request was pipelined behind a response that announced the \
         end (RFC 9112, 9.3.1 and 9.6). Text and page tell them apart from failures. Classes \
         connect, tls, ports and fds count connection attempts since the level was ordered and \
         are not requests.",
    ),
    (
        "points[].status",
        "Whole responses by status class. Redirects are not followed: each is one response of \
         class 3xx, and a good one unless a check says otherwise.",
    ),
    (
        "points[].mismatched",
        "Responses with a good status (below 400, or called good by a check) that failed a check \
         (--check-status, --check-length, --check-body, --check-sha256, --check-json or a \
         target's own). They are part of requests.failed, their status and bytes are counted, and \
         their latency is in no distribution. Checks see the body with transfer coding removed \
         and content coding as sent.",
    ),
    (
        "points[].mismatches",
        "The same by check; a response counts under the first that failed, in the order status, \
         length, body, sha256, json.",
    ),
    (
        "points[].targets",
        "The requests of the window by target of a mix (-i), in the order of the file; empty with \
         one target. A target with templates stands for all its expansions. At most 32 entries: \
         with more targets, the last entry sums all that follow the first 31. Sums over targets \
         are those of the point; unsent requests and failed attempts to connect belong to no \
         target.",
    ),
    (
        "points[].requests.unaccounted",
        "Requests due in the window of which it is not known whether they were sent, because an \
         agent of a fleet was lost before it reported them. They count as slower than all others \
         in latency_ns. Absent when zero.",
    ),
    (
        "points[].agents",
        "What each agent of a fleet did in the window, by its own account; absent without a \
         fleet. planned: its part of the common schedule, counted from that, or of -n. The sums of \
         sent, completed, failed, unanswered and unsent over all agents are those of the point. \
         starts: its connections where devices start on a schedule, which planned and unaccounted \
         then count; the sums are those of turnover.starts. \
         generator_delay_p99_ns: its generator delay. cpu_busy: the share of its CPUs that its \
         process used. worker_busy: the share of the time in which its busiest worker had work. \
         clock_error_ns: by how much its window may be off from that of the controller. ended: \
         complete, no-report (its counts arrived, but no report of its own), late (cut off for a \
         while), cut-off (it stopped its load by itself) or lost. \
         broken, wall, side and confidence: its own gates and verdict, from the readings of its \
         own host.",
    ),
    (
        "fleet",
        "The agents that made the load; absent without a fleet. host is then the host of the \
         controller, which sends nothing and is not read, and the CPU cost of the client is that \
         of the agents' workers. part: workers of the agent, and the weight of each: the numbers \
         of requests and connections are dealt out to all workers in rounds, in which each takes \
         as many as its weight. capacity: requests per second that the agent can send, as it \
         measured at its start from the CPU time of one worker for a request to a server in its \
         own process, or as its user set it; weights follow it, in powers of 2, when every agent \
         reported it. clock: its monotonic clock minus the controller's. ended: how its part of \
         the whole run ended.",
    ),
    (
        "trial.requests",
        "The first 16 requests of the tape, in sending order: method, path, the names of their \
         headers, and the length of their bodies as Content-Length. Without --keep-requests values \
         are *** and bodies are empty. Each connection starts at its own position on the tape, \
         drawn from the seed, and repeats the tape; with templates a value repeats when the tape \
         does.",
    ),
    (
        "points[].latency_ns",
        "From the send in closed loop, from the planned instant in open loop, to the instant the \
         last byte of the response was in user space. count, min, mean and stdev are those of \
         completed requests. With TLS a request is stamped before it is encrypted and its response \
         before it is decrypted. censored counts requests without a good response: those that \
         failed in any way (status 4xx or 5xx, failed check, time-out, reset, close, not HTTP), \
         were unanswered, or were unsent. They rank as slower than all others, so a \
         percentile that falls among them is null, and so is max. A percentile with fewer than ten \
         values beyond it is null. The same holds for targets[].latency_ns, without unsent \
         requests.",
    ),
    (
        "points[].latency_good_ns",
        "latency_ns of completed requests alone: nothing is censored, so a server that sheds load \
         looks as fast as its good responses. Also in targets[].",
    ),
    (
        "points[].service_ns",
        "From the instant the first byte of the request was passed to the kernel to the last byte \
         of its response, which may come before the rest of the request is sent (requests.early). \
         In closed loop the same as latency_ns. censored: as in latency_ns, without unsent \
         requests.",
    ),
    (
        "points[].send_delay_ns",
        "The send delay. Open loop: from the planned instant to the send, for every request sent; \
         null in closed loop. Latency is send delay plus service time.",
    ),
    (
        "points[].generator_delay_ns",
        "The generator delay. Open loop: the part of the send delay that is not a wait for a free \
         slot: to the send, from the planned instant or from the instant a slot became free when \
         that was later. A slot counts as free from the earliest instant at which its response may \
         have arrived: the last poll when the worker's loop did not sleep, or the planned end of a \
         sleep that ended late. So it includes a stall of the generator even while every slot is \
         in use, except for up to 1 ms inside a sleep.",
    ),
    (
        "points[].latency_punctual_ns",
        "Lower bounds of latency_ns: the latency that a generator would have measured if it sent \
         each request when it was due and stamped each response when it arrived. Calculated from \
         the distributions of latency, service time, generator delay and unseen time; no bound \
         exceeds the true value. Open loop, and closed loop where the generator stalled; else \
         null.",
    ),
    (
        "points[].standing",
        "How sound each figure is, by its key. bounded: the true value is between low and high \
         (null: only a lower bound is known), for the reason in by. not-known: no value and no \
         bound, for the reason in why. A figure that is not listed is sound. \
         docs/reference/gates.md lists the figures that each gate strikes; a percentile of too few \
         requests, or one that falls among requests without a good response, is listed with that \
         reason.",
    ),
    (
        "points[].status_codes",
        "Complete responses to requests of the window by status code, from 200 to 999; codes \
         above 599 count in status as 5xx (RFC 9110, section 15). Responses to calls of gRPC by \
         the name of their status; they count in status by the code of HTTP that means the same.",
    ),
    (
        "points[].error_codes",
        "Those of status_codes that failed by their status: 400 and above, or not OK, unless \
         --check-status or a check of the target calls the status good.",
    ),
    (
        "points[].unseen_ns",
        "How long good responses may have waited before they were stamped, because a worker of the \
         generator did not run when it should have: since the start of its last wait if it woke \
         over 1 ms late, since the planned end of that wait if it woke over 50 us late, since the \
         start of its last turn if that took over 1 ms, or of an earlier one if the waits after it \
         left responses because more were there than a wait returns, because a receive had no \
         buffer, or because a server sent without end; of several such turns of a connection in a \
         row only the last counts. count: the responses that this may affect; all others were \
         stamped in time. null without such responses. A stall inside a sleep of up to 20 ms \
         leaves no trace.",
    ),
    (
        "points[].latency_at_least_ns",
        "latency_ns with a lower bound for each request that got no response: its wait until it \
         timed out, until the end of the drain if it was unanswered, until the end of the window \
         if it was unsent in open loop. Requests that failed in another way rank above every \
         value here too (censored): how quickly they failed is no bound. Its percentiles are lower \
         bounds of those of latency_ns; null when no request timed out, was unanswered, or was \
         unsent in open loop.",
    ),
    (
        "points[].slowest",
        "The slowest requests one by one, of those with a good response, those that timed out \
         and the unanswered ones (of): at most a twentieth of them (requests), each of which \
         took at least at_least_ns from when it was due. Each worker keeps 1024; where more \
         took as long, it is less than a twentieth. each: up to 512 of them, evenly chosen in \
         the order in which they were due. Instants count from the start of the window. own_ns: \
         for how much of its time the generator is known not to have looked at its connection; \
         pauses of up to 1 ms, and what is inside a sleep, do not count. before: responses that \
         its connection had before. When a first byte came is not known of each request. Absent \
         in a fleet, and where too few were kept.",
    ),
    (
        "points[].tail",
        "Why these are slow. at_least_ns, quantile: the requests that it is about, the slowest \
         hundredth, or where only that tells something, the slowest thousandth or twentieth. A \
         request meets a cause when the cause may have taken half of what the request took over \
         the median. share: those that met it and no cause before. expected: the share that \
         chance lets meet it, from draws that keep clusters of slow requests and the distances \
         between them, in another order and at another instant. p: how often chance lets as \
         many meet it, times the number of causes looked at. A cause is named when p is under \
         0.01 and share is, over expected, at least 0.2 of what the causes before it leave; \
         unsure is one whose p is not. Both are null where the parts of each request tell. \
         events: separate times of the cause. beyond: the same of the slowest thousandth, where \
         that has a cause that the slowest hundredth has not, or another first one. unreadable: \
         what could not be looked for.",
    ),
    (
        "points[].offered_rate",
        "Open loop: planned requests divided by load.duration_s. load.rate is the requested rate, \
         its mean over the window when load.curve changes it.",
    ),
    (
        "points[].client_loop.spin_share",
        "Open loop: share of the workers' time spent reading the clock until the next request is \
         due, because it was too near for a sleep. It is part of the generator's CPU time: the \
         cost of sending on time. spin_by_worker: the same of each worker, of its time.",
    ),
    (
        "points[].connections",
        "unsolicited: connections that were closed because bytes arrived that no request had \
         asked for, other than empty lines, which are ignored; requests in flight on them fail \
         with class unsolicited. faults: connections that were given up for what came on them, by \
         reason, warm-up included: not-http, bad-status, bad-header, head-too-long, bad-length, \
         bad-chunk, switched, truncated (class parse), stalled (class timeout, part of a response \
         had come), and for unsolicited bytes extra-response, body-of-head, body-of-204 (or 304), \
         body-of-1xx and beyond-length; absent when there are none. The first of each is in \
         samples. asked: slots of the level. opened: slots that were open at least once. served: \
         slots that got at least one response of the window, with any status. failed: slots whose \
         every attempt failed. reopened: further successful attempts. connect_ns: time from \
         connect() to established, successful attempts since the level was ordered; with a proxy \
         until it agreed to the tunnel, without the TLS handshake.",
    ),
    (
        "points[].connections.crossed",
        "Connections of the level that had answered, and that the server closed or reset before \
         any byte of the next response. responses_min and responses_max: responses on one of \
         them. idle_min_ns and idle_max_ns: from the last byte received on one of them to the \
         send of the request that met the close. responses_most: responses on any connection that \
         has ended, or was open at the end. The same number of responses on at least three of \
         them, and on no connection more, is a limit of requests per connection; about the same \
         idle time, of 100 ms or more, is a keep-alive time-out. Absent without any.",
    ),
    (
        "points[].connections.streams",
        "Streams of HTTP/2, of the level with its warm-up where nothing else is said; absent \
         without it. limit_min and limit_max: streams that the server allows at once on a \
         connection (SETTINGS_MAX_CONCURRENT_STREAMS), fewest and most that it said; null for no \
         limit. window_min: the smallest window for the body of a request that it gave a new \
         stream (SETTINGS_INITIAL_WINDOW_SIZE), bytes. limited: connections, on average over the \
         window, that had as many streams as the server allowed and fewer than load.depth. held: \
         requests, on average over the window, of which a part waited for a window of the server; \
         held_requests: how many ever did. left: connections that the server left (GOAWAY), by \
         code; left_after_min and left_after_max: requests on those that it left without an \
         error. resets: requests whose stream the server reset (RST_STREAM), by code. cancelled: \
         streams that we reset because their request took too long. long_responses: responses \
         whose body is longer than our window for a stream (--window), so that the server had to \
         wait for us to open it again.",
    ),
    (
        "points[].connections.streams.settings_ns",
        "From the connection being established, its TLS handshake included, to the server's \
         settings, the third part of the time that a connection takes to open; connections opened \
         since the level was ordered.",
    ),
    (
        "points[].stopped",
        "The target took requests and sent no byte from at_ns (monotonic nanoseconds, as in \
         window_ns; to a tenth of a second) until the level was over, for silent_s; waited: \
         requests that timed out or were unanswered in that time. It counts as stopped when the \
         silence was as long as the time-out of a request, to a tenth of a second, when it lasted \
         for over twice the longest silence before it while requests were still due, or in all \
         for over thirty times that, and when the chance that all of them were merely slow is \
         below 1 %: the share of time-outs before, (time-outs + 1) / (fates + 2), to the power of \
         waited, times the longest silence before over this one. outcome is then target-lost. \
         Absent otherwise.",
    ),
    (
        "points[].connections.handshakes",
        "TLS handshakes that succeeded since the level was ordered; resumed: those of them that \
         continued an earlier session. null without TLS, like the other figures of TLS.",
    ),
    (
        "points[].connections.handshake_ns",
        "From the connection being established to the end of the handshake, including our own \
         cryptography and waits for our CPU; successful handshakes since the level was ordered. \
         The first request is not part of it.",
    ),
    (
        "points[].connections.handshake_failures",
        "Failed handshakes by cause (the attempts that errors.tls counts), and connections that a \
         TLS error ended after the handshake, whose requests fail with class reset.",
    ),
    (
        "points[].connections.tunnels_refused",
        "Attempts that the proxy refused, part of errors.connect. tunnel_status: HTTP status of \
         the latest refusal, null when there was none or it was no HTTP response. null without a \
         proxy.",
    ),
    (
        "perturbations[]",
        "Experiments after the levels (--confirm), at the level with the highest rate: the change, \
         made in the changed blocks of the order base, changed, changed, base. base and changed \
         are good responses per second of each block; blocks are not points. factor: capacity of \
         the resource in the changed blocks over that in the base blocks; measured where no \
         setting fixes it (CPU time that was burnt, bytes per response), null when it was not \
         measured.",
    ),
    (
        "perturbations[].elasticity",
        "d ln(rate) / d ln(capacity): the mean over the pairs of ln(changed / base) / ln(factor), \
         with its 95 % interval by Student's t. 1 for the resource that limits, 0 for one that \
         does not. null when a block had no good response or the capacity changed by under 5 %. \
         While the interval is too wide to decide, as many pairs again are made, up to two times.",
    ),
    (
        "perturbations[].says",
        "limits: elasticity from 0.7 to 1.3 and the interval above 0.25. does_not_limit: the whole \
         interval within 0.25 of 0. limits_in_part: from 0.25 to 0.75 and the interval between 0 \
         and 1. open: none of these.",
    ),
    (
        "profile",
        "Profiles of the server (--profile): null when none were requested or the run had no \
         window for them. visit: point (the window of points[point] itself, whose figures then \
         include the cost of profiling; its profiled is true) or repeat (one more visit of that \
         level, which is not a point; rate, in_flight and p50_ns are its own). failures: profiles, \
         or parts of them, that could not be taken.",
    ),
    (
        "profile.captures[]",
        "One profile of one process, in pprof format in file below the run's directory. begin_ns: \
         when it was requested; end_ns: begin_ns plus the time that it says it covers. For Go, \
         block, mutex and heap are the difference between end and start, so that warm-up and other \
         levels are not in them. perf: 99 samples per second of CPU time, each standing for its \
         share of a second. lacks_kernel: true where perf left out time in the kernel, because \
         the user may not sample it; absent otherwise.",
    ),
    (
        "profile.kinds[]",
        "The profiles of one kind added up over the processes. total, flat and cum: nanoseconds, \
         or for heap bytes allocated. duration_s: mean time covered by each; requests: responses \
         of the visit per second, good or not, times duration_s. requests and every share of \
         requests are null with the reason in requests_absent when a process that served was not \
         profiled (it listens on the port under test or has the name of one that does, and used \
         CPU time), when that is not known, and for streams of events. functions: how many have a \
         flat value. flame: the tree of calls in the order in which it is drawn, without frames \
         below 1/500 of the whole.",
    ),
    (
        "profile.kinds[].waits[]",
        "Waits of the block and of the mutex profile by site. waiter: request (a frame that serves \
         a request is above it, known_by), profiler (the handler of the profile itself) or other \
         (background goroutines, idle workers). share: blocked_s / (duration_s x in_flight), of \
         requests only. gain_max: share / (1 - share), by which the rate of a closed loop could \
         rise if only this wait went away; null without a share below 1, both null where \
         requests_absent has the reason. The mutex profile lists the same waits by the holder of \
         the lock: the two are not added.",
    ),
    (
        "kernel",
        "What programs in the kernel saw of the server (--evidence kernel) in one more visit of \
         points[point], whose figures do not include their cost; absent when not requested, and \
         when no process of the server is known on this host. rate, answered_rate (good or not) \
         and in_flight are of that visit. readings.unreadable: what this kernel or user could not \
         read, with the reason; what belongs to it is null, never zero.",
    ),
    (
        "kernel.readings",
        "window_ns: from the attachment of the last program to the detachment. Durations: count, \
         sum_ns, and upper bounds of percentiles from buckets of which four double the value; \
         p99_ns is null below a hundred; stdev_ns is never too small. retransmits, resets_sent, \
         resets_received: at either end of the server's connections on this host, and others. \
         drops: packets freed by the kernel with its own reason; is_of_server when either port \
         was the server's. disks: block requests of the whole host. programs: runs and time by \
         the kernel's own statistics, and how often one did not run because it ran already on \
         that CPU.",
    ),
    (
        "kernel.readings.split",
        "Connections to port, by the server's processes in pids. unread: from bytes in the socket \
         to the first read. inside: from the last read of a request to the end of the first write \
         of its response. acknowledged: from there to the acknowledgement, 0 when it came before \
         the write returned. Requests that are read together (pipelining) count as one.",
    ),
    (
        "kernel.light",
        "Visits of the same level with a quarter of answered_rate, asked_rate, in which requests \
         do not wait for each other: the first evenly, a second one in groups of at_once that are \
         due within a microsecond, where the verdict needs that. late_ns: the generator's delay \
         of 90 % of them at most. seconds: how long the programs of the split were attached.",
    ),
    (
        "kernel.readings.threads",
        "waits: time off the CPU of 50 us and more by what for and by the functions of the kernel, \
         the innermost first; is_uninterruptible: no signal ends it. total_s over the window is \
         the mean number of threads there. A wait that began before the attachment is in none; \
         one that had not ended counts until the end. run_queue: from runnable to running. \
         ran_instead: the task that was on the CPU just before, where that took 50 us or more.",
    ),
    (
        "target.tls",
        "What one handshake before the load negotiated: version, cipher suite, group of the key \
         exchange and ALPN protocol; null without TLS. ktls.used: whether the kernel encrypted the \
         records; ktls.kernel: whether it reports that it can.",
    ),
    (
        "points[].turnover",
        "Connections of the window when they come and go: attempts begun, established and failed, \
         and open connections that we or the peer closed first (the side that closes first keeps \
         the TIME_WAIT). One whose response announced its end (Connection: close) counts as closed \
         by us: we close it at once, and the peer may have closed it by then. Those open when the \
         window began and those established in it are closed in it or open when it ends: \
         open_before + established = closed_by_us + closed_by_peer + open_after, exactly. rate: \
         established per second. planned_rate: the requested rate in \
         open loop, else devices over their mean hold, as if connecting took no time. connect_ns: \
         from connect() to established, attempts that succeeded in the window. syn_retries: \
         connects of the whole level that took as long as the delay before a SYN packet is sent \
         again, within 150 ms. client_bytes_each: growth of the generator's resident memory over \
         the most connections open at once; sockets in the kernel are not in it.",
    ),
    (
        "points[].turnover.starts",
        "Open loop of connections (churn -R): those due in the window. planned = begun + unsent, \
         and begun = established + failed + pending, exactly. unsent: no device was free until the \
         end of the window; waited: started late for the same reason; pending: neither open nor \
         failed when the visit ended. connect_ns: from the planned instant to established, those \
         that were never open rank as slower than all others (censored). connect_punctual_ns: \
         lower bounds of it without the generator delay, which is generator_delay_ns: begun minus \
         planned or minus the instant a device was free, whichever was later. null in closed loop.",
    ),
    (
        "points[].turnover.openings",
        "Devices: every second of the visit from visit_begin_ns on, ramp-up, window and ramp-down; \
         all other figures are of the window. established and failed: attempts. open: connections \
         at its end. connect_p50_ns and connect_p90_ns: from connect() to established. \
         accept_queue: the most connections that waited in all accept queues of the port in any \
         reading of that second; null where these were not read.",
    ),
    (
        "points[].events",
        "Events that subscribers received in the window (ceiling fanout); all other figures of the \
         point are then those of the writers' requests, and load.connections counts subscribers. \
         An event is a blank line after at least one data field (WHATWG HTML, 9.2). rate: received \
         per second over all subscribers. subscribers: accepted had a response of status 200, \
         refused counts other responses, lost counts streams that ended in the window; both are \
         requested again after a pause. client_us_per_event and server_us_per_event include the \
         cost of the writes.",
    ),
    (
        "points[].events.delivery",
        "From the numbers (seq, counted from 1 for each stream) that events carry. meant: for each \
         subscriber those above the last it saw before the window (above the one before its first, \
         when it saw none) up to the highest that any subscriber of the same stream saw in the \
         window. received in the window, late in the half second after it, missing else: meant = \
         received + late + missing, exactly. Events sent while a subscriber was away are missing; \
         a number that is not above the last one it saw counts as repeated, also when it was \
         missing. delivery_share: (received + late) / meant. null with the reason in \
         delivery_absent when an event had no number or none arrived.",
    ),
    (
        "points[].events.staleness_ns",
        "Arrival of an event minus the instant that it carries (at_ns, Unix time of the server's \
         host). Where the server is on this host, both are on one wall clock. Where a probe is on \
         the server's host, its wall clock is converted to ours by the offset of the clocks: \
         staleness_error_ns is how far it may be off, 0 with one clock. null, with the reason in \
         staleness_absent, where neither is so or a wall clock was set during the run. An arrival \
         is stamped once for all bytes of one read. early: events that arrived before their \
         instant; they are counted and in no percentile. Events that did not arrive have no \
         staleness.",
    ),
    (
        "points[].bytes",
        "Of the requests sent in the window what the kernel took, so without the rest of those \
         that were cut off; and whole responses to them: head, framing and body. No TLS records, \
         no TCP, IP or Ethernet headers. arrived: of the responses that arrived in the window \
         (cpu.answers); body: their bodies without the marks of chunks; announced: the bodies with \
         a Content-Length; fields: names and values of header fields, without trailers.",
    ),
    (
        "points[].messages",
        "Of calls of gRPC whose method streams its replies; absent without any. arrived and rate: \
         whole messages that arrived in the window, whenever their call was made; received: those \
         of the calls of the window, until the end of the drain; per_call: the same for each call \
         of the window, in a mix of all methods. The main rate and all other figures count calls: \
         one is complete when its status came, behind its last message. due: messages of \
         conversations (methods that stream requests and replies), the first with its call, each \
         other one with the reply before it; absent without any.",
    ),
    (
        "points[].messages.first_ns",
        "From where latency counts (the send, in an open loop the planned instant) to the read \
         that completed the first message of a call; calls of the window that had one, whatever \
         became of them.",
    ),
    (
        "points[].messages.gap_ns",
        "From the read that completed a message of a call to the one that completed its next, by \
         message; zero between messages that one read completed. Together with first_ns it has \
         one value for each of received.",
    ),
    (
        "points[].messages.latency_ns",
        "Of each message of a conversation from when it was due to the read that completed its \
         reply: the first from where latency counts, each other one from the reply before it. \
         Messages that were due and had no reply by the end of the drain, or whose call had \
         failed, are censored: they count as slower than all. Absent without a conversation.",
    ),
    (
        "points[].users",
        "Users of a flow who began in the window; absent where the load is none. A user takes one \
         connection at a time and the steps in order. completed: took all steps, and each was \
         good; failed: a step was not as the flow says, or its connection was lost; unfinished: \
         not through when the drain ended. begun is the sum of the three. With a rate of users, \
         due is how many the schedule has in the window, and unstarted those of them who found no \
         place until it ended: due is begun + unstarted. By step: reached, good, \
         failed, and left for users who were still there; reached is the sum of the others. A step \
         that is repeated is reached once each time. Requests, rates and latencies of the point \
         count all requests sent in the window, also those of users who began before it.",
    ),
    (
        "points[].users.flow_ns",
        "From when the user was due, or in a closed loop when the connection was asked for \
         (before any load: from the first send), to the end of the last step, less the time to \
         think before each step. Users who failed, were not through or never began are censored: \
         they count as slower than all.",
    ),
    (
        "points[].cpu.answers",
        "Whole responses that arrived in the window, good or not: any status, failed checks \
         included, also to requests that were sent before it. A request without a response is not \
         counted, but the CPU time spent on it is included. us per request x responses = CPUs x \
         load.duration_s, on both sides.",
    ),
    (
        "points[].cpu.client_us_per_request",
        "CPU time (user and kernel) of the generator's process in the window, its probe and \
         conductor included, per response (cpu.answers). Kernel time includes network work done on \
         behalf of its calls. client_usr_us_per_request is the user part of the workers, which \
         the kernel samples: null when no sample fell into it. null without a response.",
    ),
    (
        "points[].cpu.server_us_per_request",
        "On-CPU time (schedstat) of all threads of the server's process tree between two probe \
         readings inside the window, as a number of CPUs (server_cpus) times load.duration_s, per \
         response (cpu.answers). A thread that ended counts up to the last reading that saw it. \
         null when the server is not watched, and without a response.",
    ),
    (
        "points[].hosts",
        "What was read in the window on the hosts of both sides, by figure (figures.X.SIDE), each \
         in the unit of its figure: shares from 0 to 1, rates per second, bytes. Counters are \
         differenced between the first and the last reading inside the window, over the time \
         between these two. A figure that was not read is absent; zero was read. Where both sides \
         are on one host, what is read of a host is the same for both. The client's are absent \
         with a fleet, whose agents have hosts of their own. The CPUs' worth of time that each \
         side used (cores.SIDE) is in points[].cpu.",
    ),
    (
        "points[].residence",
        "Where the requests in flight were on average: sampled sockets with unread bytes on either \
         side, as shares of the mean number in flight (at the generator at most what arrives in \
         one turn of its loop or while it waits for a CPU); on the wire, the rate times the \
         shortest round trip of TCP; and the rest, inside the server. They add up. null where \
         sockets were not sampled.",
    ),
    (
        "verdict.alternatives",
        "Walls that the evidence leaves possible, each with its share of the weight of all: naive \
         Bayes over the tests of all walls, from counts of how often each test fires in runs whose \
         wall is known by construction. Shares order walls; they are not calibrated \
         probabilities.",
    ),
    (
        "points[].in_flight",
        "mean: requests in flight, added up over time by the workers at every change and divided \
         by the window; independent of the latency histogram. first and last: the same over the \
         first and the last fifth of the window; null for a window under half a second. In open \
         loop above the capacity of the server, last exceeds first, or requests.unsent grows: the \
         requests that were due and still waited when the window ended.",
    ),
    (
        "points[].client_loop.worker_rates",
        "Responses per second of one worker in one tick of a tenth of a second, over the ticks of \
         the window in which some arrived; of one agent in a fleet. stdev is that of the sample, \
         within the share of the ticks at most one stdev from the mean.",
    ),
    (
        "points[].client_loop.turn_max_ns",
        "Longest time from the return of one wait to the next wait: while its thread runs, a stamp \
         can be late by at most this. A wait that itself returned late is in unseen_ns.",
    ),
    (
        "points[].expectations",
        "Each term of --expect at this point. measured and bound are in unit (that of \
         the figure). errors: requests failed, unanswered or unsent, and connections that were \
         due and never open, of all that were sent, unsent or due. status.Nxx: responses of that \
         class, of the same. rate: good responses; for devices, connections; in a fan-out, \
         events. In latency and service times every request without a good response counts as \
         slower than all that have one; good.* are of good responses alone. connect.*: of the \
         connections that were due, in closed loop of the attempts of the window; those that \
         failed count as slower than all, and so do those without an outcome when they are more \
         than 1 % of the attempts. A window without attempts is judged by the whole level. met is \
         null when it is undecided: too few responses for a percentile (unless a lower percentile \
         is already beyond the bound), a figure known only to be between two values of which one \
         holds, or a figure that was not measured. A percentile among requests without a good \
         response is a miss, unless they are only known to have waited for less than the bound.",
    ),
    (
        "expectations",
        "Each term of --expect over the run: an upper bound must hold at every visit of every \
         level (--visits), a rate must be reached at the last visit of one level; the deciding \
         level is given. A repeat of a visit that was not steady stands for it.",
    ),
    (
        "search",
        "answer.rate: the highest rate shown to hold the objective with no lower one shown to miss \
         it; misses_at: the lowest shown to miss above all that hold; width: misses_at / rate - 1. \
         A rate holds when it misses at most one trial in ten and misses when it misses six in ten \
         or more, decided by a sequential test with config.confidence. below and above: runs at 95 \
         % of rate, which must hold, and at 105 % of misses_at, which must miss. kind at-least: no \
         rate was shown to miss, or generator delay ended the search first. \
         config.errors_added_percent: the bound on errors that was added to an objective that \
         named neither errors nor a status nor the rate.",
    ),
    (
        "points[].verdict.ceiling",
        "rate: the mean over visits. kind ceiling: the rate stopped growing, by a wall that may be \
         unknown; at-least: it still grew, or the generator or a cause in doubt limited it, so the \
         true ceiling is this or more. interval names the meaning of low and high. visits-95: the \
         95 % interval of the mean over visits, by Student's t; with several visits of a level the \
         levels are counted where they scatter more. min-max: the lowest and the highest of two \
         visits. within-run: the interval of the mean inside one window (batch means), which does \
         not cover differences between visits. In a ramp the visits are all those of the plateau, \
         a range of loads, steady or not. drift: change from the least to the greatest load of the \
         plateau, where it is more than the scatter.",
    ),
];

/// All definitions by path, and those of figures by key.
pub fn definitions() -> BTreeMap<String, String> {
    let paths = DEFINITIONS.iter().map(|(path, text)| ((*path).to_string(), (*text).to_string()));
    let figures = of_points().map(|(figure, entry)| {
        let family = figure.family();
        (format!("figures.{family}"), entry.meaning.to_string())
    });
    paths.chain(figures).into_map()
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::dist::Dist;

    #[test]
    fn what_is_made_of_a_distribution_is_defined() {
        let definitions = definitions();
        let is_part = |path: &str, of: &str| path == of || path.starts_with(&format!("{of}."));
        for path in Dist::ALL.map(Dist::path) {
            assert!(definitions.keys().any(|key| is_part(path, key)), "{path}");
        }
    }
}
