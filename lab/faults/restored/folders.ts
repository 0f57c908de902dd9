/**
 * The folders of gateway and agent as one moment had them: all processes stand still while they
 * are copied, as with a snapshot of the machine, and all are gone when the copies take their place.
 */
import { cpSync, lstatSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Kit } from "../../kit/kit.ts";
import { stop } from "../../kit/processes.ts";

export class Folders {
  readonly #kit: Kit;

  constructor(kit: Kit) {
    this.#kit = kit;
  }

  copy(): void {
    const pids = this.#pids();
    for (const pid of pids) process.kill(pid, "SIGSTOP");
    try {
      for (const [from, to] of this.#pairs()) replace(from, to);
    } finally {
      for (const pid of pids) process.kill(pid, "SIGCONT");
    }
  }

  /** Both sides end, by SIGKILL or as an operator ends them. */
  async end(isKilled: boolean): Promise<void> {
    const { crypto, gateway } = this.#kit;
    if (isKilled) for (const pid of this.#pids()) process.kill(pid, "SIGKILL");
    if (crypto !== null) await (isKilled ? crypto.ended : stop(crypto));
    if (gateway !== null) await (isKilled ? gateway.ended : stop(gateway));
  }

  /** `isWhole` for somebody who knows that a whole machine is of before, and follows the page. */
  restore(isWhole: boolean): void {
    for (const [from, to] of this.#pairs()) replace(to, from);
    if (isWhole)
      rmSync(join(dirname(this.#kit.gatewayConfigPath), "gateway.db.addresses"), { force: true });
  }

  #pairs(): readonly (readonly [string, string])[] {
    const { dir, stateDir, gatewayConfigPath } = this.#kit;
    return [stateDir, dirname(gatewayConfigPath)].map(
      (folder, at) => [folder, join(dir, `copy-${at}`)] as const,
    );
  }

  #pids(): readonly number[] {
    const { crypto, gateway } = this.#kit;
    const all = [crypto?.pid, gateway?.pid, this.#kit.signerPid(), this.#kit.courierPid()];
    return all.filter((pid): pid is number => pid !== undefined && pid > 0);
  }
}

function replace(from: string, to: string): void {
  rmSync(to, { recursive: true, force: true });
  // A socket is no file that a snapshot has.
  const filter = (path: string): boolean => !lstatSync(path).isSocket();
  cpSync(from, to, { recursive: true, preserveTimestamps: true, filter });
}
