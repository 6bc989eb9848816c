import { answersWithin, apiMs } from "../src/aws/call-times.ts";
import { newCorrelationId, newId } from "../src/aws/ids.ts";
import { createLog } from "../src/aws/log.ts";
import { observed } from "../src/aws/observed.ts";
import { DynamoTenants } from "../src/aws/tenants.ts";
import { createTracing } from "../src/aws/tracing.ts";
import { catalogTypes, dispatchPorts, dispatchSettings, gateOf, gateSettings } from "../src/aws/wiring.ts";
import { fromEnv } from "../src/config.ts";
import { tenantNoter } from "../src/core/schedules/tenants.ts";
import { serve } from "../src/http/serve.ts";
import { submitApi } from "../src/http/submit.ts";

const config = fromEnv(process.env, [...dispatchSettings, ...gateSettings]);
const log = createLog("submit");
const base = dispatchPorts(config, log);
const types = catalogTypes(process.env);
const gate = gateOf(config, base);
const noteTenant = tenantNoter(new DynamoTenants(base.documents, config.table), log);
const ports = { ...base, newId, newCorrelationId, types, tracing: await createTracing(), gate, noteTenant };

export const handler = answersWithin(apiMs, observed(ports, serve(submitApi(ports))));
