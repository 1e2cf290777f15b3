/**
 * Invoices from seeds: lines, VAT categories, discounts, credit notes, long and strange names. Amounts are whole
 * numbers of the smallest unit, so each total is exact.
 */
import type { ProfileName } from "../../clients/e-invoice/e-invoice.ts";
import { Random } from "./random.ts";

/** Ten thousandths, for prices and quantities. */
const SCALE = 10_000n;

export interface VatCategory {
  readonly code: "S" | "Z" | "E" | "AE" | "K" | "G" | "O";
  /** In hundredths of a percent. */
  readonly rate: bigint;
  readonly reason: string | null;
  readonly reasonCode: string | null;
}

/** An allowance, or a charge. In cents. */
export interface Adjustment {
  readonly isCharge: boolean;
  readonly amount: bigint;
  readonly base: bigint | null;
  /** In hundredths of a percent. */
  readonly percent: bigint | null;
  readonly reason: string;
  readonly vat: VatCategory;
}

export type Invoice = ReturnType<typeof generatedInvoice>;
export type Line = ReturnType<typeof generatedLine>;
export type TaxTotal = ReturnType<typeof taxTotals>[number];
export type Party = ReturnType<typeof generatedParty>;

const STANDARD: VatCategory = { code: "S", rate: 1900n, reason: null, reasonCode: null };
const REDUCED: VatCategory = { code: "S", rate: 700n, reason: null, reasonCode: null };
const FRENCH: VatCategory = { code: "S", rate: 550n, reason: null, reasonCode: null };
const ZERO: VatCategory = { code: "Z", rate: 0n, reason: null, reasonCode: null };
const EXEMPT: VatCategory = { code: "E", rate: 0n, reason: "Steuerfrei nach § 4 Nr. 21 UStG", reasonCode: null };
const REVERSE: VatCategory = { code: "AE", rate: 0n, reason: "Reverse charge", reasonCode: "VATEX-EU-AE" };
const INTRA: VatCategory = { code: "K", rate: 0n, reason: "Intra-community supply", reasonCode: "VATEX-EU-IC" };
const EXPORT: VatCategory = { code: "G", rate: 0n, reason: "Export outside the EU", reasonCode: "VATEX-EU-G" };
const NO_VAT: VatCategory = { code: "O", rate: 0n, reason: "Not subject to VAT", reasonCode: "VATEX-EU-O" };

/** The VAT of invoices, used in turn: 30 invoices have each kind at least twice. */
const KINDS_OF_VAT: readonly (readonly VatCategory[])[] = [
  [STANDARD],
  [STANDARD, REDUCED],
  [STANDARD, REDUCED, FRENCH],
  [REVERSE],
  [STANDARD, EXEMPT],
  [INTRA],
  [EXPORT],
  [STANDARD, ZERO],
  [NO_VAT],
  [STANDARD, REVERSE],
];

const NAMES = [
  "Straßenbau Öztürk & Söhne GmbH",
  "Société d'Électricité Générale S.A.S.",
  "Œuvres de l'Île — Café «Noël»",
  "A",
  "Gesellschaft für die Förderung der Herstellung außergewöhnlich langer Firmenbezeichnungen im Handelsregister mit beschränkter Haftung & Compagnie Kommanditgesellschaft auf Aktien",
  'Huber <Holz> "Bau" OHG',
  "Łódź Żółć Sp. z o.o.",
  "Smörgåsbord Ålesund AB",
];
const STREETS = ["Hauptstraße 1", "12, rue de l'Église", "Am Wehr 3 b", "Ül. Świętokrzyska 100/3"];
const CITIES = [
  ["99998", "Auental"],
  ["75001", "Paris"],
  ["00-001", "Warszawa"],
  ["L-1111", "Luxembourg"],
] as const;
const PRODUCTS = [
  "Archive box, acid-free, A4",
  "Beratung je Stunde (inkl. An- und Abreise)",
  "Schraube M8×40, verzinkt",
  "Câble d'alimentation 3 m",
  "Wartung <24/7> & Service",
  "Kärcher-Düse ½″",
];
const REASONS = ["Mengenrabatt", "Treuerabatt", "Rabais spécial"];
const CHARGES = ["Versand", "Verpackung & Fracht"];
const UNITS = ["H87", "HUR", "KGM", "LTR", "C62", "MTR"];

/** @param seed the same seed always gives the same invoice */
export function generatedInvoice(profile: ProfileName, seed: number) {
  const random = new Random(seed * 7919 + profile.length * 104_729);
  const vats = KINDS_OF_VAT[seed % KINDS_OF_VAT.length] ?? [STANDARD];
  const needsNoVatId = vats.includes(NO_VAT);
  const isAbroad = vats.includes(INTRA);
  const isReverse = vats.includes(REVERSE);
  const lineCount = seed % 13 === 12 ? 60 : random.whole(1, 6);
  const lines = Array.from({ length: Math.max(lineCount, vats.length) }, (_, index) =>
    generatedLine(random, index, vats[index % vats.length] ?? STANDARD),
  );
  const lineTotal = sum(lines.map(({ net }) => net));
  const adjustments = generatedAdjustments(random, lines, vats);
  const taxes = taxTotals(vats, lines, adjustments);
  const allowanceTotal = sum(adjustments.filter(({ isCharge }) => !isCharge).map(({ amount }) => amount));
  const chargeTotal = sum(adjustments.filter(({ isCharge }) => isCharge).map(({ amount }) => amount));
  const net = lineTotal - allowanceTotal + chargeTotal;
  const tax = sum(taxes.map((total) => total.tax));
  const gross = net + tax;
  const prepaid = profile !== "MINIMUM" && random.chance(25) ? gross / 3n : 0n;
  const isCredit = seed % 7 === 5;
  const day = random.whole(1, 28);
  const isDebit = profile !== "MINIMUM" && random.chance(20);
  return {
    profile,
    number: `R-2026/${String(seed).padStart(4, "0")}${random.pick(["", "-Ä", "#1", " A"])}`,
    typeCode: isCredit ? "381" : seed % 11 === 10 ? "384" : "380",
    issued: `202610${String(day).padStart(2, "0")}`,
    delivered: `202609${String(day).padStart(2, "0")}`,
    due: `202611${String(day).padStart(2, "0")}`,
    currency: seed % 9 === 8 ? "CHF" : "EUR",
    taxCurrency:
      seed % 9 === 8 && profile !== "MINIMUM" && !needsNoVatId ? { code: "EUR", tax: (tax * 107n) / 100n } : null,
    buyerReference: `04011000-12345-${10 + seed}`,
    order: random.chance(50) ? `PO ${seed}/ß` : null,
    contract: random.chance(30) ? `V-${seed}` : null,
    preceding: isCredit || seed % 11 === 10 ? `R-2025/${seed}` : null,
    notes: random.chance(60)
      ? ["Vielen Dank für Ihren Auftrag!\nZahlbar ohne Abzug.", "Geschäftsführer: Jörg Weiß"]
      : [],
    seller: generatedParty(random, "DE", needsNoVatId ? null : "DE999999990", true, true),
    buyer: generatedParty(
      random,
      isAbroad ? "FR" : vats.includes(EXPORT) ? "CH" : "DE",
      needsNoVatId ? null : isAbroad ? "FR40303265045" : isReverse || random.chance(40) ? "DE136695976" : null,
      random.chance(50),
    ),
    shipTo: isAbroad || random.chance(30) ? generatedParty(random, isAbroad ? "FR" : "DE", null, false) : null,
    iban: iban("DE", `12030000${String(1_000_000_000 + seed)}`),
    directDebit: isDebit
      ? {
          mandate: `M-${seed}`,
          creditor: "DE98ZZZ09999999999",
          iban: iban("DE", `37040044${String(532_013_000 + seed).padStart(10, "0")}`),
        }
      : null,
    terms: random.chance(60) ? "Zahlbar innerhalb von 30 Tagen" : null,
    annex: random.chance(30) ? { name: "Stundenzettel.csv", content: "Tag;Stunden\n1;7,5\n" } : null,
    lines,
    adjustments,
    taxes,
    lineTotal,
    allowanceTotal,
    chargeTotal,
    net,
    tax,
    gross,
    prepaid,
    dueAmount: gross - prepaid,
  };
}

/** Quantities and prices are in ten thousandths, amounts in cents; the discount is on the gross price. */
function generatedLine(random: Random, index: number, vat: VatCategory) {
  const unit = random.pick(UNITS);
  const isReturn = index > 0 && random.chance(8);
  const quantity =
    (isReturn ? -1n : 1n) * BigInt(random.chance(50) ? random.whole(1, 500) * 10_000 : random.whole(1, 999_999));
  const netPrice = BigInt(random.chance(30) ? random.whole(0, 99_999) : random.whole(1, 99_999) * 100);
  const priceQuantity = random.chance(15) ? 100n : 1n;
  const raw = roundedQuotient(quantity * netPrice, SCALE * SCALE * priceQuantity, 100n);
  const adjustments: Adjustment[] = [];
  if (raw > 1000n && random.chance(30)) adjustments.push(allowance(random, raw, random.whole(1, 40) * 25, vat));
  if (random.chance(15)) adjustments.push(charge(random, random.whole(1, 999), vat));
  return {
    id: String(index + 1),
    name: random.pick(PRODUCTS),
    description: random.chance(40) ? "Ausführung nach Muster; Farbe: grün, Größe: 3¼″" : null,
    note: random.chance(20) ? "Teillieferung" : null,
    sellerId: random.chance(40) ? `ART-${random.whole(1, 9999)}` : null,
    unit,
    quantity,
    netPrice,
    discount: random.chance(25) ? BigInt(random.whole(1, 9999)) : 0n,
    priceQuantity,
    vat,
    adjustments,
    net: raw + sum(adjustments.map(({ isCharge, amount }) => (isCharge ? amount : -amount))),
  };
}

function generatedAdjustments(random: Random, lines: readonly Line[], vats: readonly VatCategory[]): Adjustment[] {
  return vats.flatMap((vat): Adjustment[] => {
    const base = sum(lines.filter((line) => line.vat === vat).map(({ net }) => net));
    const adjustments: Adjustment[] = [];
    if (base > 5000n && random.chance(35)) adjustments.push(allowance(random, base, random.whole(1, 30) * 50, vat));
    if (random.chance(35)) adjustments.push(charge(random, random.whole(100, 9999), vat));
    return adjustments;
  });
}

function allowance(random: Random, base: bigint, hundredthsOfPercent: number, vat: VatCategory): Adjustment {
  const percent = BigInt(hundredthsOfPercent);
  const amount = roundedQuotient(base * percent, 10_000n, 1n);
  return { isCharge: false, amount, base, percent, reason: random.pick(REASONS), vat };
}

function charge(random: Random, cents: number, vat: VatCategory): Adjustment {
  return { isCharge: true, amount: BigInt(cents), base: null, percent: null, reason: random.pick(CHARGES), vat };
}

function taxTotals(vats: readonly VatCategory[], lines: readonly Line[], adjustments: readonly Adjustment[]) {
  return vats.map((vat) => {
    const fromLines = lines.filter((line) => line.vat === vat).map(({ net }) => net);
    const fromAdjustments = adjustments
      .filter((adjustment) => adjustment.vat === vat)
      .map(({ isCharge, amount }) => (isCharge ? amount : -amount));
    const base = sum([...fromLines, ...fromAdjustments]);
    return { vat, base, tax: roundedQuotient(base * vat.rate, 10_000n, 1n) };
  });
}

function generatedParty(random: Random, country: string, vatId: string | null, hasContact: boolean, isSeller = false) {
  const [postcode, city] = random.pick(CITIES);
  return {
    name: random.pick(NAMES),
    lines: random.chance(30) ? [random.pick(STREETS), "Hinterhaus", "3. Étage"] : [random.pick(STREETS)],
    postcode,
    city,
    country,
    vatId,
    taxNumber: vatId === null && isSeller ? "201/113/40209" : null,
    legalId: random.chance(40) || vatId === null ? "HRB 12345" : null,
    email: "rechnung@example.com",
    contact: hasContact ? { name: "Zoë Groß-Müller", phone: "+49 30 1234567" } : null,
  };
}

function sum(values: readonly bigint[]): bigint {
  return values.reduce((total, value) => total + value, 0n);
}

/** `value / divisor * factor`, rounded to a whole number, halves away from zero. */
function roundedQuotient(value: bigint, divisor: bigint, factor: bigint): bigint {
  const doubled = value * factor * 2n;
  return (doubled + (value < 0n ? -divisor : divisor)) / (2n * divisor);
}

/** An account number with its check digits. */
function iban(country: string, account: string): string {
  const digits = [...`${account}${country}00`].map((character) => Number.parseInt(character, 36)).join("");
  return `${country}${String(98n - (BigInt(digits) % 97n)).padStart(2, "0")}${account}`;
}
