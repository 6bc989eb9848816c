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

const shapes = ["bytes", "text", "json"] as const;

/** The update that replaces the value of a part which is stored for longer. */
export function updateOfPart(stored: ReturnType<typeof storedPart>, purgeAt: number) {
  const [[shape = "", value] = []] = Object.entries(stored);
  const others = shapes.filter((one) => one !== shape).map((one) => `#${one}`);
  return {
    UpdateExpression: `SET #${shape} = :value, purge_at = if_not_exists(purge_at, :purge_at) REMOVE ${others.join(", ")}`,
    ExpressionAttributeNames: Object.fromEntries(shapes.map((one) => [`#${one}`, one])),
    ExpressionAttributeValues: { ":value": value, ":purge_at": purgeAt },
  };
}

/** The value of a stored part. Returns undefined when there is no item. */
export const partOf = (item: Item | undefined): unknown =>
  item?.json === undefined ? (item?.text ?? item?.bytes) : JSON.parse(String(item.json));
