import { createHash } from "../../util/node-crypto.ts";

/** The shards of a limit's line: 0, and those of a line whose limit is large. */
export const allShards: readonly number[] = Array.from({ length: 16 }, (_, shard) => shard);

/** The shard of a task in a line whose limit is large: 1 to 15. */
export const shardOf = (taskId: string): number => 1 + (numberOf(`shard ${taskId}`) % (allShards.length - 1));

/** Any shard: that of a task which joined before its line was sharded, too. */
export const anyShard = (salt: string): number => numberOf(`any ${salt}`) % allShards.length;

/** A number of 32 bits that a text gives at random. */
export const numberOf = (text: string): number => createHash("md5").update(text).digest().readUInt32BE();
