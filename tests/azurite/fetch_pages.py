"""Seeds a Table service with the official SDK, fetches every page back and keeps each response body exactly as sent.

    fetch_pages.py --endpoint http://127.0.0.1:PORT/devstoreaccount1 --out FOLDER

writes
    FOLDER/pages/Employees/0001.json ...         minimal metadata, one file per page
    FOLDER/pages/Departments/0001.json ...
    FOLDER/pages-full/Employees/0001.json ...    the same entities with full metadata
    FOLDER/expected.json                         questions in SQL and their answers, computed from what the SDK returned

The answers are computed here, in plain Python over the SDK's entities, so that they owe nothing to the engine under test.
"""

import argparse
import json
import math
import random
import sys
import uuid
from datetime import datetime, timedelta, timezone
from pathlib import Path

from azure.core.credentials import AzureNamedKeyCredential
from azure.data.tables import EdmType, EntityProperty, TableServiceClient

# The emulator's well-known account; the key is a public constant.
ACCOUNT = "devstoreaccount1"
ACCOUNT_KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="

SEED = 20240229
EMPLOYEES = 3_600
BATCH_MAX = 100  # entities in one group transaction
PAGE_MAX = 1_000  # entities in one page of the service

DEPARTMENTS = [
    "Accounting", "Engineering", "Facilities", "Finance", "Human Resources", "Legal",
    "Logistics", "Marketing", "Research", "Sales", "Support", "Vertrieb Süd",
]
REGIONS = ["Americas", "Asia", "Europe"]
FAMILY = ["Adler", "Brandt", "Chen", "Dvořák", "Eriksson", "Fontaine", "García", "Hansen", "Ito", "Jones", "Kaya", "李"]
GIVEN = ["Ana", "Bo", "Chloé", "Dmitri", "Emma", "Farid", "Greta", "Hiro", "Ines", "Jörg"]


def typed(value, edm_type):
    return EntityProperty(value, edm_type)


def employee(number, random_source):
    """One ordinary employee: every type of property, about one value in six missing."""
    given, family = random_source.choice(GIVEN), random_source.choice(FAMILY)
    hired = datetime(2010, 1, 1, tzinfo=timezone.utc) + timedelta(seconds=random_source.randrange(400_000_000))
    properties = {
        "FirstName": given,
        "LastName": family,
        "Level": typed(random_source.randrange(1, 11), EdmType.INT32),
        "Badge": typed(2**53 + 1 + number, EdmType.INT64),
        # Every fourth is a whole number: it has to come back as a Double all the same.
        "Score": typed(random_source.randrange(0, 400) / 4, EdmType.DOUBLE),
        "Active": random_source.random() < 0.7,
        "HiredAt": typed(hired, EdmType.DATETIME),
        "DeviceId": typed(uuid.UUID(int=random_source.getrandbits(128), version=4), EdmType.GUID),
        "Photo": typed(random_source.randbytes(12), EdmType.BINARY),
    }
    kept = {name: value for name, value in properties.items() if random_source.random() >= 1 / 6}
    # One property of two types that have nothing in common.
    if number % 3 == 0:
        kept["Contact"] = f"desk {number}"
    elif number % 3 == 1:
        kept["Contact"] = typed(4_900_000_000_000 + number, EdmType.INT64)
    return {
        "PartitionKey": DEPARTMENTS[number % len(DEPARTMENTS)],
        "RowKey": f"{number:05}",
        "Email": f"e{number:05}@example.com",
        **kept,
    }


def odd_entities():
    """The corners of the model: empty keys, extreme values, text of many scripts, names that differ in case only."""
    corners = {
        "Level": [typed(-(2**31), EdmType.INT32), typed(2**31 - 1, EdmType.INT32)],
        "Badge": [typed(-(2**63), EdmType.INT64), typed(2**63 - 1, EdmType.INT64)],
        "Score": [typed(5e-324, EdmType.DOUBLE), typed(-1.7976931348623157e308, EdmType.DOUBLE)],
        "HiredAt": [typed("1601-01-01T00:00:00Z", EdmType.DATETIME), typed("9999-12-31T23:59:59.9999999Z", EdmType.DATETIME)],
        "Photo": [b"", bytes(range(256))],
    }
    odd = [
        # A department's own entity, kept beside its employees under the empty RowKey.
        {"PartitionKey": "Sales", "RowKey": "", "EntityType": "department", "Budget": typed(1.0, EdmType.DOUBLE)},
        {"PartitionKey": "", "RowKey": "", "EntityType": "empty keys"},
        {"PartitionKey": "", "RowKey": " ", "EntityType": "a blank RowKey"},
        {"PartitionKey": "odd", "RowKey": "p1", "EntityType": "lower"},
        {"PartitionKey": "odd", "RowKey": "P1", "EntityType": "upper"},
        {
            "PartitionKey": "odd",
            "RowKey": "日本語 😀",
            "EntityType": "日本語 “quotes” 'single' \\ 😀",
            "Note": "line one\nline two\r\n\ttab",
        },
        {"PartitionKey": "odd", "RowKey": "case", "id": typed(1, EdmType.INT32), "ID": "two", "Id": True},
        {"PartitionKey": "odd", "RowKey": "empty text", "LastName": "", "EntityType": ""},
        {"PartitionKey": "odd", "RowKey": "nan", "Ratio": typed(math.nan, EdmType.DOUBLE)},
        {"PartitionKey": "odd", "RowKey": "infinity", "Ratio": typed(math.inf, EdmType.DOUBLE)},
        {"PartitionKey": "odd", "RowKey": "minus infinity", "Ratio": typed(-math.inf, EdmType.DOUBLE)},
        {"PartitionKey": "odd", "RowKey": "no properties"},
        {"PartitionKey": "odd", "RowKey": "contact-bool", "Contact": True},
        {"PartitionKey": "odd", "RowKey": "contact-double", "Contact": typed(2.5, EdmType.DOUBLE)},
    ]
    for name, values in corners.items():
        for number, value in enumerate(values):
            odd.append({"PartitionKey": "odd", "RowKey": f"corner {name} {number}", name: value})
    return odd


def department(number, name):
    return {
        "PartitionKey": REGIONS[number % len(REGIONS)],
        "RowKey": name,
        "Region": REGIONS[number % len(REGIONS)],
        "Budget": typed(50_000.0 * (number + 1), EdmType.DOUBLE),
        "Founded": typed(datetime(1990 + number, 1, 1, tzinfo=timezone.utc), EdmType.DATETIME),
    }


def insert(service, table_name, entities):
    """Creates the table and inserts by group transactions, which take one partition at a time."""
    table = service.create_table(table_name)
    by_partition = {}
    for entity in entities:
        by_partition.setdefault(entity["PartitionKey"], []).append(entity)
    for partition in by_partition.values():
        for start in range(0, len(partition), BATCH_MAX):
            table.submit_transaction([("create", entity) for entity in partition[start : start + BATCH_MAX]])
    print(f"  {table_name}: {len(entities)} entities in {len(by_partition)} partitions inserted", file=sys.stderr)


def fetch(service, table_name, folder, metadata):
    """Fetches every page, keeps each body as it came, and returns the SDK's entities."""
    folder.mkdir(parents=True)
    pages = 0

    def keep(response):
        nonlocal pages
        pages += 1
        (folder / f"{pages:04}.json").write_bytes(response.http_response.body())

    pager = service.get_table_client(table_name).list_entities(
        results_per_page=PAGE_MAX,
        raw_response_hook=keep,
        headers={"Accept": f"application/json;odata={metadata}metadata"},
    )
    entities = list(pager)
    in_files = sum(len(json.loads(path.read_bytes())["value"]) for path in folder.iterdir())
    if in_files != len(entities):
        sys.exit(f"{folder} holds {in_files} entities, but the SDK returned {len(entities)}")
    print(f"  {table_name}: {len(entities)} entities in {pages} pages, {metadata} metadata", file=sys.stderr)
    return entities


def plain(value):
    """The SDK returns Int64 values as (value, type) pairs."""
    return value.value if isinstance(value, EntityProperty) else value


def present(entities, name):
    return [plain(entity[name]) for entity in entities if name in entity]


def questions(employees, departments):
    """(name, SQL, column names, rows, access path or None) for each question; rows are compared in order."""
    in_department = {}
    for entity in employees:
        in_department.setdefault(entity["PartitionKey"], []).append(entity)
    region_of = {entity["RowKey"]: entity["Region"] for entity in departments}

    def extreme(pick, values):
        return pick(values) if values else None

    yield "every entity arrived", 'SELECT count(*) AS entities FROM "Employees"', ["entities"], [[len(employees)]], None
    yield "the small table too", 'SELECT count(*) AS entities FROM "Departments"', ["entities"], [[len(departments)]], None
    yield (
        "group by department",
        'SELECT "PartitionKey", count(*) AS entities, count("LastName") AS named, sum("Level") AS levels, '
        'min("Badge") AS lowest, max("Badge") AS highest FROM "Employees" GROUP BY "PartitionKey" ORDER BY "PartitionKey"',
        ["PartitionKey", "entities", "named", "levels", "lowest", "highest"],
        [
            [
                key,
                len(group),
                len(present(group, "LastName")),
                sum(present(group, "Level")) if present(group, "Level") else None,
                extreme(min, present(group, "Badge")),
                extreme(max, present(group, "Badge")),
            ]
            # SQL orders text by code point, as Python does.
            for key, group in sorted(in_department.items())
        ],
        None,
    )
    by_region = {}
    for entity in employees:
        if entity["PartitionKey"] in region_of and "Score" in entity:
            by_region.setdefault(region_of[entity["PartitionKey"]], []).append(entity["Score"])
    yield (
        "join with the departments",
        'SELECT d."Region", count(*) AS scored, avg(e."Score") AS average FROM "Employees" e '
        'JOIN "Departments" d ON e."PartitionKey" = d."RowKey" WHERE e."Score" IS NOT NULL GROUP BY d."Region" ORDER BY d."Region"',
        ["Region", "scored", "average"],
        [[region, len(scores), math.fsum(scores) / len(scores)] for region, scores in sorted(by_region.items())],
        None,
    )
    active = [entity for entity in employees if entity.get("Active") is True]
    yield (
        "booleans",
        'SELECT count(*) AS active, count(DISTINCT "PartitionKey") AS departments FROM "Employees" WHERE "Active"',
        ["active", "departments"],
        [[len(active), len({entity["PartitionKey"] for entity in active})]],
        None,
    )
    hired = present(employees, "HiredAt")
    yield (
        "the whole range of dates, in microseconds",
        'SELECT min("HiredAt") AS first, max("HiredAt") AS last FROM "Employees"',
        ["first", "last"],
        [[min(hired).isoformat(), max(hired).isoformat()]],
        None,
    )
    contacts = present(employees, "Contact")
    whole = [value for value in contacts if isinstance(value, int) and not isinstance(value, bool)]
    yield (
        "one property of several types",
        'SELECT count("Contact") AS contacts, count("Contact:String") AS texts, count("Contact:Int64") AS numbers, '
        'sum("Contact:Int64") AS total, count("Contact:Boolean") AS flags, count("Contact:Double") AS doubles FROM "Employees"',
        ["contacts", "texts", "numbers", "total", "flags", "doubles"],
        [
            [
                len(contacts),
                sum(isinstance(value, str) for value in contacts),
                len(whole),
                sum(whole),
                sum(isinstance(value, bool) for value in contacts),
                sum(isinstance(value, float) for value in contacts),
            ]
        ],
        None,
    )
    yield (
        "names that differ in case only",
        'SELECT "id", "ID", "Id" FROM "Employees" WHERE "PartitionKey" = \'odd\' AND "RowKey" = \'case\'',
        ["id", "ID", "Id"],
        [[1, "two", True]],
        "point",
    )
    yield (
        "empty keys are ordinary values",
        'SELECT "PartitionKey", "RowKey", "EntityType" FROM "Employees" WHERE "RowKey" = \'\' ORDER BY "PartitionKey"',
        ["PartitionKey", "RowKey", "EntityType"],
        [["", "", "empty keys"], ["Sales", "", "department"]],
        "table",
    )
    yield (
        "text of many scripts",
        'SELECT "RowKey", "EntityType", "Note" FROM "Employees" WHERE "PartitionKey" = \'odd\' AND "RowKey" = \'日本語 😀\'',
        ["RowKey", "EntityType", "Note"],
        [["日本語 😀", "日本語 “quotes” 'single' \\ 😀", "line one\nline two\r\n\ttab"]],
        "point",
    )

    # The same question asked four ways: each asker knows less of the key than the one before.
    sought = next(e for e in employees if e["PartitionKey"] == "Engineering" and "LastName" in e and e["RowKey"] > "01000")
    select = 'SELECT "PartitionKey", "RowKey", "LastName" FROM "Employees" WHERE '
    email = f"\"Email\" = '{sought['Email']}'"
    low, high = f"{int(sought['RowKey']) - 50:05}", f"{int(sought['RowKey']) + 50:05}"
    knowing = {
        "point": f"\"PartitionKey\" = 'Engineering' AND \"RowKey\" = '{sought['RowKey']}' AND {email}",
        "range": f"\"PartitionKey\" = 'Engineering' AND \"RowKey\" >= '{low}' AND \"RowKey\" < '{high}' AND {email}",
        "partition": f"\"PartitionKey\" = 'Engineering' AND {email}",
        "table": email,
    }
    for access_path, predicate in knowing.items():
        yield (
            f"who has this address, asked as a {access_path} read",
            select + predicate,
            ["PartitionKey", "RowKey", "LastName"],
            [["Engineering", sought["RowKey"], sought["LastName"]]],
            access_path,
        )


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--endpoint", required=True, help="URL of the table service, account included")
    arguments.add_argument("--out", required=True, type=Path, help="folder to write to; must not hold pages yet")
    options = arguments.parse_args()

    service = TableServiceClient(endpoint=options.endpoint, credential=AzureNamedKeyCredential(ACCOUNT, ACCOUNT_KEY))
    random_source = random.Random(SEED)
    insert(service, "Employees", [employee(number, random_source) for number in range(EMPLOYEES)] + odd_entities())
    insert(service, "Departments", [department(number, name) for number, name in enumerate(DEPARTMENTS)])

    employees = fetch(service, "Employees", options.out / "pages" / "Employees", "minimal")
    departments = fetch(service, "Departments", options.out / "pages" / "Departments", "minimal")
    fetch(service, "Employees", options.out / "pages-full" / "Employees", "full")

    names = ("name", "sql", "columns", "rows", "access_path")
    expected = [dict(zip(names, question)) for question in questions(employees, departments)]
    (options.out / "expected.json").write_text(json.dumps(expected, ensure_ascii=False, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
