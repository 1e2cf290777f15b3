/** The units in deploy/systemd: in agreement with the code. `npm run test:long -- engines` starts them under systemd. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { LIMIT_SETTINGS } from "../../../rules/limits.ts";
import {
  backendStopSeconds,
  deployedBackendSettings,
  deployedEdgeSettings,
  edgeStopSeconds,
  readEnvironment,
} from "../../support/deploy/deployed-settings.ts";
import { imageCommand } from "../../support/deploy/dockerfile.ts";

const FOLDER = fileURLToPath(new URL("../../../deploy/systemd", import.meta.url));
const BACKEND = "document-rendering-backend@";
const EDGE = "document-rendering-edge@";

const readUnit = (name: string) => readFile(join(FOLDER, `${name}.service`), "utf8");

const valuesOf = (unit: string, key: string) =>
  [...unit.matchAll(new RegExp(`^${key}=(.*)$`, "gm"))].map(([, value = ""]) => value);

const only = (unit: string, key: string) => {
  const [value, ...others] = valuesOf(unit, key);
  if (value === undefined || others.length > 0) throw new Error(`the unit needs one ${key}`);
  return value;
};

/** The variables of `Environment=` lines, and those that the example of the file shows. */
async function environmentOf(unit: string, example: string): Promise<Record<string, string>> {
  const assignments = valuesOf(unit, "Environment").flatMap((line) =>
    [...line.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, bare]) => quoted ?? bare ?? ""),
  );
  const pairs = assignments.map((text): [string, string] => {
    const [name = "", ...value] = text.split("=");
    return [name, value.join("=").replace("%i", "8788").replaceAll("%l", "host-7")];
  });
  return { ...Object.fromEntries(pairs), ...(await readEnvironment(`systemd/${example}`)) };
}

const seconds = (text: string) => Number(/^(\d+)s$/.exec(text)?.[1]);

const backend = await readUnit(BACKEND);
const edge = await readUnit(EDGE);

describe("the units", () => {
  it("give them settings that they have, and the time that those allow them to take to end", async () => {
    const settings = deployedBackendSettings(await environmentOf(backend, "backend.env.example"));
    expect(settings).toMatchObject({
      packagePath: "/opt/document-rendering-service/vendor/packages",
      fontPaths: ["/opt/document-rendering-service/vendor/fonts"],
    });
    expect([settings.port, settings.backendTokens.length, settings.sandboxChoice]).toEqual([8788, 1, "bubblewrap"]);
    expect(seconds(only(backend, "TimeoutStopSec"))).toBeGreaterThan(backendStopSeconds(settings));
    // Three copies of the largest source that can be allowed, and the program's own.
    const heapMebibytes = 3 * (LIMIT_SETTINGS.max_template_source_bytes.max / 1024 ** 2) + 64;
    for (const command of [only(backend, "ExecStart"), (await imageCommand("backend")).join(" ")]) {
      expect(command).toContain(`node --max-old-space-size=${heapMebibytes} backend/main.ts`);
    }
    const edgeSettings = await deployedEdgeSettings(await environmentOf(edge, "edge.env.example"));
    expect(seconds(only(edge, "TimeoutStopSec"))).toBeGreaterThan(edgeStopSeconds(edgeSettings));
    // Unlike those of another host, for whoever has the metrics of both.
    expect(edgeSettings.backends.addresses.map(({ name }) => name)).toEqual(["host-7-8788", "host-7-8789"]);
    const ports = edgeSettings.backends.addresses.map((address) => address.kind === "url" && address.url.port);
    const wanted = ports.map((port) => `${BACKEND}${port}.service`).join(" ");
    expect(only(edge, "Wants")).toBe(wanted);
    expect(only(edge, "After")).toContain(wanted);
  });
});
