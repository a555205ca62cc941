//! References in a text: `{{cells.free.rate}}`, `{{cells.free.p99|ms|2}}`.

use super::Figures;
use super::expression::{Expression, Fault};
use super::path::Path;
use super::quantity::Value;
use super::shown::{Wish, as_wished};

/// A part of a text.
#[derive(Debug, Clone, PartialEq)]
pub enum Piece {
    /// Text that stays as it is.
    Text(String),
    /// A reference.
    Reference(Filled),
}

/// A reference, filled.
#[derive(Debug, Clone, PartialEq)]
pub struct Filled {
    /// The text between the braces.
    pub source: String,
    /// Its paths.
    pub paths: Vec<Path>,
    /// Its value, and the value with unit and interval as text; or the fault.
    pub filled: Result<(Value, String), Fault>,
}

/// A text with its references filled. `\{{` is two braces, not a reference.
pub fn filled(text: &str, figures: &dyn Figures) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let (mut plain, mut rest) = (String::new(), text);
    while let Some(at) = rest.find("{{") {
        let (before, from) = rest.split_at(at);
        if let Some(before) = before.strip_suffix('\\') {
            plain += before;
            plain += "{{";
            rest = &from[2..];
            continue;
        }
        plain += before;
        let inner = &from[2..];
        let Some((source, behind)) = inner.split_once("}}") else {
            // Without closing braces, only the start of the text is shown.
            let source: String = inner.chars().take(40).collect();
            let why = "the braces are not closed; write \\{{ for two braces".to_string();
            pieces.extend(text_piece(&mut plain));
            let fault = Err(Fault::Wrong(why));
            pieces.push(Piece::Reference(Filled { source, paths: Vec::new(), filled: fault }));
            plain += from;
            rest = "";
            continue;
        };
        pieces.extend(text_piece(&mut plain));
        pieces.push(Piece::Reference(fill(source, figures)));
        rest = behind;
    }
    plain += rest;
    pieces.extend(text_piece(&mut plain));
    pieces
}

fn text_piece(plain: &mut String) -> Option<Piece> {
    let text = std::mem::take(plain);
    (!text.is_empty()).then_some(Piece::Text(text))
}

fn fill(source: &str, figures: &dyn Figures) -> Filled {
    let source = source.trim();
    let read = read(source);
    let paths = read.iter().flat_map(|(expression, _)| expression.paths()).cloned().collect();
    let filled = read.map_err(Fault::Wrong).and_then(|(expression, wish)| {
        let value = expression.value(figures)?;
        let shown = as_wished(&value, &wish).map_err(Fault::Wrong)?;
        Ok((value, shown))
    });
    Filled { source: source.to_string(), paths, filled }
}

/// `EXPRESSION`, `EXPRESSION|unit` or `EXPRESSION|unit|digits`.
fn read(source: &str) -> Result<(Expression, Wish), String> {
    let parts: Vec<&str> = source.split('|').map(str::trim).collect();
    let (expression, unit, decimals) = match parts[..] {
        [expression] => (expression, "", ""),
        [expression, unit] => (expression, unit, ""),
        [expression, unit, decimals] => (expression, unit, decimals),
        _ => return Err("it has more than unit and digits; for example |ms|2".to_string()),
    };
    let expression = Expression::parse(expression)?;
    if let Expression::Path(path) = &expression
        && path.word().is_some()
    {
        return Err(format!("{path} is not a path; write \\{{{{ for two braces"));
    }
    let decimals = match decimals {
        "" => None,
        digits => Some(digits.parse().ok().filter(|digits| *digits <= 9).ok_or_else(|| {
            format!("'{digits}' is not a number of decimals from 0 to 9; for example |ms|2")
        })?),
    };
    let unit = Some(unit.to_string()).filter(|unit| !unit.is_empty());
    Ok((expression, Wish { unit, decimals }))
}

/// A filled text as plain text, with the fault in place of a reference that has one.
pub fn plain(pieces: &[Piece]) -> String {
    let shown = |piece: &Piece| match piece {
        Piece::Text(text) => text.clone(),
        Piece::Reference(Filled { filled: Ok((_, shown)), .. }) => shown.clone(),
        Piece::Reference(Filled { source, filled: Err(fault), .. }) => match fault {
            Fault::Dangling { .. } => format!("[{fault}]"),
            Fault::Wrong(why) => format!("[{source}: {why}]"),
        },
    };
    pieces.iter().map(shown).collect()
}
