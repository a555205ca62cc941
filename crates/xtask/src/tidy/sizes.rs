//! No file above one mebibyte.
//!
//! Git keeps every version of every file forever, and every clone downloads all of them.

use crate::finding::Finding;
use crate::tree::{SIZE_MAX_BYTES, Tree};

/// Reads the length of every file.
pub fn check(tree: &Tree) -> Vec<Finding> {
    tree.files()
        .filter(|file| file.size_bytes > SIZE_MAX_BYTES)
        .map(|file| {
            let bytes = file.size_bytes;
            let wrong = format!("the file has {bytes} bytes, the limit is {SIZE_MAX_BYTES}");
            let instead = "let a make target download or generate it, and ignore it";
            Finding::new(&file.path, 1, wrong, instead)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::File;

    #[test]
    fn the_limit_is_one_mebibyte() {
        let file = |bytes| File::sample("a.bin", &vec![b'x'; bytes]);
        assert_eq!(check(&Tree::of(vec![file(1 << 20)])), []);
        assert_eq!(check(&Tree::of(vec![file((1 << 20) + 1)])).len(), 1);
    }
}
