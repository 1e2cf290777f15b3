/**
 * The colours of an SVG as every program reads them. Typst 0.15.1 writes those that SVG 1.1 has, and others that only
 * newer programs know (by the source of typst-svg): `transparent`, `#rrggbbaa`, `oklab()`, `oklch()`, `hsl()`,
 * `hsla()` and `color(srgb-linear …)`. Programs without them draw black, or nothing at all (Batik 1.19).
 *
 * The colours of a space larger than sRGB are clipped, as Typst does in PNG.
 */

export interface SvgColor {
  /** `#rrggbb`. */
  readonly rgb: string;
  /** For `fill-opacity` and its like; null if the colour is opaque. */
  readonly opacity: string | null;
}

type Components = readonly [number, number, number];

const HEX_WITH_ALPHA = /^(#[0-9a-f]{6})([0-9a-f]{2})$/;
const FUNCTION = /^([a-z]+\((?:srgb-linear )?)([^()]*)\)$/;
/** In `hsl()`, Typst writes the lightness without its percent sign. Of a document that computes with `float.nan`, `NaN`. */
const NUMBER = /-?(?:\d[\d.]*(?:e-?\d+)?|inf|NaN)/g;

/** By what comes before the numbers: the components of sRGB, from 0 to 1 but for those that are out of its gamut. */
const TO_SRGB: Readonly<Record<string, (...components: Components) => Components>> = {
  "oklab(": (lightness, a, b) => fromOklab(lightness / 100, a, b),
  "oklch(": (lightness, chroma, degrees) => {
    const hue = (degrees / 180) * Math.PI;
    // As Typst does in PNG, and browsers: a negative chroma is not that of the opposite hue.
    const radius = Math.max(0, chroma);
    return fromOklab(lightness / 100, radius * Math.cos(hue), radius * Math.sin(hue));
  },
  "hsl(": fromHsl,
  "hsla(": fromHsl,
  "color(srgb-linear ": fromLinear,
};

/**
 * Eight digits, rounded up: whether a program rounds or truncates to 8 bits, it gets the alpha that Typst wrote. With
 * fewer than eight, gradients are a shade apart in Chromium 156.
 */
const OPACITY_DIGITS = 8;

/** Null for what needs no change: `#rrggbb`, `none`, the name of a gradient, and what Typst 0.15.1 does not write. */
export function svgColorOf(paint: string): SvgColor | null {
  if (paint === "transparent") return { rgb: "#000000", opacity: "0" };
  const [, rgb, alpha] = HEX_WITH_ALPHA.exec(paint) ?? [];
  if (rgb !== undefined) return { rgb, opacity: decimalOf(opacityOfByte(Number(`0x${alpha}`))) };
  const [, beginning = "", numbers = ""] = FUNCTION.exec(paint) ?? [];
  const [first, second, third, opacity = 1] = (numbers.match(NUMBER) ?? []).map(Number);
  const toSrgb = TO_SRGB[beginning];
  if (toSrgb === undefined || first === undefined || second === undefined || third === undefined) return null;
  return { rgb: hexOf(toSrgb(first, second, third)), opacity: opacity < 1 ? decimalOf(opacity) : null };
}

function opacityOfByte(alpha: number): number {
  const steps = 10 ** OPACITY_DIGITS;
  return Math.ceil((alpha * steps) / 255) / steps;
}

/** Without an exponent, which CSS 2 does not have. */
function decimalOf(opacity: number): string {
  return opacity.toFixed(OPACITY_DIGITS).replace(/\.?0+$/, "");
}

/** NaN becomes the highest value, as in the sRGB that Typst makes of `oklab()`. */
function hexOf(components: Components): string {
  const bytes = components.map((component) => (component < 1 ? Math.round(255 * Math.max(0, component)) : 255));
  return `#${Buffer.from(bytes).toString("hex")}`;
}

/** By the matrices of Björn Ottosson, who defined Oklab: https://bottosson.github.io/posts/oklab/ */
function fromOklab(lightness: number, a: number, b: number): Components {
  const long = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3;
  const medium = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3;
  const short = (lightness - 0.0894841775 * a - 1.291485548 * b) ** 3;
  return fromLinear(
    4.0767416621 * long - 3.3077115913 * medium + 0.2309699292 * short,
    -1.2684380046 * long + 2.6097574011 * medium - 0.3413193965 * short,
    -0.0041960863 * long - 0.7034186147 * medium + 1.707614701 * short,
  );
}

function fromLinear(...components: Components): Components {
  const [red, green, blue] = components;
  return [withGamma(red), withGamma(green), withGamma(blue)];
}

/** IEC 61966-2-1. */
function withGamma(linear: number): number {
  return linear <= 0.0031308 ? 12.92 * linear : 1.055 * linear ** (1 / 2.4) - 0.055;
}

/** CSS Color 4, section 7.1. */
function fromHsl(degrees: number, saturation: number, lightness: number): Components {
  const component = (offset: number) => {
    const step = (((offset + degrees / 30) % 12) + 12) % 12;
    const range = (saturation * Math.min(lightness, 100 - lightness)) / 100;
    return (lightness - range * Math.max(-1, Math.min(step - 3, 9 - step, 1))) / 100;
  };
  return [component(0), component(8), component(4)];
}
