//! Compresses the styles and scripts of pages, which are large text in a program whose size has a
//! limit.
//!
//! In: the `.css` and `.js` files of `assets/` and of `assets/vendor/`. Out: `assets.zlib` in
//! `OUT_DIR`: for each file its name and its text, each ended by a zero byte. Never: a change of a
//! file; the page has it as it is in `assets/`.

use flate2::Compression;
use flate2::write::ZlibEncoder;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let mut compressed = ZlibEncoder::new(Vec::new(), Compression::best());
    for folder in ["assets", "assets/vendor"] {
        println!("cargo::rerun-if-changed={folder}");
        for path in pages_files(Path::new(folder))? {
            println!("cargo::rerun-if-changed={}", path.display());
            let text = fs::read(&path)?;
            if text.contains(&0) {
                return Err(io::Error::other(format!("{} has a zero byte", path.display())));
            }
            let name = path.file_name().expect("read_dir names it");
            for part in [name.as_encoded_bytes(), &text] {
                compressed.write_all(part)?;
                compressed.write_all(&[0])?;
            }
        }
    }
    let out = env::var_os("OUT_DIR").ok_or_else(|| io::Error::other("OUT_DIR is not set"))?;
    fs::write(Path::new(&out).join("assets.zlib"), compressed.finish()?)
}

/// The styles and scripts of a folder, sorted, so that a build can be repeated byte by byte.
fn pages_files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut paths = fs::read_dir(folder)?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<io::Result<Vec<PathBuf>>>()?;
    paths.retain(|path| path.extension().is_some_and(|end| end == "css" || end == "js"));
    paths.sort();
    Ok(paths)
}
