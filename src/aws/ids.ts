import { v7 as uuidV7 } from "uuid";
import { randomBytes, randomUUID } from "../util/node-crypto.ts";

/** Random bytes for further ids: to ask the system for those of each takes longer than all else of an id. */
let entropy = randomBytes(0);

/** The millisecond of the last id, and the id's number in it, which begins anywhere in the lower half of 32 bits. */
let lastMs = 0;
let sequence = 0;

/** Creates a task id. Ids sort by their time of creation, also those of one millisecond. */
export function newId(): string {
  if (entropy.length === 0) entropy = randomBytes(2048);
  const random = entropy.subarray(0, 16);
  entropy = entropy.subarray(16);
  const now = Date.now();
  if (now > lastMs) [lastMs, sequence] = [now, random.readUInt32BE(6) >>> 1];
  else sequence += 1;
  return uuidV7({ random, msecs: lastMs, seq: sequence });
}

/** Creates a random id for correlation, which contains no time. */
export const newCorrelationId = (): string => randomUUID();

export { randomBytes };
