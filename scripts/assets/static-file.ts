/** Writes what is built among the static files, with its compressed forms for where no Cloudflare compresses. */
import { mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { brotliCompress, constants, gzip } from "node:zlib";

const STATIC = new URL("../../edge/static/", import.meta.url);

/** The extension of each compressed form. `edge/static/.assetsignore` keeps them from Cloudflare. */
export const COMPRESSED_FORMS = [
  // brotliCompress has its best quality by default, gzip has not.
  { encoding: "br", extension: ".br", compress: (bytes: Uint8Array) => promisify(brotliCompress)(bytes) },
  {
    encoding: "gzip",
    extension: ".gz",
    compress: (bytes: Uint8Array) => promisify(gzip)(bytes, { level: constants.Z_BEST_COMPRESSION }),
  },
] as const;

const COMPRESSIBLE = /\.(?:css|html|js|json|svg|txt)$/;

/** Puts a file where it is served, unless it is there already. Its path is below `edge/static/`. */
export async function provideStaticFile(path: string, content: Uint8Array): Promise<void> {
  const target = fileURLToPath(new URL(path, STATIC));
  const forms = COMPRESSIBLE.test(path) ? COMPRESSED_FORMS : [];
  const [present, ...presentForms] = await Promise.all(
    ["", ...forms.map(({ extension }) => extension)].map((extension) =>
      readFile(target + extension).catch(() => undefined),
    ),
  );
  if (present?.equals(content) && presentForms.every((form) => form !== undefined)) return;
  await mkdir(dirname(target), { recursive: true });
  // The file comes last, so that what is beside it is never older.
  for (const { extension, compress } of forms) await replaceFile(target + extension, await compress(content));
  await replaceFile(target, content);
}

/** The compressed forms of a static file; none for a kind that does not become smaller. @param file where it lies */
export async function compressedForms(path: string, file: string) {
  const forms = COMPRESSIBLE.test(path) ? COMPRESSED_FORMS : [];
  return Promise.all(
    forms.map(async ({ encoding, extension, compress }) => {
      const present = await readFile(file + extension).catch(() => null);
      return { encoding, extension, content: present ?? (await compress(await readFile(file))) };
    }),
  );
}

async function replaceFile(target: string, content: Uint8Array): Promise<void> {
  // Another process may read it, or write the same, at this moment.
  const temporary = `${target}.${process.pid}.tmp`;
  try {
    await writeFile(temporary, content);
    await rename(temporary, target);
  } finally {
    await rm(temporary, { force: true });
  }
}
