#!/bin/sh
# From a save to the new blob in a client's hands: see save_to_blob.py.
HOB=$1/hob
shift
export HOB
exec python3 "$(dirname "$0")/save_to_blob.py" "$@"
