import type { Client } from "./client.ts";
import { Failure, type Terminal } from "./terminal.ts";

/** An operation, as the API shows it. */
export interface Operation {
  operation_id: string;
  status: string;
  matched: number;
  done: number;
  skipped: number;
  failed: number;
}

const pollMs = 1_000;

export const operationPath = (operationId: string): string => `/operations/${encodeURIComponent(operationId)}`;

/** Follows an operation to its end. */
export async function follow(client: Client, terminal: Terminal, operationId: string): Promise<Operation> {
  try {
    for (;;) {
      const operation = await client.get<Operation>(operationPath(operationId));
      if (hasEnded(operation)) return operation;
      terminal.progress(inWords(operation));
      await terminal.pause(pollMs);
    }
  } finally {
    terminal.endProgress();
  }
}

const hasEnded = ({ status }: Operation): boolean => ["completed", "failed", "cancelled", "expired"].includes(status);

/** How far an operation is, in one line. */
export function inWords({ status, matched, done, skipped, failed }: Operation): string {
  const rest = [...(skipped > 0 ? [`${skipped} skipped`] : []), ...(failed > 0 ? [`${failed} failed`] : [])];
  return `${status}: ${[`${done} of ${matched} done`, ...rest].join(", ")}`;
}

/** @throws Failure when an operation that has ended did not do all it was to do */
export function mustHaveSucceeded(operation: Operation): void {
  if (operation.status !== "completed") {
    throw new Failure(`the operation is ${operation.status}: npx offload tasks get ${operation.operation_id} says why`);
  }
  if (operation.failed > 0) {
    throw new Failure(`${operation.failed} of ${operation.matched} failed, and are dead letters still`);
  }
}
