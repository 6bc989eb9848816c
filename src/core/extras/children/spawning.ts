import { inShort, property } from "../../../util/foreign-value.ts";
import { PermanentError } from "../../model/errors.ts";
import { func, optionsFault } from "../../task/check-options.ts";
import type { WhileOpen } from "../../task/context.ts";
import {
  type ChildSpawn,
  checkedSpawn,
  type SpawnAllOptions,
  type Submittable,
  spawnChecks,
} from "../../task/handler-submit.ts";
import type { TaskType } from "../../task/task.ts";
import type { Spawner } from "./spawner.ts";

/** An attempt that may spawn. */
export interface Spawning {
  readonly type: TaskType;
  readonly tools: { readonly spawner: Spawner | undefined };
  readonly signal: AbortSignal;
  /** Runs the spawner's own work while the attempt is open. */
  readonly guarded: WhileOpen;
}

/** Nothing more is created for an attempt that is over. @throws PermanentError for a type without children */
function spawnerOf({ type, tools: { spawner }, signal }: Spawning, what: string): Spawner {
  signal.throwIfAborted();
  if (type.children !== undefined && spawner !== undefined) return spawner;
  throw new PermanentError(
    `task.${what}: the type ${type.name} spawns children, so it needs the option children, such as {}`,
  );
}

/** Spawns one child, by the member `spawn` of a handler's context or by `spawnAll`. */
export const spawnOne = (
  spawning: Spawning,
  what: "spawn" | "spawnAll",
  given: Parameters<typeof checkedSpawn>,
): Promise<string> => spawning.guarded(what, async () => spawnerOf(spawning, what).spawn(checkedSpawn(...given)));

/** The member `spawnAll` of a handler's context. */
export async function spawnAll(
  spawning: Spawning,
  [first, inputs, options = {}]: [
    first: Submittable | string | Iterable<ChildSpawn> | AsyncIterable<ChildSpawn>,
    inputs?: Iterable<unknown> | AsyncIterable<unknown>,
    options?: SpawnAllOptions<unknown>,
  ],
): Promise<number> {
  spawnerOf(spawning, "spawnAll");
  mustBeOptions(options);
  const children =
    inputs === undefined ? (first as Iterable<ChildSpawn>) : ofType(first as Submittable | string, inputs, options);
  if (!isIterable(inputs ?? first)) {
    throw new PermanentError("task.spawnAll: expected an iterable of inputs or of children, such as a list");
  }
  let count = 0;
  for await (const given of children) {
    const { type: named, ...child } = mustBeChild(given);
    await spawnOne(spawning, "spawnAll", [{ ...child, type: typeof named === "string" ? named : named.name }]);
    count += 1;
  }
  return count;
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
  type: Submittable | string,
  inputs: Iterable<unknown> | AsyncIterable<unknown>,
  { key, ...options }: SpawnAllOptions<unknown>,
): AsyncGenerator<ChildSpawn> {
  let index = 0;
  for await (const input of inputs) {
    yield { type, input, ...options, ...(key === undefined ? {} : { key: key(input, index) }) };
    index += 1;
  }
}
