//! The plan, and the commands that repeat the experiment.

use super::Scene;
use crate::Files;
use crate::frame::file_of;
use crate::markup::{escape, lines, link};
use model::maps::IntoMap;

const PLAN: &str = "plan.toml";

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

/// The commands.
pub fn commands(scene: &Scene<'_>) -> String {
    if scene.of.plan.is_none() {
        return String::new();
    }
    let slug = escape(scene.listed.slug.as_str());
    format!(
        "<p>In a copy of this journal, as a new result of this entry:</p>\n\
         <pre tabindex=\"0\"><code>ceiling journal run {slug}</code></pre>\n\
         <p>With the plan alone:</p>\n\
         <pre tabindex=\"0\"><code>ceiling run {PLAN}</code></pre>\n"
    )
}
