#!/usr/bin/env python3
"""wheel.py ROOT VERSION OUT: hob.py as a wheel and the Blender add-on as a zip, byte for byte the same from the same sources
(SOURCE_DATE_EPOCH). A wheel is a zip with three text files more: https://packaging.python.org/specifications/binary-distribution-format/"""
import base64
import hashlib
import os
import pathlib
import sys
import time
import zipfile

METADATA = """Metadata-Version: 2.1
Name: hob-client
Version: {version}
Summary: A Hob daemon from Python: what it has cooked, the blobs, and every change
License: MIT
Requires-Python: >=3.8
Description-Content-Type: text/markdown

{about}"""
WHEEL = "Wheel-Version: 1.0\nGenerator: hob\nRoot-Is-Purelib: true\nTag: py3-none-any\n"


def write(path, files):
    moment = time.gmtime(int(os.environ.get("SOURCE_DATE_EPOCH", "315532800")))[:6]
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            entry = zipfile.ZipInfo(name, moment)
            entry.external_attr, entry.compress_type = 0o644 << 16, zipfile.ZIP_DEFLATED
            archive.writestr(entry, data)


def main(root, version, out):
    root, out = pathlib.Path(root), pathlib.Path(out)
    info = f"hob_client-{version}.dist-info"
    about = (root / "web/python/README.md").read_text()
    files = {"hob.py": (root / "web/python/hob.py").read_bytes(),
             f"{info}/METADATA": METADATA.format(version=version, about=about).encode(),
             f"{info}/WHEEL": WHEEL.encode(),
             f"{info}/LICENSE": (root / "LICENSE").read_bytes()}
    rows = [f"{name},sha256={base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b'=').decode()},{len(data)}\n"
            for name, data in files.items()]
    files[f"{info}/RECORD"] = ("".join(rows) + f"{info}/RECORD,,\n").encode()
    write(out / f"hob_client-{version}-py3-none-any.whl", files)
    write(out / f"hob-blender-{version}.zip", {"hob_link.py": (root / "web/blender/hob_link.py").read_bytes()})


if __name__ == "__main__":
    main(*sys.argv[1:])
