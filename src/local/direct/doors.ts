import type { ChildProcess } from "node:child_process";
import { handOverBy } from "../../aws/metrics.ts";

/** Measurements of one invocation: a metric, its tier, and its values. */
export interface Measured {
  name: string;
  tier: string;
  values: readonly number[];
}

/** An emulator's answer, as it would be over HTTP. */
export interface Reply {
  readonly status: number;
  readonly body: Record<string, unknown>;
}

/** Does an operation of an emulator. It never rejects. */
export type Door = (operation: string, body: string) => Promise<Reply>;

export type Emulator = "dynamodb" | "sqs" | "events";

/** Ways to the emulators of this process without HTTP and signatures, which take most of the time of a small call. */
export interface Doors extends Readonly<Record<Emulator, Door>> {
  measured(measured: readonly Measured[]): void;
}

/** Variable of a worker process whose server answers its calls over the channel between them. */
export const doorsVariable = "OFFLOAD_LOCAL_DOORS";

let open: Doors | undefined;

/** The doors of this process. Undefined: clients call the emulators' addresses. */
export const doors = (): Doors | undefined => open;

/** Opens the doors of this process. Returns a function that closes them. */
export function openDoors(next: Doors): () => void {
  open = next;
  handOverBy(next.measured);
  return () => {
    open = undefined;
    handOverBy(() => {});
  };
}

/** Calls of one turn of a worker's event loop, and its measurements. */
export interface Calls {
  kind: "calls";
  calls: readonly (readonly [id: number, emulator: Emulator, operation: string, body: string])[];
  measured: readonly Measured[];
}

/** Answers to calls of a worker. */
export interface Replies {
  replies: readonly (readonly [id: number, reply: Reply])[];
}

export const hasReplies = (message: object): message is Replies => "replies" in message;

/** Answers the calls of a process over its channel, those that are answered in one turn of the event loop together. */
export function answerCalls(child: ChildProcess): void {
  let replies: (readonly [number, Reply])[] = [];
  const reply = (id: number, one: Reply) => {
    if (replies.push([id, one]) > 1) return;
    setImmediate(() => {
      if (child.connected) child.send({ replies } satisfies Replies, () => {});
      replies = [];
    });
  };
  child.on("message", (message: Partial<Calls>) => {
    if (message.kind !== "calls" || open === undefined) return;
    const { calls = [], measured = [] } = message;
    if (measured.length > 0) open.measured(measured);
    for (const [id, emulator, operation, body] of calls) {
      void open[emulator](operation, body).then((one) => reply(id, one));
    }
  });
}
