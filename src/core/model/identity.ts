/**
 * The roles. Each reads at least what the one before it reads. A `viewer` changes nothing: `src/http/api.ts` refuses it
 * every route that changes something, and the others have a least role.
 */
export const roles = ["submitter", "viewer", "operator", "admin"] as const;
export type Role = (typeof roles)[number];

/**
 * Roles of tokens for which the deployment maps no claim to a role: `admin` is for all tenants, and so never a default.
 */
export const tokenRoles = ["submitter", "viewer", "operator"] as const satisfies readonly Role[];
export type TokenRole = (typeof tokenRoles)[number];

/** The caller, as its API key or token says. */
export interface Identity {
  tenantId: string;
  principal: string;
  role: Role;
  /** True: a viewer that may read inputs and logs. */
  inputs?: true;
}

/** True when a caller may have at least the rights of a role, where it only reads. */
export const readsAs = (role: Role, min: Role): boolean => roles.indexOf(role) >= roles.indexOf(min);

/** True when a caller may read inputs and logs of the tasks that it may read. */
export const seesInputs = ({ role, inputs }: Pick<Identity, "role" | "inputs">): boolean =>
  role !== "viewer" || inputs === true;

/** The role of a key for people, such as `viewer, inputs`. */
export const roleInWords = ({ role, inputs }: { role: Role; inputs?: boolean }): string =>
  inputs === true ? `${role}, inputs` : role;
