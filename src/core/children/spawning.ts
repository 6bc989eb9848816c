import { PermanentError } from "../model/errors.ts";
import {
  type ChildSpawn,
  childSubmitOf,
  type SpawnAllOptions,
  type SpawnOptions,
  type Submittable,
  type TaskContext,
} from "../task/context.ts";
import type { TaskType } from "../task/task.ts";
import type { Spawner } from "./spawner.ts";

/** The members of a handler's context that spawn children. */
export function spawningOf(
  type: TaskType,
  spawner: Spawner,
  signal: AbortSignal,
  mustBeOpen: (what: string) => void,
): Pick<TaskContext, "spawn" | "spawnAll"> {
  const mustSpawn = (what: string) => {
    mustBeOpen(what);
    // Nothing more is created for an attempt that is over.
    signal.throwIfAborted();
    if (type.children !== undefined) return;
    throw new PermanentError(
      `task.${what}: the type ${type.name} spawns children, so it needs the option children, such as {}`,
    );
  };
  const spawnEach = async (children: AsyncIterable<ChildSpawn> | Iterable<ChildSpawn>): Promise<number> => {
    let count = 0;
    for await (const { type: named, ...child } of children) {
      mustSpawn("spawnAll");
      await spawner.spawn({ ...child, type: typeof named === "string" ? named : named.name });
      count += 1;
    }
    return count;
  };
  return {
    spawn: async (...given: Parameters<typeof childSubmitOf<SpawnOptions>>) => {
      mustSpawn("spawn");
      return spawner.spawn(childSubmitOf(...given));
    },
    spawnAll: async (
      first: Submittable | Iterable<ChildSpawn> | AsyncIterable<ChildSpawn>,
      inputs?: Iterable<unknown> | AsyncIterable<unknown>,
      options: SpawnAllOptions<unknown> = {},
    ) => {
      mustSpawn("spawnAll");
      return spawnEach(
        inputs === undefined ? (first as Iterable<ChildSpawn>) : ofType(first as Submittable, inputs, options),
      );
    },
  };
}

/** Children of one type. */
async function* ofType(
  type: Submittable,
  inputs: Iterable<unknown> | AsyncIterable<unknown>,
  { key, ...options }: SpawnAllOptions<unknown>,
): AsyncGenerator<ChildSpawn> {
  let index = 0;
  for await (const input of inputs) {
    yield { type, input, ...options, ...(key === undefined ? {} : { key: key(input, index) }) };
    index += 1;
  }
}
