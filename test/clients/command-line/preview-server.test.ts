/** The server of the preview: what it answers, to whom, and that nothing of it is left. */
import { request as send } from "node:http";
import { connect } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import { type PreviewServer, startPreviewServer } from "../../../clients/command-line/preview/server.ts";

const PAGE = Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>');
const FINE = { name: "a.typ", status: "Compiles.", report: "", pages: [PAGE, PAGE] };

async function startServer(): Promise<PreviewServer> {
  const server = await startPreviewServer();
  onTestFinished(() => server.close());
  return server;
}

/** The status of a request as it is written here: fetch neither sends another host name nor a path as it is. */
function statusOf(url: string, options: { method?: string; path?: string; headers?: Record<string, string> } = {}) {
  return new Promise<number | undefined>((resolve, reject) => {
    const request = send(url, options, (response) => {
      response.destroy();
      resolve(response.statusCode);
    });
    request.on("error", reject).end();
  });
}

const stateOf = async ({ url }: PreviewServer) => (await fetch(`${url}state`)).json();

it("answers only at the loopback address, under a path that begins with 32 random bytes", async () => {
  const urls = (await Promise.all([startServer(), startServer()])).map(({ url }) => url);
  for (const url of urls) expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/[\w-]{43}\/$/);
  expect(new URL(urls[0] ?? "").pathname).not.toBe(new URL(urls[1] ?? "").pathname);
});

it.each(["", "preview.css", "preview.js", "state", "events", "pages/1/1.svg"])(
  "lets no page run, load or frame anything by %j, and keeps its address to itself",
  async (path) => {
    const server = await startServer();
    server.show(FINE);
    const answer = await fetch(server.url + path);
    expect(answer.status).toBe(200);
    await answer.body?.cancel();
    expect(answer.headers.get("Content-Security-Policy")).toMatch(/default-src 'none'/);
    expect(answer.headers.get("Content-Security-Policy")).not.toMatch(/\*|https?:|script-src [^;]*unsafe/);
    expect(answer.headers.get("Referrer-Policy")).toBe("no-referrer");
    expect(answer.headers.get("Cross-Origin-Resource-Policy")).toBe("same-origin");
    expect(answer.headers.get("Cache-Control")).toBe("no-store");
    expect(answer.headers.get("Access-Control-Allow-Origin")).toBeNull();
  },
);

it("refuses another host name, another token, another method and another path", async () => {
  const { url } = await startServer();
  const { pathname, port } = new URL(url);
  expect(await statusOf(url)).toBe(200);
  for (const host of ["evil.example", `evil.example:${port}`, "127.0.0.1", `localhost:${port}`, `127.0.0.1:${port}.`]) {
    expect([host, await statusOf(url, { headers: { Host: host } })]).toEqual([host, 404]);
  }
  const other = `/${"A".repeat(43)}/`;
  for (const path of ["/", "/state", other, pathname.slice(0, -1), `${pathname.slice(0, -2)}/`, `/${pathname}`]) {
    expect([path, await statusOf(url, { path })]).toEqual([path, 404]);
  }
  for (const path of [
    "nothing",
    "../package.json",
    "%2e%2e/package.json",
    "pages/0/1.svg",
    "pages/1/1",
    "state?x",
    "//state",
  ]) {
    expect([path, await statusOf(url, { path: pathname + path })]).toEqual([path, 404]);
  }
  for (const method of ["POST", "PUT", "DELETE", "OPTIONS", "HEAD"]) {
    expect([method, await statusOf(url, { method })]).toEqual([method, 404]);
  }
});

it("shows the previous pages as old while the document does not compile", async () => {
  const server = await startServer();
  expect(await stateOf(server)).toMatchObject({ version: 0, pageCount: 0, isOld: false });
  server.show({ ...FINE, status: "Does not compile.", report: "error: <b>", pages: null });
  expect(await stateOf(server)).toMatchObject({ version: 1, pageCount: 0, isOld: false, report: "error: <b>" });
  server.show(FINE);
  expect(await stateOf(server)).toMatchObject({ version: 2, name: "a.typ", pageCount: 2, isOld: false, report: "" });
  server.show({ ...FINE, status: "Does not compile.", report: "error", pages: null });
  expect(await stateOf(server)).toMatchObject({ version: 3, pageCount: 2, isOld: true, report: "error" });
  expect(await (await fetch(`${server.url}pages/3/2.svg`)).text()).toBe(PAGE.toString());
  for (const gone of ["pages/2/1.svg", "pages/3/3.svg", "pages/3/0.svg"]) {
    expect((await fetch(server.url + gone)).status).toBe(404);
  }
});

it("notifies eight windows of each change, and refuses a ninth", async () => {
  const server = await startServer();
  const windows = await Promise.all(Array.from({ length: 8 }, () => fetch(`${server.url}events`)));
  const readers = windows.map(({ body }) => body?.getReader());
  const read = async () => Promise.all(readers.map(async (reader) => Buffer.from((await reader?.read())?.value ?? [])));
  expect((await read()).map(String)).toEqual(windows.map(() => "data: changed\n\n"));
  expect((await fetch(`${server.url}events`)).status).toBe(503);
  server.show(FINE);
  expect((await read()).map(String)).toEqual(windows.map(() => "data: changed\n\n"));
  await readers[0]?.cancel();
  await expect.poll(async () => statusOf(`${server.url}events`)).toBe(200);
});

it("leaves no port and no connection when it is closed", async () => {
  const server = await startPreviewServer();
  const events = (await fetch(`${server.url}events`)).body?.getReader();
  await events?.read();
  await server.close();
  await expect(events?.read()).rejects.toThrow();
  const { port, hostname } = new URL(server.url);
  const refused = new Promise((resolve) => connect(Number(port), hostname).once("error", resolve));
  expect(await refused).toMatchObject({ code: "ECONNREFUSED" });
});
