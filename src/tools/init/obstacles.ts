import { addCommand, type Manager, usesPnp } from "./manager.ts";

/** The facts of a project that `init` needs to see that Offload cannot run there. */
export interface Found {
  manager: Manager;
  /**
   * Version of an installed package, or the range in `package.json`; undefined when it is neither installed nor named.
   */
  versionOf(name: string): string | undefined;
}

/**
 * Reasons for which Offload cannot run in a project, in sentences with the cure.
 * @param tested versions of packages that this release is tested with, as ranges
 */
export function obstacles({ manager, versionOf }: Found, tested: Readonly<Record<string, string>>): string[] {
  const pnp =
    "Yarn's Plug'n'Play keeps packages in archives, which Offload's builds do not read. " +
    "Put `nodeLinker: node-modules` into .yarnrc.yml and run `yarn install`.";
  const zod = versionOf("zod");
  const cdk = ["aws-cdk-lib", "constructs"].flatMap((name) => {
    const [has, needs] = [versionOf(name), tested[name]];
    if (has === undefined || needs === undefined || !isOlder(has, needs)) return [];
    return `This project has ${name} ${has}; Offload needs ${needs}: \`${addCommand(manager, `${name}@${needs}`)}\`.`;
  });
  const oldZod =
    `This project has zod ${zod}; Offload needs zod 4: \`${addCommand(manager, "zod@4").replace(/ --(save-)?dev/, "")}\`. ` +
    "Code for zod 3 goes on with zod 4's entry `zod/v3`.";
  return [...(usesPnp(manager) ? [pnp] : []), ...(zod !== undefined && isOlder(zod, "4.0.0") ? [oldZod] : []), ...cdk];
}

const numbersOf = (version: string): number[] | undefined =>
  /(\d+)(?:\.(\d+))?(?:\.(\d+))?/
    .exec(version)
    ?.slice(1)
    .map((part) => Number(part ?? 0));

/** True when a version, or the lowest one of a range, is older than another. A tag such as `latest` is not. */
export function isOlder(version: string, than: string): boolean {
  const [one, other] = [numbersOf(version), numbersOf(than)];
  if (one === undefined || other === undefined || /^(file|link|workspace|https?|git)/.test(version)) return false;
  const index = one.findIndex((part, place) => part !== other[place]);
  return index >= 0 && (one[index] ?? 0) < (other[index] ?? 0);
}
