//! An HTML file: its head, its policy, and the scripts that its blocks need.
//!
//! In: blocks, data, and markup that the caller has escaped. Out: one file that needs no network.
//! Never: an unescaped string of a run or a journal.

use super::assets::{SCRIPTS, STYLE};
use super::{data_script, escape, json_for_script, markup, shortened, source_hash};
use crate::page::{Block, Chart, Page};
use serde::Serialize;
use serde_json::Value;

/// Shown at the end of the page when scripts do not run.
const WITHOUT_SCRIPTS: &str =
    "<noscript><p>Charts need scripts; the tables above do not.</p></noscript>\n";

/// A file that is being assembled from top to bottom.
#[derive(Debug, Default)]
pub struct Document<'a> {
    title: &'a str,
    feed: Option<&'a str>,
    style: &'static str,
    script: Option<&'static str>,
    body: String,
    charts: Vec<Value>,
    data: String,
    has_drawings: bool,
    served: Option<&'static str>,
}

impl<'a> Document<'a> {
    /// An empty file.
    pub fn new(title: &'a str) -> Self {
        Self { title, ..Self::default() }
    }

    /// Adds the address of a feed to the head.
    pub fn feed(&mut self, address: &'a str) {
        self.feed = Some(address);
    }

    /// Adds styles after the common ones.
    pub fn style(&mut self, style: &'static str) {
        self.style = style;
    }

    /// Adds a script after the common ones.
    pub fn script(&mut self, script: &'static str) {
        self.script = Some(script);
    }

    /// Makes it a page that its server fills: its scripts may send requests to the server and open
    /// a report that they fetched. `head` is markup for the end of the head.
    pub fn served(&mut self, head: &'static str) {
        self.served = Some(head);
    }

    /// Appends markup as it is: untrusted strings in it must have gone through [`escape`].
    pub fn markup(&mut self, markup: &str) {
        self.body.push_str(markup);
    }

    /// Appends blocks. They start inside a section; each of their headings ends it and starts the
    /// next.
    pub fn blocks(&mut self, page: &Page) {
        self.body.push_str(&markup::blocks(page));
        let charts = page.charts();
        let is_flame = |block: &&Block| matches!(block, Block::Flame(_));
        self.has_drawings |= !charts.is_empty() || page.flat().iter().any(is_flame);
        self.charts.extend(charts.into_iter().map(|chart: &Chart| shortened(chart)));
    }

    /// Appends a whole page: its header, links to its sections, and its blocks.
    pub(super) fn page(&mut self, page: &Page) {
        self.markup(&markup::header(page));
        self.markup("<main>\n<section id=\"verdict\" aria-label=\"Verdict\">\n");
        self.blocks(page);
        self.markup("</section>\n</main>\n");
    }

    /// Adds a JSON document for scripts. The reader can save the one with the id `record`.
    pub fn data(&mut self, id: &str, value: &impl Serialize) {
        self.data.push_str(&data_script(&escape(id), &json_for_script(value)));
    }

    /// The finished file.
    pub fn finish(self) -> String {
        let scripts = self.scripts();
        let mut file = self.head(&scripts);
        file.push_str("<body>\n");
        file.push_str(&self.body);
        if self.has_drawings {
            file.push_str(WITHOUT_SCRIPTS);
        }
        file.push_str(&data_script("charts", &json_for_script(&self.charts)));
        file.push_str(&self.data);
        for script in scripts {
            file.push_str("<script>");
            file.push_str(script);
            file.push_str("</script>\n");
        }
        file.push_str("</body>\n</html>\n");
        file
    }

    /// Unneeded scripts are left out: they would be most of a small page.
    fn scripts(&self) -> Vec<&'static str> {
        let [guard, drawing @ .., page] = *SCRIPTS;
        let drawing: &[&str] = if self.has_drawings { &drawing } else { &[] };
        [&[guard], drawing, &[page]].concat().into_iter().chain(self.script).collect()
    }

    fn head(&self, scripts: &[&str]) -> String {
        let feed = self.feed.map_or(String::new(), |address| {
            let address = escape(address);
            format!("<link rel=\"alternate\" type=\"application/atom+xml\" href=\"{address}\">\n")
        });
        let style = format!("{}{}", *STYLE, self.style);
        format!(
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"{}\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta name=\"color-scheme\" content=\"light dark\">\n\
             <meta name=\"referrer\" content=\"no-referrer\">\n{feed}\
             <title>{}</title>\n<style>{style}</style>\n{}</head>\n",
            self.policy(scripts, &style),
            escape(self.title),
            self.served.unwrap_or_default()
        )
    }

    /// Nothing may be loaded, and only our own scripts and styles run: a string that escaping
    /// missed would still not run.
    fn policy(&self, scripts: &[&str], style: &str) -> String {
        let scripts: Vec<String> = scripts.iter().map(|script| source_hash(script)).collect();
        let mut policy = format!(
            "default-src 'none'; script-src {}; style-src {}",
            scripts.join(" "),
            source_hash(style)
        );
        if self.served.is_some() {
            // This policy also applies to a report that is opened from the page.
            policy.push_str(&format!(" {}; connect-src 'self'", source_hash(&STYLE)));
        }
        policy + "; base-uri 'none'; form-action 'none'"
    }
}
