//! Employees, and in the same partitions an index of their email addresses.
//!
//! An index entity has the address in its RowKey and carries what a lookup by address mostly asks
//! for, so that it is answered by one point query; for the rest `EmployeeId` leads to the
//! employee's own entity.

use super::lines::{Entities, EntityText};
use super::people::{DEPARTMENTS, Employee, SECONDS_PER_DAY, in_2024};

const HIRED_DAYS_AGO_MAX: u32 = 20 * 365;

#[derive(Debug)]
pub(super) struct Employees {
    next_department: usize,
    /// What is left of the current department, the first to come last.
    left: Vec<Row>,
}

#[derive(Debug)]
enum Row {
    Employee(Box<Employee>),
    /// The index entity of an address.
    EmailAddress(Box<Employee>),
}

impl Employees {
    pub(super) fn new() -> Self {
        Self { next_department: 0, left: Vec::new() }
    }

    fn begin_department(&mut self) {
        let mut by_address: Vec<Employee> = Employee::all_of(self.next_department).collect();
        by_address.sort_by(|a, b| b.email_address.cmp(&a.email_address));
        self.left.extend(by_address.into_iter().map(|employee| Row::EmailAddress(Box::new(employee))));
        let mut by_id: Vec<Employee> = Employee::all_of(self.next_department).collect();
        by_id.reverse();
        self.left.extend(by_id.into_iter().map(|employee| Row::Employee(Box::new(employee))));
        self.next_department += 1;
    }
}

impl Entities for Employees {
    fn write_next(&mut self, to: &mut EntityText) -> bool {
        if self.left.is_empty() && self.next_department < DEPARTMENTS.len() {
            self.begin_department();
        }
        match self.left.pop() {
            Some(Row::Employee(employee)) => write_employee(*employee, to),
            Some(Row::EmailAddress(employee)) => write_address(&employee, to),
            None => return false,
        }
        true
    }
}

fn write_employee(employee: Employee, to: &mut EntityText) {
    let mut random = employee.random;
    let hired = in_2024(-SECONDS_PER_DAY * i64::from(random.below(HIRED_DAYS_AGO_MAX)));
    to.begin(employee.department, &employee.id, employee.written)
        .property("FirstName", employee.first_name)
        .property("LastName", employee.last_name)
        .property("EmailAddress", employee.email_address)
        .property("Age", 20 + random.below(46) as i32)
        .property("HiredAt", hired)
        .property("Salary", f64::from(30_000 + random.below(90_000)) + 0.5)
        .property("BadgeNumber", 5_000_000_000 + i64::from(random.below(1_000_000_000)))
        .property("Id", random.guid());
    if random.percent(80) {
        to.property("Remote", random.percent(40));
    }
    if random.percent(10) {
        to.property("BadgePhoto", (0..24).map(|_| random.next() as u8).collect::<Vec<u8>>());
    }
    to.end();
}

fn write_address(employee: &Employee, to: &mut EntityText) {
    to.begin(employee.department, &format!("email_{}", employee.email_address), employee.written)
        .property("EmployeeId", employee.id.as_str())
        .property("FirstName", employee.first_name)
        .property("LastName", employee.last_name)
        .end();
}
