import { Problem } from "../model/problem.ts";
import { mostValueBytes } from "./json-value.ts";
import { isSignalName } from "./step-names.ts";

/**
 * Checks a signal that a client sends.
 * @param body JSON.
 * @throws Problem `invalid_input` for its name, `too_large` for its body
 */
export function checkSignal(name: string, body: unknown): void {
  if (!isSignalName(name)) {
    const message = 'expected 1 to 64 letters, digits, ".", "_" or "-"';
    throw new Problem("invalid_input", `name: ${message}`, { errors: [{ path: "/name", message }] });
  }
  if (Buffer.byteLength(JSON.stringify(body)) > mostValueBytes) {
    throw new Problem("too_large", `A signal has at most ${mostValueBytes} bytes.`);
  }
}
