//! Users of a flow: how far those of the measured window came.

use crate::histogram::Summary;
use crate::load::TARGETS_REPORTED_MAX;
use serde::{Deserialize, Serialize};
use std::ops::AddAssign;

/// Steps that are counted one by one; the last one stands for all that follow it.
const STEPS: usize = TARGETS_REPORTED_MAX as usize;

crate::tally! {
    /// What one worker saw of users who began in the measured window.
    pub struct UserTally {
        /// Users who began.
        pub begun: u64,
        /// Users who were due and never began, because all places were taken.
        pub unstarted: u64,
        /// Users who took all steps.
        pub completed: u64,
        /// Users whose level was over before they were through.
        pub unfinished: u64,
        /// By step: users who came to it, one for each of its repetitions.
        pub reached: [u64; STEPS],
        /// By step: its responses that were good.
        pub good: [u64; STEPS],
        /// By step: users who failed there.
        pub failed: [u64; STEPS],
        /// By step: users who were left waiting for its response, or thinking before it, at the
        /// end.
        pub left: [u64; STEPS],
    }
}

impl AddAssign<&UserTally> for UserTally {
    fn add_assign(&mut self, other: &UserTally) {
        self.begun += other.begun;
        self.unstarted += other.unstarted;
        self.completed += other.completed;
        self.unfinished += other.unfinished;
        let add = |sum: &mut [u64; STEPS], part: &[u64; STEPS]| {
            sum.iter_mut().zip(part).for_each(|(sum, part)| *sum += part);
        };
        add(&mut self.reached, &other.reached);
        add(&mut self.good, &other.good);
        add(&mut self.failed, &other.failed);
        add(&mut self.left, &other.left);
    }
}

/// The place of a step among those that are counted.
pub fn place(step: usize) -> usize {
    step.min(STEPS - 1)
}

/// What a record says of users.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct UserInfo {
    /// Users who began in the window.
    pub begun: u64,
    /// Users who took all steps, and every step was good.
    pub completed: u64,
    /// Users who failed at a step.
    pub failed: u64,
    /// Users who were not through when the drain ended.
    pub unfinished: u64,
    /// Users who were due in the window and never began, because all places were taken; in a closed
    /// loop none is due.
    #[serde(default)]
    pub unstarted: u64,
    /// Users due in the window, by the schedule; absent in a closed loop, and where the schedule
    /// was not walked again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub due: Option<u64>,
    /// Time of whole flows without the time to think, nanoseconds: from the begin of the user, with
    /// its connection unless that opens while the user thinks, to the end of the last step. Users
    /// who failed or were not through are slower than all others.
    pub flow_ns: Summary,
    /// By step.
    pub steps: Vec<StepInfo>,
}

/// What a record says of users at one step.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepInfo {
    /// Its name.
    pub name: String,
    /// How often it was reached: once for each of its repetitions.
    pub reached: u64,
    /// How often its response was good.
    pub good: u64,
    /// Users who failed there.
    pub failed: u64,
    /// Users who were still there at the end.
    pub left: u64,
}

impl UserInfo {
    /// What was counted, with the names of all steps; of those beyond what is counted one by one,
    /// the last stands for all.
    pub fn of(tally: &UserTally, names: &[String], flow_ns: Summary) -> Self {
        let steps = names.iter().take(STEPS).enumerate().map(|(place, name)| StepInfo {
            name: name.clone(),
            reached: tally.reached[place],
            good: tally.good[place],
            failed: tally.failed[place],
            left: tally.left[place],
        });
        Self {
            begun: tally.begun,
            completed: tally.completed,
            failed: tally.failed.iter().sum(),
            unfinished: tally.unfinished,
            unstarted: tally.unstarted,
            due: None,
            flow_ns,
            steps: steps.collect(),
        }
    }

    /// What does not add up, in words; nothing if all does: each user who was due began or never
    /// did, each who began is through, failed or not through, and each who came to a step was good
    /// there, failed or is left there.
    pub fn gap(&self) -> Option<String> {
        let Self { begun, completed, failed, unfinished, unstarted, .. } = self;
        if let Some(due) = self.due.filter(|due| *due != begun + unstarted) {
            return Some(format!("{due} users were due, {begun} began and {unstarted} never did"));
        }
        if *begun != completed + failed + unfinished {
            return Some(format!(
                "{begun} users began, {completed} completed, {failed} failed and {unfinished} were \
                 not through"
            ));
        }
        self.steps.iter().find_map(|step| {
            let StepInfo { name, reached, good, failed, left } = step;
            (*reached != good + failed + left).then(|| {
                format!(
                    "{name}: reached {reached} times, {good} good, {failed} failed, {left} left"
                )
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_add_up_is_said() {
        let users = |change: fn(&mut UserInfo)| {
            let step = StepInfo { reached: 7, good: 4, failed: 2, left: 1, ..StepInfo::default() };
            let steps = vec![StepInfo { name: "GET /a".to_string(), ..step }];
            let (begun, completed, failed, unfinished) = (7, 4, 2, 1);
            let sound =
                UserInfo { begun, completed, failed, unfinished, steps, ..Default::default() };
            let mut users = UserInfo { unstarted: 3, due: Some(10), ..sound };
            change(&mut users);
            users.gap()
        };
        assert_eq!(users(|_| {}), None);
        assert_eq!(users(|users| users.due = None), None, "a closed loop");
        for (change, said) in [
            (
                (|users| users.unstarted = 2) as fn(&mut UserInfo),
                "10 users were due, 7 began and 2 never did",
            ),
            (
                |users| users.completed = 5,
                "7 users began, 5 completed, 2 failed and 1 were not through",
            ),
            (|users| users.steps[0].good = 5, "GET /a: reached 7 times, 5 good, 2 failed, 1 left"),
        ] {
            assert_eq!(users(change).as_deref(), Some(said));
        }
    }
}
