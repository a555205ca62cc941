//! Schemas from `.proto` files.

use crate::one_line;
use protox::Compiler;
use std::path::{Path, PathBuf};

/// A set of descriptors from `.proto` files. What they import is looked for below `paths`; without
/// any, below the folder of each file and the current one.
pub fn compile(files: &[PathBuf], paths: &[PathBuf]) -> Result<Vec<u8>, String> {
    let folders = files.iter().filter_map(|file| file.parent()).map(|folder| match folder {
        folder if folder.as_os_str().is_empty() => PathBuf::from("."),
        folder => folder.to_path_buf(),
    });
    let paths = if paths.is_empty() { folders.collect() } else { paths.to_vec() };
    let here = (!paths.iter().any(|path| path == Path::new("."))).then(|| PathBuf::from("."));
    let mut compiler =
        Compiler::new(paths.into_iter().chain(here)).map_err(|error| one_line(&error))?;
    compiler.include_imports(true);
    for file in files {
        compiler.open_file(file).map_err(|error| one_line(&error))?;
    }
    Ok(compiler.encode_file_descriptor_set())
}
