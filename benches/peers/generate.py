"""Generates a seeded table of entities in key order, as Parquet, NDJSON and CSV, in bounded memory.

    generate.py --entities 1000000 --shape a --out FOLDER [--formats parquet,ndjson,csv] [--seed 1]

Shape a has 1,000 partitions of N/1000 entities; shape b has N/5 partitions of 5. Key and properties of an entity depend on
its number, the shape and the seed alone. Every property but the keys and Timestamp is missing in about a fifth of the entities;
Mixed is a String in some and an Int64 in others.

    FOLDER/parquet/part-0000.parquet ...    up to a million entities each; a property of two types is two columns, Mixed:String and Mixed:Int64
    FOLDER/entities.ndjson                  the table service's JSON with minimal metadata, one entity a line
    FOLDER/entities.csv                     for COPY: header line, NULL is empty, bytes as \\x.., the two types of Mixed as two columns
    FOLDER/departments/departments.ndjson   a dimension table of twelve rows; beside it the same as .parquet
    FOLDER/meta.json                        what was asked for; a folder that already holds just that is left as it is
"""

import argparse
import base64
import json
import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv
import pyarrow.parquet as pq

GENERATOR = 1  # raise it when the generated data changes
CHUNK = 50_000
FILE_ROWS = 1_000_000
ROW_GROUP_ROWS = 100_000
MISSING = 0.2

DEPARTMENTS = [
    "Accounting", "Catering", "Design", "Engineering", "Finance",
    "Legal", "Maintenance", "Purchasing", "Quality", "Research", "Sales", "Transport",
]
REGIONS = ["Africa", "America", "Asia", "Europe"]
SYLLABLES = ["ala", "ber", "cat", "dor", "esh", "fin", "gul", "hem", "iri", "jas", "kol", "lum", "mar", "nid", "oru", "pel"]
FAMILY_NAMES = [(a + b).capitalize() + c for a in SYLLABLES for b in SYLLABLES for c in ("", "son", "ova", "ez")]
WORDS = [a + b for a in SYLLABLES for b in SYLLABLES]


def text(array):
    return pa.array(array).cast(pa.string())


def joined(*parts):
    """Concatenates text, element by element; one missing part makes the whole missing."""
    return pc.binary_join_element_wise(*parts, pa.scalar(""))


def chunk(seed, shape, entities, start, count):
    """Entities start..start+count as a table whose last columns are hexadecimal and base64 forms for the text formats."""
    random = np.random.default_rng([seed, start])
    number = np.arange(start, start + count)
    per_partition = entities // 1000 if shape == "a" else 5

    def zero_padded(values, width):
        return pc.utf8_lpad(text(values), width=width, padding="0")

    def some(values, type=None):
        values = values if isinstance(values, (pa.Array, pa.ChunkedArray)) else pa.array(values, type)
        return pc.if_else(pa.array(random.random(count) < MISSING), pa.scalar(None, values.type), values)

    def pick(names):
        return pa.array(names).take(pa.array(random.integers(0, len(names), count)))

    def slices(whole, length):
        return text(np.frombuffer(whole, f"S{length}"))

    def alike(values, mask):
        return pc.if_else(mask, pa.scalar(None, values.type), values)

    family = pick(FAMILY_NAMES)
    guids = random.bytes(16 * count)
    hexadecimal = slices(guids.hex().encode(), 32)
    guid_text = pc.binary_join_element_wise(
        *[pc.utf8_slice_codeunits(hexadecimal, a, b) for a, b in ((0, 8), (8, 12), (12, 16), (16, 20), (20, 32))], pa.scalar("-")
    )
    # 15 bytes make 20 base64 characters without padding, so the whole column is encoded in one go.
    payloads = random.bytes(15 * count)
    no_guid, no_payload = (pa.array(random.random(count) < MISSING) for _ in range(2))
    kind = random.random(count)  # 40 % text, 40 % numbers, the rest missing
    mixed_number = pa.array(random.integers(0, 100_000, count))

    columns = {
        "PartitionKey": joined(pa.scalar("p"), zero_padded(number // per_partition, 8)),
        "RowKey": zero_padded(number % per_partition, 10),
        "Timestamp": pa.array(1_700_000_000_000_000 + number * 1_009, pa.timestamp("us", "UTC")),
        "Department": some(pick(DEPARTMENTS)),
        "Email": some(joined(pc.utf8_lower(family), text(number), pa.scalar("@example.com"))),
        "Bio": some(pc.binary_join_element_wise(*[pick(WORDS) for _ in range(12)], pa.scalar(" "))),
        "LastName": some(family),
        "Level": some(random.integers(0, 100, count), pa.int32()),
        "Badge": some(random.integers(0, 2**40, count), pa.int64()),
        "Score": some(random.normal(50, 15, count), pa.float64()),
        "Active": some(random.random(count) < 0.6),
        "HiredAt": some(1_420_000_000_000_000 + random.integers(0, 300_000_000, count) * 1_000_000, pa.timestamp("us", "UTC")),
        "DeviceId": alike(pa.array([guids[i : i + 16] for i in range(0, 16 * count, 16)], pa.binary(16)), no_guid),
        "Payload": alike(pa.array([payloads[i : i + 15] for i in range(0, 15 * count, 15)], pa.binary()), no_payload),
        "Mixed:String": pc.if_else(pa.array(kind < 0.4), joined(pa.scalar("v"), text(mixed_number)), pa.scalar(None, pa.string())),
        "Mixed:Int64": pc.if_else(pa.array((kind >= 0.4) & (kind < 0.8)), mixed_number, pa.scalar(None, pa.int64())),
        "guid text": alike(guid_text, no_guid),
        "payload base64": alike(slices(base64.b64encode(payloads), 20), no_payload),
        "payload hex": alike(slices(payloads.hex().encode(), 30), no_payload),
    }
    return pa.table(columns)


def for_parquet(table):
    table = table.drop_columns(["guid text", "payload base64", "payload hex"])
    at = table.schema.get_field_index("DeviceId")
    guids = [pa.ExtensionArray.from_storage(pa.uuid(), part) for part in table.column(at).chunks]
    return table.set_column(at, "DeviceId", pa.chunked_array(guids, pa.uuid()))


def for_csv(table):
    plain = table.drop_columns(["DeviceId", "Payload", "guid text", "payload base64", "payload hex"])
    return plain.append_column("DeviceId", table["guid text"]).append_column(
        "Payload", joined(pa.scalar("\\x"), table["payload hex"])
    )


def ndjson_lines(table):
    """One text per entity. No value needs escaping: all of them are made of letters, digits and a few signs."""

    def instant(name):
        return pc.strftime(table[name], "%Y-%m-%dT%H:%M:%SZ")

    # property, its text, quoted, annotation
    fields = [
        ("Timestamp", instant("Timestamp"), True, None),
        *[(name, table[name], True, None) for name in ("Department", "Email", "Bio", "LastName")],
        ("Level", table["Level"].cast(pa.string()), False, None),
        ("Badge", table["Badge"].cast(pa.string()), True, "Int64"),
        ("Score", table["Score"].cast(pa.string()), False, None),
        ("Active", table["Active"].cast(pa.string()), False, None),
        ("HiredAt", instant("HiredAt"), True, "DateTime"),
        ("DeviceId", table["guid text"], True, "Guid"),
        ("Payload", table["payload base64"], True, "Binary"),
        ("Mixed", table["Mixed:String"], True, None),
        ("Mixed", table["Mixed:Int64"].cast(pa.string()), True, "Int64"),
    ]
    parts = [pa.scalar('{"PartitionKey":"'), table["PartitionKey"], pa.scalar('","RowKey":"'), table["RowKey"], pa.scalar('"')]
    for name, value, quoted, edm_type in fields:
        quote = '"' if quoted else ""
        annotation = f',"{name}@odata.type":"Edm.{edm_type}"' if edm_type else ""
        member = joined(pa.scalar(f'{annotation},"{name}":{quote}'), value, pa.scalar(quote))
        parts.append(pc.fill_null(member, ""))
    return joined(*parts, pa.scalar("}\n"))


def write(options, folder):
    formats = set(options.formats.split(","))
    parquet = lines = copied = None
    if "parquet" in formats:
        (folder / "parquet").mkdir()
    if "ndjson" in formats:
        lines = open(folder / "entities.ndjson", "wb")
    for start in range(0, options.entities, CHUNK):
        table = chunk(options.seed, options.shape, options.entities, start, min(CHUNK, options.entities - start))
        if "parquet" in formats:
            part = for_parquet(table)
            if start % FILE_ROWS == 0:
                if parquet:
                    parquet.close()
                path = folder / "parquet" / f"part-{start // FILE_ROWS:04}.parquet"
                parquet = pq.ParquetWriter(path, part.schema, compression="zstd", write_page_index=True)
            parquet.write_table(part, row_group_size=ROW_GROUP_ROWS)
        if lines:
            for line in ndjson_lines(table).chunks:
                lines.write(b"".join(text.as_buffer() for text in line))
        if "csv" in formats:
            part = for_csv(table)
            copied = copied or pacsv.CSVWriter(folder / "entities.csv", part.schema)
            copied.write_table(part)
    for file in (parquet, lines, copied):
        if file:
            file.close()

    departments = [
        {"PartitionKey": REGIONS[i % len(REGIONS)], "RowKey": name, "Region": REGIONS[i % len(REGIONS)], "Budget": 12_500.5 * (i + 1)}
        for i, name in enumerate(DEPARTMENTS)
    ]
    (folder / "departments").mkdir()
    (folder / "departments" / "departments.ndjson").write_text("".join(json.dumps(row) + "\n" for row in departments))
    pq.write_table(pa.Table.from_pylist(departments), folder / "departments" / "departments.parquet")


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--entities", type=int, default=1_000_000)
    arguments.add_argument("--shape", choices=("a", "b"), required=True)
    arguments.add_argument("--out", type=Path, required=True)
    arguments.add_argument("--formats", default="parquet,ndjson,csv")
    arguments.add_argument("--seed", type=int, default=1)
    options = arguments.parse_args()
    if options.entities <= 0 or options.entities % 1000:
        arguments.error("--entities must be a positive multiple of 1000")
    if not set(options.formats.split(",")) <= {"parquet", "ndjson", "csv"}:
        arguments.error("--formats takes parquet, ndjson and csv, separated by commas")

    asked = {"generator": GENERATOR, **{key: str(value) for key, value in vars(options).items() if key != "out"}}
    meta = options.out / "meta.json"
    if meta.exists() and json.loads(meta.read_text()) == asked:
        return
    # Made beside its final place: a folder with that name is always complete.
    unfinished = options.out.with_name(options.out.name + ".unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir(parents=True)
    write(options, unfinished)
    (unfinished / "meta.json").write_text(json.dumps(asked))
    shutil.rmtree(options.out, ignore_errors=True)
    unfinished.rename(options.out)


if __name__ == "__main__":
    main()
