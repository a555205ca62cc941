//! The server that a flow goes to.

use crate::draft::{BASE, Draft, Item, Left, Piece, Step};
use crate::url::is_same_server;

/// Header fields that a flow adds by itself.
const OWN_HEADERS: [&str; 4] = ["host", "content-length", "connection", "transfer-encoding"];

/// Leaves out the steps of other servers, and writes the name of this one as a variable.
pub fn choose(draft: &mut Draft) {
    let server = server_of(draft);
    for item in &mut draft.items {
        let Item::Step(step) = item else { continue };
        if !is_same_server(&step.server, &server) {
            let left = Left { what: step.title(), why: "of other servers".to_string() };
            *item = Item::Left(left);
            continue;
        }
        step.headers.retain(|(name, _)| !OWN_HEADERS.contains(&name.to_lowercase().as_str()));
        for (_, value) in &mut step.headers {
            if let Some(Piece::Plain(text)) = value.0.first()
                && let Some(rest) = text.strip_prefix(server.as_str())
                && (rest.is_empty() || rest.starts_with('/'))
            {
                let mut pieces = vec![Piece::Hole(BASE.to_string())];
                pieces.extend((!rest.is_empty()).then(|| Piece::Plain(rest.to_string())));
                value.0.splice(..1, pieces);
            }
        }
    }
    draft.server = Some(server);
}

/// The server of most steps, and of those the first.
fn server_of(draft: &Draft) -> String {
    if let Some(server) = &draft.server {
        return server.clone();
    }
    let steps: Vec<&Step> = draft.items.iter().filter_map(step).collect();
    // A redirect leads to the server that is meant.
    let is_meant = |step: &&&Step| !step.status.is_some_and(|status| (300..400).contains(&status));
    let count = |server: &str| {
        let own = steps.iter().filter(|step| is_same_server(&step.server, server));
        (own.clone().filter(is_meant).count(), own.count())
    };
    let most = steps.iter().map(|step| count(&step.server)).max();
    let first = steps.iter().find(|step| Some(count(&step.server)) == most);
    first.map_or(String::new(), |step| step.server.clone())
}

fn step(item: &Item) -> Option<&Step> {
    match item {
        Item::Step(step) => Some(step),
        Item::Left(_) | Item::Title(_) => None,
    }
}
