/** The roles, from least to most powerful. */
export const roles = ["submitter", "operator", "admin"] as const;
export type Role = (typeof roles)[number];

/**
 * Roles of tokens for which the deployment maps no claim to a role: `admin` is for all tenants, and so never a default.
 */
export const tokenRoles = ["submitter", "operator"] as const satisfies readonly Role[];
export type TokenRole = (typeof tokenRoles)[number];

/** The caller, as its API key or token says. */
export interface Identity {
  tenantId: string;
  principal: string;
  role: Role;
}
