//! Events of devices: the large table, with properties that not every entity has or has in the same
//! type.

use super::lines::{Entities, EntityText};
use super::people::in_2024;
use super::random::Random;
use rowkey_model::DateTime;

const DEVICES: u64 = 1_000;
/// A device has from this many events up to so many more.
const EVENTS_PER_DEVICE_MIN: u32 = 150;
const EVENTS_PER_DEVICE_SPAN: u32 = 101;
/// Longest time between two events of a device.
const GAP_SECONDS_MAX: u32 = 24 * 3600;

#[derive(Debug)]
pub(super) struct Events {
    device: u64,
    /// Events of the device already made, and in all.
    made: u32,
    all: u32,
    seconds: i64,
    random: Random,
}

impl Events {
    pub(super) fn new() -> Self {
        let mut events = Self { device: 0, made: 0, all: 0, seconds: 0, random: Random::of(4, 0) };
        events.begin_device();
        events
    }

    fn begin_device(&mut self) {
        self.random = Random::of(4, self.device);
        self.made = 0;
        self.all = EVENTS_PER_DEVICE_MIN + self.random.below(EVENTS_PER_DEVICE_SPAN);
        self.seconds = 0;
    }
}

impl Entities for Events {
    fn write_next(&mut self, to: &mut EntityText) -> bool {
        if self.made == self.all {
            self.device += 1;
            self.begin_device();
        }
        if self.device == DEVICES {
            return false;
        }
        let (device, number, random) = (self.device, self.made, &mut self.random);
        self.made += 1;
        self.seconds += 1 + i64::from(random.below(GAP_SECONDS_MAX));
        let second = in_2024(self.seconds);
        let at = DateTime::from_ticks(second.ticks() + i64::from(random.below(10_000_000)));
        to.begin(&format!("device-{device:04}"), &second.to_string(), at)
            .property("At", at)
            .property("Ticket", format!("T-{device:04}-{number:04}"))
            .property("TraceId", random.guid());
        write_kind(device, number, random, to);
        to.end();
        true
    }
}

fn write_kind(device: u64, number: u32, random: &mut Random, to: &mut EntityText) {
    match random.below(100) {
        0..70 => {
            to.property("Kind", "reading");
            // Every second device measures in whole numbers: the column is of the wider type.
            let tenths = random.below(1_000) as i32 - 200;
            if device.is_multiple_of(2) {
                to.property("Value", f64::from(tenths) / 10.0);
            } else {
                to.property("Value", tenths / 10);
            }
        }
        70..90 => {
            let uptime_ms = 2_000_000_000 + i64::from(number) * 40_000_000;
            to.property("Kind", "heartbeat").property("UptimeMs", uptime_ms);
        }
        90..98 => {
            to.property("Kind", "alarm").property("Acknowledged", random.percent(50));
            // Newer devices say in a word what older ones have a number for: the column is text.
            let code = 100 + random.below(40) as i32;
            if device.is_multiple_of(5) {
                to.property("Code", format!("E{code}"));
            } else {
                to.property("Code", code);
            }
        }
        _ => {
            let version = format!("{}.{}.{}", 1 + random.below(3), random.below(10), random.below(30));
            to.property("Kind", "update").property("Version", version);
            to.property("Checksum", (0..16).map(|_| random.next() as u8).collect::<Vec<u8>>());
        }
    }
}
