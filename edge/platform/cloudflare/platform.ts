/** Cloudflare's Workers: bindings, its log and its traces. */
import { tracing } from "cloudflare:workers";
import { SettingError } from "../../../rules/settings.ts";
import type { AccessToken, BackendAddress } from "../../backends/backend-address.ts";
import type { RequestLine } from "../../log/request-line.ts";
import type { Answer, ClientRequest, LogLevel, Platform } from "../platform.ts";
import { ANALYTICS_BINDING, spanAttributes, writeAnalytics } from "./analytics.ts";
import { openBackend } from "./backend.ts";
import { StreamedAnswer, WorkerRequest } from "./exchange.ts";
import { LARGEST_BODY_BYTES_IN_ISOLATE, MAX_BODY_BYTES_IN_ISOLATE, MAX_GATHERED_BYTES } from "./isolate-memory.ts";

interface EdgeEnvironment {
  readonly ASSETS?: Fetcher;
  readonly CALLER_RATE_LIMITER?: RateLimit;
  readonly [name: string]: unknown;
}

/** The bindings are one object for the life of an isolate. */
const platforms = new WeakMap<object, Workers>();

export function platformOf(environment: object): Platform {
  const known = platforms.get(environment);
  if (known !== undefined) return known;
  const platform = new Workers(environment as EdgeEnvironment);
  platforms.set(environment, platform);
  return platform;
}

class Workers implements Platform {
  readonly settings: EdgeEnvironment;
  readonly isWholeEdge = false;
  readonly memoryBounds = {
    bodyBytes: MAX_BODY_BYTES_IN_ISOLATE,
    largestBodyBytes: LARGEST_BODY_BYTES_IN_ISOLATE,
    gatheredBytes: MAX_GATHERED_BYTES,
  };

  constructor(environment: EdgeEnvironment) {
    this.settings = environment;
  }

  openBackend(address: BackendAddress, accessToken: AccessToken | null) {
    return openBackend(address, this.settings, accessToken);
  }

  /** A Worker has no resolver: Cloudflare's own knows public names alone. */
  openLookup(): never {
    throw new SettingError(
      "SERVICE_BACKEND_URLS may name backends by srv: only where the edge runs in Node; on Cloudflare, list their URLs.",
    );
  }

  async staticFile(path: string, request: ClientRequest): Promise<Answer> {
    if (!(request instanceof WorkerRequest)) throw new TypeError("a request of another platform");
    const { ASSETS } = this.settings;
    if (ASSETS === undefined) throw new TypeError("the Worker has no binding ASSETS");
    const { status, headers, body } = await ASSETS.fetch(request.at(new URL(path, request.url)));
    return { status, headers: Object.fromEntries(headers), body: body === null ? null : new StreamedAnswer(body) };
  }

  get rateLimiter(): RateLimit | null {
    return this.settings.CALLER_RATE_LIMITER ?? null;
  }

  /** Workers Logs indexes the fields of an object. */
  writeLog(level: LogLevel, line: object): void {
    console[level](this.settings.SERVICE_LOG_REQUESTS === "json" ? JSON.stringify(line) : line);
  }

  requestObserver(): ((line: RequestLine) => void) | null {
    const dataset = this.settings[ANALYTICS_BINDING];
    // workerd alone traces nothing.
    const span = tracing.getActiveSpan();
    if (dataset === undefined && !span?.isTraced) return null;
    return (line) => {
      writeAnalytics(dataset, line);
      if (span?.isTraced) span.setAttributes(spanAttributes(line));
    };
  }
}
