package check

import (
	"context"
	"path"
	"slices"
	"strings"

	"github.com/compose-spec/compose-go/v2/loader"
	compose "github.com/compose-spec/compose-go/v2/types"
)

const composeFile = "deploy/compose.yaml"

// loadCompose reads the file as `docker compose` does, with all profiles.
func loadCompose(tree Tree) (*compose.Project, error) {
	details := compose.ConfigDetails{
		WorkingDir: "/deploy",
		ConfigFiles: []compose.ConfigFile{{
			Filename: composeFile, Content: []byte(tree[composeFile]),
		}},
		Environment: compose.Mapping{
			"CEILING_CONTROLLER": "KEY",
			"CEILING_ALLOW":      "http://target.example:80",
		},
	}
	return loader.LoadWithContext(context.Background(), details, func(options *loader.Options) {
		options.Profiles = []string{"*"}
		options.SetProjectName("ceiling-fleet", true)
	})
}

// checkCompose checks the services of the file, and that no two agents share a name or a key.
func checkCompose(tree Tree, project *compose.Project, findings *Findings) {
	secrets := map[string]string{}
	for _, name := range project.ServiceNames() {
		service := project.Services[name]
		where := composeFile + ", " + name
		checkImage(tree, where, service.Image, findings)
		if !service.ReadOnly || !slices.Contains(service.CapDrop, "ALL") ||
			!slices.Contains(service.SecurityOpt, "no-new-privileges:true") || service.User == "" {
			findings.add(where, "is less locked down than the others")
		}
		if len(service.Ports) > 0 {
			findings.add(where, "opens a port of the host")
		}
		if slices.Contains(service.Command, "agent") {
			checkAgent(where, name, service, secrets, findings)
		}
	}
	if network := project.Networks["control"]; !network.Internal {
		findings.add(composeFile, "the network of the broker is not internal")
	}
}

// checkAgent checks that an agent has its own name and its own key.
func checkAgent(
	where, name string, service compose.ServiceConfig, secrets map[string]string,
	findings *Findings,
) {
	if !slices.Contains(service.Command, "--name="+name) {
		findings.add(where, "has another name than its service")
	}
	if !slices.Contains(service.Tmpfs, "/tmp") {
		findings.add(where, noScratch)
	}
	for _, secret := range service.Secrets {
		if other, taken := secrets[secret.Source]; taken {
			findings.add(where, "has the key of %s", other)
		}
		secrets[secret.Source] = name
		if !slices.Contains(service.Command, "--credentials=/run/secrets/"+secret.Source) {
			findings.add(where, "does not read its secret %s", secret.Source)
		}
	}
	if len(service.Secrets) != 1 {
		findings.add(where, "has %d keys", len(service.Secrets))
	}
}

func checkImage(tree Tree, where, image string, findings *Findings) {
	name, tag, tagged := strings.Cut(path.Base(image), ":")
	switch {
	case !tagged || tag == "latest":
		findings.add(where, "the image `%s` has no version", image)
	case name == "ceiling" && tag != tree.version():
		findings.add(where, "the image has version %s, this repository has %s", tag, tree.version())
	}
}
