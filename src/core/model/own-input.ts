/**
 * Makes each read of the input an object of its own, so that code that changes its input changes no message that is
 * sent again, and no dead letter. The first read gets the object that is there; only the code that keeps or sends the
 * envelope, after the handler, parses it anew.
 */
export function withOwnInputs<Message extends { input?: unknown }>(envelope: Message, again: () => unknown): Message {
  let first = envelope.input;
  if (typeof first !== "object" || first === null) return envelope;
  return Object.defineProperty(envelope, "input", {
    enumerable: true,
    configurable: true,
    get: () => {
      const input = first ?? again();
      first = undefined;
      return input;
    },
  });
}
