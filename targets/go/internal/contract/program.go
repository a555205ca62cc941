package contract

import (
	"fmt"
	"io"
	"log"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
)

// Program is one target as a command.
type Program struct {
	Name string
	// Modules are the libraries whose versions --version reports.
	Modules []string
	// Version returns the server's version when it is not a library of this program; nil means
	// Modules.
	Version func() (string, error)
	Flags   []Flag
	// Parts are the routes that the target can serve on top of the catalog.
	Parts []Part
	// Build makes the server. It is called when the pool is ready and the parts are open.
	Build func(catalog *Catalog, routes []Route) Server
	// Run serves with the resolved options until the target gets a signal to stop.
	Run func(program Program, options Options) error
}

const (
	exitInternal = 1
	exitUsage    = 2
)

// Main runs the program with the arguments of this process and does not return.
func Main(program Program) {
	command := "target-" + program.Name
	log.SetFlags(0)
	log.SetPrefix(command + ": ")
	args := os.Args[1:]
	flags := append(slices.Clone(program.Flags), partFlags(program.Parts)...)
	switch {
	case slices.Contains(args, "--help") || slices.Contains(args, "-h"):
		writeHelp(os.Stdout, command, flags)
		os.Exit(0)
	case slices.Contains(args, "--version"):
		text, err := program.version()
		if err != nil {
			fail(err, exitInternal)
		}
		fmt.Println(command, text)
		os.Exit(0)
	}
	options, err := ParseOptions(flags, args)
	if err != nil {
		fail(err, exitUsage)
	}
	if err := checkByParts(program.Parts, options); err != nil {
		fail(err, exitUsage)
	}
	if err := program.Run(program, options); err != nil {
		fail(err, exitInternal)
	}
	os.Exit(0)
}

func fail(err error, code int) {
	log.Print(err)
	os.Exit(code)
}

func writeHelp(out io.Writer, command string, flags []Flag) {
	fmt.Fprintf(out, "%s: a server under test. targets/README.md describes its routes.\n\n",
		command)
	for _, flag := range flags {
		fmt.Fprintf(out, "  %-28s %s\n", flag.Example, flag.Help)
	}
	fmt.Fprintf(out, "  %-28s %s\n", "--version", "print the versions of the library and of Go")
}

// version names the server; for libraries, as the linker recorded it.
func (p Program) version() (string, error) {
	if p.Version != nil {
		return p.Version()
	}
	parts := []string{runtime.Version()}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return parts[0], nil
	}
	for _, module := range info.Deps {
		if slices.Contains(p.Modules, module.Path) {
			parts = append(parts, module.Path+" "+module.Version)
		}
	}
	return strings.Join(parts, ", "), nil
}
