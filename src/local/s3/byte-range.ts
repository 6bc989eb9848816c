import { S3Error } from "./s3-error.ts";

/** Bytes of an object, `end` included. */
export interface Slice {
  start: number;
  end: number;
}

/**
 * Reads a `Range` header. Undefined: the whole object, also for headers that are not one range of bytes, which S3
 * ignores.
 * @throws S3Error when the object has no byte of the range
 */
export function parseRange(header: string | undefined, sizeBytes: number): Slice | undefined {
  const [, first = "", last = ""] = /^bytes=(\d*)-(\d*)$/.exec(header?.trim() ?? "") ?? [];
  if (first === "" && last === "") return undefined;
  if (first !== "" && last !== "" && Number(last) < Number(first)) return undefined;
  const start = first === "" ? Math.max(sizeBytes - Number(last), 0) : Number(first);
  const end = first === "" || last === "" ? sizeBytes - 1 : Math.min(Number(last), sizeBytes - 1);
  if (start > end) {
    const details = { RangeRequested: header ?? "", ActualObjectSize: sizeBytes };
    throw new S3Error("InvalidRange", "The requested range is not satisfiable", details);
  }
  return { start, end };
}
