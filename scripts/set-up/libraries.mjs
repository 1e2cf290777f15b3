/** The shared libraries that the Node of the npm packages needs and minimal images lack. */

/** Node 26 is linked with it and Node 20 is not, so the set-up may run on a machine without it. */
const LIBRARY = "libatomic.so.1";

/** What to do when the library is missing, by the loader: only it knows its search path. */
export function libraryObstacle() {
  if (process.platform !== "linux") return undefined;
  try {
    process.dlopen({ exports: {} }, LIBRARY);
  } catch (error) {
    // `dlopen` always fails: with another error when the library has been found, since that is not a Node module.
    return missingLibraryAdvice(error instanceof Error ? error.message : String(error));
  }
  return undefined;
}

/** What to do about the loader's error of a missing library; undefined if it is another error. @param {string} text */
export function missingLibraryAdvice(text) {
  const [, library] = /(?:^|[\s:])(lib[\w+.-]+\.so[\w.]*): cannot open shared object file/.exec(text) ?? [];
  if (library === undefined) return undefined;
  const install = library === LIBRARY ? "; on Debian and Ubuntu: sudo apt-get install -y libatomic1" : "";
  return `${library} is missing: the service's Node needs it. Install it and run this again${install}`;
}
