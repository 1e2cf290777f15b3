/** Which name servers are asked, and by which names. */
import { describe, expect, it } from "vitest";
import { fullNamesOf, parseNameServers, parseResolvConf } from "../../../edge/backends/name-servers.ts";
import { SettingError } from "../../../rules/settings.ts";

describe("SERVICE_DNS_SERVERS", () => {
  it.each([
    [undefined, []],
    ["10.96.0.10", ["10.96.0.10:53"]],
    ["10.96.0.10:5353, [fd00::10] dns.example", ["10.96.0.10:5353", "[fd00::10]:53", "dns.example:53"]],
  ])("may be %j", (text, servers) => {
    expect(parseNameServers(text)).toEqual(servers);
  });

  it.each(["10.96.0.10:0", "10.96.0.10:65536", "fd00::10", "[10.96.0.10]", "udp://10.96.0.10", "a b c d"])(
    "may not be %j",
    (text) => {
      expect(() => parseNameServers(text)).toThrow(SettingError);
    },
  );
});

describe("resolv.conf", () => {
  it("says what Kubernetes writes", () => {
    const text = `search render.svc.cluster.local svc.cluster.local cluster.local
nameserver 10.96.0.10
options ndots:5
`;
    expect(parseResolvConf(text)).toEqual({
      servers: ["10.96.0.10:53"],
      search: ["render.svc.cluster.local", "svc.cluster.local", "cluster.local"],
      dots: 5,
    });
  });

  it("is read as other programs do: the last search list, three servers, six domains, comments and what is unknown skipped", () => {
    const text = `# of a machine
domain a.example
nameserver fd00::10 ; the first
nameserver fe80::1%eth0
 nameserver 10.0.0.1
nameserver
nameserver 10.0.0.2
nameserver 10.0.0.3
search a. b. c d e_ f g é
options timeout:1 ndots:2 ndots:x
sortlist 10.0.0.0`;
    expect(parseResolvConf(text)).toEqual({
      servers: ["[fd00::10]:53", "10.0.0.1:53", "10.0.0.2:53"],
      search: ["a", "b", "c", "d", "e_", "f"],
      dots: 2,
    });
  });

  it("may be empty", () => {
    expect(parseResolvConf("")).toEqual({ servers: [], search: [], dots: 1 });
  });
});

const search = ["a.example", "b.example"];

it.each([
  ["is looked for in the domains first if it has few dots", "x.y", 2, ["x.y.a.example", "x.y.b.example", "x.y"]],
  ["is taken for a full one first if it has many", "x.y", 1, ["x.y", "x.y.a.example", "x.y.b.example"]],
  ["is a full one if it ends in a dot", "x.y.", 5, ["x.y"]],
  [
    "is not looked for where it would be too long",
    "a".repeat(63).concat(".b".repeat(92)),
    200,
    ["a".repeat(63).concat(".b".repeat(92))],
  ],
])("a name %s", (_what, name, dots, names) => {
  expect(fullNamesOf(name, { search, dots })).toEqual(names);
});
