/** The content of an example's file. The title is in the bundle of the page. */
export interface ExampleEntry {
  /** The body of the request. */
  readonly body: string;
  /** The text of its `data.schema.json`. */
  readonly schema: string;
}
