//! Every place of a virtual device, written and put back.

use crate::namespace::{shell, with_four_queues};
use crate::shared::{PutBack, turn};
use std::collections::BTreeSet;
use std::fs;
use tune::{Act, DriverSetting, Format, Host, Place, REGISTRY, Wish};

/// Knobs of the network of a namespace that have a place on a virtual device.
const KNOBS: &[&str] = &["T3", "T5", "T6", "T8", "T9", "T11", "T18", "T19", "T22"];

fn look() -> (Host, Wish) {
    let wish = Wish { device: Some("v0".to_string()), ..Wish::default() };
    (Host::look(Default::default()), wish)
}

/// Places of a knob that exist here.
fn places(id: &str, host: &Host, wish: &Wish) -> Vec<Place> {
    let knob = REGISTRY.iter().find(|knob| knob.id == id).unwrap();
    let Act::Settable { places, .. } = knob.act else { panic!("{id} is settable") };
    let all = places(host, wish).into_iter();
    all.filter(|place| place.read(host).unwrap().is_some()).collect()
}

fn raw(place: &Place, host: &Host) -> String {
    place.read(host).unwrap().unwrap().raw
}

/// A value that is not there now.
fn another(place: &Place, now: &str) -> String {
    let one_of = |left: &str, right: &str| if now == left { right } else { left }.to_string();
    match place {
        Place::File { format: Format::Mask, .. } => one_of("0", ""),
        Place::File { path, .. } if path.ends_with("threaded") => one_of("1", "0"),
        Place::File { format: Format::NumberToPowerOfTwo, .. } => one_of("1000", "0"),
        Place::File { .. } => one_of("500", "501"),
        Place::Ethtool { setting: DriverSetting::Channels, .. } => one_of("rx 2 tx 3", "rx 4 tx 4"),
        Place::Ethtool { .. } => one_of("on", "off"),
        Place::Qdisc { .. } => one_of("pfifo", "default"),
        other => panic!("not of a device: {other:?}"),
    }
}

#[test]
fn every_place_is_written_read_and_put_back_to_the_byte() {
    with_four_queues(|| {
        let (host, wish) = look();
        // A virtual pair polls, and so has polling threads, only while it joins segments.
        let gro = DriverSetting::Feature("rx-gro".to_string());
        let gro = Place::Ethtool { device: "v0".to_string(), setting: gro };
        gro.write(&host, "on", &gro.read(&host).unwrap().unwrap()).unwrap();
        let all: Vec<(&str, Place)> = KNOBS
            .iter()
            .flat_map(|id| places(id, &host, &wish).into_iter().map(|place| (*id, place)))
            .collect();
        let there: BTreeSet<&str> = all.iter().map(|(id, _)| *id).collect();
        // Kernels before 6.3 have a default for RPS (T9) in the first namespace only.
        let has_default = fs::exists("/proc/sys/net/core/rps_default_mask").unwrap();
        let expected = KNOBS.iter().copied().filter(|id| *id != "T9" || has_default);
        assert_eq!(there, expected.collect(), "each has a place here");
        let at_first: Vec<String> = all.iter().map(|(_, place)| raw(place, &host)).collect();
        for (id, place) in &all {
            let before = place.read(&host).unwrap().unwrap();
            let value = another(place, &before.value);
            place.write(&host, &value, &before).unwrap_or_else(|error| panic!("{id}: {error}"));
            let now = place.read(&host).unwrap().unwrap();
            assert_eq!(now.value, place.settles_to(&value), "{id} {}", place.show());
            assert_ne!(now.value, before.value, "{id} {}", place.show());
            place.write(&host, &before.value, &now).unwrap_or_else(|error| panic!("{id}: {error}"));
            assert_eq!(raw(place, &host), before.raw, "{id} {}", place.show());
        }
        let at_last: Vec<String> = all.iter().map(|(_, place)| raw(place, &host)).collect();
        assert_eq!(at_first, at_last, "none of them changed another");
    });
}

#[test]
fn what_a_virtual_device_lacks_is_absent() {
    with_four_queues(|| {
        let (host, wish) = look();
        // Kernels before 6.9 have limits of bytes (T23) for devices that never use them.
        for id in ["T1", "T4", "T16", "T17"] {
            assert_eq!(places(id, &host, &wish), [], "{id}");
        }
        let lro = DriverSetting::Feature("rx-lro".to_string());
        let lro = Place::Ethtool { device: "v0".to_string(), setting: lro };
        assert_eq!(lro.read(&host).unwrap(), None, "fixed");
    });
}

#[test]
fn what_a_driver_can_wait_for_is_set_and_what_it_cannot_is_refused() {
    with_four_queues(|| {
        assert!(shell("ip tuntap add t0 mode tap"), "no taps here, whose driver counts frames");
        let (host, _) = look();
        let place = Place::Ethtool { device: "t0".to_string(), setting: DriverSetting::Coalescing };
        let before = place.read(&host).unwrap().unwrap();
        let none = "adaptive-rx 0 adaptive-tx 0 rx-usecs 0 rx-frames 0 tx-usecs 0 tx-frames 0";
        assert_eq!(before.value, none);
        let some = none.replace("rx-frames 0", "rx-frames 16");
        place.write(&host, &some, &before).unwrap();
        assert_eq!(place.read(&host).unwrap().unwrap().value, some);
        let time = none.replace("rx-usecs 0", "rx-usecs 64");
        let error = place.write(&host, &time, &before).unwrap_err().to_string();
        assert!(error.starts_with("t0 coalescing: the driver cannot do this"), "{error}");
        place.write(&host, &before.value, &before).unwrap();
        assert_eq!(place.read(&host).unwrap().unwrap(), before);
    });
}

#[test]
fn a_foreign_discipline_is_left_alone() {
    with_four_queues(|| {
        let (host, _) = look();
        assert!(shell("tc qdisc replace dev v0 root handle 8001: bfifo"));
        let place = Place::Qdisc { device: "v0".to_string() };
        let now = place.read(&host).unwrap().unwrap();
        assert_eq!((now.raw.as_str(), now.value.as_str()), ("bfifo 8001:", "bfifo 8001:"));
        for value in ["pfifo", "default"] {
            let error = place.write(&host, value, &now).unwrap_err().to_string();
            assert!(error.contains("another program"), "{error}");
        }
        assert_eq!(place.read(&host).unwrap(), Some(now));
    });
}

#[test]
fn ours_is_replaced_by_ours_and_an_unknown_kind_is_refused() {
    with_four_queues(|| {
        let (host, _) = look();
        let place = Place::Qdisc { device: "v0".to_string() };
        let before = place.read(&host).unwrap().unwrap();
        for kind in ["pfifo", "bfifo", "default"] {
            let now = place.read(&host).unwrap().unwrap();
            place.write(&host, kind, &now).unwrap();
            assert_eq!(place.read(&host).unwrap().unwrap().value, kind);
        }
        assert!(place.write(&host, "no_such_kind", &before).is_err());
        assert_eq!(place.read(&host).unwrap(), Some(before));
    });
}

#[test]
fn a_device_that_vanishes_is_absent_and_refuses() {
    with_four_queues(|| {
        let (host, wish) = look();
        let all: Vec<Place> = KNOBS
            .iter()
            .flat_map(|id| places(id, &host, &wish))
            .filter(|place| place.device().is_some())
            .collect();
        let seen: Vec<_> = all.iter().map(|place| place.read(&host).unwrap().unwrap()).collect();
        assert!(shell("ip link del v0"));
        for (place, seen) in all.iter().zip(seen) {
            assert_eq!(place.read(&host).unwrap(), None, "{}", place.show());
            assert!(place.write(&host, &seen.value, &seen).is_err(), "{}", place.show());
        }
    });
}

/// Knobs whose places are on this host and can be changed for a moment without cutting a
/// connection.
const OF_THE_HOST: &[&str] = &["T1", "T5", "T6", "T9", "T10", "T11", "T19", "T20", "T22", "T23"];

#[test]
fn places_of_this_host_are_written_and_put_back() {
    let _turn = turn();
    let host = Host::look(Default::default());
    let wish = Wish::default();
    for id in ["T3", "T4", "T16", "T17", "T18"] {
        for place in places(id, &host, &wish) {
            println!("{id} {}: {}, left alone", place.show(), raw(&place, &host));
        }
    }
    let mut changed = BTreeSet::new();
    for id in OF_THE_HOST {
        for place in places(id, &host, &wish) {
            if matches!(place, Place::Qdisc { .. }) || place.show().ends_with("default_qdisc") {
                continue;
            }
            let before = place.read(&host).unwrap().unwrap();
            let value = match &place {
                Place::File { format: Format::List, .. } if before.value == "1" => "0".to_string(),
                Place::File { format: Format::List, .. } => "1".to_string(),
                Place::File { path, .. } if path.ends_with("table_len") => "8192".to_string(),
                Place::File { path, .. } if path.ends_with("limit_max") => "1879048191".to_string(),
                _ => another(&place, &before.value),
            };
            let put_back = PutBack { host: &host, place: &place, before: before.clone() };
            let written = place.write(&host, &value, &before);
            let now = place.read(&host).unwrap().unwrap();
            drop(put_back);
            let last = raw(&place, &host);
            println!("{id} {}: {} -> {} {written:?}", place.show(), before.value, now.value);
            assert_eq!(last, before.raw, "{id} {}", place.show());
            match written {
                Ok(()) => {
                    assert_eq!(now.value, place.settles_to(&value), "{id} {}", place.show());
                    assert_ne!(now.value, before.value, "{id} {}", place.show());
                    changed.insert(id);
                }
                Err(error) => {
                    assert_eq!(now, before, "{id} {}: nothing half done", place.show());
                    let is_known = ["the driver cannot", "the kernel manages this interrupt"];
                    let error = error.to_string();
                    assert!(is_known.iter().any(|why| error.contains(why)), "{id}: {error}");
                }
            }
        }
    }
    // These exist on every kernel with a network.
    assert!(changed.contains(&"T10") && changed.contains(&"T20"), "{changed:?}");
}
