/**
 * Two gateways that differ by their number of paired agents alone, on one chain with blocks of one
 * second, while nobody pays: the questions to their nodes and their CPU in the same 30 seconds. The
 * agents have a hot wallet and an account of deposits each, in a coin and a token, and never come.
 */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { HDKey } from "@scure/bip32";
import { pino } from "pino";
import { familyOf } from "../../chains/families.ts";
import { initFolder } from "../../gateway/operator/folder.ts";
import { type Anvil, startAnvil } from "../kit/anvil.ts";
import { depositXpub } from "../kit/gateway-database.ts";
import { localGateway } from "../kit/kit.ts";
import { freePort, type StartedProcess, stop } from "../kit/processes.ts";
import { deployToken } from "../kit/token.ts";
import { type CountedNode, countCalls } from "./calls.ts";
import { cpuUsOf } from "./cpu.ts";
import { openOf, startMeasured } from "./gateway-folder.ts";

export interface GrowthPlan {
  readonly few: number; // agents of the small gateway
  readonly many: number;
  readonly settleMs: number; // until each wallet has had its first reading
  readonly idleMs: number;
}

/** A gateway's costs of an idle second. */
export interface IdleFigures {
  readonly questions: number;
  readonly cpuMs: number;
}

export interface GrowthFigures {
  readonly few: IdleFigures;
  readonly many: IdleFigures;
}

/** With many agents the first readings take a minute and a half on a loaded machine. */
export const longGrowth: GrowthPlan = { few: 10, many: 2_000, settleMs: 100_000, idleMs: 30_000 };

const network = "eip155:31337";
const log = pino({ level: "silent" });

/** Account keys of one form and of many owners. */
function accountsOf(parent: HDKey, at: number): string {
  const { publicKey, chainCode } = parent.deriveChild(at);
  const { versions, depth, index, parentFingerprint } = parent;
  if (publicKey === null || chainCode === null)
    throw new Error(`no child ${at} of the account's key`);
  const { publicExtendedKey: id } = new HDKey({
    versions,
    depth,
    index,
    parentFingerprint,
    publicKey,
    chainCode,
  });
  const hot = `0x${"c".repeat(32)}${at.toString(16).padStart(8, "0")}`;
  return JSON.stringify([
    { family: "evm", purpose: "hot", id: hot, firstAddress: hot },
    {
      family: "evm",
      purpose: "deposits",
      id,
      firstAddress: familyOf(network).depositAddress(id, 0),
    },
  ]);
}

function pairAgents(database: string, agents: number): void {
  const parent = HDKey.fromExtendedKey(depositXpub);
  const store = openOf(database);
  store.write((inside) => {
    for (let at = 1; at <= agents; at += 1) {
      inside.run("INSERT INTO merchants (id, name, createdAt) VALUES (?, 'Shop', 0)", `n${at}`);
      inside.run(
        `INSERT INTO agents (id, merchant, wallet, ledgerEpoch, signerKey, linkKey, accounts, networks, currencies, pairedAt)
           VALUES (?, ?, ?, 1, ?, ?, ?, ?, '[]', 0)`,
        ...[
          `agent ${at}`,
          `n${at}`,
          `wallet ${at}`,
          `${at}`,
          `${at}`,
          accountsOf(parent, at),
          JSON.stringify([network]),
        ],
      );
    }
  });
  store.close();
}

interface GrownGateway {
  readonly gateway: StartedProcess;
  readonly node: CountedNode;
}

/** A gateway with so many paired agents, behind an address of the node that counts. */
async function startGrown(
  dir: string,
  anvil: Anvil,
  token: string,
  agents: number,
): Promise<GrownGateway> {
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  const made = initFolder(join(dir, "gateway"), log);
  const node = await countCalls(anvil.url);
  const config = {
    ...(JSON.parse(readFileSync(made.config, "utf8")) as object),
    ...localGateway({ port: await freePort(), nodeUrl: node.url, token, confirmations: 1 }),
    logLevel: "warn",
  };
  writeFileSync(made.config, JSON.stringify(config));
  pairAgents(join(dir, "gateway", "gateway.db"), agents);
  try {
    return { gateway: await startMeasured({ dir, config: made.config }), node };
  } catch (error) {
    await node.close();
    throw error;
  }
}

async function measureIdle(
  all: readonly GrownGateway[],
  { settleMs, idleMs }: GrowthPlan,
): Promise<readonly IdleFigures[]> {
  const used = () =>
    all.map(({ gateway, node }) => ({ questions: node.calls(), cpuUs: cpuUsOf(gateway.pid) }));
  await sleep(settleMs);
  const before = used();
  const began = performance.now();
  await sleep(idleMs);
  const seconds = (performance.now() - began) / 1_000;
  return used().map(({ questions, cpuUs }, at) => ({
    questions: (questions - (before[at]?.questions ?? 0)) / seconds,
    cpuMs: (cpuUs - (before[at]?.cpuUs ?? 0)) / 1_000 / seconds,
  }));
}

/** Starts both, takes the figures in the same seconds, and ends them. */
export async function measureGrowth(plan: GrowthPlan): Promise<GrowthFigures> {
  const dir = mkdtempSync(join(tmpdir(), "autowithdraw-growth-"));
  const anvil = await startAnvil({ chainId: 31_337, blockTimeMs: 1_000 });
  const started: GrownGateway[] = [];
  try {
    const { address: token } = await deployToken(anvil.url);
    for (const agents of [plan.few, plan.many]) {
      started.push(await startGrown(join(dir, `${agents}`), anvil, token, agents));
    }
    const [few, many] = (await measureIdle(started, plan)) as [IdleFigures, IdleFigures];
    return { few, many };
  } finally {
    for (const { gateway, node } of started) {
      await stop(gateway);
      await node.close();
    }
    await anvil.stop();
    rmSync(dir, { recursive: true, force: true });
  }
}

export function describeGrowth({ few, many }: GrowthFigures): string {
  const row = (name: string, of: (figures: IdleFigures) => number): string =>
    `${name.padEnd(50)}${of(few).toFixed(2).padStart(10)}${of(many).toFixed(2).padStart(10)}   ${(of(many) / of(few)).toFixed(2)} times`;
  return [
    row("questions a second while idle, few and many agents", ({ questions }) => questions),
    row("CPU ms a second while idle, few and many agents", ({ cpuMs }) => cpuMs),
  ].join("\n");
}
