//! What fuzzers feed with bytes that others wrote.

use crate::btf::Btf;

/// Types of a kernel: parsing and looking up ends, without a panic.
pub fn types(bytes: &[u8]) {
    let Ok(btf) = Btf::parse(bytes.to_vec()) else { return };
    for (structure, path) in [("sock", "__sk_common.skc_num"), ("s", "x"), ("", "a.b")] {
        let _ = btf.offset(structure, path);
    }
    let _ = btf.values("skb_drop_reason");
}
