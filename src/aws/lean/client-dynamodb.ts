import { type ClientConfig, Service } from "./service.ts";

/** Stands in for the SDK's `DynamoDBClient`, of which Offload only makes a document client. */
export class DynamoDBClient {
  readonly service: Service;

  constructor(config: ClientConfig = {}) {
    this.service = new Service({ name: "dynamodb", contentType: "application/x-amz-json-1.0" }, config);
  }
}
