/** Where outputs go: a file that is there stays the one that it is, and a place that takes none is named before the work. */
import {
  chmod,
  chown,
  link,
  lstat,
  mkdir,
  readdir,
  readFile,
  readlink,
  stat,
  symlink,
  writeFile,
} from "node:fs/promises";
import { join } from "node:path";
import { execa } from "execa";
import { describe, expect, it } from "vitest";
import { shellCommand } from "../../../backend/launcher/program.ts";
import { commandEnvironment, makeProject, PROGRAM, runCommand } from "../../support/clients/command-line.ts";
import { sendPdf, startScriptedService } from "../../support/clients/scripted-service.ts";

const PDF = "%PDF-";

async function makePlace() {
  const service = await startScriptedService(sendPdf);
  const folder = await makeProject({ "a.typ": "x", "row.jsonl": '{"n": "out"}\n', "archive/old.pdf": "old" });
  const run = (...args: string[]) => runCommand(folder, args, { env: { SERVICE_URL: service.url } });
  const read = async (name: string) => (await readFile(join(folder, name), "latin1")).slice(0, PDF.length);
  return { service, folder, run, read, at: (name: string) => join(folder, name) };
}

const COMMANDS = [
  ["render -o", ["render", "a.typ", "-o", "out.pdf"]],
  ["render --each --overwrite", ["render", "a.typ", "--each", "row.jsonl", "--overwrite", "-o", "{n}.pdf"]],
  ["check -o", ["check", "a.typ", "-o", "out.pdf"]],
] as const;
/** The template of `--each` has to use the data. */
const USES_DATA = '#data.at(default: none, "n")';

describe.each(COMMANDS)("%s", (_name, args) => {
  it("follows a link, also to a file that does not exist yet", async () => {
    const { run, read, at } = await makePlace();
    await writeFile(at("a.typ"), USES_DATA);
    for (const target of ["archive/old.pdf", "archive/new.pdf"]) {
      await symlink(target, at("out.pdf"));
      expect(await run(...args)).toMatchObject({ exitCode: 0 });
      expect(await readlink(at("out.pdf"))).toBe(target);
      expect(await read(target)).toBe(PDF);
      await execa("rm", [at("out.pdf")]);
    }
    expect((await readdir(at("archive"))).sort()).toEqual(["new.pdf", "old.pdf"]);
  });

  it("keeps mode and group, and the other names of the file", async () => {
    const { run, read, at } = await makePlace();
    await writeFile(at("a.typ"), USES_DATA);
    await writeFile(at("out.pdf"), "a longer file than the document that replaces it".repeat(9999));
    await chmod(at("out.pdf"), 0o660);
    if (process.geteuid?.() === 0) await chown(at("out.pdf"), 0, 12_345);
    const { gid } = await stat(at("out.pdf"));
    expect(await run(...args)).toMatchObject({ exitCode: 0 });
    expect(await stat(at("out.pdf"))).toMatchObject({ mode: 0o100660, gid });
    expect(await read("out.pdf")).toBe(PDF);
    await link(at("out.pdf"), at("other.pdf"));
    await writeFile(at("out.pdf"), "a longer file than the document that replaces it".repeat(9999));
    expect(await run(...args)).toMatchObject({ exitCode: 0 });
    expect(await readFile(at("other.pdf"))).toEqual(await readFile(at("out.pdf")));
    expect((await stat(at("other.pdf"))).size).toBeLessThan(99_999);
    expect((await stat(at("other.pdf"))).nlink).toBe(2);
    expect(await readdir(at("."))).not.toContainEqual(expect.stringContaining(".part"));
  });

  it.each([
    [
      "a read-only file",
      1,
      /^out\.pdf is read-only, so nothing was written\.\n$/,
      (path: string) => writeFile(path, "old", { mode: 0o444 }),
    ],
    ["a folder", 2, /^out\.pdf is a folder: name a file in it\.\n$/, (path: string) => mkdir(path)],
  ])("names %s before anything is sent", async (_what, code, words, make) => {
    const { run, service, at } = await makePlace();
    await writeFile(at("a.typ"), USES_DATA);
    await make(at("out.pdf"));
    const { exitCode, stderr } = await run(...args);
    expect(stderr).toMatch(words);
    expect(exitCode).toBe(code);
    expect(service.bodies).toEqual([]);
  });
});

it.each([
  ["out/", /^out\/ is a folder/],
  ["a.typ/out.pdf", /a\.typ is not a folder\./],
  ["archive", /^archive is a folder/],
])("-o %s is refused before anything is sent", async (place, words) => {
  const { run, service } = await makePlace();
  const { exitCode, stderr } = await run("render", "a.typ", "-o", place);
  expect([exitCode, stderr]).toEqual([2, expect.stringMatching(words)]);
  expect(service.bodies).toEqual([]);
});

it.each(["--report", "--junit"])("test %s writes the file that a link leads to, and no folder", async (option) => {
  const folder = await makeProject({ "main.typ": "x", "cases/a.json": "{}", "real/old.txt": "old" });
  await symlink("real/old.txt", join(folder, "report"));
  await runCommand(folder, ["test", ".", "--update"]);
  expect(await runCommand(folder, ["test", ".", option, "report"])).toMatchObject({ exitCode: 0 });
  expect((await lstat(join(folder, "report"))).isSymbolicLink()).toBe(true);
  expect(await readFile(join(folder, "real/old.txt"), "utf8")).toMatch(/^<.*main\.typ|^<.*0 of 1/s);
  expect(await runCommand(folder, ["test", ".", option, "real"])).toMatchObject({
    exitCode: 2,
    stderr: "real is a folder: name a file in it.\n",
  });
});

describe("--each", () => {
  it("fails for the rows whose files cannot be written, which are not sent, and makes the others", async () => {
    const { run, service, at, read } = await makePlace();
    await writeFile(at("a.typ"), "#data.n");
    await writeFile(
      at("rows.jsonl"),
      '{"d":"a","n":"b"}\n{"d":"a","n":"out"}\n{"d":"no","n":"c"}\n{"d":"no","n":"d"}\n',
    );
    await mkdir(at("a"));
    await writeFile(at("a/b.pdf"), "old", { mode: 0o444 });
    await writeFile(at("no"), "a file, no folder");
    const args = ["render", "a.typ", "--each", "rows.jsonl", "--overwrite", "-o", "{d}/{n}.pdf"] as const;
    const { exitCode, stderr } = await run(...args);
    expect(stderr).toContain("line 1, a/b.pdf: a/b.pdf is read-only, so nothing was written.\n");
    expect(stderr).toContain("line 4, no/d.pdf: no/d.pdf cannot be written");
    expect(stderr).toContain("1 of 4 documents rendered, 3 failed.");
    expect([exitCode, service.bodies.length, await read("a/out.pdf")]).toEqual([8, 1, PDF]);
  });

  it("follows no link out of the project, and opens no device", async () => {
    const { run, service, at } = await makePlace();
    await writeFile(at("a.typ"), USES_DATA);
    await mkdir(at("p"));
    for (const name of ["a.typ", "row.jsonl"]) await execa("mv", [at(name), at("p")]);
    const render = () => run("render", "p/a.typ", "--each", "p/row.jsonl", "--overwrite", "-o", "p/{n}.pdf");
    await symlink("../archive/old.pdf", at("p/out.pdf"));
    expect((await render()).stderr).toBe(
      "--output: p/out.pdf is a link that leads out of the project: nothing was sent.\n",
    );
    await execa("ln", ["-sfn", "/dev/null", at("p/out.pdf")]);
    expect((await render()).stderr).toContain("p/out.pdf is a device, a pipe, or a link to one");
    expect(service.bodies).toEqual([]);
  });
});

it("replaces a link at the place of a name that the command has made", async () => {
  const { run, read, at } = await makePlace();
  await symlink("archive/old.pdf", at("a.pdf"));
  expect(await run("render", "a.typ")).toMatchObject({ exitCode: 0 });
  expect((await lstat(at("a.pdf"))).isFile()).toBe(true);
  expect(await read("archive/old.pdf")).toBe("old");
});

const canMount = (await execa("unshare", ["-rm", "mount", "--bind", "/tmp", "/tmp"], { reject: false })).exitCode === 0;

/** As a container mounts single files; the second one in a folder that takes no other file. */
it.skipIf(!canMount).each([
  ["a mounted file", "mount --bind archive/old.pdf box/out.pdf"],
  [
    "a file in a folder that cannot be written",
    "mount --bind box box; mount --bind archive/old.pdf box/out.pdf; mount -o remount,bind,ro box",
  ],
])("%s is written itself", async (_what, mount) => {
  const { service, folder, read, at } = await makePlace();
  await mkdir(at("box"));
  await writeFile(at("box/out.pdf"), "old");
  const render = shellCommand(process.execPath, PROGRAM, "render", "a.typ", "-o", "box/out.pdf");
  const { exitCode, stderr } = await execa("unshare", ["-rm", "sh", "-c", `${mount}; ${render}`], {
    cwd: folder,
    env: commandEnvironment(folder, { SERVICE_URL: service.url }),
    extendEnv: false,
    reject: false,
  });
  expect([exitCode, stderr]).toEqual([0, expect.stringContaining("box/out.pdf: ")]);
  expect(await read("archive/old.pdf")).toBe(PDF);
});
