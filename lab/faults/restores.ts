/**
 * Ledgers restored to an earlier record and agents that run twice, in the light world: the signer
 * must detect before it signs again, in whatever order gateway and agent come back, and stay locked
 * after a restart.
 */
import {
  copyFileSync,
  mkdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import type { Counterpart } from "./counterpart.ts";
import {
  copySignerFolder,
  makeSignerFolder,
  recordsOf,
  type SignerFolder,
  segmentsOf,
  startSigner,
} from "./signer-folder.ts";
import { pick, type Random, type Tally } from "./tally.ts";

const acts: readonly string[] = [
  "INTENT",
  "SIGNED",
  "RELEASED",
  "APPROVED",
  "REQUESTED",
  "ADOPTED",
];

/** A history of withdrawals whose every record the gateway knows. */
async function makeHistory(
  dir: string,
  counterpart: Counterpart,
  random: Random,
): Promise<SignerFolder> {
  mkdirSync(dir, { recursive: true });
  const folder = await makeSignerFolder(dir, counterpart.identity);
  for (let part = 0; part < 3; part += 1) {
    const signer = await startSigner(folder);
    await counterpart.drive(folder, 1 + Math.floor(random() * 2), random() < 0.5);
    await signer.kill();
  }
  return folder;
}

/**
 * The signer on this folder is locked, or locks at the gateway's word; it binds and signs nothing
 * and lets nothing out.
 */
async function mustLock(
  folder: SignerFolder,
  counterpart: Counterpart,
  isGatewayAway: boolean,
): Promise<readonly string[]> {
  const before = recordsOf(folder).length;
  const found: string[] = [];
  if (isGatewayAway) {
    const alone = await startSigner(folder);
    found.push(...(await counterpart.tempt(folder, "SIGNER_NO_HANDSHAKE")));
    await alone.kill();
  }
  const signer = await startSigner(folder);
  const code = await counterpart.handshakes(folder);
  if (code !== "SIGNER_LOCKED")
    found.push(`the gateway's handshake was answered with ${code || "a yes"}`);
  found.push(...(await counterpart.tempt(folder, "SIGNER_LOCKED")));
  await signer.kill();
  const again = await startSigner(folder);
  found.push(...(await counterpart.tempt(folder, "SIGNER_LOCKED")));
  await again.kill();
  const news = recordsOf(folder).slice(before);
  if (!news.some((record) => record.kind === "LOCKED")) found.push("no lock was recorded");
  for (const record of news)
    if (acts.includes(record.kind)) found.push(`${record.kind} was recorded after the restore`);
  return found;
}

/** Cuts the ledger to its first `count` records. */
function cutLedger(folder: SignerFolder, count: number): void {
  const file = segmentsOf(folder)[0] ?? "";
  const lines = readFileSync(file, "utf8").split("\n").slice(0, count);
  truncateSync(file, Buffer.byteLength(`${lines.join("\n")}\n`));
}

/** A ledger's past that is to be made, in a folder of its own, and what is to be done to it. */
export interface History {
  readonly dir: string;
  readonly counterpart: Counterpart;
  readonly most: number;
  readonly random: Random;
  readonly tally: Tally;
}

/**
 * Puts a history back to up to `most` of its earlier records, each on its own, from `random` on;
 * gives how many.
 */
export async function restoreLedgers({
  dir,
  counterpart,
  most,
  random,
  tally,
}: History): Promise<number> {
  const folder = await makeHistory(dir, counterpart, random);
  const newest = counterpart.gateway.stored?.seq ?? 0;
  const file = segmentsOf(folder)[0] ?? "";
  const kept = `${file}.kept`;
  copyFileSync(file, kept);
  const first = 1 + Math.floor(random() * (newest - 1));
  let done = 0;
  for (; done < Math.min(most, newest - 1); done += 1) {
    const seq = 1 + ((first + done) % (newest - 1));
    writeFileSync(file, readFileSync(kept));
    cutLedger(folder, seq);
    const order = done % 2 === 0 ? "the gateway there" : "the gateway away";
    const found = await mustLock(folder, counterpart, done % 2 === 1);
    tally.struck("restores", `signer's ledger, ${order}`);
    tally.violated(`ledger restored to record ${seq} of ${newest}, ${order}`, found);
  }
  writeFileSync(file, readFileSync(kept));
  const signer = await startSigner(folder);
  await counterpart.drive(folder, 1); // The newest ledger works on as if nothing had been.
  await signer.kill();
  counterpart.judge(folder);
  folder.lock.release();
  rmSync(dir, { recursive: true, force: true });
  return done;
}

/**
 * The same agent a second time on a copy of its files, once: anybody who comes second must detect
 * it.
 */
export async function runTwice({ dir, counterpart, random, tally }: History): Promise<number> {
  const folder = await makeHistory(dir, counterpart, random);
  const twinDir = join(dir, "twin");
  mkdirSync(twinDir);
  const twin = await copySignerFolder(folder, twinDir);
  const [ahead, behind] = random() < 0.5 ? [folder, twin] : [twin, folder];
  const order = pick(random, ["one after the other", "both at once"] as const);
  const early = order === "both at once" ? await startSigner(behind) : null;
  if (early !== null) await counterpart.handshakes(behind); // Handshake while its ledger still fits.
  const signer = await startSigner(ahead);
  await counterpart.drive(ahead, 1);
  const found: string[] = [];
  if (early !== null) {
    found.push(...(await counterpart.tempt(behind, "SIGNER_LOCKED")));
    await early.kill();
    const news = recordsOf(behind).map((record) => record.kind);
    if (!news.includes("LOCKED")) found.push("no lock was recorded");
  } else found.push(...(await mustLock(behind, counterpart, random() < 0.5)));
  await counterpart.drive(ahead, 1); // The one that is ahead is not disturbed.
  await signer.kill();
  tally.struck("restores", `second agent on a copy, ${order}`);
  tally.violated(`second agent, ${order}`, found);
  counterpart.judge(ahead);
  folder.lock.release();
  twin.lock.release();
  rmSync(dir, { recursive: true, force: true });
  return 1;
}
