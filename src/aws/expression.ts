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

/** Collects names and values under unique placeholders. */
class Placeholders {
  readonly names: Record<string, string> = {};
  readonly values: Record<string, unknown> = {};
  #count = 0;

  name(field: string): string {
    const placeholder = `#${field}`;
    this.names[placeholder] = field;
    return placeholder;
  }

  get hasValues(): boolean {
    return this.#count > 0;
  }

  value(value: unknown): string {
    const placeholder = `:v${this.#count++}`;
    this.values[placeholder] = value;
    return placeholder;
  }
}

/** Translates a change to an update. Its condition also requires that the record exists. */
export function updateOf(change: Change, keys: IndexKeys = {}): UpdateExpression {
  const place = new Placeholders();
  const conditions = Object.entries(change.when).map(([field, test]) => conditionOf(place, field, test));
  const { append, set } = change;
  // One update cannot both set a list and append to it.
  const replaces = append !== undefined && set?.history !== undefined ? { history: [...set.history, append] } : {};
  const sets = Object.entries({ ...set, ...replaces, ...keys.set })
    .filter(([, value]) => value !== undefined)
    .map(([field, value]) => `${place.name(field)} = ${place.value(value)}`);
  if (append !== undefined && set?.history === undefined) {
    const history = place.name("history");
    sets.push(`${history} = list_append(${history}, ${place.value([append])})`);
  }
  for (const [field, by] of Object.entries(change.add ?? {})) {
    const name = place.name(field);
    sets.push(`${name} = if_not_exists(${name}, ${place.value(0)}) + ${place.value(by)}`);
  }
  const removes = [...(change.remove ?? []), ...(keys.remove ?? [])].map((field) => place.name(field));
  const clauses = [
    ...(sets.length > 0 ? [`SET ${sets.join(", ")}`] : []),
    ...(removes.length > 0 ? [`REMOVE ${removes.join(", ")}`] : []),
  ];
  return {
    UpdateExpression: clauses.join(" "),
    ConditionExpression: [`attribute_exists(${place.name("pk")})`, ...conditions].join(" AND "),
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
