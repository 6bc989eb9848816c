import { WrittenLater } from "../core/model/errors.ts";
import type { NewState, StepEntry, StepOwner, StepStore, StoredEntry } from "../core/ports/steps.ts";
import { inLanes } from "../util/in-lanes.ts";
import { type DynamoTable, fieldsOf, type Item, isNew } from "./dynamo-table.ts";
import { keys } from "./table.ts";

/** Entries that are kept longer at the same time. */
const lanes = 20;

/** Entries of tasks in DynamoDB: one item each, in the partition of the task's record. */
export class DynamoStepStore implements StepStore {
  readonly #table: DynamoTable;

  constructor(table: DynamoTable) {
    this.#table = table;
  }

  async load(owner: StepOwner, kind?: StepEntry["kind"]): Promise<StoredEntry[]> {
    const { pk, sk } = keys.step(owner, kind === undefined ? "" : `${kind}:`);
    const items = await this.#table.all({
      KeyConditionExpression: "pk = :pk AND begins_with(sk, :sk)",
      ExpressionAttributeValues: { ":pk": pk, ":sk": sk },
    });
    return items.map(entryIn);
  }

  async add(owner: StepOwner, entry: StepEntry, purgeAt: number): Promise<StoredEntry> {
    const key = keys.step(owner, nameOf(entry));
    const given = { ...entry, purge_at: purgeAt };
    if (await this.#table.putIf({ ...given, ...key }, isNew)) return given;
    const item = await this.#table.get(key);
    return item === undefined ? given : entryIn(item);
  }

  saveState(owner: StepOwner, state: NewState, purgeAt: number): Promise<boolean> {
    const entry: StepEntry = { kind: "state", name: "", ...state };
    return this.#table.putIf(
      { ...entry, ...keys.step(owner, nameOf(entry)), purge_at: purgeAt },
      {
        ConditionExpression:
          "attribute_not_exists(pk) OR #attempt < :attempt OR (#attempt = :attempt AND #order <= :order)",
        ExpressionAttributeNames: { "#attempt": "attempt", "#order": "order" },
        ExpressionAttributeValues: { ":attempt": state.attempt, ":order": state.order },
      },
    );
  }

  async keep(owner: StepOwner, entries: readonly Pick<StepEntry, "kind" | "name">[], purgeAt: number): Promise<void> {
    await inLanes(entries, lanes, async (entry) => {
      await this.#table.updateIf(keys.step(owner, nameOf(entry)), {
        UpdateExpression: "SET purge_at = :purge_at",
        ConditionExpression: "attribute_exists(pk) AND purge_at < :purge_at",
        ExpressionAttributeValues: { ":purge_at": purgeAt },
      });
    });
  }
}

const nameOf = ({ kind, name }: Pick<StepEntry, "kind" | "name">): string => `${kind}:${name}`;

const kinds: readonly string[] = [
  "step",
  "try",
  "sleep",
  "wait",
  "signal",
  "read",
  "state",
  "submit",
  "run",
] satisfies StepEntry["kind"][];

/**
 * An attempt that passed over an entry would do again what it tells of.
 * @throws WrittenLater
 */
function entryIn(item: Item): StoredEntry {
  const entry = fieldsOf<StoredEntry>(item);
  if (!kinds.includes(entry.kind)) throw new WrittenLater("a step of a task");
  return entry;
}
