//! The plan, and the commands that repeat the experiment.

use super::{Scene, chosen};
use crate::Files;
use crate::frame::file_of;
use crate::markup::{escape, lines, link};
use model::maps::IntoMap;

const PLAN: &str = "plan.toml";
/// What stands in a plan in place of a secret.
const MASK: &str = "***";

/// The plan as a file next to the page.
pub fn files(scene: &Scene<'_>) -> Files {
    let plan = scene.of.plan.as_ref();
    plan.map(|plan| (file_of(&scene.listed.slug, PLAN), plan.clone().into_bytes())).into_map()
}

/// The text of the plan.
pub fn plan(scene: &Scene<'_>) -> String {
    let Some(plan) = &scene.of.plan else { return String::new() };
    let file = link(&scene.frame.to(&file_of(&scene.listed.slug, PLAN)), PLAN);
    format!("<p>{file}</p>\n<pre tabindex=\"0\"><code>{}</code></pre>\n", lines(plan))
}

/// The commands, and what they need besides the plan.
pub fn commands(scene: &Scene<'_>) -> String {
    let Some(plan) = &scene.of.plan else { return String::new() };
    let slug = escape(scene.listed.slug.as_str());
    format!(
        "<p>In a copy of this journal, as a new result of this entry:</p>\n\
         <pre tabindex=\"0\"><code>ceiling journal run {slug}</code></pre>\n\
         <p>With the plan alone:</p>\n\
         <pre tabindex=\"0\"><code>ceiling run {PLAN}</code></pre>\n{}",
        needs(scene, plan)
    )
}

/// Why the plan alone does not repeat the experiment, if so.
fn needs(scene: &Scene<'_>, plan: &str) -> String {
    let hosts = chosen(scene.of).into_iter().flat_map(|result| &result.experiment.hosts);
    let far = hosts.filter(|host| host.probe.is_some());
    let far: Vec<&str> = far.map(|host| host.name.as_str()).collect();
    let mut needs = String::new();
    if !far.is_empty() {
        needs.push_str(&format!(
            "<p>It was measured with other hosts ({}), and cannot be made again without them: \
             <code>--hosts FILE</code> names yours, which makes it another experiment.</p>\n",
            escape(&far.join(", "))
        ));
    }
    if plan.contains(MASK) {
        needs.push_str(&format!(
            "<p>Secrets of the plan are shown as {MASK}: put your own in their place.</p>\n"
        ));
    }
    needs
}
