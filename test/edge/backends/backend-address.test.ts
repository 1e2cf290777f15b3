/** How `SERVICE_BACKEND_URLS` names the backends. */
import { describe, expect, it } from "vitest";
import {
  accessTokenFor,
  type BackendAddress,
  parseBackendSources,
  urlOfRecord,
} from "../../../edge/backends/backend-address.ts";
import { SettingError } from "../../../rules/settings.ts";

/** The backends as one line each. */
const read = (text: string | undefined) => parseBackendSources(text).addresses.map(lineOf);

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

it("the token of Access goes to listed https: URLs alone", () => {
  const accessToken = { clientId: "id", clientSecret: "secret" };
  const { addresses } = parseBackendSources(
    "http://a.example https://b.example binding:C@https://c.example container:D/1",
  );
  const url = new URL("https://e.example");
  const all: BackendAddress[] = [...addresses, { kind: "url", name: "e", url, isFromDns: true }];
  expect(all.map((address) => accessTokenFor(address, { accessToken }))).toEqual([null, accessToken, null, null, null]);
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
  ["129 backends", "https://a.example ".repeat(129)],
  ["no name in DNS", "srv:"],
  ["a name in DNS with an empty label", "srv:_http._tcp..example"],
  ["a name in DNS with two dots at its end", "srv:backend.."],
  ["a name in DNS with a port", "srv:_http._tcp.backend:8788"],
  ["a name in DNS with a label of 64 characters", `srv:${"a".repeat(64)}.example`],
  ["a name in DNS of 254 characters", `srv:${"a.".repeat(126)}aa`],
  ["nine names in DNS", "srv:a ".repeat(9)],
])("it may not name %s", (_what, text) => {
  expect(() => read(text)).toThrow(SettingError);
});

it("may name 128 backends", () => {
  expect(read("https://a.example ".repeat(128))).toHaveLength(128);
});

it("may name services of DNS, which take no place among the others", () => {
  const longest = `${"a.".repeat(126)}a`;
  expect(
    parseBackendSources(`srv:_http._tcp.backend eu=srv:_https._tcp.eu.example. http://a.example srv:${longest}`),
  ).toEqual({
    addresses: [{ kind: "url", name: "backend-1", url: new URL("http://a.example") }],
    services: [
      { service: "_http._tcp.backend", prefix: null },
      { service: "_https._tcp.eu.example.", prefix: "eu" },
      { service: longest, prefix: null },
    ],
  });
});

describe("the URL of a backend that DNS names", () => {
  const urlOf = (service: string, address: string | null) =>
    urlOfRecord({ service, prefix: null }, { host: "one.example", port: 8788, address }).href;

  it("has its address, or its name if DNS gives no address", () => {
    expect(["10.0.0.1", "[fd00::1]", null].map((address) => urlOf("_http._tcp.backend", address))).toEqual([
      "http://10.0.0.1:8788/",
      "http://[fd00::1]:8788/",
      "http://one.example:8788/",
    ]);
  });

  it("has its name with TLS, because that is what its certificate is for", () => {
    expect(urlOf("_HTTPS._tcp.backend", "10.0.0.1")).toBe("https://one.example:8788/");
  });
});

it("never repeats a password in its message", () => {
  expect(() => read("https://user:secret@a.example")).toThrow(/^(?!.*secret)/);
});
