/** A JPEG of one grey pixel: quantisation, frame, two Huffman tables of one code each, and scan. */
export const GREY_JPEG = Buffer.from(
  `ffd8ffdb004300${"01".repeat(64)}ffc0000b080001000101011100${["00", "10"]
    .map((table) => `ffc40014${table}01${"00".repeat(16)}`)
    .join("")}ffda0008010100003f003fffd9`,
  "hex",
);
