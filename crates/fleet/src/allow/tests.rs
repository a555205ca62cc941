//! What the allow-list lets through, in all forms in which addresses can be written.

use super::*;
use proptest::prelude::*;

fn allow(patterns: &[&str]) -> Allow {
    Allow::new(patterns.iter().map(|pattern| pattern.parse().unwrap()).collect())
}

fn url(text: &str) -> Url {
    Url::parse(text).unwrap()
}

fn to(addresses: &[&str]) -> Vec<SocketAddr> {
    addresses.iter().map(|address| address.parse().unwrap()).collect()
}

#[test]
fn a_pattern_matches_scheme_host_and_port() {
    let list = allow(&[
        "https://*.staging.example:443",
        "http://10.0.0.5:*",
        "tcp://[fd00::1]:5",
        "grpc://calls.test:50051",
        "grpcs://calls.test",
    ]);
    for right in [
        "https://a.staging.example/x?y",
        "https://A.b.Staging.Example:443",
        "https://a.staging.example.:443/",
        "http://10.0.0.5:8080/",
        "tcp://[fd00::1]:5",
        "grpc://calls.test:50051/a.B/C",
        "grpcs://calls.test/a.B/C",
    ] {
        assert_eq!(list.check_url(&url(right)), Ok(()), "{right}");
    }
    for wrong in [
        "http://a.staging.example:443",
        "https://a.staging.example:8443",
        "https://staging.example",
        "https://evilstaging.example",
        "https://a.staging.example.evil",
        "http://10.0.0.6:8080/",
        "https://10.0.0.5/",
        "tcp://[fd00::2]:5",
        "grpc://calls.test/a.B/C",
        "http://calls.test:50051/a.B/C",
        "grpc://10.0.0.5:8080/a.B/C",
    ] {
        assert!(list.check_url(&url(wrong)).is_err(), "{wrong}");
    }
    assert!(Allow::default().check_url(&url("http://a.test")).is_err(), "an empty list");
}

#[test]
fn what_is_no_pattern_is_refused() {
    for wrong in [
        "a.test",
        "ftp://a.test",
        "https://",
        "https://*a.test",
        "https://a.*.test",
        "https://*.",
        "https://user@a.test",
        "https://a.test/path",
        "https://a.test:0",
        "https://a.test:99999",
        "tcp://a.test",
        "https://127.1",
        "https://*.0x7f",
        "https://a..test",
        "https://[a]:1",
    ] {
        assert!(wrong.parse::<Pattern>().is_err(), "{wrong}");
    }
}

#[test]
fn an_address_in_an_unusual_form_is_no_name() {
    let list = allow(&["http://*:80"]);
    for wrong in ["http://2130706433", "http://127.1", "http://0x7f000001", "http://0177.0.0.1."] {
        assert!(matches!(list.check_url(&url(wrong)), Err(NotAllowed::Form(_))), "{wrong}");
    }
}

#[test]
fn peculiar_addresses_have_to_be_named() {
    let peculiar = [
        "127.0.0.1:80",
        "127.255.0.9:80",
        "0.0.0.0:80",
        "169.254.169.254:80",
        "169.254.0.1:80",
        "224.0.0.1:80",
        "255.255.255.255:80",
        "[::1]:80",
        "[::]:80",
        "[fe80::1]:80",
        "[ff02::1]:80",
        "[::ffff:127.0.0.1]:80",
        "[::ffff:169.254.169.254]:80",
        "[::127.0.0.1]:80",
        "[64:ff9b::7f00:1]:80",
        "[64:ff9b::a9fe:a9fe]:80",
        "[2002:7f00:1::]:80",
        "[fd00:ec2::254]:80",
        "[::ffff:0:127.0.0.1]:80",
        "100.100.100.200:80",
        "192.0.0.192:80",
        "168.63.129.16:80",
        "[fd20:ce::254]:80",
        "[fd00:c1::a9fe:a9fe]:80",
        "[fd00:42::42]:80",
        "[::ffff:100.100.100.200]:80",
        "[2002:a83f:8110::1]:80",
        "[64:ff9b:1::a9fe:a9fe]:80",
        "[64:ff9b:1:7f00:0:100::]:80",
        "[64:ff9b:1:a9:fe:a9fe::]:80",
        "[64:ff9b:1:0:a9:fea9:fe00:0]:80",
    ];
    let any = allow(&["http://*:80"]);
    let name = url("http://a.test");
    for address in peculiar {
        let refused = any.check_addresses(&name, &to(&[address]));
        assert!(matches!(refused, Err(NotAllowed::Address { .. })), "{address}");
        let both = any.check_addresses(&name, &to(&["192.0.2.1:80", address]));
        assert!(both.is_err(), "one of many is enough: {address}");
    }
    let ordinary = ["192.0.2.1:80", "10.1.2.3:80", "[2001:db8::1]:80", "[fd00::1]:80"];
    let near = ["100.100.100.201:80", "168.63.129.17:80", "[64:ff9b:1::c000:201]:80"];
    for address in ordinary.into_iter().chain(near) {
        assert_eq!(any.check_addresses(&name, &to(&[address])), Ok(()), "{address}");
    }
    assert!(matches!(any.check_addresses(&name, &[]), Err(NotAllowed::Nowhere(_))));
    assert!(matches!(any.check_addresses(&name, &to(&["192.0.2.1:81"])), Err(NotAllowed::Port(_))));
}

#[test]
fn an_address_that_is_named_is_allowed_for_what_it_was_named_for() {
    let list = allow(&["http://localhost:80", "http://127.0.0.1:80", "http://*:81"]);
    let local = url("http://localhost");
    assert_eq!(list.check_addresses(&local, &to(&["127.0.0.1:80"])), Ok(()));
    assert_eq!(list.check_addresses(&local, &to(&["[::ffff:127.0.0.1]:80"])), Ok(()));
    assert!(list.check_addresses(&local, &to(&["127.0.0.2:80"])).is_err());
    assert!(list.check_addresses(&local, &to(&["[::1]:80"])).is_err());
    let other = url("http://localhost:81");
    assert!(list.check_addresses(&other, &to(&["127.0.0.1:81"])).is_err(), "another port");
}

proptest! {
    #[test]
    fn no_host_outside_of_a_pattern_passes(host in "[a-z0-9.-]{1,30}", port in 1u16..) {
        let list = allow(&["https://*.staging.example:443"]);
        let is_inside = canonical(&host).ends_with(".staging.example") && port == 443;
        let passes = list.check((Scheme::Https, &host, port)).is_ok();
        prop_assert!(!passes || is_inside);
        prop_assert!(list.check((Scheme::Http, &host, port)).is_err());
    }

    #[test]
    fn every_form_of_a_peculiar_address_is_peculiar(address: u32) {
        let v4 = Ipv4Addr::from(address);
        let [a, b, c, d] = v4.octets();
        let low = u16::from_be_bytes([c, d]);
        let high = u16::from_be_bytes([a, b]);
        let forms = [
            v4.to_ipv6_mapped(),
            Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, high, low),
            Ipv6Addr::new(0x2002, high, low, 0, 0, 0, 0, 1),
        ];
        for form in forms {
            prop_assert_eq!(peculiar(form.into()), peculiar(v4.into()), "{}", form);
        }
        let is_plain = !v4.is_loopback() && !v4.is_link_local() && !v4.is_unspecified()
            && !v4.is_multicast() && !v4.is_broadcast();
        prop_assert!(is_plain || peculiar(v4.into()).is_some());
    }

    #[test]
    fn any_text_is_a_pattern_or_refused(text in ".{0,40}") {
        let _ = text.parse::<Pattern>();
        let _ = format!("https://{text}").parse::<Pattern>();
    }
}
