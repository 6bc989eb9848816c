import type { Deployment } from "../../../src/core/schedules/ports.ts";
import { deploymentName, type Mark, marksText } from "../deployments.ts";
import { useLoad } from "../load.ts";
import { href } from "../route.ts";
import { api, chosenTenant } from "../session.ts";
import { now } from "./text.tsx";

const none: readonly Deployment[] = [];

/** The newest deployments, newest first. None until they are read, and where the API cannot tell. */
export function useDeployments(): readonly Deployment[] {
  const { value } = useLoad(
    "deployments",
    (signal) => api.get<{ deployments: Deployment[] }>("/deployments", undefined, { signal }),
    { everyMs: 60_000 },
  );
  return value?.deployments ?? none;
}

/** The lines of deployments over a picture, with their times. The legend says the same in words. */
export const MarkLines = ({ of }: { of: readonly Mark[] }) => (
  <svg class="marks" width="100%" height="100%" aria-hidden="true">
    {of.map(({ id, at }) => (
      <line key={id} x1={`${at}%`} x2={`${at}%`} y1="0" y2="100%" />
    ))}
    {of
      .filter(({ isWritten }) => isWritten)
      .map(({ id, at, text }) => (
        <text key={id} x={`${at}%`} dx={-4} y={11} text-anchor="end">
          {text}
        </text>
      ))}
  </svg>
);

/** The entry of a legend for the lines. */
export const MarkLegend = ({ of }: { of: readonly Mark[] }) => (
  <>
    <span class="swatch mark" aria-hidden="true" /> {marksText(of)}
  </>
);

/**
 * Says that failures began after a deployment, and leads to the tasks that failed and were submitted since then.
 * Nothing where they did not.
 */
export function SinceDeployment({ last, is, type }: { last: Deployment | undefined; is: boolean; type: string }) {
  if (last === undefined || !is) return null;
  const query = { type, status: "failed", created_after: last.started_at, tenant: chosenTenant.value };
  return <a href={href(["tasks"], query)}>all since {deploymentName(last, now.value)}</a>;
}
