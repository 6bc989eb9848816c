/** The roles, least first. */
export const roles = ["submitter", "operator", "admin"] as const;
export type Role = (typeof roles)[number];

/** Who asks: what a token yields, whatever kind of token it was. */
export interface Identity {
  tenantId: string;
  principal: string;
  role: Role;
}
