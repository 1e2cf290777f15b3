/** How a setting is defined and read by edge, backend and `npm start`, which pass the environment as a plain record. */

/** The name of its variable, its default, and the range outside which the service does not start. */
export interface IntegerSetting {
  readonly setting: string;
  readonly default: number;
  readonly min: number;
  readonly max: number;
}

export type Environment = Readonly<Record<string, string | undefined>>;

/** A setting that is not valid. The service does not start, and the message tells the operator what to set. */
export class SettingError extends Error {
  override readonly name = "SettingError";
}

export function listEntries(text: string | undefined): string[] {
  return (text ?? "").split(/[\s,]+/).filter((entry) => entry !== "");
}

/** The default where the variable is absent or empty. @throws SettingError when a value is out of range. */
export function readIntegerSettings<Name extends string>(
  table: Readonly<Record<Name, IntegerSetting>>,
  environment: Environment,
): Record<Name, number> {
  const values: Partial<Record<Name, number>> = {};
  for (const name in table) values[name] = readIntegerSetting(table[name], environment);
  return values as Record<Name, number>;
}

function readIntegerSetting(definition: IntegerSetting, environment: Environment): number {
  const text = environment[definition.setting]?.trim() ?? "";
  if (text === "") return definition.default;
  const value = /^[0-9]{1,15}$/.test(text) ? Number(text) : Number.NaN;
  if (value >= definition.min && value <= definition.max) return value;
  throw new SettingError(
    `${definition.setting} must be a whole number from ${definition.min} to ${definition.max}; it is "${text}".`,
  );
}
