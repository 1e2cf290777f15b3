/** The methods of each path, as `Allow` lists them. */
import { describe, expect, it } from "vitest";
import { allowedMethods, BACKEND_ROUTES, EDGE_ROUTES, STATIC_ROUTES } from "../../protocol/routes.ts";

describe("the methods of a path", () => {
  it.each([
    ["/v1/render", "POST, OPTIONS"],
    ["/health", "GET, HEAD, OPTIONS"],
  ])("are its own, HEAD where it takes GET, and OPTIONS: %s", (path, allowed) => {
    expect(allowedMethods(EDGE_ROUTES, path)).toBe(allowed);
    expect(allowedMethods(BACKEND_ROUTES, path)).toBe(allowed);
  });

  it("are those of all its routes", () => {
    const routes = [
      { path: "/x", method: "GET" },
      { path: "/y", method: "GET" },
      { path: "/x", method: "POST" },
    ] as const;
    expect(allowedMethods(routes, "/x")).toBe("GET, HEAD, POST, OPTIONS");
  });

  it.each(["", "/", "/v1/render/", "/V1/render", "constructor", "/constructor", "__proto__"])(
    "are none if nothing is served: %j",
    (path) => {
      expect(allowedMethods([...EDGE_ROUTES, ...STATIC_ROUTES], path)).toBeNull();
    },
  );
});
