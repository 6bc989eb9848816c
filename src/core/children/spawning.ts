import { PermanentError } from "../model/errors.ts";
import { inShort, property } from "../model/foreign-value.ts";
import { func, optionsFault } from "../task/check-options.ts";
import { checkedSpawn, spawnChecks } from "../task/check-submit.ts";
import type { ChildSpawn, SpawnAllOptions, Submittable, TaskContext, WhileOpen } from "../task/context.ts";
import type { TaskType } from "../task/task.ts";
import type { Spawner } from "./spawner.ts";

/** The members of a handler's context that spawn children. */
export function spawningOf(
  type: TaskType,
  spawner: Spawner,
  signal: AbortSignal,
  /** `guarded` for the spawner's own work; the iterables of `spawnAll` are the author's code. */
  { whileOpen, guarded }: { whileOpen: WhileOpen; guarded: WhileOpen },
): Pick<TaskContext, "spawn" | "spawnAll"> {
  const mustSpawn = (what: string) => {
    // Nothing more is created for an attempt that is over.
    signal.throwIfAborted();
    if (type.children !== undefined) return;
    throw new PermanentError(
      `task.${what}: the type ${type.name} spawns children, so it needs the option children, such as {}`,
    );
  };
  const spawn = (what: "spawn" | "spawnAll", given: Parameters<typeof checkedSpawn>) =>
    guarded(what, async () => {
      mustSpawn(what);
      return spawner.spawn(checkedSpawn(...given));
    });
  const spawnEach = async (children: AsyncIterable<ChildSpawn> | Iterable<ChildSpawn>): Promise<number> => {
    let count = 0;
    for await (const given of children) {
      const { type: named, ...child } = mustBeChild(given);
      await spawn("spawnAll", [{ ...child, type: typeof named === "string" ? named : named.name }]);
      count += 1;
    }
    return count;
  };
  return {
    spawn: (...given: Parameters<typeof checkedSpawn>) => spawn("spawn", given),
    spawnAll: (
      first: Submittable | Iterable<ChildSpawn> | AsyncIterable<ChildSpawn>,
      inputs?: Iterable<unknown> | AsyncIterable<unknown>,
      options: SpawnAllOptions<unknown> = {},
    ) =>
      whileOpen("spawnAll", async () => {
        mustSpawn("spawnAll");
        mustBeOptions(options);
        const children =
          inputs === undefined ? (first as Iterable<ChildSpawn>) : ofType(first as Submittable, inputs, options);
        if (!isIterable(inputs ?? first)) {
          throw new PermanentError("task.spawnAll: expected an iterable of inputs or of children, such as a list");
        }
        return spawnEach(children);
      }),
  };
}

/** @throws PermanentError */
function mustBeOptions(options: SpawnAllOptions<unknown>): void {
  const fault = optionsFault(options, { ...spawnChecks, key: func });
  if (fault !== undefined) throw new PermanentError(`task.spawnAll: ${fault}`);
}

/** @throws PermanentError */
function mustBeChild(given: ChildSpawn): ChildSpawn {
  const type = property(given, "type");
  if (typeof type === "string" || typeof property(type, "name") === "string") return given;
  throw new PermanentError(
    `task.spawnAll: expected children such as { type: mailSend, input: { to } }, got ${inShort(given)}`,
  );
}

const isIterable = (value: unknown): boolean =>
  (typeof value === "object" || typeof value === "function" || typeof value === "string") &&
  value !== null &&
  (Symbol.iterator in Object(value) || Symbol.asyncIterator in Object(value));

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
