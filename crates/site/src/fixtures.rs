//! A journal for tests: entries of every status, one that was measured, and one with hostile
//! strings.

use crate::contents::{Added, Contents, Foreign, Measured};
use crate::{Listed, Site};
use journal::language::{
    Basis, Condition, Decision, Fault, Figures, Path, Quantity, Value, filled,
};
use journal::{About, Entry, Slug};
use model::audit::{self, Account, Audit, Claim, Finding, Given, Outcome};
use model::experiment::{Experiment, Fate};
use model::run::Run;
use model::unit::Unit;

/// A site with the contents of its entries.
pub fn journal() -> (Site, Vec<(Slug, Contents)>) {
    let about = About::parse(
        "title = \"What stopped us\"\n\
         description = \"Where the time of a server goes.\\n\\nAll on one host.\"\n\
         url = \"https://example.org/journal/\"\n",
    );
    let entries = [
        ("lesson", LESSON, lesson()),
        ("gzip-helps", GZIP, gzip()),
        ("hostile", HOSTILE, hostile()),
        ("gzip-again", PLANNED, Contents { plan: Some(PLAN.to_string()), ..Contents::default() }),
    ];
    let listed = entries.iter().map(|(slug, text, _)| Listed {
        slug: Slug::parse(slug).unwrap(),
        entry: Entry::parse(&whole(text)).unwrap(),
    });
    let site = Site::new(about.unwrap(), listed.collect());
    let named = |(slug, _, of): (&str, _, _)| (Slug::parse(slug).unwrap(), of);
    (site, entries.into_iter().map(named).collect())
}

/// An `entry.toml`.
fn whole(text: &str) -> String {
    let text = text.replace("LONG", &"w".repeat(200));
    format!("schema = \"ceiling.entry/1\"\n{text}")
}

const LESSON: &str = r#"
title = "Whose number is it?"
date = 2026-01-01
tags = ["http", "client"]
status = "superseded"
superseded_by = "gzip-helps"
question = "Whose number is it?"
answer = "The generator's, where it is starved."
lesson = "Look at the generator first."
"#;

const GZIP: &str = r#"
title = "Do compressed responses help?"
date = 2026-11-23
tags = ["http", "gzip", "two words"]
status = "done"
question = """
Do compressed responses help, and does
the generator decide the conclusion?

On one host."""
answer = "Yes, where the generator is free."
lesson = "Compression costs the client more than the server."
source = "The twelfth entry of the story, repeated here."
[hypothesis]
text = "The network is the wall, so smaller responses are faster."
walls = { "as it is" = "S3", "starved generator" = "C2", gone = "N1" }
[[hypothesis.prediction]]
text = "Compression is worth 20 %."
condition = "cells.rps.rate > 2 * cells.one.rate"
[[hypothesis.prediction]]
condition = "cells.rfs.rate > cells.one.rate"
[[finding]]
text = "Steering on the server's CPUs is worth 10 %."
condition = "cells.rps.rate > 1.1 * cells.one.rate"
[[finding]]
text = "Two workers are faster than one."
condition = "cells.one.rate > cells.rps.rate"
[[finding]]
text = "The cost falls."
condition = "cells.one.cpu.server < cells.rps.cpu.server"
[[finding]]
text = "Nobody measured this."
condition = "cells.gone.rate > 1"
"#;

const PLANNED: &str = r#"
title = "Compression at full size"
date = 2026-12-01
tags = ["http", "gzip"]
status = "planned"
question = "Does it hold with 1000 connections?"
"#;

/// Every string tries to break out of its place.
pub const HOSTILE: &str = r##"
title = "</title><script>window.pwned = 1</script>"
date = 2026-11-24
tags = ["http"]
status = "running"
question = "\"><img src=x onerror=window.pwned=1> \u202Eexe.txt LONG"
answer = "</script><script>window.pwned = 1</script><!-- &amp; ]]>"
lesson = "'; alert(1); //"
source = "javascript:alert(1)"
[hypothesis]
text = "<iframe src='//evil.example'></iframe>"
walls = { "<b>cell</b>" = "S1" }
[[finding]]
text = "<svg onload=window.pwned=1>"
condition = "cells.'<script>'.rate > 1"
"##;

/// Hostile notes.
pub const HOSTILE_NOTES: &str = "\
# <script>window.pwned = 1</script>

<script>window.pwned = 1</script>

<img src=x onerror=\"window.pwned = 1\"> and <b onclick='window.pwned=1'>bold</b>.

[to run](javascript:window.pwned=1) [entity](java&#115;cript:alert(1)) [data](data:text/html,x)
[other host](//evil.example/x) [root](/etc/passwd) [file](file:///etc/passwd)
[web](https://example.org/?a=1&b=2 \"a \\\" title\") [beside](gzip-helps.html#entry-notes)
<javascript:alert(1)> <https://example.org/auto> <mail@example.org>
![picture](https://evil.example/pixel.png) ![inner [link](x)](y)

```html\"onload=x
</code></pre><script>window.pwned = 1</script>
```

| a | b |
|---|---|
| <td> | wwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwww |

\u{202e}reversed \u{e000}0\u{e001} and \u{0}.
";

const PLAN: &str =
    "schema = \"ceiling.plan/1\"\nquestion = \"<b>\"\n\n[load]\n\tcommand = \"load\"\n";

/// One result in which each cell was measured once.
fn lesson() -> Contents {
    let (experiment, runs) = report::fixtures::experiment();
    Contents {
        plan: Some(PLAN.to_string()),
        results: vec![result(experiment, runs)],
        chosen: Some(0),
        ..Contents::default()
    }
}

fn result(experiment: Experiment, runs: Vec<Option<Run>>) -> Measured {
    Measured { id: experiment.id.clone(), experiment, runs }
}

/// The figures that notes and conditions refer to.
struct Known;

impl Figures for Known {
    fn find(&self, path: &Path) -> Result<Value, String> {
        let rate = |value: f64, low: f64, high: f64| {
            let basis = Basis::Visits(6);
            Ok(Value::Quantity(Quantity::between(value, (low, high), Unit::PerSecond, basis)))
        };
        match path.names()[..] {
            ["cells", "rps", "rate"] => rate(12_350.0, 12_100.0, 12_600.0),
            ["cells", "rfs", "rate"] => rate(10_020.0, 9_900.0, 10_100.0),
            ["cells", "one", "rate"] => rate(10_000.0, 9_800.0, 10_050.0),
            ["cells", _, "cpu", "server"] => {
                Ok(Value::Unknown("the server was not observed".into()))
            }
            ["cells", "<script>", "rate"] => {
                Err("no cell '<script>window.pwned = 1</script>'".into())
            }
            _ => Err("the result has no such cell; it has one, rfs and rps".to_string()),
        }
    }
}

fn decided(condition: &str) -> Result<Decision, Fault> {
    Condition::parse(condition).unwrap().decide(&Known)
}

/// Notes with figures, an older result and the chosen one, a run and an output.
fn gzip() -> Contents {
    let notes = "It reaches {{cells.rps.rate}}, and `{{cells.rps.rate|k/s|1}}` is there too; of \
                 the server {{cells.one.cpu.server}}.\n\n## How\n\n- one\n- two, see \
                 [before](lesson.html)\n\n| cell | rate |\n|---|---|\n| free | \
                 {{cells.rps.rate|k/s|1}} |\n\nNobody measured {{cells.gone.rate}}, and \
                 {{cells.one.rate|ms}} is no time.\n";
    let (mut older, runs) = report::fixtures::experiment();
    older.id = "20260201T120000-lesson".to_string();
    older.started_at = "2026-02-01T12:00:00Z".to_string();
    let (newer, visits) = report::fixtures::visits();
    Contents {
        plan: Some(PLAN.to_string()),
        notes: filled(notes, &Known),
        predictions: vec![
            decided("cells.rps.rate > 2 * cells.one.rate"),
            decided("cells.rfs.rate > cells.one.rate"),
        ],
        findings: vec![
            decided("cells.rps.rate > 1.1 * cells.one.rate"),
            decided("cells.one.rate > cells.rps.rate"),
            decided("cells.one.cpu.server < cells.rps.cpu.server"),
            decided("cells.gone.rate > 1"),
        ],
        results: vec![result(older, runs), result(newer, visits)],
        chosen: Some(1),
        runs: vec![Added { name: "by-hand".into(), run: report::fixtures::ramp_quota() }],
        foreign: vec![wrk()],
        complaints: Vec::new(),
    }
}

fn wrk() -> Foreign {
    let finding = |outcome, arithmetic: &str| Finding {
        check: "littles_law".to_string(),
        claims: vec!["rate".to_string()],
        outcome,
        arithmetic: arithmetic.to_string(),
        settle: String::new(),
        bound: None,
    };
    let claim = |name: &str, printed: &str, outcome, findings| Claim {
        name: name.to_string(),
        unit: Unit::PerSecond,
        figure: audit::Figure { printed: printed.to_string(), ..audit::Figure::default() },
        outcome,
        bound: None,
        findings,
    };
    let excluded = finding(Outcome::Impossible, "4.9M x 13 ms = 63.7k in flight of 1000");
    let account = Account {
        file: "wrk.txt".to_string(),
        name: String::new(),
        foreign: audit::Foreign { tool: "wrk".to_string(), ..audit::Foreign::default() },
        claims: vec![
            claim("rate", "4.9M/s", Outcome::Impossible, vec![excluded]),
            claim("p99", "13 ms", Outcome::Undecided, Vec::new()),
        ],
    };
    Foreign {
        name: "wrk.txt".to_string(),
        text: "Running 10s test @ http://127.0.0.1:8080/\n  2 threads\n\tReq/Sec 4.9M\n"
            .to_string(),
        audit: Some(Audit {
            schema: audit::SCHEMA.to_string(),
            given: Given::default(),
            accounts: vec![account],
            together: Vec::new(),
        }),
    }
}

fn hostile() -> Contents {
    let text = "</pre><script>window.pwned = 1</script>\u{1b}[31m";
    Contents {
        plan: Some("</code><script>window.pwned = 1</script>".to_string()),
        notes: filled(HOSTILE_NOTES, &Known),
        findings: vec![decided("cells.\"<script>\".rate > 1")],
        runs: vec![Added { name: "../<b>".into(), run: report::fixtures::hostile() }],
        results: vec![hostile_result()],
        chosen: Some(0),
        foreign: vec![Foreign {
            name: "<img src=x onerror=window.pwned=1>".to_string(),
            text: text.to_string(),
            audit: None,
        }],
        complaints: vec!["<script>window.pwned = 1</script>".to_string()],
        ..Contents::default()
    }
}

fn hostile_result() -> Measured {
    let (mut of, mut runs) = report::fixtures::experiment();
    runs[0] = Some(report::fixtures::hostile());
    of.id = "../../<b>".to_string();
    of.started_at = "<b>".to_string();
    of.cells[0].name = "</td><script>window.pwned = 1</script>".to_string();
    of.cells[0].server = vec!["<img src=x>".to_string()];
    of.cells[3].fate = Fate::Failed { why: "<script>window.pwned = 1</script>".to_string() };
    Measured { id: "../../<b>".to_string(), experiment: of, runs }
}
