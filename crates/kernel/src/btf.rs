//! The types of the running kernel: where the members of its structures are.
//!
//! `/sys/kernel/btf/vmlinux`, in the format of `Documentation/bpf/btf.rst`: a header, types one
//! after the other, and names. Only what is asked for is looked up. The bytes are checked like any
//! that others wrote: nothing here panics, and each lookup ends.

use std::fs;
use thiserror::Error;

/// Where the kernel shows its types.
pub const PATH: &str = "/sys/kernel/btf/vmlinux";

/// Structures without a name inside of others, at most: the kernel has three or four.
const DEPTH_MAX: u32 = 16;
/// Members that one lookup passes, at most: the largest structures of the kernel have hundreds.
const MEMBERS_MAX: u32 = 100_000;

/// Why a type could not be looked up.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum BtfError {
    /// There is no such file, or it may not be read.
    #[error("the kernel does not show its types in {PATH}: {0}")]
    Unreadable(String),
    /// The bytes are not what the format says.
    #[error("the kernel's types cannot be read: {0}")]
    Malformed(&'static str),
    /// The kernel has no such type or member.
    #[error("this kernel has no {0}")]
    Missing(String),
}

/// The types of a kernel.
pub struct Btf {
    bytes: Vec<u8>,
    /// Where each type begins in `bytes`, from type 1.
    types: Vec<usize>,
    /// Where the names begin and end in `bytes`.
    names: (usize, usize),
}

/// The head of a type.
#[derive(Clone, Copy)]
struct Head {
    /// Where its name is among the names.
    name: u32,
    kind: u32,
    /// Members, values or parameters.
    count: usize,
    /// Whether offsets of members have the size of a bit field in their high bits.
    has_bit_fields: bool,
    /// Where the rest begins in the bytes.
    rest: usize,
}

/// What a lookup may still do.
struct Left {
    depth: u32,
    members: u32,
}

const KIND_STRUCT: u32 = 4;
const KIND_UNION: u32 = 5;
const KIND_ENUM: u32 = 6;
const HEAD_BYTES: usize = 12;

/// Bytes that follow the head of a type.
fn rest_bytes(kind: u32, count: usize) -> Option<usize> {
    Some(match kind {
        // Integer, variable, tag of a declaration.
        1 | 14 | 17 => 4,
        // Array.
        3 => 12,
        KIND_STRUCT | KIND_UNION | 15 | 19 => count * 12,
        KIND_ENUM | 13 => count * 8,
        // Pointer, forward, type definition, volatile, const, restrict, function, float, tag.
        2 | 7..=12 | 16 | 18 => 0,
        _ => return None,
    })
}

impl Btf {
    /// The types of the running kernel.
    pub fn of_this_kernel() -> Result<Self, BtfError> {
        let bytes = fs::read(PATH).map_err(|error| BtfError::Unreadable(error.to_string()))?;
        Self::parse(bytes)
    }

    /// Finds where the types are.
    pub fn parse(bytes: Vec<u8>) -> Result<Self, BtfError> {
        let short = BtfError::Malformed("it is too short");
        let at = |offset| word(&bytes, offset).map(|word| word as usize).ok_or(short.clone());
        // The magic number 0xeb9f, version 1, no flags.
        if at(0)? != 0x0001_eb9f {
            return Err(BtfError::Malformed("another byte order or version"));
        }
        let head = at(4)?;
        let (first, types_bytes, names, names_bytes) = (at(8)?, at(12)?, at(16)?, at(20)?);
        let begin = head.saturating_add(first);
        let end = begin.saturating_add(types_bytes);
        let names = head.saturating_add(names);
        let names = (names, names.saturating_add(names_bytes));
        if end > bytes.len() || names.1 > bytes.len() {
            return Err(short);
        }
        let (mut at, mut types) = (begin, Vec::new());
        while at < end {
            let head = head_at(&bytes, at).ok_or(short.clone())?;
            let rest = rest_bytes(head.kind, head.count);
            let rest =
                rest.ok_or(BtfError::Malformed("it has a kind of type that is not known"))?;
            types.push(at);
            at = head.rest + rest;
        }
        if at != end {
            return Err(BtfError::Malformed("its last type is cut"));
        }
        Ok(Self { bytes, types, names })
    }

    fn name(&self, at: u32) -> &[u8] {
        let begin = self.names.0.saturating_add(at as usize);
        let names = self.bytes.get(begin..self.names.1).unwrap_or_default();
        names.split(|byte| *byte == 0).next().unwrap_or_default()
    }

    fn head(&self, id: u32) -> Option<Head> {
        let at = self.types.get((id as usize).checked_sub(1)?)?;
        head_at(&self.bytes, *at)
    }

    fn find(&self, kind: u32, name: &str) -> Option<Head> {
        let heads = self.types.iter().filter_map(|at| head_at(&self.bytes, *at));
        heads
            .filter(|head| head.kind == kind && head.count > 0)
            .find(|head| self.name(head.name) == name.as_bytes())
    }

    /// Where a member of a structure begins, bytes. A path such as `__sk_common.skc_num` goes into
    /// structures inside of it; those without a name need none.
    pub fn offset(&self, structure: &str, path: &str) -> Result<u32, BtfError> {
        let missing = || BtfError::Missing(format!("{path} in struct {structure}"));
        let mut within = self
            .find(KIND_STRUCT, structure)
            .ok_or_else(|| BtfError::Missing(format!("struct {structure}")))?;
        let mut bits = 0_u32;
        let mut steps = path.split('.').peekable();
        while let Some(step) = steps.next() {
            let mut left = Left { depth: DEPTH_MAX, members: MEMBERS_MAX };
            let (offset, kind) = self.member(within, step, &mut left).ok_or_else(missing)?;
            bits = bits.checked_add(offset).ok_or_else(missing)?;
            if steps.peek().is_some() {
                within = self.head(kind).filter(|head| is_structure(*head)).ok_or_else(missing)?;
            }
        }
        if bits.is_multiple_of(8) { Ok(bits / 8) } else { Err(missing()) }
    }

    /// Where a member begins, bits, and its type.
    fn member(&self, head: Head, name: &str, left: &mut Left) -> Option<(u32, u32)> {
        left.depth = left.depth.checked_sub(1)?;
        let found = (0..head.count).find_map(|index| {
            left.members = left.members.checked_sub(1)?;
            let at = head.rest + index * 12;
            let named = self.name(word(&self.bytes, at)?);
            let kind = word(&self.bytes, at + 4)?;
            let offset = word(&self.bytes, at + 8)?;
            let (offset, is_bit_field) = match head.has_bit_fields {
                true => (offset & 0x00ff_ffff, offset >> 24 != 0),
                false => (offset, false),
            };
            if named == name.as_bytes() {
                return (!is_bit_field).then_some((offset, kind));
            }
            let inner = self.head(kind).filter(|head| named.is_empty() && is_structure(*head))?;
            let (within, kind) = self.member(inner, name, left)?;
            Some((offset.checked_add(within)?, kind))
        });
        left.depth += 1;
        found
    }

    /// The values of an enumeration by name, in the order of the kernel.
    pub fn values(&self, enumeration: &str) -> Result<Vec<(String, u32)>, BtfError> {
        let head = self
            .find(KIND_ENUM, enumeration)
            .ok_or_else(|| BtfError::Missing(format!("enum {enumeration}")))?;
        let values = (0..head.count).filter_map(|index| {
            let at = head.rest + index * 8;
            let name = self.name(word(&self.bytes, at)?);
            Some((String::from_utf8_lossy(name).into_owned(), word(&self.bytes, at + 4)?))
        });
        Ok(values.collect())
    }
}

fn is_structure(head: Head) -> bool {
    matches!(head.kind, KIND_STRUCT | KIND_UNION)
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    let word = bytes.get(at..at.checked_add(4)?)?;
    Some(u32::from_le_bytes(word.try_into().ok()?))
}

fn head_at(bytes: &[u8], at: usize) -> Option<Head> {
    let info = word(bytes, at.checked_add(4)?)?;
    Some(Head {
        name: word(bytes, at)?,
        kind: info >> 24 & 0x1f,
        count: (info & 0xffff) as usize,
        has_bit_fields: info >> 31 == 1,
        rest: at.checked_add(HEAD_BYTES)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Types as words: each is a name's place, kind and count, size or type, then its rest.
    fn btf(types: &[u32], names: &str) -> Vec<u8> {
        let types_bytes = types.len() as u32 * 4;
        let head = [0x0001_eb9f, 24, 0, types_bytes, types_bytes, names.len() as u32];
        let words = head.iter().chain(types).flat_map(|word| word.to_le_bytes());
        words.chain(names.bytes()).collect()
    }

    /// `struct sock { struct { u32 a; u32 num : 4; }; struct inner in; }`, `enum why { OK, BAD }`
    fn sample() -> Vec<u8> {
        let names = "\0sock\0a\0num\0in\0inner\0why\0OK\0BAD\0deep\0u32\0";
        let at = |name: &str| names.find(&format!("\0{name}\0")).unwrap() as u32 + 1;
        let types = [
            // 1: an integer.
            [at("u32"), 1 << 24, 4, 32].to_vec(),
            // 2: a structure without a name, with a bit field.
            [0, 0x8400_0002, 8, at("a"), 1, 0, at("num"), 1, 4 << 24 | 32].to_vec(),
            // 3: a structure inside.
            [at("inner"), 0x0400_0001, 4, at("deep"), 1, 32].to_vec(),
            // 4: the structure.
            [at("sock"), 0x0400_0002, 16, 0, 2, 64, at("in"), 3, 128].to_vec(),
            // 5: an enumeration.
            [at("why"), 0x0600_0002, 4, at("OK"), 0, at("BAD"), 7].to_vec(),
        ];
        btf(&types.concat(), names)
    }

    #[test]
    fn members_are_found_by_name_also_in_structures_without_one() {
        let btf = Btf::parse(sample()).unwrap();
        assert_eq!(btf.offset("sock", "a"), Ok(8));
        assert_eq!(btf.offset("sock", "in"), Ok(16));
        assert_eq!(btf.offset("sock", "in.deep"), Ok(20));
        for (structure, path) in [("sock", "num"), ("sock", "b"), ("sock", "a.deep")] {
            let missing = format!("this kernel has no {path} in struct {structure}");
            assert_eq!(btf.offset(structure, path).unwrap_err().to_string(), missing);
        }
        let missing = btf.offset("skb", "head").unwrap_err();
        assert_eq!(missing.to_string(), "this kernel has no struct skb");
        let values = btf.values("why").unwrap();
        assert_eq!(values, [("OK".to_string(), 0), ("BAD".to_string(), 7)]);
        assert!(btf.values("sock").is_err());
    }

    #[test]
    fn cut_and_foreign_bytes_are_refused() {
        let whole = sample();
        for length in 0..whole.len() {
            assert!(Btf::parse(whole[..length].to_vec()).is_err(), "{length}");
        }
        let mut swapped = whole.clone();
        swapped.swap(0, 1);
        assert!(matches!(Btf::parse(swapped), Err(BtfError::Malformed(_))));
        let mut unknown = whole;
        unknown[24 + 7] = 31;
        assert!(matches!(Btf::parse(unknown), Err(BtfError::Malformed(_))));
    }

    #[test]
    fn a_structure_inside_itself_ends() {
        let names = "\0s\0";
        // A lookup without limits would take 60000 to the power of its depth.
        let mut itself = vec![1, 0x0400_ea60, 4];
        itself.extend([0, 1, 8].repeat(60_000));
        let btf = Btf::parse(btf(&itself, names)).unwrap();
        assert!(btf.offset("s", "x").is_err());
    }

    #[test]
    fn this_kernel_has_what_the_programs_read() {
        let Ok(btf) = Btf::of_this_kernel() else {
            println!("skipped: no {PATH}");
            return;
        };
        assert!(btf.offset("task_struct", "tgid").unwrap() > 0);
        assert!(btf.offset("sk_buff", "transport_header").is_ok());
        let [num, family] = ["skc_num", "skc_family"]
            .map(|member| btf.offset("sock", &format!("__sk_common.{member}")).unwrap());
        assert_eq!(family - num, 2);
    }
}
