/** An image of one pixel of each kind that Typst reads, and of the kinds of colour profiles in them. */
import { deflateSync } from "node:zlib";
import { PNG_SIGNATURE, pngChunk } from "../../support/readers/png-reader.ts";

const base64 = (text: string) => Buffer.from(text, "base64");

/** A profile that is nothing but its header (ICC.1:2010, 7.2), which is all that readers of PDF look at. */
function profile(deviceClass: string, colourSpace: string, version = 2): Buffer {
  const bytes = Buffer.alloc(132);
  bytes.writeUInt32BE(bytes.length);
  bytes[8] = version;
  bytes.write(`${deviceClass}${colourSpace}XYZ `, 12, "latin1");
  bytes.write("acsp", 36, "latin1");
  return bytes;
}

/** By their numbers in PNG. */
const PNG_COLOURS = { grey: [0, 1], rgb: [2, 3], palette: [3, 1], greyAlpha: [4, 2], rgba: [6, 4] } as const;

interface PngOptions {
  readonly bits?: 8 | 16;
  readonly interlaced?: boolean;
  /** A chunk before the palette. */
  readonly chunk?: Buffer;
  /** Whether the only colour of the palette is transparent. */
  readonly transparent?: boolean;
  /** Of the alpha channel, if there is one. */
  readonly opacity?: number;
}

function png(colour: keyof typeof PNG_COLOURS, options: PngOptions = {}): Buffer {
  const { bits = 8, interlaced = false, chunk, transparent = false, opacity = 255 } = options;
  const [colourType, channels] = PNG_COLOURS[colour];
  const header = Buffer.from([0, 0, 0, 1, 0, 0, 0, 1, bits, colourType, 0, 0, interlaced ? 1 : 0]);
  const row = Buffer.alloc(1 + (channels * bits) / 8);
  if (colour === "rgba" || colour === "greyAlpha") row.fill(opacity, row.length - bits / 8);
  const palette = colour === "palette" ? [pngChunk("PLTE", Buffer.from([200, 30, 60]))] : [];
  return Buffer.concat([
    PNG_SIGNATURE,
    pngChunk("IHDR", header),
    ...(chunk === undefined ? [] : [chunk]),
    ...palette,
    ...(transparent ? [pngChunk("tRNS", Buffer.from([0]))] : []),
    pngChunk("IDAT", deflateSync(row)),
    pngChunk("IEND", Buffer.alloc(0)),
  ]);
}

function iccChunk(compressed: Uint8Array): Buffer {
  return pngChunk("iCCP", Buffer.concat([Buffer.from("p\0\0", "latin1"), compressed]));
}

/** A JPEG with a profile in a segment APP2, after the start of the image. */
function jpegWithProfile(jpeg: Buffer, icc: Buffer): Buffer {
  const head = Buffer.from("\xff\xe2\0\0ICC_PROFILE\0\x01\x01", "latin1");
  head.writeUInt16BE(head.length - 2 + icc.length, 2);
  return Buffer.concat([jpeg.subarray(0, 2), head, icc, jpeg.subarray(2)]);
}

const tables = (count: number) => "/".repeat(count);
const JPEG = {
  rgb: base64(
    `/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDAP${tables(86)}2wBDAf${tables(86)}wAARCAABAAEDAREAAhEBAxEB/8QAFAABAAAAAAAAAAAAAAAAAAAAAf/EABQQAQAAAAAAAAAAAAAAAAAAAAD/xAAVAQEBAAAAAAAAAAAAAAAAAAAAAv/EABQRAQAAAAAAAAAAAAAAAAAAAAD/2gAMAwEAAhEDEQA/AAW//9k=`,
  ),
  grey: base64(
    `/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDAP${tables(86)}wAALCAABAAEBAREA/8QAFAABAAAAAAAAAAAAAAAAAAAAAf/EABQQAQAAAAAAAAAAAAAAAAAAAAD/2gAIAQEAAD8AH//Z`,
  ),
  cmyk: base64(
    `/9j/7gAOQWRvYmUAZAAAAAAA/9sAQwD${tables(86)}8AAFAgAAQABBEMRAE0RAFkRAEsRAP/EABYAAQEBAAAAAAAAAAAAAAAAAAMBAv/EABQQAQAAAAAAAAAAAAAAAAAAAAD/2gAOBEMATQBZAEsAAD8ARWyP/9k=`,
  ),
} as const;

function svg(content: string): Buffer {
  return Buffer.from(`<svg xmlns="http://www.w3.org/2000/svg" width="40" height="40">${content}</svg>`);
}

function svgAround(image: Buffer, mediaType: string): Buffer {
  return svg(`<image width="20" height="20" href="data:${mediaType};base64,${image.toString("base64")}"/>`);
}

const GRADIENT =
  '<linearGradient id="g" spreadMethod="repeat" x2="0.2"><stop stop-color="red"/><stop offset="1"/></linearGradient>';

/** File name -> bytes. */
export const IMAGES: Readonly<Record<string, Buffer>> = {
  "grey.png": png("grey"),
  "rgb.png": png("rgb"),
  "palette.png": png("palette"),
  "palette-transparent.png": png("palette", { transparent: true }),
  "grey-alpha.png": png("greyAlpha", { opacity: 90 }),
  "rgba-opaque.png": png("rgba"),
  "rgba.png": png("rgba", { opacity: 90 }),
  "16-bit-grey.png": png("grey", { bits: 16 }),
  "16-bit-rgba.png": png("rgba", { bits: 16 }),
  "interlaced.png": png("rgb", { interlaced: true }),
  "gamma.png": png("rgb", { chunk: pngChunk("gAMA", Buffer.from([0, 1, 0x86, 0xa0])) }),
  "profile-rgb.png": png("rgb", { chunk: iccChunk(deflateSync(profile("mntr", "RGB "))) }),
  "profile-grey.png": png("grey", { chunk: iccChunk(deflateSync(profile("scnr", "GRAY", 4))) }),
  "profile-of-another-colour-space.png": png("rgb", { chunk: iccChunk(deflateSync(profile("prtr", "CMYK"))) }),
  "profile-too-new.png": png("rgb", { chunk: iccChunk(deflateSync(profile("mntr", "RGB ", 5))) }),
  "profile-broken.png": png("rgb", { chunk: iccChunk(Buffer.from("no profile")) }),
  "rgb.jpg": JPEG.rgb,
  "grey.jpg": JPEG.grey,
  "cmyk.jpg": JPEG.cmyk,
  "profile-rgb.jpg": jpegWithProfile(JPEG.rgb, profile("mntr", "RGB ")),
  "profile-cmyk.jpg": jpegWithProfile(JPEG.cmyk, profile("prtr", "CMYK")),
  "profile-of-another-colour-space.jpg": jpegWithProfile(JPEG.grey, profile("prtr", "CMYK")),
  "progressive.jpg": base64(
    "/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDAP//////////////////////////////////////////////////////////////////////////////////////wgALCAABAAEBAREA/8QAFAABAAAAAAAAAAAAAAAAAAAAAf/aAAgBAQAAAAE//8QAFBABAAAAAAAAAAAAAAAAAAAAAP/aAAgBAQABBQJ//8QAFBABAAAAAAAAAAAAAAAAAAAAAP/aAAgBAQAGPwJ//8QAFBABAAAAAAAAAAAAAAAAAAAAAP/aAAgBAQABPyF//9oACAEBAAAAEP8A/8QAFBABAAAAAAAAAAAAAAAAAAAAAP/aAAgBAQABPxB//9k=",
  ),
  "opaque.gif": base64("R0lGODdhAQABAIAAAAAAAAAAACwAAAAAAQABAAAIBAABBAQAOw=="),
  "transparent.gif": base64("R0lGODlhAQABAIAAAAAAAAAAACH5BAEAAAAALAAAAAABAAEAAAgEAAEEBAA7"),
  "lossy.webp": base64("UklGRi4AAABXRUJQVlA4ICIAAABwAQCdASoBAAEADMDOJaACdAFAAAD+144MPUrfroogAAAA"),
  "lossless.webp": base64("UklGRh4AAABXRUJQVlA4TBEAAAAvAAAAAAdQjyKXp/+BiOh/AAA="),
  "alpha.webp": base64(
    "UklGRkoAAABXRUJQVlA4WAoAAAAQAAAAAAAAAAAAQUxQSAIAAAAAWlZQOCAiAAAAcAEAnQEqAQABAAzAziWgAnQBQAAA/teODD1K366KIAAAAA==",
  ),
  "shapes.svg": svg('<rect width="9" height="9" fill="red" stroke="blue"/>'),
  "text.svg": svg('<text x="2" y="20" font-family="Libertinus Serif">Text</text>'),
  "gradient.svg": svg(`${GRADIENT}<rect width="9" height="9" fill="url(#g)"/>`),
  "opacity.svg": svg('<g opacity="0.5"><rect width="9" height="9"/></g>'),
  "filter.svg": svg(
    '<filter id="f"><feGaussianBlur stdDeviation="2"/></filter><rect width="9" height="9" filter="url(#f)"/>',
  ),
  "mask.svg": svg(
    '<mask id="m"><rect width="5" height="5" fill="white"/></mask><rect width="9" height="9" mask="url(#m)"/>',
  ),
  "pattern.svg": svg(
    '<pattern id="p" width="0.1" height="0.1"><circle r="1"/></pattern><rect width="9" height="9" fill="url(#p)"/>',
  ),
  "clip-path.svg": svg(
    '<clipPath id="c"><text x="2" y="20">Text</text></clipPath><rect width="29" height="29" clip-path="url(#c)"/>',
  ),
  "png-in.svg": svgAround(png("rgb"), "image/png"),
  "rgba-png-in.svg": svgAround(png("rgba", { opacity: 90 }), "image/png"),
  "cmyk-jpeg-in.svg": svgAround(JPEG.cmyk, "image/jpeg"),
};
