import { ListSchedulesCommand, type SchedulerClient } from "@aws-sdk/client-scheduler";
import { type AppSchedule, appRule } from "../../core/schedules/app-schedule.ts";
import type { Rules } from "../../core/schedules/ports.ts";

/** Start of the names of the app's rules. The rule of a tenant's schedule is named by the schedule's id. */
const prefix = "app.";

/**
 * Creates or updates the rules of the app's schedules, and deletes the rules of schedules that the app no longer has.
 */
export async function syncAppSchedules(
  { client, rules, group }: { client: SchedulerClient; rules: Rules; group: string },
  schedules: readonly AppSchedule[],
): Promise<void> {
  const wanted = new Set(schedules.map(({ name }) => prefix + name));
  for (const name of await existing(client, group)) if (!wanted.has(name)) await rules.delete(name);
  for (const schedule of schedules) {
    await rules.put({ name: prefix + schedule.name, enabled: true, ...appRule(schedule) });
  }
}

async function existing(client: SchedulerClient, GroupName: string): Promise<string[]> {
  const names: string[] = [];
  let NextToken: string | undefined;
  do {
    const page = await client.send(new ListSchedulesCommand({ GroupName, NamePrefix: prefix, NextToken }));
    names.push(...(page.Schedules ?? []).flatMap(({ Name }) => Name ?? []));
    NextToken = page.NextToken;
  } while (NextToken !== undefined);
  return names;
}
