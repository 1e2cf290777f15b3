/** The stage `edge-build` of the Dockerfile has all that `npm run build:edge` reads. */
import { cp, mkdir, readdir, readFile, symlink } from "node:fs/promises";
import { delimiter, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { execa } from "execa";
import { expect, it } from "vitest";
import { makeTemporaryFolder } from "../../support/temporary-folder.ts";

const PROJECT = fileURLToPath(new URL("../../../", import.meta.url));
/** Those of the stage that it is made from. */
const COPIED_BEFORE = ["package.json", "package-lock.json", ".npmrc"];
/** What this test's own checkout has built, which an image starts without. */
const BUILT = /\/node_modules(?:\/|$)|\/static\/(?:clients|help|playground|licenses[.]txt|reference\/swagger-ui)/;

it("builds the edge from the files that it copies", { timeout: 300_000 }, async () => {
  const stage = await makeTemporaryFolder("edge-image-");
  const text = await readFile(join(PROJECT, "Dockerfile"), "utf8");
  const [, steps = ""] = /^FROM build AS edge-build\n(.*?)^FROM /ms.exec(text) ?? [];
  const copied = [...steps.matchAll(/^COPY ([^-].*) \S+$/gm)].flatMap(([, sources = ""]) => sources.split(" "));
  expect(copied.length).toBeGreaterThan(8);
  for (const source of [...COPIED_BEFORE, ...copied]) {
    await mkdir(dirname(join(stage, source)), { recursive: true });
    await cp(join(PROJECT, source), join(stage, source), { recursive: true, filter: (path) => !BUILT.test(path) });
  }
  await symlink(join(PROJECT, "node_modules"), join(stage, "node_modules"));
  // Without what npm adds to the PATH.
  const { STATIC_FILES_PROVIDED: _, PATH = "", ...rest } = process.env;
  const env = {
    ...rest,
    PATH: PATH.split(delimiter)
      .filter((path) => !path.includes("node_modules"))
      .join(delimiter),
  };
  await execa(process.execPath, ["scripts/build-edge.ts"], { cwd: stage, stdin: "ignore", env, extendEnv: false });
  expect(await readdir(join(stage, "dist/edge"))).toEqual(
    expect.arrayContaining(["start.mjs", "static", "static.json"]),
  );
});
