import {
  type AllLimits,
  defaultOpenUploadBytes,
  defaultSchedules,
  type Limits,
  limitNames,
} from "../../core/limits/limits.ts";
import { tiers } from "../../core/model/words.ts";

/** Limits that Offload has where nothing sets others. */
const ownLimits = { schedules: defaultSchedules, open_upload_bytes: defaultOpenUploadBytes };

/** Limits that operators stored in the table. */
export interface Stored {
  default: Limits;
  depth: AllLimits["depth"];
  tenant?: Limits;
}

/** Limits from one source, and its name. */
type Source = readonly [limits: object | undefined, name: string];

const set = "set with `limits set`";
const deployment = "setting of the deployment";

/**
 * Returns a row for each limit: its name, the value in force, and where it comes from.
 * @param configured The deployment's own settings. Undefined: not known.
 */
export function limitRows(stored: Stored, configured: AllLimits | undefined, tenant: string | undefined): string[][] {
  const none = configured === undefined ? "not set; the deployment's own setting is not known" : "no limit";
  const everyone: Source[] = [
    [stored.default, set],
    [configured?.default, deployment],
  ];
  const own = tenant !== undefined && configured !== undefined && Object.hasOwn(configured.tenants, tenant);
  const ofTenant: Source[] = [
    [stored.tenant, set],
    [own ? configured.tenants[tenant] : undefined, deployment],
    ...everyone.map(([limits, name]) => [limits, `default, ${name}`] as const),
  ];
  const row = (label: string, field: string, sources: readonly Source[]) => {
    const unset = Object.hasOwn(ownLimits, field)
      ? [String(ownLimits[field as keyof typeof ownLimits]), "Offload's own limit"]
      : [configured === undefined ? "-" : "none", none];
    const [value, from] = inForce(field, sources) ?? unset;
    return [label, String(value ?? "none"), from];
  };
  const ofDepth: Source[] = [
    [stored.depth, set],
    [configured?.depth, deployment],
  ];
  return [
    ...limitNames.map((name) => row(`default ${name}`, name, everyone)),
    ...tiers.map((tier) => row(`depth ${tier}`, tier, ofDepth)),
    ...(tenant === undefined ? [] : limitNames.map((name) => row(`${tenant} ${name}`, name, ofTenant))),
  ];
}

/** The first source that has a value decides. A burst comes from the source that sets the rate. */
function inForce(field: string, sources: readonly Source[]): [value: unknown, from: string] | undefined {
  const deciding = field === "burst" ? "submits_per_second" : field;
  const limitIn = (limits: object | undefined, name: string) => (limits as Record<string, unknown> | undefined)?.[name];
  const source = sources.find(([limits]) => limitIn(limits, deciding) !== undefined);
  const value = limitIn(source?.[0], field);
  if (source === undefined) return undefined;
  return value === undefined ? ["as submits_per_second", source[1]] : [value, source[1]];
}
