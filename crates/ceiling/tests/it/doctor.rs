//! Whether this host is fit depends on the host; that the exit code agrees with the document does
//! not.

use crate::harness::run;

#[test]
fn the_exit_code_is_what_the_checks_say() {
    let said = run(&["doctor", "--duration", "300ms", "--json"]);
    let checkup = said.record();
    assert_eq!(checkup["schema"], "ceiling.checkup/1");
    let checks = checkup["checks"].as_array().unwrap();
    let is_unfit = checks.iter().any(|check| check["fitness"] == "unfit");
    assert_eq!(said.code, if is_unfit { 4 } else { 0 }, "{checkup}");
    assert_eq!(checkup["fit"], !is_unfit);
    for check in checks {
        let is_told = ["caution", "unfit"].contains(&check["fitness"].as_str().unwrap());
        let has = |field: &str| !check[field].as_str().unwrap().is_empty();
        assert!(has("name") && has("found"), "{check}");
        assert_eq!((has("cost"), has("change")), (is_told, is_told), "{check}");
    }
    let text = run(&["doctor", "--duration", "100ms"]).stdout;
    assert!(text.contains("FIT TO MEASURE ON"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
}
