//! The items of a file and their lines.

use super::each_level;
use proc_macro2::{Delimiter, TokenStream, TokenTree};
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Attribute, Block, Meta, Signature, Token};

/// An item and its position.
#[derive(Debug, Clone)]
pub struct Item {
    /// What it is.
    pub kind: Kind,
    /// Its name, empty when it has none.
    pub name: String,
    /// Its first line, attributes and docs included.
    pub first_line: usize,
    /// The line of `fn` or `mod`; for other items the first line.
    pub keyword_line: usize,
    /// The line of its closing brace.
    pub last_line: usize,
    /// Whether it is compiled for tests only.
    pub is_test: bool,
    /// Its inner docs (`//!`), one entry per line.
    pub inner_docs: Vec<String>,
}

/// The kinds of items that checks distinguish.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A function or method with a body.
    Function,
    /// A module with its content in this file.
    Module,
    /// Anything else.
    Other,
}

impl Item {
    /// Whether a line lies in this item.
    pub fn holds(&self, line: usize) -> bool {
        (self.first_line..=self.last_line).contains(&line)
    }
}

/// Every item of a file, sorted by its first line.
pub fn items(file: &syn::File) -> Vec<Item> {
    let mut collector = Collector { items: Vec::new() };
    collector.visit_file(file);
    collector.items.sort_by_key(|item| item.first_line);
    collector.items
}

/// Whether an attribute restricts its item to tests.
pub fn is_test_attribute(attribute: &Attribute) -> bool {
    if attribute.path().is_ident("cfg") {
        return attribute.parse_args::<Meta>().is_ok_and(|meta| needs_test(&meta));
    }
    // `#[test]`, and attributes of test frameworks with the same last segment.
    attribute.path().segments.last().is_some_and(|segment| segment.ident == "test")
}

/// Whether a condition holds only in tests. `any(test, feature = "x")` does not.
fn needs_test(meta: &Meta) -> bool {
    let Meta::List(list) = meta else { return meta.path().is_ident("test") };
    let Ok(inner) = list.parse_args_with(Punctuated::<Meta, Token![,]>::parse_terminated) else {
        return false;
    };
    if list.path.is_ident("all") {
        inner.iter().any(needs_test)
    } else if list.path.is_ident("any") {
        !inner.is_empty() && inner.iter().all(needs_test)
    } else {
        false
    }
}

struct Collector {
    items: Vec<Item>,
}

impl Collector {
    fn function(&mut self, attributes: &[Attribute], whole: &impl Spanned, sig: &Signature) {
        self.add(Kind::Function, sig.ident.to_string(), attributes, whole);
        if let Some(item) = self.items.last_mut() {
            item.keyword_line = sig.fn_token.span.start().line;
        }
    }

    fn add(&mut self, kind: Kind, name: String, attributes: &[Attribute], whole: &impl Spanned) {
        let span = whole.span();
        let first_line = span.start().line;
        self.items.push(Item {
            kind,
            name,
            first_line,
            keyword_line: first_line,
            last_line: span.end().line,
            is_test: attributes.iter().any(is_test_attribute),
            inner_docs: attributes.iter().filter_map(inner_doc).collect(),
        });
    }
}

impl<'ast> Visit<'ast> for Collector {
    fn visit_item(&mut self, item: &'ast syn::Item) {
        match item {
            syn::Item::Fn(item) => self.function(&item.attrs, item, &item.sig),
            syn::Item::Mod(item) => {
                let kind = if item.content.is_some() { Kind::Module } else { Kind::Other };
                self.add(kind, item.ident.to_string(), &item.attrs, item);
                if let Some(added) = self.items.last_mut() {
                    added.keyword_line = item.mod_token.span.start().line;
                }
            }
            other => self.add(Kind::Other, String::new(), attributes(other), other),
        }
        visit::visit_item(self, item);
    }

    fn visit_impl_item(&mut self, item: &'ast syn::ImplItem) {
        match item {
            syn::ImplItem::Fn(item) => self.function(&item.attrs, item, &item.sig),
            syn::ImplItem::Const(inner) => {
                self.add(Kind::Other, String::new(), &inner.attrs, inner);
            }
            _ => {}
        }
        visit::visit_impl_item(self, item);
    }

    fn visit_trait_item_fn(&mut self, item: &'ast syn::TraitItemFn) {
        let body: Option<&Block> = item.default.as_ref();
        if body.is_some() {
            self.function(&item.attrs, item, &item.sig);
        }
        visit::visit_trait_item_fn(self, item);
    }

    fn visit_token_stream(&mut self, tokens: &'ast TokenStream) {
        each_level(tokens.clone(), &mut |level| self.items.extend(functions_among(level)));
    }
}

/// Functions inside macros, which the syntax tree lacks: `fn`, a name, and the next braces.
fn functions_among(level: &[TokenTree]) -> Vec<Item> {
    let mut functions = Vec::new();
    for (at, pair) in level.windows(2).enumerate() {
        let [TokenTree::Ident(keyword), TokenTree::Ident(name)] = pair else { continue };
        if keyword != "fn" {
            continue;
        }
        let signature_end = level[at..].iter().position(ends_signature);
        let Some(end) = signature_end.map(|offset| &level[at + offset]) else { continue };
        if matches!(end, TokenTree::Punct(_)) {
            continue;
        }
        let line = keyword.span().start().line;
        functions.push(Item {
            kind: Kind::Function,
            name: name.to_string(),
            first_line: line,
            keyword_line: line,
            last_line: end.span().end().line,
            is_test: false,
            inner_docs: Vec::new(),
        });
    }
    functions
}

/// A signature ends at the braces of a body or at the semicolon of a bare declaration.
fn ends_signature(token: &TokenTree) -> bool {
    match token {
        TokenTree::Group(group) => group.delimiter() == Delimiter::Brace,
        TokenTree::Punct(punct) => punct.as_char() == ';',
        _ => false,
    }
}

fn inner_doc(attribute: &Attribute) -> Option<String> {
    let (syn::AttrStyle::Inner(_), Meta::NameValue(pair)) = (&attribute.style, &attribute.meta)
    else {
        return None;
    };
    let syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(text), .. }) = &pair.value else {
        return None;
    };
    pair.path.is_ident("doc").then(|| text.value())
}

fn attributes(item: &syn::Item) -> &[Attribute] {
    use syn::Item::*;
    match item {
        Const(item) => &item.attrs,
        Enum(item) => &item.attrs,
        ExternCrate(item) => &item.attrs,
        Fn(item) => &item.attrs,
        ForeignMod(item) => &item.attrs,
        Impl(item) => &item.attrs,
        Macro(item) => &item.attrs,
        Mod(item) => &item.attrs,
        Static(item) => &item.attrs,
        Struct(item) => &item.attrs,
        Trait(item) => &item.attrs,
        TraitAlias(item) => &item.attrs,
        Type(item) => &item.attrs,
        Union(item) => &item.attrs,
        Use(item) => &item.attrs,
        _ => &[],
    }
}

#[cfg(test)]
mod tests {
    use crate::rust::Source;

    fn functions(text: &str) -> Vec<(String, usize, bool)> {
        let source = Source::parse(text).unwrap();
        let row = |item: &super::Item| {
            let lines = item.last_line - item.keyword_line + 1;
            (item.name.clone(), lines, source.is_test(item.keyword_line))
        };
        let is_function = |item: &&super::Item| item.kind == super::Kind::Function;
        source.items.iter().filter(is_function).map(row).collect()
    }

    #[test]
    fn functions_are_found_wherever_they_stand() {
        let text = "\
/// Docs.
#[inline]
fn a() {
    let f = || {
        1
    };
    f();
}
mod m {
    impl X {
        fn b() {}
    }
    trait T {
        fn c() {
        }
        fn d();
    }
}
wrap! {
    fn e() {
    }
}
";
        let found = functions(text);
        let expected = [("a", 6), ("b", 1), ("c", 2), ("e", 2)];
        let expected: Vec<_> = expected.map(|(name, n)| (name.to_owned(), n, false)).into();
        assert_eq!(found, expected);
    }

    #[test]
    fn test_items_are_told_by_their_attributes() {
        let text = "\
#[test]
fn a() {}
#[cfg(test)]
mod tests {
    fn b() {}
}
#[cfg(any(test, unix))]
fn c() {}
#[cfg(all(unix, test))]
fn d() {}
#[cfg(not(test))]
fn e() {}
";
        let tests: Vec<_> = functions(text).into_iter().filter(|row| row.2).map(|r| r.0).collect();
        assert_eq!(tests, ["a", "b", "d"]);
    }

    #[test]
    fn an_inner_cfg_makes_the_whole_file_a_test() {
        let source = Source::parse("#![cfg(test)]\nfn a() {}\n").unwrap();
        assert!(source.is_test(2));
    }
}
