package check

import (
	"slices"

	core "k8s.io/api/core/v1"
)

// Sysctls that kubelet allows by default.
var safe = []string{
	"kernel.shm_rmid_forced", "net.ipv4.ip_local_port_range", "net.ipv4.ip_local_reserved_ports",
	"net.ipv4.ip_unprivileged_port_start", "net.ipv4.ping_group_range", "net.ipv4.tcp_fin_timeout",
	"net.ipv4.tcp_keepalive_intvl", "net.ipv4.tcp_keepalive_probes",
	"net.ipv4.tcp_keepalive_time", "net.ipv4.tcp_rmem", "net.ipv4.tcp_syncookies",
	"net.ipv4.tcp_wmem",
}

// checkPods checks that each pod meets the namespace's demands (`restricted`) and gets whole CPUs.
func checkPods(cluster *Cluster, findings *Findings) {
	for _, workload := range cluster.workloads {
		spec := workload.template.Spec
		for _, mount := range []*bool{spec.AutomountServiceAccountToken, spec.EnableServiceLinks} {
			if mount == nil || *mount {
				findings.add(workload.where, "gets an API token, or the addresses of services")
			}
		}
		pod := spec.SecurityContext
		if pod == nil || !isTrue(pod.RunAsNonRoot) || pod.RunAsUser == nil || *pod.RunAsUser == 0 {
			findings.add(workload.where, "may run as root")
		}
		if pod == nil || pod.SeccompProfile == nil ||
			pod.SeccompProfile.Type != core.SeccompProfileTypeRuntimeDefault {
			findings.add(workload.where, "does not have the seccomp profile RuntimeDefault")
		}
		if pod != nil {
			for _, sysctl := range pod.Sysctls {
				if !slices.Contains(safe, sysctl.Name) {
					findings.add(workload.where, "the sysctl %s is not a safe one", sysctl.Name)
				}
			}
		}
		if spec.HostNetwork || spec.HostPID || spec.HostIPC {
			findings.add(workload.where, "shares namespaces of its host")
		}
		for _, container := range workload.containers() {
			where := workload.where + ", container " + container.Name
			checkContainer(where, container, findings)
			if slices.Contains(container.Args, "agent") && !hasScratch(spec, container) {
				findings.add(where, noScratch)
			}
		}
	}
}

// The root of an agent is read-only, and it writes the readings of a run to a file without a name.
const noScratch = "has no /tmp for the readings of a run"

// hasScratch says whether a container can write to /tmp.
func hasScratch(spec core.PodSpec, container core.Container) bool {
	return slices.ContainsFunc(container.VolumeMounts, func(mount core.VolumeMount) bool {
		return mount.MountPath == "/tmp" && !mount.ReadOnly &&
			slices.ContainsFunc(spec.Volumes, func(volume core.Volume) bool {
				return volume.Name == mount.Name && volume.EmptyDir != nil
			})
	})
}

func isTrue(value *bool) bool  { return value != nil && *value }
func isFalse(value *bool) bool { return value != nil && !*value }

func checkContainer(where string, container core.Container, findings *Findings) {
	context := container.SecurityContext
	if context == nil || !isFalse(context.AllowPrivilegeEscalation) ||
		!isTrue(context.ReadOnlyRootFilesystem) || isTrue(context.Privileged) {
		findings.add(where, "may gain privileges or write to its root")
	}
	if context == nil || context.Capabilities == nil || len(context.Capabilities.Add) > 0 ||
		!slices.Contains(context.Capabilities.Drop, "ALL") {
		findings.add(where, "keeps capabilities")
	}
	for _, name := range []core.ResourceName{core.ResourceCPU, core.ResourceMemory} {
		request, limit := container.Resources.Requests[name], container.Resources.Limits[name]
		if limit.IsZero() || request.Cmp(limit) != 0 {
			findings.add(where, "its request and its limit of %s are not equal", name)
		}
		if name == core.ResourceCPU && limit.MilliValue()%1000 != 0 {
			findings.add(where, "has %s CPUs, and only whole CPUs are exclusive", limit.String())
		}
	}
}

// checkImages checks that each image has a version, and ceiling's that of this repository.
func checkImages(tree Tree, cluster *Cluster, findings *Findings) {
	for _, workload := range cluster.workloads {
		for _, container := range workload.containers() {
			checkImage(tree, workload.where, container.Image, findings)
		}
	}
}
