/** Cloudflare's Workers, and workerd without Cloudflare. */
import { tracing } from "cloudflare:workers";
import { SettingError } from "../../../rules/settings.ts";
import type { AccessToken, BackendAddress } from "../../backends/backend-address.ts";
import type { SrvAnswer } from "../../backends/dns-message.ts";
import { parseResolvConf, type ResolverSettings } from "../../backends/name-servers.ts";
import type { RequestLine } from "../../log/request-line.ts";
import type { Answer, ClientRequest, LogLevel, Platform } from "../platform.ts";
import { ANALYTICS_BINDING, spanAttributes, writeAnalytics } from "./analytics.ts";
import { openBackend } from "./backend.ts";
import { StreamedAnswer, WorkerRequest } from "./exchange.ts";
import { LARGEST_BODY_BYTES_IN_ISOLATE, MAX_BODY_BYTES_IN_ISOLATE, MAX_GATHERED_BYTES } from "./isolate-memory.ts";
import { lookUpService } from "./look-up-service.ts";

interface EdgeEnvironment {
  readonly ASSETS?: Fetcher;
  readonly CALLER_RATE_LIMITER?: RateLimit;
  /** The files of `/etc`, where the edge runs in workerd alone. */
  readonly MACHINE_SETTINGS?: Fetcher;
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

  openLookup(nameServers: readonly string[]): (service: string) => Promise<SrvAnswer> {
    const resolver = openResolver(nameServers, this.settings);
    return (service) => lookUpService(service, resolver);
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

  writeLog(level: LogLevel, line: object | string): void {
    console[level](line);
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

/** The name servers of the settings, or the machine's. @throws SettingError when none are set. */
function openResolver(
  nameServers: readonly string[],
  { MACHINE_SETTINGS }: EdgeEnvironment,
): () => Promise<ResolverSettings> {
  if (MACHINE_SETTINGS === undefined) {
    if (nameServers.length === 0) {
      throw new SettingError("SERVICE_DNS_SERVERS must name a name server for the srv: names of SERVICE_BACKEND_URLS.");
    }
    return async () => ({ servers: nameServers, search: [], dots: 0 });
  }
  return async () => {
    // Each time: it is a short file, and a machine that comes into another network rewrites it.
    const file = await MACHINE_SETTINGS.fetch("http://machine/resolv.conf");
    const machine = parseResolvConf(file.ok ? await file.text() : "");
    return nameServers.length > 0 ? { ...machine, servers: nameServers } : machine;
  };
}
