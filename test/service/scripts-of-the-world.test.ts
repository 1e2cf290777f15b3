/**
 * Thirty scripts without any added font: `render --strict` passes none that comes out wrong. What is right is known by
 * hand: scripts that Typst's own fonts for text have, whose letters need no more than to stand side by side.
 */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { readDocumentFonts } from "../../clients/document/fonts/document-fonts.ts";
import { runnerInProjects } from "../support/clients/command-line.ts";
import { SAMPLES } from "../support/documents/scripts.ts";
import { sharedService } from "../support/service/test-service.ts";

const service = await sharedService();
const inProject = runnerInProjects(() => service.edge.url.origin);

describe("without added fonts", () => {
  it.each(SAMPLES)("$name is $outcome", async ({ lang, text, outcome }) => {
    const files = { "a.typ": `#set text(lang: "${lang}")\n${text}` };
    for (const output of ["a.pdf", "a.png"]) {
      const { folder, stderr, exitCode } = await inProject(files, ["render", "a.typ", "-o", output, "--strict"]);
      if (outcome === "named") {
        expect(stderr).toMatch(/empty box|so Typst sets them in/);
        expect(exitCode).toBe(4);
        continue;
      }
      expect(stderr).toMatch(/^a\.p[dn][fg]: [0-9.]+ KiB\n$/);
      expect(exitCode).toBe(0);
      if (output === "a.png") continue;
      const fonts = readDocumentFonts(await readFile(join(folder, output)))?.fonts.map(({ name }) => name);
      expect(fonts?.filter((name) => !/^(?:LibertinusSerif|NewCM10)-/.test(name))).toEqual([]);
    }
  });
});
