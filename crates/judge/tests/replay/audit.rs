//! Arithmetic that a published figure must survive, and bounds on what a change can gain.
//!
//! Each function is a line or two; they are kept together so that a claim can be checked before
//! anything is measured.

/// CPU time per request, microseconds: all CPUs times their busy share, divided by the rate of
/// responses, including failed ones.
pub fn cpu_us_per_request(cpus: f64, busy: f64, rate: f64) -> Option<f64> {
    (rate > 0.0).then(|| cpus * busy / rate * 1e6)
}

/// Share of the time that requests spend in the system that they spend waiting for one thing:
/// `waited_s` added up over all requests in a window with `in_flight` requests at each instant.
pub fn share_of_residence(waited_s: f64, in_flight: f64, window_s: f64) -> Option<f64> {
    let residence_s = in_flight * window_s;
    (residence_s > 0.0).then(|| waited_s / residence_s)
}

/// The most by which the rate of a closed loop can rise, as a share, if this share of the residence
/// goes away. It rises by less if the next limit has no slack.
pub fn gain_at_most(share: f64) -> Option<f64> {
    (0.0..1.0).contains(&share).then(|| share / (1.0 - share))
}

/// The difference of two means in standard errors, if each is the mean of `count` values with this
/// standard deviation; below 2 it is noise.
pub fn difference_in_errors(
    (left, left_deviation): (f64, f64),
    (right, right_deviation): (f64, f64),
    count: f64,
) -> Option<f64> {
    let error = ((left_deviation.powi(2) + right_deviation.powi(2)) / count).sqrt();
    (error > 0.0).then(|| (left - right).abs() / error)
}

/// How far a rate followed the capacity of a resource, d ln(rate) / d ln(capacity): 1 at a single
/// wall, 0 for a resource that does not limit, less than 1 if another wall came next.
pub fn followed(rate_factor: f64, capacity_factor: f64) -> Option<f64> {
    let is_change = rate_factor > 0.0 && capacity_factor > 0.0 && capacity_factor != 1.0;
    is_change.then(|| rate_factor.ln() / capacity_factor.ln())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_said_of_nothing() {
        assert_eq!(cpu_us_per_request(32.0, 0.5, 0.0), None);
        assert_eq!(share_of_residence(1.0, 0.0, 60.0), None);
        assert_eq!(gain_at_most(1.0), None);
        assert_eq!(difference_in_errors((1.0, 0.0), (2.0, 0.0), 30.0), None);
        assert_eq!(followed(1.0, 1.0), None);
    }

    #[test]
    fn a_half_that_goes_away_doubles_the_rate_at_most() {
        assert_eq!(gain_at_most(0.5), Some(1.0));
        assert_eq!(followed(0.5, 0.5), Some(1.0));
    }
}
