/** The roles, from least to most powerful. */
export const roles = ["submitter", "operator", "admin"] as const;
export type Role = (typeof roles)[number];

/** The caller, as its API key or token says. */
export interface Identity {
  tenantId: string;
  principal: string;
  role: Role;
}
