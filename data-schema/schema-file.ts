/** The file of a schema. It is apart from the validator, which is loaded only where there is one. */

/** Beside the source. */
export const SCHEMA_FILE = "data.schema.json";

/** The version of JSON Schema. */
export const DIALECT = "https://json-schema.org/draft/2020-12/schema";
