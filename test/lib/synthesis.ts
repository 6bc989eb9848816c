import { readFileSync, rmSync } from "node:fs";
import { App } from "aws-cdk-lib";
import { Template } from "aws-cdk-lib/assertions";
import { z } from "zod";
import { addChecks } from "../../lib/checks.ts";
import type { TaskPipelineProps } from "../../lib/pipeline-props.ts";
import type { TaskPipeline } from "../../lib/task-pipeline.ts";
import type { AppSchedule } from "../../src/core/schedules/app-schedule.ts";
import type { AppTrigger } from "../../src/core/schedules/trigger.ts";
import type { TaskEnvironment } from "../../src/core/task/environment.ts";
import { defineTask, type TaskType } from "../../src/core/task/task.ts";
import { pipelineOf } from "../support/pipeline-of.ts";

const { context } = JSON.parse(readFileSync(new URL("../../cdk.json", import.meta.url), "utf8")) as {
  context: Record<string, unknown>;
};

/** The one task type of these pipelines. */
export const echo = defineTask({ name: "echo", input: z.object({ value: z.unknown() }), handler: (input) => input });

/** Context of an app that is synthesized without its bundles, and without the stack trace of each construct. */
export const withoutBundles = {
  ...context,
  "aws:cdk:bundling-stacks": [],
  "aws:cdk:enable-path-metadata": true,
  "aws:cdk:disable-stack-trace": true,
};

/** What no test of templates reads, and takes a part of each synthesis. */
const withoutReports = { analyticsReporting: false, treeMetadata: false };

/** The templates of a pipeline without its bundles, with the project's feature flags. Unchecked, which halves its time. */
export interface Props extends TaskPipelineProps {
  /** Default: `echo`. */
  types?: readonly TaskType[];
  schedules?: readonly AppSchedule[];
  triggers?: readonly AppTrigger[];
  /** Default: the names of `environment` and `secrets`. */
  declared?: TaskEnvironment;
}

/** Options, or a function that makes them from constructs of the app. */
export type PropsOrMaker = Props | ((app: App) => Props);

/** The templates of a pipeline. Options that are plain data are synthesized once for all tests of a thread. */
export function synthesize(props: PropsOrMaker = {}, use?: (pipeline: TaskPipeline) => void): Synthesis {
  const make = () =>
    synthesized(
      new App({ context: withoutBundles, ...withoutReports, builtinCloudFormationValidation: false }),
      props,
      use,
    );
  if (use !== undefined || !isPlain(props)) return make();
  const key = JSON.stringify(props);
  const known = made.get(key) ?? make();
  made.set(key, known);
  return known;
}

/** True for values that JSON holds as a whole: no constructs, no functions. */
function isPlain(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return typeof value !== "function";
  const prototype = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && !Array.isArray(value)) return false;
  return Object.values(value).every(isPlain);
}

const made = new Map<string, Synthesis>();

/** The same, checked as a deployment is. Throws when a check finds what is not acknowledged. */
export function synthesizeChecked(props: PropsOrMaker, use?: (pipeline: TaskPipeline) => void) {
  const app = new App({ context: withoutBundles, ...withoutReports });
  addChecks(app);
  return synthesized(app, props, use);
}

/** Declarations of the names that the options set. */
const declaredBy = ({ environment = {}, secrets = {} }: Props): TaskEnvironment => ({
  variables: environment,
  secrets: Object.fromEntries(Object.keys(secrets).map((name) => [name, { secretName: "of-no-deployment" }])),
});

function synthesized(app: App, given: PropsOrMaker, use?: (pipeline: TaskPipeline) => void) {
  try {
    const all = typeof given === "function" ? given(app) : given;
    const { types = [echo], schedules = [], triggers = [], declared = declaredBy(all), ...props } = all;
    const pipeline = pipelineOf(app, { types, schedules, triggers, environment: declared }, props);
    use?.(pipeline);
    app.synth();
    const { data, service } = pipeline;
    return { pipeline, data: Template.fromStack(data), service: Template.fromStack(service) };
  } finally {
    rmSync(app.outdir, { recursive: true });
  }
}

export type Synthesis = ReturnType<typeof synthesized>;

/** What a stage cannot do without. */
export const needed = { dev: {}, prod: { alarmEmail: "team@example.com" } };

/** A stage's pipeline with every default. */
export const stage = (name: "dev" | "prod"): Synthesis => synthesize({ stage: name, ...needed[name] });

interface ResourceJson {
  Type: string;
  Properties?: unknown;
  DeletionPolicy?: string;
  UpdateReplacePolicy?: string;
  Metadata?: { "aws:cdk:path"?: string };
}

/** One statement of a policy. */
export interface Statement {
  Effect: string;
  Principal?: unknown;
  Action: string | string[];
  Resource: unknown;
  Condition?: Record<string, Record<string, unknown>>;
}

/** A resource of a template. */
export class Resource {
  readonly logicalId: string;
  readonly json: ResourceJson;

  constructor(logicalId: string, json: ResourceJson) {
    this.logicalId = logicalId;
    this.json = json;
  }

  /** The construct that it comes from: `Offload/Service/Submit/Function/Resource` is `Submit/Function`. */
  get name(): string {
    const path = this.json.Metadata?.["aws:cdk:path"] ?? "";
    return path.replace(/^Offload\/(Data|Service)\//, "").replace(/\/Resource$/, "");
  }

  /** A property, by its path: `Replicas.0.TableClass`. */
  get(path: string): unknown {
    let value = this.json.Properties;
    for (const part of path.split(".")) value = (value as Record<string, unknown> | undefined)?.[part];
    return value;
  }

  /** The elements of a property that is an array. */
  list<T>(path: string): T[] {
    return (this.get(path) ?? []) as T[];
  }

  get statements(): Statement[] {
    return this.list<Statement>("PolicyDocument.Statement");
  }
}

/** All resources of one type. */
export const allOf = (template: Template, type: string): Resource[] =>
  Object.entries(template.findResources(type) as Record<string, ResourceJson>).map(
    ([id, json]) => new Resource(id, json),
  );

/** A template's resources of one type, by name: throws for a name that is not there. */
export function resources(template: Template, type: string): (name: string) => Resource {
  const byName = new Map(allOf(template, type).map((resource) => [resource.name, resource]));
  return (name) => {
    const found = byName.get(name);
    if (found === undefined) throw new Error(`no ${type} is named ${name}; there are ${[...byName.keys()].join(", ")}`);
    return found;
  };
}

interface Split {
  "Fn::Split": [separator: string, text: unknown];
}

interface Intrinsics {
  "Fn::GetStackOutput"?: { OutputName: string };
  "Fn::GetAtt"?: [logicalId: string, attribute: string];
  "Fn::Join"?: [separator: string, parts: unknown[]];
  "Fn::Select"?: [index: number, list: { Ref: string } | Split];
  "Fn::Sub"?: [text: string, values: Record<string, unknown>];
  Ref?: string;
}

/** A value of the service's template as text, in which references are the names of resources: `CriticalQueue.Arn`. */
export const inService = ({ data, service }: Synthesis, value: unknown): string => textOf(value, service, data);

/** The dashboard's widgets, in which references are the names of resources. */
export function widgetsOf(synthesis: Synthesis): Widget[] {
  const [dashboard] = allOf(synthesis.service, "AWS::CloudWatch::Dashboard");
  const { widgets } = JSON.parse(inService(synthesis, dashboard?.get("DashboardBody"))) as { widgets: Widget[] };
  return widgets.map(asRead);
}

/** A widget as CloudWatch reads it: "." is the value of the line above, and the widget's statistic and period are those of each line. */
function asRead(widget: Widget): Widget {
  const { metrics, stat, period } = widget.properties;
  if (metrics === undefined) return widget;
  const lines: unknown[][] = [];
  for (const line of metrics) {
    const parts = line.map((part, index) => (part === "." ? lines.at(-1)?.[index] : part));
    const options = typeof parts.at(-1) === "object" ? (parts.pop() as object) : {};
    lines.push([
      ...parts,
      { ...(stat !== undefined && { stat }), ...(period !== undefined && { period }), ...options },
    ]);
  }
  return { ...widget, properties: { ...widget.properties, metrics: lines } };
}

/** A part of a dashboard. */
export interface Widget {
  type: "text" | "alarm" | "metric" | "log";
  x: number;
  y: number;
  width: number;
  height: number;
  properties: {
    title?: string;
    markdown?: string;
    query?: string;
    alarms?: string[];
    metrics?: unknown[][];
    stat?: string;
    period?: number;
  };
}

/** The same for a value of the data stack's template. */
export const inData = ({ data }: Synthesis, value: unknown): string => textOf(value, data, data);

function textOf(value: unknown, own: Template, data: Template): string {
  if (typeof value === "string") return value;
  const { "Fn::GetStackOutput": output, "Fn::GetAtt": attribute, "Fn::Join": join, Ref: ref } = value as Intrinsics;
  const { "Fn::Select": select, "Fn::Sub": substitution } = value as Intrinsics;
  if (substitution !== undefined) {
    const [text, values] = substitution;
    const named = (_: string, name: string) => (name in values ? textOf(values[name], own, data) : `<${name}>`);
    return withoutFormat(text.replaceAll(/\$\{([^}]+)\}/g, named));
  }
  if (output !== undefined) return textOf(data.toJSON().Outputs[output.OutputName].Value, data, data);
  if (select !== undefined) return selected(select, own, data);
  if (join !== undefined) return withoutFormat(join[1].map((part) => textOf(part, own, data)).join(""));
  const logicalId = attribute?.[0] ?? ref ?? "";
  const resource: ResourceJson | undefined = own.toJSON().Resources[logicalId];
  const name = resource === undefined ? `<${logicalId}>` : new Resource(logicalId, resource).name;
  return attribute === undefined ? name : `${name}.${attribute[1]}`;
}

/** An entry of the list or of the text of names, or the name at the end of a queue's URL. */
function selected([index, from]: NonNullable<Intrinsics["Fn::Select"]>, own: Template, data: Template): string {
  const [list, text] = allOf(data, "AWS::SSM::Parameter");
  if (!("Fn::Split" in from)) return textOf(entriesOf(list)[index], data, data);
  const [separator, split] = from["Fn::Split"];
  return separator === "," ? textOf(entriesOf(text)[index], data, data) : `${textOf(split, own, data)}.QueueName`;
}

/** The names that the data stack stores for other stacks. */
const entriesOf = (parameter: Resource | undefined): unknown[] => parameter?.list<unknown[]>("Value.Fn::Join")[1] ?? [];

const account = "<AWS::Region>:<AWS::AccountId>";

/** Shortens ARNs and URLs that are made of a name to those that a resource has: `CriticalQueue.Arn`, `CriticalQueue`. */
const withoutFormat = (text: string): string =>
  text
    .replaceAll(new RegExp(`arn:<AWS::Partition>:sqs:${account}:([\\w/]+)\\.QueueName`, "g"), "$1.Arn")
    .replaceAll(new RegExp(`arn:<AWS::Partition>:dynamodb:${account}:table/(Table)`, "g"), "$1.Arn")
    .replaceAll(/https:\/\/sqs\.<AWS::Region>\.<AWS::URLSuffix>\/<AWS::AccountId>\/([\w/]+)\.QueueName/g, "$1");
