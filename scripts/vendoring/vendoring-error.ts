/** A package or a font that is to be vendored is not available or is refused. The message is for the operator. */
export class VendoringError extends Error {
  override readonly name = "VendoringError";
}
