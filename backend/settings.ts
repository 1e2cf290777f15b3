/** The backend's settings: the one place where its environment is read, parsed and checked against ranges. */
import { realpathSync } from "node:fs";
import { availableParallelism } from "node:os";
import { resolve } from "node:path";
import { parseTokens } from "../protocol/authentication.ts";
import { MAX_SLOTS } from "../protocol/headers.ts";
import { IDLE_CONNECTION_SETTING } from "../protocol/idle-connections.ts";
import { LIMIT_SETTINGS, type Limits, limitsFrom } from "../rules/limits.ts";
import { DEFAULT_RENDER_USE, RENDER_TIME_SETTINGS, readRenderTime } from "../rules/render-time.ts";
import { type Environment, readIntegerSettings, SettingError } from "../rules/settings.ts";
import { findOnPath } from "../typst/programs.mjs";
import { parseSandboxChoice, SANDBOX_ADVICE, type SandboxChoice } from "../typst/sandbox-modes.mjs";
import { defaultWorkDirectory, MAX_DIRECTORY_BYTES } from "./work-directory/paths.ts";

/** What a stopping backend adds to the time in which its requests may wait and render. */
const GRACE_MARGIN_SECONDS = 5;

/** `defaultText` is documented where a default depends on the machine. */
export const BACKEND_INTEGER_SETTINGS = {
  port: {
    setting: "SERVICE_PORT",
    default: 8788,
    min: 0,
    max: 65_535,
    meaning: "TCP port; 0 takes a free one",
  },
  idleConnectionSeconds: IDLE_CONNECTION_SETTING,
  maxConcurrentRenders: {
    setting: "SERVICE_MAX_CONCURRENT_RENDERS",
    default: availableParallelism(),
    defaultText: "cores",
    min: 1,
    max: MAX_SLOTS,
    meaning: "Typst processes at once; the default is the number of cores",
  },
  maxQueuedRenders: {
    setting: "SERVICE_MAX_QUEUED_RENDERS",
    default: 256,
    min: 0,
    max: 10_000,
    meaning: "valid requests that may wait for a slot",
  },
  maxBodyMemoryBytes: {
    setting: "SERVICE_MAX_BODY_MEMORY_BYTES",
    default: 512 * 1024 ** 2,
    min: 1024 ** 2,
    max: 1024 ** 4,
    meaning:
      "memory of all request bodies together, while they are read, wait and are rendered; without room a request gets 429",
  },
  maxOutputMemoryBytes: {
    setting: "SERVICE_MAX_OUTPUT_MEMORY_BYTES",
    default: 64 * 1024 ** 2,
    min: 0,
    max: 1024 ** 4,
    meaning: "memory of all outputs of up to 1 MiB until they are delivered; larger ones are files",
  },
  ...RENDER_TIME_SETTINGS,
  renderMemoryBytes: {
    setting: "SERVICE_RENDER_MEMORY_BYTES",
    default: DEFAULT_RENDER_USE.memoryBytes,
    min: 128 * 1024 ** 2,
    max: 64 * 1024 ** 3,
    meaning: "address space of one Typst process; a render that needs more gets 422",
  },
  // A render within the other limits needs at most 4 s for text, 8 s for 48 PNG pages at 300 ppi.
  renderCpuSeconds: {
    setting: "SERVICE_RENDER_CPU_SECONDS",
    default: DEFAULT_RENDER_USE.cpuSeconds,
    min: 1,
    max: 3600,
    meaning: "processor time that each thread of Typst may use; a render that needs more gets 408",
  },
  maxTempBytes: {
    setting: "SERVICE_MAX_TEMP_BYTES",
    default: 1024 ** 3,
    min: maxTempBytesPerRender({
      max_request_body_bytes: LIMIT_SETTINGS.max_request_body_bytes.min,
      max_output_bytes: LIMIT_SETTINGS.max_output_bytes.min,
    }),
    max: 1024 ** 4,
    meaning: `temporary space of all renders: files of requests, pages, and outputs of over 1 MiB until they are delivered; without room a render gets 429; at least \`SERVICE_MAX_REQUEST_BODY_BYTES\`, ${MAX_DIRECTORY_BYTES / 1024 ** 2} MiB for folders and twice \`SERVICE_MAX_OUTPUT_BYTES\` together`,
  },
  deliverySilenceSeconds: {
    setting: "SERVICE_DELIVERY_SILENCE_SECONDS",
    default: 20,
    min: 1,
    max: 3600,
    meaning: "how long a client may read nothing of its output before the connection is closed",
  },
  deliveryTimeoutSeconds: {
    setting: "SERVICE_DELIVERY_TIMEOUT_SECONDS",
    default: 300,
    min: 1,
    max: 86_400,
    meaning: "how long a client may take to read its output",
  },
  warmRenders: {
    setting: "SERVICE_WARM_RENDERS",
    default: availableParallelism(),
    defaultText: "cores",
    min: 0,
    max: 256,
    meaning:
      "sandboxed Typst processes started before their request comes, at most; each serves one render; 0 starts none",
  },
  drainDelaySeconds: {
    setting: "SERVICE_DRAIN_DELAY_SECONDS",
    default: 0,
    min: 0,
    max: 300,
    meaning: "how long a backend still accepts renders after SIGTERM, while `/ready` says 503",
  },
  // Longer than a request may wait and render, so that a stopping backend finishes what it has accepted.
  graceSeconds: {
    setting: "SERVICE_GRACE_SECONDS",
    default:
      RENDER_TIME_SETTINGS.queueDeadlineSeconds.default +
      RENDER_TIME_SETTINGS.renderTimeoutSeconds.default +
      GRACE_MARGIN_SECONDS,
    min: 1,
    max: 3600,
    meaning: `how long renders and deliveries may take to finish after SIGTERM and the drain delay; the default is ${GRACE_MARGIN_SECONDS} seconds more than the queue deadline and the render timeout together`,
  },
} as const;

/** The settings that are whole numbers are described in their table. */
export interface BackendSettings extends Readonly<Record<keyof typeof BACKEND_INTEGER_SETTINGS, number>> {
  readonly host: string;
  /** Without a token of an edge, every render gets 503. */
  readonly backendTokens: readonly string[];
  readonly sandboxChoice: SandboxChoice;
  /** Of programs. Only those of the chosen sandbox need to exist. */
  readonly typstPath: string;
  readonly bubblewrapPath: string;
  readonly setprivPath: string;
  readonly mkfifoPath: string;
  readonly unsharePath: string;
  readonly fontPaths: readonly string[];
  /** A folder of vendored Typst packages; null if no package can be imported. */
  readonly packagePath: string | null;
  /** The backend empties this directory at start. It does not start if the directory holds anything of others. */
  readonly workDirectory: string;
  /** A fixed date for documents, in seconds since 1970; null for the current time. */
  readonly creationTimestampSeconds: number | null;
  readonly logLevel: string;
  /** Null if no traces are sent. */
  readonly tracesUrl: URL | null;
  readonly limits: Limits;
}

const LOG_LEVELS = ["fatal", "error", "warn", "info", "debug", "trace", "silent"];

/** @throws SettingError with a message that names the variable and says what it must be. */
export function readBackendSettings(environment: Environment): BackendSettings {
  const { queueDeadlineSeconds, renderTimeoutSeconds } = readRenderTime(environment);
  const { graceSeconds, maxTempBytes, maxBodyMemoryBytes } = BACKEND_INTEGER_SETTINGS;
  const defaultGraceSeconds = queueDeadlineSeconds + renderTimeoutSeconds + GRACE_MARGIN_SECONDS;
  const integers = readIntegerSettings(
    { ...BACKEND_INTEGER_SETTINGS, graceSeconds: { ...graceSeconds, default: defaultGraceSeconds } },
    environment,
  );
  const limits = limitsFrom(readIntegerSettings(LIMIT_SETTINGS, environment));
  const fullRender = "one full request with its folders, and two full outputs";
  expectAtLeast(maxTempBytesPerRender(limits), integers.maxTempBytes, maxTempBytes, fullRender);
  expectAtLeast(limits.max_request_body_bytes, integers.maxBodyMemoryBytes, maxBodyMemoryBytes, "one full request");
  return Object.freeze({
    ...integers,
    queueDeadlineSeconds,
    renderTimeoutSeconds,
    host: environment.SERVICE_HOST || "127.0.0.1",
    backendTokens: parseTokens("SERVICE_BACKEND_TOKENS", environment.SERVICE_BACKEND_TOKENS),
    typstPath: readProgram("SERVICE_TYPST_BIN", "typst", environment),
    sandboxChoice: readSandboxChoice(environment.SERVICE_SANDBOX),
    bubblewrapPath: readProgram("SERVICE_BUBBLEWRAP_BIN", "bwrap", environment),
    setprivPath: readProgram("SERVICE_SETPRIV_BIN", "setpriv", environment),
    mkfifoPath: pathOf("mkfifo", environment),
    unsharePath: pathOf("unshare", environment),
    fontPaths: (environment.SERVICE_FONT_PATHS ?? "")
      .split(":")
      .filter((path) => path !== "")
      .map(realPath),
    packagePath: environment.SERVICE_PACKAGE_PATH ? realPath(environment.SERVICE_PACKAGE_PATH) : null,
    workDirectory: resolve(environment.SERVICE_WORK_DIRECTORY || defaultWorkDirectory(environment, integers.port)),
    creationTimestampSeconds: readTimestamp(environment.SERVICE_CREATION_TIMESTAMP),
    logLevel: readLogLevel(environment.SERVICE_LOG_LEVEL),
    tracesUrl: readTracesUrl(environment),
    limits,
  });
}

/** Within its range, a setting must also have room for what the limits allow. */
function expectAtLeast(least: number, value: number, { setting }: { readonly setting: string }, content: string): void {
  if (value >= least) return;
  throw new SettingError(
    `${setting} must be at least ${least} with the limits that are set, to hold ${content}; it is ${value}.`,
  );
}

/** For the files of a request, its pages, and their archive. */
export function maxTempBytesPerRender({
  max_request_body_bytes,
  max_output_bytes,
}: Pick<Limits, "max_request_body_bytes" | "max_output_bytes">): number {
  return max_request_body_bytes + MAX_DIRECTORY_BYTES + 2 * max_output_bytes;
}

function readSandboxChoice(text: string | undefined): SandboxChoice {
  const choice = parseSandboxChoice(text);
  if (choice !== undefined) return choice;
  throw new SettingError(SANDBOX_ADVICE);
}

/**
 * Absolute, because renders run in other directories, and without links: a deployment may move one to the next version while
 * this backend still renders. What does not exist is reported where it is used.
 */
function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return resolve(path);
  }
}

/** A setting that names a program by its path, or by its name on PATH. */
function readProgram(setting: string, usualName: string, environment: Environment): string {
  const given = environment[setting];
  if (!given) return pathOf(usualName, environment);
  return given.includes("/") ? resolve(given) : pathOf(given, environment);
}

/** The absolute path of a program, because Typst runs without PATH; its name if it is not found. */
function pathOf(name: string, environment: Environment): string {
  return findOnPath(name, environment)[0] ?? name;
}

function readTimestamp(text: string | undefined): number | null {
  if (!text) return null;
  if (/^[0-9]{1,11}$/.test(text)) return Number(text);
  throw new SettingError("SERVICE_CREATION_TIMESTAMP must be a number of seconds since 1970.");
}

function readLogLevel(level: string | undefined): string {
  if (!level) return "info";
  if (LOG_LEVELS.includes(level)) return level;
  throw new SettingError(`SERVICE_LOG_LEVEL must be one of ${LOG_LEVELS.join(", ")}.`);
}

/** The endpoint for traces is used as it is; to that for all signals, the path for traces is appended. */
function readTracesUrl(environment: Environment): URL | null {
  const { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: own, OTEL_EXPORTER_OTLP_ENDPOINT: shared } = environment;
  const endpoint = own || shared;
  if (!endpoint || environment.OTEL_SDK_DISABLED?.trim().toLowerCase() === "true") return null;
  const name = own ? "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT" : "OTEL_EXPORTER_OTLP_ENDPOINT";
  const protocol = environment.OTEL_EXPORTER_OTLP_TRACES_PROTOCOL || environment.OTEL_EXPORTER_OTLP_PROTOCOL;
  if (protocol === "grpc")
    throw new SettingError(
      `Traces are sent by OTLP over HTTP in JSON, not by gRPC: ${name} must be an endpoint for HTTP.`,
    );
  const url = URL.parse(own ? endpoint : `${endpoint.replace(/\/+$/, "")}/v1/traces`);
  if (url?.protocol === "http:" || url?.protocol === "https:") return url;
  throw new SettingError(`${name} must be an http or https URL.`);
}
