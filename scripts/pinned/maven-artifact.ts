/** Files that Maven downloads into a separate repository in the user's cache, each pinned by its hash. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { execa } from "execa";
import { cacheFolder } from "../../typst/cache-folder.mjs";
import { sha256 } from "./content-digest.ts";

const TIMEOUT_SECONDS = 900;

/** The SHA-256 of each file, by the `group:name:version` of its artifact. */
const PINNED = {
  // Mustang as a program. Apache-2.0.
  "org.mustangproject:Mustang-CLI:2.26.0": "42d7868cb68264874a7b8cab4c3587b03b23ccc7cd72373da917f66758bb9736",
  // PDFBox as a program. Apache-2.0.
  "org.apache.pdfbox:pdfbox-app:3.0.8": "f6b3a80c39747ff0ef5d06708bc03882152403de58dbef4a1fbffbee568eceb1",
  // veraPDF as a program, which needs its engine beside it. MPL-2.0 or GPL-3.0.
  "org.verapdf.apps:cli:1.30.2": "287cc9c9757f99dcff4a2d39b68268245b48103fb6af443162d5a29df2afa332",
  "org.verapdf:validation-model:1.30.2": "75642612f2559c795c6351ee5b8644e89e33f47e2d6ca32651d3c7a1ab4adbdb",
  // The rules of KoSIT as published, in 3.0.2/: Schematron 2.5.0 for XRechnung 3.0. Apache-2.0.
  "com.helger.phive.rules:phive-rules-xrechnung:4.2.3":
    "7a7903c18b8c7f4ffef20c45d0deb6b8d79f76ba13aff00b415f4a7e334025bb",
  // The rules of CEN as published, in 1.3.16/. EUPL-1.2.
  "com.helger.phive.rules:phive-rules-en16931:4.3.7":
    "842998fe45911442b711300ab251e46489a9a5e2ffc02ddefc4293f8784c2662",
  // openapi-generator as a program. Apache-2.0.
  "org.openapitools:openapi-generator-cli:7.25.0": "41ce4f6b07f196676439d710759fa1ced7a08066d06ff1bf314681470289efae",
} as const;

type Name<Coordinates> = Coordinates extends `${string}:${infer Middle}:${string}` ? Middle : never;

/** The path of an artifact in the cache, to which Maven downloads it. @throws Error if it is not the pinned file */
export async function downloadMavenArtifact(artifact: Name<keyof typeof PINNED>): Promise<string> {
  const [coordinates, pinned] = Object.entries(PINNED).find(([key]) => key.split(":")[1] === artifact) ?? ["", ""];
  const [group = "", name = "", version = ""] = coordinates.split(":");
  const repository = join(cacheFolder(), "maven");
  const file = `${name}-${version}.jar`;
  const path = join(repository, ...group.split("."), name, version, file);
  if ((await hashOf(path)) === pinned) return path;
  process.stderr.write(`Downloading ${file}\n`);
  const goal = ["dependency:get", `-Dartifact=${coordinates}`, "-Dtransitive=false"];
  const { exitCode, all } = await execa("mvn", ["--batch-mode", `-Dmaven.repo.local=${repository}`, ...goal], {
    all: true,
    reject: false,
    timeout: TIMEOUT_SECONDS * 1000,
  });
  const hash = await hashOf(path);
  if (hash === pinned) return path;
  const lines = (all ?? "").trimEnd().split("\n").slice(-8).join("\n");
  throw new Error(
    hash !== null
      ? `${path} has the SHA-256 ${hash}, not the pinned ${pinned}. The file was not used: remove it, and run the command again.`
      : `Maven could not download ${coordinates} (exit code ${exitCode}). Check the connection, and run the command again.\n${lines}`,
  );
}

async function hashOf(path: string): Promise<string | null> {
  const bytes = await readFile(path).catch(() => null);
  return bytes === null ? null : sha256(bytes);
}
