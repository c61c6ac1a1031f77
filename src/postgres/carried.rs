//! What travels with a statement in the extensions of its `ConfigOptions`, where DataFusion's rules
//! and functions find it.

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
