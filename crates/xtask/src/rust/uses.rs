//! The names that the code of a file uses: paths, macros and methods.
//!
//! A visitor reads the syntax. The arguments of a macro are only tokens to it, so they are scanned
//! for the same shapes; a call cannot hide inside `assert!`.

use super::each_level;
use proc_macro2::{Span, TokenStream, TokenTree};
use std::fmt;
use syn::visit::{self, Visit};

/// A use of a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Use {
    /// Its line.
    pub line: usize,
    /// What is used.
    pub of: Named,
}

/// What is used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Named {
    /// `std::thread::sleep`; a `use` with braces gives one per leaf.
    Path(Vec<String>),
    /// `println!`
    Macro(String),
    /// `.collect()`
    Method(String),
}

/// A pattern that a check looks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pattern {
    /// These segments in a row, anywhere in a path.
    Path(&'static [&'static str]),
    /// A macro of this name.
    Macro(&'static str),
    /// A call of a method of this name.
    Method(&'static str),
}

impl Pattern {
    /// Whether a use matches the pattern.
    pub fn matches(&self, named: &Named) -> bool {
        match (self, named) {
            (Self::Path(wanted), Named::Path(path)) => {
                path.windows(wanted.len()).any(|part| part.iter().eq(wanted.iter()))
            }
            (Self::Macro(wanted), Named::Macro(name)) => wanted == name,
            (Self::Method(wanted), Named::Method(name)) => wanted == name,
            _ => false,
        }
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Path(path) => write!(f, "`{}`", path.join("::")),
            Self::Macro(name) => write!(f, "`{name}!`"),
            Self::Method(name) => write!(f, "`.{name}()`"),
        }
    }
}

/// Every use in a file.
pub fn uses(file: &syn::File) -> Vec<Use> {
    let mut collector = Collector { uses: Vec::new() };
    collector.visit_file(file);
    collector.uses
}

struct Collector {
    uses: Vec<Use>,
}

impl Collector {
    fn add(&mut self, span: Span, of: Named) {
        self.uses.push(Use { line: span.start().line, of });
    }

    fn use_tree(&mut self, prefix: &[String], tree: &syn::UseTree) {
        let mut path = prefix.to_vec();
        match tree {
            syn::UseTree::Path(inner) => {
                path.push(inner.ident.to_string());
                self.use_tree(&path, &inner.tree);
            }
            syn::UseTree::Name(leaf) => {
                path.push(leaf.ident.to_string());
                self.add(leaf.ident.span(), Named::Path(path));
            }
            syn::UseTree::Rename(leaf) => {
                path.push(leaf.ident.to_string());
                self.add(leaf.ident.span(), Named::Path(path));
            }
            syn::UseTree::Glob(leaf) => {
                path.push("*".to_owned());
                self.add(leaf.star_token.spans[0], Named::Path(path));
            }
            syn::UseTree::Group(group) => {
                for inner in &group.items {
                    self.use_tree(prefix, inner);
                }
            }
        }
    }
}

impl<'ast> Visit<'ast> for Collector {
    // Docs and derives are not calls.
    fn visit_attribute(&mut self, _: &'ast syn::Attribute) {}

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        self.use_tree(&[], &item.tree);
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let names = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        if let Some(last) = path.segments.last() {
            self.add(last.ident.span(), Named::Path(names));
        }
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        if let Some(last) = call.path.segments.last() {
            self.add(last.ident.span(), Named::Macro(last.ident.to_string()));
        }
        visit::visit_macro(self, call);
    }

    fn visit_expr_method_call(&mut self, call: &'ast syn::ExprMethodCall) {
        self.add(call.method.span(), Named::Method(call.method.to_string()));
        visit::visit_expr_method_call(self, call);
    }

    fn visit_token_stream(&mut self, tokens: &'ast TokenStream) {
        each_level(tokens.clone(), &mut |level| self.uses.extend(uses_among(level)));
    }
}

/// The uses in one level of tokens.
fn uses_among(level: &[TokenTree]) -> Vec<Use> {
    let mut uses = Vec::new();
    let mut at = 0;
    while at < level.len() {
        let TokenTree::Ident(first) = &level[at] else {
            at += 1;
            continue;
        };
        let mut path = vec![first.to_string()];
        let mut end = at + 1;
        while let Some((name, next)) = next_segment(level, end) {
            path.push(name);
            end = next;
        }
        let after_dot = at > 0 && is_punct(level.get(at - 1), '.');
        let named = match () {
            () if after_dot => Named::Method(path.swap_remove(0)),
            () if is_punct(level.get(end), '!') && !is_punct(level.get(end + 1), '=') => {
                let name = path.last().cloned().unwrap_or_default();
                uses.push(Use { line: line_of(&level[at]), of: Named::Path(path) });
                Named::Macro(name)
            }
            () => Named::Path(path),
        };
        uses.push(Use { line: line_of(&level[at]), of: named });
        at = end;
    }
    uses
}

/// The `::name` that starts at a token, and where it ends. Generic arguments in between
/// (`::<T>::name`) are skipped.
fn next_segment(level: &[TokenTree], at: usize) -> Option<(String, usize)> {
    if !(is_punct(level.get(at), ':') && is_punct(level.get(at + 1), ':')) {
        return None;
    }
    match level.get(at + 2)? {
        TokenTree::Ident(name) => Some((name.to_string(), at + 3)),
        TokenTree::Punct(open) if open.as_char() == '<' => {
            let mut depth = 0;
            let arguments = level[at + 2..].iter().position(|token| {
                depth += i32::from(is_punct(Some(token), '<'));
                depth -= i32::from(is_punct(Some(token), '>'));
                depth == 0
            })?;
            next_segment(level, at + 2 + arguments + 1)
        }
        _ => None,
    }
}

fn is_punct(token: Option<&TokenTree>, wanted: char) -> bool {
    matches!(token, Some(TokenTree::Punct(punct)) if punct.as_char() == wanted)
}

fn line_of(token: &TokenTree) -> usize {
    token.span().start().line
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rust::Source;

    fn found(text: &str, pattern: Pattern) -> Vec<usize> {
        let source = Source::parse(text).unwrap();
        let hits = uses(&source.ast).into_iter().filter(|found| pattern.matches(&found.of));
        hits.map(|found| found.line).collect()
    }

    #[test]
    fn a_path_is_found_in_a_use_with_braces_in_a_type_and_in_a_call() {
        let text = "use std::{\n    io,\n    sync::Mutex as Lock,\n};\nstruct S(Mutex<u8>);\n\
                    fn f() {\n    let t = x.map(Instant::now);\n}\n";
        assert_eq!(found(text, Pattern::Path(&["Mutex"])), [3, 5]);
        assert_eq!(found(text, Pattern::Path(&["Instant", "now"])), [7]);
        assert_eq!(found(text, Pattern::Path(&["now"])), [7]);
    }

    #[test]
    fn a_call_inside_a_macro_is_found() {
        let text = "fn f() {\n    assert!(x.to_string() != y);\n    m!(Vec::<u8>::new());\n    \
                    m! { log::info!(\"\"); }\n}\n";
        assert_eq!(found(text, Pattern::Method("to_string")), [2]);
        assert_eq!(found(text, Pattern::Path(&["Vec", "new"])), [3]);
        assert_eq!(found(text, Pattern::Macro("info")), [4]);
        assert_eq!(found(text, Pattern::Macro("y")), [0; 0]);
    }

    #[test]
    fn docs_derives_and_strings_name_nothing() {
        let text = "/// `Mutex::new`\n#[derive(Clone)]\nstruct S;\nfn f() { g(\"Mutex\"); }\n";
        assert!(found(text, Pattern::Path(&["Mutex"])).is_empty());
        assert!(found(text, Pattern::Path(&["Clone"])).is_empty());
    }
}
