#!/bin/sh
# spelling.sh: common misspellings in all text that people write, by codespell. Names of formats and words that a test misspells on
# purpose are listed here.
set -eu
cd "$(dirname "$0")/../.."
command -v codespell >/dev/null || { echo "skipped: there is no codespell (Debian: codespell)"; exit 77; }
words=lod,materails,lods,mot,froms,paeth,nin,nams,propert,inpu,upto,faild,triangels,parm,fo,crate,inout,te,keep-alives,nd,visibl
git ls-files '*.md' '*.c' '*.h' '*.cpp' '*.def' '*.js' '*.mjs' '*.py' '*.json' '*.sh' '*.css' '*.yml' ':!tests/data' \
	':!*package-lock.json' ':!tests/oracle' ':!tests/fuzz/corpus' ':!tests/lint/spelling.sh' | xargs codespell -q 3 -L "$words"
echo "spelling: no common mistake"
