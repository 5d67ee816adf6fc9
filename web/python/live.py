#!/usr/bin/env python3
"""Keeps files on disk up to date with what a Hob daemon cooks, for tools that only read files.

    live.py URL ASSET OUTPUT=FILE...         live.py http://127.0.0.1:7780 art/duck.glb meshes=duck.meshes scene=duck.scene

Says a line for whatever happens: "blob HASH SIZE fetched BYTES", "error REASON" with the last good files kept, "event KIND".
The files of one cook are replaced together, when all of them have come. Ends at the end of its input, or with Control-C.
"""
import os
import sys
import threading

import hob


def say(*words):
    print(*words, flush=True)


def end_with_input():
    sys.stdin.buffer.read()
    os._exit(0)


class Files:
    def __init__(self, client, asset, wanted):
        self.client, self.asset, self.wanted = client, asset, wanted
        self.shown = {}  # output: hash
        self.base = {}  # output: blob of the last final cook, for deltas

    def fetch_all(self):
        """By name. Outputs of different cooks do not fit together, so it waits for those of one rev."""
        while True:
            blobs = {output: self.client.get(self.asset, output, wait=10) for output in self.wanted}
            if len({blob.rev for blob in blobs.values()}) == 1:
                return self.take(blobs, keep=True)

    def fetch_changed(self, change):
        hashes = {output["name"]: output["hash"] for output in change["outputs"]}
        for output in self.wanted:
            if output not in hashes:
                raise hob.NotFound(f"{self.asset} has no output '{output}' any more")
        blobs = {output: self.client.blob(hashes[output], older=self.base.get(output)) for output in self.wanted}
        self.take(blobs, keep=change.get("quality") != "preview" or not self.base)

    def take(self, blobs, keep):
        for output, blob in blobs.items():
            with open(self.wanted[output] + ".new", "wb") as file:
                file.write(blob)
        for output, blob in blobs.items():
            os.replace(self.wanted[output] + ".new", self.wanted[output])
            if self.shown.get(output) != blob.hash:
                say("blob", blob.hash, len(blob), "fetched", blob.fetched)
            self.shown[output] = blob.hash
        if keep:
            self.base = blobs

    def look_again(self):
        """Changes from before the stream was connected, or while the daemon was down."""
        for asset in self.client.assets(path=self.asset, fields="name,outputs,quality,error"):
            if asset["name"] != self.asset:
                continue
            if asset["error"]:
                say("error", asset["error"]["message"])
            elif any(self.shown.get(output["name"]) not in (None, output["hash"]) for output in asset["outputs"]):
                self.fetch_changed(asset)

    def on_event(self, event):
        if event.kind in ("hello", "reset"):
            if self.shown:
                self.look_again()
            else:
                self.fetch_all()
        elif event.kind == "asset" and event.data["asset"] == self.asset:
            if event.data.get("error"):
                say("error", event.data["error"]["message"])
            elif event.data.get("outputs"):
                self.fetch_changed(event.data)


def main():
    if len(sys.argv) < 4 or not all("=" in pair for pair in sys.argv[3:]):
        sys.exit("usage: live.py URL ASSET OUTPUT=FILE...")
    client = hob.Client(sys.argv[1], token=os.environ.get("HOB_TOKEN"))
    files = Files(client, sys.argv[2], dict(pair.split("=", 1) for pair in sys.argv[3:]))
    threading.Thread(target=end_with_input, daemon=True).start()
    for event in client.watch(files.asset):
        try:
            files.on_event(event)
        except hob.Error as error:
            say("error", error)
        say("event", event.kind, event.data.get("asset", ""))


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        pass
