import type { createRequestHandler } from "local-aws-sqs";
import { DiskFault } from "../disk/disk-faults.ts";
import { ReceiptError } from "./receipt.ts";

/** The two classes of the library local-aws-sqs that this emulator changes: its service, and one of its queues. */
export type Service = ReturnType<typeof createRequestHandler>["service"];
export type Queue = Service["Queues"][number];

/** Error types and codes of the two wire protocols, for the errors that this emulator throws itself. */
const wireErrors = {
  InvalidMessageContents: { Type: "com.amazonaws.sqs#InvalidMessageContents" },
  InvalidParameterValue: { Type: "com.amazon.coral.service#InvalidParameterValueException" },
  ReceiptHandleIsInvalid: { Type: "com.amazonaws.sqs#ReceiptHandleIsInvalid" },
  ResourceNotFoundException: { Type: "com.amazonaws.sqs#ResourceNotFoundException", statusCode: 404 },
  MessageNotInflight: {
    Type: "com.amazonaws.sqs#MessageNotInflight",
    Code: "AWS.SimpleQueueService.MessageNotInflight",
  },
  InternalFailure: { Type: "com.amazon.coral.service#InternalFailure", statusCode: 500, SenderFault: false },
} as const;

type WireError = new (error: {
  Code: string;
  Type: string;
  Message: string;
  statusCode?: number;
  SenderFault?: boolean;
}) => Error;

export type Failures = ReturnType<typeof failures>;

/**
 * Creates errors of the library's own class. The library answers only those properly, but does not export the class.
 */
export function failures(queue: Queue) {
  const WireError = errorClass(queue);
  const because = (code: keyof typeof wireErrors, message: string) =>
    new WireError({ Code: code, Message: message, ...wireErrors[code] });
  function translate(work: () => void): true {
    try {
      work();
      return true;
    } catch (error) {
      throw error instanceof ReceiptError ? because(error.code, error.message) : error;
    }
  }
  /** The same operations, with SQS's internal failure when a queue cannot be written. */
  function withFaults<Operations extends object>(operations: Operations): Operations {
    const guarded = Object.entries(operations).map(([name, operation]) => [name, guard(operation)]);
    return Object.fromEntries(guarded) as Operations;
  }
  const guard =
    (operation: (...input: unknown[]) => unknown) =>
    (...input: unknown[]) => {
      try {
        const answer = operation(...input);
        return answer instanceof Promise ? answer.catch(rethrow) : answer;
      } catch (error) {
        return rethrow(error);
      }
    };
  function rethrow(error: unknown): never {
    throw error instanceof DiskFault ? because("InternalFailure", error.message) : error;
  }
  return { because, translate, withFaults };
}

function errorClass(queue: Queue): WireError {
  try {
    queue.delete("");
  } catch (error) {
    return Object.getPrototypeOf((error as Error).constructor) as WireError;
  }
  throw new Error("the installed version of local-aws-sqs is not supported: it accepts an empty receipt handle");
}
