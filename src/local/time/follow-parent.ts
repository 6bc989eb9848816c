import { type Followed, isMoved, type Moved } from "./followers.ts";
import { moveDate, moveDateVariable, movedVariable, moveTo, resetTime, useMovedTime } from "./moved-time.ts";

/** Sets this process, which a server has started, to its time; with `--move-date` its `Date`, too. */
export function useTimeOfParent(env: NodeJS.ProcessEnv): void {
  useMovedTime(Number(env[movedVariable] ?? 0));
  if (env[moveDateVariable] === "1") moveDate();
}

/** The server's clock was moved: so is this one. The server hears of it. */
export function followed({ movedMs }: Moved): void {
  if (movedMs === 0) resetTime();
  moveTo(movedMs);
  sayFollowed();
}

function sayFollowed(): void {
  if (process.connected) process.send?.({ kind: "followed" } satisfies Followed, () => {});
}

/**
 * Sets this process to the server's time, and follows it. Node hands over no message twice: what comes for others,
 * before they listen, is kept for them. A process that no server has started has the machine's time.
 */
export function followParent(env: NodeJS.ProcessEnv): { passOn(): void } {
  if (env[movedVariable] === undefined) return { passOn: () => {} };
  useTimeOfParent(env);
  let early: object[] | undefined = [];
  process.on("message", (message: object) => {
    if (isMoved(message)) followed(message);
    else early?.push(message);
  });
  sayFollowed();
  return {
    passOn() {
      const kept = early ?? [];
      early = undefined;
      for (const message of kept) process.emit("message", message, undefined);
    },
  };
}
