import { randomBytes } from "node:crypto";
import { v4 as uuidV4, v7 as uuidV7 } from "uuid";

/** Creates a task id. Ids sort by their time of creation. */
export const newId = (): string => uuidV7();

/** Creates a random id for correlation, which contains no time. */
export const newCorrelationId = (): string => uuidV4();

export { randomBytes };
