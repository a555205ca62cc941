//! An entry in a list: title, status, day, tags, and question, answer and lesson.

use crate::Listed;
use crate::frame::{Frame, GROUPS, page_of};
use crate::markup::{anchor, escape, joined, link};
use journal::{Entry, Status};

/// Most characters of a question in a list.
const QUESTION_MAX: usize = 300;

/// The entry as an item of a list that scripts can filter. An entry may be named like a part of the
/// page, such as `main` or `words`, so its anchor has a prefix.
pub fn item(frame: &Frame<'_>, of: &Listed) -> String {
    let entry = &of.entry;
    let tags = entry.tags.join("|");
    format!(
        "<li id=\"entry-{}\" data-status=\"{}\" data-tags=\"{}\">\n<h2>{}</h2>\n{}{}</li>\n",
        escape(of.slug.as_str()),
        entry.status.word(),
        escape(&tags),
        link(&frame.to(&page_of(&of.slug)), &entry.title),
        meta(frame, entry),
        paragraphs(entry)
    )
}

/// Status, day and tags.
pub fn meta(frame: &Frame<'_>, entry: &Entry) -> String {
    let tag = |tag: &String| {
        let address = format!("{}#tag-{}", frame.to(GROUPS), anchor(tag));
        format!("<a class=\"tag\" href=\"{}\">{}</a>\n", escape(&address), escape(tag))
    };
    let tags: String = entry.tags.iter().map(tag).collect();
    format!(
        "<p class=\"meta\">{} <time datetime=\"{date}\">{date}</time>\n{tags}</p>\n",
        status(&entry.status),
        date = entry.date
    )
}

/// The status in its colour.
pub fn status(status: &Status) -> String {
    let word = status.word();
    format!("<span class=\"status {word}\">{word}</span>")
}

/// Question, answer and lesson, each on one line.
fn paragraphs(entry: &Entry) -> String {
    let mut paragraphs = format!("<p class=\"question\">{}</p>\n", escape(&short(&entry.question)));
    if let Some(answer) = &entry.answer {
        paragraphs.push_str(&format!("<p class=\"answer\">{}</p>\n", escape(answer)));
    }
    if let Some(lesson) = &entry.lesson {
        paragraphs
            .push_str(&format!("<p class=\"lesson\">Lesson: {}</p>\n", escape(&joined(lesson))));
    }
    paragraphs
}

/// A long text shortened to one line.
fn short(text: &str) -> String {
    let line = joined(text);
    if line.chars().count() <= QUESTION_MAX {
        return line;
    }
    let cut: String = line.chars().take(QUESTION_MAX).collect();
    let whole = cut.rsplit_once(' ').map_or(cut.as_str(), |(whole, _)| whole);
    format!("{whole} ...")
}
