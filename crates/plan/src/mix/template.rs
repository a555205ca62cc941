//! Texts with placeholders, and their values in one request.
//!
//! `{{seq}}` counts from 1 and `{{seq:N}}` from N; `{{random:A..B}}` is a whole number, both ends
//! included; `{{uuid}}` is a random UUID (version 4); `{{csv:FILE:COLUMN}}` is the value of the
//! next row, the same row for all columns of a request, and after the last row the first one again.
//! `{{{{` writes two braces.

use super::{MixError, ReadFile};
use csv::StringRecord;
use model::random::Random;
use std::collections::BTreeMap;

const ACCEPTED: &str = "{{seq}}, {{seq:N}}, {{random:A..B}}, {{uuid}} and {{csv:FILE:COLUMN}}";

/// How placeholders start.
const NAMES: [&[u8]; 4] = [b"seq", b"random:", b"uuid", b"csv:"];

/// Tables of values by file name, read once.
#[derive(Debug, Default)]
pub struct Tables(BTreeMap<String, DataTable>);

/// Most columns of a table. The names are kept one by one.
const COLUMNS_MAX: usize = 10_000;

/// A table whose values are in one text, row by row: a text of its own for each would take many
/// times the memory of the file.
#[derive(Debug)]
struct DataTable {
    columns: Vec<String>,
    text: String,
    /// Where each value ends in the text. A file has less than 4 GiB.
    ends: Vec<u32>,
}

/// A parsed text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template(Vec<TemplatePart>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum TemplatePart {
    Text(Vec<u8>),
    Sequence(u64),
    Random(u64, u64),
    Uuid,
    Csv { file: String, column: usize },
}

/// Where values of one request come from.
pub struct Draws<'a> {
    /// Which request of its target, from 0.
    pub number: u64,
    /// Random values of this request.
    pub random: Random,
    /// All tables.
    pub tables: &'a Tables,
}

/// Whether a text has a placeholder that [`Template::parse`] knows.
pub fn has_placeholder(text: &[u8]) -> bool {
    let mut rest = text;
    while let Some(at) = find(rest, b"{{") {
        rest = &rest[at + 2..];
        let name = rest.trim_ascii_start();
        if NAMES.iter().any(|known| name.starts_with(known)) {
            return true;
        }
    }
    false
}

impl Template {
    /// A text without placeholders.
    pub fn plain(text: &[u8]) -> Self {
        Self(vec![TemplatePart::Text(text.to_vec())])
    }

    /// Parses a text and reads the tables it names.
    pub fn parse(text: &[u8], tables: &mut Tables, read: ReadFile) -> Result<Self, MixError> {
        let mut parts = Vec::new();
        let (mut rest, mut plain) = (text, Vec::new());
        while let Some(at) = find(rest, b"{{") {
            plain.extend_from_slice(&rest[..at]);
            rest = &rest[at + 2..];
            if let Some(after) = rest.strip_prefix(b"{{") {
                plain.extend_from_slice(b"{{");
                rest = after;
                continue;
            }
            let end = find(rest, b"}}").ok_or_else(|| unknown("{{", "has no }} after it"))?;
            parts.push(TemplatePart::Text(std::mem::take(&mut plain)));
            parts.push(TemplatePart::parse(&rest[..end], tables, read)?);
            rest = &rest[end + 2..];
        }
        plain.extend_from_slice(rest);
        parts.push(TemplatePart::Text(plain));
        parts.retain(|part| *part != TemplatePart::Text(Vec::new()));
        Ok(Self(parts))
    }

    /// Whether it is the same in every request.
    pub fn is_plain(&self) -> bool {
        self.0.iter().all(|part| matches!(part, TemplatePart::Text(_)))
    }

    /// The text for one request.
    pub fn expand(&self, source: &mut Draws<'_>) -> Vec<u8> {
        let mut text = Vec::new();
        for part in &self.0 {
            part.expand(source, &mut text);
        }
        text
    }
}

fn find(text: &[u8], braces: &[u8; 2]) -> Option<usize> {
    text.windows(2).position(|two| two == braces)
}

/// An error about a placeholder.
fn wrong(inside: &[u8], why: &str) -> MixError {
    let shown: String = String::from_utf8_lossy(inside).chars().take(40).collect();
    unknown(&format!("{{{{{shown}}}}}"), why)
}

fn unknown(shown: &str, why: &str) -> MixError {
    MixError(format!(
        "template '{shown}' {why}; accepted are {ACCEPTED}, and {{{{{{{{ for two braces; for \
         example {{{{random:1..1000}}}}"
    ))
}

impl TemplatePart {
    fn parse(inside: &[u8], tables: &mut Tables, read: ReadFile) -> Result<Self, MixError> {
        let text = std::str::from_utf8(inside).map_err(|_| wrong(inside, "is not a template"))?;
        let (word, rest) = text.split_once(':').map_or((text, None), |(w, r)| (w, Some(r)));
        match (word.trim(), rest) {
            ("seq", None) => Ok(Self::Sequence(1)),
            ("seq", Some(first)) => {
                let first = first.trim().parse();
                first.map(Self::Sequence).map_err(|_| wrong(inside, "does not start at a number"))
            }
            ("uuid", None) => Ok(Self::Uuid),
            ("random", Some(range)) => {
                let bounds = range.split_once("..").and_then(|(least, most)| {
                    Some((least.trim().parse().ok()?, most.trim().parse().ok()?))
                });
                let bounds = bounds.filter(|(least, most): &(u64, u64)| least <= most);
                let (least, most) =
                    bounds.ok_or_else(|| wrong(inside, "has no range of whole numbers"))?;
                Ok(Self::Random(least, most))
            }
            ("csv", Some(named)) => {
                let Some((file, column)) = named.rsplit_once(':') else {
                    return Err(wrong(inside, "names no column"));
                };
                let (file, column) = (file.trim(), column.trim());
                let column = tables.column(file, column, read)?;
                Ok(Self::Csv { file: file.to_string(), column })
            }
            _ => Err(wrong(inside, "is not a template")),
        }
    }

    fn expand(&self, source: &mut Draws<'_>, text: &mut Vec<u8>) {
        match self {
            Self::Text(plain) => text.extend_from_slice(plain),
            Self::Sequence(first) => {
                text.extend(first.wrapping_add(source.number).to_string().bytes());
            }
            Self::Random(least, most) => {
                text.extend(source.random.between(*least, *most).to_string().bytes());
            }
            Self::Uuid => {
                let bits =
                    u128::from(source.random.draw()) << 64 | u128::from(source.random.draw());
                let bits = (bits & !((0xf << 76) | (0b11 << 62))) | (0x4 << 76) | (0b10 << 62);
                let hex = format!("{bits:032x}");
                let parts = [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]];
                text.extend(parts.join("-").bytes());
            }
            Self::Csv { file, column } => {
                let value = source.tables.0[file].value(source.number, *column);
                text.extend_from_slice(value.as_bytes());
            }
        }
    }
}

impl Tables {
    /// The number of a column; reads the file when it is new.
    fn column(&mut self, file: &str, column: &str, read: ReadFile) -> Result<usize, MixError> {
        if !self.0.contains_key(file) {
            let bytes = read(file).map_err(|why| MixError(format!("{{{{csv:{file}}}}}: {why}")))?;
            self.0.insert(file.to_string(), DataTable::parse(file, &bytes)?);
        }
        let columns = &self.0[file].columns;
        columns.iter().position(|name| name == column).ok_or_else(|| {
            MixError(format!(
                "{file} has no column '{column}', but {}; for example {{{{csv:{file}:{}}}}}",
                columns.join(", "),
                columns[0]
            ))
        })
    }
}

impl DataTable {
    fn parse(file: &str, bytes: &[u8]) -> Result<Self, MixError> {
        let error = |error: csv::Error| {
            MixError(format!("{file} is not CSV with a first line of column names: {error}"))
        };
        let mut reader =
            csv::Reader::from_reader(bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes));
        let columns: Vec<_> =
            reader.headers().map_err(error)?.iter().map(|name| name.trim().to_string()).collect();
        if columns.len() > COLUMNS_MAX {
            return Err(MixError(format!(
                "{file} has {} columns; it may have up to {COLUMNS_MAX}, for example 'id,name'",
                columns.len()
            )));
        }
        let (mut text, mut ends, mut row) = (String::new(), Vec::new(), StringRecord::new());
        while reader.read_record(&mut row).map_err(error)? {
            for value in &row {
                text.push_str(value);
                ends.push(text.len() as u32);
            }
        }
        if ends.is_empty() {
            return Err(MixError(format!(
                "{file} has no rows below its first line, which names the columns; for example \
                 'id' and below it '17'"
            )));
        }
        Ok(Self { columns, text, ends })
    }

    /// A value of the row for a request; after the last row comes the first.
    fn value(&self, number: u64, column: usize) -> &str {
        let rows = self.ends.len() / self.columns.len();
        let at = (number % rows as u64) as usize * self.columns.len() + column;
        let begin = at.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.text[begin as usize..self.ends[at] as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expanded(text: &str, numbers: &[u64]) -> Result<Vec<String>, MixError> {
        let mut tables = Tables::default();
        let mut read = |file: &str| match file {
            "users.csv" => Ok(b"id,name\n1,\"Doe, J\"\n2,Roe\n".to_vec()),
            "empty.csv" => Ok(b"id\n".to_vec()),
            "wide.csv" => Ok(",".repeat(COLUMNS_MAX).into_bytes()),
            "bad.csv" => Ok(b"a,b\n1\n".to_vec()),
            _ => Err("cannot be read".to_string()),
        };
        let template = Template::parse(text.as_bytes(), &mut tables, &mut read)?;
        let mut expand = |number: &u64| {
            let random = Random::new(1, *number);
            let mut source = Draws { number: *number, random, tables: &tables };
            String::from_utf8(template.expand(&mut source)).unwrap()
        };
        Ok(numbers.iter().map(&mut expand).collect())
    }

    #[test]
    fn placeholders_become_values() {
        assert_eq!(expanded("a{{seq}}b{{seq:10}}", &[0, 1]).unwrap(), ["a1b10", "a2b11"]);
        let csv = "{{csv:users.csv:id}} {{csv:users.csv:name}}";
        assert_eq!(expanded(csv, &[0, 1, 2]).unwrap(), ["1 Doe, J", "2 Roe", "1 Doe, J"]);
        assert_eq!(expanded("{\"a\":{}} {{{{x}}", &[0]).unwrap(), ["{\"a\":{}} {{x}}"]);
        let numbers: Vec<u64> = (0..2000).collect();
        let drawn = expanded("{{random:5..7}}", &numbers).unwrap();
        assert!(["5", "6", "7"].iter().all(|value| drawn.contains(&(*value).to_string())));
        assert!(drawn.iter().all(|value| ["5", "6", "7"].contains(&value.as_str())));
        let uuids = expanded("{{uuid}}", &[0, 1]).unwrap();
        assert_ne!(uuids[0], uuids[1]);
        for uuid in uuids {
            assert_eq!((uuid.len(), &uuid[14..15]), (36, "4"), "{uuid}");
            assert!("89ab".contains(&uuid[19..20]), "{uuid}");
        }
    }

    /// Spaces are read, so a text with them is warned of as well.
    #[test]
    fn a_placeholder_is_seen_with_spaces_too() {
        assert_eq!(expanded("{{ seq }}", &[0]).unwrap(), ["1"]);
        for text in ["{\"a\":{{seq}}}", "{{ seq }}", "{{{{ {{ uuid }}", "{{ csv:f:a}}"] {
            assert!(has_placeholder(text.as_bytes()), "{text}");
        }
        for text in ["", "{{", "{{ }}", "{{ name }}", "{ {seq}}"] {
            assert!(!has_placeholder(text.as_bytes()), "{text}");
        }
    }

    #[test]
    fn what_is_no_template_is_told_with_what_is() {
        let cases = [
            ("{{seq", "has no }}"),
            ("{{sequence}}", "{{uuid}}"),
            ("{{random}}", "{{random:A..B}}"),
            ("{{random:9..1}}", "range"),
            ("{{random:-1..1}}", "range"),
            ("{{seq:x}}", "number"),
            ("{{csv:users.csv}}", "column"),
            ("{{csv:users.csv:mail}}", "id, name"),
            ("{{csv:nowhere.csv:id}}", "cannot be read"),
            ("{{csv:empty.csv:id}}", "no rows"),
            ("{{csv:wide.csv:id}}", "10001 columns"),
            ("{{csv:bad.csv:a}}", "not CSV"),
        ];
        for (text, words) in cases {
            let error = expanded(text, &[0]).unwrap_err().to_string();
            assert!(error.contains(words), "{text}: {error}");
        }
    }
}
