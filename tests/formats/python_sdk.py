"""Fills the table Canon, and dumps it as users of the Python SDK do."""
import json
import os
import sys
import urllib.request
from datetime import datetime, timezone
from uuid import UUID

import pandas
from azure.data.tables import EdmType, EntityProperty, TableServiceClient, generate_table_sas, TableSasPermissions
from azure.core.credentials import AzureNamedKeyCredential

out = sys.argv[1]
connection = os.environ["CONNECTION"]
table = TableServiceClient.from_connection_string(connection).create_table("Canon")
big = lambda number: EntityProperty(number, EdmType.INT64)
everything = {
    "At": datetime(2024, 2, 29, 12, 34, 56, 789000, tzinfo=timezone.utc),
    "Big": big(2**53 + 1),
    "Count": 42,
    "Note": 'say "hi", ok;\n\u00e4\U0001f600',
    "Paid": True,
    "Price": 1.5,
    "Raw": bytes([0, 1, 254, 255, 39]),
    "Ref": UUID("0f8fad5b-d9cb-469f-a165-70867728950e"),
}
for partition, row, properties in [
    ("", "", {"Count": 1}),
    ("P1", "a", everything),
    ("P1", "b", {"Big": big(-(2**63)), "Price": 1e300, "Paid": False}),
    ("P2", "late", {"Count": -(2**31), "Late": "only here", "Big": big(2**63 - 1)}),
    ("p1", "a", {"At": datetime(1601, 1, 1, tzinfo=timezone.utc), "Price": -0.5, "Note": "x" * 300}),
]:
    table.upsert_entity({"PartitionKey": partition, "RowKey": row, **properties})

# The service's own JSON, in the levels of metadata that carry types and that do not.
key = connection.split("AccountKey=")[1].split(";")[0]
endpoint = connection.split("TableEndpoint=")[1].rstrip(";")
sas = generate_table_sas(
    AzureNamedKeyCredential("devstoreaccount1", key), "Canon", permission=TableSasPermissions(read=True),
    expiry=datetime(2099, 1, 1), start=datetime(2020, 1, 1),
)
for level in ["minimalmetadata", "fullmetadata", "nometadata"]:
    request = urllib.request.Request(
        f"{endpoint}/Canon()?{sas}", headers={"Accept": f"application/json;odata={level}", "x-ms-version": "2019-02-02"}
    )
    with urllib.request.urlopen(request) as answer:
        open(f"{out}/rest-{level}.json", "wb").write(answer.read())

entities = [dict(entity) for entity in table.list_entities()]
json.dump(entities, open(f"{out}/python.json", "w"), default=str)
frame = pandas.DataFrame(entities)
frame.to_csv(f"{out}/pandas.csv")
plain = [{name: getattr(value, "value", value) if name == "Big" else value for name, value in entity.items()} for entity in entities]
frame = pandas.DataFrame([{**entity, **({"Ref": str(entity["Ref"])} if "Ref" in entity else {})} for entity in plain])
for name in ["Big", "Count"]:
    frame[name] = pandas.array([entity.get(name, pandas.NA) for entity in plain], dtype="Int64")
frame["Paid"] = frame["Paid"].astype("boolean")
frame.to_parquet(f"{out}/pandas.parquet")
frame.to_parquet(f"{out}/pandas-int96.parquet", use_deprecated_int96_timestamps=True, compression="gzip")
frame.to_parquet(f"{out}/pandas-crc.parquet", write_page_checksum=True, compression="none")
