package check

import (
	"regexp"
	"slices"
	"strings"

	core "k8s.io/api/core/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// keysOf returns the Secrets and ConfigMaps that the commands in README.md make, such as
// `kubectl .. create secret generic NAME --from-file=FOLDER`, with the keys that they name.
func keysOf(tree Tree, kind string) map[string][]string {
	made := map[string][]string{}
	line := regexp.MustCompile(`create ` + kind + ` ([a-z0-9-]+)(.*)`)
	key := regexp.MustCompile(`--from-(?:literal|file)=([^\s=]+)=`)
	for _, found := range line.FindAllStringSubmatch(commandsOf(tree[readme]), -1) {
		made[found[1]] = []string{}
		for _, named := range key.FindAllStringSubmatch(found[2], -1) {
			made[found[1]] = append(made[found[1]], named[1])
		}
	}
	return made
}

// checkReferences checks that every name in an object refers to an existing object.
func checkReferences(tree Tree, cluster *Cluster, findings *Findings) {
	secrets, settings := keysOf(tree, "secret generic"), keysOf(tree, "configmap")
	used := map[string]bool{}
	for name, object := range cluster.settings {
		for key := range object.Data {
			settings[name] = append(settings[name], key)
		}
	}
	for _, workload := range cluster.workloads {
		checkNames(cluster, workload, findings)
		checkVolumes(cluster, workload, secrets, settings, used, findings)
		checkVariables(workload, settings, used, findings)
	}
	for name := range secrets {
		if !used[name] {
			findings.add(readme, "makes the Secret %s, which no pod mounts", name)
		}
	}
	for name := range settings {
		if !used[name] {
			findings.add("ConfigMap "+name, "is used by no pod")
		}
	}
	checkNamespace(cluster, findings)
}

func checkNamespace(cluster *Cluster, findings *Findings) {
	for _, object := range cluster.objects {
		namespace := object.GetNamespace()
		if _, is := object.(*core.Namespace); !is && cluster.namespaces[namespace] == nil {
			findings.add(object.GetName(), "no manifest makes its namespace `%s`", namespace)
		}
	}
}

func checkNames(cluster *Cluster, workload *Workload, findings *Findings) {
	own := labels.Set(workload.template.Labels)
	if account := workload.template.Spec.ServiceAccountName; cluster.accounts[account] == nil {
		findings.add(workload.where, "there is no ServiceAccount `%s`", account)
	}
	if workload.selector != nil && !selects(workload.selector, own) {
		findings.add(workload.where, "its selector does not match its own pods")
	}
	if name := workload.service; name != "" {
		service := cluster.services[name]
		if service == nil || service.Spec.ClusterIP != core.ClusterIPNone {
			findings.add(workload.where, "there is no headless Service `%s`", name)
		} else if !labels.SelectorFromSet(service.Spec.Selector).Matches(own) {
			findings.add(workload.where, "the Service `%s` selects other pods", name)
		}
	}
	for _, spread := range workload.template.Spec.TopologySpreadConstraints {
		if !selects(spread.LabelSelector, own) {
			findings.add(workload.where, "spreads pods other than its own")
		}
	}
	affinity := workload.template.Spec.Affinity
	if affinity != nil && affinity.PodAntiAffinity != nil {
		away := affinity.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution
		for _, term := range away {
			if len(cluster.selected(term.PodAffinityTerm.LabelSelector)) == 0 {
				findings.add(workload.where, "keeps away from pods that do not exist")
			}
		}
	}
}

// selects says whether a selector selects pods with these labels. A nil selector selects none.
func selects(selector *meta.LabelSelector, own labels.Set) bool {
	compiled, err := meta.LabelSelectorAsSelector(selector)
	return err == nil && compiled.Matches(own)
}

func (cluster *Cluster) selected(selector *meta.LabelSelector) []*Workload {
	var found []*Workload
	for _, workload := range cluster.workloads {
		if selects(selector, workload.template.Labels) {
			found = append(found, workload)
		}
	}
	return found
}

func checkVolumes(
	cluster *Cluster, workload *Workload, secrets, settings map[string][]string,
	used map[string]bool, findings *Findings,
) {
	volumes := map[string]bool{}
	for _, volume := range workload.template.Spec.Volumes {
		volumes[volume.Name] = false
		switch {
		case volume.Secret != nil:
			name := volume.Secret.SecretName
			used[name] = true
			if _, made := secrets[name]; !made {
				findings.add(workload.where, "README.md does not make the Secret `%s`", name)
			}
		case volume.ConfigMap != nil:
			name := volume.ConfigMap.Name
			used[name] = true
			if _, made := settings[name]; !made {
				findings.add(workload.where, "nothing makes the ConfigMap `%s`", name)
			}
		case volume.PersistentVolumeClaim != nil:
			name := volume.PersistentVolumeClaim.ClaimName
			if cluster.claims[name] == nil {
				findings.add(workload.where, "there is no PersistentVolumeClaim `%s`", name)
			}
		}
	}
	for _, container := range workload.containers() {
		for _, mount := range container.VolumeMounts {
			if _, known := volumes[mount.Name]; !known {
				findings.add(workload.where, "mounts the missing volume `%s`", mount.Name)
			}
			volumes[mount.Name] = true
		}
	}
	for name, mounted := range volumes {
		if !mounted {
			findings.add(workload.where, "does not mount its volume `%s`", name)
		}
	}
}

// containers returns the containers of its pods, including init containers.
func (workload *Workload) containers() []core.Container {
	spec := workload.template.Spec
	return slices.Concat(spec.InitContainers, spec.Containers)
}

var variable = regexp.MustCompile(`\$\(([A-Za-z_]+)\)`)

// checkVariables looks for `$(NAME)`, which Kubernetes does not expand if NAME is not defined.
func checkVariables(
	workload *Workload, settings map[string][]string, used map[string]bool, findings *Findings,
) {
	for _, container := range workload.containers() {
		names := map[string]bool{}
		for _, entry := range container.Env {
			names[entry.Name] = true
			if entry.ValueFrom == nil || entry.ValueFrom.ConfigMapKeyRef == nil {
				continue
			}
			from := entry.ValueFrom.ConfigMapKeyRef
			used[from.Name] = true
			if !slices.Contains(settings[from.Name], from.Key) {
				findings.add(workload.where, "no ConfigMap `%s` has `%s`", from.Name, from.Key)
			}
		}
		texts := slices.Clone(container.Args)
		for _, mount := range container.VolumeMounts {
			texts = append(texts, mount.SubPathExpr)
		}
		for _, found := range variable.FindAllStringSubmatch(strings.Join(texts, " "), -1) {
			if !names[found[1]] {
				findings.add(workload.where, "$(%s) is not a variable of the container", found[1])
			}
		}
	}
}
