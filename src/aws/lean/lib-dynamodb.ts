import { type AttributeMap, fromAttributes, toAttributes } from "./attributes.ts";
import type { DynamoDBClient } from "./client-dynamodb.ts";
import { Command, type Fields, type Service } from "./service.ts";

/** An operation on the table. */
abstract class TableCommand extends Command {
  /** Name of the operation in DynamoDB's API. */
  abstract readonly operation: string;
}

export class GetCommand extends TableCommand {
  readonly operation = "GetItem";
}

export class PutCommand extends TableCommand {
  readonly operation = "PutItem";
}

export class UpdateCommand extends TableCommand {
  readonly operation = "UpdateItem";
}

export class DeleteCommand extends TableCommand {
  readonly operation = "DeleteItem";
}

export class QueryCommand extends TableCommand {
  readonly operation = "Query";
}

export class ScanCommand extends TableCommand {
  readonly operation = "Scan";
}

export class BatchGetCommand extends TableCommand {
  readonly operation = "BatchGetItem";
}

/**
 * A small replacement for the SDK's document client: items are plain objects. Members that are undefined are left out.
 */
export class DynamoDBDocumentClient {
  readonly #service: Service;

  private constructor(service: Service) {
    this.#service = service;
  }

  static from(client: DynamoDBClient): DynamoDBDocumentClient {
    return new DynamoDBDocumentClient(client.service);
  }

  /** @throws AwsError when DynamoDB refused the request; Error with Node's code when no answer came */
  async send(command: TableCommand): Promise<Fields> {
    const answer = await this.#service.send({
      method: "POST",
      path: "/",
      headers: { "x-amz-target": `DynamoDB_20120810.${command.operation}` },
      body: JSON.stringify(requestOf(command.input)),
    });
    return answerOf(answer);
  }

  destroy(): void {
    this.#service.destroy();
  }
}

/** Fields of requests and answers that hold one item, a key or values. */
const itemFields = ["Key", "Item", "ExpressionAttributeValues", "ExclusiveStartKey", "Attributes", "LastEvaluatedKey"];

/** Converts the items in a request to DynamoDB's JSON. */
function requestOf(input: Fields): Fields {
  const request: Fields = { ...input };
  for (const field of itemFields) {
    if (request[field] !== undefined) request[field] = toAttributes(request[field] as object);
  }
  if (request.RequestItems !== undefined) {
    request.RequestItems = eachTable(request.RequestItems, ({ Keys, ...more }) => ({
      ...more,
      Keys: (Keys as object[]).map(toAttributes),
    }));
  }
  return request;
}

/** Converts the items in an answer to plain objects. */
function answerOf(answer: Fields): Fields {
  const output: Fields = { ...answer };
  for (const field of itemFields) {
    if (output[field] !== undefined) output[field] = fromAttributes(output[field] as AttributeMap);
  }
  if (output.Items !== undefined) output.Items = (output.Items as AttributeMap[]).map(fromAttributes);
  if (output.Responses !== undefined) {
    output.Responses = eachTable(output.Responses, (items) => (items as unknown as AttributeMap[]).map(fromAttributes));
  }
  if (output.UnprocessedKeys !== undefined) {
    output.UnprocessedKeys = eachTable(output.UnprocessedKeys, ({ Keys, ...more }) => ({
      ...more,
      Keys: (Keys as AttributeMap[]).map(fromAttributes),
    }));
  }
  return output;
}

const eachTable = (tables: unknown, change: (table: Fields) => unknown): Fields =>
  Object.fromEntries(Object.entries(tables as Record<string, Fields>).map(([name, table]) => [name, change(table)]));
