"""Writes the table of rest-minimalmetadata.json in the layouts of tools that do not run here."""
import base64
import csv
import gzip
import io
import json
import os
import sys

out = sys.argv[1]
page = json.load(open(f"{out}/rest-minimalmetadata.json"), parse_float=lambda text: ("float", text))
entities = []
for written in page["value"]:
    types = {name.removesuffix("@odata.type"): kind for name, kind in written.items() if name.endswith("@odata.type")}
    values = {}
    for name, value in written.items():
        if "odata." in name or name in ("PartitionKey", "RowKey", "Timestamp"):
            continue
        if isinstance(value, tuple):
            kind, value = "Edm.Double", value[1]
        elif isinstance(value, bool):
            kind, value = "Edm.Boolean", str(value).lower()
        elif isinstance(value, int):
            kind, value = "Edm.Int32", str(value)
        else:
            kind = types.get(name, "Edm.String")
        values[name] = (types.get(name, kind), value)
    entities.append(((written["PartitionKey"], written["RowKey"], written["Timestamp"]), values))
names = sorted({name for _, values in entities for name in values})
NUMBERS = ["String", "Binary", "Boolean", "DateTime", "Double", "Guid", "Int32", "Int64"]


def native(kind, text):
    if kind in ("Edm.Int32", "Edm.Int64"):
        return int(text)
    if kind == "Edm.Double":
        return float(text)
    return text == "true" if kind == "Edm.Boolean" else text


def table(path, header, rows, delimiter=",", end="\r\n", encoding="utf-8"):
    text = io.StringIO()
    writer = csv.writer(text, delimiter=delimiter, lineterminator=end)
    writer.writerow(header)
    writer.writerows(rows)
    open(path, "wb").write(text.getvalue().encode(encoding))


def typed(prefix, only_first=False):
    seen = set()
    for keys, values in entities:
        cells = []
        for name in names:
            kind, value = values.get(name, ("", ""))
            hide = only_first and name in seen
            if kind:
                seen.add(name)
            cells += [value, "" if hide or not kind else prefix + kind.removeprefix("Edm.")]
        yield keys, cells


columns = [column for name in names for column in (name, f"{name}@type")]
keyed = ["PartitionKey", "RowKey", "Timestamp"]
milliseconds = lambda keys: (keys[0], keys[1], keys[2][:23] + "Z")
table(f"{out}/explorer-1.9.csv", keyed + columns, [[*milliseconds(keys), *cells] for keys, cells in typed("Edm.")])
mixed = sorted(keyed + columns)
table(f"{out}/explorer-1.12.csv", mixed,
      [[dict(zip(keyed + columns, [*milliseconds(keys), *cells]))[name] for name in mixed] for keys, cells in typed("Edm.")], end="\n")
table(f"{out}/explorer-1.30.csv", keyed + columns, [[*keys, *cells] for keys, cells in typed("")], end="\r\n", encoding="utf-8-sig")
table(f"{out}/explorer-1.40.csv", keyed + columns, [[*keys, *cells] for keys, cells in typed("", True)], delimiter=";")
untyped = [[*keys, *(values.get(name, ("", ""))[1] for name in names)] for keys, values in entities]
table(f"{out}/untyped-utf16.csv", keyed + names, untyped, delimiter="\t", encoding="utf-16")
table(f"{out}/untyped-cr.csv", keyed + names, untyped, delimiter="|", end="\r")

os.mkdir(f"{out}/azcopy")
raw = open(f"{out}/rest-minimalmetadata.json").read()
body = raw[raw.index("["):raw.rindex("]") + 1]
stem = "devstoreaccount1_Canon_20190304T050607.1234567Z"
manifest = {"Version": 2, "PayloadFormat": "Json", "Checksum": 17293822569102704640, "AccountName": "devstoreaccount1",
            "TableName": "Canon", "Timestamp": "2019-03-04T05:06:07.1234567Z", "SplitSize": 200000, "TotalDataFiles": 1}
open(f"{out}/azcopy/{stem}.manifest", "w").write(json.dumps(manifest, separators=(",", ":")))
open(f"{out}/azcopy/{stem}_0_0_0123456789ABCDEF.json", "w").write('{"value":' + body + "}")
os.mkdir(f"{out}/azcopy-csv")
open(f"{out}/azcopy-csv/{stem}.manifest", "w").write(json.dumps({**manifest, "PayloadFormat": "Csv", "TotalDataFiles": 2}))
table(f"{out}/azcopy-csv/{stem}_0_0_0123ABCD.csv", keyed + names, untyped)
kinds = {name: kind for _, values in entities for name, (kind, _) in values.items()}
table(f"{out}/azcopy-csv/{stem}_0_0_0123ABCD.schema.csv", ["Name", "Type"], sorted(kinds.items()))

core = [{"RowKey": keys[1], "PartitionKey": keys[0], "Properties": [
    {"PropertyName": name, "PropertyType": NUMBERS.index(kind.removeprefix("Edm.")), "PropertyValue": native(kind, value)}
    for name, (kind, value) in values.items()]} for keys, values in entities]
with gzip.GzipFile(f"{out}/corehelpers.json.gz", "wb", mtime=0) as file:
    file.write(json.dumps(core).encode())

record = lambda kind, count: {"ProcessingMetaData": "Metadata", "TableName": "Canon", "RecordType": kind, "RecordCount": count,
                              "ProcessingTimeStamp": "2024-05-01T08:00:00Z"}
lines = [record("Header", 0)]
for keys, values in entities:
    line = dict(zip(keyed, keys))
    for name, (kind, value) in values.items():
        kind = {"Guid": "GUID", "Binary": "String"}.get(kind.removeprefix("Edm."), kind.removeprefix("Edm."))
        line[name] = {name: native("Edm." + kind, value), "EdmType": kind}
    lines.append(line)
backup = "\r\n".join(json.dumps(line) for line in lines + [record("Footer", len(entities))]).encode()
with gzip.GzipFile(f"{out}/Canon_Backup_20240501080000.txt.7z", "wb", mtime=0) as file:
    file.write(backup)

for keys, values in entities:
    if keys[0] and keys[1]:
        os.makedirs(f"{out}/archiver/Canon/{keys[0]}", exist_ok=True)
        kind_value = lambda kind, value: {"EdmType": NUMBERS.index(kind.removeprefix("Edm.")),
                                          f"{kind.removeprefix('Edm.')}Value": native(kind, value)}
        body = {name: kind_value(kind, value) for name, (kind, value) in values.items()}
        json.dump(body, open(f"{out}/archiver/Canon/{keys[0]}/{keys[1]}.json", "w"))

dmt = []
for (partition, row, at), values in entities:
    item = {"odata.etag": f"W/\"datetime'{at.replace(':', '%3A')}'\"", "PartitionKey": partition, "RowKey": row,
            "Timestamp": at.replace("Z", "+00:00")}
    for name, (kind, value) in values.items():
        item[name] = list(base64.b64decode(value)) if kind == "Edm.Binary" else native(kind, value)
    dmt.append(item)
json.dump(dmt, open(f"{out}/dmt.json", "w"))
