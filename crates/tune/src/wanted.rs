//! The user's request checked against a host: from an option, a plan, or the line of a probe.

use crate::cpus::CpuSet;
use crate::host::{Host, Profile, Split, Wish};
use crate::knobs::REGISTRY;
use crate::knobs::find;
use model::tuning::Wanted;

impl Wish {
    /// The wish, if this host can meet it. An error names the option, the accepted values and an
    /// example.
    pub fn resolve(wanted: &Wanted, host: &Host) -> Result<Self, String> {
        let profile = wanted.profile.as_deref().map_or(Ok(Profile::default()), Profile::named)?;
        if let Some(name) = &wanted.device {
            check_device(name, host)?;
        }
        let split = wanted.cpus.as_deref().map(Split::parse).transpose()?;
        if let Some(split) = &split {
            check_usable(split, host)?;
        }
        let only = wanted.only.iter().map(|word| knob(word)).collect::<Result<_, _>>()?;
        let (device, values) = (wanted.device.clone(), wanted.values.clone());
        Ok(Self { profile, device, split, only, values })
    }
}

impl Profile {
    /// A profile by its name, or an error that lists the names.
    pub fn named(text: &str) -> Result<Self, String> {
        Self::parse(text).ok_or_else(|| {
            let names = Self::ALL.map(Self::name).join(", ");
            format!("'{text}' is not a profile; there are {names}; for example latency")
        })
    }
}

impl Split {
    /// Two lists with a slash between them.
    pub fn parse(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!("'{text}' is not CPUs for packets / CPUs for the server; for example 0-3/4-7")
        };
        let (network, server) = text.split_once('/').ok_or_else(wrong)?;
        let set = |list: &str| CpuSet::parse_list(list).ok().filter(|set| !set.is_empty());
        let (network, server) = set(network).zip(set(server)).ok_or_else(wrong)?;
        Ok(Self { network, server })
    }
}

/// The id of a knob by its id or its name.
pub fn knob(text: &str) -> Result<String, String> {
    let names = || REGISTRY.iter().map(|knob| knob.name).collect::<Vec<_>>().join(", ");
    let known = find(text).map(|knob| knob.id.to_string());
    known.ok_or_else(|| {
        format!("there is no knob '{text}'; there are {}; for example --only rps", names())
    })
}

fn check_device(name: &str, host: &Host) -> Result<(), String> {
    if host.devices.iter().any(|device| device.name == name) {
        return Ok(());
    }
    let names: Vec<_> = host.devices.iter().map(|device| device.name.as_str()).collect();
    let here = match names[..] {
        [] => "this host has only lo".to_string(),
        [first, ..] => format!("here are {}; for example --device {first}", names.join(", ")),
    };
    Err(format!("--device {name}: no such device; {here}"))
}

fn check_usable(split: &Split, host: &Host) -> Result<(), String> {
    let usable = host.usable_cpus();
    for set in [&split.network, &split.server] {
        let not = set.without(&usable);
        if !not.is_empty() {
            return Err(format!(
                "--cpus {}/{}: CPUs {} are not usable here, {all} are; for example --cpus \
                 {all}/{all}",
                split.network.list(),
                split.server.list(),
                not.list(),
                all = usable.list(),
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::MadeUp;

    #[test]
    fn cpus_are_two_lists() {
        let both = Split::parse("0-3/4,6").unwrap();
        assert_eq!((both.network.list(), both.server.list()), ("0-3".into(), "4,6".into()));
        for wrong in ["0-3", "/", "0/", "/1", "a/b", "1/2/3", "3-1/0"] {
            assert!(Split::parse(wrong).unwrap_err().contains("for example"), "{wrong}");
        }
    }

    #[test]
    fn knobs_are_known_by_id_and_by_name() {
        assert_eq!(knob("t5").unwrap(), "T5");
        assert_eq!(knob("SOMAXCONN").unwrap(), "T29");
        assert!(knob("no-such").unwrap_err().contains("somaxconn"));
    }

    #[test]
    fn a_missing_device_is_reported_with_those_that_exist() {
        let made = MadeUp::new("wanted", 4).device("eth0", 2);
        let host = made.host();
        let wanted = |device: Option<&str>, cpus: Option<&str>, profile: Option<&str>| {
            let owned = |text: Option<&str>| text.map(str::to_string);
            let only = vec!["rps".to_string()];
            let (device, cpus, profile) = (owned(device), owned(cpus), owned(profile));
            Wish::resolve(&Wanted { profile, device, cpus, only, ..Wanted::default() }, &host)
        };
        let wish = wanted(Some("eth0"), Some("0-1/2-3"), Some("latency")).unwrap();
        assert_eq!((wish.profile, wish.only), (Profile::Latency, vec!["T5".to_string()]));
        assert!(wanted(Some("eth7"), None, None).unwrap_err().contains("here are eth0"));
        assert!(wanted(None, Some("0/4"), None).unwrap_err().contains("CPUs 4 are not usable"));
        assert!(wanted(None, None, Some("fast")).unwrap_err().contains("seeds, throughput"));
    }
}
