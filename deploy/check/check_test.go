package check

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/yannh/kubeconform/pkg/validator"
)

// Shared by all tests, because reading the API document takes longer than all of them.
var schemas validator.Validator

func TestMain(tests *testing.M) {
	os.Exit(withSchemas(tests))
}

func withSchemas(tests *testing.M) int {
	folder, err := os.MkdirTemp("", "schemas")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(folder)
	if schemas, err = Schemas(folder); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return tests.Run()
}

func read(t *testing.T) Tree {
	t.Helper()
	tree, err := Read("../..")
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

func TestNothingIsWrong(t *testing.T) {
	for _, finding := range Check(read(t), schemas) {
		t.Error(finding)
	}
}

const (
	agents   = "deploy/kubernetes/agents.yaml"
	broker   = "deploy/kubernetes/nats.yaml"
	network  = "deploy/kubernetes/network.yaml"
	job      = "deploy/kubernetes/run/job.yaml"
	settings = "deploy/kubernetes/settings.yaml"
	unit     = "deploy/systemd/ceiling-agent.service"
)

// Each is one mistake in one place, and part of the finding that it must cause.
var mistakes = []struct{ name, file, old, new, said string }{
	{"a typo in a field", agents, "replicas:", "replicsa:", "unknown field"},
	{
		"a field with a wrong case", agents,
		"podManagementPolicy:", "PodManagementPolicy:", "unknown field",
	},
	{
		"a field in a wrong place", agents,
		"          image: ceiling\n",
		"          image: ceiling\n          replicas: 1\n",
		"unknown field",
	},
	{"a field twice", agents, "  replicas: 4\n", "  replicas: 4\n  replicas: 5\n", "already set"},
	{"a string instead of a number", agents, "replicas: 4", "replicas: many", "cannot unmarshal"},
	{
		"a number instead of a string", agents,
		"value: 1024 65535", "value: 1024", "cannot unmarshal",
	},
	{
		"a field that is missing", broker,
		"  selector:\n    matchLabels:\n      app.kubernetes.io/name: nats\n  template",
		"  template",
		"kubeconform",
	},
	{
		"a typo in kustomization", "deploy/kubernetes/kustomization.yaml",
		"resources:", "resource:", "unknown field",
	},
	{
		"a file that is not listed", "deploy/kubernetes/kustomization.yaml",
		"  - network.yaml\n", "", "not a resource",
	},
	{"a kind of another version", job, "batch/v1", "batch/v1beta1", "not known"},

	{
		"another secret", agents,
		"secretName: ceiling-agents", "secretName: ceiling-agent", "Secret `ceiling-agent`",
	},
	{
		"a secret that no page makes", readme,
		"generic ceiling-nats", "generic nats", "Secret `ceiling-nats`",
	},
	{
		"another account", job,
		"serviceAccountName: ceiling-controller",
		"serviceAccountName: controller",
		"no ServiceAccount",
	},
	{"another key of settings", settings, "max-rate:", "max_rate:", "has `max-rate`"},
	{
		"an undefined variable", agents,
		"--name=$(POD_NAME)", "--name=$(POD)", "$(POD) is not a variable",
	},
	{
		"a key of another pod", agents,
		"subPathExpr: $(POD_NAME)", "subPathExpr: $(NAME)", "$(NAME) is not a variable",
	},
	{
		"a volume that is not mounted", job,
		"            - name: runs\n              mountPath: /runs\n", "", "does not mount",
	},
	{
		"a mount of no volume", job,
		"            - name: runs", "            - name: run", "missing volume",
	},
	{
		"another claim", job,
		"claimName: ceiling-runs", "claimName: runs", "no PersistentVolumeClaim",
	},
	{
		"another namespace", "deploy/kubernetes/run/kustomization.yaml",
		"namespace: ceiling-fleet", "namespace: fleet", "no manifest makes",
	},

	{
		"labels beside the selector", agents,
		"    matchLabels:\n      app.kubernetes.io/name: ceiling-agent\n  template",
		"    matchLabels:\n      app.kubernetes.io/name: agent\n  template",
		"its own pods",
	},
	{
		"a service of other pods", broker,
		"  selector:\n    app.kubernetes.io/name: nats",
		"  selector:\n    app.kubernetes.io/name: broker",
		"selects no pods",
	},
	{
		"another port of the service", broker,
		"port: 4222", "port: 4223", "no Service with this port",
	},
	{
		"a port that the pod does not have", broker,
		"targetPort: nats", "targetPort: 4223", "has no port 4223",
	},
	{
		"another broker in the settings", settings,
		"nats://nats:4222", "nats://broker:4222", "no Service",
	},
	{"a policy for another port", network, "- port: 4222", "- port: 4223", "no such port"},
	{
		"a policy for no pods", network,
		"app.kubernetes.io/name: ceiling-controller",
		"app.kubernetes.io/name: controller",
		"that do not exist",
	},
	{
		"nothing is closed", network,
		"policyTypes: [\"Ingress\", \"Egress\"]", "policyTypes: [\"Ingress\"]", "for Egress",
	},

	{
		"a request below the limit", agents,
		"              cpu: \"2\"", "              cpu: \"1\"", "not equal",
	},
	{
		"half a CPU", broker,
		"cpu: \"1\"\n" +
			"              memory: 256Mi\n" +
			"            limits:\n" +
			"              cpu: \"1\"",
		"cpu: 500m\n" +
			"              memory: 256Mi\n" +
			"            limits:\n" +
			"              cpu: 500m",
		"only whole CPUs",
	},
	{
		"an unsafe sysctl", agents,
		"net.ipv4.ip_local_port_range", "net.ipv4.tcp_tw_reuse", "not a safe one",
	},
	{"root", agents, "runAsUser: 65532", "runAsUser: 0", "root"},
	{
		"a root that is written to", job,
		"readOnlyRootFilesystem: true", "readOnlyRootFilesystem: false", "write to its root",
	},
	{"no place for readings", agents, "mountPath: /tmp", "mountPath: /scratch", "has no /tmp"},
	{"capabilities", broker, "drop: [\"ALL\"]", "drop: [\"NET_RAW\"]", "keeps capabilities"},
	{
		"a token", agents,
		"automountServiceAccountToken: false", "automountServiceAccountToken: true", "token",
	},
	{"no profile", broker, "type: RuntimeDefault", "type: Unconfined", "RuntimeDefault"},

	{
		"an image of another version", "deploy/kubernetes/kustomization.yaml",
		"newTag: \"0.1.0\"", "newTag: \"0.0.1\"", "the image has version 0.0.1",
	},
	{"an image without a version", broker, "image: nats", "image: nats-server", "has no version"},
	{
		"a key for too few", readme,
		"ceiling-agent-2,ceiling-agent-3", "ceiling-agent-2", "no key for ceiling-agent-3",
	},

	{"a typo in compose", composeFile, "cap_drop:", "capdrop:", "capdrop"},
	{
		"an undefined network", composeFile,
		"networks: [control, load]", "networks: [control, loads]", "loads",
	},
	{"a key of another agent", composeFile, "secrets: [agent-1]", "secrets: [agent-0]", "agent-0"},
	{"a name of another agent", composeFile, "--name=agent-1", "--name=agent-0", "another name"},
	{"a broker in the open", composeFile, "internal: true", "internal: false", "not internal"},
	{
		"an image of another version in compose", composeFile,
		"CEILING_IMAGE:-ceiling:0.1.0", "CEILING_IMAGE:-ceiling:0.2.0",
		"the image has version 0.2.0",
	},

	{
		"no place for readings in compose", composeFile,
		"tmpfs: [/tmp]", "tmpfs: [/scratch]", "has no /tmp",
	},

	{"an option in a manifest", agents, "--max-rate=", "--maxrate=", "takes no --maxrate"},
	{"an option in compose", composeFile, "--allow=", "--allowed=", "takes no --allowed"},
	{"an option in a unit", unit, "--controller=", "--control=", "takes no --control"},
	{"an option on the page", readme, "--fleet-keys", "--keys", "takes no --keys"},
	{"an option of a job", job, "--rate=", "--rps=", "takes no --rps"},
	{
		"a secret on the page that no pod has", readme,
		"generic ceiling-nats --from-file=keys/nats\n",
		"generic ceiling-nats --from-file=keys/nats\n" +
			"        kubectl create secret generic other --from-file=x\n",
		"Secret other",
	},
}

func TestEachMistakeIsFound(t *testing.T) {
	for _, mistake := range mistakes {
		t.Run(mistake.name, func(t *testing.T) {
			tree := read(t)
			text := strings.Replace(tree[mistake.file], mistake.old, mistake.new, 1)
			if text == tree[mistake.file] {
				t.Fatalf("%s does not contain %q", mistake.file, mistake.old)
			}
			tree[mistake.file] = text
			findings := Check(tree, schemas)
			if !strings.Contains(strings.Join(findings, "\n"), mistake.said) {
				t.Errorf("no finding contains %q: %q", mistake.said, findings)
			}
		})
	}
}

// systemd reads the units as they would be installed, but with programs that do nothing.
func TestSystemdTakesTheUnits(t *testing.T) {
	said, err := exec.Command("systemd-analyze", "--version").Output()
	if err != nil {
		t.Skip("systemd-analyze is not installed")
	}
	var version int
	_, err = fmt.Sscanf(string(said), "systemd %d", &version)
	if err != nil || version < systemdMin {
		t.Skipf("systemd %d does not know all that our units set", version)
	}
	for name, text := range read(t) {
		if filepath.Ext(name) != ".service" {
			continue
		}
		if said := verify(t, filepath.Base(name), text); said != "" {
			t.Errorf("%s: %s", name, said)
		}
		typo := strings.Replace(text, "NoNewPrivileges=", "NoNewPrivilege=", 1)
		if said := verify(t, filepath.Base(name), typo); !strings.Contains(said, "NoNewPrivilege") {
			t.Errorf("%s: a typo is not found: %q", name, said)
		}
	}
}

// The oldest systemd that knows everything in our units.
const systemdMin = 252

// What our units and every service refer to.
var targets = []string{"sysinit", "basic", "shutdown", "network", "network-online", "multi-user"}

// verify returns the output of systemd-analyze for a unit, which sees no other unit of this
// machine: one of another package may have a fault.
func verify(t *testing.T, name, text string) string {
	t.Helper()
	root := t.TempDir()
	file := filepath.Join(root, name)
	for _, program := range []string{"/usr/bin/ceiling", "/usr/sbin/nats-server"} {
		text = strings.ReplaceAll(text, "="+program, "=/bin/true")
	}
	// systemd-analyze looks up the manual page, which exists only where the package is installed.
	text = strings.ReplaceAll(text, "Documentation=man:ceiling(1)\n", "")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, target := range targets {
		unit := filepath.Join(root, target+".target")
		if err := os.WriteFile(unit, []byte("[Unit]\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	command := exec.Command("systemd-analyze", "verify", file)
	command.Env = append(os.Environ(), "SYSTEMD_UNIT_PATH="+root)
	said, err := command.CombinedOutput()
	if err != nil && len(said) == 0 {
		return err.Error()
	}
	return string(said)
}
