//! The names that holes may have, and where their values come from.

use model::flow::{Escape, Piece, Source, Text, Variable};
use model::secret;
use std::collections::BTreeMap;

/// Most variables of a flow.
pub const VARIABLES_MAX: usize = 200;

/// What a user gave besides the file.
#[derive(Debug, Clone, Default)]
pub struct Given {
    /// Variables with their values.
    pub variables: BTreeMap<String, String>,
    /// Names of values that each user has of its own, such as the columns of a table.
    pub columns: Vec<String>,
    /// Scheme and authority of the server, in the place of the ones in the file.
    pub base: Option<String>,
}

/// The variables of a flow while it is read.
#[derive(Debug)]
pub struct Names<'a> {
    given: &'a Given,
    variables: Vec<Variable>,
    /// How many of them have a value for sure where the reader is; by place.
    has_value: Vec<bool>,
}

impl<'a> Names<'a> {
    pub fn new(given: &'a Given) -> Self {
        let mut names = Self { given, variables: Vec::new(), has_value: Vec::new() };
        for column in &given.columns {
            let place = names.place(column);
            names.has_value[place] = true;
        }
        names
    }

    /// All variables, in the order of their places.
    pub fn into_variables(self) -> Vec<Variable> {
        self.variables
    }

    /// What a user gave.
    pub fn given(&self) -> &'a Given {
        self.given
    }

    fn place(&mut self, name: &str) -> usize {
        let known = self.variables.iter().position(|variable| variable.name == name);
        known.unwrap_or_else(|| {
            let is_secret = secret::is_secret(name);
            self.variables.push(Variable { name: name.to_string(), is_secret });
            self.has_value.push(false);
            self.variables.len() - 1
        })
    }

    /// The variable of a name, which has a value from here on.
    pub fn define(&mut self, name: &str) -> Result<u16, String> {
        check(name)?;
        let place = self.place(name);
        if place >= VARIABLES_MAX {
            return Err(format!("a flow has at most {VARIABLES_MAX} variables"));
        }
        self.has_value[place] = true;
        Ok(place as u16)
    }

    /// A variable is never shown.
    pub fn hide(&mut self, place: u16) {
        self.variables[usize::from(place)].is_secret = true;
    }

    /// The place of a variable that has a value here.
    pub fn known(&self, name: &str) -> Option<u16> {
        let place = self.variables.iter().position(|variable| variable.name == name)?;
        self.has_value[place].then_some(place as u16)
    }

    /// What is between the braces of a hole, written for a place.
    pub fn fill(&self, inside: &str, escape: Escape) -> Result<Text, String> {
        let name = inside.trim();
        let hole = |source| Ok(Text(vec![Piece::Hole(source, escape)]));
        // What a step captured is newer than what was given.
        if let Some(place) = self.known(name) {
            return hole(Source::Variable(place));
        }
        if let Some(value) = self.given.variables.get(name) {
            let mut bytes = Vec::new();
            escape.put(value.as_bytes(), &mut bytes);
            return Ok(Text::plain(bytes));
        }
        match name {
            "newUuid" | "uuid" => return hole(Source::Uuid),
            "newDate" => return hole(Source::Date),
            "user" => return hole(Source::User),
            "seq" => return hole(Source::Seq),
            _ => {}
        }
        if let Some(range) = name.strip_prefix("random:") {
            let ends = range.split_once("..");
            let ends = ends.and_then(|(a, b)| Some((a.parse().ok()?, b.parse().ok()?)));
            return match ends.filter(|(least, most): &(u64, u64)| least <= most) {
                Some((least, most)) => hole(Source::Random(least, most)),
                None => Err(format!("'{{{{{name}}}}}' has no range; for example random:1..9")),
            };
        }
        check(name)?;
        Err(self.unknown(name))
    }

    fn unknown(&self, name: &str) -> String {
        let known = self.variables.iter().zip(&self.has_value).filter(|(_, has)| **has);
        let known: Vec<&str> = known.map(|(variable, _)| variable.name.as_str()).collect();
        let known = match known.is_empty() {
            true => "no step before it captures anything".to_string(),
            false => format!("captured before it: {}", known.join(", ")),
        };
        format!(
            "nothing gives {{{{{name}}}}} a value here; {known}; or give --variable {name}=VALUE"
        )
    }
}

/// Whether a variable can have this name.
fn check(name: &str) -> Result<(), String> {
    let is_good = |character: char| character.is_alphanumeric() || "_-.".contains(character);
    let begins = name.chars().next().is_some_and(char::is_alphabetic) || name.starts_with('_');
    match begins && name.chars().all(is_good) && name.len() <= 64 {
        true => Ok(()),
        false => Err(format!(
            "'{name}' is no name of a variable: letters, digits, - and _; other holes are \
             {{{{newUuid}}}}, {{{{newDate}}}}, {{{{user}}}}, {{{{seq}}}} and {{{{random:1..9}}}}"
        )),
    }
}
