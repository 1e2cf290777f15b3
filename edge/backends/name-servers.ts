/** Which name servers are asked for a name, by which full names: as the machine's programs do (`resolv.conf(5)`). */
import { listEntries, SettingError } from "../../rules/settings.ts";
import { isDnsName } from "./dns-message.ts";

const SETTING = "SERVICE_DNS_SERVERS";
/** As in the C library. */
const MAX_SERVERS = 3;
const MAX_SEARCH_DOMAINS = 6;
const DNS_PORT = 53;

export interface ResolverSettings {
  readonly servers: readonly string[];
  readonly search: readonly string[];
  readonly dots: number;
}

/** @throws SettingError when an entry is no address or host name, or there are more than are ever asked. */
export function parseNameServers(text: string | undefined): readonly string[] {
  const servers = listEntries(text).map((entry) => {
    const server = parseNameServer(entry);
    if (server !== null) return server;
    throw new SettingError(
      `${SETTING} must hold addresses of name servers, each with a port if it is not ${DNS_PORT}, as in 10.96.0.10 or [fd00::10]:53; "${entry}" is not one.`,
    );
  });
  if (servers.length > MAX_SERVERS) throw new SettingError(`${SETTING} may name at most ${MAX_SERVERS} servers.`);
  return servers;
}

/** The settings in the text of a `resolv.conf`. What is not understood is skipped, as programs do. */
export function parseResolvConf(text: string): ResolverSettings {
  const servers: string[] = [];
  let search: string[] = [];
  let dots = 1;
  for (const line of text.split("\n")) {
    const [keyword, ...values] = line
      .replace(/[#;].*/, "")
      .trim()
      .split(/\s+/);
    if (keyword === "nameserver") {
      const [address = ""] = values;
      // Without a port, so that the colons of an IPv6 address are its own.
      const server = parseNameServer(address.includes(":") ? `[${address}]` : address);
      if (server !== null) servers.push(server);
    }
    // The last of them counts.
    if (keyword === "search" || keyword === "domain") search = values.map(removeLastDot).filter(isDnsName);
    if (keyword === "options") {
      const value = values.findLast((option) => /^ndots:[0-9]{1,2}$/.test(option));
      if (value !== undefined) dots = Number(value.slice("ndots:".length));
    }
  }
  return { servers: servers.slice(0, MAX_SERVERS), search: search.slice(0, MAX_SEARCH_DOMAINS), dots };
}

/** In the order in which they are asked for. A name that ends in a dot is full. */
export function fullNamesOf(name: string, { search, dots }: Pick<ResolverSettings, "search" | "dots">): string[] {
  if (name.endsWith(".")) return [removeLastDot(name)];
  const inDomains = search.map((domain) => `${name}.${domain}`);
  const names = name.split(".").length - 1 >= dots ? [name, ...inDomains] : [...inDomains, name];
  return names.filter(isDnsName);
}

function parseNameServer(text: string): string | null {
  const [, host, port = String(DNS_PORT)] =
    /^(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(?::([1-9][0-9]{0,4}))?$/.exec(text) ?? [];
  if (host === undefined) return null;
  return URL.canParse(`http://${host}:${port}`) ? `${host}:${port}` : null;
}

function removeLastDot(name: string): string {
  return name.endsWith(".") ? name.slice(0, -1) : name;
}
