import { type Role, roles, type Tier, tiers } from "../core/model/words.ts";
import { parseAllowedHost } from "../core/notify/allowed-hosts.ts";
import type { SecretSource } from "../core/task/environment.ts";

/**
 * Parses the text of a setting's variable, or throws an Error with the expected value. It does not use zod, which most
 * functions would load at their start for this alone.
 */
export type Read<T> = (given: string | undefined) => T;

const expected = (what: string) => new Error(`expected ${what}`);

/** A required text. */
export const text: Read<string> = (given) => {
  if (given === undefined || given === "") throw expected("a text");
  return given;
};

export const longText =
  (least: number): Read<string> =>
  (given) => {
    if (text(given).length < least) throw expected(`at least ${least} characters`);
    return text(given);
  };

/** A text with a default for an absent variable. An empty text is an error. */
export const textOr =
  (fallback: string): Read<string> =>
  (given) =>
    given === undefined ? fallback : text(given);

/** An optional text. An empty text counts as absent. */
export const optionalText: Read<string | undefined> = (given) => (given === "" ? undefined : given);

export const arn: Read<string> = (given) => {
  if (given?.startsWith("arn:") !== true) throw expected("an ARN");
  return given;
};

export const url: Read<string> = (given) => {
  if (given === undefined || !URL.canParse(given)) throw expected("a URL");
  return given;
};

export const oneOf =
  <T extends string>(values: readonly T[]): Read<T> =>
  (given) => {
    const found = values.find((value) => value === given);
    if (found === undefined) throw expected(`one of ${values.join(", ")}`);
    return found;
  };

export const numberOr =
  (fallback: number, accepts: (number: number) => boolean, what: string): Read<number> =>
  (given) => {
    const number = given === undefined || given.trim() === "" ? fallback : Number(given);
    if (!accepts(number)) throw expected(what);
    return number;
  };

/** A whole number from `least` to `most`. */
export const wholeNumberOr = (fallback: number, least: number, most: number): Read<number> =>
  numberOr(
    fallback,
    (number) => Number.isInteger(number) && number >= least && number <= most,
    `a whole number from ${least} to ${most}`,
  );

export const perTierUrls: Read<Record<Tier, string>> = (given) => {
  const urls = (parseJson(given ?? "") ?? {}) as Partial<Record<Tier, unknown>>;
  const good = tiers.every((tier) => typeof urls[tier] === "string" && URL.canParse(urls[tier]));
  if (!good) throw expected("a JSON object with a URL for each tier");
  return urls as Record<Tier, string>;
};

/** As `perTierUrls`, for a setting that may be absent. An empty text counts as absent. */
export const optionalPerTierUrls: Read<Record<Tier, string> | undefined> = (given) =>
  optionalText(given) === undefined ? undefined : perTierUrls(given);

/** Tiers, separated by commas, in the order of their urgency. Absent: all. */
export const tierList: Read<readonly Tier[]> = (given = "") => {
  const names = given.split(",").map((name) => name.trim());
  if (optionalText(given) === undefined) return tiers;
  if (!names.every((name) => (tiers as readonly string[]).includes(name))) {
    throw expected(`tiers, separated by commas, of ${tiers.join(", ")}`);
  }
  return tiers.filter((tier) => names.includes(tier));
};

/** A whole number from `least` to `most`. Absent: undefined. */
export const optionalWholeNumber =
  (least: number, most: number): Read<number | undefined> =>
  (given) =>
    optionalText(given) === undefined ? undefined : wholeNumberOr(least, least, most)(given);

/** An ECS cluster and a service in it. */
export const clusterAndService: Read<{ readonly cluster: string; readonly service: string }> = (given = "") => {
  const [cluster, service, ...more] = given.split("/");
  if (!cluster || !service || more.length > 0) throw expected("<cluster>/<service>");
  return { cluster, service };
};

/** True when a URL uses TLS or this machine, so that keys may be fetched from it. */
export function isSafeUrl(given: string): boolean {
  const { protocol, hostname } = URL.parse(given) ?? {};
  return protocol === "https:" || (protocol === "http:" && ["127.0.0.1", "localhost"].includes(hostname ?? ""));
}

export const safeUrl: Read<string | undefined> = (given) => {
  if (optionalText(given) !== undefined && !isSafeUrl(given ?? "")) throw expected("an https URL");
  return optionalText(given);
};

/** Origins that keys may be sent to, separated by commas. */
export const origins: Read<readonly string[]> = (given = "") => {
  const names = given
    .split(",")
    .map((name) => name.trim())
    .filter((name) => name !== "");
  const wrong = names.find((name) => !isSafeUrl(name) || !/^https?:\/\/[a-z0-9.-]+(:\d+)?$/.test(name));
  if (wrong === undefined) return names;
  throw expected(`https origins, such as https://login.example.com, got ${JSON.stringify(wrong.slice(0, 60))}`);
};

/** Allowed signature algorithms of tokens: only those with a private key of the issuer, so neither HS256 nor none. */
export const jwtAlgorithms = [
  ...["RS256", "RS384", "RS512", "PS256", "PS384", "PS512"],
  ...["ES256", "ES384", "ES512", "EdDSA", "Ed25519"],
];

export const jwtAlgorithmList: Read<string[]> = (given = "RS256,ES256,EdDSA") => {
  const names = given.split(",").map((name) => name.trim());
  if (!names.every((name) => jwtAlgorithms.includes(name))) throw expected(`a list of ${jwtAlgorithms.join(", ")}`);
  return names;
};

/** Roles by values of a claim. An empty text counts as absent. */
export const rolesByClaim: Read<Readonly<Record<string, Role>> | undefined> = (given) => {
  if (optionalText(given) === undefined) return undefined;
  const found = parseJson(given ?? "");
  const isMap = typeof found === "object" && found !== null && !Array.isArray(found);
  const good = isMap && Object.values(found).every((role) => roles.includes(role));
  if (!good) throw expected(`a JSON object of values of the role claim, each with one of ${roles.join(", ")}`);
  return found as Record<string, Role>;
};

/** Secrets by the names of their variables. An absent text means none. */
export const secretSources: Read<Readonly<Record<string, SecretSource>> | undefined> = (given) => {
  if (optionalText(given) === undefined) return undefined;
  const found = parseJson(given ?? "");
  if (typeof found !== "object" || found === null) throw expected("a JSON object of secrets by variable");
  return found as Record<string, SecretSource>;
};

/** Hosts with ports, separated by commas. */
export const allowedHosts: Read<readonly string[]> = (given = "") => {
  const entries = given
    .split(",")
    .map((entry) => entry.trim())
    .filter((entry) => entry !== "");
  return entries.map((entry) => {
    const host = parseAllowedHost(entry);
    if (host === undefined)
      throw expected(`hosts with ports, such as 127.0.0.1:9000, got ${JSON.stringify(entry.slice(0, 60))}`);
    return host;
  });
};

/** Returns undefined for a text that is not JSON. */
export function parseJson(given: string): unknown {
  try {
    return JSON.parse(given);
  } catch {
    return undefined;
  }
}
