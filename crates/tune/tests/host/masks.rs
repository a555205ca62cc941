//! The model of the kernel's parser of masks against this kernel.

use crate::bitmap::{OF_TWO_CPUS, as_the_kernel_shows, bitmap_parse};
use crate::namespace;
use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use tune::{CpuSet, Format, Host};

#[test]
fn this_kernel_takes_and_refuses_what_the_model_says() {
    namespace::with_four_queues(|| {
        let host = Host::look(Default::default());
        let cpus = host.cpus_possible.iter().next_back().unwrap() + 1;
        let path = "/sys/class/net/v0/queues/rx-0/rps_cpus";
        let shown = || fs::read_to_string(path).unwrap();
        let before = shown();
        assert_eq!(before, as_the_kernel_shows(&BTreeSet::new(), cpus));
        let wide = ["ffffffff,ffffffff,ffffffff,ffffffff", "1,00000000", ",,1", "1,", "123456789"];
        let texts = OF_TWO_CPUS.iter().map(|(text, _)| *text).chain(wide);
        for text in texts {
            let mut file = fs::OpenOptions::new().write(true).open(path).unwrap();
            let written = file.write(text.as_bytes());
            let response = written.map_err(|error| error.raw_os_error().unwrap());
            let meant = bitmap_parse(text, cpus);
            assert_eq!(response.map(drop), meant.clone().map(drop), "{text:?} on {cpus} CPUs");
            let Ok(meant) = meant else { continue };
            // RPS leaves out CPUs that are not online; here all possible CPUs are online, or none
            // is named.
            assert_eq!(shown(), as_the_kernel_shows(&meant, cpus), "{text:?}");
        }
        let all: CpuSet = (0..cpus).collect();
        fs::write(path, Format::Mask.bytes(&all.list(), &before)).unwrap();
        assert_eq!(Format::Mask.normalise(&shown()).unwrap(), all.list());
    });
}
