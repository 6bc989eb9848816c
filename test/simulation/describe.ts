import type { Change, Test } from "../../src/core/model/change.ts";

const short = (value: unknown): string => {
  const text = typeof value === "string" ? value : (JSON.stringify(value) ?? "undefined");
  return /^\d{4}-\d\d-\d\dT/.test(text) ? text.slice(5, 23) : text.slice(0, 40);
};

const testText = (test: Test): string =>
  Object.entries(test)
    .map(([word, value]) => (value === true ? word : `${word} ${short(value)}`))
    .join(" ");

/** A change in one line, for the story. */
export function describeChange({ when, set = {}, remove = [], add = {}, append }: Change): string {
  const tests = Object.entries(when).map(([field, test]) => `${field} ${testText(test)}`);
  const sets = Object.entries(set)
    .filter(([field, value]) => value !== undefined && field !== "updated_at")
    .map(([field, value]) => `${field}=${short(value)}`);
  const adds = Object.entries(add).map(([field, by]) => `${field}+${by}`);
  const more = append === undefined ? [] : [`history+${append.number}:${append.outcome}`];
  return `if [${tests.join("; ")}] set [${[...sets, ...adds, ...remove.map((field) => `-${field}`), ...more].join(", ")}]`;
}
