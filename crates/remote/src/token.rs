//! The secret that both ends have, in a file.

use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustls::crypto::aws_lc_rs;
use sha2::{Digest, Sha256};
use std::fs::{self, File, OpenOptions};
use std::hint::black_box;
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// A shorter token could be guessed.
const CHARACTERS_MIN: usize = 16;
const CHARACTERS_MAX: usize = 1024;
/// Random bytes of a token that we make.
const RANDOM_BYTES: usize = 32;

/// Why a file has no valid token.
#[derive(Debug, thiserror::Error)]
pub enum TokenError {
    /// The system refused an operation.
    #[error("{}: {error}", path.display())]
    Io {
        /// Which file.
        path: PathBuf,
        /// The system's reason.
        error: io::Error,
    },
    /// Others may read the secret.
    #[error("{0}: other users can read it; for example chmod 600 {0}", path.display())]
    Open {
        /// Which file.
        path: PathBuf,
    },
    /// Another user can change or replace the file.
    #[error("{}: it is {what}; a secret must be in a regular file of this user", path.display())]
    Foreign {
        /// Which file.
        path: PathBuf,
        /// What it is instead.
        what: &'static str,
    },
    /// Not a token.
    #[error(
        "{}: it holds no token, which is {CHARACTERS_MIN} to {CHARACTERS_MAX} printable \
         characters without blanks in one line", path.display()
    )]
    NoToken {
        /// Which file.
        path: PathBuf,
    },
}

pub(crate) fn io_error(path: &Path) -> impl Fn(io::Error) -> TokenError {
    let path = path.to_path_buf();
    move |error| TokenError::Io { path: path.clone(), error }
}

/// The token in a file.
pub fn read(path: &Path) -> Result<String, TokenError> {
    token_in(File::open(path).map_err(io_error(path))?, path)
}

fn token_in(file: File, path: &Path) -> Result<String, TokenError> {
    let mut text = String::new();
    let no_token = || TokenError::NoToken { path: path.to_path_buf() };
    match file.take(CHARACTERS_MAX as u64 + 2).read_to_string(&mut text) {
        Err(error) if error.kind() == io::ErrorKind::InvalidData => return Err(no_token()),
        result => result.map_err(io_error(path))?,
    };
    let token = text.trim();
    let length_is_right = (CHARACTERS_MIN..=CHARACTERS_MAX).contains(&token.len());
    if length_is_right && token.bytes().all(|byte| byte.is_ascii_graphic()) {
        Ok(token.to_string())
    } else {
        Err(no_token())
    }
}

/// The token in a file that only its owner may read; a new one when there is no file.
pub fn read_or_make(path: &Path) -> Result<String, TokenError> {
    if !path.exists() {
        let mut line = hexadecimal(&random());
        line.push('\n');
        write_secret(path, line.as_bytes()).map_err(io_error(path))?;
    }
    token_in(open_secret(path)?, path)
}

/// Opens a file that no other user may read or replace. The checks are of the open file, so that it
/// cannot be exchanged in between.
pub fn open_secret(path: &Path) -> Result<File, TokenError> {
    let foreign = |what| TokenError::Foreign { path: path.to_path_buf(), what };
    // Without waiting for a writer, if it is a pipe.
    let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK;
    let file = match OpenOptions::new().read(true).custom_flags(flags).open(path) {
        Err(error) if error.raw_os_error() == Some(libc::ELOOP) => {
            return Err(foreign("a symbolic link"));
        }
        opened => opened.map_err(io_error(path))?,
    };
    let found = file.metadata().map_err(io_error(path))?;
    if !found.is_file() {
        return Err(foreign("not a regular file"));
    }
    if found.mode() & 0o077 != 0 {
        return Err(TokenError::Open { path: path.to_path_buf() });
    }
    if found.uid() != rustix::process::geteuid().as_raw() {
        return Err(foreign("a file of another user"));
    }
    Ok(file)
}

/// Makes a file that only its owner may read, whole or not at all: it is written beside its place
/// and then gets its name, which must not exist yet.
pub fn write_secret(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let unique = hexadecimal(&random()[..4]);
    let draft = path.with_file_name(format!(".{name}.{unique}.part"));
    let made = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&draft);
    let written = made.and_then(|mut file| {
        file.write_all(bytes)?;
        file.sync_all()?;
        match fs::hard_link(&draft, path) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                // Not every file system has links.
                Ok(renameat_with(CWD, &draft, CWD, path, RenameFlags::NOREPLACE)?)
            }
            linked => linked,
        }
    });
    let _ = fs::remove_file(&draft);
    written
}

fn random() -> [u8; RANDOM_BYTES] {
    let mut bytes = [0; RANDOM_BYTES];
    let source = aws_lc_rs::default_provider().secure_random;
    source.fill(&mut bytes).expect("the system gives random bytes");
    bytes
}

/// Lower-case digits, two for each byte.
pub fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Whether two tokens are the same, in a time that does not show where they differ.
pub fn is_same(given: &str, expected: &str) -> bool {
    // Digests have one length, so the length of the token does not show either.
    let (given, expected) = (Sha256::digest(given), Sha256::digest(expected));
    let pairs = given.iter().zip(&expected);
    pairs.fold(0, |differences, (left, right)| black_box(differences | (left ^ right))) == 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, chown, symlink};

    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("remote-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir(&folder).unwrap();
        folder
    }

    #[test]
    fn a_token_is_made_once_and_kept_from_others() {
        let folder = folder("token");
        let path = folder.join("probe.token");
        let token = read_or_make(&path).unwrap();
        assert_eq!(token.len(), 2 * RANDOM_BYTES);
        assert_eq!(read_or_make(&path).unwrap(), token);
        assert_eq!(read(&path).unwrap(), token);
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        let refused = read_or_make(&path).unwrap_err().to_string();
        assert!(refused.contains("chmod 600"), "{refused}");
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_secret_is_written_whole_to_a_new_file_or_not_at_all() {
        let folder = folder("whole");
        let path = folder.join("secret");
        write_secret(&path, b"first").unwrap();
        let refused = write_secret(&path, b"second").unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(fs::read(&path).unwrap(), b"first");
        assert!(write_secret(&folder.join("none/secret"), b"x").is_err());
        let left: Vec<_> = fs::read_dir(&folder).unwrap().map(|one| one.unwrap().path()).collect();
        assert_eq!(left, [path], "no draft");
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_secret_that_somebody_else_can_exchange_is_refused() {
        let folder = folder("foreign");
        let (path, link) = (folder.join("probe.token"), folder.join("link"));
        let token = read_or_make(&path).unwrap();
        symlink(&path, &link).unwrap();
        let refused = |path: &Path| read_or_make(path).unwrap_err().to_string();
        assert!(refused(&link).contains("a symbolic link"), "{}", refused(&link));
        assert_eq!(read(&link).unwrap(), token, "a client may keep its copy where it likes");
        let inside = folder.join("folder");
        fs::create_dir(&inside).unwrap();
        assert!(refused(&inside).contains("not a regular file"), "{}", refused(&inside));
        if chown(&path, Some(65_534), None).is_err() {
            println!("skipped: only root can give a file to another user");
        } else {
            assert!(refused(&path).contains("another user"), "{}", refused(&path));
        }
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn what_is_no_token_is_refused() {
        let folder = folder("no-token");
        let path = folder.join("probe.token");
        let long = "x".repeat(CHARACTERS_MAX + 1);
        for text in ["", "short", "two words that are long enough", &long, "ümläutümläutümläut"]
        {
            fs::write(&path, text).unwrap();
            let refused = read(&path).unwrap_err();
            assert!(matches!(refused, TokenError::NoToken { .. }), "{text}: {refused}");
        }
        fs::write(&path, [0xff; 40]).unwrap();
        assert!(matches!(read(&path), Err(TokenError::NoToken { .. })));
        fs::remove_file(&path).unwrap();
        assert!(matches!(read(&path), Err(TokenError::Io { .. })));
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn tokens_are_compared_whole() {
        assert!(is_same("0123456789abcdef", "0123456789abcdef"));
        for wrong in ["", "0123456789abcdeg", "1123456789abcdef", "0123456789abcdef0"] {
            assert!(!is_same(wrong, "0123456789abcdef"), "{wrong}");
        }
    }
}
