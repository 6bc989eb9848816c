import type { Client } from "./client.ts";
import { CommandFailed, type Terminal } from "./terminal.ts";

/** A replay or discard of dead letters, as the API returns it. */
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

/** Polls an operation until it has ended, and shows its progress. */
export async function waitForEnd(client: Client, terminal: Terminal, operationId: string): Promise<Operation> {
  try {
    for (;;) {
      const operation = await client.get<Operation>(operationPath(operationId));
      if (hasEnded(operation)) return operation;
      terminal.progress(progressText(operation));
      await terminal.pause(pollMs);
    }
  } finally {
    terminal.endProgress();
  }
}

const hasEnded = ({ status }: Operation): boolean => ["completed", "failed", "cancelled", "expired"].includes(status);

/** Progress of an operation in one line. */
export function progressText({ status, matched, done, skipped, failed }: Operation): string {
  const rest = [...(skipped > 0 ? [`${skipped} skipped`] : []), ...(failed > 0 ? [`${failed} failed`] : [])];
  return `${status}: ${[`${done} of ${matched} done`, ...rest].join(", ")}`;
}

/** @throws CommandFailed when an operation ended without success for every dead letter */
export function requireSuccess(operation: Operation): void {
  if (operation.status !== "completed") {
    throw new CommandFailed(
      `the operation is ${operation.status}; for the reason run: npx offload tasks get ${operation.operation_id}`,
    );
  }
  if (operation.failed > 0) {
    throw new CommandFailed(`${operation.failed} of ${operation.matched} failed and are still dead letters`);
  }
}
