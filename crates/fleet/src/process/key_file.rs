//! The file of a controller's key.

use crate::key::{ControllerKey, KeyError};
use remote::write_secret;
use std::fs::OpenOptions;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Size limit of a key file in bytes.
const FILE_BYTES_MAX: u64 = 1024;

impl ControllerKey {
    /// Writes it to a new file that only its owner may read.
    ///
    /// # Errors
    ///
    /// The file exists already, or cannot be made.
    pub fn write(&self, path: &Path) -> Result<(), KeyError> {
        write_secret(path, self.secret().as_bytes())
            .map_err(|error| KeyError::Io { path: path.to_path_buf(), error })
    }

    /// Reads it from a file.
    ///
    /// # Errors
    ///
    /// The file does not exist, every user may read it, or it has no key.
    pub fn read(path: &Path) -> Result<Self, KeyError> {
        let failed = |error| KeyError::Io { path: path.to_path_buf(), error };
        let file = OpenOptions::new().read(true).open(path).map_err(failed)?;
        if file.metadata().map_err(failed)?.mode() & 0o007 != 0 {
            return Err(KeyError::Open { path: path.to_path_buf() });
        }
        let mut text = String::new();
        file.take(FILE_BYTES_MAX).read_to_string(&mut text).map_err(failed)?;
        Self::of_secret(&text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_key_is_kept_from_others_and_read_again() {
        let folder = std::env::temp_dir().join(format!("fleet-key-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir(&folder).unwrap();
        let path = folder.join("controller.key");
        let key = ControllerKey::generate();
        key.write(&path).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        let again = ControllerKey::read(&path).unwrap();
        assert_eq!(again.public(), key.public());
        assert!(matches!(key.write(&path), Err(KeyError::Io { .. })), "never replaced");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o604)).unwrap();
        assert!(matches!(ControllerKey::read(&path), Err(KeyError::Open { .. })));
        fs::write(&path, "nonsense").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        assert!(matches!(ControllerKey::read(&path), Err(KeyError::Text(_))));
        fs::remove_dir_all(folder).unwrap();
    }
}
