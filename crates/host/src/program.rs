//! Programs, and files that name programs, are taken only from places that no other user can
//! change. A path that the user typed is the user's choice; this is for those that we look for.

use std::env;
use std::ffi::OsString;
use std::fs::{self, Metadata};
use std::io::{self, ErrorKind};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Where programs are looked for without a PATH, as the C library does.
const USUAL: &str = "/bin:/usr/bin";
/// The mode bits of a folder in which only the owner of a file can replace it.
const STICKY: u32 = 0o1000;

/// Why a file or folder is not trusted. It names no path: the caller does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Distrust {
    /// Its owner is neither this user nor root.
    #[error("it belongs to another user")]
    Owner,
    /// Group or others may write to it.
    #[error("others can write to it; chmod go-w")]
    Writable,
}

/// Whether only its owner can write it, and the owner is this user or root.
pub fn is_ours(about: &Metadata) -> Result<(), Distrust> {
    decided_by(about.uid(), about.mode(), &owners())
}

/// Root and this user.
fn owners() -> Vec<u32> {
    vec![0, rustix::process::geteuid().as_raw()]
}

/// Whether only the owner of a file with this owner and mode can write it, and the owner is one of
/// the trusted users.
fn decided_by(owner: u32, mode: u32, trusted: &[u32]) -> Result<(), Distrust> {
    match owner {
        _ if !trusted.contains(&owner) => Err(Distrust::Owner),
        _ if mode & 0o022 != 0 => Err(Distrust::Writable),
        _ => Ok(()),
    }
}

/// Whether no other user can change a file, or put another one in its place: neither the file nor a
/// folder above it belongs to another user, or can be written by others. The owner of `named`, a
/// file that the user named or runs, is trusted too, and so is the owner of `/`: in a user
/// namespace, root's files have another one.
///
/// # Errors
///
/// The file or folder that another user can change, and how.
pub fn is_safe(file: &Path, named: &Path) -> io::Result<()> {
    let place = fs::canonicalize(file)?;
    let mut trusted = owners();
    let known = [Path::new("/"), named].into_iter().filter_map(|path| fs::metadata(path).ok());
    trusted.extend(known.map(|about| about.uid()));
    for path in place.ancestors() {
        let about = fs::metadata(path)?;
        let why = decided_by(about.uid(), others(&about), &trusted);
        why.map_err(|why| {
            let why = format!("{} is not used: {}: {why}", file.display(), path.display());
            io::Error::new(ErrorKind::PermissionDenied, why)
        })?;
    }
    Ok(())
}

/// The mode without what is harmless: a group of one user, named like the user, and a folder in
/// which others can add files but not replace one.
fn others(about: &Metadata) -> u32 {
    let is_own_group = about.gid() == 0 || about.gid() == about.uid();
    let mode = if is_own_group { about.mode() & !0o020 } else { about.mode() };
    if about.is_dir() && mode & STICKY != 0 { mode & !0o022 } else { mode }
}

/// The program of this name in the first folder of the PATH that has it.
///
/// # Errors
///
/// No folder has it, or only one that another user can change.
pub fn find(name: &str) -> io::Result<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_else(|| OsString::from(USUAL));
    find_in(name, env::split_paths(&path))
}

/// The program of this name in the first of these folders that has it.
pub fn find_in(name: &str, folders: impl Iterator<Item = PathBuf>) -> io::Result<PathBuf> {
    let mut refused = None;
    for program in folders.map(|folder| folder.join(name)).filter(|path| is_program(path)) {
        match is_safe(&program, Path::new("/proc/self/exe")) {
            Ok(()) => return Ok(program),
            Err(why) => refused = refused.or(Some(why)),
        }
    }
    let absent = || io::Error::new(ErrorKind::NotFound, format!("no program {name} was found"));
    Err(refused.unwrap_or_else(absent))
}

/// Whether a path is a file that may be executed.
fn is_program(path: &Path) -> bool {
    path.metadata().is_ok_and(|file| file.is_file() && file.mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, chown, symlink};

    /// A folder of these tests with a program in it.
    fn folder(name: &str) -> PathBuf {
        let folder = env::temp_dir().join(format!("program-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(folder.join("bin")).unwrap();
        fs::write(folder.join("bin/tool"), "#!/bin/sh\n").unwrap();
        for path in ["", "bin", "bin/tool"] {
            chmod(&folder.join(path), 0o755);
        }
        folder
    }

    fn chmod(path: &Path, mode: u32) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    fn why(folder: &Path) -> String {
        find_in("tool", [folder.join("bin")].into_iter()).unwrap_err().to_string()
    }

    #[test]
    fn owner_and_mode_decide() {
        assert_eq!(decided_by(1000, 0o100_644, &[0, 1000]), Ok(()));
        assert_eq!(decided_by(0, 0o100_600, &[0, 1000]), Ok(()), "root could do it anyhow");
        assert_eq!(decided_by(1000, 0o100_600, &[0]), Err(Distrust::Owner));
        assert_eq!(decided_by(1001, 0o100_600, &[0, 1000]), Err(Distrust::Owner));
        assert_eq!(decided_by(1000, 0o100_620, &[0, 1000]), Err(Distrust::Writable));
        assert_eq!(decided_by(0, 0o100_602, &[0]), Err(Distrust::Writable));
    }

    #[test]
    fn a_program_that_others_can_replace_is_not_found() {
        let folder = folder("others");
        let found = find_in("tool", [folder.join("bin")].into_iter()).unwrap();
        assert_eq!(found, folder.join("bin/tool"));
        assert_eq!(why(&folder.join("bin")), "no program tool was found");
        // The program, its folder, and the folder above.
        for (path, mode) in [("bin/tool", 0o757), ("bin", 0o777), ("", 0o777)] {
            chmod(&folder.join(path), mode);
            let why = why(&folder);
            assert!(why.ends_with("others can write to it; chmod go-w"), "{path}: {why}");
            chmod(&folder.join(path), 0o755);
        }
        // In a folder like /tmp, others add files and replace none.
        chmod(&folder, 0o1777);
        assert!(find_in("tool", [folder.join("bin")].into_iter()).is_ok());
        // A link is as safe as what it points to.
        symlink(folder.join("bin"), folder.join("link")).unwrap();
        chmod(&folder.join("bin"), 0o777);
        assert!(find_in("tool", [folder.join("link")].into_iter()).is_err());
        // The next folder that has it is used.
        let other = self::folder("next");
        let both = [folder.join("bin"), other.join("bin")];
        assert_eq!(find_in("tool", both.into_iter()).unwrap(), other.join("bin/tool"));
        chmod(&other.join("bin/tool"), 0o644);
        assert_eq!(why(&other), "no program tool was found", "it is no program");
        fs::remove_dir_all(folder).unwrap();
        fs::remove_dir_all(other).unwrap();
    }

    /// Only root can give a file to another user.
    #[test]
    fn a_program_of_another_user_is_not_found_unless_the_user_named_its_owner() {
        if !rustix::process::geteuid().is_root() {
            return;
        }
        let folder = folder("owner");
        let plan = folder.join("plan.toml");
        fs::write(&plan, "").unwrap();
        for path in ["bin/tool", "bin"] {
            chown(folder.join(path), Some(4242), Some(4242)).unwrap();
            assert!(why(&folder).ends_with("it belongs to another user"), "{}", why(&folder));
            let tool = folder.join("bin/tool");
            assert!(is_safe(&tool, &plan).is_err());
            chown(&plan, Some(4242), Some(4242)).unwrap();
            is_safe(&tool, &plan).unwrap();
            chown(&plan, Some(0), Some(0)).unwrap();
            chown(folder.join(path), Some(0), Some(0)).unwrap();
        }
        fs::remove_dir_all(folder).unwrap();
    }
}
