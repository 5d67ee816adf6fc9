#!/usr/bin/env bash
# site.sh OUT: the pages of this folder as a site in OUT/site, by mkdocs. A link that leads nowhere fails it.
set -euo pipefail
docs=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1"
out=$(cd "$1" && pwd)
rm -rf "$out/pages"
mkdir -p "$out/pages"
cp "$docs"/*.md "$docs/../schema/FORMATS.md" "$out/pages"
cp -r "$docs/pictures" "$out/pages"
sed -i 's#(../schema/FORMATS.md)#(FORMATS.md)#g' "$out"/pages/*.md
# Wide tables scroll by themselves, not the page.
cat >"$out/pages/site.css" <<CSS
table { display: block; overflow-x: auto; }
@media (max-width: 700px) { td { min-width: 8em; } }
img { max-width: 100%; }
CSS
cat >"$out/mkdocs.yml" <<YAML
site_name: Hob
docs_dir: $out/pages
site_dir: $out/site
theme: { name: mkdocs, locale: en, highlightjs: false } # highlight.js would come from another site
plugins: [search]
extra_css: [site.css]
nav:
  - Hob: README.md
  - Start:
      - For artists: start-artists.md
      - C and C++: start-c.md
      - three.js: start-threejs.md
      - Python: start-python.md
      - Build servers: start-ci.md
  - Concepts: concepts.md
  - Troubleshooting: troubleshooting.md
  - Reference:
      - Commands: commands.md
      - Settings: settings.md
      - Rules: rules.md
      - Source formats: formats.md
      - HTTP API: http.md
      - Metrics: metrics.md
      - Cooked file formats: FORMATS.md
      - Runtime: runtime.md
      - Ninja and CMake: build-rules.md
      - Comparison: comparison.md
  - Operations: operations.md
  - Commits: commits.md
  - One cache for many machines: farm.md
YAML
mkdocs build --quiet --strict --config-file "$out/mkdocs.yml"
echo "$out/site/index.html"
