import type { Page } from "../core/ports/tasks.ts";
import type { Schedules } from "../core/schedules/ports.ts";
import type { ScheduleKey, ScheduleRecord } from "../core/schedules/schedule-record.ts";
import { type Condition, type DynamoTable, eachReadable, fieldsOf, type Item, isNew } from "./dynamo-table.ts";
import { storedJson } from "./stored-json.ts";
import { keys } from "./table.ts";

/**
 * The schedules' records in DynamoDB. All schedules of a tenant are in one partition. A partition accepts 1,000 writes
 * a second, which is enough, as EventBridge Scheduler delivers at most 1,000 firings a second.
 */
export class DynamoSchedules implements Schedules {
  readonly #table: DynamoTable;

  constructor(table: DynamoTable) {
    this.#table = table;
  }

  async create(record: ScheduleRecord): Promise<ScheduleRecord | undefined> {
    return (await this.#table.putIf(itemOf(record), isNew)) ? undefined : this.get(record);
  }

  async get(key: ScheduleKey): Promise<ScheduleRecord | undefined> {
    const item = await this.#table.get(keys.schedule(key));
    return item && recordOf(item);
  }

  replace(record: ScheduleRecord, revision: number): Promise<boolean> {
    return this.#table.putIf(itemOf(record), ifRevision(revision));
  }

  delete(key: ScheduleKey, revision: number): Promise<boolean> {
    return this.#table.deleteIf(keys.schedule(key), ifRevision(revision));
  }

  async list(tenantId: string, page: { limit: number; from?: string | undefined }): Promise<Page<ScheduleRecord>> {
    const keyOf = (schedule_id: string) => keys.schedule({ tenant_id: tenantId, schedule_id });
    const query = {
      KeyConditionExpression: "pk = :pk",
      ExpressionAttributeValues: { ":pk": keyOf("").pk },
      Limit: page.limit,
      ...(page.from === undefined ? {} : { ExclusiveStartKey: keyOf(page.from) }),
    };
    const { items, last } = await this.#table.page(query, "any");
    return { items: eachReadable(items, recordOf), next: last?.sk as string | undefined };
  }
}

const ifRevision = (revision: number): Condition => ({
  ConditionExpression: "revision = :revision",
  ExpressionAttributeValues: { ":revision": revision },
});

/** The task is stored as JSON text, because DynamoDB's numbers have other limits than JSON's. */
const itemOf = (record: ScheduleRecord) => ({ ...record, ...keys.schedule(record), task: JSON.stringify(record.task) });

const recordOf = (item: Item): ScheduleRecord => ({
  ...fieldsOf<ScheduleRecord>(item),
  task: storedJson(item.task, "a schedule") as ScheduleRecord["task"],
});
