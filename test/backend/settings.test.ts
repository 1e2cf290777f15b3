/**
 * The backend's environment: defaults, valid values, and values that stop the start with a message naming the setting.
 */
import { mkdir, realpath, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { readBackendSettings } from "../../backend/settings.ts";
import { DEFAULT_LIMITS } from "../../rules/limits.ts";
import { SettingError } from "../../rules/settings.ts";
import { makeTemporaryFolder } from "../support/temporary-folder.ts";

it("an empty environment makes a backend that listens only on this machine, with the default limits of docs/api.md#limits", () => {
  const settings = readBackendSettings({});
  expect(settings).toMatchObject({
    host: "127.0.0.1",
    backendTokens: [],
    queueDeadlineSeconds: 30,
    renderTimeoutSeconds: 20,
    packagePath: null,
    creationTimestampSeconds: null,
    limits: DEFAULT_LIMITS,
  });
  expect(settings.maxConcurrentRenders).toBeGreaterThanOrEqual(1);
  expect(Object.isFrozen(settings)).toBe(true);
});

describe("a setting", () => {
  it.each([
    ["SERVICE_PORT", "65536"],
    ["SERVICE_MAX_CONCURRENT_RENDERS", "0"],
    ["SERVICE_QUEUE_DEADLINE_SECONDS", "0"],
    ["SERVICE_RENDER_TIMEOUT_SECONDS", "1.5"],
    ["SERVICE_MAX_OUTPUT_BYTES", "1e6"],
    ["SERVICE_LOG_LEVEL", "loud"],
    ["SERVICE_CREATION_TIMESTAMP", "today"],
    ["SERVICE_BACKEND_TOKENS", "tökens"],
    ["OTEL_EXPORTER_OTLP_ENDPOINT", "collector"],
    ["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "ftp://collector"],
  ])("that is invalid is named with its valid values: %s of %s", (name, value) => {
    const read = () => readBackendSettings({ [name]: value });
    expect(read).toThrow(SettingError);
    expect(read).toThrow(new RegExp(`^${name} must [^\\n]+$`));
  });

  it.each([
    [
      "SERVICE_MAX_TEMP_BYTES",
      { SERVICE_MAX_OUTPUT_BYTES: "1000000", SERVICE_MAX_REQUEST_BODY_BYTES: "500000" },
      69_608_864,
    ],
    [
      "SERVICE_MAX_TEMP_BYTES",
      { SERVICE_MAX_OUTPUT_BYTES: "1024", SERVICE_MAX_REQUEST_BODY_BYTES: "1024" },
      67_111_936,
    ],
    ["SERVICE_MAX_BODY_MEMORY_BYTES", {}, DEFAULT_LIMITS.max_request_body_bytes],
  ])(
    "that has to hold what the limits allow starts with that many bytes, and the message names them: %s",
    (name, limits, least) => {
      const read = (bytes: number) => readBackendSettings({ ...limits, [name]: String(bytes) });
      expect(() => read(least)).not.toThrow();
      expect(() => read(least - 1)).toThrow(new RegExp(`^${name} must be .*\\b${least}\\b.* is "?${least - 1}"?\\.$`));
    },
  );

  it("that is empty counts as absent", () => {
    const names = ["PORT", "HOST", "LOG_LEVEL", "WORK_DIRECTORY", "TYPST_BIN", "PACKAGE_PATH", "MAX_OUTPUT_BYTES"];
    const empty = Object.fromEntries(names.map((name) => [`SERVICE_${name}`, ""]));
    expect(readBackendSettings(empty)).toEqual(readBackendSettings({}));
  });

  it("that is a relative path is one below the current directory, and a program may be named as on PATH", () => {
    const settings = readBackendSettings({
      PATH: "/bin",
      SERVICE_WORK_DIRECTORY: "work",
      SERVICE_FONT_PATHS: "fonts:/srv/../srv/fonts:",
      SERVICE_PACKAGE_PATH: "./packages",
      SERVICE_TYPST_BIN: "bin/typst",
      SERVICE_SETPRIV_BIN: "sh",
    });
    const here = (path: string) => join(process.cwd(), path);
    expect(settings).toMatchObject({
      workDirectory: here("work"),
      fontPaths: [here("fonts"), "/srv/fonts"],
      packagePath: here("packages"),
      typstPath: here("bin/typst"),
      setprivPath: "/bin/sh",
    });
  });

  it("that leads through a link names what the link leads to at the start", async () => {
    const folder = await realpath(await makeTemporaryFolder("settings-test-"));
    await mkdir(join(folder, "1.0.0/vendor/fonts"), { recursive: true });
    await symlink("1.0.0", join(folder, "current"));
    const path = join(folder, "current/vendor/fonts");
    const settings = readBackendSettings({ SERVICE_FONT_PATHS: path, SERVICE_PACKAGE_PATH: path });
    const target = join(folder, "1.0.0/vendor/fonts");
    expect([settings.fontPaths, settings.packagePath]).toEqual([[target], target]);
  });

  it("never shows a token in its message", () => {
    const read = () => readBackendSettings({ SERVICE_BACKEND_TOKENS: "sécret" });
    expect(read).toThrow(SettingError);
    expect(read).toThrow(/^(?!.*cret).*SERVICE_BACKEND_TOKENS/s);
  });
});

describe("the endpoint of traces", () => {
  const url = (environment: Record<string, string>) => readBackendSettings(environment).tracesUrl?.href ?? null;

  it("is that of all signals with the path of traces appended, or its own, unchanged", () => {
    expect(url({ OTEL_EXPORTER_OTLP_ENDPOINT: "http://collector:4318" })).toBe("http://collector:4318/v1/traces");
    expect(url({ OTEL_EXPORTER_OTLP_ENDPOINT: "https://host/otlp/" })).toBe("https://host/otlp/v1/traces");
    const own = { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: "http://own/x", OTEL_EXPORTER_OTLP_ENDPOINT: "http://other" };
    expect(url(own)).toBe("http://own/x");
  });

  it("is not there by default, nor where OpenTelemetry is switched off", () => {
    expect(url({})).toBeNull();
    expect(url({ OTEL_EXPORTER_OTLP_ENDPOINT: "http://collector:4318", OTEL_SDK_DISABLED: "true" })).toBeNull();
  });

  it("is not called by gRPC", () => {
    const environment = { OTEL_EXPORTER_OTLP_ENDPOINT: "http://collector:4317", OTEL_EXPORTER_OTLP_PROTOCOL: "grpc" };
    expect(() => readBackendSettings(environment)).toThrow(SettingError);
  });
});

describe("the work directory, where no setting names it", () => {
  const HOME = "/home/me";

  it.each<[string, Record<string, string>, string]>([
    ["in the user's cache", {}, "/home/me/.cache/document-rendering-service/work-8788"],
    ["of its port alone", { SERVICE_PORT: "9000" }, "/home/me/.cache/document-rendering-service/work-9000"],
    [
      "for temporary files without a home",
      { HOME: "/nonexistent", XDG_CACHE_HOME: "xdg" },
      join(tmpdir(), "document-rendering-work-8788"),
    ],
    ["in XDG's cache", { XDG_CACHE_HOME: "/xdg" }, "/xdg/document-rendering-service/work-8788"],
    ["in no relative cache", { XDG_CACHE_HOME: "xdg" }, "/home/me/.cache/document-rendering-service/work-8788"],
    ["in what systemd made for the service", { CACHE_DIRECTORY: "/var/cache/pdf" }, "/var/cache/pdf/work-8788"],
    ["in the first of several", { STATE_DIRECTORY: "/var/lib/a:/var/lib/b" }, "/var/lib/a/work-8788"],
    ["on disk before memory", { RUNTIME_DIRECTORY: "/run/a", STATE_DIRECTORY: "/var/lib/a" }, "/var/lib/a/work-8788"],
    ["in memory if there is nothing else", { RUNTIME_DIRECTORY: "/run/a" }, "/run/a/work-8788"],
    ["elsewhere than a variable that is empty", { CACHE_DIRECTORY: "", STATE_DIRECTORY: "/s" }, "/s/work-8788"],
  ])("is %s", (_what, environment, path) => {
    expect(readBackendSettings({ HOME, ...environment }).workDirectory).toBe(path);
  });
});
