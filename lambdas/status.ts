import { tableClient } from "../src/aws/clients.ts";
import { createLog } from "../src/aws/log.ts";
import { systemClock } from "../src/aws/process.ts";
import { DynamoRecords } from "../src/aws/records.ts";
import { DynamoSchedules } from "../src/aws/schedules.ts";
import { newCorrelationId } from "../src/aws/wiring.ts";
import { fromEnv } from "../src/config.ts";
import { Cursors } from "../src/http/cursor.ts";
import { addDeadLetterReads } from "../src/http/dead-letters.ts";
import { addScheduleReads } from "../src/http/schedules.ts";
import { serve } from "../src/http/serve.ts";
import { type StatusPorts, statusApi } from "../src/http/status.ts";

const config = fromEnv(process.env, ["table", "cursorKey", "version", "localHealth"]);
const documents = tableClient();
const ports: StatusPorts = {
  clock: systemClock,
  newCorrelationId,
  log: createLog("status"),
  records: new DynamoRecords(documents, config.table),
  cursors: new Cursors(config.cursorKey),
  health: { version: config.version, ...config.localHealth },
};
const api = statusApi(ports);
addDeadLetterReads(api, ports);
addScheduleReads(api, { ...ports, schedules: new DynamoSchedules(documents, config.table) });

export const handler = serve(api);
