//! What a knob is. [`crate::knobs`] holds them, all of the same shape.

use crate::cpus::CpuSet;
use crate::host::{Device, Host, Wish};
use crate::place::Place;
use model::tuning::{Prediction, Scope, Signals, TakesEffect};
use model::wall::WallId;

/// One tunable.
pub struct Knob {
    /// Stable id, for example `T5`.
    pub id: &'static str,
    /// Stable name, for example `rps`; what the user types.
    pub name: &'static str,
    /// What it is, in a few words.
    pub about: &'static str,
    /// What a change touches.
    pub scope: Scope,
    /// When a change takes effect.
    pub takes_effect: TakesEffect,
    /// Whether a change can cut connections, ours included.
    pub is_disruptive: bool,
    /// Walls it can move.
    pub relieves: &'static [WallId],
    /// What a change can cost.
    pub risk: &'static str,
    /// How it is set, or what is advised.
    pub act: Act,
    /// What a change would do to the rate of a run: pure arithmetic over what the run measured.
    pub predict: fn(&Signals) -> Prediction,
}

impl Knob {
    /// Whether this word is its id or its name.
    pub fn is_called(&self, word: &str) -> bool {
        [self.id, self.name].iter().any(|own| own.eq_ignore_ascii_case(word))
    }

    /// Whether the user named it.
    pub fn is_named(&self, wish: &Wish) -> bool {
        wish.only.iter().any(|word| self.is_called(word))
    }
}

/// What a plan does with a knob.
pub enum Act {
    /// It has values that can be set and put back.
    Settable {
        /// Where they are on this host, within the wish; none when the host has none.
        places: fn(&Host, &Wish) -> Vec<Place>,
        /// What would be set at one of the places.
        propose: fn(&Ask<'_>) -> Proposal,
        /// How to see that a change works, beyond reading it back.
        sign: Option<Sign>,
    },
    /// A program or a person must change it; it is predicted and reported.
    Advice {
        /// The current value, when the host shows it.
        now: fn(&Host) -> Option<String>,
        /// What to do, in a sentence.
        advice: &'static str,
    },
}

/// A question to [`Act::Settable`]: what would you set here?
pub struct Ask<'a> {
    /// The host.
    pub host: &'a Host,
    /// The user's wish.
    pub wish: &'a Wish,
    /// The place.
    pub place: &'a Place,
    /// Which of the knob's places it is.
    pub index: usize,
    /// How many there are.
    pub count: usize,
    /// The value there now, normalised.
    pub now: &'a str,
}

impl Ask<'_> {
    /// The device that the place belongs to.
    pub fn device(&self) -> Option<&Device> {
        let name = self.place.device()?;
        self.host.devices.iter().find(|device| device.name == name)
    }

    /// CPUs for the packets of a device: the requested ones that are near it, or else all requested
    /// ones.
    pub fn cpus_for(&self, device: &Device) -> CpuSet {
        self.wish.cpus_for(self.host, device)
    }
}

/// What a knob would do at one place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Proposal {
    /// Set this value, normalised.
    Set(String),
    /// The profile does not touch it, and why.
    Leave(String),
    /// The profile would set it, but this is not possible here, and why.
    Refuse(String),
}

impl Proposal {
    /// Sets a number unless the value is at least that already.
    pub fn at_least(now: &str, number: u64) -> Self {
        match now.parse::<u64>() {
            Ok(now) if now >= number => Self::Leave(format!("{now} is enough")),
            _ => Self::Set(number.to_string()),
        }
    }
}

/// What shows that a change works, beyond the value itself.
#[derive(Debug, Clone, Copy)]
pub struct Sign {
    /// The name of the counter, in a few words.
    pub what: &'static str,
    /// Reads it: any text that [`Sign::judge`] understands; nothing when it cannot be read.
    pub read: fn(&Host, &Place) -> Option<String>,
    /// Compares the reading before the change with the one now, for the wanted value.
    pub judge: fn(before: &str, now: &str, wanted: &str) -> Effect,
}

/// What a sign says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// It works, and how that shows.
    Seen(String),
    /// Nothing happened yet that would show it, and what would.
    NotYet(String),
    /// It does not work.
    Missing(String),
}
