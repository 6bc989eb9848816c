import type { Counts } from "../model/counts.ts";
import type { ErrorKind } from "../model/errors.ts";
import type { Status } from "../model/status.ts";

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
