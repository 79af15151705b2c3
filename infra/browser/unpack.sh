#!/usr/bin/env bash
# Unpacks the Chromium of the npm package into build/chromium, unless it is there.
set -euo pipefail
cd "$(dirname "$0")"
[ -d node_modules/axe-core ] || npm ci --ignore-scripts --no-audit --no-fund
out=../../build/chromium
[ -x "$out/chromium" ] && exit 0
rm -rf "$out" "$out.new" && mkdir -p "$out.new"
node -e '
const fs = require("fs"), zlib = require("zlib"), [from, to] = process.argv.slice(1);
const unpack = (name, mode) => fs.writeFileSync(`${to}/${name}`, zlib.brotliDecompressSync(fs.readFileSync(`${from}/${name}.br`)), {mode});
unpack("chromium", 0o755);
for (const name of ["al2023.tar", "fonts.tar", "swiftshader.tar"]) unpack(name, 0o644);
' node_modules/@sparticuz/chromium/bin "$out.new"
for part in al2023 fonts swiftshader; do tar -C "$out.new" -xf "$out.new/$part.tar"; rm "$out.new/$part.tar"; done
mv "$out.new" "$out"
out=$(cd "$out" && pwd)
cat > "$out/fonts.conf" <<END
<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig><dir>$out/fonts</dir><cachedir>$out/fonts-cache</cachedir></fontconfig>
END
