import type * as z from "zod";
import type { Counts } from "../model/counts.ts";
import type { ErrorKind } from "../model/errors.ts";
import type { Status } from "../model/status.ts";
import type { FileResult, OutcomeResult } from "./result.ts";

/** Options of a type that spawns children. */
export interface ChildrenOptions<Input> {
  threshold?: number | ((input: Input) => number);
  stopOnFailure?: boolean;
}

/** The compiler holds the option `children` against its names and types, of which it infers only that it is there. */
export interface ChildrenFit<Given, Input> {
  children?: [Given] extends [undefined]
    ? unknown
    :
        | (ChildrenOptions<Input> & {
            [Name in Exclude<keyof NonNullable<Given>, keyof ChildrenOptions<Input>>]: never;
          })
        | undefined;
}

/** A file that is a child's result. It can be read any number of times while the child's result is kept. */
export interface ChildFile {
  readonly contentType: string;
  /** Number of its bytes. */
  readonly bytes: number;
  /** Undefined: it has no name. */
  readonly fileName: string | undefined;
  /** Reads the file into memory as a whole. */
  read(): Promise<Uint8Array>;
  /** Streams the bytes. Memory holds some chunks at a time. */
  stream(): ReadableStream<Uint8Array>;
}

/** An ended child, for the handler that aggregates. */
export interface ChildResult<Result = unknown> {
  taskId: string;
  /** The key that it was spawned with. Default: its number, from 0. */
  key: string;
  status: Exclude<Status, "scheduled" | "pending" | "processing">;
  /** The JSON result, or `{ file }` for a file. Undefined: it did not complete, or its result is no longer kept. */
  result: Result | undefined;
  /** The file that is its result. Undefined: its result is none. */
  file: ChildFile | undefined;
  error: string | undefined;
  errorKind: ErrorKind | undefined;
}

/** Numbers of a task's ended children: its result where its type has no `aggregate`. */
export interface FamilyCounts extends Counts {
  total: number;
}

/** The ended children of a task. */
export interface Children<Result = unknown, Input = unknown> extends FamilyCounts {
  /** The task's input, as its handler gets it. Reading it throws when its schema refuses it now. */
  readonly input: Input;
  /** Iterates over all children in the order of their spawn, a page at a time. */
  results(): AsyncIterable<ChildResult<Result>>;
}

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
