import type { Dice } from "../simulation/dice.ts";
import fc from "../support/fast-check.ts";

/*
 * Values for the schemas of an OpenAPI document: most fit their schema, some are odd on purpose.
 */

/** A JSON Schema, as the document has it. */
export type Schema = Readonly<Record<string, unknown>>;

/** Values that only a run of the fuzz knows, by the name of the field that they are for. */
export interface Known {
  /** A text that only the caller may ever see again. */
  secret(): string;
  /** A value for a field or a parameter of this name. Undefined: any value that fits the schema. */
  named(name: string): unknown;
}

const oddValues: readonly [unknown, ...unknown[]] = [
  ...([
    null,
    "",
    0,
    -1,
    true,
    [],
    {},
    "null",
    "-0",
    1e308,
    2 ** 53,
    0.1,
    "\u0000",
    "💥",
    "\ud800",
    "__proto__",
  ] as const),
  ...(["constructor", "toString", "%2e%2e", "' OR 1=1 --", "*", "a".repeat(300), "9".repeat(40), [[[]]]] as const),
  ...[{ a: { b: [null] } }, ["acme"], "globex", "9999-12-31T23:59:59.999Z", "0000-01-01T00:00:00+23:00", "2027-02-30"],
];

const times: readonly [string, ...string[]] = [
  ...(["2026-12-31T23:59:00.000Z", "2027-01-01T00:00:30Z", "2027-01-01T00:10:00+01:00"] as const),
  ...["2027-06-01T00:00:00.000Z", "2030-01-01T00:00:00Z"],
];

/** Texts for each pattern of the document, which fast-check derives from it. */
const patternTexts = new Map<string, readonly string[]>();

function textsOf(pattern: string): readonly string[] {
  const known = patternTexts.get(pattern);
  if (known !== undefined) return known;
  const texts = fc.sample(fc.stringMatching(new RegExp(pattern, "u")), { numRuns: 30, seed: 1 });
  patternTexts.set(pattern, texts);
  return texts;
}

export class Values {
  readonly #dice: Dice;
  readonly #schemas: Readonly<Record<string, Schema>>;
  readonly known: Known;
  /** The probability that a value does not fit its schema. */
  readonly #odd: number;

  constructor(dice: Dice, schemas: Readonly<Record<string, Schema>>, known: Known, odd: number) {
    this.#dice = dice;
    this.#schemas = schemas;
    this.known = known;
    this.#odd = odd;
  }

  /** A value for a schema. */
  of(schema: Schema, name = "", depth = 0): unknown {
    if (this.#dice.chance(this.#odd)) return this.#dice.pick(oddValues);
    const named = this.known.named(name);
    if (named !== undefined) return named;
    const target = typeof schema.$ref === "string" ? this.#schemas[schema.$ref.split("/").at(-1) ?? ""] : undefined;
    if (target !== undefined) return this.of(target, "", depth);
    if ("const" in schema) return schema.const;
    if (Array.isArray(schema.enum)) return this.#dice.pick(schema.enum as [unknown, ...unknown[]]);
    const [first, ...rest] = (schema.anyOf ?? (schema.properties ? undefined : schema.oneOf) ?? []) as Schema[];
    if (first !== undefined) return this.of(this.#dice.pick([first, ...rest]), name, depth);
    return this.#plain(schema, depth);
  }

  #plain(schema: Schema, depth: number): unknown {
    const types = Array.isArray(schema.type) ? schema.type : [schema.type];
    switch (this.#dice.pick(types as [unknown, ...unknown[]])) {
      case "object":
        return this.#object(schema, depth);
      case "array":
        return Array.from({ length: this.#dice.int(Number(schema.minItems ?? 0), 2) || 1 }, () =>
          this.of((schema.items ?? {}) as Schema, "item", depth + 1),
        );
      case "integer":
      case "number":
        return this.#number(schema);
      case "boolean":
        return this.#dice.chance(0.5);
      case "null":
        return null;
      case "string":
        return this.#text(schema);
      default:
        return this.#any();
    }
  }

  #object(schema: Schema, depth: number): unknown {
    const properties = Object.entries((schema.properties ?? {}) as Record<string, Schema>);
    const required = (schema.required ?? []) as string[];
    // A request with every optional field at once is refused by one rule or another.
    const share = depth > 0 ? 0.4 : this.#dice.pick([0, 0.15, 0.5]);
    const taken = properties.filter(([name]) => required.includes(name) || this.#dice.chance(share));
    const object = Object.fromEntries(taken.map(([name, one]) => [name, this.of(one, name, depth + 1)]));
    const alternatives = (schema.oneOf ?? []) as Schema[];
    for (const name of (alternatives[this.#dice.int(0, alternatives.length)]?.required ?? []) as string[]) {
      object[name] = this.of(Object.fromEntries(properties)[name] ?? {}, name, depth + 1);
    }
    const more = schema.additionalProperties;
    if (typeof more === "object" && more !== null && properties.length === 0) {
      object[this.#dice.pick(["a", "order"])] = this.of(more as Schema, "", depth + 1);
    }
    if (this.#dice.chance(this.#odd)) object[this.#dice.pick(["x", "__proto__", "tenant_id", "role"])] = this.#any();
    return object;
  }

  #number({ minimum, maximum, multipleOf }: Schema): number {
    const least = typeof minimum === "number" ? minimum : 0;
    const most = typeof maximum === "number" ? maximum : least + 100;
    const step = typeof multipleOf === "number" ? multipleOf : 1;
    const number = this.#dice.pick([least, this.#dice.int(least, Math.min(most, least + 100)), most]);
    return Math.ceil(number / step) * step;
  }

  #text({ format, pattern, minLength, maxLength }: Schema): string {
    if (format === "uuid") return String(this.known.named("task_id"));
    if (format === "date-time") return this.#dice.pick(times);
    if (format === "date") return "2027-01-01";
    if (typeof pattern === "string") {
      const secret = this.known.secret();
      if (this.#dice.chance(0.5) && new RegExp(pattern, "u").test(secret)) return secret;
      return this.#dice.pick(textsOf(pattern) as [string, ...string[]]);
    }
    const longest = typeof maxLength === "number" ? Math.min(maxLength, 4_000) : 4_000;
    if (this.#dice.chance(0.02)) return "é".repeat(Math.max(Number(minLength ?? 0), longest));
    return this.known.secret().slice(0, longest);
  }

  /** Any JSON value, mostly with a secret of the caller. */
  #any(): unknown {
    const secret = this.known.secret();
    return this.#dice.pick<unknown>([{ value: secret }, { value: secret, list: [secret, 1, null] }, secret, 1, null]);
  }
}
