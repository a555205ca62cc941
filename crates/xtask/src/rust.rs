//! Rust files as syntax: the item of a line, the names that code uses, the files that are compiled.
//!
//! Checks look up lines. Rustfmt puts no two items on one line, so the lines of an item identify
//! it, and every check can skip tests in the same way.

mod items;
mod modules;
mod uses;

pub use items::{Item, Kind};
pub use modules::Modules;
pub use uses::{Pattern, uses};

use proc_macro2::{TokenStream, TokenTree};

/// A parsed Rust file.
pub struct Source {
    /// The syntax tree.
    pub ast: syn::File,
    /// Every item, nested ones too, in the order of their first lines.
    pub items: Vec<Item>,
    is_test_file: bool,
}

impl Source {
    /// Parses a file.
    pub fn parse(text: &str) -> syn::Result<Self> {
        let ast: syn::File = syn::parse_str(text)?;
        let items = items::items(&ast);
        let is_test_file = ast.attrs.iter().any(items::is_test_attribute);
        Ok(Self { ast, items, is_test_file })
    }

    /// Whether a line belongs to an item that is compiled for tests only.
    pub fn is_test(&self, line: usize) -> bool {
        self.is_test_file || self.items.iter().any(|item| item.is_test && item.holds(line))
    }
}

/// Calls `see` with every level of a token stream: the file, then each bracket in it.
pub fn each_level(tokens: TokenStream, see: &mut impl FnMut(&[TokenTree])) {
    let level: Vec<TokenTree> = tokens.into_iter().collect();
    see(&level);
    for token in level {
        if let TokenTree::Group(group) = token {
            each_level(group.stream(), see);
        }
    }
}

/// The header of a file or the docs inside a module: the leading lines that start with `//!`.
pub fn header_lines(text: &str) -> impl Iterator<Item = &str> {
    text.lines().map_while(|line| line.strip_prefix("//!"))
}
