"""azure-data-tables (PyPI), sync and aio, against the Table service of `rowkey serve`, whose URL is in ROWKEY_REST."""

import asyncio
import json
import os
import uuid
from datetime import datetime, timedelta, timezone

from azure.core import MatchConditions
from azure.core.credentials import AzureNamedKeyCredential, AzureSasCredential
from azure.core.exceptions import (
    ClientAuthenticationError,
    HttpResponseError,
    ResourceExistsError,
    ResourceModifiedError,
    ResourceNotFoundError,
)
from azure.data.tables import (
    EdmType,
    EntityProperty,
    RequestTooLargeError,
    TableAccessPolicy,
    TableClient,
    TableCorsRule,
    TableServiceClient,
    TableTransactionError,
    UpdateMode,
    generate_account_sas,
    generate_table_sas,
)
from azure.data.tables.aio import TableServiceClient as AsyncTableServiceClient

from checks import check, raises, run

KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
ACCOUNT = "devstoreaccount1"
ENDPOINT = os.environ["ROWKEY_REST"]
CONNECTION = (
    f"DefaultEndpointsProtocol=http;AccountName={ACCOUNT};AccountKey={KEY};TableEndpoint={ENDPOINT};"
)
service = TableServiceClient.from_connection_string(CONNECTION)


def fresh():
    return service.create_table("T" + uuid.uuid4().hex[:20])


def code(error):
    """The service's code; of an insert the SDK raises the error before it has looked for it."""
    named = getattr(error, "error_code", None)
    return named or json.loads(error.response.text())["odata.error"]["code"]


@check
def tables():
    table = fresh()
    name = table.table_name
    assert code(raises(ResourceExistsError, service.create_table, name)) == "TableAlreadyExists"
    assert code(raises(ResourceExistsError, service.create_table, name.upper())) == "TableAlreadyExists"
    service.create_table_if_not_exists(name)
    assert name in [item.name for item in service.list_tables()]
    found = list(service.query_tables("TableName eq @name", parameters={"name": name}))
    assert [item.name for item in found] == [name]
    more = sorted(fresh().table_name for _ in range(5))
    listed = [item.name for page in service.list_tables(results_per_page=2).by_page() for item in page]
    assert set(more) <= set(listed) and [n.lower() for n in listed] == sorted(n.lower() for n in listed)
    service.delete_table(name)
    service.delete_table(name)
    raises(ValueError, service.create_table, "my_table")
    assert code(raises(ResourceNotFoundError, table.get_entity, "p", "r")) == "TableNotFound"


@check
def entities():
    table = fresh()
    entity = {"PartitionKey": "p", "RowKey": "r", "Text": "it's", "N": 5}
    written = table.create_entity(entity)
    assert written["etag"].startswith("W/\"datetime'")
    error = raises(ResourceExistsError, table.create_entity, entity)
    assert code(error) == "EntityAlreadyExists"
    read = table.get_entity("p", "r")
    assert dict(read) == entity and read.metadata["etag"] == written["etag"]
    table.update_entity({"PartitionKey": "p", "RowKey": "r", "More": True}, mode=UpdateMode.MERGE)
    assert dict(table.get_entity("p", "r")) == {**entity, "More": True}
    table.update_entity({"PartitionKey": "p", "RowKey": "r", "Only": 1}, mode=UpdateMode.REPLACE)
    assert dict(table.get_entity("p", "r")) == {"PartitionKey": "p", "RowKey": "r", "Only": 1}
    stale = {"etag": written["etag"], "match_condition": MatchConditions.IfNotModified}
    error = raises(ResourceModifiedError, table.update_entity, entity, **stale)
    assert code(error) == "UpdateConditionNotSatisfied"
    error = raises(ResourceNotFoundError, table.update_entity, {"PartitionKey": "p", "RowKey": "none"})
    assert code(error) == "ResourceNotFound"
    table.upsert_entity({"PartitionKey": "p", "RowKey": "new", "A": 1})
    table.upsert_entity({"PartitionKey": "p", "RowKey": "new", "B": 2})
    table.upsert_entity({"PartitionKey": "p", "RowKey": "r", "C": 3}, mode=UpdateMode.REPLACE)
    assert {"A", "B"} <= set(table.get_entity("p", "new")) and "Only" not in table.get_entity("p", "r")
    assert dict(table.get_entity("p", "new", select=["A", "none"])) == {"A": 1, "none": None}
    raises(ResourceModifiedError, table.delete_entity, "p", "r", **stale)
    table.delete_entity("p", "r")
    table.delete_entity("p", "r")
    assert code(raises(ResourceNotFoundError, table.get_entity, "p", "r")) == "ResourceNotFound"


@check
def every_type_at_its_extremes():
    table = fresh()
    entity = {
        "PartitionKey": "p",
        "RowKey": "types",
        "Empty": "",
        "Text": "\u20ac 名前 \U0001f600 \"quoted\" \\ \n",
        "Yes": True,
        "Int": -(2**31),
        "Long": EntityProperty(2**63 - 1, EdmType.INT64),
        "Least": EntityProperty(-(2**63), EdmType.INT64),
        "Double": 1.7976931348623157e308,
        "Small": 5e-324,
        "Three": 3.0,
        "NaN": float("nan"),
        "Infinite": float("-inf"),
        "Id": uuid.uuid4(),
        "Bytes": bytes(range(256)),
        "At": datetime(9999, 12, 31, 23, 59, 59, 999999, tzinfo=timezone.utc),
        "Early": datetime(1601, 1, 1, tzinfo=timezone.utc),
        "名前": "non-ASCII name",
    }
    table.create_entity(entity)
    read = table.get_entity("p", "types")
    assert str(read.pop("NaN")) == "nan"
    entity.pop("NaN")
    # The SDK reads an Int64 as an EntityProperty.
    plain = lambda value: value.value if isinstance(value, EntityProperty) else value
    assert {name: plain(value) for name, value in read.items()} == {
        name: plain(value) for name, value in entity.items()
    }
    # The 100 ns digit stays.
    table.upsert_entity({"PartitionKey": "p", "RowKey": "tick", "At": ("2020-01-02T03:04:05.1234567Z", EdmType.DATETIME)})
    assert table.get_entity("p", "tick")["At"].tables_service_value == "2020-01-02T03:04:05.1234567Z"
    for key in ["O'Brien", "a b", "%25", "50%", "é€", "a+b", "x=1&y=2", "(')", "~-_.!*", "`", "a,b"]:
        table.create_entity({"PartitionKey": key, "RowKey": key, "v": key})
        assert table.get_entity(key, key)["v"] == key
        found = list(table.query_entities("PartitionKey eq @k and RowKey eq @k", parameters={"k": key}))
        assert [entity["v"] for entity in found] == [key]
        table.delete_entity(key, key)
    error = raises(HttpResponseError, table.create_entity, {"PartitionKey": "p", "RowKey": "big", "v": "x" * 32769})
    assert code(error) == "PropertyValueTooLarge"
    table.create_entity({"PartitionKey": "p", "RowKey": "fits", "v": "x" * 32768})


@check
def queries_and_pages():
    table = fresh()
    for start in range(0, 2500, 100):
        table.submit_transaction(
            [
                ("create", {"PartitionKey": f"p{start // 1000}", "RowKey": f"{at:05}", "N": at, "L": EntityProperty(at, EdmType.INT64)})
                for at in range(start, start + 100)
            ]
        )
    assert len(list(table.list_entities())) == 2500
    pages = [list(page) for page in table.list_entities(results_per_page=1000).by_page()]
    assert [len(page) for page in pages] == [1000, 1000, 500]
    assert [e["N"] for page in pages for e in page] == list(range(2500))
    rows = list(table.query_entities("PartitionKey eq 'p1' and N ge 1500", results_per_page=70))
    assert [e["N"] for e in rows] == list(range(1500, 2000))
    first = table.query_entities("N ge 10").by_page()
    next(first)
    rest = table.query_entities("N ge 10").by_page(continuation_token=first.continuation_token)
    assert sum(len(list(page)) for page in rest) == 1490
    assert len(list(table.query_entities("L eq 5"))) == 1
    assert len(list(table.query_entities("L eq @l", parameters={"l": 2**40}))) == 0
    assert len(list(table.query_entities("not (N lt 2490)"))) == 10
    assert len(list(table.query_entities("Missing ne 1"))) == 0
    selected = list(table.query_entities("N eq 7", select=["N", "RowKey"]))
    assert [dict(e) for e in selected] == [{"N": 7, "RowKey": "00007"}]
    assert code(raises(HttpResponseError, list, table.query_entities("aaa bbb ccc"))) == "InvalidInput"
    assert code(raises(HttpResponseError, list, table.query_entities("startswith(N, 'a')"))) == "NotImplemented"


@check
def transactions():
    table = fresh()
    table.create_entity({"PartitionKey": "p", "RowKey": "old", "A": 1})
    results = table.submit_transaction(
        [
            ("create", {"PartitionKey": "p", "RowKey": "1"}),
            ("upsert", {"PartitionKey": "p", "RowKey": "2", "x": "O'Brien %25"}),
            ("update", {"PartitionKey": "p", "RowKey": "old", "B": 2}, {"mode": "merge"}),
            ("upsert", {"PartitionKey": "p", "RowKey": "it's"}, {"mode": "replace"}),
        ]
    )
    assert len(results) == 4 and all(result["etag"] for result in results)
    assert dict(table.get_entity("p", "old")) == {"PartitionKey": "p", "RowKey": "old", "A": 1, "B": 2}
    error = raises(
        TableTransactionError,
        table.submit_transaction,
        [("create", {"PartitionKey": "p", "RowKey": "3"}), ("create", {"PartitionKey": "p", "RowKey": "1"})],
    )
    assert (code(error), error.index) == ("EntityAlreadyExists", 1)
    raises(ResourceNotFoundError, table.get_entity, "p", "3")
    error = raises(TableTransactionError, table.submit_transaction, [("delete", {"PartitionKey": "p", "RowKey": "none"})])
    assert code(error) == "ResourceNotFound"
    twice = [("upsert", {"PartitionKey": "p", "RowKey": "1", "N": at}) for at in range(2)]
    error = raises(TableTransactionError, table.submit_transaction, twice)
    assert (code(error), error.index) == ("InvalidDuplicateRow", 1)
    many = [("upsert", {"PartitionKey": "p", "RowKey": str(at)}) for at in range(101)]
    assert code(raises(TableTransactionError, table.submit_transaction, many)) == "InvalidInput"
    large = [("upsert", {"PartitionKey": "p", "RowKey": str(at), **{f"v{n}": "x" * 30000 for n in range(3)}}) for at in range(60)]
    raises(RequestTooLargeError, table.submit_transaction, large)
    gone = service.get_table_client("Gone" + uuid.uuid4().hex[:10])
    error = raises(TableTransactionError, gone.submit_transaction, [("create", {"PartitionKey": "p", "RowKey": "1"})])
    assert code(error) == "TableNotFound"
    table.submit_transaction([("delete", {"PartitionKey": "p", "RowKey": row}) for row in ["1", "2", "old", "it's"]])
    assert list(table.list_entities()) == []


def in_an_hour():
    return datetime.now(timezone.utc) + timedelta(hours=1)


@check
def signatures():
    table = fresh()
    name = table.table_name
    for row in "abcd":
        table.create_entity({"PartitionKey": row, "RowKey": row, "v": row})
    credential = AzureNamedKeyCredential(ACCOUNT, KEY)

    def client(token):
        return TableClient(ENDPOINT, name, credential=AzureSasCredential(token))

    reader = client(generate_table_sas(credential, name, permission="r", expiry=in_an_hour()))
    assert len(list(reader.list_entities())) == 4
    error = raises(HttpResponseError, reader.create_entity, {"PartitionKey": "x", "RowKey": "x"})
    assert code(error) == "AuthorizationPermissionMismatch"
    ranged = client(
        generate_table_sas(
            credential, name, permission="raud", expiry=in_an_hour(),
            start_pk="b", start_rk="b", end_pk="c", end_rk="c",
        )
    )
    assert [e["v"] for e in ranged.list_entities()] == ["b", "c"]
    ranged.upsert_entity({"PartitionKey": "b", "RowKey": "c"})
    error = raises(HttpResponseError, ranged.upsert_entity, {"PartitionKey": "d", "RowKey": "d"})
    assert code(error) == "AuthorizationFailure"
    error = raises(HttpResponseError, ranged.submit_transaction, [("upsert", {"PartitionKey": "d", "RowKey": "d"})])
    assert error.status_code == 403
    past = datetime.now(timezone.utc) - timedelta(hours=1)
    expired = client(generate_table_sas(credential, name, permission="r", expiry=past))
    assert code(raises(ClientAuthenticationError, list, expired.list_entities())) == "AuthenticationFailed"

    policy = TableAccessPolicy(start=past, expiry=in_an_hour(), permission="r")
    table.set_table_access_policy({"p1": policy, "empty": None})
    stored = table.get_table_access_policy()
    assert set(stored) == {"p1", "empty"} and stored["p1"].permission == "r"
    by_policy = client(generate_table_sas(credential, name, policy_id="p1"))
    assert len(list(by_policy.list_entities())) >= 4
    table.set_table_access_policy({})
    assert table.get_table_access_policy() == {}
    raises(ClientAuthenticationError, list, by_policy.list_entities())
    raises(HttpResponseError, reader.get_table_access_policy)

    token = generate_account_sas(credential, resource_types="sco", permission="rwdlacu", expiry=in_an_hour())
    account = TableServiceClient(ENDPOINT, credential=AzureSasCredential(token))
    assert name in [item.name for item in account.list_tables()]
    account.get_service_properties()
    created = account.create_table("S" + uuid.uuid4().hex[:20])
    created.upsert_entity({"PartitionKey": "p", "RowKey": "r"})
    account.delete_table(created.table_name)
    wrong = TableServiceClient(ENDPOINT, credential=AzureNamedKeyCredential(ACCOUNT, "AAAA"))
    assert code(raises(ClientAuthenticationError, list, wrong.list_tables())) == "AuthenticationFailed"


@check
def service_properties():
    before = service.get_service_properties()
    assert before["analytics_logging"].version == "1.0"
    rule = TableCorsRule(["http://example.com"], ["GET", "PUT"], max_age_in_seconds=500, allowed_headers=["x-ms-*"])
    service.set_service_properties(cors=[rule])
    after = service.get_service_properties()
    assert after["cors"][0].allowed_origins == ["http://example.com"] and after["cors"][0].max_age_in_seconds == 500
    service.set_service_properties(cors=[])
    assert service.get_service_properties()["cors"] == []
    six = [TableCorsRule(["http://a"], ["GET"]) for _ in range(6)]
    assert code(raises(HttpResponseError, service.set_service_properties, cors=six)) == "InvalidXmlDocument"


@check
def statistics_of_the_secondary():
    # The SDK puts the secondary's host and account before the account that the path begins with.
    assert service.get_service_stats()["geo_replication"]["status"] == "live"
    credential = AzureNamedKeyCredential(ACCOUNT, KEY)
    secondary = TableServiceClient(ENDPOINT + "-secondary", credential=credential)
    assert secondary.get_service_stats()["geo_replication"]["status"] == "live"
    assert fresh().table_name in [item.name for item in secondary.list_tables()]
    assert code(raises(HttpResponseError, secondary.create_table, "Wrong")) == "InsufficientAccountPermissions"


@check
def asynchronously():
    async def all_of_it():
        async with AsyncTableServiceClient.from_connection_string(CONNECTION) as client:
            table = await client.create_table("A" + uuid.uuid4().hex[:20])
            await asyncio.gather(
                *(table.upsert_entity({"PartitionKey": "p", "RowKey": str(at), "N": at}) for at in range(50))
            )
            await table.submit_transaction([("delete", {"PartitionKey": "p", "RowKey": "0"})])
            found = [e["N"] async for e in table.query_entities("N lt 10", results_per_page=3)]
            assert sorted(found) == list(range(1, 10))
            await client.delete_table(table.table_name)

    asyncio.run(all_of_it())


run()
