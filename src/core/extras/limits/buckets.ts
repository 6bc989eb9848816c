import type { Line } from "../../model/line.ts";
import { numberOf } from "../../model/line-shards.ts";
import { placesPerUnit } from "../../task/type-limits.ts";

/**
 * A part of a line's places, which is one item: an item of all places would make each start and end as dear as there
 * are places. Each bucket has its own share of the limit, so that no call looks at more than one for a place.
 */
export interface Bucket {
  /** From 0. The places of bucket 0 are in the line's own state. */
  index: number;
  /** The name under which `Lines` knows its places. */
  name: string;
  /** The most places that it may have. */
  room: number;
}

/** The sizes of a line's buckets. */
export interface Sizes {
  /** The places of the line. */
  limit: number;
  /** The places of a bucket. Absent: as many as one write unit pays for. */
  size?: number | undefined;
}

/** A task asks this many buckets for a place at most: where most are free, a second question is rare. */
const mostAsked = 3;

/**
 * Workers that end tasks at the same time choose among this many first tasks: a line of 1,000 places starts some 250 a
 * second (`npm run test:lines`).
 */
const mostFirst = 16;

/** The name of a bucket's places. No line's name begins with `places/`. */
export const bucketName = ({ name }: Line, index: number): string => (index === 0 ? name : `places/${index}/${name}`);

export const bucketCount = ({ limit, size = placesPerUnit }: Sizes): number => Math.max(1, Math.ceil(limit / size));

export const bucketOf = (line: Line, index: number, { limit, size = placesPerUnit }: Sizes): Bucket => ({
  index,
  name: bucketName(line, index),
  room: Math.min(size, Math.max(0, limit - index * size)),
});

export const bucketsOf = (line: Line, sizes: Sizes): Bucket[] =>
  Array.from({ length: bucketCount(sizes) }, (_, index) => bucketOf(line, index, sizes));

/** The buckets that a task asks for a place, in this order: spread evenly over tasks, and the same for each message. */
export function bucketsFor(line: Line, taskId: string, sizes: Sizes): Bucket[] {
  const count = bucketCount(sizes);
  const first = numberOf(taskId) % count;
  const asked = Array.from({ length: Math.min(count, mostAsked) }, (_, step) => (first + step) % count);
  return asked.map((index) => bucketOf(line, index, sizes));
}

/**
 * The first task of a line with one bucket goes. The tasks behind it are for others of this process that end at the
 * same time: as many as one read unit pays for.
 */
const firstOfOneBucket = 3;

/** The number of first tasks that a call reads which lets one go. */
export const firstTasks = (sizes: Sizes): number => (bucketCount(sizes) === 1 ? firstOfOneBucket : mostFirst);
