//! Sets of CPUs, as the kernel writes and reads them.
//!
//! Lists: `0-3,8`. Masks: hexadecimal groups of 32 bits with commas between them, the highest
//! first, no `0x`. The kernel refuses a mask with more groups than it has CPUs for, or with a bit
//! of an impossible CPU: `lib/bitmap-str.c`, `bitmap_parse`. So a mask is always written as wide as
//! the file that takes it shows its own.

use crate::scan;
use std::collections::BTreeSet;

/// CPUs by number; or queues, where a file has a mask of those.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct CpuSet(BTreeSet<u32>);

impl CpuSet {
    /// What a list such as `0-3,8` holds; an empty text is the empty set.
    pub fn parse_list(text: &str) -> Result<Self, String> {
        let wrong = || format!("'{text}' is not a list of CPUs; for example 0-3,8");
        let cpus = scan::cpu_list(text.as_bytes()).map_err(|_| wrong())?;
        Ok(Self(cpus.into_iter().collect()))
    }

    /// What a mask holds.
    pub fn parse_mask(text: &str) -> Result<Self, String> {
        let wrong = || format!("'{text}' is not a mask of groups of 8 hexadecimal digits");
        let mut set = BTreeSet::new();
        for (group, digits) in text.trim().rsplit(',').enumerate() {
            let is_right = (1..=8).contains(&digits.len());
            let bits = u32::from_str_radix(digits, 16).ok().filter(|_| is_right);
            let bits = bits.filter(|_| !digits.starts_with('+')).ok_or_else(wrong)?;
            let base = 32 * u32::try_from(group).map_err(|_| wrong())?;
            set.extend((0..32).filter(|bit| bits & (1 << bit) != 0).map(|bit| base + bit));
        }
        Ok(Self(set))
    }

    /// As a list.
    pub fn list(&self) -> String {
        let mut parts: Vec<(u32, u32)> = Vec::new();
        for &cpu in &self.0 {
            match parts.last_mut() {
                Some((_, last)) if *last + 1 == cpu => *last = cpu,
                _ => parts.push((cpu, cpu)),
            }
        }
        let show = |(first, last): (u32, u32)| match last - first {
            0 => first.to_string(),
            _ => format!("{first}-{last}"),
        };
        parts.into_iter().map(show).collect::<Vec<_>>().join(",")
    }

    /// As a mask of this many groups, full width each, or more when the set needs them.
    pub fn mask(&self, groups: usize) -> String {
        let needed = self.0.last().map_or(1, |last| *last as usize / 32 + 1);
        let mut words = vec![0u32; groups.max(needed)];
        for cpu in &self.0 {
            words[*cpu as usize / 32] |= 1 << (cpu % 32);
        }
        words.iter().rev().map(|word| format!("{word:08x}")).collect::<Vec<_>>().join(",")
    }

    /// Its members, ascending.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = u32> + '_ {
        self.0.iter().copied()
    }

    /// How many.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether it is a member.
    pub fn contains(&self, cpu: u32) -> bool {
        self.0.contains(&cpu)
    }

    /// Members of both.
    pub fn and(&self, other: &Self) -> Self {
        Self(self.0.intersection(&other.0).copied().collect())
    }

    /// Members of this one only.
    pub fn without(&self, other: &Self) -> Self {
        Self(self.0.difference(&other.0).copied().collect())
    }
}

impl FromIterator<u32> for CpuSet {
    fn from_iter<T: IntoIterator<Item = u32>>(members: T) -> Self {
        Self(members.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_and_masks_hold_the_same() {
        let set = CpuSet::parse_list("0-3,8,33\n").unwrap();
        assert_eq!(set.list(), "0-3,8,33");
        assert_eq!(set.mask(1), "00000002,0000010f");
        assert_eq!(set.mask(4), "00000000,00000000,00000002,0000010f");
        assert_eq!(CpuSet::parse_mask("2,10f").unwrap(), set);
        assert_eq!(CpuSet::default().mask(2), "00000000,00000000");
    }

    #[test]
    fn what_the_kernel_refuses_is_refused() {
        for wrong in ["0x3", "0-1", "g", "", ",", "+3", "123456789", "3,,3"] {
            assert!(CpuSet::parse_mask(wrong).is_err(), "{wrong}");
        }
        for wrong in ["3-1", "a", "1-", "-1", "99999999"] {
            assert!(CpuSet::parse_list(wrong).is_err(), "{wrong}");
        }
    }
}
