import { PutCommand, ScanCommand } from "@aws-sdk/lib-dynamodb";
import { describe, expect, test } from "vitest";
import type { Item } from "../../src/aws/dynamo-table.ts";
import { WrittenLater } from "../../src/core/model/errors.ts";
import { type Outcome, type StoredForm, storedForms } from "../support/stored-forms.ts";
import { emulatedTable } from "./emulators.ts";

/*
 * Each reader of the table, and what it makes of an item of a later release: a member that it does not know, a form
 * (`form: 2`) that it does not know, and changes of the item's own kind.
 */

async function changedRead(form: StoredForm, change: Item): Promise<{ before: unknown; after: Promise<unknown> }> {
  const { dynamoTable: table, documents, table: TableName, close } = await emulatedTable();
  try {
    const place = { table, documents };
    await form.write(place);
    const before = await form.read(place);
    const { Items: items = [] } = await documents.send(new ScanCommand({ TableName }));
    const isOne = ({ pk, sk }: Item) => String(pk).startsWith(form.pk ?? "") && String(sk).startsWith(form.sk ?? "");
    const item = items.find(isOne);
    if (item === undefined) throw new Error(`${form.name} wrote no such item`);
    await documents.send(new PutCommand({ TableName, Item: { ...item, ...change } }));
    const after = form.read(place);
    await after.catch(() => {});
    return { before, after };
  } finally {
    await close();
  }
}

async function expectOutcome(outcome: Outcome | "read", before: unknown, after: Promise<unknown>): Promise<void> {
  if (outcome === "waits") return expect(after).rejects.toThrow(WrittenLater);
  if (outcome === "read") return expect(after).resolves.toEqual(before);
  expect(await after).toEqual((before as unknown[]).slice(1));
}

describe.each(storedForms.map((form) => [form.name, form] as const))("%s", (_, form) => {
  test("an item with a member of a later release is read", async () => {
    const { before, after } = await changedRead(form, { hue: "blue" });
    expect(before).toBeTruthy();
    const read = JSON.parse(JSON.stringify(await after), (name, value) => (name === "hue" ? undefined : value));
    expect(read).toEqual(JSON.parse(JSON.stringify(before)));
  });

  test.each(Object.entries({ "another form": undefined, ...form.changes }))(
    "%s of a later release: %o",
    async (name) => {
      const { change, outcome } = form.changes?.[name] ?? { change: { form: 2 }, outcome: form.later ?? "waits" };
      const { before, after } = await changedRead(form, change);
      await expectOutcome(outcome, before, after);
    },
  );
});
