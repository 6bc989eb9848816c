import type { TaskRecord } from "../core/model/record.ts";
import { fieldsOf, type Item } from "./dynamo-table.ts";

/**
 * A record's fields as they are stored. A result is stored as JSON text, because DynamoDB's numbers and nesting are
 * more limited than JSON's, and a task whose result cannot be written would never end.
 */
export const storedFields = <Fields extends { readonly result?: unknown }>(fields: Fields): Fields =>
  fields.result === undefined ? fields : { ...fields, result: JSON.stringify(fields.result) };

/** A stored item as a record, without the attributes that are only keys. */
export function recordOf(item: Item): TaskRecord {
  const record = fieldsOf<TaskRecord>(item);
  return record.result === undefined ? record : { ...record, result: JSON.parse(String(record.result)) };
}

/**
 * A part's value under an attribute whose name says how to read it. Text is not stored as JSON, which can double its
 * size.
 */
export function storedPart(value: unknown) {
  if (value instanceof Uint8Array) return { bytes: value };
  return typeof value === "string" ? { text: value } : { json: JSON.stringify(value) };
}

/** The value of a stored part. Returns undefined when there is no item. */
export const partOf = (item: Item | undefined): unknown =>
  item?.json === undefined ? (item?.text ?? item?.bytes) : JSON.parse(String(item.json));
