import type { Change, Test } from "../core/model/change.ts";

/** A conditional update in DynamoDB's syntax. */
export interface UpdateExpression {
  UpdateExpression: string;
  ConditionExpression: string;
  ExpressionAttributeNames: Record<string, string>;
  ExpressionAttributeValues?: Record<string, unknown>;
}

/** Changes of the index keys, which the adapter stores beside a record's fields. */
export interface IndexKeys {
  set?: Record<string, string>;
  remove?: readonly string[];
}

/** Placeholders that were made before, of fields and of values: V8 is slow with names that are made anew. */
const fieldPlaceholders = new Map<string, string>();
const valuePlaceholders: string[] = [];

/** Collects names and values under unique placeholders. */
class Placeholders {
  readonly names: Record<string, string> = {};
  readonly values: Record<string, unknown> = {};
  #count = 0;

  name(field: string): string {
    const placeholder = fieldPlaceholders.get(field) ?? `#${field}`;
    fieldPlaceholders.set(field, placeholder);
    this.names[placeholder] = field;
    return placeholder;
  }

  get hasValues(): boolean {
    return this.#count > 0;
  }

  value(value: unknown): string {
    const placeholder = valuePlaceholders[this.#count] ?? `:v${this.#count}`;
    valuePlaceholders[this.#count] = placeholder;
    this.values[placeholder] = value;
    this.#count += 1;
    return placeholder;
  }
}

/** Translates a change to an update. Its condition also requires that the record exists. */
export function updateOf({ when, set, append, add = {}, remove = [] }: Change, keys: IndexKeys = {}): UpdateExpression {
  const place = new Placeholders();
  let condition = `attribute_exists(${place.name("pk")})`;
  for (const [field, test] of Object.entries(when)) condition += ` AND ${conditionOf(place, field, test)}`;
  const sets: string[] = [];
  const assign = (fields: object) => {
    for (const [field, value] of Object.entries(fields))
      if (value !== undefined) sets.push(`${place.name(field)} = ${place.value(value)}`);
  };
  // One update cannot both set a list and append to it.
  assign(
    append !== undefined && set?.history !== undefined ? { ...set, history: [...set.history, append] } : (set ?? {}),
  );
  if (keys.set !== undefined) assign(keys.set);
  if (append !== undefined && set?.history === undefined) {
    const history = place.name("history");
    sets.push(`${history} = list_append(${history}, ${place.value([append])})`);
  }
  for (const [field, by] of Object.entries(add)) {
    const name = place.name(field);
    sets.push(`${name} = if_not_exists(${name}, ${place.value(0)}) + ${place.value(by)}`);
  }
  const removes: string[] = [];
  for (const field of remove) removes.push(place.name(field));
  for (const field of keys.remove ?? []) removes.push(place.name(field));
  const clauses = [sets.length > 0 && `SET ${sets.join(", ")}`, removes.length > 0 && `REMOVE ${removes.join(", ")}`];
  return {
    UpdateExpression: clauses.filter(Boolean).join(" "),
    ConditionExpression: condition,
    ExpressionAttributeNames: place.names,
    ...(place.hasValues ? { ExpressionAttributeValues: place.values } : {}),
  };
}

function conditionOf(place: Placeholders, field: string, test: Test): string {
  const name = place.name(field);
  if ("absent" in test) return `attribute_not_exists(${name})`;
  if ("not" in test) return `(attribute_not_exists(${name}) OR ${name} <> ${place.value(test.not)})`;
  if ("is" in test) return `${name} = ${place.value(test.is)}`;
  if ("in" in test) return `${name} IN (${test.in.map((value) => place.value(value)).join(", ")})`;
  const plain = "atMost" in test ? `${name} <= ${place.value(test.atMost)}` : `${name} > ${place.value(test.above)}`;
  return test.orAbsent ? `(attribute_not_exists(${name}) OR ${plain})` : plain;
}
