//! The departments, all in one partition.

use super::lines::{Entities, EntityText};
use super::people::{DEPARTMENTS, EMPLOYEES_PER_DEPARTMENT, moment};
use super::random::Random;

const REGIONS: [&str; 3] = ["Americas", "Asia", "Europe"];

#[derive(Debug)]
pub(super) struct Departments {
    next: usize,
}

impl Departments {
    pub(super) fn new() -> Self {
        Self { next: 0 }
    }
}

impl Entities for Departments {
    fn write_next(&mut self, to: &mut EntityText) -> bool {
        let Some(name) = DEPARTMENTS.get(self.next) else {
            return false;
        };
        let mut random = Random::of(2, self.next as u64);
        self.next += 1;
        let timestamp = moment(2, &mut random);
        to.begin("dept", name, timestamp)
            .property("Region", random.pick(&REGIONS))
            .property("Budget", f64::from(50_000 + random.below(950_000)) * 100.0)
            .property("EmployeeCount", EMPLOYEES_PER_DEPARTMENT as i32)
            .end();
        true
    }
}
