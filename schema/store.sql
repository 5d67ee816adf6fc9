-- The index of a cache folder (index.db), the only place where its tables are written down.
-- Steps are run in order, each in one transaction; user_version is the number of the last step that ran.
-- A change is a new step at the end; a step that was released is never edited.
--
-- Paths and keys are BLOBs because a file name is bytes, not text. Digests are 32 bytes. 64-bit unsigned numbers
-- are stored as the signed number with the same bits. Times: _ns since the file system's epoch, _ms and _s Unix.

-- @step 1

-- Facts about the database itself: "epoch".
CREATE TABLE meta (
	name  TEXT PRIMARY KEY,
	value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- Stat data and digest of every source and dependency that was seen.
CREATE TABLE file (
	root     BLOB NOT NULL,
	path     BLOB NOT NULL,
	size     INTEGER NOT NULL,
	inode    INTEGER NOT NULL,
	mtime_ns INTEGER NOT NULL,
	ctime_ns INTEGER NOT NULL,
	digest   BLOB NOT NULL,
	PRIMARY KEY (root, path)
) STRICT, WITHOUT ROWID;

-- What a cook made of which inputs. error is empty for success.
CREATE TABLE recipe (
	id           INTEGER PRIMARY KEY,
	key          BLOB NOT NULL UNIQUE,
	lookup       BLOB NOT NULL,
	source       BLOB NOT NULL,
	file_name    BLOB NOT NULL,
	ingredients  BLOB NOT NULL,
	stats        BLOB NOT NULL,
	error        BLOB NOT NULL,
	warnings     INTEGER NOT NULL,
	cook_ns      INTEGER NOT NULL,
	peak_bytes   INTEGER NOT NULL,
	cooked_at_ms INTEGER NOT NULL,
	used_at_s    INTEGER NOT NULL
) STRICT;
CREATE INDEX recipe_lookup ON recipe (lookup, cooked_at_ms);

-- digest is NULL for a file that was looked for and not there.
CREATE TABLE recipe_dep (
	recipe INTEGER NOT NULL REFERENCES recipe ON DELETE CASCADE,
	number INTEGER NOT NULL,
	path   BLOB NOT NULL,
	digest BLOB,
	PRIMARY KEY (recipe, number)
) STRICT, WITHOUT ROWID;

CREATE TABLE recipe_output (
	recipe INTEGER NOT NULL REFERENCES recipe ON DELETE CASCADE,
	number INTEGER NOT NULL,
	name   BLOB NOT NULL,
	digest BLOB NOT NULL,
	size   INTEGER NOT NULL,
	PRIMARY KEY (recipe, number)
) STRICT, WITHOUT ROWID;

-- Current state of each asset. good and last are recipe keys, zero bytes when there is none; the recipe may
-- have been evicted since.
CREATE TABLE asset (
	root         BLOB NOT NULL,
	path         BLOB NOT NULL,
	state        TEXT NOT NULL,
	rev          INTEGER NOT NULL,
	good         BLOB NOT NULL,
	last         BLOB NOT NULL,
	cooked_at_ms INTEGER NOT NULL,
	error        BLOB NOT NULL,
	PRIMARY KEY (root, path)
) STRICT, WITHOUT ROWID;

-- Memoised textures and meshes.
CREATE TABLE part (
	key       BLOB PRIMARY KEY,
	blob      BLOB NOT NULL,
	used_at_s INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Every blob. suspect: hash it before it is served.
CREATE TABLE blob (
	digest    BLOB PRIMARY KEY,
	size      INTEGER NOT NULL,
	used_at_s INTEGER NOT NULL,
	suspect   INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE job (
	id             INTEGER PRIMARY KEY,
	asset          BLOB NOT NULL,
	reason         BLOB NOT NULL,
	result         TEXT NOT NULL,
	recipe         BLOB NOT NULL,
	queued_at_ms   INTEGER NOT NULL,
	started_at_ms  INTEGER NOT NULL,
	finished_at_ms INTEGER NOT NULL,
	cook_ns        INTEGER NOT NULL,
	peak_bytes     INTEGER NOT NULL,
	error          BLOB NOT NULL,
	log            BLOB NOT NULL
) STRICT;
CREATE INDEX job_asset ON job (asset, id);

CREATE TABLE change (
	rev   INTEGER PRIMARY KEY,
	event TEXT NOT NULL,
	data  BLOB NOT NULL
) STRICT;

-- @step 2

-- How many rows of each belong to a recipe, so that lost ones are noticed; -1 = not counted yet.
ALTER TABLE recipe ADD COLUMN dep_count INTEGER NOT NULL DEFAULT -1;
ALTER TABLE recipe ADD COLUMN output_count INTEGER NOT NULL DEFAULT -1;

-- What came of cooking a recipe again in a quiet time. found: JSON object, empty when the same came of it.
CREATE TABLE audit (
	recipe BLOB PRIMARY KEY REFERENCES recipe (key) ON DELETE CASCADE,
	at_ms  INTEGER NOT NULL,
	found  BLOB NOT NULL
) STRICT, WITHOUT ROWID;

-- @step 3

-- The watched folders: where each was, which folder it was when its files were listed last, and since when it is missing (0: it
-- is there). A missing one is served from this index if it was known.
CREATE TABLE root (
	name             BLOB PRIMARY KEY,
	path             BLOB NOT NULL,
	device           INTEGER NOT NULL,
	inode            INTEGER NOT NULL,
	missing_since_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- @step 4

-- Where a small blob lies: number of its pack and byte in it; pack 0: it is a file of its own.
ALTER TABLE blob ADD COLUMN pack INTEGER NOT NULL DEFAULT 0;
ALTER TABLE blob ADD COLUMN place INTEGER NOT NULL DEFAULT 0;

-- @step 5

-- Sources that were renamed or moved, the oldest first: the asset `id` was `earlier` up to and including `rev`, and is `name`
-- since.
CREATE TABLE move (
	number  INTEGER PRIMARY KEY,
	rev     INTEGER NOT NULL,
	id      BLOB NOT NULL,
	earlier BLOB NOT NULL,
	name    BLOB NOT NULL
) STRICT;

-- @step 6

-- Texts that many records have (what they were cooked with), by the first 16 bytes of their SHA-256.
CREATE TABLE text (
	name BLOB PRIMARY KEY,
	text BLOB NOT NULL
) STRICT, WITHOUT ROWID;

-- From here on recipe.ingredients is the name of a text; recipe.lists has the dependencies and outputs, which were tables;
-- recipe.stats and change.data are short texts. server/store/row.h describes them and has the functions. asset.last is '=' when
-- it is the same as asset.good.
ALTER TABLE recipe ADD COLUMN lists BLOB NOT NULL DEFAULT x'';
INSERT OR IGNORE INTO text (name, text) SELECT hob_name(ingredients), ingredients FROM recipe WHERE ingredients <> x'';
UPDATE recipe SET lists = hob_lists(id, dep_count, output_count), ingredients = hob_name(ingredients),
	stats = hob_short(stats);
DROP TABLE recipe_dep;
DROP TABLE recipe_output;
ALTER TABLE recipe DROP COLUMN dep_count;
ALTER TABLE recipe DROP COLUMN output_count;
UPDATE change SET data = hob_short(data);

-- @step 7

-- From here on blob.place has the size of the zstd frame that holds the blob in its upper 32 bits; 0: it is not compressed.
-- Records are found by the beginning of their lookup: few share it.
DROP INDEX recipe_lookup;
CREATE INDEX recipe_lookup ON recipe (substr(lookup, 1, 8));

-- @step 8

-- From here on what a cook made is called a record, as in the rest of Hob.
DROP INDEX recipe_lookup;
ALTER TABLE recipe RENAME TO record;
ALTER TABLE audit RENAME COLUMN recipe TO record;
CREATE INDEX record_lookup ON record (substr(lookup, 1, 8));
ALTER TABLE job RENAME COLUMN recipe TO record;

-- @step 9

-- The stages of a job that cooked or took long, as server/cook/job_steps.h prints them.
ALTER TABLE job ADD COLUMN stages TEXT NOT NULL DEFAULT '';

-- @step 10

-- 'hob verify --cook' compares, and prints what it found.
DROP TABLE audit;
