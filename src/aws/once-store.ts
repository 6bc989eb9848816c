import type { Counters, OnceState, OnceStore } from "../core/ports/tasks.ts";
import type { DynamoTable } from "./dynamo-table.ts";
import { storedJson } from "./stored-json.ts";
import { keys } from "./table.ts";

/** Results of `task.once`: one item for each tenant and key. The item is a lock first, and later holds the result. */
export class DynamoOnceStore implements OnceStore {
  readonly #table: DynamoTable;

  constructor(table: DynamoTable) {
    this.#table = table;
  }

  async begin(once: Parameters<OnceStore["begin"]>[0]): Promise<OnceState> {
    const key = keys.once(once.tenantId, once.key);
    const lock = { ...key, state: "held", owner: once.owner, held_until: once.untilIso, purge_at: once.purgeAt };
    const begun = await this.#table.putIf(lock, {
      ConditionExpression:
        "attribute_not_exists(pk) OR purge_at <= :now_s OR (#state = :held AND (#owner = :owner OR held_until <= :now))",
      ExpressionAttributeNames: { "#state": "state", "#owner": "owner" },
      ExpressionAttributeValues: {
        ":held": "held",
        ":owner": once.owner,
        ":now": once.nowIso,
        ":now_s": Math.floor(Date.parse(once.nowIso) / 1000),
      },
    });
    if (begun) return { state: "mine" };
    const item = await this.#table.get(key);
    if (item?.state !== "done") return { state: "busy" };
    return {
      state: "done",
      value: parse(item.value),
      owner: String(item.owner),
      purgeAt: Number(item.purge_at),
      ...(typeof item.fault === "string" && { fault: item.fault }),
    };
  }

  finish(once: Parameters<OnceStore["finish"]>[0]): Promise<boolean> {
    const { fault } = once;
    const setFault = fault === undefined ? "" : ", fault = :fault";
    return this.#table.updateIf(keys.once(once.tenantId, once.key), {
      UpdateExpression: `SET #state = :done, #value = :value, purge_at = :purge_at${setFault} REMOVE held_until`,
      ConditionExpression: "#state = :held AND #owner = :owner",
      ExpressionAttributeNames: { "#state": "state", "#owner": "owner", "#value": "value" },
      ExpressionAttributeValues: {
        ":done": "done",
        ":held": "held",
        ":owner": once.owner,
        ":value": JSON.stringify(once.value) ?? "",
        ":purge_at": once.purgeAt,
        ...(fault !== undefined && { ":fault": fault }),
      },
    });
  }

  async release(once: Parameters<OnceStore["release"]>[0]): Promise<void> {
    await this.#table.deleteIf(keys.once(once.tenantId, once.key), {
      ConditionExpression: "#state = :held AND #owner = :owner",
      ExpressionAttributeNames: { "#state": "state", "#owner": "owner" },
      ExpressionAttributeValues: { ":held": "held", ":owner": once.owner },
    });
  }
}

const parse = (text: unknown): unknown =>
  typeof text === "string" && text !== "" ? storedJson(text, "a result of `once`") : undefined;

/** Counters in the table. */
export class DynamoCounters implements Counters {
  readonly #table: DynamoTable;

  constructor(table: DynamoTable) {
    this.#table = table;
  }

  async add(tenantId: string, name: string, idempotencyKey: string): Promise<number> {
    const key = keys.counter(tenantId, name);
    const counted = await this.#table.updated(key, {
      UpdateExpression: "ADD #value :one, applied :key",
      ConditionExpression: "NOT contains(applied, :text)",
      ExpressionAttributeNames: { "#value": "value" },
      ExpressionAttributeValues: { ":one": 1, ":key": new Set([idempotencyKey]), ":text": idempotencyKey },
    });
    return Number((counted ?? (await this.#table.get(key)))?.value);
  }
}
