/**
 * The wheel of the Python client (PEP 427): its two files, and what they are. It needs no build tools of Python, which a
 * machine that deploys the service may not have. `clients/python/pyproject.toml` is what both are made by.
 */
import { hash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { crc32 } from "node:zlib";
import { parse } from "smol-toml";
import * as v from "valibot";
import { SERVICE_VERSION } from "../../protocol/version.ts";
import { centralDirectory, localHeader, STORED, type ZipEntry } from "../../typst/zip-records.ts";

const FOLDER = new URL("../../clients/python/", import.meta.url);

const MANIFEST = v.object({
  project: v.object({
    name: v.string(),
    description: v.string(),
    "requires-python": v.string(),
    license: v.string(),
    classifiers: v.array(v.string()),
  }),
  tool: v.object({
    hatch: v.object({
      build: v.object({
        targets: v.object({ wheel: v.object({ "force-include": v.record(v.string(), v.string()) }) }),
      }),
    }),
  }),
});

type WheelFile = readonly [path: string, content: Buffer];

export async function pythonWheel(): Promise<Buffer> {
  const manifest = parse(await readFile(new URL("pyproject.toml", FOLDER), "utf8"));
  const { project, tool } = v.parse(MANIFEST, manifest);
  const information = `${project.name.replaceAll("-", "_")}-${SERVICE_VERSION}.dist-info`;
  const files: WheelFile[] = [];
  for (const [from, to] of Object.entries(tool.hatch.build.targets.wheel["force-include"])) {
    files.push([to, await readFile(new URL(from, FOLDER))]);
  }
  const metadata = [
    "Metadata-Version: 2.4",
    `Name: ${project.name}`,
    `Version: ${SERVICE_VERSION}`,
    `Summary: ${project.description}`,
    `License-Expression: ${project.license}`,
    "License-File: LICENSE",
    ...project.classifiers.map((classifier) => `Classifier: ${classifier}`),
    `Requires-Python: ${project["requires-python"]}`,
  ];
  const wheel = [
    "Wheel-Version: 1.0",
    "Generator: document-rendering-service",
    "Root-Is-Purelib: true",
    "Tag: py3-none-any",
  ];
  files.push(
    [`${information}/METADATA`, textOf(metadata)],
    [`${information}/WHEEL`, textOf(wheel)],
    [`${information}/licenses/LICENSE`, await readFile(new URL("LICENSE", FOLDER))],
  );
  const record = files.map(([path, bytes]) => `${path},sha256=${hash("sha256", bytes, "base64url")},${bytes.length}`);
  return storedZip([...files, [`${information}/RECORD`, textOf([...record, `${information}/RECORD,,`])]]);
}

function textOf(lines: readonly string[]): Buffer {
  return Buffer.from(`${lines.join("\n")}\n`);
}

function storedZip(files: readonly WheelFile[]): Buffer {
  const parts: Buffer[] = [];
  const entries: ZipEntry[] = [];
  let offset = 0;
  for (const [name, content] of files) {
    const entry = { crc: crc32(content), bytes: content.length, packedBytes: content.length };
    const header = localHeader(name, STORED, entry);
    entries.push({ ...entry, name, method: STORED, offset });
    parts.push(header, content);
    offset += header.length + content.length;
  }
  return Buffer.concat([...parts, centralDirectory(entries, offset)]);
}
