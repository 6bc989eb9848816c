import { v4 as uuidV4, v7 as uuidV7 } from "uuid";

/** A new task id: its order follows the time. */
export const newId = (): string => uuidV7();

/** A new id that tells nothing, for correlation. */
export const newCorrelationId = (): string => uuidV4();
