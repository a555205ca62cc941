// Command certs writes test certificates for the targets and their clients: a good chain, and one
// certificate of each kind that a client must refuse. The repository contains no private key.
package main

import (
	"errors"
	"fmt"
	"os"
	"strings"
)

const usage = `target-certs: makes new test certificates at each call.

  --out DIR    write them into this directory, which is created if missing

  ca.pem                          the authority, for clients or for --client-ca
  server.pem, server.key          for localhost, 127.0.0.1 and ::1
  expired.pem, expired.key        the same, but expired
  wrongname.pem, wrongname.key    for other.test
  client.pem, client.key          for a client
  other-ca.pem                    an authority that has signed none of these

The keys of the authorities are not kept.
`

const (
	exitInternal = 1
	exitUsage    = 2
)

func main() {
	directory, err := parse(os.Args[1:])
	switch {
	case errors.Is(err, errHelp):
		fmt.Print(usage)
		return
	case err != nil:
		fail(err, exitUsage)
	}
	if err := write(directory); err != nil {
		fail(err, exitInternal)
	}
}

func fail(err error, code int) {
	fmt.Fprintln(os.Stderr, "target-certs:", err)
	os.Exit(code)
}

var errHelp = errors.New("help was asked for")

func parse(args []string) (directory string, err error) {
	if len(args) == 1 && (args[0] == "--help" || args[0] == "-h") {
		return "", errHelp
	}
	if len(args) == 1 {
		if value, ok := strings.CutPrefix(args[0], "--out="); ok && value != "" {
			return value, nil
		}
	}
	if len(args) == 2 && args[0] == "--out" && args[1] != "" {
		return args[1], nil
	}
	return "", fmt.Errorf("unexpected arguments %q; accepted is --out with a directory; "+
		"for example --out /tmp/certs", args)
}
