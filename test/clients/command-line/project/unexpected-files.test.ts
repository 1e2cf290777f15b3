/** Files whose names are in a template, and that nobody expects to be sent for that. */
import { chmod, mkdir, symlink } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { makeProject, type ProjectFiles, runCommand } from "../../../support/clients/command-line.ts";
import { sendPdf, startScriptedService } from "../../../support/clients/scripted-service.ts";

type Links = Readonly<Record<string, string>>;

async function sent(files: ProjectFiles, args: readonly string[], links: Links = {}) {
  const folder = await makeProject(files);
  for (const [place, target] of Object.entries(links)) {
    await mkdir(join(folder, place, ".."), { recursive: true });
    await symlink(target, join(folder, place));
  }
  const service = await startScriptedService(sendPdf);
  const { stderr } = await runCommand(folder, ["render", ...args], { env: { SERVICE_URL: service.url } });
  return { keys: service.bodies.map(({ files: all }) => Object.keys(all ?? {})), stderr };
}

const SECRETS = {
  "p/.git/config": "TOKEN",
  "p/.gitignore": "secrets.yaml\nlocal.json\nplots/",
  "p/.env": "TOKEN",
  "p/id_rsa": "TOKEN",
  "p/server.pem": "TOKEN",
  "p/secrets.yaml": "TOKEN",
  "p/local.json": "{}",
  "p/plots/one.svg": "<svg/>",
  "p/notes.txt": "x",
} satisfies ProjectFiles;

describe("a file that is hidden, ignored or may be secret", () => {
  it("is not sent where a text only mentions it, and a note says so; a picture is", async () => {
    const text = '#let f = (".env", ".git/config", "id_rsa", "server.pem", "secrets.yaml", "local.json")';
    const { keys, stderr } = await sent({ ...SECRETS, "p/a.typ": `${text}\n#fig("plots/one.svg", "notes.txt")` }, [
      "p/a.typ",
    ]);
    expect(keys).toEqual([["notes.txt", "plots/one.svg"]]);
    expect(stderr).toContain(
      "note: Not sent, because no call reads it by its name, and it is hidden, ignored or may be secret: .env, .git/config, id_rsa, server.pem, secrets.yaml and 1 more. If the template reads it, name it with --files.",
    );
  });

  it("is sent where a call reads it by its name, or the caller names it", async () => {
    const files = { ...SECRETS, "p/a.typ": '#json("local.json") #yaml( "secrets.yaml" ) #sys.inputs.at("key")' };
    const { keys } = await sent(files, ["p/a.typ", "--files", "*.pem", "--input", "key=id_rsa"]);
    expect(keys).toEqual([["id_rsa", "local.json", "secrets.yaml", "server.pem", "sys-inputs.typ"]]);
  });

  it("is not sent where the call is of another function whose name ends the same", async () => {
    const { keys, stderr } = await sent({ ...SECRETS, "p/a.typ": '#show-json("local.json") #to-csv("t")' }, [
      "p/a.typ",
    ]);
    expect(keys).toEqual([[]]);
    expect(stderr).not.toContain('reads "t"');
  });

  it("is not sent where its name is in the data, or the folder is named, of a template that puts paths together", async () => {
    const files = {
      ...SECRETS,
      "p/main.typ": "#read(data.name)",
      "p/data.json": '{"name": "id_rsa", "more": ["/etc/hostname", "../../secret", "server.pem", ".env", "notes.txt"]}',
      secret: "TOKEN",
    };
    expect((await sent(files, ["p/main.typ"])).keys).toEqual([["notes.txt"]]);
    expect((await sent(files, ["p"])).keys).toEqual([["notes.txt"]]);
  });

  it("is not sent through a link to it, whatever reads that", async () => {
    const files = { ...SECRETS, "p/a.typ": '#read("a.txt") #read("b/config") #read("c.svg") #let x(n) = read(n)' };
    const links = { "p/a.txt": ".env", "p/b": ".git", "p/c.svg": "server.pem" };
    const { keys, stderr } = await sent(files, ["p/a.typ"], links);
    expect(keys).toEqual([[]]);
    expect(stderr).toContain(
      'p/a.typ:1 reads "a.txt", which is a link to .env, which is hidden, ignored, or may be secret: to send it, name it with --files.',
    );
    const whole = { ...files, "p/main.typ": "#let x(n) = read(n)" };
    expect((await sent(whole, ["p"], links)).keys).toEqual([["a.typ", "notes.txt"]]);
  });

  it("is not sent from above the folder of the source through a link there", async () => {
    const files = { ...SECRETS, "p/lib.typ": '#read("a.svg")', "p/doc/a.typ": '#import "../lib.typ"' };
    const { keys } = await sent(files, ["p/doc/a.typ"], { "p/a.svg": "plots/one.svg" });
    expect(keys).toEqual([["doc/a.typ", "lib.typ"]]);
  });

  it("is not sent by a .renderignore below another folder", async () => {
    const files = {
      ...SECRETS,
      "p/sub/.renderignore": "!/../secrets.yaml\n!../secrets.yaml\n!/\n!**",
      "p/sub/x.txt": "x",
      "p/a.typ": '#let x(n) = read(n)\n#("secrets.yaml", "x.txt")',
    };
    expect((await sent(files, ["p/a.typ"])).keys).toEqual([["sub/x.txt"]]);
  });
});

const OWN = {
  "p/typst.toml": '[package]\nname = "own"\nversion = "1.0.0"\nentrypoint = "lib.typ"\n',
  "p/lib.typ": '#let f(path) = read(path)\n#let mentioned = ".env"',
};

describe("a project that imports itself as a package", () => {
  const source = '#import "@local/own:1.0.0": f\n#f("notes.txt")';
  const expected = ["lib.typ", "notes.txt", "typst.toml"].map((name) => `packages/local/own/1.0.0/${name}`);

  it("sends nothing that is hidden, ignored or may be secret", async () => {
    const { keys } = await sent({ ...SECRETS, ...OWN, "p/secret.txt": "TOKEN", "p/a.typ": source }, ["p/a.typ"]);
    expect(keys.flat().filter((key) => key.startsWith("packages/") && !expected.includes(key))).toEqual([
      "packages/local/own/1.0.0/a.typ",
    ]);
  });

  it("nor what a source of it reads by name, hidden or ignored above the folder that was named", async () => {
    const files = { ...SECRETS, ...OWN, "p/lib.typ": '#read(".env") #json("local.json") #read("notes.txt")' };
    const { keys } = await sent({ ...files, "p/doc/a.typ": '#import "@local/own:1.0.0"' }, ["p/doc/a.typ"]);
    expect(keys.flat().filter((key) => key.startsWith("packages/"))).toEqual(expected);
  });
});

it("a folder of a package that cannot be read is left out", async () => {
  const folder = await makeProject({ ...OWN, "p/a.typ": '#import "@local/own:1.0.0"', "p/closed/x.txt": "x" });
  await chmod(join(folder, "p/closed"), 0);
  const { exitCode } = await runCommand(folder, ["render", "p/a.typ", "--dry-run"]);
  await chmod(join(folder, "p/closed"), 0o755);
  expect(exitCode).toBe(0);
});
