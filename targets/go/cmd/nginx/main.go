// Command nginx is the well-known reference: nginx of the system's packages, serving two small
// files. It writes the configuration, starts nginx in a folder of its own and implements the
// contract for it: the two lines, the signals, the exit codes.
package main

import (
	"errors"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"ceiling.dev/targets/internal/contract"
)

func main() {
	contract.Main(contract.Program{Name: "nginx", Version: version, Flags: flags(), Run: run})
}

// workersMax is more than any host needs.
const workersMax = 1024

// flags are those of the other targets that nginx supports, and its own two.
func flags() []contract.Flag {
	shared := []string{"addr", "port", "pool-seed", "backlog"}
	isOther := func(flag contract.Flag) bool { return !slices.Contains(shared, flag.Name) }
	kept := slices.DeleteFunc(slices.Clone(contract.ServerFlags), isOther)
	for i := range kept {
		if kept[i].Name == "backlog" {
			kept[i].Help = "length of each accept queue (default 511, as in nginx)"
		}
	}
	own := []contract.Flag{
		{
			Name: "workers", Takes: "a number from 1 to 1024", Example: "--workers 4",
			Help: "number of worker processes (default one per CPU)", Set: setWorkers,
		},
		{
			Name: "reuseport", Example: "--reuseport",
			Help: "one listening socket per worker, with SO_REUSEPORT", Set: setReusePort,
		},
	}
	return append(kept, own...)
}

func setWorkers(options *contract.Options, value string) (err error) {
	options.Workers, err = strconv.Atoi(value)
	if err == nil && (options.Workers < 1 || options.Workers > workersMax) {
		return errors.New("out of range")
	}
	return err
}

// setReusePort is what the contract calls prefork: workers that share the port.
func setReusePort(options *contract.Options, _ string) error {
	options.Prefork = true
	return nil
}

// find looks for nginx in TARGET_NGINX, where make build-nginx unpacks it, and in the PATH.
func find() (string, error) {
	if path := os.Getenv("TARGET_NGINX"); path != "" {
		return path, nil
	}
	if self, err := os.Executable(); err == nil {
		path := filepath.Join(filepath.Dir(self), "../.cache/nginx/usr/sbin/nginx")
		if _, err := os.Stat(path); err == nil {
			return path, nil
		}
	}
	path, err := exec.LookPath("nginx")
	if err != nil {
		return "", errors.New("nginx is missing: run make build-nginx, or name a program, " +
			"for example TARGET_NGINX=/usr/sbin/nginx")
	}
	return path, nil
}

func version() (string, error) {
	path, err := find()
	if err != nil {
		return "", err
	}
	output, err := exec.Command(path, "-v").CombinedOutput()
	if err != nil {
		why := strings.TrimSpace(string(output))
		return "", fmt.Errorf("%s -v: %w: %s; its libraries come with: apt-get install nginx",
			path, err, why)
	}
	_, version, _ := strings.Cut(strings.TrimSpace(string(output)), "nginx/")
	return "nginx " + version, nil
}

// run serves until the target gets a signal to stop.
func run(_ contract.Program, options contract.Options) error {
	if options.Workers == 0 {
		options.Workers = runtime.NumCPU()
	}
	path, err := find()
	if err != nil {
		return err
	}
	folder, err := os.MkdirTemp("", "target-nginx-")
	if err != nil {
		return fmt.Errorf("make a folder for nginx: %w", err)
	}
	defer func() {
		if err := os.RemoveAll(folder); err != nil {
			log.Printf("remove the folder of nginx: %v", err)
		}
	}()
	claim, err := contract.ClaimPort(options)
	if err != nil {
		return err
	}
	options.Port = claim.Port
	if err := furnish(folder, options); err != nil {
		claim.Release()
		return err
	}
	master, err := start(path, folder)
	claim.Release()
	if err != nil {
		return err
	}
	return master.follow(options)
}
