//! What people type and what files hold never panics, and is bounded.

use model::objective::Objective;
use model::run::{Point, Record};
use model::units::{LEVELS_MAX, Levels, parse_count, parse_duration_ns, parse_rate};

/// Ends with a panic where one of them does not hold.
pub fn hold(bytes: &[u8]) {
    if let Ok(text) = std::str::from_utf8(bytes) {
        let _ = (parse_count(text), parse_duration_ns(text), parse_rate(text));
        if let Ok(levels) = Levels::parse(text) {
            let all = levels.all();
            assert!((1..=LEVELS_MAX).contains(&all.len()) && all[0] >= 1);
            assert_eq!(all.last(), Some(&levels.highest()));
            assert!(all.windows(2).all(|pair| pair[0] < pair[1]));
        }
        if let Ok(objective) = text.parse::<Objective>() {
            assert_eq!(objective.to_string().parse(), Ok(objective));
        }
    }
    let _ = serde_json::from_slice::<Record>(bytes);
    let _ = serde_json::from_slice::<Point>(bytes);
}
