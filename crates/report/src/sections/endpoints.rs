//! Destination and source addresses of connections, when there was a choice.

use crate::page::Fact;
use crate::wording::plural;
use model::route::Lookup;
use model::run::Target;

/// Addresses that are listed; the rest are counted.
const ADDRESSES_MAX: usize = 8;

/// The resolved addresses of a name, and the source addresses.
pub fn facts(target: &Target) -> Vec<Fact> {
    let addresses = resolution_phrase(target).map(|text| Fact::new("Addresses", text));
    let sources = sources_phrase(target).map(|text| Fact::new("Sources", text));
    addresses.into_iter().chain(sources).collect()
}

/// The first few entries of a list that may be long.
pub fn some_of(list: &[String]) -> String {
    let shown = list[..list.len().min(ADDRESSES_MAX)].join(", ");
    match list.len() - list.len().min(ADDRESSES_MAX) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

/// The resolved addresses and how often each was used; nothing when there was no choice.
fn resolution_phrase(target: &Target) -> Option<String> {
    let resolution = target.resolution.as_ref()?;
    let how = match resolution.how {
        Lookup::Literal | Lookup::UnixSocket => return None,
        Lookup::Resolver => "by the resolver, asked once",
        Lookup::Given => "by --resolve",
    };
    let used = |address: &String| {
        let found = target.addresses_used.iter().find(|used| used.address == *address);
        let use_of = match found {
            Some(used) => plural(used.connections, "connection"),
            None => "not used".to_string(),
        };
        format!("{address} ({use_of})")
    };
    let addresses: Vec<_> = resolution.addresses.iter().map(used).collect();
    Some(format!("{} {how}: {}", resolution.name, some_of(&addresses)))
}

/// The source addresses; nothing when the kernel chose.
fn sources_phrase(target: &Target) -> Option<String> {
    let sources: Vec<_> = target.sources_used.iter().map(|used| used.address.clone()).collect();
    let connections = || target.sources_used.iter().map(|used| used.connections);
    let (least, most) = (connections().min()?, connections().max()?);
    let each = if least == most {
        plural(most, "connection")
    } else {
        format!("{least} to {}", plural(most, "connection"))
    };
    Some(format!("{}, in turn, {each} each", some_of(&sources)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::route::Resolution;
    use model::run::EndUse;

    fn uses(list: &[(&str, u64)]) -> Vec<EndUse> {
        let one = |(address, connections): &(&str, u64)| EndUse {
            address: (*address).to_string(),
            connections: *connections,
        };
        list.iter().map(one).collect()
    }

    #[test]
    fn a_choice_is_shown_with_how_it_was_used() {
        let resolution = |how| Resolution {
            name: "a.test:80".to_string(),
            how,
            addresses: vec!["[::1]:80".to_string(), "127.0.0.1:80".to_string()],
        };
        let mut target = Target {
            resolution: Some(resolution(Lookup::Resolver)),
            addresses_used: uses(&[("127.0.0.1:80", 5)]),
            sources_used: uses(&[("127.0.0.1", 2), ("127.0.0.2", 1), ("127.0.0.3", 2)]),
            ..Target::default()
        };
        let asked = "a.test:80 by the resolver, asked once: [::1]:80 (not used), 127.0.0.1:80 (5 \
                     connections)";
        assert_eq!(resolution_phrase(&target).unwrap(), asked);
        let sources = "127.0.0.1, 127.0.0.2, 127.0.0.3, in turn, 1 to 2 connections each";
        assert_eq!(sources_phrase(&target).unwrap(), sources);
        let many: Vec<_> = (0..20).map(|host| format!("10.0.0.{host}")).collect();
        assert!(some_of(&many).ends_with("10.0.0.7 and 12 more"), "{}", some_of(&many));
        target = Target { resolution: Some(resolution(Lookup::Literal)), ..Target::default() };
        assert!(facts(&target).is_empty());
    }
}
