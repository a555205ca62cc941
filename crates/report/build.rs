//! Compresses the styles and scripts of a page, which are large text in a program whose size has a
//! limit.
//!
//! In: `assets/`. Out: `page.zlib` in `OUT_DIR`: the files in order, each ended by a zero byte.
//! Never: a change of a file; the page has it as it is in `assets/`.

use flate2::Compression;
use flate2::write::ZlibEncoder;
use std::io::Write as _;
use std::path::Path;
use std::{env, fs, io};

/// Styles, then scripts, in the order they apply and run. The first script counts the errors of
/// the others.
const FILES: [&str; 8] = [
    "vendor/uPlot.min.css",
    "style.css",
    "guard.js",
    "vendor/uPlot.iife.min.js",
    "format.js",
    "charts.js",
    "flame.js",
    "page.js",
];

fn main() -> io::Result<()> {
    let mut compressed = ZlibEncoder::new(Vec::new(), Compression::best());
    for name in FILES {
        let path = Path::new("assets").join(name);
        println!("cargo::rerun-if-changed={}", path.display());
        let text = fs::read(&path)?;
        if text.contains(&0) {
            return Err(io::Error::other(format!("{name} has a zero byte")));
        }
        compressed.write_all(&text)?;
        compressed.write_all(&[0])?;
    }
    let out = env::var_os("OUT_DIR").ok_or_else(|| io::Error::other("OUT_DIR is not set"))?;
    fs::write(Path::new(&out).join("page.zlib"), compressed.finish()?)
}
