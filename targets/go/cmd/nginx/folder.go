package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"ceiling.dev/targets/internal/contract"
)

// configuration is nginx's default, except for settings that would close connections that a load
// generator keeps, and for paths outside of our folder.
const configuration = `daemon off;
worker_processes {workers};
worker_rlimit_nofile {files};
worker_shutdown_timeout 1s;
pid {folder}/pid;
error_log stderr warn;
events { worker_connections {connections}; }
http {
    access_log off;
    sendfile on;
    tcp_nopush on;
    # By default a connection ends after 1000 requests, or 60 s without one.
    keepalive_requests 1000000000;
    keepalive_timeout 1h;
    client_header_timeout 1h;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    types {}
    default_type application/json;
    server {
        listen {listen};
        root {folder}/files;
        location = /simple {}
        location = /read {}
        location = /healthz { default_type "text/plain; charset=utf-8"; }
        location / { return 404; }
    }
    server {
        listen unix:{folder}/status;
        location = /status { stub_status; }
    }
}
`

const (
	// filesMax bounds the descriptors of a worker: nginx keeps a table of that length.
	filesMax = 65536
	// filesKept is the number of a worker's descriptors that are not connections, with a margin.
	filesKept = 64
)

// furnish writes the configuration and the served files.
func furnish(folder string, options contract.Options) error {
	catalog, err := contract.NewCatalog(options.PoolSeed)
	if err != nil {
		return err
	}
	files, err := fileLimit()
	if err != nil {
		return err
	}
	text := strings.NewReplacer(
		"{folder}", folder,
		"{workers}", fmt.Sprint(options.Workers),
		"{files}", fmt.Sprint(files),
		"{connections}", fmt.Sprint(files-filesKept),
		"{listen}", listen(options),
	).Replace(configuration)
	served := filepath.Join(folder, "files")
	if err := os.Mkdir(served, 0o755); err != nil {
		return fmt.Errorf("make the folder of files: %w", err)
	}
	// Workers of a root master run as another user, and must be able to read, whatever the umask
	// is.
	for _, open := range []string{folder, served} {
		if err := os.Chmod(open, 0o755); err != nil {
			return fmt.Errorf("open a folder of nginx: %w", err)
		}
	}
	for name, content := range map[string][]byte{
		"nginx.conf":    []byte(text),
		"files/simple":  contract.BodySimple,
		"files/read":    catalog.Plain[0].Bytes,
		"files/healthz": contract.BodyHealthz,
	} {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, content, 0o644); err != nil {
			return fmt.Errorf("write a file for nginx: %w", err)
		}
		if err := os.Chmod(path, 0o644); err != nil {
			return fmt.Errorf("open a file of nginx: %w", err)
		}
	}
	return nil
}

// fileLimit is how many descriptors a worker may have.
func fileLimit() (uint64, error) {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return 0, fmt.Errorf("read the limit of open files: %w", err)
	}
	if limit.Max < 2*filesKept {
		return 0, fmt.Errorf("nginx needs %d open files, the limit is %d; see ulimit -Hn",
			2*filesKept, limit.Max)
	}
	return min(limit.Max, filesMax), nil
}

// listen is the directive of that name.
func listen(options contract.Options) string {
	words := []string{options.Address()}
	if options.Backlog > 0 {
		words = append(words, fmt.Sprintf("backlog=%d", options.Backlog))
	}
	if options.Prefork {
		words = append(words, "reuseport")
	}
	return strings.Join(words, " ")
}

// backlogDefault is nginx's default on Linux.
const backlogDefault = 511

// backlog is the queue length that the kernel enforces for nginx, or nil if it is not known.
func backlog(options contract.Options) *int {
	asked := options.Backlog
	if asked == 0 {
		asked = backlogDefault
	}
	content, err := os.ReadFile("/proc/sys/net/core/somaxconn")
	if err != nil {
		return nil
	}
	var limit int
	if _, err := fmt.Sscan(string(content), &limit); err != nil {
		return nil
	}
	return new(min(asked, limit))
}
