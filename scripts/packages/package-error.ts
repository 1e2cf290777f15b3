/** A package cannot be had or is refused. The message is for the operator. */
export class PackageError extends Error {
  override readonly name = "PackageError";
}
