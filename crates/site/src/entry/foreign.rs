//! Outputs of other tools, with the audit of their figures.

use super::{Scene, claims};
use crate::Foreign;
use crate::markup::{escape, lines};
use model::audit::{Account, Claim, Outcome};

/// Most bytes of an output that are shown.
const SHOWN_MAX: usize = 64 << 10;

/// All outputs.
pub fn list(scene: &Scene<'_>) -> String {
    scene.of.foreign.iter().map(one).collect()
}

fn one(of: &Foreign) -> String {
    let accounts = of.audit.iter().flat_map(|audit| &audit.accounts);
    let audit: String = accounts.map(account).collect();
    let audit = match audit.as_str() {
        "" => "<p class=\"note\">This output was not audited.</p>\n",
        audit => audit,
    };
    format!("<h3>{}</h3>\n{audit}{}", escape(&of.name), output(of))
}

/// The audit of one account.
fn account(of: &Account) -> String {
    let row = |claim: &Claim| {
        let decisive = claim.findings.iter().filter(|one| one.outcome == claim.outcome);
        let why: Vec<&str> = decisive.map(|one| one.arithmetic.as_str()).collect();
        let why = if why.is_empty() { "no check applies".to_string() } else { why.join("; ") };
        format!(
            "<tr{}><th scope=\"row\">{}</th><td class=\"number\">{}</td>\
             <td class=\"short\">{}</td><td class=\"long\">{}</td></tr>\n",
            match claim.outcome {
                Outcome::Impossible => " class=\"broken\"",
                Outcome::Undecided => " class=\"caution\"",
                Outcome::Holds => "",
            },
            escape(&claim.name),
            escape(&claim.figure.printed),
            claim.outcome.words(),
            escape(&why)
        )
    };
    let rows: String = of.claims.iter().map(row).collect();
    let part = if of.name.is_empty() { String::new() } else { format!(", {}", of.name) };
    let caption = format!("What {} reported{part}", of.foreign.tool);
    claims::table(&caption, &["figure", "value", "audit", "why"], &rows)
}

/// The unchanged output, up to a size.
fn output(of: &Foreign) -> String {
    let end = (0..=of.text.len().min(SHOWN_MAX)).rev().find(|at| of.text.is_char_boundary(*at));
    let shown = &of.text[..end.unwrap_or(0)];
    let cut = match shown.len() == of.text.len() {
        true => String::new(),
        false => {
            format!("<p class=\"note\">The first {} of {} bytes.</p>\n", shown.len(), of.text.len())
        }
    };
    format!(
        "<details class=\"part\">\n<summary>Output</summary>\n{cut}\
         <pre tabindex=\"0\"><code>{}</code></pre>\n</details>\n",
        lines(shown)
    )
}
