//! Where the files of a host are: below `/`, or below a folder that holds a fake host for a test.

use std::path::{Path, PathBuf};

/// The folder that stands for `/`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Root(PathBuf);

impl Default for Root {
    /// This host.
    fn default() -> Self {
        Self(PathBuf::from("/"))
    }
}

impl Root {
    /// A host whose files are below `folder`.
    pub fn below(folder: impl Into<PathBuf>) -> Self {
        Self(folder.into())
    }

    /// Where a file of the host with this absolute path is.
    pub fn path(&self, absolute: impl AsRef<Path>) -> PathBuf {
        let absolute = absolute.as_ref();
        self.0.join(absolute.strip_prefix("/").unwrap_or(absolute))
    }

    /// The absolute path of a file on the host: the inverse of [`Root::path`].
    pub fn known_as(&self, file: &Path) -> PathBuf {
        Path::new("/").join(file.strip_prefix(&self.0).unwrap_or(file))
    }

    /// The path of a file in `/proc` about a process.
    pub fn process(&self, pid: u32, file: &str) -> PathBuf {
        self.path(format!("/proc/{pid}/{file}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn absolute_paths_move_below_the_folder() {
        assert_eq!(Root::default().process(7, "fd"), Path::new("/proc/7/fd"));
        let root = Root::below("/tmp/host");
        assert_eq!(root.path("/sys/class"), Path::new("/tmp/host/sys/class"));
        assert_eq!(root.known_as(&root.path("/sys/class")), Path::new("/sys/class"));
    }
}
