//! The account that an operation is for, as one who asks may use it.

use rowkey_base::SqlState;
use rowkey_formats::entity_json::TableAddress;
use rowkey_sql::engine::{EntityOperation, EntityService};

use crate::errors::{Failure, failure};

/// What all operations of a request share.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    /// For the principal of the request.
    pub service: EntityService,
    /// The URL of the account as the client wrote it, without a slash at its end.
    pub account_url: String,
}

impl Call {
    pub(crate) fn account(&self) -> &str {
        self.service.account().as_str()
    }

    pub(crate) fn address(&self, table: &str) -> TableAddress {
        TableAddress::new(self.account(), &self.account_url, table)
    }

    /// The table that a read of entities names. Who may not read is not told whether there is one.
    pub(super) fn table_to_read(&self, name: &str) -> Result<u64, Failure> {
        self.service.expect_to_read(name).map_err(|error| failure(&error))?;
        self.table(name)
    }

    /// The table that writes of entities name, with what each of them needs first.
    pub(crate) fn table_to_write<'w>(
        &self,
        name: &str,
        operations: impl IntoIterator<Item = &'w EntityOperation>,
    ) -> Result<u64, Failure> {
        for (index, operation) in operations.into_iter().enumerate() {
            let permitted = self.service.expect_to_write(name, operation);
            permitted.map_err(|error| failure(&error).at_operation(index))?;
        }
        self.table(name)
    }

    /// The table of a name, for one who may know whether there is one.
    pub(super) fn table(&self, name: &str) -> Result<u64, Failure> {
        self.service.table_id(name).map_err(|error| failure(&error))
    }

    /// The table that is named as one of `Tables`: it is a resource then.
    pub(crate) fn table_as_resource(&self, name: &str) -> Result<u64, Failure> {
        self.service.table_id(name).map_err(|error| match error.sqlstate() {
            SqlState::UNDEFINED_TABLE => Failure::resource_not_found(),
            _ => failure(&error),
        })
    }
}
