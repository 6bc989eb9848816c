/** A file that a handler returns as the task's result. */
export class FileResult {
  readonly bytes: Uint8Array;
  readonly contentType: string;
  readonly fileName: string;

  constructor(bytes: Uint8Array, contentType: string, fileName: string) {
    this.bytes = bytes;
    this.contentType = contentType;
    this.fileName = fileName;
  }
}

/** A result with the task's outcome. */
export class OutcomeResult<Result = unknown> {
  readonly outcome: string;
  readonly result: Result;

  constructor(outcome: string, result: Result) {
    this.outcome = outcome;
    this.result = result;
  }
}

/**
 * Returns a file from a handler.
 * @param bytes The content, at most 300 KiB.
 * @example return file(pdf, { contentType: "application/pdf", fileName: "invoice-7.pdf" });
 */
export const file = (bytes: Uint8Array, options: { contentType: string; fileName: string }) =>
  new FileResult(bytes, options.contentType, options.fileName);

/**
 * Returns a result with an outcome: the task's own word for how it ended.
 * @param outcome 1 to 64 upper case letters, digits and `_`.
 * @example return withOutcome("OVER_CAPACITY", { free: 0 });
 */
export function withOutcome<Result>(outcome: string, result: Result): OutcomeResult<Result> {
  if (!/^[A-Z0-9_]{1,64}$/.test(outcome)) {
    throw new TypeError(`outcome must be 1 to 64 of A-Z, 0-9 and _, got ${JSON.stringify(outcome)}`);
  }
  return new OutcomeResult(outcome, result);
}

/** Largest JSON result in bytes that the status answer contains; larger ones are fetched by `result_url`. */
export const inlineResultBytes = 64 * 1024;
/** Largest JSON result in bytes that the record contains; larger ones, and files, are stored beside it. */
export const recordResultBytes = 4 * 1024;
/** The largest result in bytes: an item of the table holds 400 KB. */
export const largestResultBytes = 300 * 1024;
