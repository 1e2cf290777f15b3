/** In which order the edge in Node asks for a name: with the search domains of the machine, as `resolv.conf(5)` says. */
import { expect, it } from "vitest";
import { fullNamesOf } from "../../../../edge/platform/node/look-up-service.ts";

const LONG = "a".repeat(63).concat(".b".repeat(92));
const SEARCH = "nameserver 10.0.0.10\nsearch a.example b.example\n";

it.each([
  [
    "is looked for in the domains first if it has few dots",
    "x.y",
    "options ndots:2",
    ["x.y.a.example", "x.y.b.example", "x.y"],
  ],
  ["is taken for a full one first if it has many", "x.y", "", ["x.y", "x.y.a.example", "x.y.b.example"]],
  ["is a full one if it ends in a dot", "x.y.", "options ndots:5", ["x.y"]],
  ["is not looked for where it would be too long", LONG, "options ndots:99", [LONG]],
])("a name %s", (_what, name, options, names) => {
  expect(fullNamesOf(name, SEARCH + options)).toEqual(names);
});

it("a name is looked for in the domains of the last line alone, and as it is where there are none", () => {
  expect(fullNamesOf("x", "search a.example\ndomain b.example\nsearch c.example")).toEqual(["x.c.example", "x"]);
  expect(fullNamesOf("x", "")).toEqual(["x"]);
});
