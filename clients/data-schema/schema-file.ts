/** The name of the schema file. It is kept apart from the validator, which is loaded only if there is a schema. */

/** The file is beside the source. */
export const SCHEMA_FILE = "data.schema.json";

/** The version of JSON Schema. */
export const DIALECT = "https://json-schema.org/draft/2020-12/schema";
