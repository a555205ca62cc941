// Package check reads the files that deploy a fleet: Kubernetes manifests, systemd units,
// compose.yaml, and the commands in README.md.
//
// In: the files, as text. Out: the mistakes in them, one sentence each. Never: a cluster, a daemon
// or the network.
package check

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/yannh/kubeconform/pkg/validator"
)

// Tree has the text of files by their paths in the repository.
type Tree map[string]string

// Findings are mistakes, as sentences that start with a file or an object.
type Findings []string

func (findings *Findings) add(where, format string, values ...any) {
	*findings = append(*findings, where+": "+fmt.Sprintf(format, values...))
}

const (
	readme    = "deploy/README.md"
	reference = "docs/reference/cli.md"
	workspace = "Cargo.toml"
)

// Folders that deploy nothing: this one, and those that a compose fleet leaves.
var others = []string{"deploy/check", "deploy/keys", "deploy/runs"}

// Read reads the files to check from a repository.
func Read(root string) (Tree, error) {
	tree := Tree{}
	read := func(name string) error {
		text, err := os.ReadFile(filepath.Join(root, name))
		tree[name] = string(text)
		return err
	}
	for _, name := range []string{reference, workspace} {
		if err := read(name); err != nil {
			return nil, err
		}
	}
	take := func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && slices.Contains(others, name):
			return fs.SkipDir
		case entry.Type().IsRegular():
			return read(name)
		}
		return nil
	}
	return tree, fs.WalkDir(os.DirFS(root), "deploy", take)
}

// Check returns all mistakes in a tree.
func Check(tree Tree, schemas validator.Validator) Findings {
	var findings Findings
	cluster := newCluster()
	for _, folder := range []string{"deploy/kubernetes", "deploy/kubernetes/run"} {
		checkSources(tree, folder, &findings)
		documents := build(tree, folder, &findings)
		for _, text := range documents {
			checkSchema(schemas, folder, text, &findings)
		}
		cluster.add(folder, documents, &findings)
	}
	checkReferences(tree, cluster, &findings)
	checkNetwork(cluster, &findings)
	checkPods(cluster, &findings)
	checkImages(tree, cluster, &findings)
	project, err := loadCompose(tree)
	if err != nil {
		findings.add(composeFile, "%v", err)
	} else {
		checkCompose(tree, project, &findings)
	}
	checkCommands(tree, cluster, project, &findings)
	slices.Sort(findings)
	return slices.Compact(findings)
}

// version returns the version of the workspace, which is the tag of the image.
func (tree Tree) version() string {
	found := regexp.MustCompile(`(?m)^version = "(.*)"`).FindStringSubmatch(tree[workspace])
	if found == nil {
		return ""
	}
	return found[1]
}

// below lists the files directly in a folder, with a suffix.
func (tree Tree) below(folder, suffix string) []string {
	var names []string
	for name := range tree {
		if path.Dir(name) == folder && strings.HasSuffix(name, suffix) {
			names = append(names, name)
		}
	}
	return names
}
