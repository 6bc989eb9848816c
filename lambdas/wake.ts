import { endsInTime } from "../src/aws/call-times.ts";
import { startFirstContainer } from "../src/aws/container-service.ts";
import { boundedTries } from "../src/aws/http-handler.ts";
import { ECSClient } from "../src/aws/lean/client-ecs.ts";
import { createLog } from "../src/aws/log.ts";
import { fromEnv } from "../src/settings/config.ts";

const { containerService } = fromEnv(process.env, ["containerService"]);
const ecs = new ECSClient(boundedTries());
const log = createLog("wake");

/** Starts a container when none runs. After an error Lambda invokes it twice more. */
export const handler = endsInTime(async (): Promise<void> => {
  const started = await startFirstContainer(ecs, containerService);
  if (started) log.info("started the first container", { ...containerService });
});
