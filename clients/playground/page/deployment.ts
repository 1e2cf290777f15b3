/**
 * Where the deployment is that serves the page: the folder of the page, because a proxy may serve it below a path. Files are
 * asked for by addresses relative to the page.
 */
export const DEPLOYMENT = new URL(".", location.href).href.replace(/\/$/, "");
