import { setTimeout as sleep } from "node:timers/promises";
import type { ClockFile } from "./clock-file.ts";
import { tellFollowers } from "./followers.ts";
import { movedMs, moveTo, resetTime, serverNow } from "./moved-time.ts";

/** Pause between two looks at whether all is at rest, in milliseconds. */
const lookMs = 1;

/** Looks in a row that must find all at rest: what has just ended may be about to begin something. */
const restingLooks = 3;

/** Something that does what is due at a time. */
export interface Player {
  /** Epoch milliseconds of the next thing that it will do. Undefined: nothing waits in it. */
  nextAt(): number | undefined;
  /** The present work, in words. Undefined: the player is at rest. */
  busyWith(): string | undefined;
}

export interface MoverParts {
  file: ClockFile;
  players: readonly Player[];
  /** Deletes what is past its time, and looks for what nothing wakes. */
  tidy(): Promise<void>;
  /** Time from one tidying to the next, in milliseconds of the server's time. */
  tidyEachMs(): number;
}

/** Where a move goes: by a time, or to one. */
export type Destination = { byMs: number } | { toMs: number };

export interface Move {
  /** Called when the turn of the move has come: it returns where to go. What it throws moves nothing. */
  begin(): Promise<Destination>;
  /** Called when it has got there, or was stopped. */
  end(): Promise<void>;
}

/** A move that goes on. */
export interface Moving {
  /** Epoch milliseconds at which it began. */
  fromMs: number;
  /** Milliseconds that are left to move. */
  leftMs(): number;
  /** The work that the move waits for, in words. Undefined: the move waits for nothing. */
  waitsFor: string | undefined;
}

/**
 * Moves the server's clock. It plays all that is due in between, in the order of its time: it goes to the next thing
 * that is due, waits until that and all that follows from it has been done, and goes on. So a year is as many steps as
 * there are things to do in it, and nothing comes late or beside its time.
 */
export class Mover {
  readonly #parts: MoverParts;
  #turn: Promise<unknown> = Promise.resolve();
  #moving: Moving | undefined;
  #stopped = false;
  #tidiedAt = serverNow();

  constructor(parts: MoverParts) {
    this.#parts = parts;
  }

  get moving(): Moving | undefined {
    return this.#moving;
  }

  /** Moves the clock, after the moves that were asked for before. Returns true when it got there. */
  move({ begin, end }: Move): Promise<boolean> {
    return this.#inTurn(async () => {
      const to = await begin();
      const [fromMs, byMs] = [serverNow(), movedMs() + ("byMs" in to ? to.byMs : 0)];
      const leftMs = () => ("byMs" in to ? byMs - movedMs() : to.toMs - serverNow());
      this.#stopped = false;
      this.#moving = { fromMs, leftMs, waitsFor: undefined };
      try {
        await this.#play(this.#moving);
        await end();
        return !this.#stopped;
      } finally {
        this.#moving = undefined;
        this.#parts.file.write({ ahead_ms: movedMs() });
      }
    });
  }

  /** Sets the clock back to the machine's. */
  reset(prepare: () => Promise<void>): Promise<void> {
    return this.#inTurn(async () => {
      await prepare();
      this.#parts.file.write({ ahead_ms: 0 });
      await tellFollowers(0);
      resetTime();
      this.#tidiedAt = serverNow();
    });
  }

  /** Ends the present move where it is. */
  stop(): void {
    this.#stopped = true;
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const mine = this.#turn.then(work);
    this.#turn = mine.catch(() => {});
    return mine;
  }

  async #play(moving: Moving): Promise<void> {
    for (;;) {
      await this.#rest(moving);
      if (this.#stopped) return;
      const leftMs = moving.leftMs();
      if (leftMs <= 0) break;
      await this.#goOn(Math.min(Math.max(0, this.#nextAt() - serverNow()), leftMs), serverNow() + leftMs);
      if (serverNow() - this.#tidiedAt < this.#parts.tidyEachMs()) continue;
      this.#tidiedAt = serverNow();
      await this.#parts.tidy();
    }
  }

  #nextAt(): number {
    return Math.min(...this.#parts.players.map((player) => player.nextAt() ?? Number.POSITIVE_INFINITY));
  }

  /** Waits until nothing is under way, and nothing is due. */
  async #rest(moving: Moving): Promise<void> {
    for (let looks = 0; looks < restingLooks && !this.#stopped; looks++) {
      moving.waitsFor = this.#busyWith();
      if (moving.waitsFor !== undefined) looks = -1;
      await sleep(lookMs);
    }
  }

  #busyWith(): string | undefined {
    for (const player of this.#parts.players) {
      const work = player.busyWith();
      if (work !== undefined) return work;
    }
    return this.#nextAt() <= serverNow() ? "what is due now" : undefined;
  }

  async #goOn(byMs: number, untilMs: number): Promise<void> {
    const aheadMs = movedMs() + byMs;
    this.#parts.file.write({ ahead_ms: aheadMs, moving_to: new Date(untilMs).toISOString() });
    await tellFollowers(aheadMs);
    moveTo(aheadMs);
  }
}
