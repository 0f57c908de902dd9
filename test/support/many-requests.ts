/** Hundreds of jobs to a signer, for tests of what a number bounds. */
import type { Kit } from "../../lab/kit/signer-kit.ts";
import type { Job } from "../../protocol/messages.ts";

/** Jobs in one frame: four times as quick as each in its own. */
const inFrame = 20;

/** So many jobs like one another, admitted. */
export function requestMany(kit: Kit, count: number, change: Partial<Job> = {}): void {
  for (let left = count; left > 0; left -= inFrame) {
    const some = Math.min(left, inFrame);
    for (let made = 0; made < some; made += 1) kit.gateway.job(change, kit.now);
    const { ok, code } = kit.admit(
      kit.gateway.jobs(kit.gateway.texts.slice(-some), { at: kit.now }),
    );
    if (!ok) throw new Error(`jobs are refused: ${code}`);
  }
}
