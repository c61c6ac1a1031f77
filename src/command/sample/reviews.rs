//! Reviews of employees: a RowKey made of two parts, the employee's id and the year.

use super::lines::{Entities, EntityText};
use super::people::{DEPARTMENTS, EMPLOYEES_PER_DEPARTMENT, Employee, in_2024};
use super::random::Random;

/// The years in which every second employee was reviewed; the others are new.
const YEARS: [u16; 2] = [2022, 2023];

const COMMENTS: [&str; 6] = [
    "Explains hard things in plain words",
    "Finishes what others began",
    "Asks the right questions early",
    "Could delegate more",
    "Wrote \"the\" guide that everybody uses",
    "Keeps calm when it matters",
];

#[derive(Debug)]
pub(super) struct Reviews {
    next: usize,
}

impl Reviews {
    pub(super) fn new() -> Self {
        Self { next: 0 }
    }
}

impl Entities for Reviews {
    fn write_next(&mut self, to: &mut EntityText) -> bool {
        let (nth_reviewed, year_at) = (self.next / YEARS.len(), self.next % YEARS.len());
        let (department_at, at) =
            (2 * nth_reviewed / EMPLOYEES_PER_DEPARTMENT, 2 * nth_reviewed % EMPLOYEES_PER_DEPARTMENT);
        if department_at >= DEPARTMENTS.len() {
            return false;
        }
        let mut random = Random::of(5, self.next as u64);
        self.next += 1;
        let employee = Employee::of(department_at, at);
        let written = in_2024(i64::from(random.below(86_400)));
        to.begin(employee.department, &format!("{}_{}", employee.id, YEARS[year_at]), written)
            .property("ManagerRating", 1 + random.below(5) as i32)
            .property("PeerRating", f64::from(10 + random.below(41)) / 10.0);
        if random.percent(60) {
            to.property("Comments", random.pick(&COMMENTS));
        }
        to.end();
        true
    }
}
