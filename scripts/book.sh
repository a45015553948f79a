#!/usr/bin/env bash
# The book as a site: bash scripts/book.sh [FOLDER]   [default: target/book]
# Needs mdbook (cargo install mdbook --no-default-features; MDBOOK names another). Says in one line that it is skipped without it.
# Pages link to files outside of docs/, so mdbook works on a copy in which these are at the same places, with the contents at the top.
set -euo pipefail
cd "$(dirname "$0")/.."

mdbook=${MDBOOK:-$(command -v mdbook || true)}
[ -n "$mdbook" ] || { echo "skipped: mdbook is not installed (cargo install mdbook --no-default-features)"; exit 0; }
mkdir -p "${1:-${CARGO_TARGET_DIR:-target}/book}"
out=$(cd "${1:-${CARGO_TARGET_DIR:-target}/book}" && pwd)
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT

mkdir "$copy/src"
cp --parents -r docs [A-Z]*.md benches python/examples crates/e2bki-data/src/classes "$copy/src"
mv "$copy/src/docs/book.toml" "$copy/book.toml"
sed -E 's#\]\(#](docs/#; s#\]\(docs/\.\./#](#' docs/SUMMARY.md > "$copy/src/SUMMARY.md"
rm "$copy/src/docs/SUMMARY.md"
"$mdbook" build --dest-dir "$out" "$copy"

# Links of the pages as built; places within pages are checked by `cargo test -p e2bki-cli --test book`.
broken=0
while IFS=: read -r page link; do
    target=${link%%#*}
    [ -z "$target" ] || [ -e "$(dirname "$page")/$target" ] || { echo "$page: $link leads nowhere"; broken=1; }
done < <(cd "$out" && find . -name '*.html' ! -name print.html ! -name 404.html -exec \
    grep -oHE '(href|src)="[^"]+"' {} + | sed -E 's#^\./##; s#:(href|src)="#:#; s#"$##' | grep -vE ':(https?|mailto|data|javascript):' \
    | sed "s#^#$out/#")
[ "$broken" = 0 ] || exit 1
echo "wrote $out/index.html"
