import type { FileResult, OutcomeResult } from "../core/task/result.ts";
import type { DefinedTask } from "../core/task/task.ts";

/**
 * Task types that are not known to the compiler: every name and every JSON input is allowed, and results are `unknown`.
 */
export type AnyTasks = Record<string, DefinedTask>;

/** Input and output of each definition, by its name. */
type ByName<Tasks> = {
  [Definition in Extract<Tasks[keyof Tasks], DefinedTask> as Definition["name"]]: NonNullable<Definition["types"]>;
};
type Member<Types, Key> = Key extends keyof Types ? Types[Key] : never;

/** Names of the task types in a module or record, by which clients submit them. */
export type TaskName<Tasks> = keyof ByName<Tasks> & string;

/** Input of a task type, as a client sends it: before the schema's defaults and conversions. */
export type TaskInput<Tasks, Name extends TaskName<Tasks>> = Sent<Member<ByName<Tasks>[Name], "input">>;

/** A value to send: JSON has no undefined, so a member that may be undefined may be left out. */
type Sent<Value> = unknown extends Value
  ? Value
  : Value extends string | number | boolean | bigint | symbol | null | undefined | Date
    ? Value
    : Value extends readonly unknown[]
      ? { [Key in keyof Value]: Sent<Value[Key]> }
      : Flat<
          { [Key in keyof Value as undefined extends Value[Key] ? never : Key]: Sent<Value[Key]> } & {
            [Key in keyof Value as undefined extends Value[Key] ? Key : never]?: Sent<Value[Key]> | undefined;
          }
        >;

type Flat<Value> = { [Key in keyof Value]: Value[Key] };

/** Result of a task type, as a client gets it: the handler's result after its way through JSON, or a `File`. */
export type TaskResult<Tasks, Name extends TaskName<Tasks>> = Delivered<Member<ByName<Tasks>[Name], "output">>;

type Delivered<Output> = unknown extends Output
  ? Output
  : Output extends OutcomeResult<infer Result>
    ? Delivered<Result>
    : Output extends FileResult
      ? File
      : JsonItem<Output>;

/** A value after `JSON.stringify` and `JSON.parse`. */
type Json<Value> = unknown extends Value
  ? Value
  : Value extends { toJSON(): infer Text }
    ? Json<Text>
    : Value extends string | number | boolean | null | undefined
      ? Value
      : Value extends bigint | symbol | ((...values: never) => unknown)
        ? never
        : Value extends object
          ? { [Key in keyof Value]: Value extends readonly unknown[] ? JsonItem<Value[Key]> : Json<Value[Key]> }
          : never;

/** An item of an array, or a whole result: a missing value becomes null. */
type JsonItem<Value> = Value extends void ? null : Json<Value>;
