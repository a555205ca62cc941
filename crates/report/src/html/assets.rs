//! The styles and scripts of a page.
//!
//! In: the files of `assets/`, which `build.rs` has compressed. Out: their text, decompressed when
//! the first page is drawn. Never: a string of a run.

use flate2::read::ZlibDecoder;
use std::io::Read as _;
use std::sync::LazyLock;

/// The common styles.
pub(super) static STYLE: LazyLock<String> = LazyLock::new(|| TEXTS[..2].concat());

/// The common scripts in the order they run. The first one counts the errors of the others.
pub(super) static SCRIPTS: LazyLock<[&str; 6]> =
    LazyLock::new(|| std::array::from_fn(|index| TEXTS[2 + index].as_str()));

static TEXTS: LazyLock<Vec<String>> = LazyLock::new(|| {
    let compressed = include_bytes!(concat!(env!("OUT_DIR"), "/page.zlib"));
    let mut text = String::new();
    ZlibDecoder::new(&compressed[..]).read_to_string(&mut text).expect("build.rs compressed it");
    text.split_terminator('\0').map(str::to_string).collect()
});

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
    }
}
