//! Command lines and recorded output of each generator.

use super::*;

fn ask() -> Ask {
    Ask {
        url: "http://127.0.0.1:8083/".into(),
        rate: 1000,
        connections: 256,
        seconds: 20,
        scratch: "out/bench/scratch".into(),
    }
}

fn of(name: &str) -> String {
    let generator = GENERATORS.iter().find(|generator| generator.name == name).unwrap();
    (generator.arguments)(&ask()).join(" ")
}

#[test]
fn templates_are_filled_and_peers_exist() {
    for generator in GENERATORS {
        let report = generator.report.map_or(Words::new(), |report| report(&ask()));
        let line = (generator.arguments)(&ask()).join(" ") + &report.join(" ");
        assert!(!line.contains(['{', '}']), "{line}");
        let is_ours = generator.program == Program::Ceiling;
        assert!(is_ours || generator.peer().is_some(), "{} is no peer", generator.name);
    }
    assert_eq!(
        of("ceiling fixed"),
        "load -t 1 -c 256 -d 20s -R 1000 --warmup 0 --runs none -q --json --arrivals fixed \
         http://127.0.0.1:8083/"
    );
    assert!(of("h2load").contains("--rps 3.90625 "), "{}", of("h2load"));
}

#[test]
fn percentiles_are_read_from_what_each_program_printed() {
    let oha = oha(include_str!("../../../fixtures/oha.json")).unwrap();
    assert_eq!(oha, [Some(241_692), Some(897_541), Some(3_004_529), Some(4_869_342)]);

    let printed = "  Latency Distribution (HdrHistogram - Recorded Latency)\n 50.000%  780.00us\n \
                   75.000%    1.02ms\n 90.000%    1.47ms\n 99.000%   89.98ms\n 99.900%    1.10s\n";
    let expected = [Some(780_000), Some(1_470_000), Some(89_980_000), Some(1_100_000_000)];
    assert_eq!(wrk2(printed).unwrap(), expected);

    let plot = "Value(ms)  Percentile  TotalCount  1/(1-Percentile)\n0.051 0.500000 5 2.0\n\
                0.061 0.900000 9 10.0\n89.9 0.990000 99 100.0\n99.0 0.999000 999 1000.0\n";
    let expected = [Some(51_000), Some(61_000), Some(89_900_000), Some(99_000_000)];
    assert_eq!(vegeta(plot).unwrap(), expected);

    let metrics = include_str!("../../../fixtures/k6-truth.json");
    let expected = [Some(137_994), Some(7_957_692), Some(91_051_973), Some(100_091_610)];
    assert_eq!(k6(metrics).unwrap(), expected);

    let log = include_str!("../../../fixtures/h2load-log.tsv");
    assert_eq!(h2load(log).unwrap(), [Some(172_000), None, None, None]);
    let log: String = (1..=1_000).map(|us| format!("170000000\t200\t{us}\n")).collect();
    let expected = [Some(500_000), Some(900_000), Some(990_000), None];
    assert_eq!(h2load(&log).unwrap(), expected);

    let record = r#"{"points":[{"latency_ns":{"p50":1,"p90":2,"p99":3,"p99_9":null}}]}"#;
    assert_eq!(ceiling(record).unwrap(), [Some(1), Some(2), Some(3), None]);
}

#[test]
fn output_of_another_form_is_an_error_and_not_a_zero() {
    for read in [ceiling, wrk2, oha, k6, vegeta, h2load] {
        for output in ["", "{}", "unable to connect"] {
            assert!(read(output).is_err(), "{output}");
        }
    }
}

#[test]
fn a_gate_of_ours_that_broke_leaves_a_record() {
    assert!(GENERATORS[0].accepts(Some(4)) && !GENERATORS[0].accepts(Some(2)));
    assert!(!GENERATORS[2].accepts(Some(4)) && !GENERATORS[2].accepts(None));
}
