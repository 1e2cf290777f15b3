/**
 * The addresses of containers: how the edge reaches one of several instances.
 */

/**
 * The backend in container number `index` of a Durable Object namespace. An instance keeps its name for ever, so the same
 * `index` is the same container for every isolate of the edge.
 *
 * @param name the name of the namespace's binding
 * @param index from 1 to the number of instances
 * @param locationHint where the Durable Object is created at its first request; it stays there. Where its container
 *   runs is decided by `constraints.regions` in wrangler.toml.
 */
export function containerInstance(
  namespace: DurableObjectNamespace,
  name: string,
  index: number,
  locationHint?: DurableObjectLocationHint,
): Pick<Fetcher, "fetch"> {
  return namespace.getByName(`${name}-${index}`, locationHint === undefined ? {} : { locationHint });
}
