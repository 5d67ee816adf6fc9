#!/bin/sh
# The whole cook of texture-heavy scenes with texture.encoding bc: share of each stage, and one thread beside two.
#   ./dev bench texture_scene [MODEL ...]     (FlightHelmet and Avocado of the corpus; HOB_RUNS=3)
exec python3 "$(dirname "$0")/texture_scene.py" "$@"
