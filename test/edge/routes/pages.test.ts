/** The pages for people, inside workerd: what they are made of, and that they can run and ask nothing else. */
import { describe, expect, it } from "vitest";
import {
  CLIENT_FILES,
  CLIENTS_PAGE,
  HELP_ROUTES,
  PLAYGROUND_ROUTES,
  REDIRECTS,
  REFERENCE_ROUTES,
} from "../../../protocol/routes.ts";
import { expectProblem, send } from "../send.ts";

const HTML = "text/html; charset=utf-8";
const STYLE = "text/css; charset=utf-8";
/** By the ends of paths. A page has none. */
const CONTENT_TYPES = new Map([
  ["bin", "application/octet-stream"],
  ["css", STYLE],
  ["js", "text/javascript; charset=utf-8"],
  ["json", "application/json"],
  ["otf", "font/otf"],
  ["svg", "image/svg+xml"],
  ["ttf", "font/ttf"],
  ["txt", "text/plain; charset=utf-8"],
]);

/** Each page by its path: the files that it is made of, its first script, and where else it leads. */
const PAGES = [
  {
    path: "/",
    routes: PLAYGROUND_ROUTES,
    script: "/playground/playground.js",
    links: [
      "/help/templates",
      "/help/command-line",
      "https://typst.app/docs/tutorial/",
      "/reference",
      "/licenses",
      "#result",
    ],
    unserved: ["/index.html", "/playground", "/playground/", "/playground/index.html", "/playground/other.js"],
  },
  {
    path: "/reference",
    routes: REFERENCE_ROUTES,
    script: "/reference/swagger-ui-bundle.js",
    links: ["/openapi.json", "data:,", "/"],
    unserved: ["/reference/", "/reference/index.html", "/reference/other.js"],
  },
] as const;

describe.each(PAGES)("the page at $path", ({ path, routes, script, links, unserved }) => {
  const paths: readonly string[] = routes.map((route) => route.path);

  it("is served without a token, with all of its files", async () => {
    for (const file of paths) {
      const type = file === path ? HTML : CONTENT_TYPES.get(file.split(".").at(-1) ?? "");
      const answer = await send(file);
      expect([answer.status, answer.headers.get("Content-Type")], file).toEqual([200, type]);
      expect(answer.headers.get("X-Request-Id"), file).not.toBeNull();
      expect(answer.headers.get("X-Content-Type-Options"), file).toBe("nosniff");
      expect((await answer.arrayBuffer()).byteLength, file).toBeGreaterThan(100);
    }
  });

  it("runs only scripts of this deployment, connects to no other and cannot be framed", async () => {
    const { headers } = await send(path);
    expect(headers.get("Referrer-Policy")).toBe("no-referrer");
    expect(headers.get("Cross-Origin-Opener-Policy")).toBe("same-origin");
    const policy = headers.get("Content-Security-Policy") ?? "";
    const directives = new Map(policy.split("; ").map((part) => [part.split(" ")[0], part.split(" ").slice(1)]));
    expect(directives.get("default-src")).toEqual(["'none'"]);
    expect(directives.get("script-src")).toEqual(["'self'"]);
    expect(directives.get("style-src")).toEqual(["'self'"]);
    expect(directives.get("connect-src")).toEqual(["'self'"]);
    for (const name of ["frame-ancestors", "base-uri", "form-action"]) expect(directives.get(name)).toEqual(["'none'"]);
    expect(policy).not.toMatch(/unsafe|http|\*/);
  });

  it("names only files that are served, and has nothing inline", async () => {
    const html = await (await send(path)).text();
    const named = [...html.matchAll(/(?:src|href)="([^"]*)"/g)].map(([, name = ""]) => {
      if (/^(?:#|data:|https:)/.test(name)) return name;
      // Also where a proxy serves the page below a path.
      const { pathname } = new URL(name, `http://proxy/below${path}`);
      expect(pathname).toMatch(/^\/below\//);
      return pathname.slice("/below".length);
    });
    expect(named).toContain(script);
    for (const name of named) expect([...paths, ...links]).toContain(name);
    expect(html).not.toMatch(/<style|style=|<script>|\son[a-z]+=/);
  });

  it("is kept by browsers until it changes", async () => {
    const etag = (await send(path)).headers.get("ETag") ?? "";
    const answer = await send(path, { headers: { "If-None-Match": etag } });
    expect(answer.status).toBe(304);
  });

  it("is at one path, and only for GET", async () => {
    await expectProblem(await send(path, { method: "POST" }), "method_not_allowed");
    for (const other of unserved) await expectProblem(await send(other), "not_found");
  });
});

it("the licences are text, also at the path without an extension", async () => {
  const [short, long] = await Promise.all([send("/licenses"), send("/licenses.txt")]);
  for (const answer of [short, long]) {
    expect(answer.status).toBe(200);
    expect(answer.headers.get("Content-Type")).toBe("text/plain; charset=utf-8");
  }
  expect(await short.text()).toBe(await long.text());
});

it.each(Object.entries(REDIRECTS))("%s leads to %s", async (path, place) => {
  const answer = await send(path, { redirect: "manual" });
  expect([answer.status, answer.headers.get("Location")]).toEqual([302, place.slice(1)]);
  expect((await send(place)).status).toBe(200);
});

it("the page of the clients names each", async () => {
  const answer = await send(CLIENTS_PAGE);
  expect([answer.status, answer.headers.get("Content-Type")]).toEqual([200, HTML]);
  const text = await answer.text();
  for (const name of Object.values(CLIENT_FILES)) expect(text).toContain(name);
});

describe("the pages of help", () => {
  it.each(HELP_ROUTES.map((route) => route.path))(
    "%s is served without a token, and only at this path",
    async (path) => {
      const answer = await send(path);
      expect(answer.status).toBe(200);
      const [, extension] = /\.(css|js)$/.exec(path) ?? [];
      expect(answer.headers.get("Content-Type")).toBe(extension === undefined ? HTML : CONTENT_TYPES.get(extension));
      if (extension === undefined)
        expect(answer.headers.get("Content-Security-Policy")).toMatch(/^default-src 'none'; /);
      await expectProblem(await send(`${path}/index.html`), "not_found");
    },
  );

  it("lead to places that there are", async () => {
    const pages = HELP_ROUTES.map((route) => route.path).filter((path) => !/\.(?:css|js)$/.test(path));
    const texts = new Map(
      await Promise.all(pages.map(async (path) => [path, await (await send(path)).text()] as const)),
    );
    for (const [path, html] of texts) {
      const targets = [...html.matchAll(/href="([^"]*)"/g)].map(
        ([, target = ""]) => new URL(target, `http://edge${path}`),
      );
      expect(html).not.toMatch(/(?:src|href)="\//);
      const own = targets.filter(({ hash, host }) => hash !== "" && host === "edge");
      expect(own.length).toBeGreaterThan(0);
      for (const { pathname, hash } of own)
        expect(texts.get(pathname), `${path} ${hash}`).toContain(`id="${hash.slice(1)}"`);
      expect(html).not.toMatch(/<script(?! src=)|<style|style=|\.md"/);
    }
  });
});
