import type { AppScheduleState, AppScheduleStates } from "../core/schedules/ports.ts";
import type { ScheduleKey } from "../core/schedules/schedule-record.ts";
import { type DynamoTable, fieldsOf, isNew } from "./dynamo-table.ts";
import { getMany } from "./get-many.ts";
import { keys } from "./table.ts";

/** The states of the app's schedules in DynamoDB: those of one schedule are in one partition, sorted by tenant. */
export class DynamoAppScheduleStates implements AppScheduleStates {
  readonly #table: DynamoTable;

  constructor(table: DynamoTable) {
    this.#table = table;
  }

  async get(key: ScheduleKey): Promise<AppScheduleState | undefined> {
    const item = await this.#table.get(keys.appSchedule(key));
    return item && fieldsOf<AppScheduleState>(item);
  }

  async getMany(wanted: readonly ScheduleKey[]): Promise<AppScheduleState[]> {
    const items = await getMany(this.#table, wanted.map(keys.appSchedule), "eventually");
    return items.map(fieldsOf<AppScheduleState>);
  }

  async between(schedule_id: string, first: string, last: string): Promise<AppScheduleState[]> {
    const items = await this.#table.all({
      KeyConditionExpression: "pk = :pk AND sk BETWEEN :first AND :last",
      ExpressionAttributeValues: {
        ":pk": keys.appSchedule({ schedule_id, tenant_id: first }).pk,
        ...{ ":first": first, ":last": last },
      },
    });
    return items.map(fieldsOf<AppScheduleState>);
  }

  save(state: AppScheduleState, revision: number | undefined): Promise<boolean> {
    const item = { ...state, ...keys.appSchedule(state) };
    if (revision === undefined) return this.#table.putIf(item, isNew);
    return this.#table.putIf(item, {
      ConditionExpression: "revision = :revision",
      ExpressionAttributeValues: { ":revision": revision },
    });
  }
}
