import { describe, expect, test } from "vitest";
import { bodyValue, namesIn, receiverState } from "../../console/src/pages/receiver-state.ts";
import type { ReceiverView } from "../../src/api/acts/views.ts";

const at = "2026-11-20T00:00:00.000Z";

const receiver: ReceiverView = {
  ...{ webhook_id: "w-1", url: "https://shop.example.com/hooks", events: ["task.failed"], types: null },
  ...{ description: null, enabled: true, health: "healthy", failing_since: null, disabled_at: null },
  ...{ created_by: "olga", created_at: at, updated_at: at },
};

test.each<[string, Partial<ReceiverView>, object]>([
  ["is healthy", {}, { state: "healthy", words: "", since: null }],
  ["fails", { health: "failing", failing_since: at }, { state: "failing", words: "", since: at }],
  ["was disabled by somebody", { enabled: false }, { state: "disabled", words: "by hand", since: null }],
  [
    "was disabled by somebody while it failed",
    { enabled: false, health: "failing", failing_since: at },
    { state: "disabled", words: "by hand", since: null },
  ],
  [
    "was disabled by Offload",
    { enabled: false, health: "disabled", failing_since: at, disabled_at: "2026-11-25T00:00:00.000Z" },
    { state: "disabled", words: "by Offload", since: "2026-11-25T00:00:00.000Z" },
  ],
])("the state of a receiver that %s", (_, more, expected) => {
  expect(receiverState({ ...receiver, ...more })).toEqual(expected);
});

describe("the form of a receiver", () => {
  test("takes names of types with spaces, commas or lines between them", () => {
    expect(namesIn(" invoice.generate, report.daily\nvideo.cut ")).toEqual([
      "invoice.generate",
      "report.daily",
      "video.cut",
    ]);
    expect(namesIn(" , ")).toBeNull();
  });
});

describe("the body of a delivery", () => {
  test("is shown as JSON, and as text where it is cut", () => {
    expect(bodyValue('{"type":"task.failed"}')).toEqual({ type: "task.failed" });
    expect(bodyValue('{"type":"task.fa')).toBeUndefined();
  });
});
