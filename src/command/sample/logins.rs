//! Logins as a log tail: the RowKey counts ticks backwards, so that the newest login of a user
//! comes first.

use super::lines::{Entities, EntityText};
use super::people::{DEPARTMENTS, EMPLOYEES_PER_DEPARTMENT, Employee, SECONDS_PER_DAY, in_2024};
use super::random::Random;
use rowkey_model::DateTime;

/// Every so many employees of a department there is one who logs in.
const EMPLOYEES_PER_USER: usize = 96;
const LOGINS_PER_USER: usize = 112;
/// Days of 2024 that the logins lie in.
const DAYS: i64 = 180;

const CLIENTS: [&str; 4] = ["web", "phone", "desktop", "api"];
/// Networks set aside for documentation.
const NETWORKS: [&str; 3] = ["192.0.2", "198.51.100", "203.0.113"];

#[derive(Debug)]
pub(super) struct Logins {
    users: std::vec::IntoIter<String>,
    users_begun: u64,
    user: String,
    /// Logins of the user still to come.
    left: usize,
    at: DateTime,
    random: Random,
}

impl Logins {
    pub(super) fn new() -> Self {
        let each = |department_at| {
            (0..EMPLOYEES_PER_DEPARTMENT)
                .step_by(EMPLOYEES_PER_USER)
                .map(move |at| Employee::of(department_at, at).email_address)
        };
        let mut users: Vec<String> = (0..DEPARTMENTS.len()).flat_map(each).collect();
        users.sort();
        Self {
            users: users.into_iter(),
            users_begun: 0,
            user: String::new(),
            left: 0,
            at: in_2024(0),
            random: Random::of(3, 0),
        }
    }
}

/// The RowKey of a moment: 19 digits that become smaller as time goes on, as .NET programs compute
/// it (`DateTime.MaxValue.Ticks - at.Ticks`).
pub(super) fn reverse_ticks(at: DateTime) -> String {
    format!("{:019}", DateTime::MAX.ticks() - at.ticks())
}

impl Entities for Logins {
    fn write_next(&mut self, to: &mut EntityText) -> bool {
        if self.left == 0 {
            let Some(user) = self.users.next() else {
                return false;
            };
            self.user = user;
            self.users_begun += 1;
            self.random = Random::of(3, self.users_begun);
            self.left = LOGINS_PER_USER;
            self.at = in_2024(DAYS * SECONDS_PER_DAY);
        }
        self.left -= 1;
        let random = &mut self.random;
        // From the newest back, on average over the whole time.
        let gap_seconds = 1 + random.below((2 * DAYS * SECONDS_PER_DAY / LOGINS_PER_USER as i64) as u32);
        self.at = DateTime::from_ticks(
            self.at.ticks() - i64::from(gap_seconds) * 10_000_000 + i64::from(random.below(9_999_999)),
        );
        to.begin(&self.user, &reverse_ticks(self.at), self.at)
            .property("At", self.at)
            .property("Success", !random.percent(7))
            .property("Ip", format!("{}.{}", random.pick(&NETWORKS), 1 + random.below(254)));
        if random.percent(85) {
            to.property("Client", random.pick(&CLIENTS));
        }
        to.end();
        true
    }
}
