/** The shared libraries of the system that the Node of the npm packages needs, and a minimal image lacks. */

/** Node 26 is linked with it, Node 20 is not: so the Node that runs the set-up says nothing about it. */
const LIBRARY = "libatomic.so.1";

/**
 * Asked of the loader itself, which alone knows where it looks: it says that the library is no module of Node's where it
 * has loaded it.
 *
 * @returns {string | undefined} what to do, where the library is missing
 */
export function libraryObstacle(platform = process.platform) {
  if (platform !== "linux") return undefined;
  try {
    process.dlopen({ exports: {} }, LIBRARY);
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    return missingLibraryAdvice(message);
  }
  return undefined;
}

/**
 * Reads the loader's complaint about a missing library.
 *
 * @param {string} text
 * @returns {string | undefined} what to do, undefined where it is no such complaint
 */
export function missingLibraryAdvice(text) {
  const [, library] = /(?:^|[\s:])(lib[\w+.-]+\.so[\w.]*): cannot open shared object file/.exec(text) ?? [];
  if (library === undefined) return undefined;
  const install = library === LIBRARY ? "; on Debian and Ubuntu: sudo apt-get install -y libatomic1" : "";
  return `${library} is missing: the service's Node needs it. Install it and run this again${install}`;
}
