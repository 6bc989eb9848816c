import { afterAll, beforeAll, describe, test } from "vitest";
import { Families } from "../support/families.ts";
import { startTimelyServer, type TimelyServer } from "../support/timely-server.ts";

// A server of its own: these families would keep the workers of other tests busy.
let server: TimelyServer;
let families: Families;

beforeAll(async () => {
  server = await startTimelyServer();
  families = new Families(server.operator, server.ended);
}, 300_000);

afterAll(() => server?.stop());

describe("a large family", { timeout: 300_000 }, () => {
  test("of 150 completes with exact numbers when every 27th child fails and 0.95 suffice", () =>
    families.completesWithFailedChildren(150));

  test("of 80 whose coordinator dies after 40 has 80 children, none twice", () => families.survivesItsWorker(80, 40));

  test("that is cancelled has only cancelled children soon", () => families.cancelsItsChildren(30));
});
