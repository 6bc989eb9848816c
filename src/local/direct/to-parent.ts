/**
 * Sends a message to the process that started this one, if it still lives. Without the callback, the error of a send
 * would be an exception that no code catches, whose report would be the next send.
 */
export function toParent(message: object): void {
  process.send?.(message, () => {});
}
