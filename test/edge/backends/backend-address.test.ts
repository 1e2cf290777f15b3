/** How `SERVICE_BACKEND_URLS` names the backends. */
import { expect, it } from "vitest";
import { type BackendAddress, parseBackendAddresses } from "../../../edge/backends/backend-address.ts";
import { SettingError } from "../../../rules/settings.ts";

/** The backends as one line each. */
const read = (text: string | undefined) => parseBackendAddresses(text).map(lineOf);

function lineOf(address: BackendAddress): string {
  switch (address.kind) {
    case "url":
      return `${address.name}: ${address.url}`;
    case "binding":
      return `${address.name}: ${address.binding} ${address.url}`;
    case "container":
      return `${address.name}: ${address.binding} ${address.index}`;
  }
}

it.each([
  ["no backend", undefined, []],
  ["no backend by blank text", " , ", []],
  ["a URL, named by its place", "https://a.example", ["backend-1: https://a.example/"]],
  [
    "several URLs, separated by spaces, commas or lines",
    "http://127.0.0.1:8788, https://b.example/\nhttps://c.example",
    ["backend-1: http://127.0.0.1:8788/", "backend-2: https://b.example/", "backend-3: https://c.example/"],
  ],
  ["a URL with a name", "paris=https://a.example", ["paris: https://a.example/"]],
  ["a binding", "binding:PARIS", ["backend-1: PARIS http://backend/"]],
  ["a binding with a URL", "eu-1=binding:MTLS@https://a.example:444", ["eu-1: MTLS https://a.example:444/"]],
  ["a container", "container:BOX/2", ["backend-1: BOX 1", "backend-2: BOX 2"]],
  ["ten containers", "container:BOX/10", Array.from({ length: 10 }, (_, i) => `backend-${i + 1}: BOX ${i + 1}`)],
  ["a container with a name", "box=container:BOX/2", ["box-1: BOX 1", "box-2: BOX 2"]],
  [
    "a mixture, in which the place counts instances",
    "container:BOX/2 https://a.example",
    ["backend-1: BOX 1", "backend-2: BOX 2", "backend-3: https://a.example/"],
  ],
])("it may name %s", (_what, text, backends) => {
  expect(read(text)).toEqual(backends);
});

it.each([
  ["another scheme", "ftp://a.example"],
  ["no URL", "a.example:8788"],
  ["a URL with a path", "https://a.example/render"],
  ["a URL with a query", "https://a.example/?x"],
  ["a URL with a password", "https://user:secret@a.example"],
  ["a binding without a name", "binding:"],
  ["a binding with no URL after the @", "binding:MTLS@"],
  ["no instance of a container", "container:BOX/0"],
  ["100 instances of a container", "container:BOX/100"],
  ["a container without a number", "container:BOX"],
  ["a name that is none", "a b=https://a.example"],
  ["a name of other characters", "é=https://a.example"],
  ["a name that is empty", "=https://a.example"],
  ["anything in front of a binding", "xbinding:MTLS"],
  ["anything in front of a container", "xcontainer:BOX/1"],
  ["one name twice", "a=https://a.example a=https://b.example"],
  ["a name that another has by its place", "backend-2=https://a.example https://b.example"],
  ["65 backends", "https://a.example ".repeat(65)],
])("it may not name %s", (_what, text) => {
  expect(() => read(text)).toThrow(SettingError);
});

it("may name 64 backends", () => {
  expect(read("https://a.example ".repeat(64))).toHaveLength(64);
});

it("never repeats a password in its message", () => {
  expect(() => read("https://user:secret@a.example")).toThrow(/^(?!.*secret)/);
});
