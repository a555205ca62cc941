//! The command line of a tool, read as that tool reads it, and translated into ours. An unknown
//! option is an error: a load that differs from the requested one must not give a result.

use model::units::parse_count;
use std::collections::BTreeMap;

/// A command line of a tool.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Typed {
    /// The load in our words, from the sub-command on.
    pub words: Vec<String>,
    /// What was typed about the layout, by the first name of its option.
    pub layout: BTreeMap<&'static str, String>,
}

impl Typed {
    /// The value of an option of ours.
    pub(crate) fn value(&self, ours: &str) -> Option<&str> {
        let at = self.words.iter().rposition(|word| word == ours)?;
        self.words.get(at + 1).map(String::as_str)
    }

    /// The value of an option of ours as a number, where it is one; a wrong one is refused with the
    /// rest of our words.
    pub(crate) fn count(&self, ours: &str) -> Option<u64> {
        self.value(ours).and_then(|value| parse_count(value).ok())
    }

    /// Replaces the value of an option that is there.
    pub(crate) fn put(&mut self, ours: &str, value: u64) {
        if let Some(at) = self.words.iter().rposition(|word| word == ours) {
            self.words[at + 1] = value.to_string();
        }
    }

    /// Leaves an option out.
    pub(crate) fn leave_out(&mut self, ours: &str) {
        while let Some(at) = self.words.iter().position(|word| word == ours) {
            self.words.drain(at..(at + 2).min(self.words.len()));
        }
    }
}

/// For tools that refuse fewer requests than connections, and with a time ignore their number.
pub(crate) fn enough_requests(typed: &mut Typed) -> Result<(), String> {
    if typed.value("-d").is_some() {
        typed.leave_out("-n");
    }
    match (typed.count("-n"), typed.count("-c")) {
        (Some(requests), Some(connections)) if requests < connections => Err(format!(
            "-n {requests} is fewer than the {connections} connections (-c); for example -n \
             {connections}"
        )),
        _ => Ok(()),
    }
}
