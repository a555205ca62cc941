//! The styles and scripts of pages.
//!
//! In: the files of `assets/`, which `build.rs` has compressed. Out: their text, decompressed when
//! the first page is drawn. Never: a string of a run.

use flate2::read::ZlibDecoder;
use std::collections::BTreeMap;
use std::io::Read as _;
use std::sync::LazyLock;

/// The styles and scripts that every page has, in the order they apply and run. The first script
/// counts the errors of the others.
const STYLES: [&str; 2] = ["uPlot.min.css", "style.css"];
const COMMON: [&str; 6] =
    ["guard.js", "uPlot.iife.min.js", "format.js", "charts.js", "flame.js", "page.js"];

/// The common styles.
pub(super) static STYLE: LazyLock<String> = LazyLock::new(|| STYLES.map(asset).concat());

/// The common scripts in the order they run.
pub(super) static SCRIPTS: LazyLock<[&str; 6]> = LazyLock::new(|| COMMON.map(asset));

static ASSETS: LazyLock<BTreeMap<String, String>> = LazyLock::new(|| {
    let compressed = include_bytes!(concat!(env!("OUT_DIR"), "/assets.zlib"));
    let mut text = String::new();
    ZlibDecoder::new(&compressed[..]).read_to_string(&mut text).expect("build.rs compressed it");
    let mut parts = text.split_terminator('\0').map(str::to_string);
    std::iter::from_fn(|| parts.next().zip(parts.next())).collect()
});

/// The text of a style or script of `assets/`, by its file name.
///
/// # Panics
///
/// If there is no such file.
pub fn asset(name: &str) -> &'static str {
    ASSETS.get(name).unwrap_or_else(|| panic!("no asset has the name {name}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_are_the_files_as_they_are() {
        let assets = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("assets");
        let read = |name: &str| std::fs::read_to_string(assets.join(name)).unwrap();
        assert_eq!(*STYLE, read("vendor/uPlot.min.css") + &read("style.css"));
        let names = ["guard", "vendor/uPlot.iife.min", "format", "charts", "flame", "page"];
        assert_eq!(*SCRIPTS, names.map(|name| read(&format!("{name}.js"))));
        for name in ["live.css", "live.js", "site.css", "site.js"] {
            assert_eq!(asset(name), read(name));
        }
        assert_eq!(ASSETS.len(), 12, "{:?}", ASSETS.keys());
    }
}
