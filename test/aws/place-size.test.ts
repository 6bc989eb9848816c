import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import { keys } from "../../src/aws/table.ts";
import { bucketName } from "../../src/core/extras/limits/shards.ts";
import { permitsPerUnit } from "../../src/core/task/type-limits.ts";
import { bytesOf, unitBytes } from "../../src/util/item-bytes.ts";

test.each([0, 624])("the item of a full bucket, number %i, fits into one write unit", (index) => {
  const line = { name: "concurrency/invoice.generate/a-usual-customer/account-4711", kind: "concurrency" } as const;
  const untilMs = 1_798_762_013_480;
  const places = Array.from({ length: permitsPerUnit }, () => [`place_${randomUUID()}`, untilMs + 0.5]);
  const check = { check_id: randomUUID(), check_at_ms: untilMs, listed_ms: untilMs };
  const own = index === 0 ? check : {};
  const rest = { places: permitsPerUnit, purge_at: 1_798_762_013, ...own };
  const item = { ...keys.lineState(bucketName(line, index)), ...Object.fromEntries(places), ...rest };
  expect(bytesOf(item)).toBeLessThanOrEqual(unitBytes);
});
