import { tableClient } from "../src/aws/clients.ts";
import { newCorrelationId } from "../src/aws/ids.ts";
import { createLog } from "../src/aws/log.ts";
import { observed } from "../src/aws/observed.ts";
import { systemClock } from "../src/aws/process.ts";
import { DynamoRecords } from "../src/aws/records.ts";
import { createTracing } from "../src/aws/tracing.ts";
import { fromEnv } from "../src/config.ts";
import { Cursors } from "../src/http/cursor.ts";
import { serve } from "../src/http/serve.ts";
import { type StatusPorts, statusApi } from "../src/http/status.ts";

type Handler = ReturnType<typeof serve>;

const config = fromEnv(process.env, ["table", "cursorKey", "version", "localHealth"]);
const documents = tableClient();
const tracing = await createTracing();
const ports: StatusPorts = {
  clock: systemClock,
  newCorrelationId,
  tracing,
  log: createLog("status"),
  records: new DynamoRecords(documents, config.table),
  cursors: new Cursors(config.cursorKey),
  health: { version: config.version, ...config.localHealth },
};
const tasks = serve(statusApi(ports));
let others: Promise<Handler> | undefined;

/** Most requests are polls. Code that only other requests need loads with the first of them. */
export const handler = observed({ tracing }, async (...[event, context]: Parameters<Handler>) => {
  if ("rawPath" in event && event.rawPath.startsWith("/tasks")) return tasks(event, context);
  others ??= serveOthers();
  return (await others)(event, context);
});

async function serveOthers(): Promise<Handler> {
  const [{ addDeadLetterReads }, { addScheduleReads }, { DynamoSchedules }] = await Promise.all([
    import("../src/http/dead-letters.ts"),
    import("../src/http/schedules.ts"),
    import("../src/aws/schedules.ts"),
  ]);
  const api = statusApi(ports);
  addDeadLetterReads(api, ports);
  addScheduleReads(api, { ...ports, schedules: new DynamoSchedules(documents, config.table) });
  return serve(api);
}
