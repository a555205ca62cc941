//! What held back the senders of responses, as counted by TCP itself: shared by C9 and K12.

use crate::case::Case;
use observe::SocketCensus;

/// Share of the time with responses outstanding above which a limit matters.
pub(super) const LIMITED_MIN: f64 = 0.20;
/// Share of the time of the followed connections in which responses must be outstanding.
const BUSY_MIN: f64 = 0.20;
/// Share of the generator's sockets with unread responses above which it reads too slowly.
pub(super) const UNREAD_MIN: f64 = 0.10;

/// Shares of the time with responses outstanding in which senders were held back.
pub(super) struct Limited {
    /// By the window of the generator.
    pub by_window: f64,
    /// By the server's send buffer.
    pub by_buffer: f64,
    /// Share of the generator's sampled sockets with unread responses; absent if none was sampled.
    pub unread: Option<f64>,
}

/// Nothing without samples of the server's sockets.
pub(super) fn limited(case: &Case<'_>) -> Option<Limited> {
    let census: SocketCensus = case.census().filter(|census| census.server > 0)?;
    let busy_us = census.server_busy_us as f64;
    let followed_us = census.server_followed_us as f64;
    // If responses are rarely outstanding, it does not matter what held them back for that moment.
    let share = |us: u64| if busy_us <= BUSY_MIN * followed_us { 0.0 } else { us as f64 / busy_us };
    Some(Limited {
        by_window: share(census.server_rwnd_limited_us),
        by_buffer: share(census.server_sndbuf_limited_us),
        unread: (census.client > 0).then(|| census.client_unread as f64 / census.client as f64),
    })
}
