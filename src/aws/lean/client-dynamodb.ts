import { type ClientConfig, Service } from "./service.ts";

/** A small replacement for the SDK's `DynamoDBClient`, only for creating a document client. */
export class DynamoDBClient {
  readonly service: Service;

  constructor(config: ClientConfig = {}) {
    this.service = new Service({ name: "dynamodb", contentType: "application/x-amz-json-1.0" }, config);
  }
}
