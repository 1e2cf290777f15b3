/** The version of the service, for what cannot read `package.json`: `npm run generate` writes it. */
export const SERVICE_VERSION = "2.0.0";
