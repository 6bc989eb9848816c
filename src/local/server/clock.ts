import type { PurgePayload } from "../../core/schedules/rule-input.ts";
import type { LocalSettings } from "../deployment/settings.ts";
import { ClockFile } from "../time/clock-file.ts";
import { moveDateVariable, movedMs, serverNow, useMovedTime } from "../time/moved-time.ts";
import { type Destination, Mover, type Moving, type Player } from "../time/mover.ts";
import { type Counts, kindOf, none, Played, spanInWords } from "./played.ts";

const dailyKind: PurgePayload["kind"] = "purge_blobs";

/** Time between two daily looks in a move, in milliseconds. */
const lookEachMs = 30 * 86_400_000;

/** The outcome of a move. */
export interface Moved {
  /** False: it was stopped on its way. */
  arrived: boolean;
  /** Seconds by which the server's time went on. */
  seconds: number;
  did: Counts;
}

/** The parts of a server that its clock moves. */
export interface ClockParts {
  players: readonly Player[];
  /** File of the lines of tasks. */
  logFile: string;
  /** Deletes what is past its time, and looks for open tasks that nothing wakes. */
  tidy(): Promise<void>;
  /** Time from one tidying to the next, in milliseconds of the server's time. */
  tidyEachMs(): number;
  /** The ids of the tasks that have expired by their records, and are not ended yet. */
  readExpired(): Promise<string[]>;
  /**
   * Makes the server ready for a clock that is set back.
   * @throws Problem `conflict` when it has tasks or schedules
   */
  prepareReset(): Promise<void>;
  /** Makes what remembers times of before forget them. */
  afterReset(): Promise<void>;
}

/** The server's clock, which users move. */
export class ServerClock {
  readonly #file: ClockFile;
  #lookedAt = Number.NEGATIVE_INFINITY;
  #parts: ({ mover: Mover; played: Played } & Pick<ClockParts, "prepareReset" | "afterReset">) | undefined;

  constructor(file: ClockFile) {
    this.#file = file;
  }

  /** Makes it movable. Call this when the server has started. */
  start(parts: ClockParts): void {
    const { players, tidy, tidyEachMs, logFile, readExpired, ...rest } = parts;
    const mover = new Mover({ file: this.#file, players, tidy, tidyEachMs });
    this.#parts = { mover, played: new Played(logFile, readExpired), ...rest };
  }

  /** The move that goes on. */
  get moving(): Moving | undefined {
    return this.#parts?.mover.moving;
  }

  /** Makes the function that schedules call count its calls, and passes over those that a move needs not make. */
  counting(fire: (payload: unknown) => Promise<void>): (payload: unknown) => Promise<void> {
    return async (payload) => {
      if (this.#fires(payload)) await fire(payload);
    };
  }

  /**
   * Returns false for a firing that is passed over: Offload's daily look at the stored objects of 40 days, of which a
   * move makes one a month. The look at the table is a part of `tidy`.
   */
  #fires(payload: unknown): boolean {
    this.#parts?.played.fired(payload);
    if (kindOf(payload) !== dailyKind) return true;
    if (this.moving !== undefined && serverNow() - this.#lookedAt < lookEachMs) return false;
    this.#lookedAt = serverNow();
    return true;
  }

  /**
   * Moves the clock, and resolves when all that was due has been done. See `Mover.move`.
   * @throws what `begin` throws; DiskFault
   */
  async move(begin: () => Destination): Promise<Moved> {
    const { mover, played } = this.#started();
    let fromMs = serverNow();
    let did: Counts | undefined;
    const arrived = await mover.move({
      begin: async () => {
        const to = begin();
        await played.begin();
        fromMs = serverNow();
        return to;
      },
      end: async () => {
        did = await played.end();
      },
    });
    return { arrived, seconds: (serverNow() - fromMs) / 1000, did: did ?? none };
  }

  /** Sets the clock back to the machine's. @throws Problem `conflict` when the server has tasks or schedules */
  async reset(): Promise<void> {
    const { mover, prepareReset, afterReset } = this.#started();
    await mover.reset(prepareReset);
    await afterReset();
  }

  /** Ends the present move where it is. */
  stop(): void {
    this.#parts?.mover.stop();
  }

  close(): void {
    this.stop();
    this.#parts?.played.close();
  }

  #started() {
    if (this.#parts === undefined) throw new Error("the server is still starting");
    return this.#parts;
  }
}

/**
 * Opens the clock of a state folder, which stands where it stood. A server's processes have its time from now on.
 * @throws Error with one line for a file that cannot be read
 */
export function openClock({ stateDir, moveDate }: LocalSettings, print: (line: string) => void): ServerClock {
  const file = new ClockFile(stateDir);
  const { ahead_ms: aheadMs, moving_to: to } = file.read();
  useMovedTime(aheadMs);
  process.env[moveDateVariable] = moveDate === true ? "1" : "0";
  if (aheadMs > 0) {
    const ahead = spanInWords(movedMs() / 1000);
    print(`The server's time is ${new Date(serverNow()).toISOString()}, ${ahead} ahead (npx offload clock).`);
  }
  if (to !== undefined) print(`It was on its way to ${to} when the server ended. To go on: npx offload clock ${to}`);
  return new ServerClock(file);
}
