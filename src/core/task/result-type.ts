import type * as z from "zod";
import type { FamilyCounts } from "./children.ts";
import type { FileResult, OutcomeResult } from "./result.ts";

/** Stands for the type of what `aggregate` returns in a definition that has none. */
export interface NoAggregate {
  readonly noAggregate: never;
}

/**
 * The compiler holds what `handler` and `aggregate` return against the schema of the results. A handler may return
 * nothing, as a parent's does.
 */
export interface ReturnsFit<Schema extends z.ZodType, Output, Aggregated> {
  handler: Returns<Output, Fitting<Output, Schema> | Nothing>;
  aggregate?: Returns<Aggregated, Fitting<Aggregated, Schema>>;
}

/** The value of a function that returns nothing. */
type Nothing = ReturnType<() => void> | undefined;

type Returns<Value, Fit> = [Value] extends [Fit] ? unknown : (...given: never) => Promise<Fit> | Fit;

/**
 * The type that a returned value has to have by the schema of the results. A file is not checked, and a value of an
 * unknown type at run time only.
 */
type Fitting<Value, Schema extends z.ZodType> =
  unknown extends z.input<Schema>
    ? unknown
    : unknown extends Value
      ? unknown
      : Value extends FileResult
        ? unknown
        : Value extends OutcomeResult
          ? OutcomeResult<Shape<z.input<Schema>>>
          : Shape<z.input<Schema>>;

/**
 * The shape of a type. The compiler infers `string` where a handler returns "a", an array where it returns a tuple, and
 * gives interfaces no index: so they are no faults. Below some levels everything fits, as a schema can contain itself.
 */
type Shape<Value, Level extends unknown[] = []> = unknown extends Value
  ? unknown
  : Level["length"] extends 6
    ? unknown
    : Value extends undefined
      ? Nothing
      : Value extends string
        ? string
        : Value extends number
          ? number
          : Value extends boolean
            ? boolean
            : Value extends readonly unknown[]
              ? readonly Shape<Value[number], [...Level, 0]>[]
              : Value extends Date | bigint | symbol | null
                ? Value
                : string extends keyof Value
                  ? object
                  : { readonly [Key in keyof Value]: Shape<Value[Key], [...Level, 0]> };

/**
 * The result of a task: what its handler returns. That of a parent is what `aggregate` returns, or the numbers of its
 * children. Where a parent's handler spawned no child, and returned a value, this value is the result.
 */
export type ResultOfTask<Output, Aggregated, Parent> = [Aggregated] extends [never]
  ? ValueOf<Output>
  : [Aggregated] extends [NoAggregate]
    ? Output | ([Parent] extends [undefined] ? never : FamilyCounts)
    : Aggregated | ValueOf<Output>;

type ValueOf<Output> = Exclude<Output, Nothing>;
