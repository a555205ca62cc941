//! The page of a running measurement: the styles, charts and blocks of a report, with a script that
//! fills them from events. Without scripts it shows the current state, and reloads itself.

use crate::feed::Feed;
use crate::hosts;
use crate::http::{Answer, Pages, Served};
use crate::message::{Counts, Tick};
use crate::now::{Now, State};
use model::figure::{Figure, Whose};
use model::host_now::{HostNow, STATES_SHOWN};
use model::reading::CpuShares;
use model::unit::Unit;
use model::units::{show_count, show_ns};
use report::html::{Document, asset, escape};
use report::page::{Axis, Block, Chart, ChartShape, Page, Series, View};
use std::collections::VecDeque;
use std::sync::Arc;

/// The content type of pages.
const HTML: &str = "text/html; charset=utf-8";
/// Reloads the page if scripts are off; not used after the end of the run.
const AGAIN: &str = "<noscript><meta http-equiv=\"refresh\" content=\"2\"></noscript>\n";

/// Columns of text about hosts, where there are no scripts.
const TEXT_COLUMNS: usize = 80;

/// The pages of one run, or of one experiment.
#[derive(Debug)]
pub struct RunPages {
    feed: Arc<Feed>,
    /// Markup with a link back; empty for a standalone page.
    way_back: &'static str,
}

/// A link to the index of the site in which the pages are a folder.
const TO_THE_JOURNAL: &str = "<nav><a href=\"../\">Journal</a></nav>\n";

impl RunPages {
    /// The pages of a feed.
    pub fn new(feed: Arc<Feed>) -> Self {
        Self { feed, way_back: "" }
    }

    /// The pages of a feed, as a folder of the site of a journal.
    pub fn in_a_journal(feed: Arc<Feed>) -> Self {
        Self { feed, way_back: TO_THE_JOURNAL }
    }

    fn page(&self) -> Served {
        let page = self.feed.look(|now| page_of(now, self.way_back));
        Served { content_type: HTML, policy: own_policy(), bytes: page.into_bytes().into() }
    }
}

impl Pages for RunPages {
    fn at(&self, path: &str) -> Answer {
        let files = || self.feed.files();
        match path {
            "/" => Answer::Bytes(self.page()),
            "/events" => Answer::Events(Arc::clone(&self.feed)),
            "/report.html" => files().map_or(Answer::Missing, |files| {
                let (policy, bytes) = (own_policy(), files.report);
                Answer::Bytes(Served { content_type: HTML, policy, bytes })
            }),
            "/record.json" => files().map_or(Answer::Missing, |files| {
                let content_type = "application/json";
                Answer::Bytes(Served { content_type, policy: None, bytes: files.record })
            }),
            _ => Answer::Missing,
        }
    }
}

/// The policy in the header of a page: the part that the policy in its head cannot express.
fn own_policy() -> Option<String> {
    Some("frame-ancestors 'none'".to_string())
}

/// The whole file.
fn page_of(now: &Now, way_back: &str) -> String {
    let is_over = matches!(now.state, State::Ended | State::Failed) && now.experiment.is_none();
    let mut document = Document::new(title_of(now));
    document.style(asset("live.css"));
    document.script(asset("live.js"));
    document.served(if is_over { "" } else { AGAIN });
    document.markup(way_back);
    document.markup(&header(now));
    document.markup(&figures(now));
    document.markup(&of_hosts(now));
    document.markup(
        "<section aria-label=\"Over time\" id=\"over-time\">\n<h2>Over time</h2>\n\
         <p class=\"note\" id=\"gap\"></p>\n",
    );
    let blocks = charts().into_iter().map(Block::Chart).collect();
    document.blocks(&Page { title: String::new(), subtitle: String::new(), blocks });
    document.markup("</section>\n");
    document.markup(&lines(now));
    document.finish()
}

fn title_of(now: &Now) -> &str {
    if now.begin.title.is_empty() { "ceiling" } else { &now.begin.title }
}

fn header(now: &Now) -> String {
    let visit = now.experiment.as_ref().map_or_else(String::new, |(title, visit)| {
        format!("{title}{}{visit}", if visit.is_empty() { "" } else { ", " })
    });
    format!(
        "<header>\n<h1 id=\"title\">{}</h1>\n<p class=\"faint\" id=\"subtitle\">{}</p>\n\
         <p id=\"visit\">{}</p>\n\
         <p class=\"stage\" role=\"status\"><strong id=\"stage\">{}</strong> \
         <span id=\"level\">{}</span> <span class=\"faint\" id=\"link\"></span></p>\n\
         <progress id=\"done\" max=\"1\" aria-label=\"Progress of the stage\" hidden>\
         </progress>\n<p id=\"files\"></p>\n</header>\n\
         <noscript><p>This page reloads every two seconds. With scripts it follows the run without \
         reloading, and has charts.</p></noscript>\n<main>\n",
        escape(title_of(now)),
        escape(&now.begin.subtitle),
        escape(&visit),
        escape(&now.stage()),
        escape(&now.level),
    )
}

/// The latest figures, and the conclusion so far.
fn figures(now: &Now) -> String {
    let fact = |(id, name, value): (&str, &str, String)| {
        format!("<div><dt>{name}</dt><dd id=\"{id}\">{}</dd></div>\n", escape(&value))
    };
    let facts: String = facts(now.tick()).into_iter().map(fact).collect();
    let of_time = match (&now.conclusion, now.state) {
        (Some(_), State::Ended) => String::new(),
        (Some((t_s, _)), _) => format!("So far, after {t_s:.0} s:"),
        (None, _) => "There is no verdict yet.".to_string(),
    };
    let conclusion = now.conclusion.as_ref().map_or("", |(_, conclusion)| &conclusion.html);
    format!(
        "<section aria-label=\"Now\">\n<dl class=\"now\">\n{facts}</dl>\n\
         <p class=\"note\" id=\"failed\"></p>\n</section>\n\
         <div id=\"said\">\n<p class=\"faint\" id=\"of-time\">{of_time}</p>\n\
         <div id=\"conclusion\">{conclusion}</div>\n</div>\n"
    )
}

/// The hosts: places that the script fills; without scripts, lines of text.
fn of_hosts(now: &Now) -> String {
    let keys = CpuShares::STATES[..STATES_SHOWN].iter().enumerate().map(|(nth, state)| {
        let class = nth + 1;
        format!(
            "<span><svg class=\"key\" width=\"10\" height=\"10\"><rect class=\"part-{class}\" \
             width=\"10\" height=\"10\"></rect></svg> {state}</span> "
        )
    });
    let text = now.hosts.iter().flat_map(|host| hosts::lines(host, TEXT_COLUMNS));
    let text = text.map(|line| escape(&line) + "\n").collect::<String>();
    let places = Whose::ALL.map(place_of);
    format!(
        "<section aria-label=\"Hosts\" id=\"hosts\">\n<h2>Hosts</h2>\n\
         <noscript><pre>{text}</pre></noscript>\n<p class=\"keys\" hidden>{}</p>\n{}</section>\n",
        keys.collect::<String>(),
        places.concat(),
    )
}

/// The place of a host: each of its figures by its key, and the rest empty.
fn place_of(whose: Whose) -> String {
    let host = HostNow { sides: vec![whose], ..HostNow::default() };
    let figure = |(figure, _): (Figure, _)| {
        let (name, unit) = (figure.name(), figure.unit().word());
        format!("<div><dt>{name}</dt><dd id=\"{figure}\" data-unit=\"{unit}\">-</dd></div>\n")
    };
    let figures: String = host.shown().map(figure).collect();
    let heads = ["interface", "received", "of its speed", "sent", "of its speed"];
    let heads = heads.map(|name| format!("<th scope=\"col\">{name}</th>")).concat();
    format!(
        "<div class=\"host\" id=\"host-{}\" hidden>\n<h3>{}</h3>\n<dl class=\"now\">\n{figures}\
         </dl>\n<p class=\"faint\" data-part=\"cpus-words\"></p>\n\
         <svg class=\"cpus\" role=\"img\" preserveAspectRatio=\"none\"></svg>\n\
         <table><thead><tr>{heads}</tr></thead><tbody data-part=\"links\"></tbody></table>\n\
         <p class=\"faint\">Interrupts by queue:</p>\n\
         <ul class=\"queues\" data-part=\"interrupts\"></ul>\n</div>\n",
        whose.key(),
        hosts::name_of(&host.sides),
    )
}

/// Levels that have ended, and notices.
fn lines(now: &Now) -> String {
    let list = |lines: &VecDeque<String>| {
        lines.iter().map(|line| format!("<li>{}</li>\n", escape(line))).collect::<String>()
    };
    format!(
        "<section aria-label=\"Levels\">\n<h2>Levels</h2>\n\
         <ol id=\"levels\" class=\"log\">{}</ol>\n</section>\n\
         <section aria-label=\"Notices\">\n<h2>Notices</h2>\n\
         <ul id=\"notices\" class=\"log\">{}</ul>\n</section>\n</main>\n",
        list(&now.levels),
        list(&now.notices),
    )
}

/// Id, name and value of each of the latest figures.
pub(crate) fn facts(tick: Option<&Tick>) -> Vec<(&'static str, &'static str, String)> {
    let none = Tick::default();
    let is_known = tick.is_some();
    let tick = tick.unwrap_or(&none);
    let unit = match tick.counts {
        Counts::Responses => "/s",
        Counts::Connections => " conns/s",
        Counts::Events => " events/s",
    };
    let [p50, p99] = match tick.counts {
        Counts::Events => ["Staleness p50", "Staleness p99"],
        Counts::Responses | Counts::Connections => ["p50", "p99"],
    };
    let dash = || "-".to_string();
    let ns = |value: Option<u64>| value.map_or_else(dash, |ns| show_ns(ns as f64));
    let cpus = |value: Option<f64>| value.map_or_else(dash, |cpus| format!("{cpus:.2}"));
    let known = |value: String| if is_known { value } else { dash() };
    let count = |value: u64| show_count(value as f64);
    vec![
        ("rate", "Rate", known(format!("{}{unit}", show_count(tick.rate)))),
        ("p50", p50, ns(tick.p50_ns)),
        ("p99", p99, ns(tick.p99_ns)),
        ("in-flight", "In flight", tick.in_flight.map_or_else(dash, count)),
        ("open", "Connections", known(count(tick.open))),
        ("failures", "Failed", known(count(tick.failures))),
        ("client-cpus", "Generator, CPUs", cpus(tick.client_cpus)),
        ("server-cpus", "Server, CPUs", cpus(tick.server_cpus)),
    ]
}

/// Empty charts, which the script fills by their ids.
fn charts() -> Vec<Chart> {
    let seconds = || Axis::linear("Since the start of the run", Unit::Seconds);
    let chart = |id: &str, title: &str, note: &str, unit, labels: &[&str]| Chart {
        id: id.to_string(),
        title: title.to_string(),
        note: note.to_string(),
        x: seconds(),
        y: Axis::linear(title, unit),
        shape: ChartShape::Lines,
        views: vec![View {
            label: "so far".to_string(),
            series: labels
                .iter()
                .map(|label| Series { label: (*label).to_string(), y: Vec::new() })
                .collect(),
            ..View::default()
        }],
        selected: 0,
    };
    vec![
        chart("rate-now", "Rate", "In each fifth of a second.", Unit::PerSecond, &["rate"]),
        chart(
            "latency-now",
            "Latency",
            "Percentiles of each fifth of a second; of events, the staleness.",
            Unit::Ns,
            &["p50", "p99"],
        ),
        chart(
            "cpus-now",
            "CPUs used",
            "CPU time used; 1 is one busy CPU.",
            Unit::Cpus,
            &["generator", "server"],
        ),
        chart(
            "busy-now",
            "Hosts",
            "Busy share of all CPUs of a host.",
            Unit::Percent,
            &["generator's host", "server's host"],
        ),
        chart("in-flight-now", "In flight", "Requests.", Unit::Count, &["in flight"]),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hosts::tests::made_up;
    use crate::message::{Begin, Conclusion, Message};

    fn hostile() -> Now {
        let bad = "<script>alert(1)</script>\u{202e}".to_string();
        let mut now = Now::default();
        now.apply(&Message::Experiment { title: bad.clone() });
        now.apply(&Message::Begin(Begin { title: bad.clone(), subtitle: bad.clone() }));
        now.apply(&Message::Level { index: 0, of: 1, text: bad.clone(), t_s: 0.0 });
        now.apply(&Message::Tick(Tick { stage: bad.clone(), ..Tick::default() }));
        let mut host = made_up(&Whose::ALL, 2);
        host.links.as_mut().unwrap()[0].name.clone_from(&bad);
        host.interrupts.as_mut().unwrap()[0].0.clone_from(&bad);
        now.apply(&Message::Hosts { hosts: vec![host] });
        now.apply(&Message::Point { text: bad.clone(), t_s: 1.0 });
        now.apply(&Message::Notice { text: bad });
        now
    }

    #[test]
    fn strings_of_a_run_stay_text() {
        let (clean, bad) = (page_of(&Now::default(), ""), page_of(&hostile(), ""));
        assert_eq!(bad.matches("<script").count(), clean.matches("<script").count());
        assert!(bad.contains("&lt;script&gt;alert") && !bad.contains('\u{202e}'));
    }

    #[test]
    fn without_scripts_it_loads_itself_again_until_the_end() {
        let mut now = hostile();
        now.experiment = None;
        assert!(page_of(&now, "").contains("http-equiv=\"refresh\""));
        let conclusion = Conclusion { html: "<p>final</p>".to_string(), ..Conclusion::default() };
        now.apply(&Message::End { id: "x".to_string(), t_s: 3.0, conclusion });
        let page = page_of(&now, "");
        assert!(!page.contains("http-equiv=\"refresh\"") && page.contains("<p>final</p>"));
        let markup = &page[..page.find("<script").unwrap()];
        assert!(!markup.contains("So far"), "{markup}");
    }

    #[test]
    fn what_was_not_measured_is_a_dash_and_not_a_zero() {
        assert!(facts(None).iter().all(|(_, _, value)| value == "-"));
        let known = facts(Some(&Tick { client_cpus: Some(0.0), ..Tick::default() }));
        let value = |id: &str| known.iter().find(|one| one.0 == id).unwrap().2.clone();
        assert_eq!((value("rate"), value("p99")), ("0/s".to_string(), "-".to_string()));
        assert_eq!((value("client-cpus"), value("server-cpus")), ("0.00".into(), "-".into()));
    }

    #[test]
    fn the_page_may_ask_its_server_and_nothing_else() {
        let page = page_of(&Now::default(), "");
        let policy = page.split("Content-Security-Policy").nth(1).unwrap();
        let policy = policy.split('>').next().unwrap();
        assert!(policy.contains("connect-src 'self'") && !policy.contains("unsafe"), "{policy}");
        assert!(policy.contains("default-src 'none'"), "{policy}");
        let script = asset("live.js");
        assert!(!script.contains("</script") && !script.contains("<!--"));
    }
}
