import type { Role } from "../../src/core/model/words.ts";

/*
 * The owners of texts. Each secret names its tenant and the caller who sent it. Ids, tokens and cursors belong to the
 * tenant to which they were given first.
 */

/** A caller of the API. */
export interface Caller {
  /** Its name in secrets: lower case letters and digits. */
  name: string;
  /** The bearer token. Empty: none. */
  token: string;
  /** Undefined: the token is no token of this deployment. */
  tenant?: string;
  role?: Role;
  /** True: a viewer that may read inputs and logs. */
  inputs?: true;
}

/** A reader of texts: a caller of the API, or the receiver of a webhook or of a channel's message. */
export interface Viewer {
  /** Tenants that it may see. */
  tenants: readonly string[];
  /** The name of a caller that sees only its own tasks. Undefined: it sees all tasks of its tenants. */
  only?: string | undefined;
}

/** Secrets as `secretOf` makes them. */
const secretPattern = /mark-([a-z]+)-([a-z0-9]+)-\d+/g;

/** Ids, secrets of webhooks, API keys and cursors. */
const idPattern =
  /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|whsec_[A-Za-z0-9+/]{43}=|ofl_[A-Za-z0-9]+_[A-Za-z0-9]+|(?<![\w-])[\w-]{20,}\.[\w-]{20,}/g;

/** A text that nobody but its caller's tenant may see; of a submitter, no other submitter. */
export const secretOf = ({ tenant = "none", name }: Caller, number: number): string =>
  `mark-${tenant}-${name}-${number}`;

export class Owners {
  readonly #tenants: readonly string[];
  readonly #ownerOf: (id: string) => string | undefined;
  readonly #owners = new Map<string, string>();
  /** Texts that a tenant has sent itself: they are no news to it. */
  readonly #sent = new Map<string, Set<string>>();

  /** @param ownerOf Finds the tenant of an id in the stores. Undefined: it is in none of them. */
  constructor(tenants: readonly string[], ownerOf: (id: string) => string | undefined) {
    this.#tenants = tenants;
    this.#ownerOf = ownerOf;
    for (const tenant of tenants) this.#sent.set(tenant, new Set());
  }

  /** Remembers the ids that somebody sent to a tenant's data. */
  sends({ tenants }: Viewer, text: string): void {
    for (const [id] of text.matchAll(idPattern)) for (const tenant of tenants) this.#sent.get(tenant)?.add(id);
  }

  /** Returns a text that the viewer must not see. Undefined: there is none. */
  foreignIn(viewer: Viewer, text: string, request: string): string | undefined {
    for (const [secret, tenant = "", name = ""] of text.matchAll(secretPattern)) {
      const isOthers = viewer.only !== undefined && name !== viewer.only && name.startsWith("sub");
      if ((isOthers || !viewer.tenants.includes(tenant)) && !request.includes(secret)) return secret;
    }
    for (const [id] of text.matchAll(idPattern)) {
      const owner = this.#owner(id, viewer);
      if (owner === undefined || viewer.tenants.includes(owner) || request.includes(id)) continue;
      if (!viewer.tenants.some((tenant) => this.#sent.get(tenant)?.has(id))) return id;
    }
    return undefined;
  }

  /** The tenant of an id: that of the store where it is, or else the only tenant of who sees it first. */
  #owner(id: string, { tenants }: Viewer): string | undefined {
    const known = this.#owners.get(id);
    if (known !== undefined) return known;
    const [first, ...others] = tenants.filter((tenant) => this.#tenants.includes(tenant));
    const owner = this.#ownerOf(id) ?? (others.length === 0 ? first : undefined);
    if (owner !== undefined && this.#tenants.includes(owner)) this.#owners.set(id, owner);
    return owner;
  }
}
