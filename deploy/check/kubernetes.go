package check

import (
	"fmt"
	"path"
	"slices"
	"strings"

	apps "k8s.io/api/apps/v1"
	batch "k8s.io/api/batch/v1"
	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	strict "sigs.k8s.io/json"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"
)

// Workload is an object that makes pods.
type Workload struct {
	where    string
	replicas int32
	selector *meta.LabelSelector
	template core.PodTemplateSpec
	// Name of the headless service; only a StatefulSet has one.
	service string
}

// Cluster has the objects that the manifests make, by name.
type Cluster struct {
	objects    []meta.Object
	namespaces map[string]*core.Namespace
	settings   map[string]*core.ConfigMap
	accounts   map[string]*core.ServiceAccount
	services   map[string]*core.Service
	claims     map[string]*core.PersistentVolumeClaim
	policies   map[string]*networking.NetworkPolicy
	workloads  map[string]*Workload
}

// Allowed kinds, each with its type.
var kinds = map[string]func() meta.Object{
	"v1 Namespace":                       made[core.Namespace],
	"v1 ConfigMap":                       made[core.ConfigMap],
	"v1 ServiceAccount":                  made[core.ServiceAccount],
	"v1 Service":                         made[core.Service],
	"v1 PersistentVolumeClaim":           made[core.PersistentVolumeClaim],
	"apps/v1 Deployment":                 made[apps.Deployment],
	"apps/v1 StatefulSet":                made[apps.StatefulSet],
	"batch/v1 Job":                       made[batch.Job],
	"networking.k8s.io/v1 NetworkPolicy": made[networking.NetworkPolicy],
}

func made[Kind any, Pointer interface {
	*Kind
	meta.Object
}]() meta.Object {
	return Pointer(new(Kind))
}

// decode reads one document. Field names are case-sensitive, as in the API server.
func decode(text string) (meta.Object, error) {
	var kind meta.TypeMeta
	if err := yaml.Unmarshal([]byte(text), &kind); err != nil {
		return nil, err
	}
	make, known := kinds[kind.APIVersion+" "+kind.Kind]
	if !known {
		return nil, fmt.Errorf("kind `%s` of `%s` is not known here", kind.Kind, kind.APIVersion)
	}
	object := make()
	return object, decodeInto(text, object)
}

func decodeInto(text string, value any) error {
	document, err := yaml.YAMLToJSONStrict([]byte(text))
	if err != nil {
		return err
	}
	wrong, err := strict.UnmarshalStrict(document, value)
	if err == nil && len(wrong) > 0 {
		err = wrong[0]
	}
	return err
}

// checkSources decodes the files as they were written: kustomize would drop duplicate fields.
func checkSources(tree Tree, folder string, findings *Findings) {
	files := tree.below(folder, ".yaml")
	slices.Sort(files)
	var listed types.Kustomization
	own := folder + "/kustomization.yaml"
	if err := decodeInto(tree[own], &listed); err != nil {
		findings.add(own, "%v", err)
	}
	for _, file := range files {
		if file == own {
			continue
		}
		if !slices.Contains(listed.Resources, path.Base(file)) {
			findings.add(file, "is not a resource of kustomization.yaml")
		}
		for _, text := range strings.Split(tree[file], "\n---\n") {
			if _, err := decode(text); err != nil {
				findings.add(file, "%v", err)
			}
		}
	}
}

// build makes the documents that `kubectl apply -k` sends.
func build(tree Tree, folder string, findings *Findings) []string {
	files := filesys.MakeFsInMemory()
	for name, text := range tree {
		if strings.HasPrefix(name, "deploy/kubernetes/") {
			if err := files.WriteFile(name, []byte(text)); err != nil {
				findings.add(name, "%v", err)
				return nil
			}
		}
	}
	made, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(files, folder)
	if err != nil {
		findings.add(folder, "%v", err)
		return nil
	}
	var documents []string
	for _, resource := range made.Resources() {
		text, err := resource.AsYAML()
		if err != nil {
			findings.add(folder, "%v", err)
			return nil
		}
		documents = append(documents, string(text))
	}
	return documents
}

// newCluster returns an empty cluster.
func newCluster() *Cluster {
	return &Cluster{
		namespaces: map[string]*core.Namespace{},
		settings:   map[string]*core.ConfigMap{},
		accounts:   map[string]*core.ServiceAccount{},
		services:   map[string]*core.Service{},
		claims:     map[string]*core.PersistentVolumeClaim{},
		policies:   map[string]*networking.NetworkPolicy{},
		workloads:  map[string]*Workload{},
	}
}

func (cluster *Cluster) add(folder string, documents []string, findings *Findings) {
	for _, text := range documents {
		object, err := decode(text)
		if err != nil {
			findings.add(folder, "%v", err)
			continue
		}
		cluster.objects = append(cluster.objects, object)
		cluster.file(object)
	}
}

// number returns the number of pods; the default is one.
func number(replicas *int32) int32 {
	if replicas == nil {
		return 1
	}
	return *replicas
}

func (cluster *Cluster) file(object meta.Object) {
	name := object.GetName()
	switch object := object.(type) {
	case *core.Namespace:
		cluster.namespaces[name] = object
	case *core.ConfigMap:
		cluster.settings[name] = object
	case *core.ServiceAccount:
		cluster.accounts[name] = object
	case *core.Service:
		cluster.services[name] = object
	case *core.PersistentVolumeClaim:
		cluster.claims[name] = object
	case *networking.NetworkPolicy:
		cluster.policies[name] = object
	case *apps.Deployment:
		cluster.workloads[name] = &Workload{
			where: "Deployment " + name, replicas: number(object.Spec.Replicas),
			selector: object.Spec.Selector, template: object.Spec.Template,
		}
	case *apps.StatefulSet:
		cluster.workloads[name] = &Workload{
			where: "StatefulSet " + name, replicas: number(object.Spec.Replicas),
			selector: object.Spec.Selector, template: object.Spec.Template,
			service: object.Spec.ServiceName,
		}
	case *batch.Job:
		cluster.workloads[name] = &Workload{
			where: "Job " + name, replicas: 1, template: object.Spec.Template,
		}
	}
}
