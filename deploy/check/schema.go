package check

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/yannh/kubeconform/pkg/resource"
	"github.com/yannh/kubeconform/pkg/validator"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"sigs.k8s.io/kustomize/kyaml/openapi"
)

// Types that the API accepts as more than one JSON type. The API document declares them as strings.
var mixed = map[string]any{
	"io.k8s.apimachinery.pkg.util.intstr.IntOrString": map[string]any{
		"oneOf": []any{map[string]any{"type": "string"}, map[string]any{"type": "integer"}},
	},
	"io.k8s.apimachinery.pkg.api.resource.Quantity": map[string]any{
		"oneOf": []any{map[string]any{"type": "string"}, map[string]any{"type": "number"}},
	},
}

// Schemas writes the files that kubeconform needs into an empty folder: one file for each kind,
// which refers to a file of all definitions. kubeconform finds missing fields, which decoding into
// types does not.
//
// The schemas come from the API document that is part of kustomize, so no network is needed. It is
// of an old release, 1.21: newer fields pass here, and the types, which are new, check them.
func Schemas(folder string) (validator.Validator, error) {
	definitions := map[string]any{}
	for name, schema := range openapi.Schema().Definitions {
		definitions[name] = schema
		if err := writeKind(folder, name, schema); err != nil {
			return nil, err
		}
	}
	for name, schema := range mixed {
		definitions[name] = schema
	}
	if err := writeJSON(folder, "all", map[string]any{"definitions": definitions}); err != nil {
		return nil, err
	}
	places := []string{folder + "/{{.ResourceKind}}{{.KindSuffix}}.json"}
	return validator.New(places, validator.Opts{KubernetesVersion: "1.21.2"})
}

func checkSchema(schemas validator.Validator, folder, text string, findings *Findings) {
	result := schemas.ValidateResource(resource.Resource{Path: folder, Bytes: []byte(text)})
	if result.Status != validator.Valid {
		findings.add(folder, "kubeconform: %v", result.Err)
	}
}

func writeKind(folder, name string, schema spec.Schema) error {
	groups, _ := schema.Extensions["x-kubernetes-group-version-kind"].([]any)
	for _, entry := range groups {
		fields, _ := entry.(map[string]any)
		group, kind := fmt.Sprint(fields["group"]), strings.ToLower(fmt.Sprint(fields["kind"]))
		file := kind + "-" + fmt.Sprint(fields["version"])
		if group != "" {
			first, _, _ := strings.Cut(group, ".")
			file = kind + "-" + first + "-" + fmt.Sprint(fields["version"])
		}
		reference := map[string]any{"$ref": "all.json#/definitions/" + name}
		if err := writeJSON(folder, file, reference); err != nil {
			return err
		}
	}
	return nil
}

func writeJSON(folder, name string, value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, name+".json"), text, 0o600)
}
