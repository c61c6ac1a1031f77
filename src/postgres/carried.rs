//! What travels with a statement in the extensions of its `ConfigOptions`, where DataFusion's rules
//! and functions find it.

use std::fmt::Debug;
use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;

/// Makes a type one that travels so, under a prefix of its own. It has no settings.
macro_rules! carried_in_options {
    ($carried:ty, $prefix:literal) => {
        impl datafusion::common::config::ConfigExtension for $carried {
            const PREFIX: &'static str = $prefix;
        }

        impl datafusion::common::config::ExtensionOptions for $carried {
            fn as_any(&self) -> &dyn std::any::Any {
                self
            }

            fn as_any_mut(&mut self) -> &mut dyn std::any::Any {
                self
            }

            fn cloned(&self) -> Box<dyn datafusion::common::config::ExtensionOptions> {
                Box::new(self.clone())
            }

            fn set(&mut self, key: &str, _value: &str) -> datafusion::common::Result<()> {
                datafusion::common::plan_err!("{}.{key} is no setting", $prefix)
            }

            fn entries(&self) -> Vec<datafusion::common::config::ConfigEntry> {
                Vec::new()
            }
        }
    };
}

pub(crate) use carried_in_options;

/// What knows whether a statement is to stop.
pub trait Interruptible: Debug + Send + Sync {
    /// # Errors
    /// The statement is to stop.
    fn check(&self) -> Result<()>;
}

/// Asked within a value whose making may take long; DataFusion's operators are asked between
/// batches.
#[derive(Debug, Clone, Default)]
pub struct Stop(Option<Arc<dyn Interruptible>>);

carried_in_options!(Stop, "rowkey_stop");

impl Stop {
    /// Asks `interruptible`.
    pub fn asking(interruptible: Arc<dyn Interruptible>) -> Self {
        Self(Some(interruptible))
    }

    /// That of the statement with these options.
    pub(crate) fn of(options: &ConfigOptions) -> Self {
        options.extensions.get::<Self>().cloned().unwrap_or_default()
    }

    /// # Errors
    /// The statement is to stop.
    pub(crate) fn check(&self) -> Result<()> {
        self.0.as_ref().map_or(Ok(()), |interruptible| interruptible.check())
    }
}
