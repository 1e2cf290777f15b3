/** What is to be vendored cannot be had or is refused. The message is for the operator. */
export class VendoringError extends Error {
  override readonly name = "VendoringError";
}
