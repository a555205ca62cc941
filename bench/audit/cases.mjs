// The load of each tool, and which of its files are kept.
//
// A case is one load. `words` is what a user would type; `{url}`, `{scratch}` and `{peers}` are
// filled in. Each file is what the tool printed ("stdout", "stderr", "both"), what it wrote (a path
// in the scratch folder), or the output of a second command (words).

const C = 16;
const S = 3;

const wrk = (more = "") => `wrk -t1 -c${C} -d${S}s --latency ${more} {url}`;
const wrk2 = (rate, more = "") => `wrk2 -t1 -c${C} -d${S}s -R${rate} --latency ${more} {url}`;
const oha = (more = "") => `oha --no-tui -c ${C} -z ${S}s ${more} {url}`;
const ohaJson = (more = "") => oha(`--output-format json ${more}`);
const hey = (more = "") => `hey -c ${C} -z ${S}s ${more} {url}`;
const h2load = (more = "") => `h2load --h1 -t1 -c${C} -D${S} ${more} {url}`;
const h2loadH2 = (words) => `h2load -t1 ${words} {url}`;
// A message of gRPC without content.
const CALL = "-d {scratch}/call -H content-type:application/grpc -H te:trailers";
const ghz = (words) => `ghz --insecure --proto bench/audit/call.proto --call audit.Calls.Call
  -d {} ${words} {address}`;
const ab = (more = "") => `ab -q -c ${C} -t ${S} -n 1000000 ${more} {url}`;
const vegeta = (rate, more = "") => `vegeta attack -targets {scratch}/target.txt -rate ${rate}
  -duration ${S}s ${more} -output {scratch}/vegeta.bin`;
const k6 = (more = "") => `k6 run --no-usage-report --no-color --quiet ${more}
  --summary-export {scratch}/k6.json --out json={scratch}/k6.jsonl -e TARGET={url}
  bench/audit/k6.js`;
const k6Closed = () => k6(`--vus ${C} --duration ${S}s`);
const k6Open = (rate) => k6(`-e RATE=${rate} -e VUS=${C} -e SECONDS=${S}`);
const autocannon = (more = "") => `autocannon --no-progress -c ${C} -d ${S} ${more} {url}`;
const fortio = (qps, more = "") => `fortio load -qps ${qps} -c ${C} -t ${S}s ${more}
  -p 50,75,90,99,99.9 -json {scratch}/fortio.json {url}`;
const gatling = (users) => `java -cp {scratch}:{gatling}
  -Dlogback.configurationFile=bench/audit/logback.xml -DTARGET={url} ${users} -DSECONDS=${S}
  io.gatling.app.Gatling -s Load -rf {scratch}/gatling`;
const jmeter = (loops) => `jmeter -n -t bench/audit/plan.jmx -j {scratch}/jmeter.log
  -l {scratch}/jmeter.jtl -Jjmeter.save.saveservice.output_format=csv
  -Jjmeter.save.saveservice.print_field_names=true -Jurl={url} -Jthreads=${C} -Jloops=${loops}`;

const json = (name) => ({ [`${name}.json`]: "stdout" });
const text = (name) => ({ [`${name}.txt`]: "stdout" });
const report = (type) => `vegeta report -type ${type} {scratch}/vegeta.bin`;
const vegetaFiles = (name, ...types) => Object.fromEntries(types.map((type) =>
  [`vegeta-${type}-${name}.${type === "json" ? "json" : "txt"}`, report(type)]));
const k6Files = (name, ...forms) => pick(forms, {
  text: [`k6-text-${name}.txt`, "stdout"], export: [`k6-export-${name}.json`, "k6.json"],
  lines: [`k6-lines-${name}.json`, "k6.jsonl"] });
const fortioFiles = (name, ...forms) => pick(forms, {
  text: [`fortio-text-${name}.txt`, "both"], json: [`fortio-json-${name}.json`, "fortio.json"] });
const gatlingFiles = (name, ...forms) => pick(forms, {
  text: [`gatling-text-${name}.txt`, "stdout"],
  log: [`gatling-log-${name}.txt`, "gatling/*/simulation.log"],
  stats: [`gatling-stats-${name}.json`, "gatling/*/js/stats.json"],
  global: [`gatling-global-${name}.json`, "gatling/*/js/global_stats.json"] });
const jmeterFiles = (name, ...forms) => pick(forms, {
  text: [`jmeter-text-${name}.txt`, "stdout"], jtl: [`jmeter-jtl-${name}.txt`, "jmeter.jtl"] });
const pick = (forms, all) => Object.fromEntries(forms.map((form) => all[form]));

const row = (tool, scenario, server, words, files, more = {}) =>
  ({ tool, scenario, server, words, files, ...more });
// Busy processes on the client's CPU.
const STARVED = { burners: 6 };

export const CASES = [
  row("wrk", "healthy", "fast", wrk(), text("wrk-healthy")),
  row("wrk", "20 ms each", "steady", wrk(), text("wrk-steady")),
  row("wrk", "stalls", "frozen", wrk(), text("wrk-stalls")),
  row("wrk", "pool", "pool", wrk(), text("wrk-pool")),
  row("wrk", "404", "missing", wrk(), text("wrk-404")),
  row("wrk", "resets", "resets", wrk(), text("wrk-resets")),
  row("wrk", "503 at once", "sheds", wrk(), text("wrk-sheds")),
  row("wrk", "server dies", "dies", wrk(), text("wrk-dies")),
  row("wrk", "starved client", "fast", wrk(), text("wrk-starved"), STARVED),
  row("wrk", "16 deep", "fast", `${wrk("-s bench/pipeline.lua")} -- 16`, text("wrk-deep")),
  row("wrk", "large bodies", "large", wrk(), text("wrk-large")),

  row("wrk2", "healthy", "fast", wrk2(500), text("wrk2-healthy")),
  row("wrk2", "stalls", "frozen", wrk2(500), text("wrk2-stalls")),
  row("wrk2", "stalls, send time", "frozen", wrk2(500, "-U"), text("wrk2-stalls-uncorrected")),
  row("wrk2", "overload", "pool", wrk2(1000), text("wrk2-overload")),
  row("wrk2", "12 s", "steady", `wrk2 -t1 -c${C} -d12s -R400 --latency {url}`, text("wrk2-long")),

  row("oha", "healthy", "fast", oha(), text("oha-text-healthy")),
  row("oha", "stalls", "frozen", oha(), text("oha-text-stalls")),
  row("oha", "404", "missing", oha(), text("oha-text-404")),
  row("oha", "refused", "nobody", oha("-n 64").replace(`-z ${S}s `, ""), text("oha-text-refused")),
  row("oha", "healthy", "fast", ohaJson(), json("oha-json-healthy")),
  row("oha", "stalls", "frozen", ohaJson(), json("oha-json-stalls")),
  row("oha", "pool", "pool", ohaJson(), json("oha-json-pool")),
  row("oha", "500", "late500", ohaJson(), json("oha-json-500")),
  row("oha", "resets", "resets", ohaJson(), json("oha-json-resets")),
  row("oha", "starved client", "fast", ohaJson(), json("oha-json-starved"), STARVED),
  row("oha", "overload", "pool", ohaJson("-q 1000"), json("oha-json-overload")),
  row("oha", "overload, corrected", "pool", ohaJson("-q 1000 --latency-correction"),
    json("oha-json-overload-corrected")),

  row("hey", "healthy", "fast", hey(), text("hey-healthy")),
  row("hey", "stalls", "frozen", hey(), text("hey-stalls")),
  row("hey", "pool", "pool", hey(), text("hey-pool")),
  row("hey", "500", "late500", hey(), text("hey-500")),
  row("hey", "refused", "nobody", hey("-n 64").replace(`-z ${S}s `, ""), text("hey-refused")),
  row("hey", "starved client", "fast", hey(), text("hey-starved"), STARVED),
  row("hey", "rate not reached", "pool", hey("-q 100"), text("hey-overload")),

  row("h2load", "healthy", "fast", h2load(), text("h2load-healthy")),
  row("h2load", "stalls", "frozen", h2load(), text("h2load-stalls")),
  row("h2load", "pool", "pool", h2load(), text("h2load-pool")),
  row("h2load", "500", "late500", h2load(), text("h2load-500")),
  row("h2load", "starved client", "fast", h2load(), text("h2load-starved"), STARVED),
  row("h2load", "8 deep", "fast", h2load("-m 8"), text("h2load-deep")),

  row("h2load", "HTTP/2", "h2", h2loadH2(`-c4 -m8 -D${S}`), text("h2load-h2-healthy")),
  row("h2load", "few streams", "h2streams", h2loadH2(`-c1 -m100 -D${S}`),
    text("h2load-h2-streams")),
  row("h2load", "GOAWAY", "h2goaway", h2loadH2(`-c4 -m8 -D${S}`), text("h2load-h2-goaway")),
  row("h2load", "failing calls", "callsUnknown",
    `${h2loadH2(`-c4 -m8 -n2000 ${CALL}`)}audit.Calls/Call`, text("h2load-h2-calls")),
  row("h2load", "good calls", "calls", `${h2loadH2(`-c4 -m8 -D${S} ${CALL}`)}audit.Calls/Call`,
    text("h2load-h2-good")),

  row("ghz", "healthy", "calls", ghz(`-c ${C} -z ${S}s`), text("ghz-text-healthy")),
  row("ghz", "failing calls", "callsUnknown", ghz(`-c ${C} -n 2000`), text("ghz-text-failing")),
  row("ghz", "some fail", "callsRefused", ghz(`-c ${C} -z ${S}s`), text("ghz-text-some")),
  row("ghz", "few streams", "callsStreams", ghz(`-c 50 -z ${S}s`), text("ghz-text-streams")),
  row("ghz", "overload", "callsStreams", ghz(`-c ${C} -r 2000 -z ${S}s`),
    text("ghz-text-overload")),
  row("ghz", "healthy", "calls", ghz(`-O json -c ${C} -n 160`), json("ghz-json-healthy")),
  row("ghz", "some fail", "callsRefused", ghz(`-O json -c ${C} -n 160`), json("ghz-json-some")),

  row("ab", "healthy", "fast", ab("-k"), text("ab-healthy")),
  row("ab", "new connections", "fast", ab(), text("ab-new")),
  row("ab", "stalls", "frozen", ab("-k"), text("ab-stalls")),
  row("ab", "pool", "few", ab("-k"), text("ab-pool")),
  row("ab", "500", "some500", ab("-k"), text("ab-500")),
  // ab waits for HTTP/1.0 responses that end with their connection, and gives up.
  row("ab", "HTTP/1.1 only", "pool", ab("-k"), { "ab-gives-up.txt": "both" }),
  row("ab", "404", "missing", ab("-k"), text("ab-404")),

  row("vegeta", "healthy", "fast", vegeta(300), vegetaFiles("healthy", "json", "text", "hdrplot")),
  row("vegeta", "stalls", "frozen", vegeta(300), vegetaFiles("stalls", "json", "text", "hdrplot")),
  row("vegeta", "overload", "pool", vegeta(1000, `-max-workers ${C}`),
    vegetaFiles("overload", "json", "text")),
  row("vegeta", "500", "late500", vegeta(200), vegetaFiles("500", "json")),
  row("vegeta", "refused", "nobody", vegeta(50), vegetaFiles("refused", "json", "text")),

  row("k6", "healthy", "steady", k6Closed(), k6Files("healthy", "text", "export", "lines")),
  row("k6", "stalls", "frozen", k6Closed(), k6Files("stalls", "text", "export")),
  row("k6", "500", "late500", k6Closed(), k6Files("500", "text", "export", "lines")),
  row("k6", "overload", "pool", k6Open(1000), k6Files("overload", "text", "export")),
  row("k6", "6 requests", "steady", k6("--vus 2 --iterations 6"), k6Files("six", "lines")),

  row("autocannon", "healthy", "fast", autocannon("-j"), json("autocannon-json-healthy")),
  row("autocannon", "stalls", "frozen", autocannon("-j"), json("autocannon-json-stalls")),
  row("autocannon", "pool", "pool", autocannon("-j"), json("autocannon-json-pool")),
  row("autocannon", "404", "missing", autocannon("-j"), json("autocannon-json-404")),
  row("autocannon", "refused", "nobody", autocannon("-j"), json("autocannon-json-refused")),
  row("autocannon", "overload", "pool", autocannon("-j -R 1000"), json("autocannon-json-overload")),
  row("autocannon", "healthy", "fast", autocannon(), { "autocannon-table-healthy.txt": "stderr" }),
  row("autocannon", "stalls", "frozen", autocannon("-l"),
    { "autocannon-table-stalls.txt": "stderr" }),
  row("autocannon", "starved client", "fast", autocannon(),
    { "autocannon-table-starved.txt": "stderr" }, STARVED),

  row("fortio", "healthy", "fast", fortio(300), fortioFiles("healthy", "text", "json")),
  row("fortio", "as fast as it can", "fast", fortio(0), fortioFiles("most", "text", "json")),
  row("fortio", "stalls", "frozen", fortio(300), fortioFiles("stalls", "text", "json")),
  row("fortio", "overload", "pool", fortio(1000), fortioFiles("overload", "text", "json")),
  row("fortio", "500", "late500", fortio(0, "-allow-initial-errors"),
    fortioFiles("500", "text", "json")),

  row("gatling", "healthy", "steady", gatling("-DRATE=60"),
    gatlingFiles("healthy", "text", "log", "stats", "global")),
  row("gatling", "500", "late500", gatling("-DRATE=60"),
    gatlingFiles("500", "text", "log", "stats")),
  row("gatling", "pool", "pool", gatling("-DRATE=500"), gatlingFiles("pool", "text", "stats")),

  row("jmeter", "healthy", "steady", jmeter(12), jmeterFiles("healthy", "text", "jtl")),
  row("jmeter", "500", "late500", jmeter(12), jmeterFiles("500", "text", "jtl")),
  row("jmeter", "pool", "pool", jmeter(12), jmeterFiles("pool", "text", "jtl")),
  row("jmeter", "no requests", "steady", jmeter(0), jmeterFiles("nothing", "text")),
];
