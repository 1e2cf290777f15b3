/** The version of the service, for what cannot read `package.json`: `npm run generate` writes it. */
export const SERVICE_VERSION = "1.3.0";
