//! The server that a flow goes to.

use crate::draft::{BASE, Draft, Item, Left, Piece, Step};
use crate::url::plain_server;
use flow::STEPS_MAX;
use std::collections::BTreeMap;

/// Header fields that a flow adds by itself.
const OWN_HEADERS: [&str; 4] = ["host", "content-length", "connection", "transfer-encoding"];

/// Leaves out the steps of other servers and those for which a flow has no room, and writes the
/// name of this one as a variable.
pub fn choose(draft: &mut Draft) {
    let server = server_of(draft);
    let (plain, mut steps) = (plain_server(&server), 0);
    for item in &mut draft.items {
        let Item::Step(step) = item else { continue };
        let why = match plain_server(&step.server) == plain {
            false => Some("of other servers".to_string()),
            true if steps == STEPS_MAX => Some(format!("beyond {STEPS_MAX} steps")),
            true => None,
        };
        if let Some(why) = why {
            *item = Item::Left(Left::new(&step.title(), &why));
            continue;
        }
        steps += 1;
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
    let steps = || draft.items.iter().filter_map(step);
    let mut counts: BTreeMap<String, (usize, usize)> = BTreeMap::new();
    for step in steps() {
        // A redirect leads to the server that is meant.
        let is_meant = !step.status.is_some_and(|status| (300..400).contains(&status));
        let (meant, all) = counts.entry(plain_server(&step.server)).or_default();
        *meant += usize::from(is_meant);
        *all += 1;
    }
    let most = counts.values().max();
    let first = steps().find(|step| counts.get(&plain_server(&step.server)) == most);
    first.map_or(String::new(), |step| step.server.clone())
}

fn step(item: &Item) -> Option<&Step> {
    match item {
        Item::Step(step) => Some(step),
        Item::Left(_) | Item::Title(_) => None,
    }
}
