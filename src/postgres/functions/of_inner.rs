//! What an aggregate in place of DataFusion's leaves to that.

/// Methods of an `AggregateUDFImpl` that are those of the aggregate `inner`.
macro_rules! of_inner {
    ($($method:ident($($argument:ident: $of:ty)?) -> $returns:ty),* $(,)?) => {$(
        fn $method(&self $(, $argument: $of)?) -> $returns {
            self.inner.inner().$method($($argument)?)
        }
    )*};
}

pub(super) use of_inner;
