#!/bin/sh
# The whole cook of texture-heavy scenes with texture.encoding bc: share of each stage, and one thread beside two.
#   ./dev bench texture_scene [MODEL ...]     (FlightHelmet and Avocado of the corpus; HOB_RUNS=3)
# Cook processes are nice to others: on a busy machine only `chrt -r 1` in front (as root) measures anything.
exec python3 "$(dirname "$0")/texture_scene.py" "$@"
