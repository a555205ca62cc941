package check

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	compose "github.com/compose-spec/compose-go/v2/types"
)

// Command is one call of ceiling: a sub-command and its long options.
type Command struct {
	where   string
	name    string
	options []string
}

var (
	option    = regexp.MustCompile(`(?:^|[\s"'\x60-])--([a-z][a-z0-9-]*)`)
	continued = regexp.MustCompile(`\\\n\s*`)
)

// commandsOf returns the command lines of a document: the indented lines.
func commandsOf(text string) string {
	var lines []string
	for line := range strings.Lines(continued.ReplaceAllString(text, "")) {
		if strings.HasPrefix(line, "    ") {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return strings.Join(lines, "\n")
}

// checkCommands looks up each command and its options in the command-line reference.
func checkCommands(
	tree Tree, cluster *Cluster, project *compose.Project, findings *Findings,
) {
	known := optionsOf(tree[reference])
	for _, command := range commands(tree, cluster, project) {
		takes, described := known[command.name]
		if !described {
			findings.add(command.where, "there is no `ceiling %s`", command.name)
			continue
		}
		for _, option := range command.options {
			if !slices.Contains(takes, option) {
				findings.add(command.where, "`ceiling %s` takes no --%s", command.name, option)
			}
		}
	}
	checkKeys(tree, cluster, findings)
}

// optionsOf reads the long options of each command from the reference: from its table, and from the
// paragraph below it, which names the options that it shares with another command.
func optionsOf(text string) map[string][]string {
	known := map[string][]string{}
	row := regexp.MustCompile("^\\| `(?:-., )?--([a-z0-9-]+)`")
	named := regexp.MustCompile("--([a-z0-9-]+)`")
	var command string
	inCommon := false
	for line := range strings.Lines(text) {
		inCommon = strings.HasPrefix(line, "As in `ceiling ") || inCommon && line != "\n"
		found := row.FindAllStringSubmatch(line, -1)
		if inCommon {
			found = named.FindAllStringSubmatch(line, -1)
		}
		if heading, is := strings.CutPrefix(line, "## ceiling "); is {
			command = strings.TrimSpace(heading)
			known[command] = []string{}
		}
		for _, option := range found {
			known[command] = append(known[command], option[1])
		}
	}
	return known
}

// commands returns the commands in the manifests, compose.yaml, the units and README.md. The
// project is nil when compose.yaml cannot be read.
func commands(tree Tree, cluster *Cluster, project *compose.Project) []Command {
	var all []Command
	for _, workload := range cluster.workloads {
		for _, container := range workload.containers() {
			if strings.HasPrefix(path.Base(container.Image), "ceiling:") {
				all = append(all, command(workload.where, container.Args))
			}
		}
	}
	if project != nil {
		for name, service := range project.Services {
			if strings.HasPrefix(path.Base(service.Image), "ceiling:") {
				all = append(all, command(composeFile+", "+name, service.Command))
			}
		}
	}
	for _, unit := range tree.below("deploy/systemd", ".service") {
		joined := continued.ReplaceAllString(tree[unit], "")
		for _, found := range started.FindAllStringSubmatch(joined, -1) {
			all = append(all, called(unit, found[1])...)
		}
	}
	return append(all, called(readme, commandsOf(tree[readme]))...)
}

var (
	started = regexp.MustCompile(`(?m)^ExecStart=(.*)$`)
	call    = regexp.MustCompile(`(?m)(?:^|[ /])ceiling ([a-z].*)$`)
)

// called returns the ceiling commands in shell lines.
func called(where, text string) []Command {
	var all []Command
	for _, found := range call.FindAllStringSubmatch(text, -1) {
		all = append(all, command(where, strings.Fields(found[1])))
	}
	return all
}

// command parses a list of arguments.
func command(where string, arguments []string) Command {
	read := Command{where: where}
	if len(arguments) == 0 {
		return read
	}
	read.name = arguments[0]
	if read.name == "fleet" && len(arguments) > 1 {
		read.name += " " + arguments[1]
	}
	for _, found := range option.FindAllStringSubmatch(strings.Join(arguments, " "), -1) {
		read.options = append(read.options, found[1])
	}
	return read
}

// checkKeys checks that README.md makes a key for each agent of the StatefulSet.
func checkKeys(tree Tree, cluster *Cluster, findings *Findings) {
	text := commandsOf(tree[readme])
	for name, workload := range cluster.workloads {
		for ordinal := range workload.replicas {
			agent := fmt.Sprintf("%s-%d", name, ordinal)
			made := regexp.MustCompile(`fleet keys .*\b` + agent + `\b`)
			if workload.service != "" && !made.MatchString(text) {
				findings.add(readme, "makes no key for %s", agent)
			}
		}
	}
}
