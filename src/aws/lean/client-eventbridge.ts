import { type ClientConfig, Command, type Fields, Service } from "./service.ts";

export class PutEventsCommand extends Command {}

/** A small replacement for the SDK's client of EventBridge. Dates are sent as epoch seconds. */
export class EventBridgeClient {
  readonly #service: Service;

  constructor(config: ClientConfig = {}) {
    const spec = { name: "events", id: "eventbridge", contentType: "application/x-amz-json-1.1" } as const;
    this.#service = new Service(spec, config);
  }

  /** @throws AwsError when EventBridge refused the request; Error with Node's code when no answer came */
  send(command: PutEventsCommand): Promise<Fields> {
    const { Entries } = command.input as { Entries: readonly Fields[] };
    const entries = Entries.map(({ Time, ...entry }) => ({
      ...entry,
      ...(Time instanceof Date && { Time: Time.getTime() / 1000 }),
    }));
    return this.#service.send({
      method: "POST",
      path: "/",
      headers: { "x-amz-target": "AWSEvents.PutEvents" },
      body: JSON.stringify({ Entries: entries }),
    });
  }

  destroy(): void {
    this.#service.destroy();
  }
}
