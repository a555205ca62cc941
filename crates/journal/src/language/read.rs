//! Parses words into expressions and comparisons: ranges of sums of products, comparisons joined by
//! `and`.

use super::condition::{Comparison, Condition};
use super::expression::{Expression, Operation};
use super::path::Path;
use super::words::{Word, words};
use model::objective::Relation;

/// Deepest nesting of parentheses.
const DEPTH_MAX: usize = 50;
/// Most characters of a text.
const LETTERS_MAX: usize = 1000;

/// Characters of a condition that an error repeats.
const SHOWN_MAX: usize = 100;

/// The first name of a path is one of these.
const ROOTS: [&str; 6] = ["cells", "contrasts", "runs", "foreign", "results", "entries"];

impl Expression {
    /// Reads an expression.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut reader = Reader::of(text)?;
        let expression = reader.range()?;
        reader.end()?;
        Ok(expression)
    }
}

impl Condition {
    /// Reads a condition. The error is one line: what is wrong, what is accepted, an example.
    pub fn parse(text: &str) -> Result<Self, String> {
        let read = || {
            let mut reader = Reader::of(text)?;
            let mut comparisons = vec![reader.comparison()?];
            while reader.sign(&["and"]).is_some() {
                comparisons.push(reader.comparison()?);
            }
            reader.end()?;
            Ok::<_, String>(comparisons)
        };
        let comparisons = read().map_err(|why| {
            let begin: String = text.chars().take(SHOWN_MAX).collect();
            let cut = if begin.len() < text.len() { ".." } else { "" };
            format!("condition '{begin}{cut}': {why}")
        })?;
        Ok(Self { text: text.to_string(), comparisons })
    }
}

/// Reads words from left to right.
struct Reader {
    words: Vec<Word>,
    at: usize,
    depth: usize,
}

impl Reader {
    /// Starts at the first word of a text.
    fn of(text: &str) -> Result<Self, String> {
        if text.chars().count() > LETTERS_MAX {
            return Err(format!("it has more than {LETTERS_MAX} characters"));
        }
        let words = words(text)?;
        if words.is_empty() {
            return Err("it is empty; for example cells.free.rate".to_string());
        }
        Ok(Self { words, at: 0, depth: 0 })
    }

    /// Takes the next word when it is one of these signs.
    fn sign(&mut self, signs: &[&'static str]) -> Option<&'static str> {
        match self.words.get(self.at) {
            Some(Word::Sign(sign)) if signs.contains(sign) => {
                self.at += 1;
                Some(sign)
            }
            _ => None,
        }
    }

    /// A sum, or all that lies between two: `0.9 to 1.1`.
    fn range(&mut self) -> Result<Expression, String> {
        let low = self.sum()?;
        match self.sign(&["to"]) {
            Some(_) => Ok(Expression::Of(Box::new(low), Operation::To, Box::new(self.sum()?))),
            None => Ok(low),
        }
    }

    /// A sum or a difference of products.
    fn sum(&mut self) -> Result<Expression, String> {
        let mut sum = self.product()?;
        while let Some(sign) = self.sign(&["+", "-"]) {
            let operation = if sign == "+" { Operation::Plus } else { Operation::Minus };
            sum = Expression::Of(Box::new(sum), operation, Box::new(self.product()?));
        }
        Ok(sum)
    }

    fn product(&mut self) -> Result<Expression, String> {
        let mut product = self.one()?;
        while let Some(sign) = self.sign(&["*", "/"]) {
            let operation = if sign == "*" { Operation::Times } else { Operation::Over };
            product = Expression::Of(Box::new(product), operation, Box::new(self.one()?));
        }
        Ok(product)
    }

    fn one(&mut self) -> Result<Expression, String> {
        if self.sign(&["("]).is_some() {
            let inner = self.nested(Self::range)?;
            return self.closed(inner);
        }
        if self.sign(&["least"]).is_some() {
            return self.least();
        }
        let word = self.words.get(self.at).cloned();
        self.at += 1;
        match word {
            Some(Word::Number(figure)) => Ok(Expression::Number(figure)),
            Some(Word::Path(path)) => {
                checked(&path)?;
                Ok(Expression::Path(path))
            }
            Some(Word::Sign(sign)) => {
                Err(format!("'{sign}' where a figure is expected; for example cells.a.rate"))
            }
            None => Err("a figure is missing at the end; for example 1.2".to_string()),
        }
    }

    /// What stands between parentheses.
    fn nested(
        &mut self,
        read: fn(&mut Self) -> Result<Expression, String>,
    ) -> Result<Expression, String> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err(format!("more than {DEPTH_MAX} parentheses are nested"));
        }
        let inner = read(self)?;
        self.depth -= 1;
        Ok(inner)
    }

    fn closed(&mut self, inner: Expression) -> Result<Expression, String> {
        match self.sign(&[")"]) {
            Some(_) => Ok(inner),
            None => Err("a ) is missing".to_string()),
        }
    }

    /// The least of several, behind the word.
    fn least(&mut self) -> Result<Expression, String> {
        if self.sign(&["("]).is_none() {
            return Err("'least' takes figures in parentheses; for example least(2k/s, \
                        cells.a.rate)"
                .to_string());
        }
        let mut least = self.nested(Self::range)?;
        while self.sign(&[","]).is_some() {
            let other = self.nested(Self::range)?;
            least = Expression::Of(Box::new(least), Operation::Least, Box::new(other));
        }
        self.closed(least)
    }

    /// One comparison.
    fn comparison(&mut self) -> Result<Comparison, String> {
        let left = self.range()?;
        let signs = ["<=", ">=", "==", "!=", "<", ">", "within"];
        let order = self.sign(&signs).and_then(Relation::parse).ok_or_else(|| {
            format!("a comparison is missing ({}); for example > 1.2", signs.join(" "))
        })?;
        let right = self.range()?;
        Ok(Comparison { left, order, right })
    }

    /// Whether all words were read.
    fn end(&self) -> Result<(), String> {
        match self.words.get(self.at) {
            None => Ok(()),
            Some(Word::Sign(sign)) => Err(format!("'{sign}' is one word too many")),
            Some(Word::Path(path)) => Err(format!("{path} is one word too many")),
            Some(Word::Number(_)) => Err("a number is one word too many".to_string()),
        }
    }
}

/// Checks the first name of a path. A single name is a word.
fn checked(path: &Path) -> Result<(), String> {
    let names = path.names();
    if names.len() == 1 || ROOTS.contains(&names[0]) {
        return Ok(());
    }
    Err(format!(
        "{path} begins with '{}' where {} are accepted; for example cells.free.rate",
        names[0],
        ROOTS.join(", ")
    ))
}
