//! Names that are nearly another.

/// Names that are shown when none is near.
const SHOWN_MAX: usize = 6;

/// Which of `names` is meant by one that is none of them, as the end of a sentence.
pub(crate) fn near(typed: &str, names: &[String]) -> String {
    let least = names.iter().min_by_key(|name| distance(typed, name));
    match least {
        None => "; there is none at all".to_string(),
        Some(name) if distance(typed, name) <= 1 + typed.len() / 4 => {
            format!("; did you mean {name}?")
        }
        Some(_) => {
            let shown: Vec<&str> = names.iter().take(SHOWN_MAX).map(String::as_str).collect();
            let more = if names.len() > SHOWN_MAX { ", .." } else { "" };
            format!("; there is {}{more}", shown.join(", "))
        }
    }
}

/// Letters to insert, remove or change, capitals being the same (Levenshtein).
fn distance(left: &str, right: &str) -> usize {
    let right: Vec<char> = right.to_lowercase().chars().collect();
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (nth, letter) in left.to_lowercase().chars().enumerate() {
        let mut before = std::mem::replace(&mut row[0], nth + 1);
        for (at, other) in right.iter().enumerate() {
            let changed = before + usize::from(letter != *other);
            before = row[at + 1];
            row[at + 1] = changed.min(before + 1).min(row[at] + 1);
        }
    }
    row[right.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_nearly_typed_is_meant() {
        let names = ["Read", "Write", "Watch"].map(str::to_string);
        assert_eq!(near("read", &names), "; did you mean Read?");
        assert_eq!(near("Delete", &names), "; there is Read, Write, Watch");
        assert_eq!(near("Wach", &names), "; did you mean Watch?");
        assert_eq!(near("x", &[]), "; there is none at all");
        assert_eq!((distance("kitten", "sitting"), distance("", "ab")), (3, 2));
    }
}
