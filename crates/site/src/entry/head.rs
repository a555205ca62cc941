//! The head of the page: title, answer, superseding entry, and links to neighbouring entries.

use super::Scene;
use crate::Listed;
use crate::frame::page_of;
use crate::listing;
use crate::markup::{counted, escape, joined, link, paragraphs};
use journal::Status;
use journal::language::Truth;

/// Title, status, answer and lesson.
pub fn head(scene: &Scene<'_>) -> String {
    let entry = &scene.listed.entry;
    let mut head = format!(
        "{}<h1>{}</h1>\n{}",
        ways(scene),
        escape(&entry.title),
        listing::meta(&scene.frame, entry)
    );
    if let Some(source) = &entry.source {
        head.push_str(&format!("<p class=\"faint\">Source: {}</p>\n", escape(&joined(source))));
    }
    head.push_str(&replaced(scene));
    head.push_str(&complaints(scene));
    if let Some(answer) = &entry.answer {
        let answer = escape(answer);
        let answer = format!("<p class=\"verdict\">{answer}</p>\n");
        head.push_str(&format!("<div class=\"banner neutral\">\n{answer}</div>\n"));
    }
    if let Some(lesson) = &entry.lesson {
        head.push_str(&format!("<p class=\"lesson\">Lesson: {}</p>\n", escape(&joined(lesson))));
    }
    head
}

/// The question.
pub fn question(scene: &Scene<'_>) -> String {
    format!("<div class=\"prose\">\n{}</div>\n", paragraphs(&scene.listed.entry.question))
}

/// The entry that replaces this one, and the entries that this one replaces.
fn replaced(scene: &Scene<'_>) -> String {
    let mut html = String::new();
    if let Status::Superseded { by } = &scene.listed.entry.status {
        let other = scene.site.entries.iter().find(|one| one.slug == *by);
        let other = other.map_or_else(
            || format!("{}, which is not in this journal", escape(by.as_str())),
            |other| to(scene, other),
        );
        html.push_str(&format!(
            "<div class=\"banner caution\">\n<p>Superseded by {other}.</p>\n</div>\n"
        ));
    }
    let replaces = |one: &&Listed| match &one.entry.status {
        Status::Superseded { by } => *by == scene.listed.slug,
        _ => false,
    };
    let older: Vec<String> =
        scene.site.entries.iter().filter(replaces).map(|one| to(scene, one)).collect();
    if !older.is_empty() {
        html.push_str(&format!("<p class=\"faint\">Replaces {}.</p>\n", older.join(", ")));
    }
    html
}

/// Errors of the entry, shown before its answer.
fn complaints(scene: &Scene<'_>) -> String {
    let of = scene.of;
    let fails = of.findings.iter().flatten().filter(|one| one.truth == Truth::False).count();
    let dangles = of.findings.iter().filter(|one| one.is_err()).count();
    let states = [
        (fails, "finding does not hold.", "findings do not hold."),
        (dangles, "finding cannot be decided.", "findings cannot be decided."),
    ];
    let states = states.into_iter().filter(|(number, _, _)| *number > 0);
    let states = states.map(|(number, one, many)| counted(number, one, many));
    let html: Vec<String> = states.chain(of.complaints.iter().cloned()).collect();
    if html.is_empty() {
        return String::new();
    }
    let line = |line: &String| format!("<p>{}</p>\n", escape(line));
    format!("<div class=\"banner bad\">\n{}</div>\n", html.iter().map(line).collect::<String>())
}

/// The entries before and after this one.
pub fn ways(scene: &Scene<'_>) -> String {
    let entries = &scene.site.entries;
    let before = scene.at.checked_sub(1).and_then(|at| entries.get(at));
    let after = entries.get(scene.at + 1);
    let way = |word: &str, rel: &str, one: Option<&Listed>| match one {
        Some(one) => format!("<span class=\"{rel}\">{word}: {}</span>\n", to(scene, one)),
        None => "<span></span>\n".to_string(),
    };
    if before.is_none() && after.is_none() {
        return String::new();
    }
    format!(
        "<nav class=\"ways\" aria-label=\"Entries\">\n{}{}</nav>\n",
        way("Before", "before", before),
        way("After", "after", after)
    )
}

/// A link to another entry.
fn to(scene: &Scene<'_>, other: &Listed) -> String {
    link(&scene.frame.to(&page_of(&other.slug)), &other.entry.title)
}
