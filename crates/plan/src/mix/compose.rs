//! From recipes to the requests of the tape.

use super::interleave::{interleaved, reduced};
use super::template::{Draws, Tables, Template};
use super::{MixError, ReadFile};
use model::check::Checks;
use model::load::{MixTarget, Request};
use model::random::Random;

/// Most requests of one tape.
pub const REQUESTS_MAX: u64 = 100_000;
/// Most bytes of all requests of one tape.
pub const BYTES_MAX: u64 = 64 * 1024 * 1024;
/// Rough size of a request without its path, headers and body, bytes.
const REQUEST_BYTES: usize = 64;

/// One target as it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recipe {
    /// Name in results; method and path when absent.
    pub name: Option<String>,
    /// Its share, as a part of the sum of all weights; at least 1.
    pub weight: u32,
    /// Method; POST with a body, else GET, when absent.
    pub method: Option<String>,
    /// URL, or path.
    pub url: String,
    /// Headers in order.
    pub headers: Vec<(String, String)>,
    /// Body.
    pub body: Option<Vec<u8>>,
    /// What a good response must be like.
    pub checks: Checks,
    /// Where it was written, for errors.
    pub place: String,
}

impl Recipe {
    /// A plain request of weight 1.
    pub fn new(url: String, place: String) -> Self {
        let (headers, checks) = (Vec::new(), Checks::default());
        Self { name: None, weight: 1, method: None, url, headers, body: None, checks, place }
    }
}

/// A mix that is ready to send.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Composed {
    /// In sending order: one period of the tape.
    pub requests: Vec<Request>,
    /// By number of [`Request::target`].
    pub targets: Vec<MixTarget>,
}

/// Everything about a target that may differ between its requests.
struct Mould {
    method: String,
    host: String,
    path: Template,
    headers: Vec<(Template, Template)>,
    body: Template,
}

/// Puts recipes, whose URLs are already paths, in one order. With `expansions` texts are templates,
/// and the tape is that many requests long, rounded up so that every target keeps its exact share.
pub fn compose(
    recipes: &[Recipe],
    host: &str,
    expansions: Option<u64>,
    seed: u64,
    read: ReadFile,
) -> Result<Composed, MixError> {
    let mut tables = Tables::default();
    let mut moulds = Vec::new();
    for recipe in recipes {
        let mut template = |text: &[u8]| match expansions {
            None => Ok(Template::plain(text)),
            Some(_) => Template::parse(text, &mut tables, read)
                .map_err(|error| MixError(format!("{}: {error}", recipe.place))),
        };
        moulds.push(Mould::new(recipe, host, &mut template)?);
    }
    let weights: Vec<_> = recipes.iter().map(|recipe| recipe.weight).collect();
    let weights = reduced(&weights);
    let cycles = cycles(&weights, &moulds, expansions)?;
    let targets = recipes.iter().map(|recipe| MixTarget {
        name: recipe.name.clone().unwrap_or_else(|| format!("{} {}", method(recipe), recipe.url)),
        weight: recipe.weight,
        checks: recipe.checks.clone(),
    });
    let (mut requests, mut bytes) = (Vec::new(), 0);
    let mut numbers = vec![0u64; recipes.len()];
    let order = interleaved(&weights, seed);
    for _ in 0..cycles {
        for &target in &order {
            let (mould, number) = (&moulds[target as usize], &mut numbers[target as usize]);
            let purpose = ((u64::from(target) + 1) << 32) | *number;
            let random = Random::new(seed, purpose);
            let mut source = Draws { number: *number, random, tables: &tables };
            let request = mould.fill(&mut source, target);
            *number += 1;
            bytes += size_of(&request) as u64;
            if bytes > BYTES_MAX {
                return Err(too_large(requests.len(), expansions));
            }
            requests.push(request);
        }
    }
    Ok(Composed { requests, targets: targets.collect() })
}

fn method(recipe: &Recipe) -> &str {
    let usual = if recipe.body.is_some() { "POST" } else { "GET" };
    recipe.method.as_deref().unwrap_or(usual)
}

/// How often the order of one cycle is repeated.
fn cycles(weights: &[u32], moulds: &[Mould], expansions: Option<u64>) -> Result<u64, MixError> {
    let cycle: u64 = weights.iter().map(|weight| u64::from(*weight)).sum();
    if cycle > REQUESTS_MAX {
        return Err(MixError(format!(
            "weights that add up to {cycle} without a common divisor need as many requests in \
             memory, and at most {REQUESTS_MAX} are taken; use rounder ones, for example 3 and 1 \
             instead of 299 and 101"
        )));
    }
    let Some(asked) = expansions else { return Ok(1) };
    if moulds.iter().all(Mould::is_plain) {
        return Err(MixError(
            "--expand is given, but path, headers and body have no template; for example \
             http://127.0.0.1:8083/read?id={{random:1..1000}}"
                .to_string(),
        ));
    }
    let cycles = asked.div_ceil(cycle);
    if cycles * cycle > REQUESTS_MAX {
        return Err(MixError(format!(
            "--expand {asked} makes {} requests in whole rounds of {cycle}, and at most \
             {REQUESTS_MAX} are kept in memory; for example --expand {}",
            cycles * cycle,
            REQUESTS_MAX / cycle * cycle
        )));
    }
    Ok(cycles)
}

fn size_of(request: &Request) -> usize {
    let headers = request.headers.iter().map(|(name, value)| name.len() + value.len() + 4);
    let head = request.method.len() + request.path.len() + headers.sum::<usize>();
    REQUEST_BYTES + head + request.body.len()
}

fn too_large(fit: usize, expansions: Option<u64>) -> MixError {
    let less = match expansions {
        Some(_) => format!("for example --expand {}", (fit / 2).max(1)),
        None => "use smaller bodies or rounder weights, for example 3 and 1".to_string(),
    };
    let mib = BYTES_MAX >> 20;
    MixError(format!("the requests exceed the limit of {mib} MiB; {fit} fit; {less}"))
}

impl Mould {
    fn new(
        recipe: &Recipe,
        host: &str,
        template: &mut dyn FnMut(&[u8]) -> Result<Template, MixError>,
    ) -> Result<Self, MixError> {
        let mut headers = Vec::new();
        for (name, value) in &recipe.headers {
            headers.push((template(name.as_bytes())?, template(value.as_bytes())?));
        }
        Ok(Self {
            method: method(recipe).to_string(),
            host: host.to_string(),
            path: template(recipe.url.as_bytes())?,
            headers,
            body: template(recipe.body.as_deref().unwrap_or_default())?,
        })
    }

    fn is_plain(&self) -> bool {
        let headers = self.headers.iter().all(|(name, value)| name.is_plain() && value.is_plain());
        headers && self.path.is_plain() && self.body.is_plain()
    }

    fn fill(&self, source: &mut Draws<'_>, target: u32) -> Request {
        let path = self.path.expand(source);
        let mut text =
            |template: &Template| String::from_utf8_lossy(&template.expand(source)).into_owned();
        let headers = self.headers.iter().map(|(name, value)| (text(name), text(value))).collect();
        Request {
            method: self.method.clone(),
            path: if self.path.is_plain() { lossy(&path) } else { escaped(&path) },
            host: self.host.clone(),
            headers,
            body: self.body.expand(source),
            target,
            ..Request::default()
        }
    }
}

fn lossy(text: &[u8]) -> String {
    String::from_utf8_lossy(text).into_owned()
}

/// Bytes that can be printed and that no URL can hold in a path or query (RFC 3986, appendix A);
/// brackets are left out, which servers take in queries.
const NOT_IN_URLS: &[u8] = b"#\"<>\\^`{|}";

/// A path with values in it: bytes that no URL can hold are written in percent form, all others
/// stay as they are.
fn escaped(path: &[u8]) -> String {
    let mut text = String::new();
    for &byte in path {
        if byte.is_ascii_graphic() && !NOT_IN_URLS.contains(&byte) {
            text.push(char::from(byte));
        } else {
            text.push_str(&format!("%{byte:02X}"));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recipe(url: &str, weight: u32) -> Recipe {
        Recipe { weight, ..Recipe::new(url.to_string(), "test".to_string()) }
    }

    fn made(recipes: &[Recipe], expansions: Option<u64>) -> Result<Composed, MixError> {
        let mut read = |_: &str| Ok("name\nJörg B\nx/y\n".as_bytes().to_vec());
        compose(recipes, "h:1", expansions, 42, &mut read)
    }

    #[test]
    fn a_mix_without_templates_is_one_exact_cycle() {
        let recipes = [recipe("/a{{seq}}", 30), recipe("/b", 10)];
        let composed = made(&recipes, None).unwrap();
        let paths: Vec<_> = composed.requests.iter().map(|one| one.path.as_str()).collect();
        assert_eq!(paths.iter().filter(|path| **path == "/a{{seq}}").count(), 3, "{paths:?}");
        assert_eq!((paths.len(), composed.targets[0].weight), (4, 30), "as exact as can be");
        assert_eq!(composed.targets[1].name, "GET /b");
    }

    #[test]
    fn templates_make_distinct_requests_in_whole_rounds() {
        let mut post = recipe("/p/{{csv:f:name}}?n={{seq}}", 2);
        post.body = Some(b"{\"id\":{{random:1..9}}}".to_vec());
        post.headers = vec![("X-Id".to_string(), "{{uuid}}".to_string())];
        let composed = made(&[post.clone(), recipe("/plain", 1)], Some(10)).unwrap();
        assert_eq!(composed.requests.len(), 12, "rounded up to whole rounds of three");
        let posts: Vec<_> = composed.requests.iter().filter(|one| one.target == 0).collect();
        assert_eq!(posts[0].path, "/p/J%C3%B6rg%20B?n=1");
        assert_eq!((posts[1].path.as_str(), posts.len()), ("/p/x/y?n=2", 8));
        assert_ne!(posts[0].headers, posts[1].headers);
        assert_eq!(posts[0].body.len(), "{\"id\":1}".len());
        let again = made(&[post, recipe("/plain", 1)], Some(10)).unwrap();
        assert_eq!(composed, again, "the seed repeats everything");
    }

    /// A server takes what follows `#` for a fragment, and serves another resource.
    #[test]
    fn a_value_cannot_end_the_path() {
        let mut read = |_: &str| Ok("name\nC#|a=1&b[]=%20/?\n".as_bytes().to_vec());
        let recipes = [recipe("/p/{{csv:f:name}}", 1)];
        let composed = compose(&recipes, "h:1", Some(1), 42, &mut read).unwrap();
        assert_eq!(composed.requests[0].path, "/p/C%23%7Ca=1&b[]=%20/?");
    }

    #[test]
    fn memory_is_bounded_before_it_is_taken() {
        let cases = [
            (vec![recipe("/a", 99_999), recipe("/b", 100_000)], None, "rounder"),
            (vec![recipe("/{{seq}}", 1)], Some(100_001), "--expand 100000"),
            (vec![recipe("/{{seq}}", 2), recipe("/", 1)], Some(100_000), "--expand 99999"),
            (vec![recipe("/plain", 1)], Some(10), "no template"),
        ];
        for (recipes, expansions, words) in cases {
            let error = made(&recipes, expansions).unwrap_err().to_string();
            assert!(error.contains(words) && error.contains("for example"), "{error}");
        }
        let mut large = recipe("/{{seq}}", 1);
        large.body = Some(vec![b'x'; 1 << 20]);
        let error = made(&[large], Some(100)).unwrap_err().to_string();
        assert!(error.contains("64 MiB") && error.contains("63 fit"), "{error}");
    }
}
