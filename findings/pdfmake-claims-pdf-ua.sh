#!/usr/bin/env bash
# pdfmake writes the claim of PDF/UA, and that the file is tagged, into a document without one tag.
#
# npm's pdfmake 0.3.11 with its pdfkit 0.19.1. 2026-11-28.
# Expected: with subset "PDF/UA" and tagged: true, headings, lists and tables have tags, or the subset is refused.
# Happens: pdfmake hands both options to pdfkit, which can tag, and then draws everything without tags. Readers that believe the
#   metadata find nothing to read: veraPDF fails the file by rule 7.1-3.
# Seen: claims PDF/UA, says it is marked, 0 structure elements, 0 marked contents

set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
export TMPDIR="$folder"
set_up_failed() {
  echo "set-up failed: $1"
  exit 2
}
npm install --silent --no-audit --no-fund --prefix . pdfmake@0.3.11 pdfkit@0.19.1 >log 2>&1 || set_up_failed "pdfmake 0.3.11"
seen=$(
  node - 2>log <<'JAVASCRIPT' | tail -n 1
const pdfmake = require("pdfmake");
pdfmake.setFonts({ Roboto: { normal: "node_modules/pdfmake/fonts/Roboto/Roboto-Regular.ttf" } });
pdfmake.setLocalAccessPolicy(() => true);
pdfmake.setUrlAccessPolicy(() => false);
const accessible = { subset: "PDF/UA", tagged: true, displayTitle: true, lang: "en", version: "1.7" };
const content = [{ text: "Invoice 7", headlineLevel: 1 }, { ul: ["paper"] }, { table: { body: [["item", "price"]] } }];
const document = pdfmake.createPdf({ ...accessible, compress: false, info: { title: "Invoice 7" }, content });
document.getBuffer().then((pdf) => {
  const text = pdf.toString("latin1");
  const count = (pattern) => [...text.matchAll(pattern)].length;
  const claims = [count(/pdfuaid:part>1</g) && "claims PDF/UA", count(/\/Marked true/g) && "says it is marked"];
  console.log(`${claims.join(", ")}, ${count(/\/StructElem/g)} structure elements, ${count(/\/MCID/g)} marked contents`);
});
JAVASCRIPT
)
expected='claims PDF/UA, says it is marked, 0 structure elements, 0 marked contents'
if [ "$seen" != "$expected" ]; then
  echo "changed: $seen"
  exit 1
fi
echo "as noted: $seen"
