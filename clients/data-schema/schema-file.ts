/** The name of the schema file. It is kept apart from the validator, which is loaded only if there is a schema. */

export const SCHEMA_FILE = "data.schema.json";

export const DIALECT = "https://json-schema.org/draft/2020-12/schema";
