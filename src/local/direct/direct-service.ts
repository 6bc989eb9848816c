import { errorOf } from "../../aws/lean/aws-error.ts";
import { type ClientConfig, type Fields, Service, type ServiceRequest } from "../../aws/lean/service.ts";
import { Tries } from "../../aws/lean/tries.ts";
import { doors, type Emulator } from "./doors.ts";

/** Calls an emulator through its door, with the tries of a call over HTTP; over HTTP where there is no door. */
export class DirectService extends Service {
  readonly #emulator: Emulator;
  readonly #tries: Tries;

  constructor(emulator: Emulator, config: ClientConfig) {
    super({ name: emulator, contentType: `application/x-amz-json-1.${emulator === "events" ? 1 : 0}` }, config);
    this.#emulator = emulator;
    this.#tries = new Tries(config.maxAttempts);
  }

  override send(request: ServiceRequest): Promise<Fields> {
    const door = doors()?.[this.#emulator];
    if (door === undefined) return super.send(request);
    const target = request.headers?.["x-amz-target"] ?? "";
    const operation = target.slice(target.indexOf(".") + 1);
    return this.#tries.run(async () => {
      const { status, body } = await door(operation, request.body);
      if (status < 300) return body;
      throw errorOf({ statusCode: status, headers: {} }, JSON.stringify(body), undefined);
    });
  }
}
