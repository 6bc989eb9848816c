import type { Deployment, Resource } from "./deployment.ts";
import { about, type Check, type Finding } from "./finding.ts";

/** Processors by their names in ARNs of layers, as AWS and others write them. Two vendors do not name x86_64. */
const namedProcessors: readonly [RegExp, string][] = [
  [/amd64|x86|:Datadog-Extension(-FIPS)?:|:NewRelicNodeJS\d+X(-slim)?:/i, "x86_64"],
  [/arm64|aarch64|-ARM(-FIPS)?:|_arm:/i, "arm64"],
];

/** Default of Lambda. */
const usualProcessor = "x86_64";

const layerProcessor: Check = {
  id: "layer-processor",
  title: "The layers of a function are for its processor",
  severities: ["high"],
  find: ({ deployment }) =>
    deployment.ofType("AWS::Lambda::Function").flatMap((one) => {
      const own = deployment.text(one, "Architectures.0") || usualProcessor;
      return deployment.listOf(one.stack, one.get("Layers") ?? []).flatMap((layer): Finding[] => {
        const processors = processorsOf(deployment, layer);
        return processors === undefined || processors.includes(own) ? [] : [about(one, wrong(layer, processors, own))];
      });
    }),
};

/** Processors that a layer is for. Undefined: it says none. */
function processorsOf(deployment: Deployment, layer: string): readonly string[] | undefined {
  const own = deployment.marked(layer);
  if (own !== undefined) return statedBy(deployment, own);
  const named = namedProcessor(layer);
  return named === undefined ? undefined : [named];
}

/** Processor by the ARN of a layer. Undefined: it names none. */
export const namedProcessor = (layer: string): string | undefined =>
  namedProcessors.find(([name]) => name.test(layer))?.[1];

function statedBy(deployment: Deployment, layer: Resource): readonly string[] | undefined {
  const stated = layer.list("CompatibleArchitectures");
  return stated.length === 0 ? undefined : stated.map((one) => deployment.textOf(layer.stack, one));
}

const wrong = (layer: string, processors: readonly string[], own: string) =>
  ({
    severity: "high",
    found: `It runs on ${own}, and its layer ${layer} is for ${processors.join(" and ")}: programs and native libraries in it do not start.`,
    fix: `Use the layer that is built for ${own}.`,
  }) as const;

export const layerChecks: readonly Check[] = [layerProcessor];
