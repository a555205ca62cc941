//! Flame graphs: the tree of calls as boxes whose width is their cost.

use crate::page::{Box, Flame, Hue};
use model::profile::{Frame, MergedProfile, ProfileKind};
use model::units::{show_bytes, show_ns};
use std::collections::BTreeMap;

/// Boxes narrower than this share of the whole are not drawn.
const PART_MIN: f64 = 0.001;

/// The graph of one kind; nothing when there is nothing to draw.
pub(super) fn of(merged: &MergedProfile) -> Option<Flame> {
    let total = merged.flame.first()?.value;
    if total <= 0 {
        return None;
    }
    let show = |value: i64| match merged.kind {
        ProfileKind::Heap => show_bytes(value as f64),
        _ => show_ns(value as f64),
    };
    let mut places = BoxPlaces::default();
    let boxes = merged.flame.iter().map(|frame| {
        let width = frame.value as f64 / total as f64;
        Box {
            label: short(&frame.function).to_string(),
            detail: format!("{}: {}, {:.2} %", frame.function, show(frame.value), width * 100.0),
            depth: frame.depth,
            from: places.next(frame.depth, width),
            width,
            hue: hue(&frame.function),
        }
    });
    Some(Flame {
        id: format!("flame-{}", merged.kind.name()),
        title: format!("{}, as a flame graph", kind_name(merged.kind)),
        note: "Callers are above the functions they call; the width is the share of the whole. \
               Click a box to widen it, the topmost box to go back."
            .to_string(),
        boxes: boxes.filter(|one| one.width >= PART_MIN).collect(),
    })
}

/// What changed between two graphs of one kind; the width is the mean of both shares.
pub(super) fn difference(kind: ProfileKind, before: &[Frame], after: &[Frame]) -> Option<Flame> {
    let (old, new) = (shares(before)?, shares(after)?);
    let mut paths: BTreeMap<&[&str], (f64, f64)> = BTreeMap::new();
    old.iter().for_each(|(path, share)| paths.entry(path).or_default().0 += share);
    new.iter().for_each(|(path, share)| paths.entry(path).or_default().1 += share);
    let mut places = BoxPlaces::default();
    // A path sorts before its own continuations: slices compare element by element.
    let boxes = paths.iter().map(|(path, (old, new))| {
        let (depth, width) = (path.len() as u32 - 1, (old + new) / 2.0);
        let function = path.last().copied().unwrap_or_default();
        Box {
            label: short(function).to_string(),
            detail: format!("{function}: {:.2} % before, {:.2} % now", old * 100.0, new * 100.0),
            depth,
            from: places.next(depth, width),
            width,
            hue: changed(*old, *new),
        }
    });
    Some(Flame {
        id: format!("difference-{}", kind.name()),
        title: format!("{}: what changed from A to B", kind_name(kind)),
        note: "The width is the mean of both shares. Warm: a larger share in B; cold: a smaller \
               one; pale: it changed by less than a fifth."
            .to_string(),
        boxes: boxes.filter(|one| one.width >= PART_MIN).collect(),
    })
}

/// The share of each path of functions.
fn shares(frames: &[Frame]) -> Option<Vec<(Vec<&str>, f64)>> {
    let total = frames.first().map(|frame| frame.value).filter(|total| *total > 0)? as f64;
    let mut path: Vec<&str> = Vec::new();
    let share = |frame: &Frame| frame.value as f64 / total;
    let paths = frames.iter().map(|frame| {
        path.truncate(frame.depth as usize);
        path.push(&frame.function);
        (path.clone(), share(frame))
    });
    Some(paths.collect())
}

fn changed(old: f64, new: f64) -> Hue {
    let change = (new - old) / (new + old).max(f64::MIN_POSITIVE);
    match change {
        _ if change > 0.33 => Hue::MuchMore,
        _ if change > 0.1 => Hue::More,
        _ if change < -0.33 => Hue::MuchLess,
        _ if change < -0.1 => Hue::Less,
        _ => Hue::Same,
    }
}

/// What a function belongs to.
fn hue(function: &str) -> Hue {
    let starts = |heads: &[&str]| heads.iter().any(|head| function.starts_with(head));
    if function.ends_with(" [k]") || starts(&["internal/runtime/syscall", "syscall."]) {
        Hue::Kernel
    } else if starts(&["runtime.", "internal/runtime", "runtime/", "[lib"]) {
        Hue::Runtime
    } else {
        Hue::Program
    }
}

/// A function or site without the path of its package.
pub(super) fn short(name: &str) -> &str {
    // Type parameters and C++ arguments may contain slashes.
    let head = name.find(['[', '(']).filter(|at| *at > 0).unwrap_or(name.len());
    let from = name[..head].rfind('/').map_or(0, |at| at + 1);
    &name[from..]
}

/// A kind in words.
pub(super) fn kind_name(kind: ProfileKind) -> &'static str {
    match kind {
        ProfileKind::Cpu => "CPU time (runtime)",
        ProfileKind::Perf => "CPU time (perf)",
        ProfileKind::Block => "Waits (block profile)",
        ProfileKind::Mutex => "Waits by lock holder (mutex profile)",
        ProfileKind::Heap => "Allocated bytes (heap profile)",
    }
}

/// Left edge of the next box of each depth: below its parent, after its last sibling.
#[derive(Default)]
struct BoxPlaces {
    /// Left edge of the latest box of each depth, and the right edge of its children so far.
    open: Vec<(f64, f64)>,
}

impl BoxPlaces {
    fn next(&mut self, depth: u32, width: f64) -> f64 {
        let depth = depth as usize;
        self.open.truncate(depth);
        let from = match self.open.last_mut() {
            Some((_, end)) => {
                let from = *end;
                *end += width;
                from
            }
            None => 0.0,
        };
        // ceiling never skips a depth; in a tree that does, such boxes start at the left.
        self.open.resize(depth, (from, from));
        self.open.push((from, from));
        from
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frames(all: &[(&str, u32, i64)]) -> Vec<Frame> {
        let frame = |(function, depth, value): &(&str, u32, i64)| Frame {
            function: (*function).to_string(),
            depth: *depth,
            value: *value,
        };
        all.iter().map(frame).collect()
    }

    #[test]
    fn boxes_stand_below_their_callers() {
        let flame =
            frames(&[("all", 0, 100), ("a", 1, 60), ("b", 2, 20), ("c", 2, 30), ("d", 1, 40)]);
        let merged = MergedProfile {
            kind: ProfileKind::Cpu,
            processes: 1,
            duration_s: 1.0,
            requests: Some(1.0),
            requests_absent: None,
            total: 100,
            top: Vec::new(),
            functions: 4,
            flame,
            waits: Vec::new(),
        };
        let drawn = of(&merged).unwrap();
        let places: Vec<_> =
            drawn.boxes.iter().map(|one| (one.label.as_str(), one.from, one.width)).collect();
        assert_eq!(
            places,
            [("all", 0.0, 1.0), ("a", 0.0, 0.6), ("b", 0.0, 0.2), ("c", 0.2, 0.3), ("d", 0.6, 0.4)]
        );
    }

    #[test]
    fn what_only_one_side_has_is_drawn_too() {
        let old = frames(&[("all", 0, 10), ("a", 1, 10)]);
        let new = frames(&[("all", 0, 40), ("a", 1, 20), ("lock", 2, 20), ("b", 1, 20)]);
        let drawn = difference(ProfileKind::Cpu, &old, &new).unwrap();
        let boxes: Vec<_> =
            drawn.boxes.iter().map(|one| (one.label.as_str(), one.from, one.hue)).collect();
        let expected = [
            ("all", 0.0, Hue::Same),
            ("a", 0.0, Hue::MuchLess),
            ("lock", 0.0, Hue::MuchMore),
            ("b", 0.75, Hue::MuchMore),
        ];
        assert_eq!(boxes, expected);
        assert_eq!(difference(ProfileKind::Cpu, &old, &[]), None);
    }
}
