import { hkdfSync } from "../../util/node-crypto.ts";
import type { WebhookSecrets } from "../ports/notify.ts";
import type { Clock } from "../ports/tasks.ts";
import type { Receiver } from "../ports/webhooks.ts";

/** The master key of a deployment. All tenants' secrets follow from it. */
export interface WebhookKey {
  /** Returns its 32 bytes. @throws PortUnavailable */
  read(): Promise<Uint8Array>;
}

/** The version of a tenant's secret, and its last rotations. */
export interface SecretVersion {
  /** 2 or more: a tenant that never rotated its secret has version 1, and no item. */
  version: number;
  /** ISO times of the last rotations, newest first. The first one made `version`, the second one the version before. */
  rotated_at: readonly string[];
}

/**
 * Versions of tenants' secrets. All methods throw `PortUnavailable`. Contract suite:
 * `test/contract/secret-versions.ts`.
 */
export interface SecretVersions {
  /** Reads consistently. Undefined: version 1. */
  get(tenantId: string): Promise<SecretVersion | undefined>;
  /**
   * Stores a version if the stored one is the version before it, or the same with the same last rotation. Returns false
   * otherwise.
   */
  put(tenantId: string, next: SecretVersion): Promise<boolean>;
}

export interface SecretPorts {
  key: WebhookKey;
  versions: SecretVersions;
  clock: Pick<Clock, "now">;
}

/** Time in milliseconds that a secret signs after its rotation. */
const overlapMs = 24 * 3_600_000;

/** The most secrets that sign at the same time: each is one more signature in a header. */
const maxSecrets = 5;

/** A secret was rotated too often. */
export class TooManyRotations extends Error {
  constructor(tenantId: string, againAt: string) {
    super(
      `The webhook secret of ${tenantId} was rotated ${maxSecrets - 1} times within 24 hours, which is the maximum, because ` +
        `each earlier secret signs for 24 hours. Rotate it again after ${againAt}.`,
    );
    this.name = "TooManyRotations";
  }
}

/**
 * Derives a secret: HKDF with SHA-256 over the master key. A tenant's id contains no `#`, so no two secrets are the
 * same.
 * @returns `whsec_` and 32 bytes as base64
 */
export function deriveSecret(key: Uint8Array, tenantId: string, version: number): string {
  return derive(key, `${tenantId}#${version}`);
}

function derive(key: Uint8Array, info: string): string {
  const bytes = hkdfSync("sha256", key, "offload webhooks", info, 32);
  return `whsec_${Buffer.from(bytes).toString("base64")}`;
}

/**
 * The secrets that sign a tenant's webhooks: the present secret, and each secret that was rotated less than 24 hours
 * ago.
 */
export function webhookSecrets({ key, versions, clock }: SecretPorts): WebhookSecrets {
  return {
    async of(tenantId) {
      const [master, stored] = await Promise.all([key.read(), versions.get(tenantId)]);
      const signing = signingVersions(stored ?? { version: 1, rotated_at: [] }, clock.now());
      return signing.map((each) => deriveSecret(master, tenantId, each));
    },
  };
}

/**
 * The secrets that sign a receiver's webhooks, newest first. No tenant's own secret is the same, as no tenant's id
 * contains `#`. @throws PortUnavailable
 */
export async function receiverSecrets(
  { key, clock }: Omit<SecretPorts, "versions">,
  { tenant_id, webhook_id, secret_version: version, rotated_at }: Receiver,
): Promise<string[]> {
  const master = await key.read();
  const signing = signingVersions({ version, rotated_at }, clock.now());
  return signing.map((each) => derive(master, `${tenant_id}#receiver#${webhook_id}#${each}`));
}

/** The present version, and those that were rotated less than 24 hours ago. */
const signingVersions = ({ version, rotated_at }: SecretVersion, nowMs: number): number[] => [
  version,
  ...recent(rotated_at, nowMs).map((_, index) => version - 1 - index),
];

const recent = (times: readonly string[], nowMs: number): string[] =>
  times.filter((time) => nowMs - Date.parse(time) < overlapMs);

/**
 * Makes a new secret for a tenant. The earlier secrets sign for 24 hours after their rotation.
 * @throws TooManyRotations, PortUnavailable
 */
export async function rotateSecret({ versions, clock }: Omit<SecretPorts, "key">, tenantId: string): Promise<void> {
  for (;;) {
    const stored = await versions.get(tenantId);
    const next = nextVersion(stored ?? { version: 1, rotated_at: [] }, clock.now(), tenantId);
    if (await versions.put(tenantId, next)) return;
  }
}

/** The version after a rotation. @param of Whose secret it is, in words. @throws TooManyRotations */
export function nextVersion({ version, rotated_at }: SecretVersion, nowMs: number, of: string): SecretVersion {
  const times = recent(rotated_at, nowMs);
  const oldest = times[maxSecrets - 2];
  if (oldest !== undefined) throw new TooManyRotations(of, new Date(Date.parse(oldest) + overlapMs).toISOString());
  return { version: version + 1, rotated_at: [new Date(nowMs).toISOString(), ...times] };
}

/**
 * Parses a master key.
 * @throws Error when the text is not 32 bytes as base64. It does not contain the text.
 */
export function parseWebhookKey(text: string): Uint8Array {
  if (!/^[A-Za-z\d+/]{43}=$/.test(text)) throw new Error("expected 32 bytes as base64");
  return Buffer.from(text, "base64");
}

/** A master key that is known. @throws Error when the text is not 32 bytes as base64 */
export function fixedWebhookKey(text: string): WebhookKey {
  const key = parseWebhookKey(text);
  return { read: async () => key };
}
