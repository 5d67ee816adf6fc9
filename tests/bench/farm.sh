# A farm of machines: a cold start of three, a warm one, saves while the database is stopped, and how the database grows with the
# number of nodes. farm.sh BUILD [FOLDER of models] [PART...]; parts: cold warm down sessions nodes. Needs Debian's postgresql.
# HOB_FARM_BUCKET and HOB_FARM_CREDENTIALS_FILE name a bucket that is used instead of a folder.
exec python3 "$(dirname "$0")/farm_bench.py" "$@"
