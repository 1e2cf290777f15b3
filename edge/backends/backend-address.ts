/**
 * Parses `SERVICE_BACKEND_URLS` into the addresses of the backends.
 *
 * An entry is `[name=]` and one of
 * - `https://backend.example:8788`: a URL;
 * - `binding:NAME`: a binding of the Worker, for example a VPC service;
 * - `binding:NAME@https://backend.example`: a URL that is fetched through a binding, for example an mTLS certificate;
 * - `container:NAME/3`: three instances of a container, by the binding of its class.
 *
 * Logs and metrics show the name and never the address.
 */
import { CALLER_NAME_PATTERN } from "../../protocol/headers.ts";
import { listEntries, SettingError } from "../../rules/settings.ts";

const SETTING = "SERVICE_BACKEND_URLS";
const MAX_BACKENDS = 64;
/** The host of a request through a binding that has its own destination. */
const BOUND_URL = "http://backend";

export type BackendAddress = { readonly name: string } & (
  | { readonly kind: "url"; readonly url: URL }
  | { readonly kind: "binding"; readonly binding: string; readonly url: URL }
  | { readonly kind: "container"; readonly binding: string; readonly index: number }
);

/** A service token of Cloudflare Access, for backends that it protects. */
export interface AccessToken {
  readonly clientId: string;
  readonly clientSecret: string;
}

type Unnamed<Address> = Address extends BackendAddress ? Omit<Address, "name"> : never;

/**
 * The backends that the setting names, in its order. Without a name, a backend is `backend-1`, `backend-2` and so on by its
 * place; the instances of a named container are `name-1`, `name-2` and so on.
 *
 * @throws SettingError when an entry has none of the forms above, or two backends have one name.
 */
export function parseBackendAddresses(text: string | undefined): readonly BackendAddress[] {
  const addresses: BackendAddress[] = [];
  for (const entry of listEntries(text)) {
    const equals = entry.indexOf("=");
    const name = equals > 0 && CALLER_NAME_PATTERN.test(entry.slice(0, equals)) ? entry.slice(0, equals) : null;
    const places = parseEntry(name === null ? entry : entry.slice(equals + 1));
    for (const [index, place] of places.entries()) {
      const suffix = place.kind === "container" ? `-${index + 1}` : "";
      addresses.push({ name: name === null ? `backend-${addresses.length + 1}` : `${name}${suffix}`, ...place });
    }
  }
  if (addresses.length > MAX_BACKENDS) throw new SettingError(`${SETTING} may name at most ${MAX_BACKENDS} backends.`);
  if (new Set(addresses.map(({ name }) => name)).size < addresses.length) {
    throw new SettingError(`${SETTING} gives two backends the same name.`);
  }
  return addresses;
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
  // The whole URL is its backend: no user name, path, query or fragment.
  if (url !== null && isHttp && url.href === `${url.origin}/`) return url;
  throw new SettingError(
    `${SETTING} must hold http or https URLs without a path, binding:NAME, binding:NAME@URL or container:NAME/COUNT, separated by spaces; each may have a name in front, as in paris=https://backend.example.`,
  );
}
