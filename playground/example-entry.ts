/** An example: its title is in the bundle of the page, all of it in `/playground/examples.json`, which is an array of them. */
export interface ExampleEntry {
  readonly name: string;
  readonly title: string;
  /** The body of the request. */
  readonly body: string;
  /** The text of its `data.schema.json`. */
  readonly schema: string;
}
