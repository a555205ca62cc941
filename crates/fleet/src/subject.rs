//! The subjects of a fleet.
//!
//! A name is one part of a subject, so it contains no character that a broker would read as a
//! separator or as a wildcard.

/// Longest name of a fleet or of an agent, in characters.
pub const NAME_MAX: usize = 63;

/// Whether a text may name a fleet or an agent: letters, digits, `-` and `_`.
pub fn is_name(text: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    (1..=NAME_MAX).contains(&text.len()) && text.bytes().all(is_part)
}

/// Where an agent says hello. Each has its own subject, so that no agent can say hello for another.
/// A controller subscribes to all with `*` as the agent.
pub fn hello(fleet: &str, agent: &str) -> String {
    format!("ceiling.{fleet}.hello.{agent}")
}

/// Where a controller calls all agents of a fleet.
pub fn call(fleet: &str) -> String {
    format!("ceiling.{fleet}.call")
}

/// Where an agent reports.
pub fn up(fleet: &str, agent: &str) -> String {
    format!("ceiling.{fleet}.agent.{agent}.up")
}

/// Where an agent receives orders.
pub fn down(fleet: &str, agent: &str) -> String {
    format!("ceiling.{fleet}.agent.{agent}.down")
}

/// The agent whose hello comes on a subject; `None` for any other subject.
pub fn agent_of_hello<'a>(fleet: &str, subject: &'a str) -> Option<&'a str> {
    let rest = subject.strip_prefix("ceiling.")?.strip_prefix(fleet)?;
    rest.strip_prefix(".hello.").filter(|name| is_name(name))
}

/// The agent whose reports come on a subject; `None` for any other subject.
pub fn agent_of_up<'a>(fleet: &str, subject: &'a str) -> Option<&'a str> {
    let rest = subject.strip_prefix("ceiling.")?.strip_prefix(fleet)?.strip_prefix(".agent.")?;
    rest.strip_suffix(".up").filter(|name| is_name(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_one_part_of_a_subject() {
        for right in ["a", "a3", "zone-a_7", &"x".repeat(NAME_MAX)] {
            assert!(is_name(right), "{right}");
        }
        for wrong in ["", "a.b", "*", ">", "a b", "ä", &"x".repeat(NAME_MAX + 1)] {
            assert!(!is_name(wrong), "{wrong}");
        }
    }

    #[test]
    fn an_agent_is_known_by_its_subject() {
        assert_eq!(agent_of_up("f", &up("f", "a3")), Some("a3"));
        assert_eq!(agent_of_hello("f", &hello("f", "a3")), Some("a3"));
        let call = call("f");
        for other in [&up("g", "a3"), &down("f", "a3"), &call, "ceiling.f.agent.a.b.up"] {
            assert_eq!((agent_of_up("f", other), agent_of_hello("f", other)), (None, None));
        }
    }
}
