//! Reads the manifests: packages, their target files, and their dependencies on each other.

use crate::tree::Tree;
use std::collections::BTreeMap;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// One package of the repository.
#[derive(Debug, Clone)]
pub struct Package {
    /// The path of its manifest.
    pub manifest: String,
    /// Its folder, which identifies it here: folders are unique, names need not be.
    pub folder: String,
    /// Dependencies on other folders of the repository.
    pub uses: Vec<Dependency>,
    /// Files that the manifest names as targets, relative to the folder.
    pub target_paths: Vec<String>,
}

/// One dependency on a package of the repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dependency {
    /// The folder of the other package.
    pub folder: String,
    /// Its line in the manifest.
    pub line: usize,
    /// Its section.
    pub section: Section,
}

/// When a dependency is needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Section {
    /// Always.
    Normal,
    /// For tests, benches and examples.
    Dev,
    /// For the build script.
    Build,
}

const SECTIONS: [(&str, Section); 3] = [
    ("dependencies", Section::Normal),
    ("dev-dependencies", Section::Dev),
    ("build-dependencies", Section::Build),
];

type Table<'t> = DeTable<'t>;

/// Every package of the repository. Manifests that are not TOML are left out; see [`errors`].
pub fn packages(tree: &Tree) -> Vec<Package> {
    let shared = shared_paths(tree);
    manifests(tree)
        .filter_map(|(path, text)| {
            let document = Table::parse(text).ok()?;
            let table = document.get_ref();
            table.get("package")?;
            let folder = folder_of(path);
            let context = Context { text, folder, shared: &shared };
            Some(Package {
                manifest: path.to_owned(),
                folder: folder.to_owned(),
                uses: context.dependencies(table),
                target_paths: target_paths(table),
            })
        })
        .collect()
}

/// Every manifest that is not TOML: its path, the line and the reason.
pub fn errors(tree: &Tree) -> Vec<(String, usize, String)> {
    manifests(tree)
        .filter_map(|(path, text)| {
            let error = Table::parse(text).err()?;
            let line = error.span().map_or(1, |span| line_at(text, span.start));
            Some((path.to_owned(), line, error.message().to_owned()))
        })
        .collect()
}

/// A path relative to a folder, with `.` and `..` resolved.
pub fn joined(folder: &str, relative: &str) -> String {
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in relative.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            name => parts.push(name),
        }
    }
    parts.join("/")
}

fn manifests(tree: &Tree) -> impl Iterator<Item = (&str, &str)> {
    tree.texts()
        .filter(|(file, _)| file.name() == "Cargo.toml" && !file.is_foreign())
        .map(|(file, text)| (file.path.as_str(), text))
}

fn folder_of(manifest: &str) -> &str {
    manifest.rsplit_once('/').map_or("", |(folder, _)| folder)
}

/// The folders of the `[workspace.dependencies]` of each workspace: by the folder of the workspace,
/// then by name.
type Shared = BTreeMap<String, BTreeMap<String, String>>;

fn shared_paths(tree: &Tree) -> Shared {
    let mut shared = Shared::new();
    for (path, text) in manifests(tree) {
        let Ok(document) = Table::parse(text) else { continue };
        let Some(workspace) = table_at(document.get_ref(), "workspace") else { continue };
        let folder = folder_of(path);
        let entries = table_at(workspace, "dependencies").into_iter().flat_map(|table| {
            table.iter().filter_map(|(name, value)| {
                let path = value.get_ref().get("path")?.get_ref().as_str()?;
                Some((name.get_ref().to_string(), joined(folder, path)))
            })
        });
        shared.insert(folder.to_owned(), entries.collect());
    }
    shared
}

struct Context<'t> {
    text: &'t str,
    folder: &'t str,
    shared: &'t Shared,
}

impl Context<'_> {
    fn dependencies(&self, table: &Table<'_>) -> Vec<Dependency> {
        let mut found = self.sections(table);
        let platforms = table_at(table, "target").into_iter().flat_map(|table| table.iter());
        for (_, platform) in platforms {
            found.extend(platform.get_ref().as_table().into_iter().flat_map(|t| self.sections(t)));
        }
        found.sort_by_key(|dependency| dependency.line);
        found
    }

    fn sections(&self, table: &Table<'_>) -> Vec<Dependency> {
        let mut found = Vec::new();
        for (key, section) in SECTIONS {
            for (name, value) in table_at(table, key).into_iter().flat_map(|table| table.iter()) {
                if let Some(folder) = self.target(name.get_ref(), value) {
                    let line = line_at(self.text, name.span().start);
                    found.push(Dependency { folder, line, section });
                }
            }
        }
        found
    }

    /// The folder that a dependency points to, or `None` when it comes from a registry.
    fn target(&self, name: &str, value: &Spanned<DeValue<'_>>) -> Option<String> {
        let value = value.get_ref();
        if let Some(path) = value.get("path") {
            return Some(joined(self.folder, path.get_ref().as_str()?));
        }
        if value.get("workspace")?.get_ref().as_bool()? {
            return self.workspace()?.get(name).cloned();
        }
        None
    }

    /// The shared dependencies of the nearest enclosing workspace.
    fn workspace(&self) -> Option<&BTreeMap<String, String>> {
        let mut folder = self.folder;
        loop {
            if let Some(entries) = self.shared.get(folder) {
                return Some(entries);
            }
            if folder.is_empty() {
                return None;
            }
            folder = folder_of(folder);
        }
    }
}

fn target_paths(table: &Table<'_>) -> Vec<String> {
    let path = |value: &DeValue<'_>| Some(value.get("path")?.get_ref().as_str()?.to_owned());
    let lib = table.get("lib").and_then(|value| path(value.get_ref()));
    let build = table_at(table, "package")
        .and_then(|package| Some(package.get("build")?.get_ref().as_str()?.to_owned()));
    let mut paths: Vec<String> = lib.into_iter().chain(build).collect();
    for key in ["bin", "test", "bench", "example"] {
        let entries = table.get(key).and_then(|value| value.get_ref().as_array());
        let entries = entries.into_iter().flat_map(|array| array.iter());
        paths.extend(entries.filter_map(|value| path(value.get_ref())));
    }
    paths
}

fn table_at<'t, 'i>(table: &'t Table<'i>, key: &str) -> Option<&'t Table<'i>> {
    table.get(key)?.get_ref().as_table()
}

fn line_at(text: &str, offset: usize) -> usize {
    text[..offset].matches('\n').count() + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn internal_dependencies_are_found_in_every_spelling() {
        let root = "[workspace.dependencies]\nmodel = { path = \"crates/model\" }\nserde = \"1\"\n";
        let a = "[package]\nname = \"a\"\n[dependencies]\nmodel.workspace = true\n\
                 serde.workspace = true\nlibc = \"1\"\n[dev-dependencies]\n\
                 renamed = { package = \"b\", path = \"../b\" }\n\
                 [target.'cfg(unix)'.build-dependencies]\nc = { path = \"../../c/\" }\n";
        let tree = Tree::sample(&[("Cargo.toml", root), ("crates/a/Cargo.toml", a)]);
        let [package] = packages(&tree).try_into().unwrap();
        let found = package.uses.iter().map(|used| (used.folder.as_str(), used.line, used.section));
        let expected = [
            ("crates/model", 4, Section::Normal),
            ("crates/b", 8, Section::Dev),
            ("c", 10, Section::Build),
        ];
        assert_eq!(found.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn a_package_outside_the_workspace_does_not_share_its_dependencies() {
        let root = "[workspace.dependencies]\nmodel = { path = \"crates/model\" }\n";
        let own = "[workspace]\n[package]\nname = \"f\"\n[dependencies]\nmodel.workspace = true\n";
        let tree = Tree::sample(&[("Cargo.toml", root), ("fuzz/Cargo.toml", own)]);
        assert!(packages(&tree)[0].uses.is_empty());
    }

    #[test]
    fn a_manifest_that_is_not_toml_is_reported_with_its_line() {
        let tree = Tree::sample(&[("Cargo.toml", "[package]\nname = \n")]);
        let [(path, line, _)] = errors(&tree).try_into().unwrap();
        assert_eq!((path.as_str(), line), ("Cargo.toml", 2));
    }
}
