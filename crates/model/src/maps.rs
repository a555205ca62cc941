//! Pairs as a map.
//!
//! What this room is for: small maps from pairs. std's `collect` has a whole sort in it, which is
//! compiled for each kind of iterator.
//! In: pairs. Out: a map. Never: large maps, for which a sort is faster.

use std::collections::BTreeMap;

/// Pairs as a map.
pub trait IntoMap<K, V> {
    /// Like `collect`: of several pairs with one key, the value of the last stays.
    ///
    /// std sorts the pairs first, with a sort of 4 kB that is compiled for each kind of iterator.
    /// Our maps are small, and pairs are inserted one by one.
    fn into_map(self) -> BTreeMap<K, V>;
}

impl<K: Ord, V, I: IntoIterator<Item = (K, V)>> IntoMap<K, V> for I {
    fn into_map(self) -> BTreeMap<K, V> {
        let mut map = BTreeMap::new();
        for (key, value) in self {
            map.insert(key, value);
        }
        map
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_map_is_what_collect_makes() {
        let pairs = [("b", 1), ("a", 2), ("b", 3), ("c", 4), ("a", 5)];
        for count in 0..=pairs.len() {
            let collected: BTreeMap<&str, i32> = pairs.into_iter().take(count).collect();
            assert_eq!(pairs.into_iter().take(count).into_map(), collected);
        }
        assert_eq!(pairs.into_map(), BTreeMap::from([("a", 5), ("b", 3), ("c", 4)]));
    }
}
