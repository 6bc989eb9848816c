import type { Lists } from "../../src/core/ports/unique.ts";
import type { Invocation } from "./invocation.ts";
import { request } from "./wire.ts";
import type { World } from "./world.ts";

/** The lists of collected inputs, over the wire. */
export function listsFor(world: World, from: Invocation): Lists {
  const { lists: store, story } = world;
  const ask = async <T>(what: string, apply: () => Promise<T>): Promise<T> =>
    (await request(world, from, { service: "table", what: () => what, apply: () => ({ answer: apply() }) })).answer;
  return {
    last: (list) => ask(`reads the last page of ${story.name(list.task_id)}`, () => store.last(list)),
    page: (list, number) => ask(`reads page ${number} of ${story.name(list.task_id)}`, () => store.page(list, number)),
    all: (list) => ask(`reads the pages of ${story.name(list.task_id)}`, () => store.all(list)),
    add: (list, place, ...given) =>
      ask(`adds an input to page ${place.number} of ${story.name(list.task_id)}`, () =>
        store.add(list, place, ...given),
      ),
    close: (list, place, ...given) =>
      ask(`closes page ${place.number} of ${story.name(list.task_id)}`, () => store.close(list, place, ...given)),
    keep: (list, purgeAt) => ask(`keeps the pages of ${story.name(list.task_id)}`, () => store.keep(list, purgeAt)),
  };
}
