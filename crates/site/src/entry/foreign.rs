//! What other tools said, with what an audit says of each of their figures.

use super::{Scene, claims};
use crate::Foreign;
use crate::contents::Claim;
use crate::markup::{escape, lines};

/// Bytes of an output that are shown.
const SHOWN_MAX: usize = 64 << 10;

/// Each of them.
pub fn list(scene: &Scene<'_>) -> String {
    scene.of.foreign.iter().map(one).collect()
}

fn one(of: &Foreign) -> String {
    let tool = match of.tool.as_str() {
        "" => String::new(),
        tool => format!(" <span class=\"faint\">{}</span>", escape(tool)),
    };
    format!("<h3>{}{tool}</h3>\n{}{}", escape(&of.name), audit(of), output(of))
}

fn audit(of: &Foreign) -> String {
    let Some(claims) = &of.claims else {
        return "<p class=\"note\">It was not audited.</p>\n".to_string();
    };
    let row = |claim: &Claim| {
        format!(
            "<tr><th scope=\"row\">{}</th><td class=\"number\">{}</td><td>{}</td>\
             <td class=\"long\">{}</td></tr>\n",
            escape(&claim.name),
            escape(&claim.value),
            escape(&claim.result),
            escape(&claim.why)
        )
    };
    let rows: String = claims.iter().map(row).collect();
    claims::table(&format!("Audit of {}", of.name), &["figure", "value", "result", "why"], &rows)
}

/// The output as it was, up to a size.
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
        "<details class=\"part\">\n<summary>Its output</summary>\n{cut}\
         <pre tabindex=\"0\"><code>{}</code></pre>\n</details>\n",
        lines(shown)
    )
}
