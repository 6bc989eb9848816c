import type { UniqueKeys } from "../../src/core/unique/ports.ts";
import type { Invocation } from "./invocation.ts";
import { request } from "./wire.ts";
import type { World } from "./world.ts";

/** The keys of unique submits, over the wire. */
export function uniqueKeysFor(world: World, from: Invocation): UniqueKeys {
  const { uniqueKeys: store, story } = world;
  const ask = async <T>(what: string, apply: () => Promise<T>): Promise<T> =>
    (await request(world, from, { service: "table", what: () => what, apply: () => ({ answer: apply() }) })).answer;
  return {
    holder: (key) => ask(`reads the holder of ${key.unique_key}`, () => store.holder(key)),
    take: (key, holder, seen, purgeAt) =>
      ask(`takes ${key.unique_key} for ${story.name(holder.task_id)}`, () => store.take(key, holder, seen, purgeAt)),
    sent: (key, holder) => ask(`notes that ${story.name(holder.task_id)} is sent`, () => store.sent(key, holder)),
    keep: (key, holder, purgeAt) => ask(`keeps ${key.unique_key}`, () => store.keep(key, holder, purgeAt)),
    joined: (call) => ask(`reads what ${story.name(call.task_id)} joined`, () => store.joined(call)),
    join: (call, joined, seen, purgeAt) =>
      ask(`notes that ${story.name(call.task_id)} joined ${story.name(joined.task_id)}`, () =>
        store.join(call, joined, seen, purgeAt),
      ),
  };
}
