import type { Follow } from "../../src/core/ports/notify.ts";
import type { Invocation } from "./invocation.ts";

/** The work of one handler, as the core follows it. */
interface Followed {
  isOwn: () => boolean;
  works: number;
}

const followed = new WeakMap<Invocation, Set<Followed>>();

/** The port by which the core of an invocation follows what its handlers have under way. */
export function followFor(from: Invocation): Follow {
  const all = new Set<Followed>();
  followed.set(from, all);
  return (isOwn) => {
    const one = { isOwn, works: 0 };
    all.add(one);
    return { now: () => (one.works > 0 ? "some" : "none"), end: () => all.delete(one) };
  };
}

/** Work of a handler begins, outside of its calls. Returns a function that ends it. */
export function workBegins(from: Invocation): () => void {
  const own = [...(followed.get(from) ?? [])].filter(({ isOwn }) => isOwn());
  for (const one of own) one.works += 1;
  return () => {
    for (const one of own) one.works -= 1;
  };
}
