import type { Change } from "../../src/core/model/change.ts";
import type { Invocation } from "./invocation.ts";

/** Requests for one task. */
interface Cost {
  /** By workers and redrive. */
  sends: number;
  /** Those of redrive. */
  redriveSends: number;
  /** By clients, and by the functions that they call. */
  clientSends: number;
  receives: number;
  writes: number;
  /** Moves to another tier. */
  moves: number;
  /** Times at which a submit made it due later. */
  postponed: number;
  /** Writes for the turn of tasks with one unique key. */
  looks: number;
  /** Deliveries in a batch with a task that must run alone: for one of a long type, the rest of the batch is sent back. */
  besideAlone: number;
  /** Times that it was put into a line. */
  parks: number;
  /** Times that a sweep of its DLQ received a letter of it. */
  swept: number;
  /** Backup messages of a task that a worker takes from its line. */
  backups: number;
}

/** Events that are allowed to cost more requests. */
export interface Excuses {
  /** Faults of the world: lost answers, duplicates, outages, and so on. */
  troubles: number;
  /** Processes that ended with a batch: each gives its messages back. */
  deaths: number;
}

/** Counts messages, receives and writes. */
export class Costs {
  /** Processes of workers that ended in the middle of a batch. */
  deaths = 0;
  readonly #byTask = new Map<string, Cost>();
  /** Requests for earlier tasks with the same id, whose ends are judged with those of the later one. */
  readonly #earlier = new Map<string, Pick<Cost, "receives" | "clientSends">>();

  sent(from: Invocation, taskId: string, isBackup: boolean): void {
    const cost = this.#of(taskId);
    if (isBackup) cost.backups += 1;
    if (from.kind === "worker" || from.kind === "redrive") cost.sends += 1;
    else cost.clientSends += 1;
    if (from.kind === "redrive") cost.redriveSends += 1;
  }

  /** A new task may have the id of one whose retention has ended. */
  begin(taskId: string): void {
    this.#earlier.set(taskId, this.#withEarlier(taskId));
    this.#byTask.delete(taskId);
  }

  receivesOf(taskIds: Iterable<string>): number {
    return [...taskIds].reduce((sum, taskId) => sum + this.#withEarlier(taskId).receives, 0);
  }

  /** Messages of a task that clients caused: a retry sends some, and tells again of the end before it. */
  clientSendsOf(taskId: string): number {
    return this.#withEarlier(taskId).clientSends;
  }

  #withEarlier(taskId: string): Pick<Cost, "receives" | "clientSends"> {
    const { receives, clientSends } = this.#of(taskId);
    const earlier = this.#earlier.get(taskId) ?? { receives: 0, clientSends: 0 };
    return { receives: receives + earlier.receives, clientSends: clientSends + earlier.clientSends };
  }

  /** True for a task of which a message was ever sent. */
  wasSent(taskId: string): boolean {
    const { sends, clientSends } = this.#of(taskId);
    return sends + clientSends > 0;
  }

  received(taskId: string): void {
    this.#of(taskId).receives += 1;
  }

  parked(taskId: string): void {
    this.#of(taskId).parks += 1;
  }

  postponed(taskId: string): void {
    this.#of(taskId).postponed += 1;
  }

  /** A task that waits for its turn was looked at or started, or one was cancelled for it. */
  lookedAt(taskId: string): void {
    this.#of(taskId).looks += 1;
  }

  moved(taskId: string): void {
    this.#of(taskId).moves += 1;
  }

  swept(taskId: string): void {
    this.#of(taskId).swept += 1;
  }

  deliveredBesideAlone(taskId: string): void {
    this.#of(taskId).besideAlone += 1;
  }

  /** Renewals of a lease and reports of progress follow the attempt's duration, and do not count. */
  written(from: Invocation, taskId: string, { set }: Change): void {
    const renewal = set?.lease_until !== undefined && set.status === undefined;
    if (from.kind !== "worker" && from.kind !== "redrive") return;
    if (!renewal && set?.progress === undefined) this.#of(taskId).writes += 1;
  }

  /**
   * The laws of cost that a task breaks.
   * @param attempts Attempts that were claimed.
   * @param parentClaims Attempts of the task whose handler submitted this one: each repeats its submit.
   * @param childReceives Deliveries of the messages of its children: each may find that the family is full, and close it.
   */
  broken(
    taskId: string,
    attempts: number,
    { parentClaims, childReceives }: { parentClaims: number; childReceives: number },
    { troubles, deaths }: Excuses,
  ): string[] {
    const { sends, redriveSends, clientSends, receives, writes, moves, postponed } = this.#of(taskId);
    const { looks, besideAlone, parks, swept, backups } = this.#of(taskId);
    // The safety message of a client's retry goes through redrive once in each of its round's long attempts.
    const circling = Math.min(redriveSends, 4 * Math.max(0, clientSends - 1));
    // Each move may find every message of the task in another tier, which sends it on.
    const sentOn = moves * (clientSends + parentClaims + 1);
    // Each message of a task whose due time moved is sent anew when it comes early.
    const early = 2 * postponed * Math.max(1, clientSends);
    // A backup message is sent once for a place in a line, and once more in each attempt that it finds at work.
    const backedUp = Math.min(backups, parks * attempts);
    // Each further message of a task that waits for its turn looks, too, and is sent anew.
    const turns = looks === 0 ? 0 : 2 * Math.max(0, clientSends - 1);
    // Two requests to cancel the children of one parent may come at one time: both try to end a child, and note it.
    const cancels = parentClaims > 0 ? 2 : 0;
    const resent = besideAlone + circling + sentOn + early + parks + backedUp + turns;
    const most = {
      sends: attempts + 2 + parentClaims + 3 * troubles + deaths + childReceives + resent,
      // A second message of a running task looks at each end of its lease, and goes through redrive after five looks.
      receives: 2 * attempts + 8 * (sends + clientSends) + 6 * troubles + 3 * deaths,
      // By a pause, a rate and for places before each attempt, and once more by a grant that came too late.
      parks: 4 * (attempts + 1) + 3 * troubles + deaths + clientSends,
      // Messages that meet at an expired task each try to end it. A sweep looks at each letter by a write.
      writes:
        2 * attempts +
        receives +
        1 +
        Math.max(1, clientSends) +
        3 * troubles +
        deaths +
        childReceives +
        swept +
        cancels +
        // Two looks at one time may try the same write.
        2 * looks,
    };
    const counted = { sends, receives, writes, parks };
    return (["sends", "receives", "writes", "parks"] as const)
      .filter((what) => counted[what] > most[what])
      .map((what) => `cost: ${counted[what]} ${what} for ${attempts} attempts, at most ${most[what]} expected`);
  }

  #of(taskId: string): Cost {
    const cost = this.#byTask.get(taskId) ?? {
      sends: 0,
      redriveSends: 0,
      clientSends: 0,
      receives: 0,
      writes: 0,
      moves: 0,
      postponed: 0,
      looks: 0,
      besideAlone: 0,
      parks: 0,
      swept: 0,
      backups: 0,
    };
    this.#byTask.set(taskId, cost);
    return cost;
  }
}
