/** `check --watch --serve` as a program: a page that follows the files, until Ctrl+C. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { runCommand, startCommand, writeProject } from "../../support/clients/command-line.ts";
import { makeTemporaryFolder } from "../../support/temporary-folder.ts";
import { UNREACHABLE_URL } from "../../support/tokens.ts";

it("shows all pages, then a mistake above the last good pages, and ends at Ctrl+C", async () => {
  const folder = await makeTemporaryFolder("command-");
  await writeProject(folder, { "letter.typ": "One #pagebreak() Two 山", "data.txt": "" });
  const running = startCommand(folder, ["check", "letter.typ", "--watch", "--serve"], {
    env: { SERVICE_URL: UNREACHABLE_URL },
  });
  let seen = "";
  running.stderr.on("data", (chunk: Buffer) => {
    seen += chunk.toString("utf8");
  });
  await expect.poll(() => seen).toContain("Watching for changes");
  const [url = ""] = /http:\/\/127\.0\.0\.1:\d+\/[\w-]+\//.exec(seen) ?? [];
  expect(seen).toContain(`The preview is at ${url} until you press Ctrl+C.`);
  const state = async () => (await fetch(`${url}state`)).json();

  const first = await state();
  expect(first).toMatchObject({ name: "letter.typ", status: "Compiles.", pageCount: 2, isOld: false });
  expect(first.report).toContain("warning: No font of this machine has 山 (U+5C71), first in letter.typ:1:");
  const page = await fetch(`${url}pages/${first.version}/2.svg`);
  expect(page.headers.get("Content-Type")).toBe("image/svg+xml");
  expect(await page.text()).toMatch(/^<svg /);

  const events = (await fetch(`${url}events`)).body?.getReader();
  await events?.read();
  await writeFile(join(folder, "letter.typ"), "#oops");
  await events?.read();
  const broken = await state();
  expect(broken).toMatchObject({ status: "Does not compile.", pageCount: 2, isOld: true });
  expect(broken.report).toContain("letter.typ:1:1");
  expect(broken.report).toContain("unknown variable: oops");

  running.kill("SIGINT");
  expect((await running).exitCode).toBe(130);
  await expect(fetch(`${url}state`)).rejects.toThrow();
});

it("needs --watch", async () => {
  const folder = await makeTemporaryFolder("command-");
  await writeProject(folder, { "letter.typ": "x" });
  const { exitCode, stderr } = await runCommand(folder, ["check", "letter.typ", "--serve"]);
  expect(stderr).toBe("--serve needs --watch.\n");
  expect(exitCode).toBe(2);
});
