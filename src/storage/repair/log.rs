//! Repairing the log of a data folder that does not open.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use super::quarantine::{keep_copy, set_aside};
use crate::catalog::{Catalog, Edit};
use crate::error::Result;
use crate::log::{Covered, Error as LogError, Record, find_faults, find_start};
use crate::records::{self, CATALOG_EDITS, DEFINITION_EDITS, ENTITY_WRITES, SERVICE_EDITS};
use crate::recovery::Recovery;
use rowkey_model::files::{FileStore, paths};

/// Bytes of a new segment.
const SEGMENT_BYTES: u64 = 1 << 20;

/// What a repair of the log found and what is lost by it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LogRepair {
    /// What was wrong, one sentence each, naming file and byte.
    pub faults: Vec<String>,
    /// The last record that is kept.
    pub kept_to: u64,
    /// Records up to this one are in the checkpoint: none of them is lost, whatever the log has.
    pub covered_to: u64,
    /// The checkpoint knows of records up to this one, at least the same: what they changed of
    /// tables, files and views is kept.
    pub known_to: u64,
    /// Whether the log was cut there; else nothing is lost.
    pub is_cut: bool,
    /// Records behind the damage that were intact and are no longer in use.
    pub records_lost: u64,
    /// The last one of them; 0 if there is none.
    pub last_lost: u64,
    /// Entity writes in them, by table.
    pub writes_lost: BTreeMap<String, u64>,
    /// Whether some of them changed tables, files or views.
    pub edits_lost: bool,
    /// What is in the quarantine now.
    pub quarantined: Vec<String>,
    /// Run files among them that the catalog no longer names: they are Parquet, and can be
    /// imported.
    pub run_files: Vec<String>,
}

/// Cuts a damaged log before the damage, so that the folder opens as it was then, and goes back to
/// the checkpoint before a damaged one where the log leads on from there. A log that ends before
/// what the checkpoint knows of goes on behind that. `None` if the log is whole. No other
/// process may have the folder open.
///
/// Everything is read before anything is changed: what cannot be read now is an error, and
/// everything stays as it was.
pub async fn repair_log(store: Arc<dyn FileStore>) -> Result<Option<LogRepair>> {
    let _owner = store.lock()?;
    let mut repair = LogRepair::default();
    let mut start = find_start(store.as_ref()).await?;
    let (mut recovery, at_checkpoint) = match &start.checkpoint {
        Some(checkpoint) => (Recovery::from_checkpoint(checkpoint)?, Recovery::from_checkpoint(checkpoint)?),
        None => (Recovery::default(), Recovery::default()),
    };
    let covered = recovery.covered();
    (repair.covered_to, repair.known_to) = (covered.from, covered.known);
    let mut apply = |record: Record| Ok(recovery.apply(&record)?);
    let found = find_faults(store.as_ref(), covered, &mut apply).await?;
    if found.fault.is_none() && found.mends.is_empty() && start.damaged.is_empty() {
        return Ok(None);
    }
    repair.kept_to = found.fault.as_ref().map_or(found.last, |fault| fault.next - 1);
    if start.damaged.first().is_some_and(|(_, sequence, _)| *sequence > repair.kept_to) {
        // Records that the checkpoint has would be lost with it.
        return Err(start.damaged.swap_remove(0).2.into());
    }
    let mut unnamed = Vec::new();
    if let Some(fault) = &found.fault {
        let catalog = match covered.known > repair.kept_to {
            true => at_checkpoint.into_catalog(),
            false => recovery.into_catalog(),
        };
        let mut names = catalog.tables().map(|table| (table.id, table.name.clone())).collect();
        fault.records_behind(store.as_ref(), &mut |record| count(&record, covered, &mut names, &mut repair)).await?;
        unnamed = unnamed_files(store.as_ref(), &catalog).await?;
        if catalog.tables().next().is_none() && (repair.records_lost > 0 || !unnamed.is_empty()) {
            // An empty database beside the quarantine is worse than none: it takes writes.
            let reason = format!("{}; there is no table before it, so a cut there would leave nothing", fault.reason);
            return Err(LogError::Corrupt { path: fault.path.clone(), offset: fault.offset, reason }.into());
        }
    }

    let kept = Arc::clone(&store);
    let mut quarantined = Vec::new();
    let mut keep = |path: &str, content: Option<&[u8]>| {
        match content {
            Some(content) => quarantined.push(keep_copy(kept.as_ref(), path, content)?),
            None => quarantined.extend(set_aside(kept.as_ref(), path)?),
        }
        Ok(())
    };
    for mend in &found.mends {
        repair.faults.push(format!(
            "{} is damaged at byte {}: {}; its records are all there, and it was written anew",
            mend.path, mend.offset, mend.reason
        ));
        mend.apply(&store, &mut keep)?;
    }
    for (path, _, error) in &start.damaged {
        let instead =
            start.checkpoint.as_ref().map_or("the log from its beginning", |checkpoint| checkpoint.path.as_str());
        repair.faults.push(format!("{error}; in its place {instead} is used"));
        keep(path, None)?;
    }
    if let Some(fault) = found.fault {
        repair.is_cut = true;
        repair.faults.push(format!("{} is damaged at byte {}: {}", fault.path, fault.offset, fault.reason));
        // First what opening would sweep: files of tables that the catalog will not name.
        for path in unnamed {
            repair.run_files.extend(set_aside(store.as_ref(), &path)?);
        }
        fault.cut(&store, covered.known, SEGMENT_BYTES, &mut keep).await?;
    }
    repair.quarantined.extend(quarantined);
    Ok(Some(repair))
}

/// The files of tables that a catalog does not name.
async fn unnamed_files(store: &dyn FileStore, catalog: &Catalog) -> Result<Vec<String>> {
    let named: HashSet<&str> =
        catalog.tables().flat_map(|table| table.manifest.files()).map(|file| file.path.as_str()).collect();
    let files = store.list(paths::TABLES).await?.into_iter().map(|entry| entry.path);
    Ok(files.filter(|path| paths::parse_run(path).is_some() && !named.contains(path.as_str())).collect())
}

/// Takes note of a record that is no longer in use. `names` are those of tables by their numbers.
fn count(record: &Record, covered: Covered, names: &mut HashMap<u64, String>, repair: &mut LogRepair) {
    if record.sequence <= covered.from {
        return;
    }
    let edits_are_kept = record.sequence <= covered.known;
    repair.records_lost += 1;
    repair.last_lost = repair.last_lost.max(record.sequence);
    let mut learn = |edits: &[Edit]| {
        for edit in edits {
            if let Edit::CreateTable { id, name, .. } = edit {
                names.insert(*id, name.clone());
            }
        }
    };
    match record.kind {
        CATALOG_EDITS | DEFINITION_EDITS | SERVICE_EDITS => {
            let Ok(edits) = serde_json::from_slice::<Vec<Edit>>(&record.payload) else { return };
            learn(&edits);
            repair.edits_lost |= !edits_are_kept;
        }
        ENTITY_WRITES => {
            let Ok((edits, writes)) = records::decode(&record.payload) else { return };
            learn(&edits);
            repair.edits_lost |= !edits.is_empty() && !edits_are_kept;
            for table in writes {
                let name = names.get(&table.table).cloned();
                let name = name.unwrap_or_else(|| format!("number {}", table.table));
                *repair.writes_lost.entry(name).or_default() += table.writes.len() as u64;
            }
        }
        _ => {}
    }
}
