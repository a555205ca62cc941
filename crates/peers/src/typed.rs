//! The command line of a tool, read as that tool reads it, and translated into ours. An unknown
//! option is an error: a load that differs from the requested one must not give a result.

use model::units::parse_count;
use std::collections::BTreeMap;

/// An option of a tool.
#[derive(Debug, Clone, Copy)]
pub struct TypedOption {
    /// Its names, with their dashes.
    pub names: &'static [&'static str],
    /// What it means for us.
    pub asks: Asks,
    /// In a few words, for the help.
    pub about: &'static str,
}

/// What an option means for us.
#[derive(Debug, Clone, Copy)]
pub enum Asks {
    /// These words of ours; it takes no value.
    Words(&'static [&'static str]),
    /// This option of ours with the same value.
    Option(&'static str),
    /// Words of ours that are made of its value; an error is what is wrong with that.
    Made(fn(&str) -> Result<Vec<String>, String>),
    /// Something about the layout; it takes no value.
    Layout,
    /// The same with a value.
    LayoutValue,
    /// We have nothing like it; it takes no value.
    No(&'static str),
    /// The same with a value.
    NoValue(&'static str),
}

impl Asks {
    pub(crate) fn takes_value(self) -> bool {
        matches!(self, Self::Option(_) | Self::Made(_) | Self::LayoutValue | Self::NoValue(_))
    }
}

/// A command line of a tool.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Typed {
    /// The same load in our words, from the sub-command on.
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

    /// The same as a number, where it is one; a wrong one is refused with the rest of our words.
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

/// The option of a header.
pub(crate) const HEADER: TypedOption =
    TypedOption { names: &["-H", "--header"], asks: Asks::Option("-H"), about: "a header" };

/// A whole number of seconds as a time in our syntax.
pub(crate) fn seconds(value: &str) -> Result<String, String> {
    let is_number = value.parse::<f64>().is_ok();
    Ok(if is_number { format!("{value}s") } else { value.to_string() })
}
