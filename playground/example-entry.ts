/** An entry of `/playground/examples.json`, which is an array of them. */
export interface ExampleEntry {
  readonly name: string;
  readonly title: string;
  /** The body of the request. */
  readonly body: string;
}
