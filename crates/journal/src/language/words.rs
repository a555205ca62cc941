//! Splits a text of the language into words: numbers, names, signs.

use super::path::{Path, is_of_name};
use super::quantity::Quantity;
use model::unit::{self, written};

/// One word.
#[derive(Debug, Clone, PartialEq)]
pub enum Word {
    /// A number with its unit.
    Number(Quantity),
    /// A path, or a single name.
    Path(Path),
    /// One of `+ - * / ( ) ,`, a comparison, or one of the words of the language.
    Sign(&'static str),
}

/// Signs, the longer signs first.
const SIGNS: [&str; 13] = ["<=", ">=", "==", "!=", "<", ">", "+", "-", "*", "/", "(", ")", ","];
/// Words that are signs where they stand alone and without quotes.
const WORDS: [&str; 4] = ["and", "to", "within", "least"];

/// The words of a text. The error says which part was not understood.
pub fn words(text: &str) -> Result<Vec<Word>, String> {
    let mut words = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let (word, behind) = match first {
            '0'..='9' => number(rest)?,
            '\'' | '"' => path(rest)?,
            letter if is_of_name(letter) => path(rest)?,
            _ => sign(rest)?,
        };
        words.push(word);
        rest = behind.trim_start();
    }
    Ok(words)
}

fn sign(text: &str) -> Result<(Word, &str), String> {
    let found = SIGNS.iter().find_map(|sign| Some((Word::Sign(sign), text.strip_prefix(sign)?)));
    found.ok_or_else(|| {
        let letter = text.chars().next().unwrap_or_default();
        format!(
            "'{letter}' is not understood; for example cells.free.rate > 2 * cells.'as it is'.rate"
        )
    })
}

/// Position of the first character that `is_wanted` rejects.
fn end(text: &str, is_wanted: impl Fn(char) -> bool) -> usize {
    text.find(|letter| !is_wanted(letter)).unwrap_or(text.len())
}

fn number(text: &str) -> Result<(Word, &str), String> {
    let digits = end(text, |letter| letter.is_ascii_digit() || letter == '.' || letter == '_');
    let (digits, rest) = text.split_at(digits);
    let mut long = end(rest, |letter| letter.is_alphabetic() || letter == '%');
    // `10k/s` is a rate; `10k/cells.a.rate` is not.
    let behind = &rest[long..];
    let is_rate = behind.strip_prefix("/s").is_some_and(|more| end(more, is_in_path) == 0);
    long += if is_rate { 2 } else { 0 };
    let (word, rest) = rest.split_at(long);
    let known = written(word);
    // A product would round a second time: 1.001kB are 1001 bytes.
    let power = known.map_or(0, |(factor, _)| factor.log10().round() as i32);
    let number: Option<f64> = format!("{}e{power}", digits.replace('_', "")).parse().ok();
    match (number.filter(|number| number.is_finite()), known) {
        (Some(number), Some((_, unit))) => Ok((Word::Number(Quantity::exact(number, unit)), rest)),
        (None, _) => Err(format!("'{digits}' is not a number; for example 1.5k")),
        (_, None) => Err(format!("'{word}' is not a unit; units are {}", unit::words())),
    }
}

fn is_in_path(letter: char) -> bool {
    is_of_name(letter) || letter == '.'
}

/// A path, or a word of the language.
fn path(text: &str) -> Result<(Word, &str), String> {
    let (mut parts, mut rest) = (Vec::new(), text);
    loop {
        let (part, behind) = part(rest)?;
        parts.push(part);
        rest = behind;
        match rest.strip_prefix('.') {
            Some(more) => rest = more,
            None => break,
        }
    }
    let is_it = |word: &&&str| parts == [**word] && text.starts_with(**word);
    let word = WORDS.iter().find(is_it).map(|word| Word::Sign(word));
    Ok((word.unwrap_or_else(|| Word::Path(Path::new(parts))), rest))
}

/// One name of a path, with or without quotes. A hyphen is part of the name when a letter or digit
/// follows it directly.
fn part(text: &str) -> Result<(String, &str), String> {
    if let Some(quote) = text.chars().next().filter(|first| "'\"".contains(*first)) {
        let inner = &text[1..];
        let (name, rest) = inner
            .split_once(quote)
            .ok_or_else(|| format!("the quote {quote} is not closed: {text}"))?;
        return Ok((name.to_string(), rest));
    }
    let mut long = 0;
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        let is_inner = letter == '-' && long > 0 && letters.peek().copied().is_some_and(is_of_name);
        if !is_of_name(letter) && !is_inner {
            break;
        }
        long += letter.len_utf8();
    }
    match text.split_at(long) {
        ("", rest) => Err(format!(
            "a name is missing before '{}'; for example cells.free.rate",
            rest.chars().take(10).collect::<String>()
        )),
        (name, rest) => Ok((name.to_string(), rest)),
    }
}
