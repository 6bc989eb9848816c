import { setTimeout as sleep } from "node:timers/promises";
import type { VictimServer } from "./server.ts";
import { among } from "./workload.ts";

/** Numbers of the harms done to the server and its workers. */
export const harms = ["workers killed", "workers frozen", "kills", "kills in start", "kills in shutdown"] as const;

export type Harm = (typeof harms)[number];
export type Harms = Record<Harm, number>;

export const noHarm = (): Harms => Object.fromEntries(harms.map((harm) => [harm, 0])) as Harms;

/** Longest freeze, in milliseconds: longer than a lease of 60 s, so that a frozen worker wakes up as a late one. */
const longFreezeMs = 75_000;
const shortFreezeMs = 6_000;

/** Longest time after which a starting or stopping server is killed, in milliseconds. */
const startMs = 2_500;
const shutdownMs = 800;

/** Harms a server and its workers at random. */
export class Killer {
  readonly done = noHarm();
  readonly #server: VictimServer;
  readonly #random: () => number;
  readonly #frozen = new Map<number, NodeJS.Timeout>();

  constructor(server: VictimServer, random: () => number) {
    this.#server = server;
    this.#random = random;
  }

  /** Goes on until `enough` returns true and at least the given number of harms was done. */
  async harmUntil(enough: () => boolean, least: number): Promise<void> {
    for (let count = 0; !enough() || count < least; count += 1) {
      await sleep(300 + this.#random() * 900);
      await this.#harmOnce();
    }
  }

  /** Kills the server once more, so that all leases end with the next start, and starts it. */
  async endLeases(): Promise<void> {
    await this.#harmServer();
  }

  /** Wakes up the frozen workers, which then may find that they are late, or that their server is dead. */
  thaw(): void {
    for (const [pid, timer] of this.#frozen) {
      clearTimeout(timer);
      signal(pid, "SIGCONT");
    }
    this.#frozen.clear();
  }

  async #harmOnce(): Promise<void> {
    if (this.#random() < 0.35) return this.#harmServer();
    const pids = this.#server.workers().filter((pid) => !this.#frozen.has(pid));
    if (pids.length === 0) return;
    const pid = among(pids, this.#random);
    if (this.#random() < 0.4) this.#freeze(pid);
    else if (signal(pid, "SIGKILL")) this.done["workers killed"] += 1;
  }

  async #harmServer(): Promise<void> {
    const kind = among(["kills", "kills in start", "kills in shutdown"] as const, this.#random);
    if (kind === "kills") await this.#server.kill();
    if (kind === "kills in start") await this.#server.killInStart(this.#random() * startMs);
    if (kind === "kills in shutdown") await this.#server.killInShutdown(this.#random() * shutdownMs);
    this.done[kind] += 1;
    await sleep(this.#random() * 500);
    await this.#server.start();
  }

  #freeze(pid: number): void {
    if (!signal(pid, "SIGSTOP")) return;
    this.done["workers frozen"] += 1;
    const ms = this.#random() < 0.1 ? longFreezeMs : this.#random() * shortFreezeMs;
    const timer = setTimeout(() => {
      this.#frozen.delete(pid);
      signal(pid, "SIGCONT");
    }, ms);
    this.#frozen.set(pid, timer);
  }
}

/** Returns false when the process has ended. */
function signal(pid: number, name: NodeJS.Signals): boolean {
  try {
    return process.kill(pid, name);
  } catch {
    return false;
  }
}
