import { expect, test } from "vitest";
import { apiRoutes } from "../../../src/api/http/routes.ts";
import { fuzz } from "../../fuzz/fuzz.ts";

/** A random request has no link's token, and names no schedule as `~{name}`. */
const unreachable = ["sendSignalByLink", "putSchedule"];

test("requests made from the document get no 5xx, do not hang, are answered as documented, and show nothing foreign", async () => {
  const { faults, statuses, succeeded } = await fuzz(4_000, 3);
  expect(faults).toEqual([]);
  // The requests are worth nothing if everything is refused at the door.
  for (const status of [200, 201, 202, 204, 400, 401, 403, 404, 409, 413, 415, 422]) {
    expect(statuses.get(status) ?? 0, `answers with ${status}`).toBeGreaterThan(0);
  }
  const missed = apiRoutes
    .map(({ name }) => name)
    .filter((name) => !succeeded.has(name) && !unreachable.includes(name));
  expect(missed.length, missed.join(" ")).toBeLessThan(apiRoutes.length / 10);
});
