import { rmSync } from "node:fs";
import { Annotations, Stage, Validations } from "aws-cdk-lib";
import { describe, expect, test } from "vitest";
import type { TaskPipelineProps } from "../../../lib/pipeline-props.ts";
import { isAtLeast } from "../../../src/tools/doctor/finding.ts";
import { review } from "../../../src/tools/doctor/review.ts";
import { pipelineOf } from "../../support/pipeline-of.ts";
import { lost, type Mistake, more, ofContainers, ten, unsafe } from "./mistakes.ts";
import { mail, quickApp, type Sketch, synthesized } from "./synthesis.ts";

/** Synthesizes an app with some mistakes, and reviews it. */
const reviewed = (mistakes: readonly Mistake[], props: Partial<TaskPipelineProps> = {}) =>
  synthesized(
    {
      own: [mail, ...mistakes.flatMap(({ type }) => type ?? [])],
      props,
      plant: (sketch) => {
        for (const { plant } of mistakes) plant?.(sketch);
      },
    },
    ({ warnings, ...subject }) => ({
      found: review(subject).findings.filter(({ severity }) => isAtLeast(severity, "medium")),
      warnings,
    }),
  );

const prod = { stage: "prod", alarmEmail: "team@example.com" };

const expected = ({ check, severity, subject, found }: Mistake) =>
  expect.objectContaining({
    check,
    severity,
    subject: subject === "" ? expect.stringMatching(/\/SqsEventSource:/) : subject,
    found: typeof found === "string" ? expect.stringContaining(found) : expect.stringMatching(found),
    fix: expect.stringMatching(/\w{3}.*\.$/),
  });

const withTen = await reviewed(ten);
const faultless = [await reviewed([]), await reviewed([], prod), await reviewed([], { ...prod, containers: {} })];

const apps = [
  { name: "ten mistakes", mistakes: ten, ...withTen },
  { name: "more mistakes", mistakes: more, ...(await reviewed(more)) },
  { name: "a type that the workers lost", mistakes: lost, ...(await reviewed(lost)) },
  { name: "container workers", mistakes: ofContainers, ...(await reviewed(ofContainers, { containers: {} })) },
  { name: "data that is kept", mistakes: unsafe, ...(await reviewed(unsafe, prod)) },
];

describe.each(apps)("$name", ({ mistakes, found }) => {
  test.each(mistakes.map((mistake) => [mistake.check, mistake.severity, mistake.subject, mistake] as const))(
    "%s is %s: %s",
    (_check, _severity, _subject, mistake) => {
      expect(found).toContainEqual(expected(mistake));
    },
  );

  test("each mistake is one finding, and there are no others", () => {
    expect(found).toHaveLength(mistakes.length);
  });
});

test("ten mistakes are ten findings, each with its severity, the worst first", () => {
  const { found } = withTen;
  expect(found).toHaveLength(10);
  expect(found.map(({ severity }) => severity)).toEqual([
    ...["critical", "critical"],
    ...["high", "high", "high", "high", "high"],
    ...["medium", "medium", "medium"],
  ]);
});

test("an app without mistakes has no finding above low, and no warning, whether its data is kept or not", () => {
  expect(faultless).toEqual(faultless.map(() => ({ found: [], warnings: [] })));
});

test("at synth, the same findings are warnings at their constructs, never errors", () => {
  const { warnings } = withTen;
  expect(warnings).toHaveLength(10);
  expect(warnings).toContainEqual({
    construct: "/Offload/Data/HighDlq/Resource",
    text: expect.stringMatching(/^high: Offload\/Data\/HighDlq: .*not encrypted.*\[ack: offload:encryption\]$/),
  });
  expect(warnings).toContainEqual({
    construct: "/Offload/Service",
    text: expect.stringMatching(/^medium: task takes\.all: /),
  });
});

test("acknowledged warnings are silent, in either of the CDK's ways", async () => {
  const mistakes = ten.filter(({ check }) => ["encryption", "retention", "log-retention"].includes(check));
  const plant = (sketch: Sketch) => {
    for (const mistake of mistakes) mistake.plant?.(sketch);
    const { dlqs, redriveQueue } = sketch.pipeline.data;
    Annotations.of(dlqs.high).acknowledgeWarning("offload:encryption", "why");
    Validations.of(redriveQueue).acknowledge({ id: "Annotation::offload:retention", reason: "why" });
  };
  const warnings = await synthesized({ plant }, (result) => result.warnings);
  expect(warnings.map(({ text }) => text)).toEqual([expect.stringContaining("[ack: offload:log-retention]")]);
});

test("a pipeline in a stage of the CDK has its warnings there", () => {
  const app = quickApp();
  const stage = new Stage(app, "Beta");
  const types = [mail];
  const pipeline = pipelineOf(stage, { types });
  types.pop();
  const folder = app.synth();
  const messages = folder.getNestedAssembly(stage.artifactId).stacks.flatMap((stack) => stack.messages);
  expect(messages.map(({ id, entry }) => [id, String(entry.data)])).toEqual([
    [`/${pipeline.service.node.path}`, expect.stringMatching(/^critical: task mail\.send: /)],
  ]);
  rmSync(folder.directory, { recursive: true, force: true });
});
