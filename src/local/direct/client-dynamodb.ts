import type { ClientConfig } from "../../aws/lean/service.ts";
import { DirectService } from "./direct-service.ts";

export class DynamoDBClient {
  readonly service: DirectService;

  constructor(config: ClientConfig = {}) {
    this.service = new DirectService("dynamodb", config);
  }
}
