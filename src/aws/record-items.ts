import { WrittenLater } from "../core/model/errors.ts";
import type { TaskRecord } from "../core/model/record.ts";
import { fieldsOf, type Item } from "./dynamo-table.ts";
import { storedJson } from "./stored-json.ts";

/**
 * A record's fields as they are stored. A result is stored as JSON text, because DynamoDB's numbers and nesting are
 * more limited than JSON's, and a task whose result cannot be written would never end.
 */
export const storedFields = <Fields extends { readonly result?: unknown }>(fields: Fields): Fields =>
  fields.result === undefined ? fields : { ...fields, result: JSON.stringify(fields.result) };

/** A stored item as a record, without the attributes that are only keys. */
export function recordOf(item: Item): TaskRecord {
  const record = fieldsOf<TaskRecord>(item);
  return record.result === undefined ? record : { ...record, result: storedJson(record.result, "a result") };
}

/**
 * A part's value under an attribute whose name says how to read it. Text is not stored as JSON, which can double its
 * size.
 */
export function storedPart(value: unknown) {
  if (value instanceof Uint8Array) return { bytes: value };
  return typeof value === "string" ? { text: value } : { json: JSON.stringify(value) };
}

/**
 * The value of a stored part. Returns undefined when there is no item.
 * @throws WrittenLater
 */
export function partOf(item: Item | undefined): unknown {
  if (item === undefined) return undefined;
  const { json, text, bytes } = item;
  if (json !== undefined) return storedJson(json, "a part of a record");
  const value = text ?? bytes;
  if (value === undefined) throw new WrittenLater("a part of a record");
  return value;
}
