//! `/sys/devices/system/node/nodeN/numastat`: pages by where they were wanted and where they came
//! from, as `node0.numa_miss` and so on.
//!
//! `numa_miss` were taken here because the wanted node had none, `numa_foreign` the other way
//! round, `other_node` were taken here by a thread that ran elsewhere (`drivers/base/node.c`,
//! `node_read_numastat`).
//!
//! Caveats. Pages allocated, not memory accessed: a buffer on the wrong node counts once. On a host
//! with one node there is no other place, and no source.

use super::{Round, Scope, Source};
use crate::kernel_file::KernelFile;
use crate::process;
use crate::scan::{self, ParseError};
use model::facts::Unreadable;
use model::metric::Declaration;
use model::reading::Data;
use model::unit::Unit;
use std::collections::BTreeMap;

/// Nodes read.
const NODES_MAX: usize = 64;

/// The lines of one file: a name and a count.
pub fn parse(bytes: &[u8]) -> Result<Vec<(String, u64)>, ParseError> {
    let line = |line| {
        let mut words = scan::words(line);
        let pair = words.next().zip(words.next().and_then(scan::number));
        let (name, count) = pair.ok_or_else(|| ParseError::new("a name and a count", line))?;
        Ok((scan::text(name), count))
    };
    scan::lines(bytes).map(line).collect()
}

/// What the figures are.
pub(super) fn declared() -> Declaration {
    Declaration::new("numa", "/sys/devices/system/node/nodeN/numastat").counter(
        "{node}.{name}",
        Unit::Count,
        "Pages by where they were wanted and where they came from.",
    )
}

struct Numa {
    nodes: Vec<(u32, KernelFile)>,
}

pub(super) fn open(scope: &Scope) -> Option<Box<dyn Source>> {
    let folder = scope.root.path("/sys/devices/system/node");
    let nodes = process::read(&folder.join("has_memory"), scan::cpu_list).ok()?;
    let file = |node| KernelFile::one_piece(folder.join(format!("node{node}/numastat")));
    let nodes: Vec<_> = nodes.into_iter().take(NODES_MAX).map(|node| (node, file(node))).collect();
    (nodes.len() > 1).then(|| Box::new(Numa { nodes }) as Box<dyn Source>)
}

impl Source for Numa {
    fn read(&mut self, _round: &Round<'_>) -> Result<Data, Unreadable> {
        let mut all = BTreeMap::new();
        for (node, file) in &mut self.nodes {
            let counts = file.parse(parse)?;
            all.extend(
                counts.into_iter().map(|(name, count)| (format!("node{node}.{name}"), count)),
            );
        }
        Ok(Data::values("numa", all))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::fixture;

    #[test]
    fn counts_by_name() {
        let counts = parse(&fixture("linux-6.18-vm/numastat")).unwrap();
        assert_eq!(counts.len(), 6);
        assert_eq!(counts[3], ("interleave_hit".into(), 1134));
        assert!(parse(b"numa_hit\n").is_err() && parse(b"numa_hit x\n").is_err());
    }
}
