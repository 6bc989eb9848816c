import { errorKinds } from "../model/errors.ts";
import {
  anything,
  type Check,
  type Checks,
  either,
  flag,
  func,
  listOf,
  number,
  object,
  oneOf,
  optionsFault,
  syncFunction,
  text,
  wholeNumber,
} from "./check-options.ts";

/** A schema of zod 4. A schema of zod 3 has the same methods, and other insides. */
export const schema: Check = (value) => {
  const { _zod, _def, safeParse } = Object(value) as { _zod?: unknown; _def?: unknown; safeParse?: unknown };
  if (_zod !== undefined && typeof safeParse === "function") return undefined;
  return _def === undefined ? "a schema of zod, such as z.object({ ... })" : "a schema of zod 4, and not of zod 3";
};

const seconds = number(0, 31_536_000);

const backoff: Checks = {
  waitsSeconds: listOf(seconds),
  baseSeconds: seconds,
  factor: number(1, 1_000),
  capSeconds: seconds,
  jitter: oneOf(["additive", "full", "none"]),
  jitterRatio: number(0, 1),
  maxRetries: wholeNumber(0, 1_000),
};

const kinds: Checks = Object.fromEntries(
  errorKinds.map((kind) => [kind, either(oneOf(["stop"]), object(`retry.kinds.${kind}`, backoff))]),
);

/** Each member is an object with these options. */
const eachOf =
  (path: string, checks: Checks): Check =>
  (value) =>
    typeof value !== "object" || value === null || Array.isArray(value)
      ? "an object"
      : Object.entries(value)
          .map(([name, one]) => object(`${path}.${name}`, checks)(one))
          .find((fault) => fault !== undefined);

/** The options of a task type. Ranges of some are checked by their own files. */
const typeOptions: Checks = {
  name: text,
  description: text,
  input: schema,
  version: anything,
  upcast: (value) => (typeof value === "object" && value !== null ? undefined : "an object of functions, by version"),
  output: schema,
  priority: anything,
  runsOn: anything,
  timeoutSeconds: anything,
  maxAttempts: anything,
  retry: object("retry", { ...backoff, kinds: object("retry.kinds", kinds) }),
  classify: listOf(syncFunction),
  concurrency: object("concurrency", { key: syncFunction, limit: anything, scope: anything }),
  rateLimit: object("rateLimit", { key: syncFunction, limit: anything, perSeconds: anything, scope: anything }),
  breaker: object("breaker", { failures: anything, coolDownSeconds: anything }),
  cancellable: flag,
  sensitive: flag,
  keepInput: flag,
  push: oneOf(["result"]),
  files: eachOf("files", { contentTypes: listOf(text), maxBytes: anything, required: flag }),
  state: schema,
  children: object("children", { threshold: either(number(0, 1), syncFunction) }),
  aggregate: func,
  handler: func,
  // A definition that is made of another one has it.
  types: anything,
};

/** Returns the first fault of a type's options that does not depend on others. */
export const typeFault = (options: unknown): string | undefined =>
  optionsFault(options, typeOptions, { needed: ["name", "input", "handler"] });
