"""Uploads a data folder into a container of a blob service with the official SDK.

    upload.py --endpoint http://127.0.0.1:PORT/devstoreaccount1 --container NAME --folder FOLDER [--prefix PREFIX]
    upload.py --endpoint http://127.0.0.1:PORT/devstoreaccount1 --container NAME --remove PREFIX

Makes the container. Prints a shared access signature that may read and list it, for an hour. The other form removes the blobs
below a prefix.
"""

import argparse
import sys
from datetime import datetime, timedelta, timezone
from pathlib import Path

from azure.storage.blob import BlobServiceClient, ContainerSasPermissions, generate_container_sas

# The emulator's well-known account; the key is a public constant.
ACCOUNT = "devstoreaccount1"
ACCOUNT_KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--endpoint", required=True)
    arguments.add_argument("--container", required=True)
    what = arguments.add_mutually_exclusive_group(required=True)
    what.add_argument("--folder", type=Path)
    what.add_argument("--remove", metavar="PREFIX")
    arguments.add_argument("--prefix", default="")
    options = arguments.parse_args()

    service = BlobServiceClient(options.endpoint, credential={"account_name": ACCOUNT, "account_key": ACCOUNT_KEY})
    if options.remove:
        container = service.get_container_client(options.container)
        names = [blob.name for blob in container.list_blobs(name_starts_with=options.remove)]
        for name in names:
            container.delete_blob(name)
        print(f"removed {len(names)} files", file=sys.stderr)
        return
    container = service.create_container(options.container)
    files = [path for path in sorted(options.folder.rglob("*")) if path.is_file()]
    for path in files:
        with path.open("rb") as content:
            container.upload_blob(options.prefix + path.relative_to(options.folder).as_posix(), content)
    print(f"uploaded {len(files)} files", file=sys.stderr)
    print(
        generate_container_sas(
            ACCOUNT,
            options.container,
            account_key=ACCOUNT_KEY,
            permission=ContainerSasPermissions(read=True, list=True),
            expiry=datetime.now(timezone.utc) + timedelta(hours=1),
        )
    )


if __name__ == "__main__":
    main()
