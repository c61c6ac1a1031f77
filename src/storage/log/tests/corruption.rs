//! Damage to what lies in the files: refused with file and offset, or reported as a torn tail;
//! never passed over.

use super::*;

/// How the process that wrote a log has ended.
#[derive(Clone, Copy)]
enum Ended {
    Closed,
    Crashed,
    /// After a crash the log was opened again, and that process crashed too.
    CrashedAgain,
}

/// A log of a few segments that ends with a group of three records.
fn written(ended: Ended) -> (BTreeMap<String, Vec<u8>>, Vec<Bytes>) {
    let store = Arc::new(FaultStore::new(FaultPlan::none()));
    let log = open(store.clone(), 0).unwrap().log;
    let payloads: Vec<_> = (0..16).map(payload).collect();
    for payload in &payloads[..12] {
        log.append(KIND, payload.clone()).wait().unwrap();
    }
    for appended in append_as_group(&log, &payloads[12..]) {
        appended.wait().unwrap();
    }
    let crashed = store.after_crash(AfterCrash::LoseUnsynced);
    log.close().unwrap();
    let files = match ended {
        Ended::Closed => store.after_crash(AfterCrash::LoseUnsynced).files(),
        Ended::Crashed => crashed.files(),
        Ended::CrashedAgain => {
            let store = Arc::new(FaultStore::over(&crashed, FaultPlan::none()));
            let opened = open(store.clone(), 0).unwrap();
            let files = store.after_crash(AfterCrash::LoseUnsynced).files();
            drop(opened);
            files
        }
    };
    assert_eq!(open(memory(files.clone()), 0).unwrap().payloads(), payloads);
    assert!(segments(&files).len() > 2);
    (files, payloads)
}

/// Opens damaged files: all records, some with a torn tail, or a refusal that names the damaged
/// file and changes nothing.
fn open_damaged(files: BTreeMap<String, Vec<u8>>, damaged: &str, what: &str) -> Option<(Vec<Bytes>, TornTail)> {
    let store = memory(files.clone());
    match open(store.clone(), 0) {
        Ok(opened) => {
            let torn = opened.replayed.torn_tail.clone().unwrap_or_else(|| panic!("{what}: nothing was noticed"));
            assert!(torn.path.ends_with(damaged), "{what}: {torn:?}");
            let copy = torn.copy.clone().unwrap();
            let kept = &store.files()[copy.strip_prefix(":memory:/").unwrap()];
            let start = torn.offset as usize;
            assert_eq!(kept[..], files[damaged][start..start + torn.bytes as usize], "{what}: the copy");
            let payloads = opened.payloads();
            opened.log.close().unwrap();
            let again = open(store, 0).unwrap();
            assert_eq!(
                (again.payloads(), again.replayed.torn_tail),
                (payloads.clone(), None),
                "{what}: once cut, whole"
            );
            Some((payloads, torn))
        }
        Err(Error::Corrupt { path, offset, reason }) => {
            assert!(path.ends_with(damaged), "{what}: {path} at {offset}: {reason}");
            assert!(offset <= files[damaged].len() as u64, "{what}: {path} at {offset}: {reason}");
            assert_eq!(store.files(), files, "{what}: refusing changes nothing");
            None
        }
        Err(error) => panic!("{what}: {error}"),
    }
}

fn each_flip(files: &BTreeMap<String, Vec<u8>>, mut test: impl FnMut(BTreeMap<String, Vec<u8>>, &str, usize, &str)) {
    for path in segments(files) {
        for at in 0..files[&path].len() {
            // One bit, which differs from byte to byte, and all of them.
            for flip in [1 << (at % 8), 0xff] {
                let mut damaged = files.clone();
                damaged.get_mut(&path).unwrap()[at] ^= flip;
                test(damaged, &path, at, &format!("byte {at} of {path} flipped by {flip:#x}"));
            }
        }
    }
}

#[test]
fn a_flip_in_a_log_that_was_closed_or_opened_again_costs_no_record() {
    for ended in [Ended::Closed, Ended::CrashedAgain] {
        let (files, payloads) = written(ended);
        let last = segments(&files).pop().unwrap();
        let (mut refused, mut cut) = (0, 0);
        each_flip(&files, |damaged, path, _, what| match open_damaged(damaged, path, what) {
            Some((found, _)) => {
                assert_eq!(found, payloads, "{what}");
                assert_eq!(path, last, "{what}");
                cut += 1;
            }
            None => refused += 1,
        });
        assert!(refused > 1000 && cut > 50, "{refused} refused, {cut} cut");
    }
}

#[test]
fn a_flip_after_a_crash_costs_at_most_the_last_group() {
    let (files, payloads) = written(Ended::Crashed);
    let mut lost = 0;
    each_flip(&files, |damaged, path, at, what| {
        if let Some((found, torn)) = open_damaged(damaged, path, what) {
            assert!(found.len() >= 13, "{what}: {} records", found.len());
            assert_eq!(found, payloads[..found.len()], "{what}");
            assert!(torn.offset as usize <= at, "{what}: {torn:?}");
            lost += usize::from(found.len() < payloads.len());
        }
    });
    assert!(lost > 100, "the last group was never reached");
}

#[test]
fn a_damaged_record_after_which_others_were_durable_is_corruption() {
    let (files, _) = written(Ended::Closed);
    let last = segments(&files).pop().unwrap();
    // Losing the length of a record must not hide those behind it.
    let mut damaged = files.clone();
    damaged.get_mut(&last).unwrap()[32..36].fill(0);
    let error = open(memory(damaged), 0).map(|opened| opened.replayed).unwrap_err().to_string();
    assert!(
        error.contains(&last) && error.contains("is damaged at byte 32: ") && error.contains("was durable"),
        "{error}"
    );
}

#[test]
fn a_missing_or_foreign_segment_is_corruption() {
    let (files, _) = written(Ended::Closed);
    let paths = segments(&files);
    for (number, path) in paths.iter().enumerate() {
        let mut damaged = files.clone();
        damaged.remove(path);
        let opened = open(memory(damaged.clone()), 0);
        if number + 1 == paths.len() {
            // Only a checkpoint tells that the newest is gone.
            let found = opened.unwrap().replayed.last_sequence;
            let error = open(memory(damaged), found + 1).map(|opened| opened.replayed).unwrap_err();
            assert!(matches!(&error, Error::Corrupt { path, .. } if path.ends_with(&paths[number - 1])), "{error}");
        } else {
            let error = opened.map(|opened| opened.replayed).unwrap_err();
            let first = rowkey_model::files::paths::parse_log_segment(&paths[number + 1]).unwrap();
            match &error {
                // Segments are removed only where a checkpoint covers them.
                Error::CheckpointMissing { path, first: found, newest: 0, .. } if number == 0 => {
                    assert_eq!(*found, first);
                    assert!(path.ends_with(&rowkey_model::files::paths::checkpoint(first - 1)), "{error}");
                    assert!(error.to_string().ends_with("and there is no checkpoint"), "{error}");
                }
                Error::Corrupt { path, .. } => {
                    assert!(number > 0 && path.ends_with(&paths[number + 1]), "{error}");
                    assert!(error.to_string().contains("are missing before this segment"), "{error}");
                }
                _ => panic!("{error}"),
            }
        }
        let mut renamed = files.clone();
        let content = renamed.remove(path).unwrap();
        renamed.insert(rowkey_model::files::paths::log_segment(2), content);
        let error = open(memory(renamed), 0).map(|opened| opened.replayed).unwrap_err();
        assert!(matches!(error, Error::Corrupt { .. } | Error::CheckpointMissing { .. }), "{error}");
    }
    let error = open(Arc::new(MemoryStore::new()), 5).map(|opened| opened.replayed).unwrap_err().to_string();
    assert!(error.contains(":memory:/log") && error.contains("record 6 must be in one"), "{error}");
}

#[test]
fn a_file_of_another_length_is_corruption() {
    let (files, _) = written(Ended::Closed);
    for path in segments(&files) {
        let bytes = files[&path].len();
        for length in (0..bytes).chain([bytes + 1, bytes * 2]) {
            let mut damaged = files.clone();
            damaged.get_mut(&path).unwrap().resize(length, 0);
            let cut = open_damaged(damaged, &path, &format!("{path} with {length} bytes"));
            assert_eq!(cut, None, "{path} with {length} bytes");
        }
    }
}

#[test]
fn a_format_of_the_future_is_told_apart_from_damage() {
    let (mut files, _) = written(Ended::Closed);
    let header = files.values_mut().next().unwrap();
    header[8] = 2;
    let crc = crc32c::crc32c(&header[..28]);
    header[28..32].copy_from_slice(&crc.to_le_bytes());
    let error = open(memory(files), 0).map(|opened| opened.replayed).unwrap_err().to_string();
    assert!(error.contains("its format has version 2, and this program reads version 1"), "{error}");
}
