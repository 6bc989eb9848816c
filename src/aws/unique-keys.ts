import type { Envelope } from "../core/model/envelope.ts";
import type { Holder, Seen, Submitted, UniqueKey, UniqueKeys } from "../core/ports/unique.ts";
import { type DynamoTable, fieldsOf } from "./dynamo-table.ts";
import { storedJson } from "./stored-json.ts";
import { keys } from "./table.ts";

/** The condition that an item names the task with these placeholders. */
const names = "task_id = :task_id AND created_at = :created_at";
const valuesOf = ({ task_id, created_at }: Submitted) => ({ ":task_id": task_id, ":created_at": created_at });

/** Number of replacements that stands for none: a condition then needs no other form. */
const none = -1;

const isSame = (a: Seen, b: Seen): boolean =>
  a.task_id === b.task_id && a.created_at === b.created_at && a.replaced === b.replaced;

/** A holder as it is stored. */
interface StoredHolder extends Submitted {
  unsent?: string;
  replaced: number;
  purge_at: number;
}

/** Keys of unique submits in DynamoDB: one item each. */
export class DynamoUniqueKeys implements UniqueKeys {
  readonly #table: DynamoTable;

  constructor(table: DynamoTable) {
    this.#table = table;
  }

  async holder(key: UniqueKey): Promise<Holder | undefined> {
    const item = await this.#table.get(keys.uniqueKey(key));
    if (item === undefined) return undefined;
    const { purge_at: _, unsent, replaced, ...holder } = fieldsOf<StoredHolder>(item);
    return {
      ...holder,
      ...(unsent !== undefined && { unsent: storedJson(unsent, "a unique key") as Envelope }),
      ...(replaced !== none && { replaced }),
    };
  }

  async take(key: UniqueKey, holder: Holder, seen: Seen | undefined, purgeAt: number): Promise<boolean> {
    const { unsent, replaced = none } = holder;
    const text = unsent && { unsent: JSON.stringify(unsent) };
    const mine = `(${names} AND replaced = :replaced AND purge_at <= :purge_at)`;
    const other = seen === undefined || isSame(seen, holder) ? undefined : seen;
    const free = seen === undefined ? "attribute_not_exists(pk) OR " : "";
    const taken = await this.#table.putIf(
      { ...keys.uniqueKey(key), ...holder, ...text, replaced, purge_at: purgeAt },
      {
        ConditionExpression:
          other === undefined
            ? `${free}${mine}`
            : `(task_id = :seen_id AND created_at = :seen_at AND replaced = :seen_replaced) OR ${mine}`,
        ExpressionAttributeValues: {
          ...valuesOf(holder),
          ":replaced": replaced,
          ":purge_at": purgeAt,
          ...(other && {
            ":seen_id": other.task_id,
            ":seen_at": other.created_at,
            ":seen_replaced": other.replaced ?? none,
          }),
        },
      },
    );
    if (taken) return true;
    const present = await this.holder(key);
    return present !== undefined && isSame(present, holder);
  }

  sent(key: UniqueKey, holder: Submitted): Promise<void> {
    return this.#update(key, holder, "REMOVE unsent", "");
  }

  keep(key: UniqueKey, holder: Submitted, purgeAt: number): Promise<void> {
    return this.#update(key, holder, "SET purge_at = :purge_at", " AND purge_at < :purge_at", { ":purge_at": purgeAt });
  }

  async #update(key: UniqueKey, holder: Submitted, update: string, condition: string, values = {}): Promise<void> {
    await this.#table.updateIf(keys.uniqueKey(key), {
      UpdateExpression: update,
      ConditionExpression: names + condition,
      ExpressionAttributeValues: { ...valuesOf(holder), ...values },
    });
  }
}
