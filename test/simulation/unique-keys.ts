import type { UniqueKeys } from "../../src/core/ports/unique.ts";
import type { Invocation } from "./invocation.ts";
import { request } from "./wire.ts";
import type { World } from "./world.ts";

/** The keys of unique submits, over the wire. */
export function uniqueKeysFor(world: World, from: Invocation): UniqueKeys {
  const { uniqueKeys: store, story, witness } = world;
  const ask = async <T>(what: string, apply: () => Promise<T>): Promise<T> =>
    (await request(world, from, { service: "table", what: () => what, apply: () => ({ answer: apply() }) })).answer;
  return {
    holder: (key) => {
      if (key.type !== "") witness.unique.looked(from);
      return ask(`reads the holder of ${key.unique_key}`, () => store.holder(key));
    },
    take: (key, holder, seen, purgeAt) =>
      ask(`takes ${key.unique_key} for ${story.name(holder.task_id)}`, async () => {
        const before = store.peek(key);
        const taken = store.take(key, holder, seen, purgeAt);
        if (store.peek(key) !== before && key.type !== "") witness.unique.taken(key, before, holder, from);
        return taken;
      }),
    sent: (key, holder) =>
      ask(`notes that ${story.name(holder.task_id)} is sent`, async () => {
        const done = store.sent(key, holder);
        if (store.peek(key)?.task_id === holder.task_id) witness.unique.sentNoted(holder);
        return done;
      }),
    keep: (key, holder, purgeAt) => ask(`keeps ${key.unique_key}`, () => store.keep(key, holder, purgeAt)),
  };
}
