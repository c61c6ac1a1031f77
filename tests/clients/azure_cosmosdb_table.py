"""azure-cosmosdb-table (PyPI), the SDK before azure-data-tables, against `rowkey serve`, whose URL is in ROWKEY_REST."""

import logging
import os
import uuid
from datetime import datetime, timedelta, timezone

from azure.common import AzureConflictHttpError, AzureHttpError, AzureMissingResourceHttpError
from azure.cosmosdb.table.common.models import AccessPolicy
from azure.cosmosdb.table.common.retry import no_retry
from azure.cosmosdb.table.models import EdmType, Entity, EntityProperty, TablePermissions
from azure.cosmosdb.table.tablebatch import TableBatch
from azure.cosmosdb.table.tableservice import TableService

from checks import check, raises, run

KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
ACCOUNT = "devstoreaccount1"
CONNECTION = (
    f"DefaultEndpointsProtocol=http;AccountName={ACCOUNT};AccountKey={KEY};TableEndpoint={os.environ['ROWKEY_REST']};"
)
service = TableService(connection_string=CONNECTION)
# It logs every answer that is an error, also those that are wanted here.
logging.getLogger("azure.cosmosdb.table").setLevel(logging.CRITICAL)
# It tries a transaction that failed again for most of a minute.
service.retry = no_retry


def fresh():
    name = "L" + uuid.uuid4().hex[:20]
    assert service.create_table(name)
    return name


@check
def tables():
    name = fresh()
    assert not service.create_table(name)
    raises(AzureConflictHttpError, service.create_table, name, fail_on_exist=True)
    assert name in [table.name for table in service.list_tables()]
    assert service.exists(name) and service.delete_table(name) and not service.exists(name)


@check
def entities():
    table = fresh()
    etag = service.insert_entity(table, {"PartitionKey": "p", "RowKey": "O'Brien %25 é", "N": 5, "Text": "it's"})
    assert etag.startswith("W/\"datetime'")
    read = service.get_entity(table, "p", "O'Brien %25 é")
    assert (read.N, read.Text, read.etag) == (5, "it's", etag)
    raises(AzureConflictHttpError, service.insert_entity, table, read)
    # MERGE, with its own verb.
    merged = service.merge_entity(table, {"PartitionKey": "p", "RowKey": "O'Brien %25 é", "More": True}, if_match=etag)
    raises(AzureHttpError, service.update_entity, table, {"PartitionKey": "p", "RowKey": "O'Brien %25 é"}, if_match=etag)
    assert service.get_entity(table, "p", "O'Brien %25 é").N == 5
    service.update_entity(table, {"PartitionKey": "p", "RowKey": "O'Brien %25 é", "Only": 1}, if_match=merged)
    assert "N" not in service.get_entity(table, "p", "O'Brien %25 é")
    service.insert_or_merge_entity(table, {"PartitionKey": "p", "RowKey": "new", "A": 1})
    service.insert_or_replace_entity(table, {"PartitionKey": "p", "RowKey": "new", "B": 2})
    assert "A" not in service.get_entity(table, "p", "new")
    service.delete_entity(table, "p", "new")
    raises(AzureMissingResourceHttpError, service.get_entity, table, "p", "new")


@check
def types():
    table = fresh()
    entity = Entity(PartitionKey="p", RowKey="r")
    entity.Long = EntityProperty(EdmType.INT64, 2**63 - 1)
    # The SDK sends whole seconds.
    entity.At = datetime(2020, 1, 2, 3, 4, 5, tzinfo=timezone.utc)
    entity.Id = EntityProperty(EdmType.GUID, "0d391d16-97f1-4b9a-be68-4cc871f90001")
    entity.Bytes = EntityProperty(EdmType.BINARY, b"\x00\xff")
    entity.Double, entity.Yes, entity.Empty = 1.5, True, ""
    service.insert_entity(table, entity)
    read = service.get_entity(table, "p", "r")
    assert (read.Long, read.At, read.Double, read.Yes, read.Empty) == (2**63 - 1, entity.At, 1.5, True, "")
    assert (read.Id.value, read.Bytes.value) == ("0d391d16-97f1-4b9a-be68-4cc871f90001", b"\x00\xff")


@check
def batches_and_pages():
    table = fresh()
    for start in range(0, 1200, 100):
        with service.batch(table) as batch:
            for at in range(start, start + 100):
                batch.insert_entity({"PartitionKey": "p", "RowKey": f"{at:05}", "N": at})
    assert [entity.N for entity in service.query_entities(table)] == list(range(1200))
    page = service.query_entities(table, num_results=7)
    assert len(list(page)) == 7
    found = service.query_entities(table, filter="PartitionKey eq 'p' and N ge 1195", select="N")
    assert [entity.N for entity in found] == [1195, 1196, 1197, 1198, 1199]
    batch = TableBatch()
    batch.insert_entity({"PartitionKey": "p", "RowKey": "new"})
    batch.insert_entity({"PartitionKey": "p", "RowKey": "00001"})
    raises(AzureHttpError, service.commit_batch, table, batch)
    raises(AzureMissingResourceHttpError, service.get_entity, table, "p", "new")
    batch = TableBatch()
    batch.merge_entity({"PartitionKey": "p", "RowKey": "00001", "More": 1})
    batch.delete_entity("p", "00002")
    batch.insert_or_replace_entity({"PartitionKey": "p", "RowKey": "it's", "x": "100%25"})
    assert len(service.commit_batch(table, batch)) == 3


@check
def signatures():
    table = fresh()
    service.insert_entity(table, {"PartitionKey": "a", "RowKey": "1"})
    service.insert_entity(table, {"PartitionKey": "b", "RowKey": "1"})
    hour = datetime.now(timezone.utc) + timedelta(hours=1)
    token = service.generate_table_shared_access_signature(
        table, TablePermissions.QUERY, hour, start_pk="b", start_rk="1", end_pk="b", end_rk="1"
    )
    reader = TableService(connection_string=f"TableEndpoint={os.environ['ROWKEY_REST']};SharedAccessSignature={token}")
    assert [entity.PartitionKey for entity in reader.query_entities(table)] == ["b"]
    assert raises(AzureHttpError, reader.insert_entity, table, {"PartitionKey": "b", "RowKey": "2"}).status_code == 403
    service.set_table_acl(table, {"p1": AccessPolicy(TablePermissions(query=True), hour.strftime("%Y-%m-%dT%H:%M:%SZ"))})
    assert list(service.get_table_acl(table)) == ["p1"]
    assert service.get_table_service_properties().hour_metrics is not None


run()
