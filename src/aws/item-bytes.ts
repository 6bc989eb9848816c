/** Bytes of one write unit of the table. */
export const unitBytes = 1024;

/** The size of an item as DynamoDB counts it: its names and values. */
export function bytesOf(value: unknown): number {
  if (typeof value === "string") return Buffer.byteLength(value);
  if (typeof value === "number") return Math.ceil(String(value).length / 2) + 1;
  if (Array.isArray(value)) return 3 + value.reduce((sum, one) => sum + 1 + bytesOf(one), 0);
  if (typeof value !== "object" || value === null) return 1;
  return Object.entries(value).reduce((sum, [name, one]) => sum + Buffer.byteLength(name) + 1 + bytesOf(one), 3);
}
