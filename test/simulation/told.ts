import { endId } from "../../src/core/model/idempotency.ts";
import type { TaskKey, TaskRecord } from "../../src/core/model/record.ts";
import { isTerminal } from "../../src/core/model/words.ts";
import type { Notice, WebhookRequest } from "../../src/core/ports/notify.ts";
import type { Deliveries } from "../../src/core/ports/webhooks.ts";
import { ReceiverLaws } from "./receivers.ts";

/** An end of a task that somebody has to be told of. */
interface End {
  key: TaskKey;
  taskId: string;
  /** Its status. Where two tasks share this end: the statuses of both. */
  statuses: string[];
  /** True when the client asked for a webhook. */
  hasWebhook: boolean;
  /** Notices of it. */
  notices: number;
  /** Requests to the receiver, and those that it accepted. */
  posts: number;
  accepted: number;
  /** Time that the first webhook had. */
  timestamp: string | undefined;
}

/** Ends of tasks, and the notices of them. */
export class Told {
  /** Notices of ends that nobody asked for, or that did not happen. */
  readonly wrong: { text: string; taskId: string }[] = [];
  readonly receivers: ReceiverLaws;
  readonly #ends = new Map<string, End>();
  /** Ends that nobody could tell of in time. A late notice of one is right. */
  readonly #late = new Set<string>();
  /** Tasks whose record came back from a dead letter, which does not say when the task was created: notices of their earlier end have other ids. */
  readonly #lost = new Set<string>();
  readonly #mustTell: (record: TaskRecord) => boolean;

  /**
   * @param mustTell True for a task whose end has a subscriber.
   * @param hasReceivers True: the tenants have receivers of webhooks.
   */
  constructor(mustTell: (record: TaskRecord) => boolean, hasReceivers: boolean) {
    this.receivers = new ReceiverLaws(hasReceivers);
    this.#mustTell = mustTell;
  }

  changed(before: TaskRecord, after: TaskRecord): void {
    if (isTerminal(before.status) || !isTerminal(after.status) || !this.#mustTell(after)) return;
    const { tenant_id, task_id, status, callback } = after;
    this.receivers.ended(after);
    const id = endId(after);
    // Of a lost task, and of one that was created again in its millisecond, the ends have one id, and one webhook.
    const lost = this.#lost.has(task_id) ? this.#ends.get(id) : undefined;
    this.#ends.set(id, {
      ...{ notices: 0, posts: 0, accepted: 0, timestamp: undefined },
      ...lost,
      ...{ key: { tenant_id, task_id }, taskId: task_id, hasWebhook: callback !== undefined },
      statuses: [...(lost?.statuses ?? []), status],
    });
  }

  notice(notice: Notice): void {
    if (notice.kind !== "end") return;
    const { id, task_id: taskId, task } = notice;
    const end = this.#ends.get(id);
    const wrong = (text: string) => this.wrong.push({ text, taskId });
    if (end === undefined && this.#lost.has(taskId)) return void this.receivers.excused(id);
    if (end === undefined) return void wrong("told of an end without a subscriber, or that did not happen");
    if (end.taskId !== taskId) wrong("told of the end of another task");
    if (!end.statuses.includes(task.status)) wrong(`told that it is ${task.status}, and it ended ${end.statuses}`);
    end.notices += 1;
    this.receivers.told(id);
  }

  /** A webhook arrived at its receiver. */
  posted(request: WebhookRequest, accepts: boolean): void {
    if (this.receivers.posted(request, accepts)) return;
    const { headers, body } = request;
    const end = this.#ends.get(headers["webhook-id"] ?? "");
    const wrong = (text: string) => this.wrong.push({ text, taskId: end?.taskId ?? "" });
    if (end === undefined) return void wrong("a webhook of an end that did not happen");
    if (!end.hasWebhook) wrong("a webhook that nobody asked for");
    const { type, timestamp } = JSON.parse(body) as { type: string; timestamp: string };
    if (!end.statuses.some((status) => type === `task.${status}`)) wrong(`a webhook says ${type}`);
    // Two notices of one end may differ in the retention, and in the children that have ended since.
    if (end.timestamp !== undefined && end.timestamp !== timestamp) wrong("a webhook has another time than at first");
    end.timestamp = timestamp;
    end.posts += 1;
    if (accepts) end.accepted += 1;
  }

  /**
   * Laws of webhooks at rest: each is delivered or given up, within its tries.
   * @param spare Requests more than its tries that one webhook may cost.
   */
  async brokenWebhooks(deliveries: Deliveries, spare: number): Promise<{ text: string; taskId: string }[]> {
    const ends = [...this.#ends].filter(([, { hasWebhook, notices }]) => hasWebhook && notices > 0);
    const broken = ends.map(async ([id, { key, taskId, posts, accepted }]) => {
      const delivery = await deliveries.get(key, id);
      const law = (holds: boolean, text: string) => (holds ? [] : [{ taskId, text }]);
      if (delivery === undefined) return law(false, "its webhook was never tried");
      const { state, tries } = delivery;
      const gaveUp = tries.length === 8 || tries.at(-1)?.status === 410;
      return [
        ...law(state !== "pending", `its webhook waits forever, after ${tries.length} tries`),
        ...law(
          state !== "delivered" || accepted > 0,
          "its webhook counts as delivered, and no receiver has accepted it",
        ),
        ...law(state !== "failed" || gaveUp, `its webhook was given up after ${tries.length} tries`),
        ...law(tries.length <= 8 && posts <= tries.length + spare, `its webhook was sent ${posts} times`),
      ];
    });
    return (await Promise.all(broken)).flat();
  }

  /** The table has lost the record of a task that has ended. */
  lost(taskId: string): void {
    this.gone(taskId);
    this.#lost.add(taskId);
  }

  /** The retention of a task has ended, and the table has deleted its record, or has another task's: nobody can tell of its ends any more. */
  gone(taskId: string): void {
    for (const [id, end] of this.#ends) if (end.taskId === taskId && end.notices === 0) this.#late.add(id);
  }

  /**
   * Laws at rest: each end is told, and not more often than its messages and clients explain.
   * @param most Most notices of one end of a task.
   * @param accepted True for a task whose end must be told.
   */
  broken(most: (taskId: string) => number, accepted: (taskId: string) => boolean): { text: string; taskId: string }[] {
    const broken = [...this.#ends].flatMap(([id, { taskId, statuses, notices }]) => {
      if (notices === 0 && !this.#late.has(id) && accepted(taskId))
        return [{ taskId, text: `nobody was told that it ${statuses.at(-1)}` }];
      if (notices > most(taskId)) return [{ taskId, text: `${notices} notices of one end` }];
      return [];
    });
    return [...this.wrong, ...broken];
  }
}
