"""Possible disk contents after a power cut, from the trace of rogue/disk_recorder.c.

Synced data is kept. Of the rest a file system may have kept everything, nothing, the names without the bytes, the bytes without
the names, or any part of both: each of WAYS is one such behaviour. Sectors of 512 bytes are written atomically."""
import collections
import os
import struct

CREATE, WRITE, TRUNCATE, RENAME, LINK, UNLINK, MKDIR, SYNC, SYNC_ALL, MAP = range(10)
HEAD = struct.Struct("<IIQqIIQ")
SECTOR = 512
WAYS = ("all", "synced", "names", "bytes", "any")

Record = collections.namedtuple("Record", "what mark inode offset place to data")


def read_trace(path):
    records, data, at = [], path.read_bytes(), 0
    while at < len(data):
        what, mark, inode, offset, from_size, to_size, size = HEAD.unpack_from(data, at)
        at += HEAD.size
        place, to = data[at:at + from_size].decode(), data[at + from_size:at + from_size + to_size].decode()
        at += from_size + to_size
        records.append(Record(what, mark, inode, offset, place, to, data[at:at + size]))
        at += size
    return records


def apply_write(content, offset, data):
    if len(content) < offset:
        content.extend(bytes(offset - len(content)))
    content[offset:offset + len(data)] = data


def apply_size(content, size):
    if size < len(content):
        del content[size:]
    else:
        content.extend(bytes(size - len(content)))


class File:
    def __init__(self):
        self.now = bytearray()
        self.synced = b""
        self.pending = []  # (offset, data), or (size, None), since it was synced

    def write(self, offset, data):
        apply_write(self.now, offset, data)
        self.pending.append((offset, data))

    def truncate(self, size):
        apply_size(self.now, size)
        self.pending.append((size, None))

    def sync(self):
        if self.pending:
            self.synced = bytes(self.now)
            self.pending = []

    def blank(self):
        """The file at its current size, with zeros where data was not synced."""
        return (self.synced + bytes(max(0, len(self.now) - len(self.synced))))[:len(self.now)]

    def some(self, chance):
        """A random content after a cut: all, only synced data, only the size, or some of the writes since, whole or cut at a
        sector."""
        fate = chance.random()
        if fate < 0.6:
            return bytes(self.now) if fate < 0.3 else self.synced if fate < 0.4 else self.blank()
        content = bytearray(self.synced)
        for offset, data in self.pending:
            fate = chance.random()
            if data is None:
                if fate < 0.5:
                    apply_size(content, offset)
            elif fate < 0.4:
                apply_write(content, offset, data)
            elif fate < 0.6:
                end = (offset + chance.randrange(len(data) + 1)) // SECTOR * SECTOR
                if end > offset:
                    apply_write(content, offset, data[:end - offset])
            elif fate < 0.7:  # the size without the bytes
                apply_size(content, max(len(content), offset + len(data)))
        return bytes(content)


def folder_of(place):
    return place.rpartition("/")[0]


class Names:
    """The file behind each name; None is a folder."""

    def __init__(self):
        self.of = {}

    def apply(self, step):
        what, place, to, file = step
        if what in (CREATE, LINK, MKDIR):
            self.of[place] = file
        elif what == UNLINK:
            self.of.pop(place, None)
        elif what == RENAME:
            if self.of.get(place) is file:
                self.of.pop(place)
            self.of[to] = file

    def copy(self):
        twin = Names()
        twin.of = dict(self.of)
        return twin


class Disk:
    """The files and names of a folder after the first records of a trace."""

    def __init__(self):
        self.files = {}  # inode -> the newest file with it
        self.now, self.synced, self.pending = Names(), Names(), []
        self.durable_mark = 0  # everything up to this mark is durable
        self.mapped = set()
        self.last = None

    def name(self, step):
        self.now.apply(step)
        self.pending.append(step)

    def run(self, record):
        self.last = record
        file = self.files.get(record.inode)
        if record.what == CREATE:
            file = self.files[record.inode] = File()
            if record.place:
                self.name((CREATE, record.place, "", file))
        elif record.what == WRITE:
            file.write(record.offset, record.data)
        elif record.what == TRUNCATE:
            file.truncate(record.offset)
        elif record.what in (RENAME, LINK):
            self.name((record.what, record.place, record.to, file))
        elif record.what in (UNLINK, MKDIR):
            self.name((record.what, record.place, "", None))
        elif record.what == SYNC and file:
            file.sync()
        elif record.what == SYNC:
            self.sync_folder(record.place)
        elif record.what == SYNC_ALL:
            for each in self.files.values():
                each.sync()
            for step in self.pending:
                self.synced.apply(step)
            self.pending = []
            self.durable_mark = max(self.durable_mark, record.mark)
        elif record.what == MAP:
            self.mapped.add(record.place)

    def sync_folder(self, place):
        rest = []
        for step in self.pending:
            if place in (folder_of(step[1]), folder_of(step[2]) if step[0] == RENAME else None):
                self.synced.apply(step)
            else:
                rest.append(step)
        self.pending = rest

    def names(self, way, chance):
        if way in ("all", "names"):
            return self.now
        names = self.synced.copy()
        if way == "synced":
            return names
        # Operations within a folder keep their order, those in different folders do not.
        kept = {}
        folders = {folder_of(step[2] or step[1]) for step in self.pending}
        for folder in sorted(folders):
            steps = [step for step in self.pending if folder_of(step[2] or step[1]) == folder]
            kept[folder] = set(map(id, steps[:chance.randrange(len(steps) + 1)]))
        for step in self.pending:
            if id(step) in kept[folder_of(step[2] or step[1])]:
                names.apply(step)
        return names

    def content(self, file, way, chance):
        if way == "all":
            data = bytes(file.now)
            torn = self.last and self.last.what == WRITE and self.files.get(self.last.inode) is file and chance.random() < 0.5
            if torn:
                end = (self.last.offset + chance.randrange(len(self.last.data) + 1)) // SECTOR * SECTOR
                grown = len(data) == self.last.offset + len(self.last.data)
                if end >= self.last.offset and grown:
                    data = data[:end]
            return data
        if way == "bytes":
            return bytes(file.now)
        if way == "any":
            return file.some(chance)
        if way == "names" and file.pending and chance.random() < 0.5:
            return file.blank()
        return file.synced

    def make(self, folder, way, chance, change=lambda place, data: data):
        """Writes one possible disk to `folder`."""
        names = self.names(way, chance).of
        folder.mkdir(parents=True)
        for place in sorted(names):
            target = folder / place
            if not target.parent.is_dir():
                continue  # the folder's own name was lost
            if names[place] is None:
                target.mkdir()
            else:
                target.write_bytes(change(place, self.content(names[place], way, chance)))


def same_as(folder, disk):
    """Names and bytes of a folder that differ from the trace: an unrecorded call."""
    wrong = []
    found = {str(path.relative_to(folder)): path for path in folder.rglob("*")}
    for place in sorted(set(found) | set(disk.now.of)):
        file = disk.now.of.get(place)
        if place in disk.mapped:
            continue
        if (place in found) != (place in disk.now.of):
            wrong.append(f"{place} {'was not recorded' if place in found else 'is not there'}")
        elif file is not None and found[place].read_bytes() != file.now:
            wrong.append(f"{place} holds other bytes")
    return wrong
