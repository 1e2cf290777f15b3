/** The reference page, inside workerd: what it is made of, and that it can run and ask nothing else. */
import { describe, expect, it } from "vitest";
import { REFERENCE_ROUTES } from "../../rules/http/routes.ts";
import { expectProblem, send } from "./send.ts";

const REFERENCE_PATHS = REFERENCE_ROUTES.map(({ path }) => path);

const CONTENT_TYPES = [
  ["/reference", "text/html; charset=utf-8"],
  ["/reference/reference.css", "text/css; charset=utf-8"],
  ["/reference/reference.js", "text/javascript; charset=utf-8"],
  ["/reference/swagger-ui.css", "text/css; charset=utf-8"],
  ["/reference/swagger-ui-bundle.js", "text/javascript; charset=utf-8"],
  ["/reference/swagger-ui-bundle.js.LICENSE.txt", "text/plain; charset=utf-8"],
] as const;

describe("the reference page", () => {
  it("is served without a token, with every file that it is made of", async () => {
    expect(CONTENT_TYPES.map(([path]) => path)).toEqual(REFERENCE_PATHS);
    for (const [path, type] of CONTENT_TYPES) {
      const answer = await send(path);
      expect([answer.status, answer.headers.get("Content-Type")], path).toEqual([200, type]);
      expect(answer.headers.get("X-Request-Id"), path).not.toBeNull();
      expect(answer.headers.get("X-Content-Type-Options"), path).toBe("nosniff");
      expect((await answer.text()).length, path).toBeGreaterThan(100);
    }
  });

  it("runs only scripts of this deployment, asks nobody else and is shown in no frame", async () => {
    const policy = (await send("/reference")).headers.get("Content-Security-Policy") ?? "";
    const directives = new Map(policy.split("; ").map((part) => [part.split(" ")[0], part.split(" ").slice(1)]));
    expect(directives.get("default-src")).toEqual(["'none'"]);
    expect(directives.get("script-src")).toEqual(["'self'"]);
    expect(directives.get("style-src")).toEqual(["'self'"]);
    expect(directives.get("connect-src")).toEqual(["'self'"]);
    expect(directives.get("frame-ancestors")).toEqual(["'none'"]);
    expect(policy).not.toMatch(/unsafe|http|\*/);
  });

  it("names only files that are served, and has nothing inline", async () => {
    const html = await (await send("/reference")).text();
    const named = [...html.matchAll(/(?:src|href)="([^"]*)"/g)].map(([, name = ""]) => name);
    expect(named).toContain("/reference/swagger-ui-bundle.js");
    for (const name of named) expect([...REFERENCE_PATHS, "/openapi.json", "data:,"]).toContain(name);
    expect(html).not.toMatch(/<style|style=|<script>|\son[a-z]+=/);
  });

  it("is kept by browsers until it changes", async () => {
    const etag = (await send("/reference")).headers.get("ETag") ?? "";
    const answer = await send("/reference", { headers: { "If-None-Match": etag } });
    expect(answer.status).toBe(304);
  });

  it("is at one path, for GET alone", async () => {
    await expectProblem(await send("/reference", { method: "POST" }), "method_not_allowed");
    for (const path of ["/reference/", "/reference/index.html", "/reference/other.js"]) {
      await expectProblem(await send(path), "not_found");
    }
  });
});
