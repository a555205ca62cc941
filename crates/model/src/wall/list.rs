//! The id and name of each wall, what happens there, and what moves it. Text, page and docs print
//! these, so they are for readers who know their server and no code of ours.
//!
//! `cargo xtask reference` writes the rows of walls that have a file in `judge/src/walls`, from its
//! header. The others, without a test, are written here.

walls! {
    M1 "invalid measurement":
        "the rate is not known" =>
        "measure again, for longer: -d 20",
    M2 "offered load is the limit":
        "the server kept up with the asked rate" =>
        "ask for a higher rate (-R)",
    M3 "not stationary":
        "the rate changed during the window" =>
        "measure for longer (-d), and look at when the rate changes",
    M4 "responses are not what was asked for":
        "responses failed a check" =>
        "look at one response, and mend the check or the server",
    C1 "client CPUs":
        "the generator's CPUs are full" =>
        "give the generator more CPUs (--cpus, -t), a second host, or cheaper requests",
    C2 "one client thread":
        "one thread of the generator is full" =>
        "use more threads (-t)",
    C3 "client concurrency":
        "every connection waits for a response, and nothing is busy" =>
        "open more connections (-c)",
    C4 "client late":
        "the generator sent requests late" =>
        "give the generator CPUs of its own (--cpus, -t) or a second host",
    C5 "client link bandwidth":
        "the generator's link is full" =>
        "use a second client host, or one with a faster link",
    C6 "client packet rate":
        "the generator's link carries no more packets" =>
        "send several requests at once (-p), or use a second client host",
    C7 "client ports":
        "the generator has no free port left" =>
        "keep connections alive, so that they need no new port",
    C8 "client file descriptors":
        "the generator may open no more files" =>
        "allow it more open files: ulimit -n",
    C9 "client reads slowly":
        "the generator reads responses too slowly" =>
        "give the generator more CPUs (--cpus, -t) or a second host",
    C10 "client receive softirq":
        "one CPU of the generator takes in most packets" =>
        "spread receive work over its CPUs: more queues (ethtool -L), or RPS (rps_cpus)",
    C11 "a neighbour on the generator's CPUs":
        "other processes use the generator's CPUs" =>
        "stop other processes on the generator's host (top), or give it CPUs of its own (--cpus)",
    N1 "round trip":
        "requests wait for the way to the server and back" =>
        "send more requests at once (-c, -p)",
    N2 "loss or congestion window":
        "packets are lost on the way" =>
        "lower the rate (-R): loss that stays comes from the path",
    N3 "single-flow cap":
        "one connection carries no more bytes" =>
        "use more connections (-c)",
    N4 "provider allowance":
        "the provider of the host holds packets back" =>
        "use an instance with a larger network allowance, or more instances",
    N5 "between the hosts":
        "something between the hosts drops new connections" =>
        "look for a limit of a firewall, NAT or load balancer, or for a packet filter",
    K1 "accept queue":
        "the server accepts connections too slowly, and its accept queue overflows" =>
        "accept faster: more acceptors, or one listener per worker with SO_REUSEPORT",
    K2 "SYN queue":
        "requests for connections overflow the server's SYN queue" =>
        "set a longer backlog, with net.core.somaxconn at least as long",
    K3 "server file descriptors":
        "the server may open no more files" =>
        "allow the server more open files: ulimit -n, LimitNOFILE",
    K4 "receive softirq on one CPU":
        "one CPU of the server takes in most packets" =>
        "spread receive work over CPUs: more queues (ethtool -L), or RPS (rps_cpus)",
    K5 "per-CPU backlog":
        "a CPU's queue of received packets overflows" =>
        "raise net.core.netdev_max_backlog fourfold, and see whether the rate follows",
    K6 "softirq budget":
        "the kernel stops taking in packets before all are taken, and runs threads instead" =>
        "raise net.core.netdev_budget and netdev_budget_usecs, or keep threads from that CPU",
    K7 "NIC ring":
        "the network card drops packets, because its ring is full" =>
        "lengthen the ring (ethtool -G), or spread its work over more queues (ethtool -L)",
    K8 "server link bandwidth":
        "the server's link is full" =>
        "compress, use a faster link, or raise its queueing discipline's limit (tc qdisc show)",
    K9 "server packet rate":
        "the server's link carries no more packets" =>
        "send several requests at once (-p)",
    K10 "connection tracking table":
        "the table of tracked connections is full" =>
        "raise net.netfilter.nf_conntrack_max, or exempt the port from tracking (notrack)",
    K11 "socket memory":
        "sockets use all the memory that they may" =>
        "raise net.ipv4.tcp_mem, or use fewer connections or shorter responses",
    K12 "socket buffer":
        "a response does not fit into the socket's buffer" =>
        "set a larger SO_SNDBUF in the server, or none; or raise tcp_wmem",
    K13 "orphan cap":
        "too many connections that the server has closed still have data to send" =>
        "raise net.ipv4.tcp_max_orphans, or keep connections open",
    K14 "uneven listeners or queues":
        "some workers of the server are full while others are idle" =>
        "spread the same load over more connections (-c)",
    K15 "server ports":
        "the server has no free port left for connections to another service" =>
        "let the server keep its connections to the other service alive (a pool, keep-alive)",
    S1 "server CPUs":
        "the server's CPUs are full" =>
        "make requests cheaper (--profile auto shows where time goes), or give it another CPU",
    S2 "one server thread":
        "one thread of the server is full" =>
        "run more server workers (threads, processes or GOMAXPROCS)",
    S3 "server CPU quota":
        "the server has used up its CPU quota" =>
        "raise the quota of that group by 20 %: the rate should rise as much",
    S4 "server CPU affinity":
        "the server may not use CPUs that are idle" =>
        "let the server use more CPUs (taskset, cpuset, worker count)",
    S5 "CPU taken by the hypervisor":
        "the hypervisor takes CPU time from the server's host" =>
        "use dedicated CPUs, or a quieter host",
    S6 "a neighbour on the server's CPUs":
        "other processes use the server's CPUs" =>
        "stop or move other processes on the server's CPUs (top), and repeat",
    S7 "kernel or user spin":
        "the server's CPUs spin: more work on them brings no higher rate" =>
        "let it use fewer CPUs, or find what spins (perf top)",
    S8 "memory bandwidth, cache or NUMA":
        "the server's CPUs wait for memory" =>
        "keep threads and their data on one node (numactl)",
    S9 "CPU frequency or idle states":
        "the server's CPUs run slowly or sleep deeply" =>
        "set the governor to performance",
    A1 "a lock in the application":
        "requests take turns at one lock" =>
        "find the lock (mutex or block profile, off-CPU stacks); do less under it, or split it",
    A2 "a pool of workers that wait":
        "requests wait for a free place in a pool" =>
        "give that pool more places, or shorten what a request waits for there",
    A3 "a downstream service":
        "requests wait for another service" =>
        "measure that service by itself, and watch its process",
    A4 "a limiter in the application":
        "the server lets no more than a set rate or number through" =>
        "look for a limit in the settings of the server, a proxy or a library",
    A5 "pauses of the whole application":
        "the whole server stops now and then" =>
        "find what stops it: the collector's log, a debugger, a freezer, SIGSTOP",
    A6 "storage":
        "requests wait for storage" =>
        "write less often to the disk: group commits, or no fsync per request",
    A7 "protocol stall":
        "each response waits for a delayed acknowledgement (Nagle's algorithm)" =>
        "set TCP_NODELAY in the server, or send each response in one write",
    A8 "connection churn":
        "requests wait for new connections" =>
        "let the server keep connections longer (keep-alive, limit of requests per connection)",
    A9 "memory reclaim":
        "the server's host is short of memory" =>
        "give the server's group more memory, and see whether the stalls end",
    A10 "logging or tracing":
        "threads of the server wait to write their log" =>
        "log less per request, or from a separate thread",
    A11 "stream limit":
        "requests wait because the server allows too few streams at once on a connection" =>
        "open more connections (-c), or raise the server's limit (SETTINGS_MAX_CONCURRENT_STREAMS)",
    A12 "server's receive window":
        "bodies of requests wait for the server's windows of HTTP/2" =>
        "give streams and connections of the server a larger window (SETTINGS_INITIAL_WINDOW_SIZE)",
    A13 "connection renewal":
        "requests wait for connections that the server leaves after so many requests" =>
        "raise the server's limit of requests per connection (nginx: keepalive_requests)",
    A14 "server's defence":
        "the server ends connections on which too many requests were cancelled" =>
        "let requests take longer before they are cancelled (-T)",
}
