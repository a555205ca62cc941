//! No `bool` parameters in functions that others call.
//!
//! `open(path, true)` does not say what is true. An enum with two variants is readable at the call,
//! and can get a third case.

use crate::finding::Finding;
use crate::tree::Tree;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{FnArg, Signature, Visibility};

/// Reads the signatures of visible functions and of the methods of visible traits.
pub fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (file, source) in tree.sources() {
        let mut collector = Collector { flags: Vec::new() };
        collector.visit_file(&source.ast);
        for flag in collector.flags {
            if tree.is_test(file, source, flag.line) {
                continue;
            }
            let Flag { line, function } = flag;
            let wrong = format!("`{function}` takes a bool, and its callers cannot say which one");
            let instead = "take an enum with two variants, or make it two functions";
            findings.push(Finding::new(&file.path, line, wrong, instead));
        }
    }
    findings
}

struct Flag {
    line: usize,
    function: String,
}

struct Collector {
    flags: Vec<Flag>,
}

impl Collector {
    fn signature(&mut self, signature: &Signature) {
        for input in &signature.inputs {
            let FnArg::Typed(parameter) = input else { continue };
            if is_bool(&parameter.ty) {
                let function = signature.ident.to_string();
                self.flags.push(Flag { line: parameter.span().start().line, function });
            }
        }
    }
}

impl<'ast> Visit<'ast> for Collector {
    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        if is_visible(&item.vis) {
            self.signature(&item.sig);
        }
        visit::visit_item_fn(self, item);
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        if is_visible(&item.vis) {
            self.signature(&item.sig);
        }
        visit::visit_impl_item_fn(self, item);
    }

    fn visit_item_trait(&mut self, item: &'ast syn::ItemTrait) {
        if is_visible(&item.vis) {
            for inner in &item.items {
                if let syn::TraitItem::Fn(method) = inner {
                    self.signature(&method.sig);
                }
            }
        }
        visit::visit_item_trait(self, item);
    }
}

/// `pub(crate)` counts as visible: its callers are in other files, too.
fn is_visible(visibility: &Visibility) -> bool {
    !matches!(visibility, Visibility::Inherited)
}

fn is_bool(ty: &syn::Type) -> bool {
    matches!(ty, syn::Type::Path(path) if path.path.is_ident("bool"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<usize> {
        let found = check(&Tree::sample(&[("crates/a/src/lib.rs", text)]));
        found.into_iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn flags_of_visible_functions_are_found() {
        let text = "\
pub fn a(
    x: u8,
    deep: bool,
) {}
impl X {
    pub(crate) fn b(&self, on: bool) {}
}
pub trait T {
    fn c(on: bool);
}
";
        assert_eq!(found(text), [3, 6, 9]);
    }

    #[test]
    fn private_functions_results_fields_and_tests_are_silent() {
        let text = "\
fn a(on: bool) -> bool { on }
pub fn b(x: &mut bool) -> bool { *x }
impl T for X {
    fn c(on: bool) {}
}
pub struct S { pub on: bool }
#[cfg(test)]
mod tests {
    pub fn d(on: bool) {}
}
";
        assert_eq!(found(text), [0; 0]);
    }
}
