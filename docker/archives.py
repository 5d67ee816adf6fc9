#!/usr/bin/env python3
"""archives.py ROOT VERSION PAGE OUT: the npm package of the client, as `npm pack` lays it out, and the source archive with the page
that the folder PAGE holds in web/dist, so that neither installing nor building needs npm. Without a git checkout there is no source
archive. The same sources give the same bytes (SOURCE_DATE_EPOCH)."""
import gzip
import io
import json
import lzma
import os
import pathlib
import subprocess
import sys
import tarfile


def archive(path, open_compressed, files):
    """files: {name in the archive: path}, of which the mode keeps only who may execute it."""
    with open_compressed(path) as compressed, tarfile.open(fileobj=compressed, mode="w", format=tarfile.GNU_FORMAT) as tar:
        for name in sorted(files):
            entry = tarfile.TarInfo(name)
            entry.mtime = int(os.environ.get("SOURCE_DATE_EPOCH", "315532800"))
            entry.mode = 0o755 if files[name].stat().st_mode & 0o100 else 0o644
            if files[name].is_symlink():
                entry.type, entry.linkname = tarfile.SYMTYPE, os.readlink(files[name])
                tar.addfile(entry)
                continue
            data = files[name].read_bytes()
            entry.size = len(data)
            tar.addfile(entry, io.BytesIO(data))


def client_files(folder):
    wanted = json.loads((folder / "package.json").read_text())["files"] + ["package.json", "README.md"]
    found = {path for pattern in wanted for path in folder.glob(pattern)}
    found |= {path for folder in found if folder.is_dir() for path in folder.rglob("*")}
    return {f"package/{path.relative_to(folder)}": path for path in found if path.is_file()}


def main(root, version, page, out):
    root, page, out = pathlib.Path(root), pathlib.Path(page), pathlib.Path(out)
    # A stream without a name and a time.
    archive(out / f"hob-client-{version}.tgz", lambda path: gzip.GzipFile("", "wb", 9, open(path, "wb"), 0), client_files(root / "web/client"))
    listed = subprocess.run(["git", "-C", str(root), "ls-files", "-z"], capture_output=True, text=True, check=False)
    if listed.returncode != 0 or not (root / ".git").exists():
        return
    files = {f"hob-{version}/{name}": root / name for name in listed.stdout.split("\0") if name and os.path.lexists(root / name)}
    files |= {f"hob-{version}/web/dist/{path.name}": path for path in page.glob("*") if path.suffix != ".gz"}
    archive(out / f"hob-{version}.tar.xz", lambda path: lzma.open(path, "wb", preset=3), files)


if __name__ == "__main__":
    main(*sys.argv[1:])
