import { type Deployment, type Deployments, maxDeployments } from "../core/schedules/ports.ts";

/** The ends of deployments in memory. Nothing deletes them. */
export class MemoryDeployments implements Deployments {
  readonly #byTime = new Map<string, Deployment>();

  #start: string | undefined;

  async begin(at: string): Promise<void> {
    this.#start = at;
  }

  async begun(): Promise<string | undefined> {
    return this.#start;
  }

  async note(deployment: Deployment): Promise<void> {
    this.#byTime.set(deployment.deployed_at, { ...deployment });
  }

  async newest(): Promise<Deployment[]> {
    return [...this.#byTime.values()]
      .sort((a, b) => (a.deployed_at < b.deployed_at ? 1 : -1))
      .slice(0, maxDeployments)
      .map((deployment) => ({ ...deployment }));
  }
}
