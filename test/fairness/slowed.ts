import type { Clock } from "../../src/core/ports/tasks.ts";

/** Time of a call to AWS, in milliseconds. */
const callMs = 10;

/** Bytes that a function sends to S3, or reads from the table, in a millisecond. */
const bytesPerMs = 10_000;

const bytesOf = (value: unknown): number => {
  if (value instanceof Uint8Array) return value.byteLength;
  if (typeof value === "string") return value.length;
  if (typeof value !== "object" || value === null) return 0;
  return Object.values(value).reduce((sum: number, member) => sum + bytesOf(member), 0);
};

/** Returns a port each of whose answers takes time: some for the call, and more for many bytes. */
export function slowed<Port extends object>(port: Port, clock: Clock): Port {
  return new Proxy(port, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name, target);
      if (typeof member !== "function") return member;
      return (...given: unknown[]) => {
        const answer: unknown = member.apply(target, given);
        if (!(answer instanceof Promise)) return answer;
        return answer.then(async (value) => {
          const ms = callMs + (bytesOf(given) + bytesOf(value)) / bytesPerMs;
          await new Promise<void>((resolve) => void clock.after(ms, resolve));
          return value;
        });
      };
    },
  });
}
