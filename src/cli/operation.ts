import type { Client, OperationView } from "../client/index.ts";
import { CommandFailed, type Terminal } from "./terminal.ts";

const pollMs = 1_000;

/** Polls an operation until it has ended, and shows its progress. */
export async function waitForEnd(client: Client, terminal: Terminal, operationId: string): Promise<OperationView> {
  try {
    for (;;) {
      const operation = await client.deadLetters.operation(operationId);
      if (hasEnded(operation)) return operation;
      terminal.progress(progressText(operation));
      await terminal.pause(pollMs);
    }
  } finally {
    terminal.endProgress();
  }
}

const hasEnded = ({ status }: OperationView): boolean =>
  ["completed", "failed", "cancelled", "expired"].includes(status);

/** Progress of an operation in one line. */
export function progressText({ status, matched, done, skipped, failed }: OperationView): string {
  const rest = [...(skipped > 0 ? [`${skipped} skipped`] : []), ...(failed > 0 ? [`${failed} failed`] : [])];
  return `${status}: ${[`${done} of ${matched} done`, ...rest].join(", ")}`;
}

/** @throws CommandFailed when an operation ended without success for every dead letter */
export function requireSuccess(operation: OperationView): void {
  if (operation.status !== "completed") {
    throw new CommandFailed(
      `the operation is ${operation.status}; for the reason run: npx offload tasks get ${operation.operation_id}`,
    );
  }
  if (operation.failed > 0) {
    throw new CommandFailed(`${operation.failed} of ${operation.matched} failed and are still dead letters`);
  }
}
