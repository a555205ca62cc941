//! What a point is about: what makes its load, what its main rate counts, and which times are its
//! main ones.
//!
//! For: everything that differs between a load of requests, of connections and of events.
//! In: a point. Out: its main figures, and the words for them.
//! Never: anything that is the same for all subjects.

use crate::fanout::EventInfo;
use crate::figure::Figure;
use crate::histogram::Summary;
use crate::load::{Hold, Life, LoadModel};
use crate::run::{FEW_RESPONSES, Point, RequestInfo, StartInfo, TurnoverInfo};
use crate::standing::Standing;
use crate::units::show_count;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// What a point is about.
#[derive(Debug, Clone, PartialEq)]
pub enum Subject {
    /// Requests; with the connections that came and went meanwhile, where each of them ends after
    /// some requests.
    Requests(Option<TurnoverInfo>),
    /// Connections of devices, which are opened, held for some time, and closed.
    Connections(TurnoverInfo),
    /// Connections of devices, which are opened once and held to the end. They are open before the
    /// window begins, whose rates are zero.
    Held(TurnoverInfo),
    /// Events that subscribers received; all other figures are those of the writers.
    Events(EventInfo),
}

/// What the parts and the figures of a subject are called.
#[derive(Debug)]
pub struct Words {
    /// One connection of the load.
    pub one: &'static str,
    /// Heading over the number of them.
    pub heading: &'static str,
    /// Unit of the load in closed loop.
    pub load: &'static str,
    /// Unit of the load in open loop.
    pub asked: &'static str,
    /// Heading over the main rate; over the number of connections where they are only held.
    pub rate: &'static str,
    /// What stands before the first statistic of the times.
    pub times_are: &'static str,
    /// What the main times are, where no run keeps their distribution.
    pub times: Option<&'static str>,
    /// The load of the knee, and what more of it does.
    pub knee: &'static str,
}

const OF_REQUESTS: Words = Words {
    one: "connection",
    heading: "conns",
    load: "in flight",
    asked: "requests/s asked for",
    rate: "rate/s",
    times_are: "",
    times: None,
    knee: "in flight; more load only adds latency",
};

const OF_CONNECTIONS: Words = Words {
    one: "device",
    heading: "devices",
    load: "devices",
    asked: "connections/s asked for",
    rate: "conns/s",
    times_are: "connect ",
    times: Some("times to connect"),
    knee: "devices; more only add connect time",
};

const OF_HELD: Words = Words { rate: "opened", ..OF_CONNECTIONS };

const OF_EVENTS: Words = Words {
    one: "subscriber",
    heading: "subs",
    rate: "events/s",
    times_are: "stale ",
    times: Some("the staleness of events"),
    ..OF_REQUESTS
};

impl Subject {
    /// That of a load whose connections live like this.
    pub fn of_life(life: Option<&Life>, turnover: Option<TurnoverInfo>) -> Self {
        match (life.and_then(|life| life.hold), turnover) {
            (Some(Hold::Forever), Some(turnover)) => Self::Held(turnover),
            (Some(Hold::For { .. }), Some(turnover)) => Self::Connections(turnover),
            (_, turnover) => Self::Requests(turnover),
        }
    }
}

/// A point as one of the things that it counts.
#[derive(Clone, Copy)]
pub struct Account<'a> {
    /// The point.
    pub point: &'a Point,
    of: Of<'a>,
}

#[derive(Clone, Copy)]
enum Of<'a> {
    Requests,
    Connections(&'a TurnoverInfo),
    Held(&'a TurnoverInfo),
    Events(&'a EventInfo),
}

impl<'a> Account<'a> {
    /// Good responses, connections or events per second.
    pub fn rate(self) -> f64 {
        match self.of {
            Of::Requests => self.point.rate,
            Of::Connections(turnover) | Of::Held(turnover) => turnover.rate,
            Of::Events(events) => events.rate,
        }
    }

    /// Share of what was sent to this host that arrived, 0 to 1, where that can be known.
    pub fn delivery(self) -> Option<f64> {
        match &self.point.subject {
            Subject::Events(events) => events.delivery_share,
            Subject::Requests(_) | Subject::Connections(_) | Subject::Held(_) => None,
        }
    }

    /// What was sent to this host and did not arrive, and all that was sent, where that can be
    /// known.
    pub fn missing(self) -> Option<(u64, u64)> {
        match &self.point.subject {
            Subject::Events(events) => events.delivery.map(|of| (of.missing, of.meant)),
            Subject::Requests(_) | Subject::Connections(_) | Subject::Held(_) => None,
        }
    }

    /// Latency of requests; time to connect, from the planned instant where there is one; staleness
    /// of events, where it is known.
    pub fn times(self) -> Option<&'a Summary> {
        match self.of {
            Of::Requests => Some(&self.point.latency_ns),
            Of::Connections(turnover) => Some(turnover.connect_times()),
            // They were opened before the window.
            Of::Held(_) => Some(&self.point.connections.connect_ns),
            Of::Events(events) => events.staleness_ns.as_ref(),
        }
    }

    /// The least that its times can be, where requests without a good response stand at the time
    /// that they are known to have waited.
    pub fn times_at_least(self) -> Option<&'a Summary> {
        matches!(self.of, Of::Requests).then_some(self.point.latency_at_least_ns.as_ref()).flatten()
    }

    /// How far a figure holds. The standings of a point are about requests; those of its other
    /// figures stand for all that it counts.
    pub fn standing(self, figure: Figure) -> Standing {
        match self.of {
            Of::Requests => self.point.standing.of(figure).clone(),
            _ if !figure.is_latency() => self.point.standing.of(figure).clone(),
            Of::Connections(turnover) => {
                let starts = turnover.starts.as_ref();
                starts.map_or(Standing::Sound, |starts| starts.standing(figure))
            }
            Of::Held(_) | Of::Events(_) => Standing::Sound,
        }
    }

    /// CPU time of the generator and of the server for one request or event, microseconds; that for
    /// one connection is not known.
    pub fn costs(self) -> (Option<f64>, Option<f64>) {
        match self.of {
            Of::Events(events) => (events.client_us_per_event, events.server_us_per_event),
            _ => {
                let cpu = &self.point.cpu;
                (cpu.client_us_per_request, cpu.server_us_per_request)
            }
        }
    }

    /// What the figures lack of what was asked for, and how much that was: connections that were
    /// never open, else requests that failed or were unanswered.
    pub fn failures(self) -> (u64, u64) {
        let (requests, connections) = (&self.point.requests, &self.point.connections);
        match self.of {
            Of::Requests | Of::Events(_) => (requests.failed + requests.unanswered, requests.sent),
            Of::Connections(turnover) => match &turnover.starts {
                Some(starts) => (starts.missed(), starts.due()),
                None => (turnover.failed, turnover.begun),
            },
            Of::Held(_) => {
                (connections.asked.saturating_sub(connections.opened), connections.asked)
            }
        }
    }

    /// What its parts and figures are called.
    pub fn words(self) -> &'static Words {
        match self.of {
            Of::Requests => &OF_REQUESTS,
            Of::Connections(_) => &OF_CONNECTIONS,
            Of::Held(_) => &OF_HELD,
            Of::Events(_) => &OF_EVENTS,
        }
    }
}

/// A subject as the record has it.
#[derive(Serialize, Deserialize)]
struct Keys<Turnover, Events> {
    turnover: Option<Turnover>,
    events: Option<Events>,
}

impl Serialize for Subject {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (turnover, events) = match self {
            Self::Requests(turnover) => (turnover.as_ref(), None),
            Self::Connections(turnover) | Self::Held(turnover) => (Some(turnover), None),
            Self::Events(events) => (None, Some(events)),
        };
        Keys { turnover, events }.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Subject {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Keys { turnover, events } = Keys::deserialize(deserializer)?;
        Ok(events.map_or(Self::Requests(turnover), Self::Events))
    }
}

impl Serialize for Point {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Self::serialize(self, serializer)
    }
}

impl<'de> Deserialize<'de> for Point {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut point = Self::deserialize(deserializer)?;
        // Whether the connections were devices is said by the load.
        if let Subject::Requests(turnover) = &mut point.subject {
            point.subject = Subject::of_life(point.load.life.as_ref(), turnover.take());
        }
        Ok(point)
    }
}

impl Point {
    /// The connections that came and went, where they have a planned life.
    pub fn turnover(&self) -> Option<&TurnoverInfo> {
        match &self.subject {
            Subject::Requests(turnover) => turnover.as_ref(),
            Subject::Connections(turnover) | Subject::Held(turnover) => Some(turnover),
            Subject::Events(_) => None,
        }
    }

    /// The connections of devices.
    pub fn devices(&self) -> Option<&TurnoverInfo> {
        self.turnover().filter(|_| !self.is_of_requests())
    }

    /// Whether connections and not requests are counted.
    pub fn is_of_devices(&self) -> bool {
        self.devices().is_some()
    }

    /// Connections that were planned, where there are any.
    pub fn starts(&self) -> Option<&StartInfo> {
        self.turnover()?.starts.as_ref()
    }

    /// The events of a fan-out.
    pub fn events(&self) -> Option<&EventInfo> {
        if let Subject::Events(events) = &self.subject { Some(events) } else { None }
    }

    /// Whether the main figures are those of requests.
    pub fn is_of_requests(&self) -> bool {
        matches!(self.subject, Subject::Requests(_))
    }

    /// Whether what the server sends by itself is counted.
    pub fn is_of_arrivals(&self) -> bool {
        !self.is_of_requests() && !self.is_of_devices()
    }

    /// Whether connections are opened once and stay.
    pub fn is_held(&self) -> bool {
        matches!(self.subject, Subject::Held(_))
    }

    /// Whether requests are due on a schedule. The schedule of devices is one of connections.
    pub fn is_open_loop(&self) -> bool {
        self.load.model == LoadModel::Open && !self.is_of_devices()
    }

    /// Whether users of a flow are due on a schedule.
    pub fn plans_users(&self) -> bool {
        self.users.is_some() && self.load.model == LoadModel::Open
    }

    /// Whether a request is sent when another one has ended.
    pub fn is_closed_loop(&self) -> bool {
        self.load.model == LoadModel::Closed && !self.is_of_devices()
    }

    /// Whether requests were sent or should have been: devices may only hold connections, and
    /// subscribers only receive.
    pub fn asks(&self) -> bool {
        self.requests.sent > 0
            || match &self.subject {
                Subject::Requests(_) => true,
                Subject::Connections(_) | Subject::Held(_) => false,
                Subject::Events(events) => events.writers > 0,
            }
    }

    /// Whether there was no response, good or bad, and no stream was accepted; for devices that
    /// only hold their connection, whether none was opened.
    pub fn is_silent(&self) -> bool {
        let asked_nothing = self.requests.sent == 0 && self.unmeasured.sent == 0;
        match &self.subject {
            Subject::Events(events) if events.subscribers.accepted > 0 => false,
            Subject::Connections(_) | Subject::Held(_) if asked_nothing => {
                self.connections.opened == 0
            }
            _ => self.unmeasured.completed == 0 && self.status.values().all(|count| *count == 0),
        }
    }

    /// Whether there were responses and each one failed by its status or a check; for events,
    /// whether no stream was accepted either.
    pub fn is_refused(&self) -> bool {
        let arrived = self.status.values().any(|count| *count > 0);
        let has_stream = self.events().is_some_and(|events| events.subscribers.accepted > 0);
        arrived && self.requests.completed == 0 && self.rate == 0.0 && !has_stream
    }

    /// Whether nothing good came of it: no good response, and no event; in a fan-out, no stream
    /// that was accepted; for devices that only hold their connection, none that was opened.
    pub fn is_fruitless(&self) -> bool {
        let RequestInfo { sent, completed, .. } = self.requests;
        let asked = sent + self.unmeasured.sent > 0;
        // Good responses of the warm-up count where the window had no requests.
        let of_warmup = sent == 0 && self.unmeasured.completed > 0;
        let good = completed > 0 || self.rate > 0.0 || of_warmup;
        match &self.subject {
            Subject::Events(events) if events.subscribers.accepted == 0 => true,
            Subject::Events(events) => asked && !good && events.rate == 0.0,
            _ if asked => !good,
            Subject::Requests(_) => false,
            Subject::Connections(_) | Subject::Held(_) => self.connections.opened == 0,
        }
    }

    /// Whether anything was asked for that the main rate counts. A fan-out whose streams are all
    /// there, without a writer of ours and without a missing event, may have had nothing to send.
    pub fn is_asked(&self) -> bool {
        let requests = &self.requests;
        match &self.subject {
            Subject::Requests(_) => requests.sent + requests.unsent + self.connections.failed > 0,
            Subject::Connections(turnover) | Subject::Held(turnover) => turnover.begun > 0,
            Subject::Events(events) => {
                let streams = &events.subscribers;
                let is_missing = events.delivery.is_some_and(|delivery| delivery.missing > 0);
                streams.accepted < streams.asked || is_missing || requests.sent > 0
            }
        }
    }

    /// Good responses that arrived in the window, where they are so few that their rate is only
    /// bounded; nothing where something else is counted.
    pub fn few_responses(&self) -> Option<u64> {
        let arrived = self.requests.arrived.filter(|_| self.is_of_requests());
        arrived.filter(|arrived| (1..FEW_RESPONSES).contains(arrived))
    }

    /// Its figures as its subject has them.
    pub fn main(&self) -> Account<'_> {
        let of = match &self.subject {
            Subject::Requests(_) => Of::Requests,
            Subject::Connections(turnover) => Of::Connections(turnover),
            Subject::Held(turnover) => Of::Held(turnover),
            Subject::Events(events) => Of::Events(events),
        };
        Account { point: self, of }
    }

    /// The figures of its requests: in a fan-out, those of the writers.
    pub fn as_requests(&self) -> Account<'_> {
        Account { point: self, of: Of::Requests }
    }

    /// The figures of the connections that came and went, where they have a planned life.
    pub fn as_connections(&self) -> Option<Account<'_>> {
        let of = if self.is_held() { Of::Held } else { Of::Connections };
        Some(Account { point: self, of: of(self.turnover()?) })
    }

    /// The main rate, per second: completed requests, connections of devices, or events.
    pub fn headline_rate(&self) -> f64 {
        self.main().rate()
    }

    /// The main times: see [`Account::times`].
    pub fn main_times(&self) -> Option<&Summary> {
        self.main().times()
    }

    /// Its load: requests in flight or devices in closed loop, requests or connections per second
    /// in open loop.
    pub fn load_size(&self) -> u64 {
        let connections = u64::from(self.load.connections);
        match self.load.rate {
            Some(rate) => rate.round() as u64,
            None if self.is_of_devices() => connections,
            None => connections * u64::from(self.load.depth),
        }
    }

    /// What was asked for: its load, or the subscribers of a fan-out.
    pub fn asked_size(&self) -> u64 {
        let subscribers = self.events().map(|events| events.subscribers.asked);
        subscribers.unwrap_or_else(|| self.load_size())
    }

    /// What tells a level from the others of its visit and finds it in other visits: in closed loop
    /// the number of connections, whatever their depth.
    pub fn level_size(&self) -> u64 {
        match self.load.rate.is_none() && self.events().is_none() {
            true => self.load.connections.into(),
            false => self.asked_size(),
        }
    }

    /// Its load with the unit, such as `8 in flight`.
    pub fn load_phrase(&self) -> String {
        let words = self.main().words();
        let unit = if self.load.rate.is_some() { words.asked } else { words.load };
        format!("{} {unit}", self.load_size())
    }

    /// What limits the main rate where no wall does.
    pub fn limit_phrase(&self) -> String {
        let is_planned = self.load.rate.is_some();
        match &self.subject {
            Subject::Requests(_) if self.is_open_loop() => "the asked rate".to_string(),
            Subject::Requests(_) => {
                format!("{} requests in flight", show_count(self.load_size() as f64))
            }
            Subject::Connections(_) if is_planned => "the asked rate of connections".to_string(),
            Subject::Connections(_) => "the number of devices and their hold".to_string(),
            Subject::Held(_) => "the number of devices".to_string(),
            Subject::Events(events) if events.writers > 0 => "the rate of writes".to_string(),
            Subject::Events(_) => "the rate of events the server sends by itself".to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    /// A point of a kept record, as JSON, with this hold.
    fn point_with_hold(hold: &Value) -> Value {
        let text = include_str!("../../judge/tests/kept/full-event-loop.json");
        let mut kept: Value = serde_json::from_str(text).unwrap();
        let mut point = kept["record"]["points"][0].take();
        let life = serde_json::json!({
            "requests": null, "hold": hold, "ramp_up_ns": 0, "ramp_down_ns": 0,
        });
        point["load"]["life"] = life;
        point
    }

    fn turnover() -> TurnoverInfo {
        TurnoverInfo { rate: 7.0, ..TurnoverInfo::default() }
    }

    #[test]
    fn the_record_has_the_subject_in_two_keys_of_the_point() {
        let hold = |hold: Hold| serde_json::to_value(hold).unwrap();
        let some_time = hold(Hold::For { ns: 5, jitter: 0.0 });
        let events = EventInfo { rate: 9.0, ..EventInfo::default() };
        for (hold, subject, keys) in [
            (Value::Null, Subject::Requests(None), (false, false)),
            (Value::Null, Subject::Requests(Some(turnover())), (true, false)),
            (some_time, Subject::Connections(turnover()), (true, false)),
            (hold(Hold::Forever), Subject::Held(turnover()), (true, false)),
            (Value::Null, Subject::Events(events), (false, true)),
        ] {
            let point: Point = serde_json::from_value(point_with_hold(&hold)).unwrap();
            let point = Point { subject, ..point };
            let text = serde_json::to_string(&point).unwrap();
            let json: Value = serde_json::from_str(&text).unwrap();
            let is_there = |key: &str| !json.as_object().unwrap()[key].is_null();
            assert_eq!((is_there("turnover"), is_there("events")), keys, "{:?}", point.subject);
            assert_eq!(serde_json::from_str::<Point>(&text).unwrap(), point);
        }
    }

    #[test]
    fn only_the_hold_tells_devices_from_other_connections() {
        let of = |hold| {
            let life = Life { hold, ..Life::default() };
            Subject::of_life(Some(&life), Some(turnover()))
        };
        assert_eq!(of(None), Subject::Requests(Some(turnover())));
        assert_eq!(of(Some(Hold::Forever)), Subject::Held(turnover()));
        let hold = Hold::For { ns: 1, jitter: 0.0 };
        assert_eq!(of(Some(hold)), Subject::Connections(turnover()));
        assert_eq!(Subject::of_life(None, None), Subject::Requests(None));
    }
}
