//! Every requested connection was opened and served.
//!
//! If the server refuses, starves or never accepts connections, the load is smaller than requested.
//! The rate is that of the connections that were served.

use super::Checked;
use crate::case::Case;
use model::figure::Figure;
use model::standing::Standing;

pub fn check(case: &Case<'_>) -> Checked {
    let connections = &case.point.connections;
    // With fewer requests than connections, some connections cannot get a request.
    let could_serve = connections.asked.min(case.point.requests.sent);
    let unopened = connections.asked.saturating_sub(connections.opened);
    let starved = could_serve.min(connections.opened).saturating_sub(connections.served);
    let why = match (unopened, starved) {
        (0, 0) => format!("all {} connections were opened and served", connections.asked),
        (0, starved) => format!("{starved} connections never got a response"),
        (unopened, starved) => format!(
            "{unopened} of {} connections were not opened, {starved} more never got a response",
            connections.asked
        ),
    };
    Checked {
        ok: Some(unopened + starved == 0),
        measured: Some((unopened + starved) as f64),
        bound: "0 missing".to_string(),
        why,
    }
}

/// The load was that of the connections that were served.
pub fn leaves(case: &Case<'_>, _: Figure) -> Option<Standing> {
    let connections = &case.point.connections;
    let by = format!("{} of {} connections were served", connections.served, connections.asked);
    let (low, high) = (connections.served as f64, Some(connections.asked as f64));
    Some(Standing::Bounded { low, high, by })
}

#[cfg(test)]
mod tests {
    use crate::fixture::Fixture;
    use crate::gates::check_all;
    use model::load::LoadModel;
    use model::users::UserInfo;
    use model::verdict::GateId;

    #[test]
    fn users_who_are_due_ask_for_no_fixed_number_of_connections() {
        let mut fixture = Fixture::good();
        let is_asked = |fixture: &Fixture| {
            let gates = check_all(&fixture.case());
            gates.iter().any(|gate| gate.id == GateId::Connections)
        };
        fixture.point.load.model = LoadModel::Open;
        assert!(is_asked(&fixture));
        fixture.point.users = Some(UserInfo::default());
        assert!(!is_asked(&fixture));
        fixture.point.load.model = LoadModel::Closed;
        assert!(is_asked(&fixture), "each has one");
    }
}
