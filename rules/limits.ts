/** The limits: whatever reads, enforces, publishes or documents one takes its setting and range from this table. */
import type { ProblemCode } from "./problem.ts";
import { type IntegerSetting, readIntegerSettings } from "./settings.ts";

/** The most keys that the rules allow in `files`. No setting can raise it. */
export const MAX_KEYS = 1024;

const KIBIBYTE = 1024;
const MEBIBYTE = 1024 * KIBIBYTE;

/** Each limit by its published name, in the order of `/v1/constraints`. `limitsFrom` adds `effective_max_files`. */
export const LIMIT_SETTINGS = {
  max_inline_files: {
    setting: "SERVICE_MAX_INLINE_FILES",
    unit: "entries",
    field: "files",
    appliesTo: "entries of `files` (never more than 1024)",
    code: "invalid_file_data",
    default: 64,
    min: 0,
    max: 100_000,
  },
  max_inline_file_bytes: {
    setting: "SERVICE_MAX_INLINE_FILE_BYTES",
    unit: "bytes, after decoding",
    field: "files",
    appliesTo: "each file",
    code: "template_file_too_large",
    default: MEBIBYTE,
    min: 1,
    max: 64 * MEBIBYTE,
  },
  max_template_source_bytes: {
    setting: "SERVICE_MAX_TEMPLATE_SOURCE_BYTES",
    unit: "UTF-8 bytes",
    field: "source",
    appliesTo: "`source`",
    code: "template_source_too_large",
    default: 512 * KIBIBYTE,
    min: 1,
    max: 64 * MEBIBYTE,
  },
  max_string_bytes: {
    setting: "SERVICE_MAX_STRING_BYTES",
    unit: "UTF-8 bytes",
    field: "data",
    appliesTo: "each string in `data`, keys and values alike",
    code: "string_too_large",
    default: MEBIBYTE,
    min: 1,
    max: 64 * MEBIBYTE,
  },
  // At most 64 MiB, because an isolate at the edge has 128 MiB and holds the whole body while it validates it.
  max_request_body_bytes: {
    setting: "SERVICE_MAX_REQUEST_BODY_BYTES",
    unit: "bytes",
    field: null,
    appliesTo: "the JSON request",
    code: "request_too_large",
    default: 20 * MEBIBYTE,
    min: KIBIBYTE,
    max: 64 * MEBIBYTE,
  },
  max_output_bytes: {
    setting: "SERVICE_MAX_OUTPUT_BYTES",
    unit: "bytes",
    field: null,
    appliesTo: "a direct output, all archived images together, and the finished ZIP",
    code: "output_too_large",
    default: 50 * MEBIBYTE,
    min: KIBIBYTE,
    max: 512 * MEBIBYTE,
  },
  max_output_files: {
    setting: "SERVICE_MAX_OUTPUT_FILES",
    unit: "pages",
    field: null,
    appliesTo: "entries of an archive",
    code: "too_many_output_files",
    default: 64,
    min: 1,
    max: 10_000,
  },
} as const satisfies Record<string, LimitSetting>;

interface LimitSetting extends IntegerSetting {
  readonly unit: string;
  /** The field of the request on which it is a limit; null for the whole request and for the output. */
  readonly field: "source" | "files" | "data" | null;
  readonly appliesTo: string;
  readonly code: ProblemCode;
}

export type LimitName = keyof typeof LIMIT_SETTINGS;

export type Limits = Readonly<Record<LimitName | "effective_max_files", number>>;

export const DEFAULT_LIMITS: Limits = limitsFrom(readIntegerSettings(LIMIT_SETTINGS, {}));

export const UNLIMITED: Limits = limitsFrom(removeLimits(DEFAULT_LIMITS));

function removeLimits<Name extends string>(limits: Readonly<Record<Name, number>>): Record<Name, number> {
  const unlimited: Record<Name, number> = { ...limits };
  for (const name in unlimited) unlimited[name] = Number.MAX_SAFE_INTEGER;
  return unlimited;
}

/** The limits of a deployment as it publishes them. A limit that it does not publish does not exist there. */
export function publishedLimits(published: Readonly<Partial<Record<LimitName, number>>>): Limits {
  return limitsFrom({ ...UNLIMITED, ...published });
}

export function limitsFrom(configured: Readonly<Record<LimitName, number>>): Limits {
  return { ...configured, effective_max_files: Math.min(MAX_KEYS, configured.max_inline_files) };
}

/** Equal if and only if the limits are. The edge sends it, so that a backend with other limits can report that. */
export function limitsFingerprint(limits: Limits): string {
  return Object.entries(limits)
    .toSorted(([left], [right]) => (left < right ? -1 : 1))
    .map(([name, value]) => `${name}=${value}`)
    .join(",");
}
