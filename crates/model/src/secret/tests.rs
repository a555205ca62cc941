//! Tests what is masked and what stays, and that no secret is left wherever it is planted.

use super::*;
use proptest::prelude::*;

fn list(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| word.to_string()).collect()
}

#[test]
fn names_tell_secrets() {
    for name in [
        "Authorization",
        "proxy-authorization",
        "COOKIE",
        "Set-Cookie",
        "x-api-key",
        "api_key",
        "apikey",
        "X-Auth-Token",
        "access_token",
        "client_secret",
        "DB_PASSWORD",
        "PGPASSWORD",
        "redisPasswd",
        "javax.net.ssl.keyStorePassword",
        "X-Amz-Signature",
        "sig",
        "sid",
        "user[password]",
        "aws_secret_access_key",
        "requirepass",
        "--masterauth",
        "userpass",
        "sasl_pwd",
        "--pat",
        "GITHUB_PAT",
        "license-key",
        "LICENSEKEY",
        "STRIPE_KEY",
        "encryption-keys",
    ] {
        assert!(is_secret(name), "{name}");
    }
    for name in [
        "Accept",
        "author",
        "key",
        "passive",
        "token-file",
        "--probe-token-file",
        "secret-header",
        "password_path",
        "token_type",
        "design",
        "GOMAXPROCS",
        "passage",
        "path",
        "pattern",
        "tls-key",
        "--ssl-key",
        "public_key",
        "primary-key",
        "fleet-keys",
        "monkey",
        "",
    ] {
        assert!(!is_secret(name), "{name}");
    }
}

#[test]
fn names_of_headers_tell_secrets() {
    for name in [
        "X-Functions-Key",
        "Ocp-Apim-Subscription-Key",
        "DD-API-KEY",
        "DD-APPLICATION-KEY",
        "X-Auth-Token",
        "X-Auth-Key",
        "X-Amz-Security-Token",
        "Private-Token",
        "X-Vault-Token",
        "X-Gitlab-Token",
        "X-Goog-Api-Key",
        "x_api_keys",
        "Key",
        "Cookie",
        "Authentication",
        "X-Hub-Signature-256",
        "X-Session",
        "X-SessionId",
        "x-sessionid",
        "X-Client-Secret",
        "X-Credential",
        "X-Password",
    ] {
        assert!(is_secret_header(name), "{name}");
        for name in [name.to_lowercase(), name.to_uppercase()] {
            let word = format!("-H{name}: QZX");
            let kept = Secrets::command(&list(&["ceiling", "load", &word]));
            assert_eq!(kept[2], format!("-H{name}: ***"));
        }
    }
    for name in [
        "Idempotency-Key",
        "X-Idempotency-Key",
        "Sec-WebSocket-Key",
        "sec-websocket-key",
        "X-Cache-Key",
        "Surrogate-Key",
        "X-Key-Type",
        "X-Monkey",
        "Keep-Alive",
        "Accept",
        "Author",
        "Content-Length",
        "X-Request-Id",
        "Tokyo",
        "",
    ] {
        assert!(!is_secret_header(name), "{name}");
    }
    let shown = ["ceiling", "load", "-H", "Idempotency-Key: a1", "-HX-MasterKey: QZX"];
    let kept = Secrets::command(&list(&shown));
    assert_eq!(kept[3..], ["Idempotency-Key: a1", "-HX-MasterKey: ***"]);
}

#[test]
fn urls_and_assignments_are_masked_and_the_rest_stays() {
    for (typed, kept) in [
        ("-x", "-x"),
        ("http://h:1/", "http://h:1/"),
        ("http://u@h:1/", "http://***@h:1/"),
        ("http://tok:@h/", "http://***@h/"),
        ("postgres://u@h:1/db", "postgres://u@h:1/db"),
        ("redis://:pw@h", "redis://:***@h"),
        ("--proxy=http://u:p@h:1", "--proxy=http://u:***@h:1"),
        ("http://u:p:q@h:1/a?b=http://x:y@z", "http://u:***@h:1/a?b=http://x:***@z"),
        ("postgres://u:p/a?s#s@h:5/db?x=1", "postgres://u:***@h:5/db?x=1"),
        ("http://h/a:b@c", "http://h/a:b@c"),
        ("http://[::1]:80/a@b", "http://[::1]:80/a@b"),
        ("http://token:80/secret/x", "http://token:80/secret/x"),
        ("/x?key=a&page=2", "/x?key=***&page=2"),
        ("/x?a=1&access_token=a;b&sig=c%20d#e", "/x?a=1&access_token=***&sig=***"),
        ("/x?tokens[]=a", "/x?tokens[]=***"),
        (
            "/x?subscription-key=a&application_key=b&n=1",
            "/x?subscription-key=***&application_key=***&n=1",
        ),
        (
            "/x?X-Amz-Credential=a&X-Amz-Security-Token=b",
            "/x?X-Amz-Credential=***&X-Amz-Security-Token=***",
        ),
        ("/x?PHPSESSID=a&sessionid=b&page=2", "/x?PHPSESSID=***&sessionid=***&page=2"),
        ("/x;jsessionid=a", "/x;jsessionid=***"),
        ("host=db user=me password=pw dbname=x", "host=db user=me password=*** dbname=x"),
        ("password = 'a \\' b' dbname=x", "password = '***' dbname=x"),
        (r#"{"password": "a\"b", "n": 1}"#, r#"{"password": "***", "n": 1}"#),
        (r#"{\"token\":\"a\",\"n\":1}"#, r#"{\"token\":\"***\",\"n\":1}"#),
        ("Authorization: Bearer a b", "Authorization: ***"),
        ("auth with bearer abc, then", "auth with bearer *** then"),
        ("errors<1%,p99<2ms", "errors<1%,p99<2ms"),
        ("KEY=a", "KEY=a"),
        ("/x?api%5Fkey=a&b=c", "/x?api%5Fkey=***&b=c"),
        ("/x?%61ccess%255Ftoken=a", "/x?%61ccess%255Ftoken=***"),
        ("/x?k%65y=a&p%=b", "/x?k%65y=***&p%=b"),
        ("me:s1@127.0.0.1:3128", "me:***@127.0.0.1:3128"),
        ("root:s/1@2@tcp(db:3306)/x?a=b", "root:***@tcp(db:3306)/x?a=b"),
        ("dsn=root:s1@unix(/run/db)/x, 'me:s2@h'", "dsn=root:***@unix(/run/db)/x, 'me:***@h'"),
        ("DOMAIN\\me:s1@h", "DOMAIN\\me:***@h"),
        ("1k:20k/2s@5s", "1k:20k/2s@5s"),
        ("a@b.test and localhost:80", "a@b.test and localhost:80"),
    ] {
        assert_eq!(text(typed), kept);
    }
}

#[test]
fn command_lines_of_servers_are_masked() {
    let typed = list(&[
        "/srv/app",
        "--db",
        "postgres://u:s1@db/x",
        "--password",
        "s2",
        "--token=s3",
        "PGPASSWORD=s4 s4",
        "-Dkey.password=s5",
        "--api-key",
        "--verbose",
        "-H",
        "X-Auth: s6",
        "-u",
        "me:s7",
        "--token-file",
        "/etc/token",
        "--listeners",
        "2",
    ]);
    let kept = words(&typed).join(" ");
    assert_eq!(
        kept,
        "/srv/app --db postgres://u:***@db/x --password *** --token=*** PGPASSWORD=*** \
         -Dkey.password=*** --api-key --verbose -H X-Auth: *** -u me:*** --token-file /etc/token \
         --listeners 2"
    );
}

#[test]
fn passwords_behind_letters_and_in_whole_command_lines_are_masked() {
    for (typed, kept) in [
        (
            "redis-server --requirepass s1 --masterauth s2",
            "redis-server --requirepass *** --masterauth ***",
        ),
        (
            "app --pat s1 --license-key=s2 --dsn u:s3@tcp(h)/d",
            "app --pat *** --license-key=*** --dsn u:***@tcp(h)/d",
        ),
        ("app --dsn=u:s3@tcp(h)/d -v", "app --dsn=u:***@tcp(h)/d -v"),
        ("/usr/bin/mysql -u root -ps1 -h db", "/usr/bin/mysql -u root -p*** -h db"),
        ("mysqldump -p s1 shop", "mysqldump -p *** shop"),
        ("docker exec db redis-cli -a s1 ping", "docker exec db redis-cli -a *** ping"),
        ("nginx -p /srv -c a.conf", "nginx -p /srv -c a.conf"),
    ] {
        let split: Vec<&str> = typed.split(' ').collect();
        assert_eq!(words(&list(&split)).join(" "), kept);
        // In one word for a shell.
        let shell = words(&list(&["sh", "-c", typed]));
        assert_eq!(shell[2], kept);
    }
    let ours = |words: &[&str]| Secrets::command(&list(words)).join(" ");
    assert_eq!(ours(&["load", "-xme:s1@h:1"]), "load -xme:***@h:1");
    assert_eq!(ours(&["load", "--proxy", "me:s1@h:1"]), "load --proxy me:***@h:1");
    assert_eq!(ours(&["load", "me:s1@h:1/a"]), "load me:***@h:1/a");
    assert_eq!(ours(&["load", "--spike", "1k:20k/2s@5s"]), "load --spike 1k:20k/2s@5s");
}

#[test]
fn our_own_command_line_is_masked() {
    let typed = list(&[
        "ceiling",
        "load",
        "http://h/?token=s1&n=1",
        "-HAuthorization: s2",
        "-qLH",
        "cookie: s3",
        "-H=X-Api-Key:s4",
        "--header=X-Mine: s5",
        "--secret-header",
        "x-mine",
        "-H",
        "Accept: a/b",
        "-H",
        "typed wrong s6",
        "-b",
        "s7",
        "-kbs8",
        "--body=s9",
        "-x",
        "http://u:s0@p:1",
        "--probe-token-file",
        "probe.token",
        "--connect-to",
        "token.test:80:127.0.0.1:1",
        "-c8",
    ]);
    let kept = Secrets::command(&typed).join(" ");
    assert_eq!(
        kept,
        "ceiling load http://h/?token=***&n=1 -HAuthorization: *** -qLH cookie: *** \
         -H=X-Api-Key:*** --header=X-Mine: *** --secret-header x-mine -H Accept: a/b -H *** -b *** \
         -kb*** --body=*** -x http://u:***@p:1 --probe-token-file probe.token --connect-to \
         token.test:80:127.0.0.1:1 -c8"
    );
    let pieces = Secrets::of_command(&list(&["ceiling", "-H", "Authorization: Bearer abcd"]));
    assert_eq!(pieces, ["Bearer abcd", "abcd"]);
    assert_eq!(without("no 'abcd' here", &pieces), "no '***' here");
    let unquoted = list(&["ceiling", "load", "-H", "X-Api-Key:", "abcd"]);
    assert_eq!(Secrets::of_command(&unquoted), ["abcd"]);
}

#[test]
fn a_mask_in_the_place_of_a_secret_is_noticed() {
    let missing = |words: &[&str]| Secrets::missing(&list(words)).cloned();
    assert_eq!(missing(&["load", "-H", "Cookie: ***"]), Some("Cookie: ***".to_string()));
    assert_eq!(missing(&["load", "http://h/?key=***"]), Some("http://h/?key=***".to_string()));
    assert_eq!(missing(&["load", "-b", "***"]), Some("***".to_string()));
    assert_eq!(missing(&["load", "-b", "a***b", "-H", "Cookie: a"]), None);
    assert_eq!(missing(&["load", "--check-body", "***"]), None, "it may be what a response has");
}

/// A secret as people choose them: anything but what ends a word.
const ANY: &str = "[QZXJ]{4,8}[!-%(-.0-9:;<=A-Z^_a-z|~+/?#é]{0,12}[QZXJ]{4,8}";

/// The parts of a secret that are letters: none of them may be left.
fn is_left(secret: &str, kept: &[String]) -> bool {
    let runs = secret.split(|letter: char| !"QZXJ".contains(letter));
    let mut runs = runs.filter(|run| run.len() >= 4);
    runs.any(|run| kept.iter().any(|word| word.contains(run)))
}

proptest! {
    #[test]
    fn no_secret_is_left_in_a_command_of_ours(secret in ANY, name in "[A-Za-z][A-Za-z-]{0,8}") {
        let header = format!("x-{name}");
        for words in [
            vec!["-H".to_string(), format!("Authorization: Bearer {secret}")],
            vec![format!("-HX-Api-Key: {secret}")],
            vec![format!("-kqH=Cookie: a={secret}")],
            vec![format!("--header=Proxy-Authorization:{secret}")],
            vec![format!("--secret-header={header}"), "-H".into(), format!("{header}:{secret}")],
            vec!["-b".to_string(), secret.clone()],
            vec![format!("-Lb{secret}")],
            vec![format!("--body={secret}")],
        ] {
            let words = [list(&["ceiling", "load", "http://h/"]), words].concat();
            let kept = Secrets::command(&words);
            prop_assert!(!is_left(&secret, &kept), "{kept:?}");
            let pieces = Secrets::of_command(&words);
            let said = without(&format!("'{secret}' is wrong"), &pieces);
            prop_assert!(!is_left(&secret, std::slice::from_ref(&said)), "{said}");
        }
    }

    #[test]
    fn no_secret_is_left_in_a_command_of_a_server(
        secret in ANY,
        name in "(db|my|redis)?[-_]?(password|passwd|token|secret|api[-_]?key)",
    ) {
        for words in [
            vec![format!("--{name}"), secret.clone()],
            vec![format!("-{name}={secret}")],
            vec![format!("{}={secret}", name.to_uppercase())],
            vec![format!("{{\"{name}\": \"{}\"}}", secret.replace('"', "\\\""))],
            vec!["-u".to_string(), format!("me:{secret}")],
        ] {
            let kept = super::words(&words);
            prop_assert!(!is_left(&secret, &kept), "{words:?} {kept:?}");
        }
    }

    #[test]
    fn no_secret_is_left_in_a_url(
        secret in "[QZXJ]{4,8}[!$(-,.0-9;<=A-Z^_a-z|~%+é]{0,12}[QZXJ]{4,8}",
        name in "token|key|password|access_token|sig|api_key|client_secret|X-Amz-Signature",
    ) {
        for url in [
            format!("http://h:80/a?{name}={secret}"),
            format!("/a?x=1&{name}={secret}&y=2"),
            format!("https://{secret}@h/"),
            format!("postgres://me:{secret}@h:5432/db?sslmode=off"),
            format!("amqp://me:Q{secret}/{secret}@h/v"),
            format!("me:{secret}@h:3128"),
            format!("me:{secret}@tcp(h:3306)/db"),
            format!("/a?x=1&{}={secret}", name.replace('_', "%5f").replace('k', "%6B")),
        ] {
            let kept = text(&url);
            prop_assert!(!is_left(&secret, std::slice::from_ref(&kept)), "{url} {kept}");
        }
    }

    #[test]
    fn a_mask_is_made_of_any_text_and_made_once(line in "\\PC{0,60}") {
        let kept = text(&line);
        prop_assert_eq!(text(&kept), kept);
        let words: Vec<String> = line.split(' ').map(str::to_string).collect();
        prop_assert_eq!(Secrets::command(&words).len(), words.len());
    }
}
