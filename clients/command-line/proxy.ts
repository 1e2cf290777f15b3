/**
 * The proxies of the environment. Node's own support takes those that we pass on (nodejs.org/api/http.html#built-in-proxy-support);
 * whether a service needs one is decided here, because Node reads fewer forms of `NO_PROXY` than other programs do.
 */
import http from "node:http";
import net from "node:net";
import { CommandError } from "./exit-codes.ts";

export interface ProxyServer {
  /** Without user name and password. */
  readonly url: string;
  readonly variable: string;
  readonly isUsed: boolean;
}

/** Has `fetch` reach the service through its proxy, until what is returned is called. @throws CommandError when the variable holds no URL */
export function useProxy(address: string): () => void {
  const { variable, value } = proxyVariable(new URL(address));
  if (variable === null || !hasProxySupport(http)) return () => {};
  try {
    return http.setGlobalProxyFromEnv({ [variable]: value });
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "ERR_PROXY_INVALID_CONFIG")) throw error;
    throw new CommandError("HTTP_PROXY or HTTPS_PROXY is not the URL of a proxy, such as http://proxy.example:3128.");
  }
}

export function proxyOf(address: string): ProxyServer | null {
  const { variable, value } = proxyVariable(new URL(address));
  if (variable === null || !URL.canParse(value)) return null;
  const isUsed = hasProxySupport(http) || process.env.NODE_USE_ENV_PROXY === "1";
  return { url: new URL(value).origin, variable, isUsed };
}

function proxyVariable(url: URL): { readonly variable: string | null; readonly value: string } {
  const names = url.protocol === "https:" ? ["https_proxy", "HTTPS_PROXY"] : ["http_proxy", "HTTP_PROXY"];
  const variable = names.find((name) => process.env[name]);
  if (variable === undefined || isExcepted(url)) return { variable: null, value: "" };
  return { variable, value: process.env[variable] ?? "" };
}

/** `NO_PROXY`: `*`, hosts with or without port, domains, and for addresses also ranges, such as 10.0.0.0/8 or 10.0.0.1-10.0.0.9. */
function isExcepted({ hostname, port, protocol }: URL): boolean {
  const list = (process.env.no_proxy || process.env.NO_PROXY || "").toLowerCase();
  const host = hostname.replace(/^\[|\]$/g, "");
  const hostPort = `${hostname}:${port || (protocol === "https:" ? 443 : 80)}`;
  return list.split(/[\s,]+/).some((entry) => {
    if (entry === "*" || entry === host || entry === hostname || entry === hostPort) return true;
    if (net.isIP(host) !== 0) return isInRange(host, entry);
    const domain = entry.replace(/^\*?\./, "");
    return domain !== "" && hostname.endsWith(`.${domain}`);
  });
}

function isInRange(address: string, range: string): boolean {
  const kind = net.isIPv6(address) ? "ipv6" : "ipv4";
  const [first = "", prefix, last] = range.split(/(?:\/(\d{1,3})|-(.+))$/);
  if (net.isIPv6(first) !== (kind === "ipv6") || net.isIP(first) === 0) return false;
  const addresses = new net.BlockList();
  try {
    if (prefix !== undefined) addresses.addSubnet(first, Number(prefix), kind);
    else if (last !== undefined) addresses.addRange(first, last, kind);
  } catch {
    // A range of the environment that is none excepts nothing.
    return false;
  }
  return addresses.check(address, kind);
}

interface ProxySupport {
  setGlobalProxyFromEnv(proxyEnv: Readonly<Record<string, string>>): () => void;
}

/** Node has it since 24.14 and 25.4. With an older one, the user sets `NODE_USE_ENV_PROXY` instead. */
function hasProxySupport(module: object): module is ProxySupport {
  return "setGlobalProxyFromEnv" in module;
}
