//! Every claim against its seeds, against each of their beginnings, and against bytes at random.

use flate2::read::GzDecoder;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

/// A claim by the name of its fuzz target.
type Claim = (&'static str, fn(&[u8]));

const CLAIMS: [Claim; 19] = [
    ("archives", claims::archives::hold),
    ("fleet_messages", claims::fleet_messages::hold),
    ("flows", claims::flows::hold),
    ("foreign_outputs", claims::foreign_outputs::hold),
    ("http1_oracle", claims::http1_oracle::hold),
    ("http1_pieces", claims::http1_pieces::hold),
    ("http2_headers", claims::http2_headers::hold),
    ("http2_pieces", claims::http2_pieces::hold),
    ("http2_requests", claims::http2_requests::hold),
    ("kernel_types", claims::kernel_types::hold),
    ("nats_protocol", claims::nats_protocol::hold),
    ("pages", claims::pages::hold),
    ("plans", claims::plans::hold),
    ("probe_parsers", claims::probe_parsers::hold),
    ("profiles", claims::profiles::hold),
    ("remote_frames", claims::remote_frames::hold),
    ("simulation", claims::simulation::hold),
    ("sse_pieces", claims::sse_pieces::hold),
    ("typed_values", claims::typed_values::hold),
];

/// Beginnings of a seed, from nothing to all of it.
const CUTS: usize = 200;

/// Inputs at random for each claim, and for the one that draws whole pages.
const RANDOM: usize = 2000;
const PAGES: usize = 60;

fn seeds(name: &str) -> Vec<Vec<u8>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let folder = match name {
        "foreign_outputs" => root.join("bench/fixtures"),
        "pages" => return documents(&root),
        "probe_parsers" => root.join("crates/probe/fixtures/linux-6.18-vm"),
        _ => root.join("fuzz/seeds").join(name),
    };
    let mut files: Vec<_> =
        fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()).collect();
    files.sort();
    files.iter().filter(|path| path.is_file()).map(|path| fs::read(path).unwrap()).collect()
}

/// The documents of the results of this repository's journal.
fn documents(root: &Path) -> Vec<Vec<u8>> {
    let inside = |folder: PathBuf| {
        let entries = fs::read_dir(folder).into_iter().flatten();
        entries.map(|entry| entry.unwrap().path()).collect::<Vec<PathBuf>>()
    };
    let results =
        inside(root.join("journal")).into_iter().flat_map(|one| inside(one.join("results")));
    let mut files: Vec<_> = results.map(|result| result.join("experiment.json.gz")).collect();
    files.sort();
    let plain = |path: &PathBuf| {
        let mut bytes = Vec::new();
        GzDecoder::new(fs::File::open(path).unwrap()).read_to_end(&mut bytes).unwrap();
        bytes
    };
    files.iter().map(plain).collect()
}

#[test]
fn every_claim_holds_for_its_seeds_and_their_beginnings() {
    for (name, hold) in CLAIMS {
        let seeds = seeds(name);
        assert!(!seeds.is_empty(), "{name} has no seeds");
        for seed in seeds {
            (0..=CUTS).for_each(|cut| hold(&seed[..seed.len() * cut / CUTS]));
        }
    }
}

#[test]
fn every_claim_holds_for_bytes_at_random() {
    // Xorshift: the same bytes each time, so that what fails once fails again.
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    for (name, hold) in CLAIMS {
        for _ in 0..if name == "pages" { PAGES } else { RANDOM } {
            let length = next() % 300;
            let bytes: Vec<u8> = (0..length).map(|_| next() as u8).collect();
            hold(&bytes);
        }
    }
}

/// One value of each document of the journal at a time: bytes at random change the fixtures.
#[test]
fn pages_of_results_are_drawn_whatever_one_value_is() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    for (nth, document) in documents(&root).into_iter().enumerate() {
        let count = claims::pages::values(&serde_json::from_slice(&document).unwrap());
        for step in 0..5 {
            let at = ((nth * 7919 + step * 104_729) % count) as u16;
            let kind = (nth + step) as u8;
            let change = [&[1][..], &at.to_le_bytes(), &[kind], &document].concat();
            claims::pages::hold(&change);
        }
    }
}
