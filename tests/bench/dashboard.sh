# The dashboard on a store of 50,000 assets: first rows, search, scrolling, memory. dashboard.sh BUILD [COUNT]
exec node "$(dirname "$0")/dashboard_bench.mjs" "$@"
