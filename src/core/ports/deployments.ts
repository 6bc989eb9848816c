/** A deployment that has ended. A start or reload of the local server is one. */
export interface Deployment {
  /** Time from which the new code may have run. The same as `deployed_at` where nobody heard of the start. */
  started_at: string;
  /** Time of its end. */
  deployed_at: string;
  /** Offload's version. */
  version: string;
  /** True: it failed, and what was there before is there again. */
  rolled_back: boolean;
}

/** The deployments that are listed at most. */
export const mostDeployments = 50;

/** Time after which a deployment is deleted, in seconds: longer than any task is kept. */
export const deploymentSeconds = 90 * 86_400;

/** The times of deployments. All methods throw `PortUnavailable`. Contract suite: `test/contract/deployments.ts`. */
export interface Deployments {
  /** Stores that a deployment has started. */
  begin(at: string): Promise<void>;
  /** The start that was stored last. Undefined: none. */
  begun(): Promise<string | undefined>;
  /** Stores a deployment. One of the same end is replaced: its event may come twice. */
  note(deployment: Deployment): Promise<void>;
  /** The newest deployments, newest first, at most `mostDeployments`. */
  newest(): Promise<Deployment[]>;
}
