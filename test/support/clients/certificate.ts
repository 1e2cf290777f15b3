/** Makes self-signed certificates (RFC 5280) with any dates and names, for tests of clients that must check both. */
import { generateKeyPairSync, randomBytes, sign } from "node:crypto";

export type TestCertificate = ReturnType<typeof makeCertificate>;

const DAY_MILLISECONDS = 24 * 60 * 60 * 1000;
const INTEGER = 0x02;
const ECDSA_WITH_SHA256 = "2a8648ce3d040302";
const COMMON_NAME = "550403";
const SUBJECT_ALT_NAME = "551d11";

/**
 * @param dates days from now
 * @param names of hosts, the first of which is the subject
 * @param issuer of an authority that nobody knows; by default the certificate is self-signed
 */
export function makeCertificate(
  { fromDays, toDays }: { readonly fromDays: number; readonly toDays: number },
  names: readonly string[],
  issuer?: string,
) {
  const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const algorithm = sequence(oid(ECDSA_WITH_SHA256));
  const subject = names[0] ?? "test";
  const altNames = sequence(...names.map((host) => der(0x82, Buffer.from(host))));
  const signed = sequence(
    der(0xa0, der(INTEGER, Buffer.from([2]))),
    // Positive, and with no zero in front.
    der(INTEGER, Buffer.from([0x41]), randomBytes(8)),
    algorithm,
    distinguishedName(issuer ?? subject),
    sequence(time(fromDays), time(toDays)),
    distinguishedName(subject),
    publicKey.export({ type: "spki", format: "der" }),
    der(0xa3, sequence(sequence(oid(SUBJECT_ALT_NAME), der(0x04, altNames)))),
  );
  const signature = sign("sha256", signed, privateKey);
  const bytes = sequence(signed, algorithm, der(0x03, Buffer.from([0]), signature));
  const lines = bytes.toString("base64").match(/.{1,64}/g) ?? [];
  return {
    key: String(privateKey.export({ type: "pkcs8", format: "pem" })),
    cert: ["-----BEGIN CERTIFICATE-----", ...lines, "-----END CERTIFICATE-----", ""].join("\n"),
  };
}

function distinguishedName(commonName: string): Buffer {
  return sequence(der(0x31, sequence(oid(COMMON_NAME), der(0x0c, Buffer.from(commonName)))));
}

function der(tag: number, ...contents: readonly Buffer[]): Buffer {
  const content = Buffer.concat(contents);
  const { length } = content;
  const head = length < 0x80 ? [tag, length] : [tag, 0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from(head), content]);
}

function sequence(...contents: readonly Buffer[]): Buffer {
  return der(0x30, ...contents);
}

function oid(hexadecimal: string): Buffer {
  return der(0x06, Buffer.from(hexadecimal, "hex"));
}

/** As GeneralizedTime. */
function time(daysFromNow: number): Buffer {
  const text = new Date(Date.now() + daysFromNow * DAY_MILLISECONDS).toISOString();
  return der(0x18, Buffer.from(`${text.slice(0, 19).replace(/[-:T]/g, "")}Z`));
}
