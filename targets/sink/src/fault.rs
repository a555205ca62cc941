//! Faults, and the share of responses that have each.

use std::str::FromStr;

use crate::quantity::{share, unfit};
use crate::random::Random;

/// Gives a share of responses another status: `500:1%`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StatusShare {
    /// The status, 200 to 599.
    pub status: u16,
    /// The share, 0 to 1.
    pub share: f64,
}

impl FromStr for StatusShare {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (status, part) = text.split_once(':').ok_or_else(unfit)?;
        let share = share(part).ok_or_else(unfit)?;
        let status = status.parse().ok().filter(|code| (200..600).contains(code));
        Ok(Self { status: status.ok_or_else(unfit)?, share })
    }
}

/// How one response is treated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// The correct response.
    Good,
    /// It has this status instead.
    Status(u16),
    /// It ends in the middle of its body, and the connection with it.
    Truncated,
    /// It is not HTTP.
    Garbage,
}

/// The shares of all faults; the rest is good.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Faults {
    shares: Vec<(Fate, f64)>,
}

impl Faults {
    /// The shares, or nothing if they add up to more than 1.
    pub fn new(garbage: f64, truncated: f64, statuses: &[StatusShare]) -> Option<Self> {
        let statuses = statuses.iter().map(|part| (Fate::Status(part.status), part.share));
        let shares: Vec<_> = [(Fate::Garbage, garbage), (Fate::Truncated, truncated)]
            .into_iter()
            .chain(statuses)
            .filter(|&(_, share)| share > 0.0)
            .collect();
        let sum: f64 = shares.iter().map(|(_, share)| share).sum();
        (sum <= 1.0 + 1e-9).then_some(Self { shares })
    }

    /// Whether every response is good.
    pub fn is_none(&self) -> bool {
        self.shares.is_empty()
    }

    /// Draws the fate of the next response.
    #[inline]
    pub fn draw(&self, random: &mut Random) -> Fate {
        if self.is_none() {
            return Fate::Good;
        }
        let mut left = random.unit();
        for &(fate, share) in &self.shares {
            if left < share {
                return fate;
            }
            left -= share;
        }
        Fate::Good
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_fate_gets_its_share() {
        let statuses: Vec<StatusShare> =
            ["500:20%", "404:10%"].map(|text| text.parse().unwrap()).to_vec();
        let faults = Faults::new(0.05, 0.15, &statuses).unwrap();
        let mut random = Random::new(1, 0);
        let fates: Vec<Fate> = (0..100_000).map(|_| faults.draw(&mut random)).collect();
        for (fate, percent) in [
            (Fate::Garbage, 5),
            (Fate::Truncated, 15),
            (Fate::Status(500), 20),
            (Fate::Status(404), 10),
            (Fate::Good, 50),
        ] {
            let count = fates.iter().filter(|&&seen| seen == fate).count();
            assert!(count.abs_diff(percent * 1_000) < 600, "{fate:?}: {count}");
        }
    }

    #[test]
    fn more_than_all_is_refused() {
        assert_eq!(Faults::new(0.6, 0.5, &[]), None);
        assert!(Faults::new(0.5, 0.5, &[]).is_some());
        assert!(Faults::new(0.0, 0.0, &[]).unwrap().is_none());
    }

    #[test]
    fn a_status_share_is_a_code_and_a_percentage() {
        assert_eq!("500:1%".parse(), Ok(StatusShare { status: 500, share: 0.01 }));
        for wrong in ["", "500", "500:1", "99:1%", "600:1%", "x:1%", "100:1%"] {
            assert!(wrong.parse::<StatusShare>().is_err(), "{wrong:?}");
        }
    }
}
