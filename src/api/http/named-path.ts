import type { GatewayEvent } from "./event.ts";

/** Characters that no encoded path has. */
const decoded = /[^\x21-\x7e]|[?#"<>\\^`{|}]|%(?![0-9a-f]{2})/giu;

/**
 * The path of a request with a name that its user chose, `~type:key` or the key of a limit, encoded. A slash in that
 * name makes more steps than the route has: then the route's own values are the steps.
 */
export function pathOf({ rawPath, routeKey = "", pathParameters: values = {} }: GatewayEvent): string {
  const steps = routeKey.replace(/^\S* /, "").split("/");
  const isLonger = steps.length > 1 && rawPath.split("/").length > steps.length;
  const filled = (step: string) => (step[0] === "{" ? encodeURIComponent(values[step.slice(1, -1)] ?? "") : step);
  return isLonger ? steps.map(filled).join("/") : rawPath.replaceAll(decoded, encodeURIComponent);
}
