//! A journal for the tests: entries of every status, one that was measured, and one whose strings
//! try to be more than text.

use crate::contents::{Added, Claim, Contents, Foreign, Judged, Measured, State};
use crate::notes::Filling;
use crate::{Listed, Site};
use journal::{About, Entry, Slug};
use model::experiment::{Experiment, Fate};
use model::run::Run;

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
        entry: Entry::parse(&format!("schema = \"ceiling.entry/1\"\n{text}")).unwrap(),
    });
    let site = Site::new(about.unwrap(), listed.collect());
    let named = |(slug, _, of): (&str, _, _)| (Slug::parse(slug).unwrap(), of);
    (site, entries.into_iter().map(named).collect())
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
condition = "contrasts.rps.rate.ratio > 1.2"
[[hypothesis.prediction]]
condition = "cells.rfs.rate > cells.rps.rate"
[[finding]]
text = "Steering on the server's CPUs is worth 10 %."
condition = "contrasts.rps.rate.ratio > 1.1"
[[finding]]
text = "Two workers are faster than one."
condition = "cells.two.rate > cells.one.rate"
[[finding]]
text = "The cost falls."
condition = "cells.two.cpu_server < cells.one.cpu_server"
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

/// Every string tries to leave its place.
pub const HOSTILE: &str = r##"
title = "</title><script>window.pwned = 1</script>"
date = 2026-11-24
tags = ["http"]
status = "running"
question = "\"><img src=x onerror=window.pwned=1> \u202Eexe.txt wwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwww"
answer = "</script><script>window.pwned = 1</script><!-- &amp; ]]>"
lesson = "'; alert(1); //"
source = "javascript:alert(1)"
[hypothesis]
text = "<iframe src='//evil.example'></iframe>"
walls = { "<b>cell</b>" = "S1" }
[[finding]]
text = "<svg onload=window.pwned=1>"
condition = "cells.\"<script>\".rate > 1"
"##;

/// Notes that try the same.
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

/// Notes with figures, an older result and the one it speaks of, a run and an output.
fn gzip() -> Contents {
    let notes = "It is worth {{a}} of the rate, and `{{b}}` is there too.\n\n## How\n\n- one\n- \
                 two, see [before](lesson.html)\n\n| cell | rate |\n|---|---|\n| free | {{c|k|1}} \
                 |\n\nNobody measured {{gone}}.\n";
    let (mut older, runs) = report::fixtures::experiment();
    older.id = "20260201T120000-lesson".to_string();
    older.started_at = "2026-02-01T12:00:00Z".to_string();
    let (newer, visits) = report::fixtures::visits();
    Contents {
        plan: Some(PLAN.to_string()),
        notes: notes.to_string(),
        fillings: fillings(notes),
        predictions: vec![
            judged(State::Fails, "1.118 (1.101 to 1.135) > 1.2"),
            judged(State::Undecided, "2.06k (2.01k to 2.1k) > 2.05k (2.02k to 2.08k)"),
        ],
        findings: vec![
            judged(State::Holds, "1.118 (1.101 to 1.135) > 1.1"),
            judged(State::Fails, "2.0k (1.9k to 2.1k) > 2.4k (2.3k to 2.5k)"),
            judged(State::Undecided, "the intervals overlap"),
            judged(State::Dangling, "cells.gone: the result has no cell 'gone'"),
        ],
        results: vec![result(older, runs), result(newer, visits)],
        chosen: Some(1),
        runs: vec![Added { name: "by-hand".into(), run: report::fixtures::ramp_quota() }],
        foreign: vec![wrk()],
        complaints: Vec::new(),
    }
}

fn judged(state: State, why: &str) -> Judged {
    Judged { state, why: why.to_string() }
}

fn fillings(notes: &str) -> Vec<Filling> {
    let filling = |(written, markup): (&str, &str)| {
        let from = notes.find(written).unwrap();
        let (markup, words) = (markup.to_string(), "filled".to_string());
        Filling { at: from..from + written.len(), markup, words }
    };
    let data = "<span class=\"figure\" title=\"contrasts.rps.rate.ratio of 20260101T120000-lesson\">\
                +11.8 % <span class=\"interval\">(+10.1 to +13.5)</span></span>";
    let dangling = "<span class=\"dangling\" title=\"gone: there is no such cell\">{{gone}}: there \
                    is no such cell</span>";
    let all = [("{{a}}", data), ("{{b}}", data), ("{{c|k|1}}", data), ("{{gone}}", dangling)];
    all.into_iter().map(filling).collect()
}

fn wrk() -> Foreign {
    let claim = |name: &str, value: &str, result: &str, why: &str| Claim {
        name: name.to_string(),
        value: value.to_string(),
        result: result.to_string(),
        why: why.to_string(),
    };
    Foreign {
        name: "wrk.txt".to_string(),
        tool: "wrk".to_string(),
        text: "Running 10s test @ http://127.0.0.1:8080/\n  2 threads\n\tReq/Sec 4.9M\n"
            .to_string(),
        claims: Some(vec![
            claim("rate", "4.9M/s", "cannot be", "4.9M x 13 ms = 63.7k in flight of 1000"),
            claim("p99", "13 ms", "cannot be told from this", "no count of samples"),
        ]),
    }
}

fn hostile() -> Contents {
    let text = "</pre><script>window.pwned = 1</script>\u{1b}[31m";
    Contents {
        plan: Some("</code><script>window.pwned = 1</script>".to_string()),
        notes: HOSTILE_NOTES.to_string(),
        findings: vec![judged(State::Dangling, "<script>window.pwned = 1</script>")],
        runs: vec![Added { name: "../<b>".into(), run: report::fixtures::hostile() }],
        results: vec![hostile_result()],
        chosen: Some(0),
        foreign: vec![Foreign {
            name: "<img src=x onerror=window.pwned=1>".to_string(),
            tool: "<script>".to_string(),
            text: text.to_string(),
            claims: None,
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
