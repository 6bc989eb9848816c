import { consoleApi, consoleSettingNames, consoleSettings } from "../src/api/http/console.ts";
import { serve } from "../src/api/http/serve.ts";
import { filesBesideBundle } from "../src/aws/beside-bundle.ts";
import { newCorrelationId } from "../src/aws/ids.ts";
import { createLog } from "../src/aws/log.ts";
import { observed } from "../src/aws/observed.ts";
import { createTracing } from "../src/aws/tracing.ts";
import { fromEnv } from "../src/settings/config.ts";

const config = fromEnv(process.env, [...consoleSettingNames, "consoleFolder"]);
const tracing = await createTracing();
const api = consoleApi({
  ...consoleSettings(config),
  newCorrelationId,
  log: createLog("console"),
  tracing,
  files: filesBesideBundle(process.env, config.consoleFolder),
  // The local server knows the URL when it has started.
  socketUrl: () => fromEnv(process.env, ["socketUrl"]).socketUrl,
});

/** Answers the console's page and files. It calls nothing of AWS. */
export const handler = observed({ tracing }, serve(api));
