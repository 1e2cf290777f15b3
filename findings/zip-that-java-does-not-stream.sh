#!/usr/bin/env bash
# A ZIP of pictures that a program streams cannot be read by Java as a stream.
#
# npm's fflate 0.8.3, jszip 3.10.2 and yazl 3.3.1, Debian's openjdk-17-jdk-headless 17.0.15+6-1~deb12u1. 2026-11-28.
# Expected: what writers make by default for data of unknown length is read everywhere. PNG and JPEG are stored because
#   compressing them again gains nothing; their length and checksum follow them in a data descriptor, as APPNOTE 4.4.4 allows.
# Happens: java.util.zip.ZipInputStream reads a descriptor after compressed entries alone. java.util.zip.ZipFile, which needs a
#   file, reads the same archive. Go's archive/zip and Python's zipfile write the same, the latter on what cannot seek.
# Seen: fflate, jszip and yazl each "only DEFLATED entries can have EXT descriptor", ZipFile pixels

set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
export TMPDIR="$folder"
set_up_failed() {
  echo "set-up failed: $1"
  exit 2
}
command -v javac >/dev/null || set_up_failed "Java of Debian's openjdk-17-jdk-headless is missing"
npm install --silent --no-audit --no-fund --prefix . fflate@0.8.3 jszip@3.10.2 yazl@3.3.1 >log 2>&1 ||
  set_up_failed "fflate 0.8.3, jszip 3.10.2 and yazl 3.3.1"
node - >log 2>&1 <<'JAVASCRIPT' || set_up_failed "the archives were not made"
const { Readable } = require("node:stream");
const fs = require("node:fs");
const fflate = require("fflate");
const zip = new fflate.Zip((_, chunk) => fs.appendFileSync("fflate.zip", chunk));
const entry = new fflate.ZipPassThrough("page.png");
zip.add(entry);
entry.push(Buffer.from("pixels"), true);
zip.end();
const jszip = new (require("jszip"))();
jszip.file("page.png", "pixels").generateNodeStream({ streamFiles: true }).pipe(fs.createWriteStream("jszip.zip"));
const yazl = new (require("yazl").ZipFile)();
yazl.addReadStream(Readable.from([Buffer.from("pixels")]), "page.png", { compress: false });
yazl.outputStream.pipe(fs.createWriteStream("yazl.zip"));
yazl.end();
JAVASCRIPT
cat >Read.java <<'JAVA'
import java.io.*;
import java.util.zip.*;

class Read {
  public static void main(String[] names) throws Exception {
    for (String name : names) {
      try (ZipInputStream stream = new ZipInputStream(new FileInputStream(name))) {
        System.out.print(stream.getNextEntry().getName());
      } catch (ZipException refusal) {
        System.out.print(name + ": " + refusal.getMessage());
      }
      try (ZipFile file = new ZipFile(name)) {
        System.out.print(", ZipFile " + new String(file.getInputStream(file.getEntry("page.png")).readAllBytes()) + "; ");
      }
    }
  }
}
JAVA
seen=$(java Read.java fflate.zip jszip.zip yazl.zip 2>&1 | tail -n 1)
refusal="only DEFLATED entries can have EXT descriptor, ZipFile pixels; "
if [ "$seen" != "fflate.zip: ${refusal}jszip.zip: ${refusal}yazl.zip: $refusal" ]; then
  echo "changed: $seen"
  exit 1
fi
echo "as noted: $seen"
