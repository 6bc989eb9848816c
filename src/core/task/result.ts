import type * as z from "zod";
import { knowCopies } from "../../util/copies.ts";
import { isMediaType } from "../../util/media-type.ts";
import { type ErrorKind, Misuse } from "../model/errors.ts";
import type { Counts } from "../model/family-node.ts";
import type { Status } from "../model/words.ts";
import type { Bytes, Disk } from "../ports/blob.ts";

/** Content of a file: bytes, a `Blob`, a stream of bytes, or the path of a file on the worker's disk. */
export type FileSource = Uint8Array | ArrayBuffer | Blob | AsyncIterable<Uint8Array | string> | string;

/** A file that a handler returns as the task's result. */
export class FileResult {
  readonly source: FileSource;
  readonly contentType: string;
  /** Undefined: clients choose a name. */
  readonly fileName: string | undefined;

  constructor(source: FileSource, contentType: string, fileName?: string) {
    this.source = source;
    this.contentType = contentType;
    this.fileName = fileName;
  }

  static {
    knowCopies(FileResult, "FileResult");
  }

  /**
   * The content of a file that was made from bytes.
   * @throws TypeError for another source
   */
  get bytes(): Uint8Array {
    if (this.source instanceof Uint8Array) return this.source;
    throw new TypeError("the file was not made from bytes");
  }

  /** Only a whole result can be a file: one within a value is empty, and is refused as such. */
  toJSON(): object {
    return {};
  }
}

/** The content of a file as bytes. A path is opened when it is read. */
export function bytesOf(source: FileSource, disk: Disk): Uint8Array | Bytes {
  if (source instanceof Uint8Array) return source;
  if (source instanceof ArrayBuffer) return new Uint8Array(source);
  if (typeof source === "string") return disk.read(source);
  return encodedChunks(source instanceof Blob ? source.stream() : source);
}

/** Streams of Node.js may give text. */
async function* encodedChunks(source: AsyncIterable<Uint8Array | string>): AsyncGenerator<Uint8Array> {
  for await (const chunk of source) yield typeof chunk === "string" ? Buffer.from(chunk, "utf8") : chunk;
}

/** A result with the task's outcome. */
export class OutcomeResult<Result = unknown> {
  readonly outcome: string;
  readonly result: Result;
  /** The resource that the task made. Undefined: the result itself is served. */
  readonly location: string | undefined;

  constructor(outcome: string, result: Result, location?: string) {
    this.outcome = outcome;
    this.result = result;
    this.location = location;
  }

  /** Only a whole result has an outcome: one within a value is empty, and is refused as such. */
  toJSON(): object {
    return {};
  }

  static {
    knowCopies(OutcomeResult, "OutcomeResult");
  }
}

/**
 * Returns a file from a handler. Up to 300 KiB are stored with the task; a larger file is streamed to the bucket while
 * the attempt lasts.
 * @param source Bytes, a `Blob`, a stream, an async iterable of bytes, or the path of a file; at most 5 GiB.
 * @example return file(pdf, { contentType: "application/pdf", fileName: "invoice-7.pdf" });
 * @example return file("/tmp/report.csv", { contentType: "text/csv", fileName: "report.csv" });
 * @param options.contentType A media type in ASCII, at most 255 characters.
 * @param options.fileName What a browser saves it as: the last part of a path, without line breaks and other invisible
 * characters.
 * @throws TypeError for a content type or name that no header can have
 */
export function file(source: FileSource, options: { contentType: string; fileName?: string }): FileResult {
  const { contentType, fileName } = options ?? {};
  if (!isSource(source)) {
    throw new Misuse("file: the source must be bytes, a Blob, a stream of bytes, or the path of a file");
  }
  const fault = headerFault(contentType, fileName);
  if (fault !== undefined) throw new Misuse(`file: ${fault}`);
  return new FileResult(source, contentType, fileName);
}

/**
 * Returns why a media type or a name cannot be a header. A name may be any text, as long as no character is cut in
 * half.
 */
export function headerFault(contentType: unknown, fileName: unknown): string | undefined {
  if (typeof contentType !== "string" || !isMediaType(contentType)) {
    return `contentType must be a media type in ASCII, got ${JSON.stringify(contentType)}`;
  }
  if (fileName === undefined || (typeof fileName === "string" && fileName.isWellFormed())) return undefined;
  return `fileName must be text without half characters, got ${JSON.stringify(fileName)}`;
}

const isSource = (source: unknown): boolean =>
  typeof source === "string" ||
  source instanceof Uint8Array ||
  source instanceof ArrayBuffer ||
  source instanceof Blob ||
  (typeof source === "object" && source !== null && Symbol.asyncIterator in source);

/** A path on the same host, or a URL: a client is sent there, so that it must not depend on who reads it. */
const place = /^(\/(?!\/)|https?:\/\/)[\x21-\x7e]*$/;

/**
 * Returns a result with an outcome: the task's own word for how it ended.
 * @param outcome 1 to 64 upper case letters, digits and `_`.
 * @param options.location A path such as `/orders/42`, or a URL, of the resource that the task made: `GET .../result`
 * answers 303 to it.
 * @example return withOutcome("OVER_CAPACITY", { free: 0 });
 * @example return withOutcome("CREATED", order, { location: `/orders/${order.id}` });
 * @throws TypeError
 */
export function withOutcome<Result>(
  outcome: string,
  result: Result,
  { location }: { location?: string } = {},
): OutcomeResult<Result> {
  if (typeof outcome !== "string" || !/^[A-Z0-9_]{1,64}$/.test(outcome)) {
    throw new Misuse(`withOutcome: outcome must be 1 to 64 of A-Z, 0-9 and _, got ${JSON.stringify(outcome)}`);
  }
  if (location !== undefined && (!place.test(location) || location.length > 2048)) {
    throw new Misuse(`withOutcome: location must be a path or URL in ASCII, got ${JSON.stringify(location)}`);
  }
  return new OutcomeResult(outcome, result, location);
}

/** Largest JSON result in bytes that the status answer contains; larger ones are fetched by `result_url`. */
export const inlineResultBytes = 64 * 1024;
/** Largest JSON result in bytes that the record contains; larger ones, and files, are stored beside it. */
export const recordResultBytes = 4 * 1024;
/**
 * The largest result in bytes that is stored beside the record: an item of the table holds 400 KB. Larger ones go to
 * the bucket.
 */
export const largestResultBytes = 300 * 1024;

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
interface FamilyCounts extends Counts {
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
