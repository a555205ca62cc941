//! Patterns in latencies, series and the ramp that can be seen without watching the server.

use crate::page::{Block, Column, Mark, Table};
use crate::wording::point_mark;
use model::fingerprint::Fingerprint;
use model::run::Run;

/// One row for each pattern. The table is open when the server was not watched, and folded when
/// there is evidence from the server.
pub fn table(run: &Run) -> Vec<Block> {
    let record = &run.record;
    let over_levels = record.fingerprints.iter().map(|found| ("all".to_string(), found));
    let at_points = record
        .points
        .iter()
        .flat_map(|point| point.fingerprints.iter().map(move |found| (point_mark(point), found)));
    let rows: Vec<(String, &Fingerprint)> = over_levels.chain(at_points).collect();
    if rows.is_empty() {
        return Vec::new();
    }
    let columns = ["point", "seen", "measured", "may be", "beware"].map(Column::words).to_vec();
    let mut table = Table::new(columns).caption("Fingerprints");
    for (point, found) in rows {
        let walls: Vec<_> = found.means.iter().map(|wall| wall.id()).collect();
        let may_be = if walls.is_empty() { "any".to_string() } else { walls.join(" ") };
        let (what, measured) = (found.what.clone(), found.measured.clone());
        table.push(Mark::None, vec![point, what, measured, may_be, found.beware.clone()]);
    }
    let target = &record.target;
    let is_watched = target.server.is_some() || target.probe.is_some();
    vec![Block::Table(if is_watched { table.folded() } else { table })]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures;
    use crate::page::Fold;
    use model::wall::WallId;

    fn found() -> Fingerprint {
        Fingerprint {
            id: "delayed_ack".to_string(),
            what: "a peak at 40 ms".to_string(),
            measured: "412 responses".to_string(),
            rule: "five times denser".to_string(),
            means: vec![WallId::A7],
            beware: "a pause of 40 ms".to_string(),
        }
    }

    #[test]
    fn what_else_it_may_be_stands_beside_each() {
        let mut run = fixtures::load_unwatched();
        assert_eq!(table(&run), []);
        run.record.points[0].fingerprints = vec![found()];
        let Block::Table(open) = table(&run).remove(0) else { panic!("a table") };
        assert_eq!(
            open.rows[0].cells[1..],
            ["a peak at 40 ms", "412 responses", "A7", "a pause of 40 ms"]
        );
        assert_eq!(open.fold, Fold::Open);
        run.record.target.server = fixtures::ramp_quota().record.target.server;
        run.record.fingerprints = vec![Fingerprint { means: vec![], ..found() }];
        let Block::Table(folded) = table(&run).remove(0) else { panic!("a table") };
        assert_eq!((folded.fold, folded.rows.len()), (Fold::Closed, 2));
        assert_eq!(
            (folded.rows[0].cells[0].as_str(), folded.rows[0].cells[3].as_str()),
            ("all", "any")
        );
    }
}
