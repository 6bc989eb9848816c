import { describe, expect, test } from "vitest";
import { DynamoTable } from "../../src/aws/dynamo-table.ts";
import { DynamoLines } from "../../src/aws/lines.ts";
import { MemoryLines } from "../../src/memory/lines.ts";
import { emulatedTable } from "./emulators.ts";
import { newLine } from "./line-states.ts";
import { describeLines } from "./lines.ts";

const now = () => 1_800_000_000_000;

describeLines("lines in memory", async () => ({ lines: new MemoryLines(), close: async () => {} }));

describeLines("lines in DynamoDB", async () => {
  const { dynamoTable, close } = await emulatedTable();
  return { lines: new DynamoLines(dynamoTable, now), close };
});

describe("the list of lines in DynamoDB, whose entry is a second write", () => {
  /** Lines whose first request of an operation is preceded by `act`. */
  async function setUp(operation: string, act: (lines: DynamoLines) => Promise<void>) {
    const { documents, table, dynamoTable, close } = await emulatedTable();
    const lines = new DynamoLines(dynamoTable, now);
    let left = 1;
    const send = async (command: { constructor: { name: string } }) => {
      if (command.constructor.name === operation && left-- === 1) await act(lines);
      return documents.send(command as never);
    };
    return { lines, interrupted: new DynamoLines(new DynamoTable({ send } as never, table), now), close };
  }

  test("a line whose process died before it was listed is listed with the next check", async () => {
    const { lines, interrupted, close } = await setUp("PutCommand", () => Promise.reject(new Error("killed")));
    const line = newLine();
    await expect(interrupted.planCheck(line, { id: "a", atMs: 1 }, undefined)).rejects.toThrow("killed");
    expect(await lines.list(line, 1)).toEqual([]);
    await lines.planCheck(line, { id: "b", atMs: 2 }, "a");
    expect(await lines.list(line, 1)).toEqual([line]);
    await close();
  });

  test("a line whose process died before it left the list leaves it when the check is repeated", async () => {
    const { lines, interrupted, close } = await setUp("DeleteCommand", () => Promise.reject(new Error("killed")));
    const line = newLine();
    await lines.planCheck(line, { id: "a", atMs: 1 }, undefined);
    await expect(interrupted.endChecks(line, "a")).rejects.toThrow("killed");
    await lines.endChecks(line, "a");
    expect(await lines.list(line, 1)).toEqual([]);
    await close();
  });

  test("a check that is planned while another ends keeps its line in the list", async () => {
    const line = newLine();
    const { lines, interrupted, close } = await setUp("DeleteCommand", (others) =>
      others.planCheck(line, { id: "b", atMs: 2 }, undefined).then(() => {}),
    );
    await lines.planCheck(line, { id: "a", atMs: 1 }, undefined);
    await interrupted.endChecks(line, "a");
    expect(await lines.list(line, 1)).toEqual([line]);
    expect((await lines.state(line)).check).toEqual({ id: "b", atMs: 2 });
    await close();
  });
});
