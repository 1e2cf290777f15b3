/** Which files are sent for paths that a template puts together, and what is said of those that are not. */
import { symlink } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { problem } from "../../../../rules/problem.ts";
import { makeProject, type ProjectFiles, runCommand } from "../../../support/clients/command-line.ts";
import { reject, sendPdf, startScriptedService } from "../../../support/clients/scripted-service.ts";

async function plan(files: ProjectFiles, args: readonly string[]) {
  const folder = await makeProject(files);
  const { stdout, stderr } = await runCommand(folder, ["render", ...args, "--dry-run"]);
  const sent = [...stdout.matchAll(/^ {2}file.* (\S+)$/gm)].map(([, key = ""]) => key);
  return { sent, stdout, stderr, folder };
}

describe("of the files below the root, those are sent whose names are", () => {
  const PICTURES = { "img/logo.png": "x", "img/mail.svg": "x", "img/other.png": "x", "docs/manual.pdf": "x" };

  it.each<[string, ProjectFiles, readonly string[]]>([
    ["in a source", { "a.typ": '#let logo(name) = image("img/" + name)\n#logo("logo.png")' }, ["img/logo.png"]],
    [
      "in a source without their extension",
      { "a.typ": '#let icon(n) = image("img/" + n + ".svg")\n#icon("mail")' },
      ["img/mail.svg"],
    ],
    [
      "in a file that it reads",
      { "a.typ": '#image(yaml("c.yaml").dir + "/" + yaml("c.yaml").logo)', "c.yaml": "dir: img\nlogo: logo.png" },
      ["c.yaml", "img/logo.png"],
    ],
    [
      "in its data",
      { "main.typ": '#image("img/" + data.logo)', "data.json": '{"logo": "logo.png"}' },
      ["img/logo.png"],
    ],
    [
      "in a file that such a path leads to",
      {
        "a.typ": '#let part(n) = include "parts/" + n + ".typ"\n#part("one")',
        "parts/one.typ": '#image("../img/" + "logo.png")',
      },
      ["img/logo.png", "parts/one.typ"],
    ],
    ["nowhere, if no path is put together", { "a.typ": '#let logo = "logo.png"\nimage' }, []],
  ])("%s", async (_what, files, expected) => {
    const source = "main.typ" in files ? "main.typ" : "a.typ";
    expect((await plan({ ...PICTURES, ...files }, [source])).sent).toEqual(expected);
  });

  it("in --data, in a row of --each, or in a case", async () => {
    const files = {
      ...PICTURES,
      "a.typ": '#image("img/" + data.logo)',
      "d.json": '{"logo": "logo.png"}',
      "r.csv": "logo\nlogo.png\n",
    };
    expect((await plan(files, ["a.typ", "--data", "d.json"])).sent).toEqual(["img/logo.png"]);
    expect((await plan(files, ["a.typ", "--each", "r.csv", "-o", "{#}.pdf"])).sent).toEqual(["img/logo.png"]);
    const svg = '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>';
    const folder = await makeProject({
      "t/a.typ": '#image("img/" + data.logo)',
      "t/img/a.svg": svg,
      "t/cases/one.json": '{"logo": "a.svg"}',
    });
    expect((await runCommand(folder, ["test", "t/a.typ", "--update"])).stderr).toContain("1 of 1 cases passed.");
  });

  it("but none that is ignored, hidden, or behind a link that leads out", async () => {
    const folder = await makeProject({
      "p/a.typ": '#image("img/" + ("a.png", "b.png", "c.png", ".d.png").at(0))',
      "p/.gitignore": "a.png",
      "p/.git/HEAD": "",
      "p/img/a.png": "x",
      "p/img/.d.png": "x",
      "p/img/c.png": "x",
      "secret.png": "SECRET",
    });
    await symlink("../../secret.png", join(folder, "p/img/b.png"));
    const service = await startScriptedService(sendPdf);
    await runCommand(folder, ["render", "p/a.typ"], { env: { SERVICE_URL: service.url } });
    expect(service.bodies.map(({ files }) => Object.keys(files))).toEqual([["img/c.png"]]);
  });

  it("unless there are too many: then only those below the folder of the source, or none, and a note says so", async () => {
    const many = Object.fromEntries(Array.from({ length: 20_001 }, (_, index) => [`many/${index}`, ""]));
    const above = {
      ...Object.fromEntries(Object.entries(many).map(([key, text]) => [`p/${key}`, text])),
      "p/typst.toml": "",
    };
    const below = { "p/lib.typ": "", "p/d/x.txt": "", "p/d/a.typ": '#import "../lib.typ"\n#read(str("x") + ".txt")' };
    expect((await plan({ ...above, ...below }, ["p/d/a.typ"])).sent).toEqual(["d/x.txt", "lib.typ"]);
    const { sent, stdout } = await plan({ ...many, "a.typ": '#image("many/" + str("1"))' }, ["a.typ"]);
    expect(sent).toEqual([]);
    expect(stdout).toContain("note: . has so many files that it was not searched for those");
  });
});

describe("a folder", () => {
  const FOLDER = {
    "t/README.md": "x",
    "t/main.pdf": "x",
    "t/photo.jpg": "x",
    "t/table.csv": "a,b",
    "t/one.typ": "1",
    "t/more/two.typ": "2",
  };

  it("sends what its document reads, and its fonts", async () => {
    expect((await plan({ ...FOLDER, "t/type/a.ttf": "x", "t/main.typ": '#include "one.typ"' }, ["t"])).sent).toEqual([
      "one.typ",
      "type/a.ttf",
    ]);
  });

  it("sends all that a path of its template could lead to", async () => {
    const sentBy = async (source: string) => (await plan({ ...FOLDER, "t/main.typ": source }, ["t"])).sent;
    expect(await sentBy("#image(name())")).toEqual(["photo.jpg"]);
    expect(await sentBy("#csv(name())")).toEqual(["table.csv"]);
    expect(await sentBy('#include "more/" + name() + ".typ"')).toEqual(["more/two.typ", "one.typ"]);
    expect(await sentBy("#read(name())")).toEqual(["more/two.typ", "one.typ", "photo.jpg", "table.csv"]);
  });

  it("that is over a limit says how many files no source names, and the way to send fewer", async () => {
    const many = Object.fromEntries(Array.from({ length: 70 }, (_, index) => [`t/old/${index}.txt`, "x"]));
    const folder = await makeProject({ ...many, "t/main.typ": '#read("one.txt") #read(name())', "t/one.txt": "1" });
    const tooMany = problem("invalid_file_data", "files has 71 entries; the limit is 64.", { count: 71, limit: 64 });
    const service = await startScriptedService(reject(tooMany));
    const { stderr } = await runCommand(folder, ["render", "t"], { env: { SERVICE_URL: service.url } });
    expect(stderr).toContain("70 of the 71 files are sent only because you named the folder");
    expect(stderr).toContain("name t/main.typ instead");
    expect(stderr).not.toContain("encode them again");
  });

  it("without a main.typ has another document, which the command names", async () => {
    const answer = async (files: ProjectFiles, command = "render") =>
      (await runCommand(await makeProject(files), [command, "t"])).stderr;
    const library = { "t/lib.typ": "#let letter(body) = {\n  body\n}\n" };
    const manifest =
      '[package]\nname = "x"\nversion = "1.0.0"\nentrypoint = "lib.typ"\n[template]\npath = "start"\nentrypoint = "letter.typ"\n';
    expect(
      await answer(
        { ...library, "t/typst.toml": manifest, "t/start/letter.typ": "x", "t/docs/main.typ": "x" },
        "check",
      ),
    ).toBe("t/main.typ does not exist. Did you mean t/start/letter.typ? document-rendering check t/start/letter.typ\n");
    expect(await answer({ ...library, "t/template/main.typ": '#import "../lib.typ": letter' })).toContain(
      "Did you mean t/template/main.typ?",
    );
    expect(await answer({ ...library, "t/b.typ": "= Title" })).toContain(
      "Did you mean t/b.typ? document-rendering render t/b.typ",
    );
    expect(await answer({ ...library, "t/b.typ": "= Title", "t/c.typ": "x" })).toMatch(/Did you mean t\/b\.typ\?\n$/);
    expect(await answer(library)).toBe("t/main.typ does not exist.\n");
    const outside =
      '[package]\nname = "x"\nversion = "1.0.0"\nentrypoint = "lib.typ"\n[template]\npath = "../.."\nentrypoint = "secret.typ"\n';
    expect(await answer({ ...library, "t/typst.toml": outside, "secret.typ": "x" })).toBe(
      "t/main.typ does not exist.\n",
    );
  });
});

describe("check names the file that is there, that the template reads first and that is not sent", () => {
  it("with the option that sends it", async () => {
    const files = {
      "r/a.typ": '#for i in range(1, 4) [#read("n-" + str(i) + ".txt")]#data',
      "r/n-1.txt": "1",
      "r/n-2.txt": "2",
      "r/n-3.txt": "3",
      "row.jsonl": "{}",
    };
    const folder = await makeProject(files);
    const { stderr, exitCode } = await runCommand(folder, ["check", "r/a.typ"]);
    expect(stderr).toContain(
      "note: n-1.txt exists but is not sent, because the template computes its name: add --files n-1.txt, or --files '*.txt' for all of its kind there.\n",
    );
    expect(exitCode).toBe(4);
    expect((await runCommand(folder, ["check", "r/a.typ", "--files", "*.txt"])).exitCode).toBe(0);
    const each = await runCommand(folder, ["check", "r/a.typ", "--each", "row.jsonl"]);
    expect(each.stderr).toContain("note: n-1.txt exists but is not sent, because the template computes its name");
  });

  it("below the root too, from the folder of the source", async () => {
    const files = {
      "p/typst.toml": "",
      "p/lib.typ": "",
      "p/n-1.txt": "1",
      "p/d/a.typ": '#import "../lib.typ"\n#read("../n-" + str(1) + ".txt")',
    };
    const { stderr } = await runCommand(await makeProject(files), ["check", "p/d/a.typ"]);
    expect(stderr).toContain(
      "n-1.txt exists but is not sent, because the template computes its name: add --files ../n-1.txt, or --files '../*.txt' for all of its kind there.\n",
    );
  });

  it("but none that a link leads out to", async () => {
    const folder = await makeProject({ "p/a.typ": '#read("n-" + str(1) + ".txt")', "secret.txt": "1" });
    await symlink("../secret.txt", join(folder, "p/n-1.txt"));
    expect((await runCommand(folder, ["check", "p/a.typ"])).stderr).not.toContain("is there");
  });
});

it("--files sends a file that is ignored if it names it exactly", async () => {
  const files = {
    "p/a.typ": "x",
    "p/.gitignore": "*.local.yaml\nout/",
    "p/.git/HEAD": "",
    "p/d.local.yaml": "a: 1",
    "p/out/x.txt": "x",
  };
  const answer = async (...args: string[]) => plan(files, ["p/a.typ", ...args]);
  expect((await answer("--files", "d.local.yaml", "--files", "out/x.txt")).sent).toEqual(["d.local.yaml", "out/x.txt"]);
  expect((await answer("--files", "*.yaml")).stderr).toMatch(
    /^--files \*\.yaml matches no file in .*p that is not ignored\. An ignored file is sent if it is named exactly\.\n$/,
  );
});

it("--files says of a file or folder that is not there where it looked, and which one is like it", async () => {
  const files = { "p/a.typ": "x", "p/logo.png": "x", "lgo.png": "x", "p/.gitignore": "out/", "p/out/x.txt": "x" };
  const answer = async (name: string) => (await plan(files, ["p/a.typ", "--files", name])).stderr;
  expect(await answer("lgo.png")).toMatch(/^\/\S+\/p\/lgo\.png does not exist\. Did you mean \/\S+\/p\/logo\.png\?\n$/);
  expect(await answer("in/")).toMatch(/^\/\S+\/p\/in\/? does not exist\.\n$/);
  expect(await answer("out")).toMatch(/^--files out matches no file in .*p that is not ignored\. /);
});

it("a template that the service cannot compile is told that names are all that is known of such paths", async () => {
  const failed = problem("template_compile_failed", "It does not compile.", {});
  const service = await startScriptedService(reject(failed));
  const folder = await makeProject({ "a.typ": '#read("n-" + str(1))', "b.typ": "#oops()" });
  const answer = async (source: string) =>
    (await runCommand(folder, ["render", source], { env: { SERVICE_URL: service.url } })).stderr;
  expect(await answer("a.typ")).toContain("Files whose names are neither in it nor in the data are not sent");
  expect(await answer("b.typ")).not.toContain("paths");
});
