/** The edge's settings that contradict each other, hold what cannot be sent, or decide who may read answers. */
import { describe, expect, it } from "vitest";
import { readCorsOrigins, readEdgeSettings, readSecurityContacts } from "../../edge/settings.ts";
import { SettingError } from "../../rules/settings.ts";

const CLIENT_ID = "id.access";
const CLIENT_SECRET = "0123456789abcdef";

const accessToken = (SERVICE_ACCESS_CLIENT_ID: string, SERVICE_ACCESS_CLIENT_SECRET: string) =>
  readEdgeSettings({ SERVICE_ACCESS_CLIENT_ID, SERVICE_ACCESS_CLIENT_SECRET }).accessToken;

describe("the service token of Cloudflare Access", () => {
  it.each([
    [CLIENT_ID, CLIENT_SECRET],
    [` ${CLIENT_ID}`, `${CLIENT_SECRET}\n`],
  ])("may have space around it: %j", (clientId, clientSecret) => {
    expect(accessToken(clientId, clientSecret)).toEqual({ clientId: CLIENT_ID, clientSecret: CLIENT_SECRET });
  });

  it.each([
    ["http://a.example", true],
    ["srv:_https._tcp.a.example", true],
    ["http://a.example https://b.example", false],
    ["binding:PARIS", false],
    ["", false],
  ])("is refused where it would be sent to no URL of %j: %j", (SERVICE_BACKEND_URLS, isRefused) => {
    const read = () =>
      readEdgeSettings({
        SERVICE_ACCESS_CLIENT_ID: CLIENT_ID,
        SERVICE_ACCESS_CLIENT_SECRET: CLIENT_SECRET,
        SERVICE_BACKEND_URLS,
      });
    if (isRefused) expect(read).toThrow(/SERVICE_ACCESS_CLIENT_ID.*no https: URL/);
    else expect(read().accessToken?.clientId).toBe(CLIENT_ID);
  });

  it("is absent if both settings are empty", () => {
    expect(accessToken("", " \n")).toBeNull();
  });

  it.each([
    [CLIENT_ID, ""],
    [CLIENT_ID, " "],
    ["", CLIENT_SECRET],
    [CLIENT_ID, `${CLIENT_SECRET}\n${CLIENT_SECRET}`],
    [CLIENT_ID, `${CLIENT_SECRET}é`],
    [`${CLIENT_SECRET}\u0100`, CLIENT_SECRET],
  ])("is refused, and not quoted, as %j and %j", (clientId, clientSecret) => {
    let message = "";
    try {
      accessToken(clientId, clientSecret);
    } catch (error) {
      if (error instanceof SettingError) ({ message } = error);
    }
    expect(message).toMatch(/SERVICE_ACCESS_CLIENT_ID.*SERVICE_ACCESS_CLIENT_SECRET/);
    expect(message).not.toContain(CLIENT_SECRET);
  });
});

it("bindings that are no text and no number are no settings", () => {
  expect(readEdgeSettings({ SERVICE_API_TOKENS: { get: () => "token" } })).toEqual(readEdgeSettings({}));
});

it("a number of wrangler's configuration counts as its text does", () => {
  expect(readEdgeSettings({ SERVICE_MAX_OPEN_RENDERS: 1000 }).maxOpenRenders).toBe(1000);
  for (const wrong of [1.5, 0, 1e21, "1e3"]) {
    expect(() => readEdgeSettings({ SERVICE_MAX_OPEN_RENDERS: wrong })).toThrow(SettingError);
  }
});

it.each([undefined, "", " "])(
  "the access to /metrics needs a token if there are tokens and the setting is %j",
  (access) => {
    const settings = {
      SERVICE_METRICS_TOKENS: "scrape",
      ...(access !== undefined && { SERVICE_METRICS_ACCESS: access }),
    };
    expect(readEdgeSettings(settings).metricsAccess).toEqual({ kind: "token", tokens: ["scrape"] });
  },
);

describe("SERVICE_SECURITY_CONTACT", () => {
  it.each([
    ["", []],
    [
      "mailto:security@render.example, https://render.example/security tel:+1-201-555-0123",
      ["mailto:security@render.example", "https://render.example/security", "tel:+1-201-555-0123"],
    ],
  ])("holds addresses: %j", (text, contacts) => {
    expect(readSecurityContacts({ SERVICE_SECURITY_CONTACT: text })).toEqual(contacts);
  });

  it.each([
    "security@render.example",
    "http://render.example",
    "mailto:",
    "tel:110",
    "mailto:a@b@c",
    "javascript:1",
    "https://",
    "https://a.example/\0",
    "mailto:a@b\u0085c",
    "https://ä.example",
  ])("%j is refused", (text) => {
    expect(() => readSecurityContacts({ SERVICE_SECURITY_CONTACT: text })).toThrow(SettingError);
  });
});

describe("SERVICE_CORS_ORIGINS", () => {
  it.each<[string | undefined, "*" | readonly string[]]>([
    [undefined, []],
    [" ,\n", []],
    ["*", "*"],
    [" * ", "*"],
    ["https://a.example", ["https://a.example"]],
    ["https://a.example,http://b.example:8080", ["https://a.example", "http://b.example:8080"]],
    ["http://[::1]:3000\n http://127.0.0.1", ["http://[::1]:3000", "http://127.0.0.1"]],
  ])("of %j allows %j", (text, origins) => {
    expect(readCorsOrigins({ SERVICE_CORS_ORIGINS: text })).toEqual(origins);
  });

  it.each([
    "https://a.example/",
    "https://a.example/path",
    "https://A.example",
    "https://a.example:443",
    "https://*.example",
    "https://user@a.example",
    "a.example",
    "//a.example",
    "ftp://a.example",
    "null",
    "https:a.example",
    "https://",
    "https://a.example *",
    "* https://a.example",
    "* *",
  ])("of %j is not valid", (text) => {
    expect(() => readCorsOrigins({ SERVICE_CORS_ORIGINS: text })).toThrow(SettingError);
  });
});
