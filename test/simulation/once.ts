import type { OnceStore } from "../../src/core/ports/tasks.ts";
import type { Invocation } from "./invocation.ts";
import { request } from "./wire.ts";
import type { World } from "./world.ts";

/** The store of effects, over the wire. */
export function onceFor(world: World, from: Invocation): OnceStore {
  const { table, witness } = world;
  const ask = <T>(what: string, apply: () => T, answer?: (value: T) => string) =>
    request(world, from, { service: "table", what: () => what, apply, ...(answer === undefined ? {} : { answer }) });
  return {
    begin: async (once) => {
      witness.onceTouched(from, once);
      const begun = await ask(
        `begins once ${once.key}`,
        () => table.beginOnce(once),
        (mine) => (mine ? "mine" : "no"),
      );
      return begun
        ? { state: "mine" }
        : ask(
            `looks at once ${once.key}`,
            () => table.readOnce(once),
            ({ state }) => state,
          );
    },
    finish: (once) => {
      const finish = () => {
        const stored = table.finishOnce(once);
        if (stored) witness.runs.onceStored(once);
        return stored;
      };
      return ask(`finishes once ${once.key}`, finish, (stored) => (stored ? "stored" : "not mine any more"));
    },
    release: (once) => ask(`gives up once ${once.key}`, () => table.releaseOnce(once)),
  };
}
