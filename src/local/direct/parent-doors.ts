import { type Calls, type Door, type Doors, type Emulator, hasReplies, type Measured, type Reply } from "./doors.ts";
import { toParent } from "./to-parent.ts";

/** Doors to the emulators of the process that started this one. It reads the messages of that process. */
export function doorsOfParent(): Doors {
  const waiting = new Map<number, (reply: Reply) => void>();
  let calls: Calls["calls"][number][] = [];
  let measured: Measured[] = [];
  let nextId = 1;
  let isDue = false;
  const sendSoon = () => {
    if (isDue) return;
    isDue = true;
    setImmediate(() => {
      isDue = false;
      toParent({ kind: "calls", calls, measured } satisfies Calls);
      calls = [];
      measured = [];
    });
  };
  process.on("message", (message: object) => {
    if (!hasReplies(message)) return;
    for (const [id, reply] of message.replies) {
      waiting.get(id)?.(reply);
      waiting.delete(id);
    }
  });
  const door =
    (emulator: Emulator): Door =>
    (operation, body) =>
      new Promise((resolve) => {
        const id = nextId++;
        waiting.set(id, resolve);
        calls.push([id, emulator, operation, body]);
        sendSoon();
      });
  return {
    dynamodb: door("dynamodb"),
    sqs: door("sqs"),
    events: door("events"),
    measured: (more) => {
      measured.push(...more);
      sendSoon();
    },
  };
}
