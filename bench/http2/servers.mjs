// Real servers of HTTP/2 without TLS, each with its limits as they are installed, and how they log.
// `start` returns the commands to start, each of them in the folder of the run; the log is
// `access.log` there, a line for each request. `call` is the method of gRPC that is called, and
// `schema` where its schema is, if not in the repository. Those that are `isSick` fail or leave on
// purpose.
import { writeFileSync } from "node:fs";
import { join, resolve } from "node:path";

const NGINX = ".cache/nginx/usr/sbin/nginx";
const ENVOY = "type.googleapis.com/envoy.extensions";
const VENV = resolve(".cache/http2/python");
const TONIC = resolve(".cache/http2/tonic-server");
const JAVA = resolve(".cache/held-out/java");
// Its schema comes from the server.
const HEALTH = { call: "grpc.health.v1.Health/Check", schema: [] };

function config(dir, name, text) {
  const file = join(dir, name);
  writeFileSync(file, text);
  return file;
}

export const SERVERS = [
  { name: "nginx", streams: "128", needs: [NGINX],
    start: ({ dir, port }) => {
      const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
        .map((kind) => `${kind}_temp_path ${dir}/${kind};`).join(" ");
      return [[resolve(NGINX), "-p", dir, "-c", config(dir, "nginx.conf", `
daemon off; user root; pid ${dir}/pid; error_log ${dir}/error.log; worker_processes 1;
events { worker_connections 1024; }
http { ${temporary} access_log ${dir}/access.log;
  server { listen ${port} http2; root ${dir}; } }`)]];
    } },
  { name: "h2o", streams: "100", needs: ["/usr/bin/h2o"],
    start: ({ dir, port }) => [["h2o", "-c", config(dir, "h2o.conf", `
listen: {host: 127.0.0.1, port: ${port}}
user: root
num-threads: 1
access-log: ${dir}/access.log
hosts: {default: {paths: {/: {file.dir: ${dir}}}}}`)]] },
  { name: "Caddy", streams: "250", needs: ["/usr/bin/caddy"],
    start: ({ dir, port }) => [["env", "GOMAXPROCS=1", "caddy", "run", "--adapter", "caddyfile",
      "--config", config(dir, "Caddyfile", `
{
  admin off
  auto_https off
  servers {
    protocols h1 h2 h2c
  }
}
:${port} {
  root * ${dir}
  file_server
  log {
    output file ${dir}/access.log {
      roll_disabled
    }
  }
}`)]] },
  { name: "HAProxy", streams: "100", needs: ["/usr/sbin/haproxy"],
    start: ({ dir, port }) => [["bash", "-c", `exec haproxy -db -f ${config(dir, "haproxy.cfg", `
global
  nbthread 1
  log stdout format raw local0
defaults
  mode http
  option httplog
  log global
  timeout connect 5s
  timeout client 30s
  timeout server 30s
frontend web
  bind 127.0.0.1:${port} proto h2
  http-request return status 200 content-type text/plain string page
`)} > ${dir}/access.log`]] },
  { name: "Apache", streams: "100", needs: ["/usr/sbin/apache2",
    "/usr/lib/apache2/modules/mod_http2.so"],
    start: ({ dir, port }) => {
      const load = (names) => names.map((name) =>
        `LoadModule ${name}_module /usr/lib/apache2/modules/mod_${name}.so`).join("\n");
      return [["apache2", "-DFOREGROUND", "-f", config(dir, "httpd.conf", `
ServerRoot ${dir}
ServerName localhost
Listen 127.0.0.1:${port}
PidFile ${dir}/pid
DefaultRuntimeDir ${dir}
User www-data
Group www-data
${load(["mpm_event", "authz_core", "http2"])}
Mutex file:${dir}
Protocols h2c http/1.1
ErrorLog ${dir}/error.log
LogFormat "%r" one
CustomLog ${dir}/access.log one
DocumentRoot ${dir}`)]];
    } },
  { name: "lighttpd", streams: "8", needs: ["/usr/sbin/lighttpd"],
    start: ({ dir, port }) => [["lighttpd", "-D", "-f", config(dir, "lighttpd.conf", `
server.bind = "127.0.0.1"
server.port = ${port}
server.document-root = "${dir}"
server.modules = ( "mod_accesslog" )
accesslog.filename = "${dir}/access.log"`)]] },
  { name: "nghttpx and nghttpd", streams: "100", needs: ["/usr/sbin/nghttpx", "/usr/sbin/nghttpd"],
    start: ({ dir, port, behind }) => [
      ["nghttpd", "--no-tls", "-d", dir, `${behind}`],
      ["nghttpx", "--conf=/dev/null", `-f127.0.0.1,${port};no-tls`,
        `-b127.0.0.1,${behind};;proto=h2`, "--workers=1", `--accesslog-file=${dir}/access.log`]] },
  { name: "Envoy", streams: "1024", needs: [`${VENV}/bin/envoy`],
    start: ({ dir, port }) => [[`${VENV}/bin/envoy`, "--concurrency", "1", "--use-dynamic-base-id",
      "-l", "error", "-c", config(dir, "envoy.yaml", `
static_resources:
  listeners:
  - address: {socket_address: {address: 127.0.0.1, port_value: ${port}}}
    filter_chains:
    - filters:
      - name: envoy.filters.network.http_connection_manager
        typed_config:
          "@type": ${ENVOY}.filters.network.http_connection_manager.v3.HttpConnectionManager
          stat_prefix: web
          codec_type: HTTP2
          access_log:
          - name: file
            typed_config:
              "@type": ${ENVOY}.access_loggers.file.v3.FileAccessLog
              path: ${dir}/access.log
          http_filters:
          - name: envoy.filters.http.router
            typed_config:
              "@type": ${ENVOY}.filters.http.router.v3.Router
          route_config:
            virtual_hosts:
            - name: all
              domains: ["*"]
              routes:
              - match: {prefix: "/"}
                direct_response: {status: 200, body: {inline_string: "page"}}`)]] },
  { name: "hypercorn", streams: "100", needs: [`${VENV}/bin/hypercorn`],
    start: ({ dir, port }) => {
      config(dir, "app.py", `
async def app(scope, receive, send):
    if scope["type"] != "http":
        return
    head = [(b"content-length", b"5")]
    await send({"type": "http.response.start", "status": 200, "headers": head})
    await send({"type": "http.response.body", "body": b"hello"})
`);
      return [[`${VENV}/bin/hypercorn`, "app:app", "--bind", `127.0.0.1:${port}`,
        "--access-logfile", `${dir}/access.log`]];
    } },
  { name: "Vert.x", streams: "100", needs: [`${JAVA}/Loop.class`],
    start: ({ port }) => [["env", "SLEEP_MS=1", `PORT=${port}`, "java", "-XX:+UseSerialGC",
      "-Xmx128m", "-cp", `${JAVA}:${JAVA}/*`, "Loop"]] },
  node("Node", "none", []),
  sick(node("Node: 10 streams, GOAWAY", "10", ["--streams", "10", "--goaway", "1000"])),
  sick(node("Node: GOAWAY every 100", "none", ["--goaway", "100"])),
  sick(node("Node: 503 with a body", "none", ["--status", "503"])),
  sick({ ...node("Node: calls that fail", "none", ["--grpc", "12"]), call: "shop.Catalog/Read" }),
  { ...node("Node: calls", "none", ["--grpc", "0"]), call: "shop.Catalog/Read" },
  { name: "grpc-go", streams: "none", needs: ["bin/target-grpc"], call: "shop.Catalog/Read",
    start: ({ port }) => [["env", "GOMAXPROCS=1", resolve("bin/target-grpc"), "--port", `${port}`]],
  },
  { name: "tonic", streams: "none", needs: [TONIC], ...HEALTH,
    start: ({ dir, port }) => [[TONIC, `${port}`, `${dir}/access.log`]] },
  { name: "Python's grpcio", streams: "none", needs: [`${VENV}/bin/python`], ...HEALTH,
    start: ({ dir, port, bench }) => [[`${VENV}/bin/python`, join(bench, "http2/health.py"),
      `${port}`, `${dir}/access.log`]] },
];

function sick(server) {
  return { ...server, isSick: true };
}

function node(name, streams, options) {
  return { name, streams, needs: ["/usr/bin/node"],
    start: ({ dir, port, bench }) => [["node", join(bench, "audit/http2.mjs"), ...options,
      "--port", `${port}`, "--log", `${dir}/access.log`]] };
}
