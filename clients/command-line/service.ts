/**
 * Opens a client of the service that the options name, and turns its failures into those of the command.
 */
import {
  ServiceClient,
  type ServiceClientOptions,
  type ServiceProblem,
  ServiceUnreachableError,
  UnexpectedResponseError,
} from "../typescript/client.ts";
import { constraintsFile } from "./constraints-file.ts";
import { CommandError, EXIT_CODES } from "./exit-codes.ts";
import { proxyOf, useProxies } from "./proxy.ts";
import { LOOPBACK_HOSTS, locateService, type ServiceOptions } from "./service-location.ts";
import { printableLine, say } from "./terminal.ts";
import { isPermanent, whyUnexpected, whyUnreachable } from "./unreachable.ts";
import { tellingFetch } from "./verbose.ts";
import { VERSION } from "./version.ts";

export interface Service {
  readonly url: string;
  readonly client: ServiceClient;
  /** What a user should know besides the problem itself: where a rejected token came from. */
  detailsOf(problem: ServiceProblem): readonly string[];
}

export interface CallFlags extends ServiceOptions {
  readonly verbose?: true | undefined;
}

/**
 * @param tell writes a line of `--verbose`
 * @throws CommandError when no token is known, or the URL, the token or a proxy is invalid
 */
export async function openService(
  options: CallFlags,
  clientOptions: Pick<ServiceClientOptions, "retry"> = {},
  tell: (line: string) => void = say,
): Promise<Service> {
  const { url, token, tokenOrigin } = await locateService(options);
  if (token === "") {
    const local = LOOPBACK_HOSTS.has(new URL(url).hostname)
      ? " `npm start` keeps its own in the file .local/api-token of its checkout."
      : "";
    throw new CommandError(
      `There is no token for ${url}: set SERVICE_API_TOKEN, or pass a file with --token-file.${local}`,
    );
  }
  // A header can hold nothing else. The message must not quote the token.
  if (!/^[!-~]+$/.test(token)) throw new CommandError(`The token of ${tokenOrigin} must be one line of visible ASCII.`);
  useProxies();
  if (options.verbose) {
    const proxy = proxyOf(url);
    const way = proxy === null ? "" : `, through the proxy ${proxy.url} (${proxy.variable})`;
    tell(
      `document-rendering ${VERSION} on Node ${process.versions.node}: ${url}${way}, with the token of ${tokenOrigin}`,
    );
  }
  const fetch = options.verbose ? tellingFetch(tell) : undefined;
  const client = new ServiceClient({ url, token, fetch, constraintsStore: constraintsFile(url), ...clientOptions });
  const detailsOf = ({ code }: ServiceProblem) => (code === "forbidden" ? [`The token came from ${tokenOrigin}.`] : []);
  return { url, client, detailsOf };
}

/** Turns a failure to reach the service into a `CommandError`. Other errors stay unchanged. */
export function asCommandError(error: unknown, url: string): unknown {
  if (error instanceof ServiceUnreachableError) {
    return new CommandError(whyUnreachable(error, url), EXIT_CODES.unreachable);
  }
  if (error instanceof UnexpectedResponseError) {
    return new CommandError(whyUnexpected(error, url), EXIT_CODES.unreachable);
  }
  return error;
}

/**
 * Whether a server in front of the service has rejected a request as too large: its limit is below the service's own.
 */
export function isTooLargeForGateway(error: unknown): boolean {
  return error instanceof UnexpectedResponseError && error.status === 413;
}

/** @param sizes of the request, one line each */
export function tooLargeForGateway(url: string, sizes: readonly string[]): CommandError {
  const sentence = `${url}: a server in front of the service answered 413: the request is too large for it. Send less, or ask the operator to raise its limit.`;
  return new CommandError(
    [sentence, ...sizes.map((line) => printableLine(`  ${line}`))].join("\n"),
    EXIT_CODES.request,
  );
}

export function failureInWords(reason: ServiceProblem | ServiceUnreachableError, url: string): string {
  return reason instanceof ServiceUnreachableError ? whyUnreachable(reason, url) : `${reason.code}: ${reason.detail}`;
}

/** Gives up on a service that another attempt would not reach either. */
export function throwIfPermanent(reason: ServiceProblem | ServiceUnreachableError): void {
  if (reason instanceof ServiceUnreachableError && isPermanent(reason)) throw reason;
}
