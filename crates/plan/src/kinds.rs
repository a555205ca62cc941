//! Every kind of value that the options of load take.

use crate::secure::{Proxy, Resuming, Versions};
use crate::typed::{Kind, Typed};
use crate::values;
use crate::way_syntax::{ConnectTo, Given, Sources};
use model::across::Bound;
use model::check::{Digest, Json, Lengths, Needle, Statuses};
use model::objective::Objective;

macro_rules! foreign {
    ($($name:ty, $takes:literal, $example:literal;)*) => {
        $(impl Typed for $name {
            const TAKES: &'static str = $takes;
            const EXAMPLE: &'static str = $example;
        })*

        /// Every kind of value that the options of load take.
        pub fn kinds() -> Vec<Kind> {
            [values::kinds(), vec![$(Kind::of::<$name>()),*]].concat()
        }
    };
}

foreign! {
    Bound, "a figure and a change in percent", "'rate<-3%'";
    Objective, "what must hold", "'p99<2ms,errors<0.1%'";
    Statuses, "a list of statuses", "2xx,304";
    Lengths, "a length or a range", "100..4k";
    Needle, "a text", "'\"ok\":true'";
    Digest, "a SHA-256", "$(sha256sum body | head -c 64)";
    Json, "a JSON object", "'{\"id\":7}'";
    Sources, "local addresses, a net, or auto", "127.0.0.1,127.0.0.2";
    ConnectTo, "hosts and ports", "example.test:80:127.0.0.1:8083";
    Given, "a host, a port and addresses", "example.test:80:127.0.0.1";
    Proxy, "the URL of an HTTP proxy", "http://127.0.0.1:3128";
    Resuming, "on, off or a whole number from 1", "off";
    Versions, "1.2, 1.3 or 1.2..1.3", "1.3";
}
