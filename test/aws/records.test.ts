import { describe, expect, test } from "vitest";
import { indexQuery } from "../../src/aws/index-query.ts";
import fc from "../support/fast-check.ts";

const read = {
  index: "tenant",
  pk: "tenant_pk",
  sk: "tenant_sk",
  partitions: ["acme#0"],
  after: undefined,
  before: undefined,
  filters: {},
  limit: 20,
};
const noon = "2027-01-01T12:00:00.000Z";
const later = "2027-01-02T12:00:00.000Z";

describe("the query of one partition", () => {
  test("the query reads the newest first", () => {
    expect(indexQuery(read, "acme#0")).toEqual({
      IndexName: "tenant",
      KeyConditionExpression: "#pk = :pk",
      ExpressionAttributeNames: { "#pk": "tenant_pk" },
      ExpressionAttributeValues: { ":pk": "acme#0" },
      ScanIndexForward: false,
      Limit: 20,
    });
  });

  test.each([
    [{ after: noon }, "#sk >= :after", { ":after": noon }],
    [{ before: noon }, "#sk < :before", { ":before": noon }],
    [
      { after: noon, before: later },
      "#sk BETWEEN :after AND :before",
      { ":after": noon, ":before": "2027-01-02T12:00:00.000Y~" },
    ],
  ])("the query with the bounds %j has one range of its sort key", (bounds, range, values) => {
    const query = indexQuery({ ...read, ...bounds }, "acme#0");
    expect(query.KeyConditionExpression).toBe(`#pk = :pk AND ${range}`);
    expect(query.ExpressionAttributeNames).toEqual({ "#pk": "tenant_pk", "#sk": "tenant_sk" });
    expect(query.ExpressionAttributeValues).toEqual({ ":pk": "acme#0", ...values });
  });

  test("the upper bound is exclusive: the query reads what is smaller, and not the bound itself", () => {
    const time = fc
      .date({ min: new Date(0), max: new Date("2100-01-01"), noInvalidDate: true })
      .map((date) => date.toISOString());
    const key = fc.tuple(time, fc.uuid()).map(([at, id]) => `${at}#${id}`);
    fc.assert(
      fc.property(key, fc.oneof(time, key), (one, before) => {
        const query = indexQuery({ ...read, after: "1970-01-01T00:00:00.000Z", before }, "acme#0");
        const upper = String(query.ExpressionAttributeValues[":before"]);
        expect(one <= upper).toBe(one < before);
      }),
      { numRuns: 500 },
    );
  });

  test("the query with filters reads more at once, because it may leave out most of it", () => {
    const query = indexQuery({ ...read, filters: { type: "a", priority: undefined } }, "acme#0");
    expect(query).toMatchObject({ FilterExpression: "#type = :type", Limit: 100 });
    expect(query.ExpressionAttributeNames).toEqual({ "#pk": "tenant_pk", "#type": "type" });
    expect(query.ExpressionAttributeValues).toEqual({ ":pk": "acme#0", ":type": "a" });
    const both = indexQuery({ ...read, filters: { type: "a", priority: "low" } }, "acme#0");
    expect(both.FilterExpression).toBe("#type = :type AND #priority = :priority");
  });
});
