//! Which container a process is in: from the paths of its control groups, and its name from files
//! of the runtime. No daemon is asked.
//!
//! docker names a group `docker/ID` or `docker-ID.scope`, podman `libpod-ID`, containerd and CRI-O
//! `cri-containerd-ID.scope`, `crio-ID.scope`, or the bare id below `kubepods` or a namespace of
//! containerd; lxc `lxc.payload.NAME` or `lxc/NAME`; systemd-nspawn `machine-NAME.scope`. Ids are
//! 64 hexadecimal digits. A process may be in several, one inside the other: the innermost counts.
//!
//! Whoever owns a container chooses its name and much of its files. So names are cut, stripped of
//! what is not printable, and a file that is too long or not what it should be has no name.

use crate::Root;
use crate::cgroup::{Membership, parse_membership};
use crate::{namespace, process};
use model::facts::Container;
use serde_json::Value;
use std::fs::File;
use std::io::Read;
use std::path::PathBuf;

/// Digits of an id.
const ID_DIGITS: usize = 64;
/// Longest file of a runtime that is read, and longest name that is kept.
const FILE_BYTES_MAX: u64 = 4 << 20;
const NAME_MAX: usize = 128;

/// The container of a process; nothing when none of its control groups belongs to a container.
pub fn of_process(root: &Root, pid: u32) -> Option<Container> {
    let memberships = process::read(&root.process(pid, "cgroup"), parse_membership).ok()?;
    let container = of_groups(&memberships)?;
    let name = container.name.or_else(|| name(root, &container.id));
    // Kubernetes and podman give a host its container's or its pod's name.
    let hostname = || (*root == Root::default()).then(|| namespace::hostname_of(pid).ok())?;
    let name = name.or_else(hostname).as_deref().and_then(printable);
    Some(Container { name, ..container })
}

/// The container of a process by its control groups alone, with a name where the group has it.
pub fn of_groups(memberships: &[Membership]) -> Option<Container> {
    memberships.iter().find_map(|membership| of_path(&membership.path))
}

fn of_path(path: &str) -> Option<Container> {
    let parts: Vec<&str> = path.split('/').collect();
    let outer = |at: usize| parts[..at].last().copied().unwrap_or_default();
    let found = (0..parts.len()).rev().find_map(|at| of_part(parts[at], outer(at), path));
    let (runtime, id, name) = found?;
    let (runtime, name) = (runtime.to_string(), name.and_then(printable));
    Some(Container { runtime, id: printable(id)?, name })
}

/// Runtime, id and name that a part of a path stands for.
fn of_part<'a>(
    part: &'a str,
    outer: &str,
    path: &str,
) -> Option<(&'static str, &'a str, Option<&'a str>)> {
    const PREFIXES: [(&str, &str); 6] = [
        ("docker-", "docker"),
        ("libpod-", "podman"),
        ("libpod_", "podman"),
        ("cri-containerd-", "containerd"),
        ("crio-", "cri-o"),
        ("nerdctl-", "containerd"),
    ];
    let bare = part.strip_suffix(".scope").unwrap_or(part);
    for (prefix, runtime) in PREFIXES {
        if let Some(id) = bare.strip_prefix(prefix).filter(|id| is_id(id)) {
            return Some((runtime, id, None));
        }
    }
    if is_id(bare) {
        let is_pod = path.contains("kubepods");
        let runtime = match outer {
            "docker" => "docker",
            "libpod_parent" => "podman",
            _ if is_pod => "kubernetes",
            _ => "containerd",
        };
        return Some((runtime, bare, None));
    }
    let lxc = part.strip_prefix("lxc.payload.").or((outer == "lxc").then_some(part));
    if let Some(name) = lxc.filter(|name| !name.is_empty()) {
        return Some(("lxc", name, Some(name)));
    }
    let machine = part.strip_prefix("machine-").and_then(|rest| rest.strip_suffix(".scope"));
    let machine = machine.filter(|_| outer == "machine.slice")?;
    Some(("systemd-nspawn", machine, Some(machine)))
}

fn is_id(text: &str) -> bool {
    text.len() == ID_DIGITS && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// The name of a container by its id, from the file of whichever runtime has one.
fn name(root: &Root, id: &str) -> Option<String> {
    if !is_id(id) {
        return None;
    }
    type Find = fn(&Value, &str) -> Option<String>;
    let places: [(String, Find); 5] = [
        (format!("/var/lib/docker/containers/{id}/config.v2.json"), docker_name),
        ("/var/lib/containers/storage/overlay-containers/containers.json".into(), podman_name),
        (
            format!("/run/containerd/io.containerd.runtime.v2.task/k8s.io/{id}/config.json"),
            oci_name,
        ),
        (
            format!("/run/containerd/io.containerd.runtime.v2.task/default/{id}/config.json"),
            oci_name,
        ),
        (format!("/run/containers/storage/overlay-containers/{id}/userdata/config.json"), oci_name),
    ];
    places.into_iter().find_map(|(path, find)| find(&read(root.path(path))?, id))
}

fn read(path: PathBuf) -> Option<Value> {
    let mut bytes = Vec::new();
    File::open(path).ok()?.take(FILE_BYTES_MAX).read_to_end(&mut bytes).ok()?;
    serde_json::from_slice(&bytes).ok()
}

fn docker_name(config: &Value, _id: &str) -> Option<String> {
    Some(config["Name"].as_str()?.trim_start_matches('/').to_string())
}

/// A list of all containers, each with its names.
fn podman_name(all: &Value, id: &str) -> Option<String> {
    let one = all.as_array()?.iter().find(|one| one["id"] == id)?;
    Some(one["names"][0].as_str()?.to_string())
}

/// `config.json` of the OCI runtime specification: what CRI and nerdctl note there.
fn oci_name(config: &Value, _id: &str) -> Option<String> {
    let note = |name: &str| config["annotations"][name].as_str().map(str::to_string);
    let in_pod = |pod: &str, name: &str| Some(format!("{}/{}", note(pod)?, note(name)?));
    in_pod("io.kubernetes.cri.sandbox-name", "io.kubernetes.cri.container-name")
        .or_else(|| in_pod("io.kubernetes.pod.name", "io.kubernetes.container.name"))
        .or_else(|| note("nerdctl/name"))
        .or_else(|| note("io.podman.annotations.name"))
}

/// The text as a line that is safe to show on a screen; nothing when nothing is left.
fn printable(text: &str) -> Option<String> {
    let is_plain = |character: &char| character.is_ascii_graphic();
    let kept: String = text.chars().filter(is_plain).take(NAME_MAX).collect();
    (!kept.is_empty()).then_some(kept)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Folder;

    const ID: &str = "3f9c0a6b1d2e4f508192a3b4c5d6e7f80123456789abcdef0123456789abcdef";

    fn found(path: &str) -> Option<(String, String, Option<String>)> {
        let path = path.replace("ID", ID);
        let membership = Membership { controllers: Vec::new(), path };
        let container = of_groups(&[membership])?;
        Some((container.runtime, container.id, container.name))
    }

    #[test]
    fn paths_of_all_runtimes() {
        let plain = |runtime: &str| Some((runtime.to_string(), ID.to_string(), None));
        assert_eq!(found("/docker/ID"), plain("docker"));
        assert_eq!(found("/system.slice/docker-ID.scope"), plain("docker"));
        assert_eq!(found("/machine.slice/libpod-ID.scope/container"), plain("podman"));
        assert_eq!(found("/libpod_parent/libpod-ID"), plain("podman"));
        let pod = "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod1.slice";
        assert_eq!(found(&format!("{pod}/cri-containerd-ID.scope")), plain("containerd"));
        assert_eq!(found(&format!("{pod}/crio-ID.scope")), plain("cri-o"));
        assert_eq!(found("/kubepods/burstable/pod1-2/ID"), plain("kubernetes"));
        assert_eq!(found("/default/ID"), plain("containerd"));
        assert_eq!(found("/docker/ID/system.slice/nginx.service"), plain("docker"));
        let named = |runtime: &str, name: &str| {
            Some((runtime.to_string(), name.to_string(), Some(name.to_string())))
        };
        assert_eq!(found("/lxc.payload.web/system.slice"), named("lxc", "web"));
        assert_eq!(found("/lxc/web"), named("lxc", "web"));
        assert_eq!(found("/machine.slice/machine-web.scope"), named("systemd-nspawn", "web"));
    }

    #[test]
    fn other_groups_are_no_containers() {
        for path in ["/", "", "/system.slice/nginx.service", "/docker/short", "/lxc/", "/../x"] {
            assert_eq!(found(path), None, "{path}");
        }
    }

    fn named(folder: &str, file: &str, text: &str) -> Option<String> {
        let host = Folder::new(folder);
        host.write("proc/7/cgroup", format!("0::/docker/{ID}\n"));
        host.write(&file.replace("ID", ID), text.replace("ID", ID));
        of_process(&Root::below(host.path()), 7).unwrap().name
    }

    #[test]
    fn names_are_in_files_of_the_runtime() {
        let name = |text: &str| Some(text.to_string());
        let docker = "var/lib/docker/containers/ID/config.v2.json";
        assert_eq!(named("container-files", docker, r#"{"Name":"/web"}"#), name("web"));
        let podman = "var/lib/containers/storage/overlay-containers/containers.json";
        let all = r#"[{"id":"x","names":["other"]},{"id":"ID","names":["web"]}]"#;
        assert_eq!(named("container-files", podman, all), name("web"));
        let cri = "run/containerd/io.containerd.runtime.v2.task/k8s.io/ID/config.json";
        let notes = r#"{"annotations":{"io.kubernetes.cri.sandbox-name":"web-7",
                        "io.kubernetes.cri.container-name":"nginx"}}"#;
        assert_eq!(named("container-files", cri, notes), name("web-7/nginx"));
    }

    #[test]
    fn names_are_those_of_strangers() {
        let docker = "var/lib/docker/containers/ID/config.v2.json";
        let shown = named("container-strangers", docker, "{\"Name\":\"/a\\u001b[31m\\n b\"}");
        assert_eq!(shown.as_deref(), Some("a[31mb"));
        let long =
            named("container-strangers", docker, &format!("{{\"Name\":\"{}\"}}", "x".repeat(5000)));
        assert_eq!(long.map(|name| name.len()), Some(NAME_MAX));
        for text in ["", "{", "[]", "7", "{\"Name\":7}", "{\"Name\":\"/\"}", "{\"Name\":\"\\n\"}"] {
            assert_eq!(named("container-strangers", docker, text), None, "{text}");
        }
    }
}
