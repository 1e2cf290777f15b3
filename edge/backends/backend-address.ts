/**
 * Parses `SERVICE_BACKEND_URLS`. An entry is `[name=]`, which logs and metrics show instead of the address, and one of
 * - `https://backend.example:8788`: a URL;
 * - `binding:NAME`: a binding of the Worker, for example a VPC service;
 * - `binding:NAME@https://backend.example`: a URL that is fetched through a binding, for example an mTLS certificate;
 * - `container:NAME/3`: three instances of a container, by the binding of its class;
 * - `srv:_http._tcp.backend`: all backends that DNS names in these SRV records, by `https` if it begins with `_https.`.
 */
import { CALLER_NAME_PATTERN } from "../../protocol/headers.ts";
import { listEntries, SettingError } from "../../rules/settings.ts";
import { isDnsName, type SrvRecord } from "./dns-names.ts";

const SETTING = "SERVICE_BACKEND_URLS";
/** Listed or named by DNS: a hundred, and those that replace them in an update. */
export const MAX_BACKENDS = 128;
const MAX_SERVICE_NAMES = 8;
/** The host of a request through a binding that has its own destination. */
const BOUND_URL = "http://backend";
const SERVICE_SCHEME = "srv:";
const SERVICE_WITH_TLS = "_https.";

export type BackendAddress = { readonly name: string } & (
  | { readonly kind: "url"; readonly url: URL; readonly isFromDns?: true }
  | { readonly kind: "binding"; readonly binding: string; readonly url: URL }
  | { readonly kind: "container"; readonly binding: string; readonly index: number }
);

/** A name whose SRV records say where backends are. */
export interface ServiceName {
  /** A name that ends in a dot is complete. */
  readonly service: string;
  /** Stands before the names of its backends; null for none. */
  readonly prefix: string | null;
}

export interface BackendSources {
  readonly addresses: readonly BackendAddress[];
  readonly services: readonly ServiceName[];
}

export interface AccessToken {
  readonly clientId: string;
  readonly clientSecret: string;
}

type Unnamed<Address> = Address extends BackendAddress ? Omit<Address, "name"> : never;

/** In the order of the setting. Unnamed ones are `backend-1` and so on by their place. @throws SettingError */
export function parseBackendSources(text: string | undefined): BackendSources {
  const addresses: BackendAddress[] = [];
  const services: ServiceName[] = [];
  for (const entry of listEntries(text)) {
    const equals = entry.indexOf("=");
    const name = equals > 0 && CALLER_NAME_PATTERN.test(entry.slice(0, equals)) ? entry.slice(0, equals) : null;
    const place = name === null ? entry : entry.slice(equals + 1);
    if (place.startsWith(SERVICE_SCHEME)) {
      services.push({ service: parseServiceName(place), prefix: name });
      continue;
    }
    for (const [index, address] of parseEntry(place).entries()) {
      const suffix = address.kind === "container" ? `-${index + 1}` : "";
      addresses.push({ name: name === null ? `backend-${addresses.length + 1}` : `${name}${suffix}`, ...address });
    }
  }
  if (addresses.length > MAX_BACKENDS) throw new SettingError(`${SETTING} may name at most ${MAX_BACKENDS} backends.`);
  if (new Set(addresses.map(({ name }) => name)).size < addresses.length) {
    throw new SettingError(`${SETTING} gives two backends the same name.`);
  }
  if (services.length > MAX_SERVICE_NAMES) {
    throw new SettingError(`${SETTING} may name at most ${MAX_SERVICE_NAMES} services by ${SERVICE_SCHEME}.`);
  }
  return { addresses, services };
}

/** The Access token goes over TLS only, and only where the operator says: whoever writes the zone could name any host. */
export function accessTokenFor(address: BackendAddress, settings: { readonly accessToken: AccessToken | null }) {
  const isTrusted = address.kind === "url" && address.url.protocol === "https:" && address.isFromDns !== true;
  return isTrusted ? settings.accessToken : null;
}

function parseServiceName(text: string): string {
  const service = text.slice(SERVICE_SCHEME.length);
  if (isDnsName(service.replace(/\.$/, ""))) return service;
  throw new SettingError(
    `${SETTING} must hold a name of SRV records after ${SERVICE_SCHEME}, as in ${SERVICE_SCHEME}_http._tcp.backend.`,
  );
}

export function urlOfRecord({ service }: ServiceName, { host, port, address }: SrvRecord): URL {
  // A certificate is for a name. Without TLS the address saves a second lookup, and works while DNS does not.
  if (service.toLowerCase().startsWith(SERVICE_WITH_TLS)) return new URL(`https://${host}:${port}`);
  return new URL(`http://${address ?? host}:${port}`);
}

function parseEntry(text: string): Unnamed<BackendAddress>[] {
  const bound = /^binding:([A-Za-z_][A-Za-z0-9_]*)(?:@(.+))?$/.exec(text);
  if (bound?.[1] !== undefined) {
    return [{ kind: "binding", binding: bound[1], url: parseUrl(bound[2] ?? BOUND_URL) }];
  }
  const container = /^container:([A-Za-z_][A-Za-z0-9_]*)\/([1-9][0-9]?)$/.exec(text);
  const [, binding, count] = container ?? [];
  if (binding !== undefined) {
    return Array.from({ length: Number(count) }, (_, index) => ({ kind: "container", binding, index: index + 1 }));
  }
  return [{ kind: "url", url: parseUrl(text) }];
}

function parseUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : null;
  const isHttp = url?.protocol === "http:" || url?.protocol === "https:";
  // A backend is a whole origin: no user name, path, query or fragment.
  if (url !== null && isHttp && url.href === `${url.origin}/`) return url;
  throw new SettingError(
    `${SETTING} must hold http or https URLs without a path, binding:NAME, binding:NAME@URL, container:NAME/COUNT or srv:NAME, separated by spaces; each may have a name in front, as in paris=https://backend.example.`,
  );
}
