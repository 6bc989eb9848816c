/** Bytes of one write unit of the table. */
export const unitBytes = 1024;

/**
 * The size of a value as DynamoDB counts it. That of a number is the most that its digits may need: DynamoDB leaves out
 * zeros at its ends.
 */
export function bytesOf(value: unknown): number {
  if (typeof value === "string") return Buffer.byteLength(value);
  if (typeof value === "number") return Math.ceil(String(value).length / 2) + 1;
  if (typeof value !== "object" || value === null) return 1;
  let bytes = 3;
  if (Array.isArray(value)) for (const one of value) bytes += 1 + bytesOf(one);
  else for (const [name, one] of Object.entries(value)) bytes += Buffer.byteLength(name) + 1 + bytesOf(one);
  return bytes;
}

/** The size of an item as DynamoDB counts it: its attributes' names and values. An absent one has no size. */
export function itemBytesOf(item: object): number {
  let bytes = 0;
  for (const [name, value] of Object.entries(item))
    if (value !== undefined) bytes += Buffer.byteLength(name) + bytesOf(value);
  return bytes;
}
