import type { ChildProcess } from "node:child_process";
import { tellDistant } from "./distant-followers.ts";

/** The longest wait for a process's answer, in milliseconds. A late process has the message all the same. */
const answerMs = 1_000;

/** A server's message to its processes: what its clock is ahead of the machine's, in milliseconds. */
export interface Moved {
  movedMs: number;
}

/** A process's answer to it, and its first word: its clock is that of the server. */
export interface Followed {
  kind: "followed";
}

export const isMoved = (message: object): message is Moved => "movedMs" in message;

/** The processes that follow this one's clock. True: the process has said that it does. */
const followers = new Map<ChildProcess, boolean>();

/** Makes a process that was just started follow this one's clock. */
export function follow(child: ChildProcess): ChildProcess {
  followers.set(child, false);
  child.on("message", (message: Partial<Followed>) => {
    if (message.kind === "followed" && followers.has(child)) followers.set(child, true);
  });
  for (const event of ["exit", "error"]) child.once(event, () => followers.delete(child));
  return child;
}

/**
 * Tells all processes the time before this one has it: none gets work of a time that it does not have yet. A process
 * that is still starting reads the message before any other.
 */
export async function tellFollowers(movedMs: number): Promise<void> {
  const own = [...followers].map(([child, hasAnswered]) => tell(child, { movedMs }, hasAnswered));
  await Promise.all([...own, tellDistant(movedMs)]);
}

function tell(child: ChildProcess, message: Moved, waits: boolean): Promise<void> {
  return new Promise((resolve) => {
    if (!child.connected) return resolve();
    const timer = setTimeout(done, answerMs);
    child.on("message", hear);
    child.once("exit", done);
    child.send(message, (error) => {
      if (error !== null || !waits) done();
    });
    function hear({ kind }: Partial<Followed>) {
      if (kind === "followed") done();
    }
    function done() {
      clearTimeout(timer);
      child.off("message", hear);
      child.off("exit", done);
      resolve();
    }
  });
}
