//! The people of the sample: who works where.

use super::random::Random;
use rowkey_model::DateTime;

/// In the order of their names, which is that of their partitions.
pub(super) const DEPARTMENTS: [&str; 12] = [
    "Accounting",
    "Design",
    "Engineering",
    "Facilities",
    "Finance",
    "Legal",
    "Logistics",
    "Marketing",
    "Purchasing",
    "Research",
    "Sales",
    "Support",
];

pub(super) const EMPLOYEES_PER_DEPARTMENT: usize = 2_000;

const TICKS_PER_SECOND: i64 = 10_000_000;
pub(super) const SECONDS_PER_DAY: i64 = 86_400;
/// 2024-01-01T00:00:00Z in seconds since 1970.
const YEAR_2024: i64 = 1_704_067_200;

/// The names of a department are all different as long as there are more combinations than
/// employees, and their number has no factor in common with the stride.
const NAME_STRIDE: usize = 1_009;

const FIRST_NAMES: [&str; 50] = [
    "Ada", "Aiko", "Amara", "Anna", "Ben", "Bilal", "Carla", "Chen", "Clara", "Dana", "David", "Elena", "Emil",
    "Fatima", "Felix", "Greta", "Hana", "Hugo", "Ines", "Ivan", "Jane", "Jamal", "Jonas", "Julia", "Kai", "Karin",
    "Lars", "Leila", "Lina", "Luis", "Mara", "Marco", "Mina", "Nadia", "Nils", "Noor", "Olga", "Omar", "Paul", "Petra",
    "Priya", "Rafael", "Rosa", "Samir", "Sofia", "Tariq", "Tomas", "Uma", "Vera", "Yusuf",
];

const LAST_NAMES: [&str; 48] = [
    "Abe", "Adler", "Ahmed", "Becker", "Berg", "Brown", "Castro", "Chan", "Costa", "Diaz", "Dubois", "Eriksen",
    "Evans", "Fischer", "Fonseca", "Garcia", "Gupta", "Haddad", "Hansen", "Hughes", "Ito", "Ivanova", "Jensen",
    "Jones", "Kaya", "Keller", "Khan", "Kim", "Kovacs", "Lang", "Larsen", "Lopez", "Meyer", "Mori", "Nguyen", "Novak",
    "Okafor", "Olsen", "Patel", "Popov", "Reyes", "Rossi", "Sato", "Silva", "Smith", "Torres", "Weber", "Yilmaz",
];

/// One employee.
#[derive(Debug, Clone)]
pub(super) struct Employee {
    pub(super) department: &'static str,
    /// Six digits.
    pub(super) id: String,
    pub(super) first_name: &'static str,
    pub(super) last_name: &'static str,
    pub(super) email_address: String,
    /// When the entities about the employee were last written.
    pub(super) written: DateTime,
    /// For what else is to be known about the employee.
    pub(super) random: Random,
}

impl Employee {
    /// Employee `at` of a department, each counted from 0.
    pub(super) fn of(department_at: usize, at: usize) -> Self {
        let department = DEPARTMENTS[department_at];
        // Sales, which most examples are about, has the ids from 000001 on.
        let number = (department_at + 2) % DEPARTMENTS.len() * EMPLOYEES_PER_DEPARTMENT + at + 1;
        let name = (at * NAME_STRIDE + department_at * 37) % (FIRST_NAMES.len() * LAST_NAMES.len());
        let (first_name, last_name) = (FIRST_NAMES[name / LAST_NAMES.len()], LAST_NAMES[name % LAST_NAMES.len()]);
        let email_address = format!("{first_name}.{last_name}@{department}.contoso.com").to_lowercase();
        let mut random = Random::of(1, number as u64);
        let written = moment(151, &mut random);
        Self { department, id: format!("{number:06}"), first_name, last_name, email_address, written, random }
    }

    /// The employees of a department, by id.
    pub(super) fn all_of(department_at: usize) -> impl Iterator<Item = Employee> {
        (0..EMPLOYEES_PER_DEPARTMENT).map(move |at| Employee::of(department_at, at))
    }
}

/// So many seconds after the beginning of 2024.
pub(super) fn in_2024(seconds: i64) -> DateTime {
    DateTime::from_ticks((YEAR_2024 + seconds) * TICKS_PER_SECOND)
}

/// A moment of a day of 2024, counted from 0, with seven digits of the second.
pub(super) fn moment(day: i64, random: &mut Random) -> DateTime {
    let seconds = day * SECONDS_PER_DAY + i64::from(random.below(SECONDS_PER_DAY as u32));
    DateTime::from_ticks(in_2024(seconds).ticks() + i64::from(random.below(TICKS_PER_SECOND as u32)))
}
