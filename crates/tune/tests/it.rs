//! Masks against a model of the kernel's parser.

mod bitmap;

use bitmap::{OF_TWO_CPUS, as_the_kernel_shows, bitmap_parse};
use proptest::collection::btree_set;
use proptest::prelude::*;
use proptest::sample::select;
use std::collections::BTreeSet;
use tune::{CpuSet, Format};

#[test]
fn the_model_of_the_kernel_takes_and_refuses_what_the_kernel_does() {
    for (text, response) in OF_TWO_CPUS {
        let response = response.map(|cpus| cpus.iter().copied().collect());
        assert_eq!(bitmap_parse(text, 2), response, "{text:?}");
    }
    let ones = "ffffffff,ffffffff,ffffffff,ffffffff";
    assert_eq!(bitmap_parse(ones, 128), Ok((0..128).collect()));
    assert_eq!(bitmap_parse(ones, 127), Err(libc::EOVERFLOW));
    assert_eq!(bitmap_parse(ones, 96), Err(libc::EOVERFLOW));
    assert_eq!(bitmap_parse(&"f".repeat(32), 128), Err(libc::EOVERFLOW), "no commas");
    assert_eq!(as_the_kernel_shows(&BTreeSet::new(), 2), "0\n");
    assert_eq!(as_the_kernel_shows(&[0, 7].into(), 8), "81\n");
    let top = as_the_kernel_shows(&[0, 299].into(), 300);
    assert!(top.starts_with("800,00000000,") && top.ends_with(",00000001\n"), "{top}");
    assert_eq!(top.split(',').count(), 10);
}

#[test]
fn masks_are_as_wide_as_the_file_that_takes_them() {
    let zero = |cpus| as_the_kernel_shows(&BTreeSet::new(), cpus);
    let bytes = |value, cpus| Format::Mask.bytes(value, &zero(cpus));
    assert_eq!(bytes("0-1", 2), "00000003");
    assert_eq!(bytes("0-7", 8), "000000ff");
    assert_eq!(bytes("16-31", 32), "ffff0000");
    assert_eq!(bytes("0-127", 128), "ffffffff,ffffffff,ffffffff,ffffffff");
    assert_eq!(bytes("112-127", 128), "ffff0000,00000000,00000000,00000000");
    let groups = ",ffffffff".repeat(9);
    assert_eq!(bytes("0-299", 300), format!("00000fff{groups}"));
    assert_eq!(bytes("", 128), "00000000,00000000,00000000,00000000");
}

proptest! {
    #[test]
    fn the_kernel_takes_every_mask_and_means_the_same(
        cpus in select(vec![1_u32, 2, 8, 31, 32, 33, 64, 128, 300]),
        wanted in btree_set(0_u32..300, 0..300),
        now in btree_set(0_u32..300, 0..300),
    ) {
        let below = |set: &BTreeSet<u32>| set.range(..cpus).copied().collect::<BTreeSet<_>>();
        let (wanted, now) = (below(&wanted), below(&now));
        let list = wanted.iter().copied().collect::<CpuSet>().list();
        let written = Format::Mask.bytes(&list, &as_the_kernel_shows(&now, cpus));
        prop_assert_eq!(bitmap_parse(&format!("{written}\n"), cpus), Ok(wanted.clone()));
        let shown = as_the_kernel_shows(&wanted, cpus);
        prop_assert_eq!(Format::Mask.normalise(&shown), Ok(list));
    }
}
