import { EventBridgeClient as LeanClient } from "../../aws/lean/client-eventbridge.ts";
import type { ClientConfig, Fields } from "../../aws/lean/service.ts";
import { DirectService } from "./direct-service.ts";

export * from "../../aws/lean/client-eventbridge.ts";

export class EventBridgeClient extends LeanClient {
  readonly #direct: DirectService;

  constructor(config: ClientConfig = {}) {
    super(config);
    this.#direct = new DirectService("events", config);
  }

  override send(command: Parameters<LeanClient["send"]>[0]): Promise<Fields> {
    const { Entries } = command.input as { Entries: readonly Fields[] };
    const entries = Entries.map(({ Time, ...entry }) => ({
      ...entry,
      ...(Time instanceof Date && { Time: Time.getTime() / 1000 }),
    }));
    return this.#direct.send({
      method: "POST",
      path: "/",
      headers: { "x-amz-target": "AWSEvents.PutEvents" },
      body: JSON.stringify({ Entries: entries }),
    });
  }
}
