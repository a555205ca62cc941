//! Which Rust files cargo compiles, found like the compiler does: from the roots of each package
//! along the `mod` declarations.

use super::items::is_test_attribute;
use crate::manifest;
use crate::tree::{File, Tree};
use std::collections::{BTreeMap, BTreeSet};

/// The result for the whole repository.
pub struct Modules {
    reached: BTreeMap<String, Audience>,
    broken_packages: BTreeSet<String>,
}

/// In which builds a file is compiled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Audience {
    Tests,
    Everyone,
}

/// A file still to be read for declarations.
struct Visit {
    path: String,
    /// The folder where its `mod name;` are looked up.
    modules_folder: String,
    audience: Audience,
}

impl Modules {
    /// Follows the declarations of every package.
    pub fn of(tree: &Tree) -> Self {
        let mut modules = Self { reached: BTreeMap::new(), broken_packages: BTreeSet::new() };
        for package in manifest::packages(tree) {
            let mut visits: Vec<Visit> = roots(tree, &package).collect();
            while let Some(visit) = visits.pop() {
                let known = modules.reached.get(&visit.path);
                if known.is_some_and(|audience| *audience >= visit.audience) {
                    continue;
                }
                modules.reached.insert(visit.path.clone(), visit.audience);
                match tree.get(&visit.path).and_then(File::rust) {
                    Some(Ok(source)) => {
                        visits.extend(declared(tree, &visit, &source.ast.items));
                    }
                    Some(Err(_)) => {
                        modules.broken_packages.insert(package.folder.clone());
                    }
                    None => {}
                }
            }
        }
        modules
    }

    /// Whether the file is compiled at all. If any file of a package cannot be parsed, all of its
    /// files count as compiled, because its declarations are not known.
    pub fn is_reached(&self, path: &str) -> bool {
        let broken = |package: &String| is_below(path, package);
        self.reached.contains_key(path) || self.broken_packages.iter().any(broken)
    }

    /// Whether the file is compiled for tests only.
    pub fn is_test_only(&self, path: &str) -> bool {
        self.reached.get(path) == Some(&Audience::Tests)
    }
}

/// Whether a path is in a folder. Every path is in the root, whose name is empty.
fn is_below(path: &str, folder: &str) -> bool {
    folder.is_empty() || path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
}

/// Where the compiler starts: the default places of cargo, and those that the manifest names.
fn roots<'t>(tree: &'t Tree, package: &manifest::Package) -> impl Iterator<Item = Visit> + 't {
    let folder = package.folder.clone();
    let named: Vec<String> =
        package.target_paths.iter().map(|path| manifest::joined(&folder, path)).collect();
    tree.files().filter_map(move |file| {
        let inside = match folder.as_str() {
            "" => file.path.as_str(),
            folder => file.path.strip_prefix(folder)?.strip_prefix('/')?,
        };
        if !is_known_root(inside) && !named.contains(&file.path) {
            return None;
        }
        let beside_src = ["tests/", "benches/"].iter().any(|start| inside.starts_with(start));
        let audience = if beside_src { Audience::Tests } else { Audience::Everyone };
        let modules_folder = file.folder().to_owned();
        Some(Visit { path: file.path.clone(), modules_folder, audience })
    })
}

/// Whether a path inside a package is a default place of cargo.
fn is_known_root(inside: &str) -> bool {
    let parts: Vec<&str> = inside.split('/').collect();
    match parts.as_slice() {
        ["build.rs"] | ["src", "lib.rs" | "main.rs"] => true,
        ["src", "bin", rest @ ..] | ["tests" | "benches" | "examples", rest @ ..] => {
            matches!(rest, [_, "main.rs"]) || matches!(rest, [single] if single.ends_with(".rs"))
        }
        _ => false,
    }
}

/// The files that the declarations of a file lead to.
fn declared(tree: &Tree, from: &Visit, items: &[syn::Item]) -> Vec<Visit> {
    let mut found = Vec::new();
    for item in items {
        let syn::Item::Mod(module) = item else { continue };
        let is_test = module.attrs.iter().any(is_test_attribute);
        let audience = if is_test { Audience::Tests } else { from.audience };
        let name = module.ident.to_string();
        let name = name.trim_start_matches("r#");
        if let Some((_, inner)) = &module.content {
            let modules_folder = manifest::joined(&from.modules_folder, name);
            let inline = Visit { path: from.path.clone(), modules_folder, audience };
            found.extend(declared(tree, &inline, inner));
            continue;
        }
        found.extend(candidates(from, name, &module.attrs).into_iter().filter_map(
            |(path, modules_folder)| {
                tree.get(&path)?;
                Some(Visit { path, modules_folder, audience })
            },
        ));
    }
    found
}

/// Where `mod name;` may point, each with the folder of its own modules.
fn candidates(from: &Visit, name: &str, attributes: &[syn::Attribute]) -> Vec<(String, String)> {
    if let Some(path) = attributes.iter().find_map(path_attribute) {
        let folder = from.path.rsplit_once('/').map_or("", |(folder, _)| folder);
        let path = manifest::joined(folder, &path);
        let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder).to_owned();
        return vec![(path, folder)];
    }
    let folder = manifest::joined(&from.modules_folder, name);
    vec![(format!("{folder}.rs"), folder.clone()), (format!("{folder}/mod.rs"), folder)]
}

/// The value of `#[path = "..."]`.
fn path_attribute(attribute: &syn::Attribute) -> Option<String> {
    let syn::Meta::NameValue(pair) = &attribute.meta else { return None };
    let syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(text), .. }) = &pair.value else {
        return None;
    };
    pair.path.is_ident("path").then(|| text.value())
}

#[cfg(test)]
mod tests {
    use super::*;

    const MANIFEST: (&str, &str) = ("crates/a/Cargo.toml", "[package]\nname = \"a\"\n");

    #[test]
    fn declarations_are_followed_as_the_compiler_follows_them() {
        let tree = Tree::sample(&[
            MANIFEST,
            ("crates/a/src/lib.rs", "mod one;\nmod inline { mod deep; }\n"),
            ("crates/a/src/one.rs", "mod two;\n#[path = \"odd.rs\"]\nmod three;\n"),
            ("crates/a/src/one/two/mod.rs", ""),
            ("crates/a/src/odd.rs", ""),
            ("crates/a/src/inline/deep.rs", ""),
            ("crates/a/src/two.rs", ""),
            ("crates/a/src/bin/tool.rs", ""),
            ("crates/a/tests/it/main.rs", "mod part;"),
            ("crates/a/tests/it/part.rs", ""),
        ]);
        let modules = tree.modules();
        let dead: Vec<_> = tree
            .files()
            .filter(|file| file.extension() == "rs" && !modules.is_reached(&file.path))
            .map(|file| file.path.as_str())
            .collect();
        assert_eq!(dead, ["crates/a/src/two.rs"]);
        assert!(modules.is_test_only("crates/a/tests/it/part.rs"));
        assert!(!modules.is_test_only("crates/a/src/one.rs"));
    }

    #[test]
    fn a_file_behind_cfg_test_is_for_tests_only_unless_others_declare_it_too() {
        let tree = Tree::sample(&[
            MANIFEST,
            ("crates/a/src/lib.rs", "#[cfg(test)] mod one;\n#[cfg(test)] mod two;\n"),
            ("crates/a/src/main.rs", "mod two;"),
            ("crates/a/src/one.rs", "mod inner;"),
            ("crates/a/src/one/inner.rs", ""),
            ("crates/a/src/two.rs", ""),
        ]);
        let modules = tree.modules();
        assert!(modules.is_test_only("crates/a/src/one/inner.rs"));
        assert!(!modules.is_test_only("crates/a/src/two.rs"));
    }

    #[test]
    fn a_target_that_the_manifest_names_is_a_root() {
        let manifest = "[package]\nname = \"a\"\n[[bin]]\nname = \"x\"\npath = \"src/x.rs\"\n";
        let tree = Tree::sample(&[("a/Cargo.toml", manifest), ("a/src/x.rs", "")]);
        assert!(tree.modules().is_reached("a/src/x.rs"));
    }

    #[test]
    fn nothing_is_dead_in_a_package_that_cannot_be_parsed() {
        let tree = Tree::sample(&[
            MANIFEST,
            ("crates/a/src/lib.rs", "mod one; fn"),
            ("crates/a/src/one.rs", ""),
        ]);
        assert!(tree.modules().is_reached("crates/a/src/one.rs"));
    }
}
