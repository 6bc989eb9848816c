import { v7 as uuidV7 } from "uuid";
import { randomBytes, randomUUID } from "../util/node-crypto.ts";

/** Creates a task id. Ids sort by their time of creation. */
export const newId = (): string => uuidV7();

/** Creates a random id for correlation, which contains no time. */
export const newCorrelationId = (): string => randomUUID();

export { randomBytes };
