//! The measurement itself and the generator.

use super::Row;
use crate::fixture::Fixture;
use model::histogram::Summary;
use model::load::LoadModel;
use model::wall::WallId;

pub(super) const MEASUREMENT: &[Row] = &[
    Row {
        wall: WallId::M1,
        shown: |scene| scene.fixture.point.rate *= 10.0,
        without: &[("more responses than were in flight", |scene| {
            scene.fixture.point.rate /= 10.0
        })],
    },
    Row {
        wall: WallId::M2,
        shown: |scene| {
            let point = &mut scene.fixture.point;
            point.load.model = LoadModel::Open;
            point.offered_rate = Some(point.rate);
            point.send_delay_ns = Some(Summary { p99: Some(20_000), ..Summary::default() });
        },
        without: &[
            ("all that was planned", |scene| scene.fixture.point.offered_rate = Some(1500.0)),
            ("on time", |scene| {
                let lag_ns = Some(Summary { p99: Some(9_000_000), ..Summary::default() });
                scene.fixture.point.send_delay_ns = lag_ns;
            }),
        ],
    },
    Row {
        wall: WallId::M3,
        shown: |scene| {
            for tenth in &mut scene.fixture.point.per_100ms[25..] {
                *tenth = *tenth * 2 / 3;
            }
        },
        without: &[("the change", |scene| {
            scene.fixture.point.per_100ms = Fixture::good().point.per_100ms;
        })],
    },
    Row {
        wall: WallId::M4,
        shown: |scene| {
            scene.fixture.mismatch(0.02);
        },
        without: &[
            ("responses that fail a check", |scene| scene.fixture.mismatch(0.0)),
            ("a good status", |scene| scene.fixture.refuse(0.02)),
        ],
    },
];

pub(super) const CLIENT: &[Row] = &[
    Row {
        wall: WallId::C1,
        shown: |scene| {
            scene.fixture.trial.cpus = vec![1];
            scene.fixture.worker(0.97, 0.02);
            scene.fixture.cpu(1, 0.99);
        },
        without: &[
            ("a busy CPU", |scene| scene.fixture.cpu(1, 0.60)),
            ("a worker that never sleeps", |scene| scene.fixture.worker(0.6, 0.02)),
            ("shares of CPUs", |scene| scene.fixture.observed.cpus = None),
        ],
    },
    Row {
        wall: WallId::C2,
        shown: |scene| scene.fixture.worker(0.98, 0.01),
        without: &[
            ("a worker that never sleeps", |scene| scene.fixture.worker(0.6, 0.01)),
            ("times of threads", |scene| scene.fixture.observed.client_threads = None),
        ],
    },
    Row {
        wall: WallId::C3,
        shown: |_| {},
        without: &[
            ("full places", |scene| scene.fixture.point.in_flight.limit *= 2),
            ("a server with slack", |scene| scene.fixture.server_thread(0.9, 0.0)),
            ("a generator with slack", |scene| scene.fixture.worker(0.9, 0.0)),
            ("requests that are read", |scene| scene.fixture.unread_at_server(0.5)),
            ("a watched server", |scene| scene.fixture.unwatched()),
        ],
    },
    Row {
        wall: WallId::C4,
        shown: |scene| {
            let point = &mut scene.fixture.point;
            point.load.model = LoadModel::Open;
            point.latency_punctual_ns = Some(Summary { p50: Some(0), ..Summary::default() });
        },
        without: &[
            ("late requests", |scene| {
                let point = &mut scene.fixture.point;
                point.latency_punctual_ns = Some(point.latency_ns.clone());
            }),
            ("a plan", |scene| scene.fixture.point.load.model = LoadModel::Closed),
        ],
    },
    Row {
        wall: WallId::C5,
        shown: |scene| {
            scene.fixture.shaper(1200.0, 0.9);
            scene.fixture.apart();
            scene.fixture.far().qdiscs = Some(Vec::new());
        },
        without: &[
            ("packets that wait", |scene| {
                scene.fixture.observed.qdiscs.as_mut().unwrap()[0].waiting = 0.1;
            }),
            ("packets held back", |scene| {
                scene.fixture.observed.qdiscs.as_mut().unwrap()[0].overlimits = 0;
            }),
            ("disciplines", |scene| scene.fixture.observed.qdiscs = None),
            ("a host of its own", |scene| scene.fixture.observed.far = None),
        ],
    },
    Row {
        wall: WallId::C7,
        shown: |scene| scene.fixture.error("ports", 5),
        without: &[("the error", |scene| scene.fixture.error("ports", 0))],
    },
    Row {
        wall: WallId::C8,
        shown: |scene| scene.fixture.error("fds", 5),
        without: &[("the error", |scene| scene.fixture.error("fds", 0))],
    },
    Row {
        wall: WallId::C9,
        shown: |scene| {
            scene.fixture.limited(0.9, 0.6, 0.0);
            scene.fixture.unread_at_client(0.4);
        },
        without: &[
            ("a closed window", |scene| scene.fixture.limited(0.9, 0.05, 0.0)),
            ("unread responses", |scene| scene.fixture.unread_at_client(0.0)),
            ("samples of sockets", |scene| scene.fixture.observed.census = None),
        ],
    },
];
