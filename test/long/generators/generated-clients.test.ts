/** The programs of examples/programs/generated-clients/: what each reads through its generated client is what was sent. */
import { cp, mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { stripVTControlCharacters } from "node:util";
import { execa } from "execa";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { downloadMavenArtifact } from "../../../scripts/pinned/maven-artifact.ts";
import { cacheFolder } from "../../../typst/cache-folder.mjs";
import { findOnPath } from "../../../typst/programs.mjs";
import { startTestService, type TestService } from "../../support/service/test-service.ts";
import { makeTemporaryFolder } from "../../support/temporary-folder.ts";
import { API_TOKEN } from "../../support/tokens.ts";

const PROGRAMS_FOLDER = fileURLToPath(new URL("../../../examples/programs/generated-clients/", import.meta.url));
const NEEDS = ["curl", "go", "java", "javac", "mvn", "python3"];

/** By the folder of a program: what else the language has that judges its types. */
const JUDGES = {
  python: "venv/bin/pip install --quiet mypy==2.4.1 && venv/bin/mypy main.py",
  java: "javac -Werror -cp 'client/target/classes:client/target/dependency/*' Main.java",
  "typescript-types": "npx tsc --noEmit --strict --exactOptionalPropertyTypes main.ts",
  "typescript-client": "npx tsc --noEmit --strict main.ts",
  go: "go vet .",
};

// A PDF/A has a date, by default that of its render.
const SOURCE = "#set document(date: datetime(year: 2026, month: 1, day: 1))\n= Grüße, #data.name!\n";

let service: TestService;
let generator: string;
beforeAll(async () => {
  const missing = NEEDS.filter((name) => findOnPath(name).length === 0);
  if (missing.length > 0) {
    const packages = "curl default-jdk-headless golang-go maven python3-venv";
    throw new Error(`${missing.join(", ")} not found. On Debian 13 and Ubuntu 24.04: apt-get install ${packages}`);
  }
  generator = await downloadMavenArtifact("openapi-generator-cli");
  service = await startTestService();
});
afterAll(() => service?.stop());

/** Runs commands in a folder, with what docs/recipes.md says is there. @returns what they print */
async function run(folder: string, commands: string): Promise<string> {
  const { stdout } = await execa("sh", ["-e", "-c", commands], {
    cwd: folder,
    env: {
      PATH: `${folder}/bin:${process.env.PATH}`,
      // Go takes no module that is in the temporary folder itself.
      TMPDIR: join(folder, "tmp"),
      SERVICE_URL: service.edge.url.origin,
      SERVICE_API_TOKEN: API_TOKEN,
      MAVEN_OPTS: `-Dmaven.repo.local=${join(cacheFolder(), "maven")}`,
      // A workspace of this machine is not the page's. Debian's Go downloads a newer one only if it is told to.
      GOWORK: "off",
      GOTOOLCHAIN: "auto",
      GOFLAGS: "-mod=mod",
      PIP_DISABLE_PIP_VERSION_CHECK: "1",
    },
  });
  return stdout;
}

describe.each(Object.entries(JUDGES))("the generated client of examples/programs: %s", (name, judge) => {
  it("is generated, compiles, reads a PDF and a ZIP archive byte for byte, and a 400 by its code and rule", async () => {
    const folder = await makeTemporaryFolder("generated-");
    for (const made of ["bin", "tmp"]) await mkdir(join(folder, made));
    const program = `#!/bin/sh\nexec java -jar '${generator}' "$@"\n`;
    await writeFile(join(folder, "bin/openapi-generator-cli"), program, { mode: 0o755 });
    await writeFile(join(folder, "main.typ"), SOURCE);
    await cp(join(PROGRAMS_FOLDER, name), folder, { recursive: true });

    await run(folder, 'curl -fsSO "$SERVICE_URL/openapi.json"');
    const printed = await run(folder, "sh -e run.sh");
    expect(stripVTControlCharacters(printed).split("\n").at(-1)).toBe(
      "invalid_request version_conflicts_with_standard",
    );
    const outputs = { "document.pdf": { standards: ["a-2b"] }, "pages.zip": { format: "png", archive: "zip" } };
    for (const [made, output] of Object.entries(outputs)) {
      const answer = await service.render({ source: SOURCE, data: { name: "world" }, output });
      expect(answer.status).toBe(200);
      const expected = Buffer.from(await answer.bytes());
      expect(expected.equals(await readFile(join(folder, made))), made).toBe(true);
    }
    await run(folder, judge);
  });
});
