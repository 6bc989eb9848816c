import { describe, expect, test } from "vitest";
import { z } from "zod";
import { appTriggers, defineTrigger, type TriggerOptions } from "../../../src/core/schedules/define-trigger.ts";
import { parseTriggers, ruleNameOf, triggerOfRule } from "../../../src/core/schedules/trigger.ts";
import { type DefinedTask, defineTask } from "../../../src/core/task/task.ts";
import { toCatalog } from "../../../src/core/task/to-catalog.ts";

const convert = defineTask({
  name: "video.convert",
  input: z.strictObject({
    bucket: z.string(),
    key: z.string(),
    bytes: z.number().max(1_000_000).optional(),
    labels: z.array(z.string()).optional(),
    to: z.enum(["mp4", "webm"]).optional(),
  }),
  handler: () => null,
});

interface Input {
  bucket: string;
  key: string;
  bytes?: number;
  labels?: string[];
  to?: "mp4" | "webm";
}

const upload: TriggerOptions<Input> = {
  name: "upload.convert",
  pattern: { source: ["aws.s3"], "detail-type": ["Object Created"], detail: { bucket: { name: ["uploads"] } } },
  tenantId: "acme",
  type: convert as DefinedTask<Input, unknown>,
  input: { bucket: "$.detail.bucket.name", key: "$.detail.object.key" },
};

describe("a trigger in code", () => {
  test("a trigger becomes data, which fire reads from its file", () => {
    const trigger = defineTrigger({
      ...upload,
      bus: "orders",
      priority: "low",
      maxAttempts: 2,
      tags: { object: "<$.detail.bucket.name>/<$.detail.object.key>" },
      delaySeconds: 5,
      expiresInSeconds: 60,
      retentionSeconds: 172_800,
    });
    expect(trigger).toEqual({
      name: "upload.convert",
      bus: "orders",
      pattern: upload.pattern,
      tenant_id: "acme",
      task: {
        type: "video.convert",
        input: upload.input,
        priority: "low",
        max_attempts: 2,
        tags: { object: "<$.detail.bucket.name>/<$.detail.object.key>" },
        delay_seconds: 5,
        expires_in_seconds: 60,
        retention_seconds: 172_800,
      },
    });
    expect(parseTriggers(JSON.stringify([trigger])).get("upload.convert")).toEqual(trigger);
  });

  test("the bus is that of AWS's services unless the trigger names one", () => {
    expect(defineTrigger(upload)).toMatchObject({
      bus: "default",
      task: { type: "video.convert", input: upload.input },
    });
  });

  test("the input has the type of the task type, or paths in its places", () => {
    const define = (input: TriggerOptions<Input>["input"]) => defineTrigger({ ...upload, input });
    define({ bucket: "b", key: "k", bytes: "$.detail.object.size" });
    define({ bucket: "b", key: "k", labels: ["a", "$.detail.b"] });
    define("$.detail");
    // @ts-expect-error a key is text
    expect(() => define({ bucket: "b", key: 7 })).toThrow("input.key");
    // @ts-expect-error only a path may stand for a number
    expect(() => define({ bucket: "b", key: "k", bytes: "many" })).toThrow("input.bytes");
  });

  test("a pattern has the fields of an event", () => {
    // @ts-expect-error the field is named detail-type
    const define = () => defineTrigger({ ...upload, pattern: { detailType: ["Object Created"] } });
    expect(define).toThrow("detailType: events have no such field");
  });

  test.each<[change: object, words: string]>([
    [{ name: "Upload!" }, "name must be lower case words"],
    [{ name: "n".repeat(49) }, "at most 48 characters"],
    [{ tenant: "acme" }, "tenant is not an option; did you mean tenantId?"],
    [{ bus: "a b" }, "bus must be default, own"],
    [{ pattern: { source: "aws.s3" } }, "pattern: source: expected an array of values"],
    [{ pattern: undefined }, "pattern: expected an object"],
    [{ tenantId: "a b" }, "tenantId must be a path"],
    [{ tenantId: "$.tenant" }, "tenantId: $.tenant is not a path of an event"],
    [{ type: undefined }, "type must be a task type"],
    [{ input: { bucket: "$.details.bucket", key: "k" } }, "input.bucket: $.details.bucket is not a path of an event"],
    [{ input: { bucket: "$.detail..name", key: "k" } }, "input.bucket: $.detail..name is not a path"],
    [{ input: { bucket: "$.detail.a[x]", key: "k" } }, "input.bucket: $.detail.a[x] is not a path"],
    [{ input: { bucket: "b", key: "in/<$.key>" } }, "input.key: $.key is not a path of an event"],
    [{ tags: { key: "$.detail.*" } }, "tags.key: $.detail.* is not a path"],
    [{ input: { bucket: "$.detail.b" } }, "input.key: Invalid input"],
    [{ input: { ...(upload.input as object), path: "$.detail.p" } }, 'input.: Unrecognized key: "path"'],
    [{ input: { ...(upload.input as object), bytes: 2_000_000 } }, "input.bytes: Too big"],
    [{ input: { ...(upload.input as object), to: "avi" } }, "input.to: Invalid option"],
    [{ maxAttempts: 21 }, "max_attempts"],
    [{ retentionSeconds: 3600 }, "retention_seconds"],
    [{ tags: { "a b": "" } }, "tags"],
    [{ priority: "urgent" }, "priority"],
  ])("a trigger that cannot work is refused when it is defined: %j", (change, words) => {
    const define = () => defineTrigger({ ...upload, ...change } as never);
    expect(define).toThrow(TypeError);
    expect(define).toThrow(/^defineTrigger\("[^"]+"\): /);
    expect(define).toThrow(words);
  });

  test.each(['$.detail["a b"].c', "$.resources[0]", "$.detail-type", "$.detail", "$.detail.a[0][1].b"])(
    "%s is a path of an event",
    (path) => {
      expect(defineTrigger({ ...upload, tenantId: path }).tenant_id).toBe(path);
    },
  );
});

describe("the app's triggers", () => {
  const catalog = toCatalog([convert]);
  const one = defineTrigger(upload);

  test("triggers with different names and known types are accepted", () => {
    const triggers = [one, { ...one, name: "another" }];
    expect(appTriggers(triggers, catalog, "Offload-dev")).toEqual(triggers);
  });

  test("two triggers with the same name are refused", () => {
    expect(() => appTriggers([one, one], catalog, "Offload-dev")).toThrow("two triggers are named upload.convert");
  });

  test("a trigger of a type that the deployment does not accept is refused", () => {
    expect(() => appTriggers([one], [], "Offload-dev")).toThrow(
      "the trigger upload.convert submits video.convert, which is not a task type of this app: expected a file tasks/video.convert.ts",
    );
  });

  const ended = (pattern: object, bus = "own") => [{ ...one, bus, pattern }];
  const own = ["offload.Offload-dev"];

  test.each([
    [{ source: own, detail: { type: ["video.convert"] } }, "default"],
    [{ "detail-type": ["Task Completed"], detail: { type: ["video.convert"] } }, "own"],
  ])("a trigger that matches only ends of its own tasks is refused: %j on %s", (pattern, bus) => {
    expect(() => appTriggers(ended(pattern, bus), catalog, "Offload-dev")).toThrow(
      "matches only ends of its own tasks",
    );
  });

  test.each([
    [{ source: own, detail: { type: ["video.upload"] } }, "own"],
    [{ source: own, detail: { type: ["video.convert", "video.upload"] } }, "own"],
    [{ source: ["offload.Offload-prod"], detail: { type: ["video.convert"] } }, "own"],
    [{ source: [...own, "shop"], detail: { type: ["video.convert"] } }, "own"],
    [{ source: own }, "own"],
    [{ detail: { type: ["video.convert"] } }, "default"],
  ])("a trigger that also matches other events is accepted: %j on %s", (pattern, bus) => {
    expect(appTriggers(ended(pattern, bus), catalog, "Offload-dev")).toHaveLength(1);
  });
});

describe("the rule of a trigger", () => {
  test("its ARN leads to the trigger, on every bus", () => {
    expect(ruleNameOf("Offload-prod", "upload.convert")).toBe("Offload-prod.upload.convert");
    const arn = "arn:aws:events:eu-central-1:123456789012:rule";
    expect(triggerOfRule(`${arn}/Offload-prod.upload.convert`)).toBe("upload.convert");
    expect(triggerOfRule(`${arn}/orders/Offload-prod.upload.convert`)).toBe("upload.convert");
    expect(triggerOfRule(`${arn}/aws.partner/shop/1/Offload-prod.upload`)).toBe("upload");
    expect(triggerOfRule(`${arn}/another-rule`)).toBeUndefined();
    expect(triggerOfRule("")).toBeUndefined();
  });
});
