import { type IResolvable, type IResolveContext, Lazy } from "aws-cdk-lib";
import type { IWidget } from "aws-cdk-lib/aws-cloudwatch";

/**
 * `[namespace, name, dimension, value, ..., options]`, or only options with an expression. A line without options has
 * an even length.
 */
type Line = unknown[];

type Properties = Record<string, unknown>;

interface WidgetJson {
  height: number;
  properties: { metrics?: IResolvable[] } & Properties;
}

/**
 * Makes a widget write less of a dashboard's body, a fifth of it in all: "." stands for the value of the line above,
 * and options that all lines of a graph share are the graph's own.
 * https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/CloudWatch-Dashboard-Body-Structure.html
 */
export function shortened(widget: IWidget): IWidget {
  const whole = widget.toJson.bind(widget);
  widget.toJson = () => (whole() as WidgetJson[]).map(shortWidget);
  return widget;
}

function shortWidget(widget: WidgetJson): object {
  const { metrics, ...properties } = withoutDefault(widget.properties, "view", "timeSeries");
  if (metrics === undefined) return widget;
  const produce = (context: IResolveContext) => ({ ...properties, ...shortLines(context.resolve(metrics)) });
  return { ...withoutDefault(widget, "height", 6), properties: Lazy.uncachedAny({ produce }) };
}

function shortLines(metrics: readonly Line[]): Properties {
  const first = optionsOf(metrics[0] ?? []);
  const isShared = (name: string) => metrics.every((line) => optionsOf(line)[name] === first[name]);
  // An option that no line has stays the graph's own.
  const names = ["period", "stat"].filter((name) => first[name] !== undefined && isShared(name));
  const shared = Object.fromEntries(names.map((name) => [name, first[name]]));
  const lines = metrics.map((line) => withoutShared(line, names));
  return { ...shared, metrics: lines.map((line, index) => shortLine(line, lines[index - 1] ?? [])) };
}

function withoutDefault<T extends object>(values: T, name: string & keyof T, byDefault: unknown): T {
  const { [name]: value, ...others } = values;
  return value === byDefault ? (others as T) : values;
}

const optionsOf = (line: Line): Properties => (line.length % 2 === 1 ? (line.at(-1) as Properties) : {});

const valuesOf = (line: Line): Line => (line.length % 2 === 1 ? line.slice(0, -1) : line);

function withoutShared(line: Line, names: readonly string[]): Line {
  const rest = Object.entries(optionsOf(line)).filter(([name, value]) => value !== undefined && !names.includes(name));
  return [...valuesOf(line), ...(rest.length === 0 ? [] : [Object.fromEntries(rest)])];
}

/** The lines of metrics with as many dimensions have their values at the same places. */
function shortLine(line: Line, above: Line): Line {
  const [values, before] = [valuesOf(line), valuesOf(above)];
  if (values.length !== before.length) return line;
  const short = values.map((value, index) => (JSON.stringify(value) === JSON.stringify(before[index]) ? "." : value));
  return [...short, ...line.slice(values.length)];
}
