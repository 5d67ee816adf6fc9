# Opening 100 assets one after the other in the dashboard: click to first picture, memory. opening.sh BUILD [COUNT]
exec node "$(dirname "$0")/opening_bench.mjs" "$@"
