/** Makes a photograph small enough for a request. The browser turns it as its EXIF says; the copy has none. */

const PHOTO_NAME = /\.(?:jpe?g|png|webp)$/i;
/** More is sharper than print at the width of a page, and a canvas of it may be refused. */
const MAX_EDGE_PIXELS = 6000;
const MIN_EDGE_PIXELS = 200;
const SHRINK = 0.8;
const QUALITY = 0.85;

export function isPhoto(path: string): boolean {
  return PHOTO_NAME.test(path);
}

/** Null if the browser cannot read it, or cannot write its kind. */
export async function scaleDownPhoto(
  file: File,
  path: string,
  maxBytes: number,
): Promise<Uint8Array<ArrayBuffer> | null> {
  const bitmap = await createImageBitmap(file).catch(() => null);
  if (bitmap === null) return null;
  const longest = Math.max(bitmap.width, bitmap.height);
  for (let edge = Math.min(longest, MAX_EDGE_PIXELS); edge >= MIN_EDGE_PIXELS; edge *= SHRINK) {
    const blob = await drawScaled(bitmap, edge / longest, typeOf(path)).catch(() => null);
    if (blob === null || blob.type !== typeOf(path)) break;
    if (blob.size <= maxBytes) return blob.bytes();
  }
  return null;
}

function drawScaled(bitmap: ImageBitmap, scale: number, type: string): Promise<Blob> {
  const canvas = new OffscreenCanvas(Math.round(bitmap.width * scale) || 1, Math.round(bitmap.height * scale) || 1);
  canvas.getContext("2d")?.drawImage(bitmap, 0, 0, canvas.width, canvas.height);
  return canvas.convertToBlob({ type, quality: QUALITY });
}

function typeOf(path: string): string {
  const extension = path.slice(path.lastIndexOf(".") + 1).toLowerCase();
  return `image/${extension === "jpg" ? "jpeg" : extension}`;
}
