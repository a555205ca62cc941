//! The server's CPUs and its application.

use super::{Change, Row, Scene};
use crate::fixture::Fixture;
use model::histogram::Summary;
use model::load::LoadModel;
use model::reading::Doing;
use model::wall::WallId;
use observe::{DownstreamUse, Observed, QueuePeak};
use std::collections::BTreeMap;

pub(super) const SERVER: &[Row] = &[
    Row {
        wall: WallId::S1,
        shown: |scene| {
            scene.fixture.cpu(0, 0.99);
            scene.fixture.cpu(1, 0.99);
            scene.fixture.server_threads(&[(7, 0.95), (8, 0.93)]);
            scene.fixture.unread_at_server(0.5);
        },
        without: &[
            ("a busy CPU", |scene| scene.fixture.cpu(1, 0.8)),
            ("threads of its own on them", |scene| {
                scene.fixture.server_threads(&[(7, 0.4), (8, 0.4)]);
            }),
            ("unread requests", |scene| scene.fixture.unread_at_server(0.0)),
            ("shares of CPUs", |scene| scene.fixture.observed.cpus = None),
        ],
    },
    Row {
        wall: WallId::S2,
        shown: |scene| {
            scene.fixture.server_thread(0.97, 0.0);
            scene.fixture.unread_at_server(0.5);
        },
        without: &[
            ("a full thread", |scene| scene.fixture.server_thread(0.6, 0.0)),
            ("unread requests", |scene| scene.fixture.unread_at_server(0.0)),
            ("times of threads", |scene| scene.fixture.observed.server_threads = None),
        ],
    },
    Row {
        wall: WallId::S3,
        shown: |scene| scene.fixture.throttle_server(1, 0.9, 0.6),
        without: &[
            ("throttled periods", |scene| scene.fixture.throttle_server(1, 0.1, 0.6)),
            ("throttled time", |scene| scene.fixture.throttle_server(1, 0.9, 0.01)),
            ("the groups", |scene| scene.fixture.observed.server_quotas = None),
        ],
    },
    Row {
        wall: WallId::S4,
        shown: |scene| {
            scene.fixture.server.as_mut().unwrap().cpus_allowed = vec![0];
            scene.fixture.cpu(0, 0.99);
            scene.fixture.server_thread(0.95, 0.30);
            scene.fixture.unread_at_server(0.5);
        },
        without: &[
            ("an idle CPU", |scene| scene.fixture.cpu(1, 0.9)),
            ("a mask", |scene| scene.fixture.server.as_mut().unwrap().cpus_allowed = vec![0, 1]),
            ("a busy CPU", |scene| scene.fixture.cpu(0, 0.6)),
            ("unread requests", |scene| scene.fixture.unread_at_server(0.0)),
        ],
    },
    Row {
        wall: WallId::S6,
        shown: |scene| {
            scene.fixture.server.as_mut().unwrap().cpus_allowed = vec![0];
            scene.fixture.trial.cpus = vec![1];
            scene.fixture.cpu(0, 0.99);
            scene.fixture.server_thread(0.50, 0.49);
        },
        without: &[
            ("others on its CPU", |scene| scene.fixture.cpu(0, 0.52)),
            ("threads that wait", |scene| scene.fixture.server_thread(0.50, 0.02)),
            ("times of threads", |scene| scene.fixture.observed.server_threads = None),
        ],
    },
    Row {
        wall: WallId::S7,
        shown: |scene| {
            scene.fixture.cpu(0, 0.99);
            scene.fixture.cpu(1, 0.99);
            scene.fixture.server_threads(&[(7, 0.95), (8, 0.93)]);
            scene.fixture.point.cpu.server_us_per_request = Some(1900.0);
            let mut lighter = Fixture::point(2, 1000.0);
            lighter.cpu.server_us_per_request = Some(900.0);
            scene.lighter = vec![lighter];
        },
        without: &[
            ("a cost that grows", |scene| {
                scene.lighter[0].cpu.server_us_per_request = Some(1800.0);
            }),
            ("a flat rate", |scene| scene.lighter[0].rate = 250.0),
            ("busy CPUs", |scene| {
                scene.fixture.cpu(0, 0.4);
                scene.fixture.cpu(1, 0.4);
            }),
            ("a ramp", |scene| scene.lighter.clear()),
        ],
    },
];

/// Eight requests in flight: two threads in such a call, six requests unread.
fn two_of_eight(scene: &mut Scene, doing: Doing) {
    scene.fixture.worker(0.05, 0.0);
    scene.fixture.doing(&[(1, 0.01, doing, None), (2, 0.01, doing, None)]);
    scene.fixture.unread_at_server(0.75);
}

const READ: (&str, Change) = ("unread requests", |scene| scene.fixture.unread_at_server(0.0));
const UNSEEN: (&str, Change) = ("states of threads", |scene| scene.fixture.observed.doing = None);
const COMPUTING: (&str, Change) =
    ("threads that wait", |scene| two_of_eight(scene, Doing::Running));

pub(super) const APPLICATION: &[Row] = &[
    Row {
        wall: WallId::A1,
        shown: |scene| {
            scene.fixture.worker(0.05, 0.0);
            let waits = |tid| (tid, 0.01, Doing::Futex, Some(7));
            scene.fixture.doing(&[(1, 0.01, Doing::Timer, None), waits(2), waits(3), waits(4)]);
            scene.fixture.unread_at_server(0.5);
        },
        without: &[
            ("one futex", |scene| {
                let waits = |tid| (tid, 0.01, Doing::Futex, Some(u64::from(tid)));
                scene.fixture.doing(&[waits(1), waits(2), waits(3), waits(4)]);
            }),
            ("requests at the lock", |scene| scene.fixture.unread_at_server(0.9)),
            ("a server with slack", |scene| scene.fixture.server_thread(0.9, 0.0)),
            UNSEEN,
        ],
    },
    Row {
        wall: WallId::A2,
        shown: |scene| two_of_eight(scene, Doing::Timer),
        without: &[
            READ,
            UNSEEN,
            COMPUTING,
            ("a plan that is not reached", |scene| {
                let point = &mut scene.fixture.point;
                point.load.model = LoadModel::Open;
                point.offered_rate = Some(point.rate);
                point.send_delay_ns = Some(Summary { p99: Some(20_000), ..Summary::default() });
            }),
        ],
    },
    Row {
        wall: WallId::A3,
        shown: |scene| {
            two_of_eight(scene, Doing::Receive);
            let (to, waiting) = ("10.0.0.9:5432".to_string(), 1.9);
            let one = DownstreamUse { to, connections: 2.0, waiting, heard_ms: None };
            scene.fixture.observed.downstreams = Some(vec![one]);
        },
        without: &[
            ("connections that wait", |scene| {
                scene.fixture.observed.downstreams.as_mut().unwrap()[0].waiting = 0.2;
            }),
            ("connections of the server", |scene| scene.fixture.observed.downstreams = None),
            READ,
            UNSEEN,
        ],
    },
    Row {
        wall: WallId::A4,
        shown: |scene| scene.fixture.refuse(0.3),
        without: &[
            ("refusals", |scene| {
                scene.fixture.point.status.insert("4xx".to_string(), 0);
            }),
            ("even responses", |scene| {
                for (at, tenth) in scene.fixture.point.per_100ms.iter_mut().enumerate() {
                    *tenth = *tenth + at as u64 % 2 * 30 - 15;
                }
            }),
            ("a watched server", |scene| scene.fixture.unwatched()),
        ],
    },
    Row {
        wall: WallId::A5,
        shown: |scene| {
            scene.fixture.stopped(0.1);
            scene.fixture.point.service_ns.max = Some(60_000_000);
        },
        without: &[
            ("stops", |scene| scene.fixture.stopped(0.0)),
            ("slow responses", |scene| scene.fixture.point.service_ns.max = Some(9_000_000)),
            UNSEEN,
        ],
    },
    Row {
        wall: WallId::A6,
        shown: |scene| {
            two_of_eight(scene, Doing::Storage);
            scene.fixture.observed.disk_busy = Some(0.8);
        },
        without: &[
            ("a disk in use", |scene| scene.fixture.observed.disk_busy = Some(0.01)),
            ("the disks", |scene| scene.fixture.observed.disk_busy = None),
            READ,
            UNSEEN,
            COMPUTING,
        ],
    },
    Row {
        wall: WallId::A7,
        shown: |scene| {
            scene.fixture.point.service_ns.p50 = Some(41_000_000);
            scene.fixture.tcp("TcpExt.DelayedACKs", 4_000);
            scene.fixture.unsent_at_server(0.8);
        },
        without: &[
            ("responses that take 40 ms", |scene| {
                scene.fixture.point.service_ns.p50 = Some(8_000_000);
            }),
            ("delayed acknowledgements", |scene| scene.fixture.tcp("TcpExt.DelayedACKs", 10)),
            ("responses in the sockets", |scene| scene.fixture.unsent_at_server(0.0)),
            ("counters", |scene| scene.fixture.observed.tcp = None),
        ],
    },
    Row {
        wall: WallId::A8,
        shown: |scene| {
            scene.fixture.point.connections.reopened = 500;
            scene.fixture.observed.listeners =
                Some(QueuePeak { queued: 6, backlog: 128, mean_queued: 6.0 });
        },
        without: &[
            ("connections opened again", |scene| scene.fixture.point.connections.reopened = 5),
            ("connections that wait", |scene| scene.fixture.observed.listeners = None),
            ("a server with slack", |scene| scene.fixture.server_thread(0.9, 0.0)),
        ],
    },
    Row {
        wall: WallId::A9,
        shown: |scene| {
            let observed: &mut Observed = &mut scene.fixture.observed;
            observed.pressure = Some(BTreeMap::from([("memory.some".to_string(), 0.3)]));
            observed.memory = Some(BTreeMap::from([("server.failcnt".to_string(), 500)]));
        },
        without: &[
            ("stalls", |scene| scene.fixture.observed.pressure = None),
            ("hits of the limit", |scene| scene.fixture.observed.memory = Some(BTreeMap::new())),
        ],
    },
    Row {
        wall: WallId::A10,
        shown: |scene| two_of_eight(scene, Doing::PipeWrite),
        without: &[READ, UNSEEN, COMPUTING],
    },
];
