//! A site in memory, and next to it the current run.

use crate::feed::Feed;
use crate::http::{Answer, Pages, Served, Server};
use crate::page::RunPages;
use crate::relay::Inlet;
use model::maps::IntoMap;
use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

/// The path of the current run. No entry of a journal has such a name.
pub const LIVE: &str = "/_live/";
/// The file that is shown for a folder.
const INDEX: &str = "index.html";

/// A site on a server, with the current run.
#[derive(Debug)]
pub struct Showcase {
    site: Arc<SitePages>,
    server: Server,
    inlet: Option<Inlet>,
}

#[derive(Debug)]
struct SitePages {
    files: Mutex<Arc<BTreeMap<String, Arc<[u8]>>>>,
    run: RunPages,
}

impl Showcase {
    /// Serves an empty site, and shows runs whose processes send messages to `inlet`.
    pub fn start(address: SocketAddr, inlet: Option<&Path>) -> io::Result<Self> {
        let feed = Arc::new(Feed::default());
        let inlet = inlet.map(|folder| Inlet::open(folder, Arc::clone(&feed))).transpose()?;
        let run = RunPages::in_a_journal(feed);
        let site = Arc::new(SitePages { files: Mutex::default(), run });
        let server = Server::start(address, Arc::clone(&site) as Arc<dyn Pages>, &[])?;
        Ok(Self { site, server, inlet })
    }

    /// The URL of the site.
    pub fn url(&self) -> String {
        format!("http://{}/", self.server.address())
    }

    /// Replaces the files of the site.
    pub fn show(&self, files: impl IntoIterator<Item = (String, Vec<u8>)>) {
        let files = files.into_iter().map(|(path, bytes)| (path, Arc::from(bytes)));
        let mut shown = self.site.files.lock().unwrap_or_else(PoisonError::into_inner);
        *shown = Arc::new(files.into_map());
    }

    /// Whether a run is being measured now, which nothing should disturb.
    pub fn is_measuring(&self) -> bool {
        self.inlet.as_ref().is_some_and(Inlet::is_busy)
    }
}

impl Pages for SitePages {
    fn at(&self, path: &str) -> Answer {
        if path == LIVE.trim_end_matches('/') {
            return Answer::Moved(LIVE.to_string());
        }
        if let Some(rest) = path.strip_prefix(LIVE) {
            return self.run.at(&format!("/{rest}"));
        }
        let files = Arc::clone(&self.files.lock().unwrap_or_else(PoisonError::into_inner));
        let mut name = path.trim_start_matches('/').to_string();
        if name.is_empty() || name.ends_with('/') {
            name.push_str(INDEX);
        }
        match files.get(&name) {
            Some(bytes) => Answer::Bytes(Served {
                content_type: type_of(&name),
                // Each page has its own policy in its head.
                policy: Some("frame-ancestors 'none'".to_string()),
                bytes: Arc::clone(bytes),
            }),
            None if files.contains_key(&format!("{name}/{INDEX}")) => {
                Answer::Moved(format!("{path}/"))
            }
            None => Answer::Missing,
        }
    }
}

/// The content type by suffix; an unknown one is plain text, which no browser executes.
fn type_of(name: &str) -> &'static str {
    match name.rsplit_once('.').map_or("", |(_, suffix)| suffix) {
        "html" => "text/html; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "js" => "text/javascript; charset=utf-8",
        "json" => "application/json",
        "xml" | "atom" => "application/atom+xml; charset=utf-8",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        _ => "text/plain; charset=utf-8",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(answer: &Answer) -> Option<(&'static str, &[u8])> {
        match answer {
            Answer::Bytes(served) => Some((served.content_type, &served.bytes)),
            _ => None,
        }
    }

    #[test]
    fn a_path_is_a_file_of_the_site_or_the_run_under_way() {
        let show = Showcase::start("127.0.0.1:0".parse().unwrap(), None).unwrap();
        let at = |path: &str| show.site.at(path);
        assert!(matches!(at("/"), Answer::Missing), "the site is empty");
        let file = |path: &str, text: &str| (path.to_string(), text.as_bytes().to_vec());
        show.show([file("index.html", "all"), file("a/index.html", "one"), file("feed.xml", "f")]);
        let html = "text/html; charset=utf-8";
        assert_eq!(found(&at("/")), Some((html, b"all".as_slice())));
        assert_eq!(found(&at("/a/")), Some((html, b"one".as_slice())));
        assert!(matches!(at("/a"), Answer::Moved(to) if to == "/a/"));
        assert!(matches!(at("/b"), Answer::Missing));
        assert!(found(&at("/feed.xml")).is_some_and(|(kind, _)| kind.starts_with("application")));
        assert!(matches!(at("/_live"), Answer::Moved(to) if to == LIVE));
        assert!(matches!(at("/_live/events"), Answer::Events(_)));
        let page = at("/_live/");
        let text = String::from_utf8_lossy(found(&page).unwrap().1).into_owned();
        assert!(text.contains("no run is under way") && !show.is_measuring());
        assert!(text.contains("<a href=\"../\">Journal</a>"), "a way back");
        show.show([file("other.html", "x")]);
        assert!(matches!(at("/"), Answer::Missing), "the old files are gone");
    }
}
