/** `rename`: names that can be sent for files that have others, in the folder and in the sources at once. */
import { readdir, readFile, symlink } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { makeProject, runCommand } from "../../support/clients/command-line.ts";
import { sendPdf, startScriptedService } from "../../support/clients/scripted-service.ts";

const SVG = '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>';
const FILES = {
  "post/main.typ": [
    "// Grüße.svg stays in comments",
    '#image("Grüße.svg") #image("/Bilder (neu)/a b.svg")',
    '#include "./Kapitel 1/Anfang.typ"',
    "Grüße.svg",
    "",
  ].join("\r\n"),
  "post/Grüße.svg": SVG,
  "post/Bilder (neu)/a b.svg": SVG,
  "post/Kapitel 1/Anfang.typ": '#image("bild.svg") #image("../Grüße.svg") #import "/lib.typ": x',
  "post/Kapitel 1/bild.svg": SVG,
  "post/lib.typ": "#let x = 1",
};

it("shows what it would do, does it with --write, and has nothing to do afterwards", async () => {
  const service = await startScriptedService(sendPdf);
  const folder = await makeProject(FILES);
  const run = (...args: string[]) => runCommand(folder, args, { env: { SERVICE_URL: service.url } });
  const refused = await run("render", "post");
  expect(refused.exitCode).toBe(3);
  expect(refused.stderr).toMatch(/To rename them here and in the sources that read them: .*rename post/);

  const shown = await run("rename", "post");
  expect(shown.exitCode).toBe(0);
  expect(shown.stdout).toContain("rename post/Grüße.svg => post/Gruesse.svg\n");
  expect(shown.stdout).toContain('-#image("Grüße.svg") #image("/Bilder (neu)/a b.svg")');
  expect(shown.stdout).toContain('+#image("Gruesse.svg") #image("/Bilder-neu/a-b.svg")');
  expect(shown.stderr).toContain("Nothing is changed.");
  expect(await readFile(join(folder, "post/main.typ"), "utf8")).toBe(FILES["post/main.typ"]);

  const written = await run("rename", "post", "--write");
  expect(written.stderr).toBe("Renamed 4 files.\n");
  expect(written.stdout).toBe(shown.stdout);
  expect(await readFile(join(folder, "post/main.typ"), "utf8")).toBe(
    FILES["post/main.typ"]
      .replace('"Grüße.svg"', '"Gruesse.svg"')
      .replace("/Bilder (neu)/a b.svg", "/Bilder-neu/a-b.svg")
      .replace("./Kapitel 1/", "./Kapitel-1/"),
  );
  expect(await readFile(join(folder, "post/Kapitel-1/Anfang.typ"), "utf8")).toBe(
    '#image("bild.svg") #image("../Gruesse.svg") #import "/lib.typ": x',
  );
  expect((await run("rename", "post", "--write")).stderr).toBe("All files have names that can be sent.\n");

  expect((await run("render", "post", "-o", "letter.pdf")).exitCode).toBe(0);
  expect(Object.keys(service.bodies[0]?.files ?? {}).sort()).toEqual([
    "Bilder-neu/a-b.svg",
    "Gruesse.svg",
    "Kapitel-1/Anfang.typ",
    "Kapitel-1/bild.svg",
    "lib.typ",
  ]);
  expect((await run("check", "post")).stderr).toContain("compiles");
});

it("takes no name that another file has, and leaves a file that no source names", async () => {
  const folder = await makeProject({
    "main.typ": '#let show-it(name) = image(name + ".svg")\n#image("a b.svg") #show-it("c d")',
    "a b.svg": SVG,
    "c d.svg": SVG,
    "a-b.svg": "another",
  });
  const { stderr, stdout } = await runCommand(folder, ["rename", "main.typ", "--files", "*.svg", "--write"]);
  expect(stdout).toContain('+#image("a-b-2.svg") #show-it("c d")');
  expect(stderr).toContain("c d.svg keeps its name, because no source has it: ");
  expect(await readFile(join(folder, "a-b.svg"), "utf8")).toBe("another");
  expect((await readdir(folder)).filter((name) => name.endsWith(".svg")).sort()).toEqual([
    "a-b-2.svg",
    "a-b.svg",
    "c d.svg",
  ]);
});

it("renames nothing when one of the new names is behind a link that leads out of the project", async () => {
  const folder = await makeProject({
    "post/main.typ": '#image("ä b.svg") #image(". d/x.svg")',
    "post/ä b.svg": SVG,
    "post/. d/x.svg": SVG,
    "elsewhere/other.txt": "",
  });
  await symlink(join(folder, "elsewhere"), join(folder, "post/.-d"));
  const before = await readdir(join(folder, "post"));
  const { stderr, exitCode } = await runCommand(folder, ["rename", "post", "--write"]);
  expect(stderr).toContain("Nothing is renamed: a link leads out of the project at . d/x.svg.");
  expect(exitCode).toBe(1);
  expect(await readdir(join(folder, "elsewhere"))).toEqual(["other.txt"]);
  expect(await readdir(join(folder, "post"))).toEqual(before);
});

it.each([
  ["u\u0308o\u0308a\u0308.svg", "\u00fc\u00f6\u00e4.svg"],
  ["Gruesse.svg", "Grüße.svg"],
])("finds %j for %j", async (name, read) => {
  const folder = await makeProject({ "main.typ": `#image("${read}")`, [name]: SVG });
  const { stderr } = await runCommand(folder, ["check", "main.typ"]);
  expect(stderr).toContain(`Did you mean ${name}?`);
});
