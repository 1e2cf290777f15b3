/** The methods of each path, as `Allow` lists them. */
import { expect, it } from "vitest";
import { allowedMethods } from "../../protocol/routes.ts";

it("the methods of a path are those of all its routes, HEAD where one takes GET, and OPTIONS", () => {
  const routes = [
    { path: "/x", method: "GET" },
    { path: "/y", method: "GET" },
    { path: "/x", method: "POST" },
  ] as const;
  expect(allowedMethods(routes, "/x")).toBe("GET, HEAD, POST, OPTIONS");
  for (const none of ["", "/", "/X", "constructor"]) expect(allowedMethods(routes, none)).toBeNull();
});
