//! The common frame of all pages: the head, the navigation, the search box, and file paths.

use crate::markup::{escape, link};
use journal::{About, Slug};
use report::html::{Document, asset};

/// Paths of files of the site, from its root.
pub const INDEX: &str = "index.html";
/// Entries by tag and by status.
pub const GROUPS: &str = "tags.html";
/// One figure in all entries.
pub const FIGURES: &str = "figures.html";
/// The feed.
pub const FEED: &str = "feed.xml";

/// The page of an entry.
pub fn page_of(slug: &Slug) -> String {
    format!("entries/{slug}.html")
}

/// A file that belongs to an entry.
pub fn file_of(slug: &Slug, name: &str) -> String {
    format!("entries/{slug}/{name}")
}

/// The frame of a page.
#[derive(Debug, Clone, Copy)]
pub struct Frame<'a> {
    /// The journal.
    pub about: &'a About,
    /// Relative path from this page to the root: empty, or `../` for each folder.
    pub root: &'static str,
    /// Path of the page, which the navigation marks.
    pub path: &'a str,
}

impl Frame<'_> {
    /// The address of another file of the site, as seen from this page.
    pub fn to(&self, path: &str) -> String {
        format!("{}{path}", self.root)
    }

    /// A page with this body, which is markup; `fill` appends it.
    pub fn page(&self, title: &str, fill: impl FnOnce(&mut Document<'_>)) -> Vec<u8> {
        let title = match title {
            "" => self.about.title.clone(),
            title => format!("{title} - {}", self.about.title),
        };
        let feed = self.to(FEED);
        let mut document = Document::new(&title);
        if self.about.url.is_some() {
            document.feed(&feed);
        }
        document.style(asset("site.css"));
        document.script(asset("site.js"));
        document.markup(&self.top());
        document.markup("<main id=\"main\" tabindex=\"-1\">\n");
        fill(&mut document);
        document.markup("</main>\n");
        document.finish().into_bytes()
    }

    fn top(&self) -> String {
        let mut pages = vec![(INDEX, "Entries"), (GROUPS, "Tags"), (FIGURES, "Figures over time")];
        if self.about.url.is_some() {
            pages.push((FEED, "Feed"));
        }
        let to = |(path, name): &(&str, &str)| match *path == self.path {
            true => format!("<a href=\"#main\" aria-current=\"page\">{name}</a>\n"),
            false => link(&self.to(path), name) + "\n",
        };
        let pages: String = pages.iter().map(to).collect();
        let home = link(&self.to(INDEX), &self.about.title);
        // Search needs scripts, so a script unhides the search box.
        format!(
            "<a class=\"skip\" href=\"#main\">Skip to the content</a>\n\
             <header class=\"site\" data-index=\"{}\">\n<p class=\"home\">{home}</p>\n\
             <nav aria-label=\"Journal\">\n{pages}</nav>\n\
             <p class=\"search\" role=\"search\" hidden><label for=\"search-for\">Search \
             <kbd>/</kbd></label> <input type=\"search\" id=\"search-for\" autocomplete=\"off\" \
             spellcheck=\"false\"></p>\n</header>\n",
            escape(&self.to(INDEX))
        )
    }
}
