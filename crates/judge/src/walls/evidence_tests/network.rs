//! The path and the server's kernel.

use super::Row;
use model::reading::OpenFiles;
use model::wall::WallId;
use observe::{ConntrackUse, QueuePeak};

pub(super) const PATH: &[Row] = &[
    Row {
        wall: WallId::N1,
        shown: |scene| scene.fixture.point.connections.connect_ns.p50 = Some(7_500_000),
        without: &[
            ("a distant server", |scene| {
                scene.fixture.point.connections.connect_ns.p50 = Some(50_000);
            }),
            ("its round trip in the sockets", |scene| {
                scene.fixture.round_trip(1);
            }),
            ("a watched server", |scene| scene.fixture.unwatched()),
        ],
    },
    Row {
        wall: WallId::N2,
        shown: |scene| {
            scene.fixture.loss(60, 10);
            scene.fixture.point.service_ns.p99_9 = Some(212_000_000);
        },
        without: &[
            ("segments sent again", |scene| scene.fixture.loss(0, 0)),
            ("data among them", |scene| scene.fixture.loss(60, 60)),
            ("a loss without a place", |scene| scene.fixture.softnet(&[(50_000, 60)])),
            ("counters", |scene| scene.fixture.observed.tcp = None),
        ],
    },
    Row {
        wall: WallId::N4,
        shown: |scene| scene.fixture.allowance("bw_out_allowance_exceeded", 900),
        without: &[
            ("packets over the allowance", |scene| {
                scene.fixture.allowance("bw_out_allowance_exceeded", 0);
            }),
            ("more than a burst", |scene| {
                scene.fixture.allowance("bw_out_allowance_exceeded", 3);
            }),
            ("the driver's counters", |scene| scene.fixture.observed.drivers = None),
        ],
    },
];

pub(super) const KERNEL: &[Row] = &[
    Row {
        wall: WallId::K1,
        shown: |scene| {
            scene.fixture.tcp("TcpExt.ListenOverflows", 42);
            scene.fixture.slow_connects();
        },
        without: &[
            ("overflows", |scene| scene.fixture.tcp("TcpExt.ListenOverflows", 0)),
            ("slow connects", |scene| {
                scene.fixture.point.connections.connect_ns.p99 = Some(60_000);
            }),
            ("counters", |scene| scene.fixture.observed.tcp = None),
        ],
    },
    Row {
        wall: WallId::K2,
        shown: |scene| {
            scene.fixture.tcp("TcpExt.ListenDrops", 30);
            scene.fixture.tcp("TcpExt.TCPReqQFullDrop", 30);
            scene.fixture.slow_connects();
        },
        without: &[
            ("dropped SYNs", |scene| {
                scene.fixture.tcp("TcpExt.ListenDrops", 0);
                scene.fixture.tcp("TcpExt.TCPReqQFullDrop", 0);
            }),
            ("room in the accept queue", |scene| scene.fixture.tcp("TcpExt.ListenOverflows", 30)),
            ("slow connects", |scene| {
                scene.fixture.point.connections.connect_ns.p99 = Some(60_000);
            }),
            ("counters", |scene| scene.fixture.observed.tcp = None),
        ],
    },
    Row {
        wall: WallId::K3,
        shown: |scene| {
            scene.fixture.observed.server_files = Some(OpenFiles { pid: 9, open: 64, limit: 64 });
            scene.fixture.observed.listeners =
                Some(QueuePeak { queued: 3, backlog: 128, mean_queued: 3.0 });
        },
        without: &[
            ("a full table", |scene| {
                scene.fixture.observed.server_files =
                    Some(OpenFiles { pid: 9, open: 32, limit: 64 });
            }),
            ("connections that wait", |scene| scene.fixture.observed.listeners = None),
            ("the table", |scene| scene.fixture.observed.server_files = None),
        ],
    },
    Row {
        wall: WallId::K4,
        shown: |scene| {
            scene.fixture.softirq(0, 0.90, 0.08);
            scene.fixture.softnet(&[(90_000, 0), (5_000, 0)]);
        },
        without: &[
            ("a CPU full of interrupts", |scene| scene.fixture.softirq(0, 0.5, 0.08)),
            ("packets on one CPU", |scene| scene.fixture.softnet(&[(9_000, 0), (90_000, 0)])),
            ("shares of CPUs", |scene| scene.fixture.observed.cpus = None),
        ],
    },
    Row {
        wall: WallId::K5,
        shown: |scene| {
            scene.fixture.softnet(&[(50_000, 600), (50_000, 0)]);
            scene.fixture.loss(500, 0);
        },
        without: &[
            ("drops", |scene| scene.fixture.softnet(&[(50_000, 0), (50_000, 0)])),
            ("segments sent again", |scene| scene.fixture.loss(0, 0)),
            ("the CPUs' queues", |scene| scene.fixture.observed.softnet = None),
        ],
    },
    Row {
        wall: WallId::K8,
        shown: |scene| scene.fixture.shaper(1200.0, 0.9),
        without: &[
            ("packets that wait", |scene| scene.fixture.shaper(1200.0, 0.1)),
            ("large packets", |scene| scene.fixture.shaper(150.0, 0.9)),
            ("our responses among them", |scene| {
                scene.fixture.observed.qdiscs.as_mut().unwrap()[0].bytes_s = 1000.0;
            }),
            ("disciplines", |scene| scene.fixture.observed.qdiscs = None),
        ],
    },
    Row {
        wall: WallId::K9,
        shown: |scene| scene.fixture.shaper(150.0, 0.9),
        without: &[
            ("packets that wait", |scene| scene.fixture.shaper(150.0, 0.1)),
            ("small packets", |scene| scene.fixture.shaper(1200.0, 0.9)),
            ("disciplines", |scene| scene.fixture.observed.qdiscs = None),
        ],
    },
    Row {
        wall: WallId::C6,
        shown: |scene| {
            scene.fixture.unwatched();
            scene.fixture.link("eth0", 12e6);
            scene.fixture.packets_limit(Some(20_000));
        },
        without: &[
            ("packets near the limit", |scene| scene.fixture.packets_limit(Some(40_000))),
            ("a limit that holds", |scene| scene.fixture.packets_limit(Some(10_000))),
            ("a stated limit", |scene| scene.fixture.packets_limit(None)),
        ],
    },
    Row {
        wall: WallId::K10,
        shown: |scene| {
            let table = ConntrackUse { count: 199, max: 200, ..ConntrackUse::default() };
            scene.fixture.observed.conntrack = Some(table);
            scene.fixture.slow_connects();
        },
        without: &[
            ("a full table", |scene| {
                scene.fixture.observed.conntrack.as_mut().unwrap().count = 20;
            }),
            ("slow connects", |scene| {
                scene.fixture.point.connections.connect_ns.p99 = Some(60_000);
            }),
            ("the table", |scene| scene.fixture.observed.conntrack = None),
        ],
    },
    Row {
        wall: WallId::K12,
        shown: |scene| scene.fixture.limited(0.9, 0.0, 0.5),
        without: &[
            ("a full buffer", |scene| scene.fixture.limited(0.9, 0.0, 0.05)),
            ("responses outstanding", |scene| scene.fixture.limited(0.05, 0.0, 0.5)),
            ("samples of sockets", |scene| scene.fixture.observed.census = None),
        ],
    },
    Row {
        wall: WallId::K14,
        shown: |scene| {
            scene.fixture.server_threads(&[(7, 0.97), (8, 0.15)]);
            scene.fixture.unread_at_server(0.4);
        },
        without: &[
            ("a full worker", |scene| scene.fixture.server_threads(&[(7, 0.6), (8, 0.15)])),
            ("others with room", |scene| scene.fixture.server_threads(&[(7, 0.97), (8, 0.9)])),
            ("another worker", |scene| scene.fixture.server_threads(&[(7, 0.97)])),
            ("unread requests", |scene| scene.fixture.unread_at_server(0.0)),
        ],
    },
];
