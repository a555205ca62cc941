//! k6: users in a closed loop, or arrivals at a rate; both need a script.

use crate::ask::Ask;
use crate::command_line::{CommandLine, NO_LINE, Sets, ToolOption, flag};
use crate::order::{FOLDER, Order, Output, words};
use crate::{Peer, Threads};
use model::load::Stop;
use model::tool::Tool;
use serde_json::{Value, json};

pub(crate) const PEER: Peer = Peer {
    tool: Tool::K6,
    get: "go install go.k6.io/k6@latest, or make peers",
    version: &["version"],
    threads: Threads::EveryCpu,
    // ThresholdsHaveFailed (errext/exitcodes/codes.go); the codes beside it are failures.
    harmless: &[99],
    order,
};

/// Its command line.
pub(crate) const LINE: CommandLine =
    // A user may send several requests at once (`http.batch`).
    CommandLine { tool: "k6", options: OPTIONS, is_scripted: true, ..NO_LINE };

const OPTIONS: &[ToolOption] = &[
    flag(&["-u", "--vus"], Sets::Connections),
    flag(&["-d", "--duration"], Sets::Duration),
    flag(&["-s", "--stage"], Sets::Stages),
    flag(&["-i", "--iterations"], Sets::Count),
];

const SUMMARY: &str = "k6.json";
/// How long a number of requests may take: longer than the caller waits for any tool.
const COUNTED_MAX: &str = "24h";

fn order(ask: &Ask) -> Result<Order, String> {
    ask.only_http1("k6")?;
    ask.one_deep("k6")?;
    ask.one_of_each_header("k6")?;
    let line = format!(
        "run --quiet --no-color --no-usage-report --summary-export {FOLDER}/{SUMMARY} \
         {FOLDER}/load.js"
    );
    let files = vec![("load.js", script(ask)?.into_bytes())];
    let words = words(&line, &ask.folder);
    Ok(Order { files, output: Output::File(SUMMARY), ..Order::of(words) })
}

fn script(ask: &Ask) -> Result<String, String> {
    let mut options = match (ask.whole_rate("k6")?, ask.stop) {
        (Some(rate), Stop::AfterNs(ns)) => json!({ "scenarios": { "load": {
            "executor": "constant-arrival-rate", "rate": rate, "timeUnit": "1s",
            "duration": Ask::time(ns), "preAllocatedVUs": ask.connections,
            "maxVUs": ask.connections,
        } } }),
        (None, Stop::AfterNs(ns)) => json!({ "vus": ask.connections, "duration": Ask::time(ns) }),
        // By itself it stops after ten minutes, however many are left
        // (executor/shared_iterations.go).
        (None, Stop::AfterRequests(count)) => json!({ "scenarios": { "load": {
            "executor": "shared-iterations", "vus": ask.connections, "iterations": count,
            "maxDuration": COUNTED_MAX,
        } } }),
        (Some(_), Stop::AfterRequests(_)) => {
            return Err("k6 at a rate stops after a time; for example --duration 10s".to_string());
        }
    };
    // By itself it follows redirects, and makes a text of each body for the script.
    options["maxRedirects"] = json!(0);
    options["discardResponseBodies"] = json!(true);
    let mut headers = serde_json::Map::new();
    for (name, value) in &ask.headers {
        headers.insert(name.clone(), json!(value));
    }
    let params = json!({ "headers": headers, "timeout": Ask::time(ask.timeout_ns) });
    let body = match ask.body.is_empty() {
        true => Value::Null,
        false => json!(ask.body_text("k6")?),
    };
    Ok(format!(
        "import http from \"k6/http\";\n\nexport const options = {options};\n\n\
         export default function () {{\n  http.request({}, {}, {body}, {params});\n}}\n",
        json!(ask.method),
        json!(ask.url)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ask::tests::{ask, more};

    #[test]
    fn a_load_is_asked_like_this() {
        insta::assert_snapshot!(order(&ask()).unwrap().shown());
        let open = Ask { rate: Some(500.0), ..more() };
        insta::assert_snapshot!("open", order(&open).unwrap().shown());
        let counted = Ask { stop: Stop::AfterRequests(99), ..ask() };
        insta::assert_snapshot!("counted", order(&counted).unwrap().shown());
    }
}
