/**
 * The client of the service that the options name, and its failures as those of the command.
 */
import {
  ServiceClient,
  type ServiceClientOptions,
  ServiceUnreachableError,
  UnexpectedResponseError,
} from "../client/client.ts";
import { constraintsFile } from "./constraints-file.ts";
import { CommandError, EXIT_CODES } from "./exit-codes.ts";
import { locateService, type ServiceOptions } from "./service-location.ts";

export interface Service {
  readonly url: string;
  readonly client: ServiceClient;
}

/** @throws CommandError when no token is known, or the URL is invalid */
export async function openService(
  options: ServiceOptions,
  clientOptions: Pick<ServiceClientOptions, "retry"> = {},
): Promise<Service> {
  const { url, token } = await locateService(options);
  if (token === "") {
    throw new CommandError(`There is no token for ${url}: set SERVICE_API_TOKEN, or pass a file with --token-file.`);
  }
  return { url, client: new ServiceClient({ url, token, constraintsStore: constraintsFile(url), ...clientOptions }) };
}

/** A failure to reach the service as the command reports it; every other error as it is. */
export function asCommandError(error: unknown, url: string): unknown {
  if (error instanceof ServiceUnreachableError) {
    return new CommandError(`${url}: ${error.message} Is it running?`, EXIT_CODES.unreachable);
  }
  if (error instanceof UnexpectedResponseError) {
    return new CommandError(`${url}: ${error.message}`, EXIT_CODES.unreachable);
  }
  return error;
}
