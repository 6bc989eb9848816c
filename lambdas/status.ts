import { apiOf, withLazy } from "../src/api/http/api.ts";
import { Cursors } from "../src/api/http/cursor.ts";
import { serve } from "../src/api/http/serve.ts";
import { type StatusPorts, taskReads } from "../src/api/http/status.ts";
import { besideBundle } from "../src/aws/beside-bundle.ts";
import { s3Blobs } from "../src/aws/blobs.ts";
import { answersWithin, apiMs, callTime } from "../src/aws/call-times.ts";
import { tableClient } from "../src/aws/clients.ts";
import { DynamoTable } from "../src/aws/dynamo-table.ts";
import { lazyFamilies } from "../src/aws/ending-ports.ts";
import { newCorrelationId } from "../src/aws/ids.ts";
import { createLog } from "../src/aws/log.ts";
import { observed } from "../src/aws/observed.ts";
import { systemClock } from "../src/aws/process.ts";
import { DynamoRecords } from "../src/aws/records.ts";
import { createTracing } from "../src/aws/tracing.ts";
import { fromEnv } from "../src/settings/config.ts";
import { lazily } from "../src/util/lazily.ts";

const config = fromEnv(process.env, [
  "table",
  "bucket",
  "listShards",
  "cursorKey",
  "version",
  "localHealth",
  "openApiFile",
  "waits",
]);
const table = new DynamoTable(tableClient(), config.table);
const tracing = await createTracing();
// Few tasks wait in a line.
const loadPlaces = lazily(async () => (await import("../src/aws/places.ts")).placeBook(table, systemClock));
const ports: StatusPorts = {
  clock: systemClock,
  newCorrelationId,
  tracing,
  log: createLog("status"),
  records: new DynamoRecords(table, config.listShards),
  families: lazyFamilies(table),
  blobs: s3Blobs(config.bucket),
  lines: {
    placeOf: async (...call) => (await loadPlaces()).placeOf(...call),
    holderOf: async (line) => (await loadPlaces()).holderOf(line),
    startsOf: async (line) => (await loadPlaces()).startsOf(line),
  },
  // Few requests name a task by its key.
  uniqueKeys: {
    holder: async (key) => new (await import("../src/aws/unique-keys.ts")).DynamoUniqueKeys(table).holder(key),
  },
  waits: {
    admit: async (...call) => {
      const { DynamoWaits } = await import("../src/aws/waits.ts");
      return new DynamoWaits(table, config.waits).admit(...call);
    },
  },
  tenants: {
    // Only admins ask for all tenants.
    list: async (page) => {
      const { DynamoTenants } = await import("../src/aws/tenants.ts");
      return new DynamoTenants(table).list(page);
    },
  },
  callTime,
  cursors: new Cursors(config.cursorKey),
  health: { version: config.version, ...config.localHealth },
  openApi: () => besideBundle(process.env, config.openApiFile),
};

const handlers = withLazy("status", taskReads(ports), async () =>
  (await import("./rare/status.ts")).rareRoutes(ports, table),
);

export const handler = answersWithin(apiMs, observed({ tracing }, serve(apiOf("status", ports, handlers))));
