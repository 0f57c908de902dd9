/**
 * The whole courier: between a real signer, a gateway and a real chain (anvil), each of which comes and goes; its door to the chain
 * and its independent reading of bytes; and its process, started as the launcher starts it.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { createMetrics } from "../agent/courier/metrics.ts";
import { createChainDoor } from "../agent/courier/nodes/chain.ts";
import { createReadBack } from "../agent/courier/nodes/read-back.ts";
import { writeLinkFile } from "../agent/link-file.ts";
import type { WithdrawalView } from "../agent/socket/verbs.ts";
import { addressTopic, transferTopic } from "../chains/evm/erc20.ts";
import type { EvmNodes } from "../chains/evm/node.ts";
import { publicKeyHex } from "../protocol/envelope.ts";
import { AgentError } from "../protocol/fault.ts";
import { type Anvil, startAnvil } from "../scripts/anvil.ts";
import { balanceWei, rpc, transactionCount } from "../scripts/rpc.ts";
import { startsTheBuild } from "./support/built.ts";
import { CourierRig } from "./support/courier-rig.ts";
import { account, sentView, token, viewOf } from "./support/desk-views.ts";
import { forwarding, startFakeNode } from "./support/fake-node.ts";
import { agentId, hot } from "./support/signer-rig.ts";
import { until } from "./support/until.ts";

const ether = 10n ** 18n;
let anvil: Anvil;
let last = 0;
const receiver = () => `0x00000000000000000000000000000000000b${(++last).toString(16).padStart(4, "0")}`;

beforeAll(async () => {
  anvil = await startAnvil({ blockTimeMs: 100 });
});
afterAll(() => anvil.stop());

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function rigOn(nodes: readonly string[] = [anvil.url]): Promise<CourierRig> {
  const rig = new CourierRig();
  cleanups.push(async () => {
    await rig.stop();
    expect(rig.bugs).toEqual([]);
  });
  return rig.start(nodes);
}

const paid = (rig: CourierRig, ...ids: readonly string[]) =>
  until(() => ids.every((id) => rig.stateOf(id) === "paid"), 15_000).catch(() => {
    throw new Error(`${ids.map((id) => rig.stateOf(id)).join(" ")}\n${rig.logged.slice(-30).join("")}`);
  });

describe("a withdrawal", () => {
  it("is paid once, exactly, and reported to its end", async () => {
    const rig = await rigOn();
    const before = await transactionCount(anvil.url, hot);
    const to = receiver();
    const { transactionId } = rig.gateway.order({ address: to, amount: "1.25" });
    await paid(rig, transactionId);
    expect(await balanceWei(anvil.url, to)).toBe((ether * 5n) / 4n);
    expect(await transactionCount(anvil.url, hot)).toBe(before + 1);
    await until(() => rig.gateway.statements.at(-1)?.head === rig.signer.core.heads.acked.seq);
    for (const [i, { after, head }] of rig.gateway.statements.entries()) {
      if (i > 0) expect(after).toBe(rig.gateway.statements[i - 1]?.head);
      expect(head).toBeGreaterThan(after);
    }
    expect(rig.signer.kinds().filter((kind) => kind === "OBSERVED").length).toBeLessThanOrEqual(3);
  });

  it("is counted and timed, and logged once signed and once final", async () => {
    const rig = await rigOn();
    const { transactionId } = rig.gateway.order({ address: receiver() });
    const { transactionId: heldId } = rig.gateway.order({ address: receiver(), mode: "manual" });
    const beganAt = performance.now();
    await paid(rig, transactionId);
    // The signer knows of the end a moment before the courier has its answer.
    await until(() => rig.metrics.read().final === 1);
    const elapsedUs = (performance.now() - beganAt) * 1000;
    expect(rig.metrics.read()).toMatchObject({ linkUp: 1, signed: 1, replaced: 0, declined: 0, sent: 1, unsent: 0, final: 1 });
    expect(rig.metrics.durableMedianUs()).toBeGreaterThan(0);
    expect(rig.metrics.durableMedianUs()).toBeLessThan(elapsedUs);
    const told = rig.logged.map((line) => JSON.parse(line) as { level: number; msg: string; transactionId?: string });
    const info = (id: string) => told.filter((one) => one.level >= 30 && one.transactionId === id).map((one) => one.msg);
    expect(info(transactionId)).toEqual(["a withdrawal was signed", "a withdrawal is final"]);
    expect(info(heldId)).toEqual(["a withdrawal was admitted"]);
  });

  it("flows with others, one nonce after the other", async () => {
    const rig = await rigOn();
    const before = await transactionCount(anvil.url, hot);
    const receivers = Array.from({ length: 40 }, receiver);
    const ids = receivers.map((address) => rig.gateway.order({ address, amount: "0.01" }).transactionId);
    await paid(rig, ...ids);
    expect(ids.map((id) => Number(rig.view(id)?.nonce))).toEqual(ids.map((_, i) => before + i));
    for (const to of receivers) expect(await balanceWei(anvil.url, to)).toBe(ether / 100n);
  });

  it("survives the courier's end at any step", async () => {
    const rig = await rigOn();
    await until(() => rig.signer.core.heads.acked.seq > 0);
    rig.gateway.acknowledges = false;
    const to = receiver();
    const { transactionId } = rig.gateway.order({ address: to });
    await until(() => rig.stateOf(transactionId) === "signed");
    rig.stopCourier();
    rig.startCourier();
    await until(() => rig.gateway.connections === 2);
    rig.gateway.acknowledges = true;
    rig.stopCourier();
    rig.startCourier();
    await until(() => rig.stateOf(transactionId) !== "signed");
    rig.stopCourier();
    rig.startCourier();
    await paid(rig, transactionId);
    expect(await balanceWei(anvil.url, to)).toBe(ether);
    expect(rig.view(transactionId)?.versions).toHaveLength(1);
  });

  it("survives the signer's end, and finds the new run greeted", async () => {
    const rig = await rigOn();
    await until(() => rig.signer.core.heads.acked.seq > 0);
    rig.gateway.acknowledges = false;
    const to = receiver();
    const { transactionId } = rig.gateway.order({ address: to });
    await until(() => rig.stateOf(transactionId) === "signed");
    await rig.restartSigner();
    rig.gateway.acknowledges = true;
    await paid(rig, transactionId);
    expect(await balanceWei(anvil.url, to)).toBe(ether);
  });

  it("waits for a gateway that is away, and goes on where it was", async () => {
    const rig = await rigOn();
    await until(() => rig.signer.core.heads.acked.seq > 0);
    await rig.gateway.stop();
    const first = rig.gateway.order({ address: receiver() }).transactionId;
    const second = rig.gateway.order({ address: receiver() }).transactionId;
    await until(() => rig.logged.some((line) => line.includes("ECONNREFUSED")));
    await rig.gateway.start();
    await paid(rig, first, second);
  });

  it("tells each connection that its greeting was taken, with nothing else to say", async () => {
    const rig = await rigOn();
    await until(() => rig.gateway.statements.some(({ isGreeted }) => isGreeted));
    // The account's first nonce is told by itself; after that there is nothing new.
    await until(() => rig.signer.core.heads.acked.seq > 1 && rig.signer.core.outbox.size === 0);
    await rig.gateway.stop();
    const before = rig.gateway.statements.length;
    await rig.gateway.start();
    await until(() => rig.gateway.statements.length > before);
    const head = rig.signer.core.heads.acked.seq;
    expect(rig.gateway.statements.slice(before)).toEqual([{ after: head, head, isGreeted: true }]);
  });

  it("tells a gateway that went back what it lacks, and signs nothing for it", async () => {
    const rig = await rigOn();
    await until(() => rig.signer.core.heads.acked.seq > 0);
    expect(rig.gateway.gaps).toBe(0);
    const { stored } = rig.signer.gateway;
    await rig.gateway.stop();
    rig.signer.gateway.stored = null;
    await rig.gateway.start();
    await until(() => rig.gateway.gaps > 0);
    expect(rig.signer.signer.run.greeted).toBe(false);
    rig.signer.gateway.stored = stored;
    await paid(rig, rig.gateway.order({ address: receiver() }).transactionId);
  });

  it("has its jobs sent again in order when one came too early", async () => {
    const rig = await rigOn();
    await until(() => rig.signer.core.heads.acked.seq > 0);
    const { gateway } = rig.signer;
    const first = gateway.job({ currency: "eth", amount: "1", address: receiver() }, Date.now());
    const second = gateway.job({ currency: "eth", amount: "1", address: receiver() }, Date.now());
    rig.gateway.send(gateway.jobs([gateway.texts.at(-1)!], { at: Date.now() }));
    await paid(rig, first.transactionId, second.transactionId);
    expect(rig.logged.some((line) => line.includes("LINK_RESUME") && line.includes("JOB_GAP"))).toBe(true);
  });

  it("ends the link over a job that the gateway's key did not sign", async () => {
    const rig = await rigOn();
    await until(() => rig.signer.core.heads.acked.seq > 0);
    const { gateway } = rig.signer;
    const job = gateway.job({ currency: "eth", amount: "1", address: receiver() }, Date.now());
    const frame = gateway.jobs([gateway.texts.at(-1)!], { at: Date.now() });
    frame[frame.length - 2]! ^= 1;
    rig.gateway.send(frame);
    await until(() => rig.logged.some((line) => line.includes("LINK_REFUSED") && line.includes("ENVELOPE_SIGNATURE")));
    await paid(rig, job.transactionId);
  });

  it("waits while the node is away, and says so to the signer", async () => {
    let isAway = true;
    const node = await startFakeNode({
      answer: forwarding(anvil.url),
      hijack(_calls, response) {
        if (isAway) response.destroy();
        return isAway;
      },
    });
    cleanups.push(() => node.close());
    const rig = await rigOn([node.url]);
    const { transactionId } = rig.gateway.order({ address: receiver() });
    await until(() => rig.signer.signer.run.courier?.waiting.some((one) => one.why === "nodes NODE_UNREACHABLE") === true);
    expect(rig.signer.signer.run.courier?.chains[0]).toMatchObject({ chain: "local", ok: false });
    isAway = false;
    await paid(rig, transactionId);
    await until(() => rig.signer.signer.run.courier?.chains[0]?.ok === true);
    expect(rig.signer.signer.run.courier).toMatchObject({ link: "up", linkDetail: "" });
  });

  it("never reaches a node when independent code reads other bytes", async () => {
    const rig = await rigOn();
    await until(() => rig.signer.core.heads.acked.seq > 0);
    const before = await transactionCount(anvil.url, hot);
    const wrong = receiver();
    rig.tamper = (verb, answer) => {
      if (verb !== "admit" || !answer.ok) return answer;
      const { withdrawals, ...rest } = answer as unknown as { withdrawals: { address: string }[]; id: number; ok: true };
      return { ...rest, withdrawals: withdrawals.map((view) => ({ ...view, address: wrong })) };
    };
    const { transactionId } = rig.gateway.order({ address: receiver() });
    await until(() => rig.logged.some((line) => line.includes("COURIER_READ_BACK")));
    expect(rig.stateOf(transactionId)).toBe("released");
    expect(await transactionCount(anvil.url, hot)).toBe(before);
    rig.tamper = (_verb, answer) => answer;
    rig.stopCourier();
    rig.startCourier();
    await paid(rig, transactionId);
  });

  it("waits, and says why, while the chain would revert it", async () => {
    const rig = await rigOn();
    const refusing = "0x00000000000000000000000000000000000c0de0";
    await rpc(anvil.url, "anvil_setCode", [refusing, "0x60006000fd"]);
    const { transactionId } = rig.gateway.order({ address: refusing });
    await until(() => rig.signer.signer.run.courier?.waiting.some((one) => one.why.includes("revert")) === true, 8000);
    expect(rig.stateOf(transactionId)).toBe("approved");
  });
});

describe("the door to the chain", () => {
  const nodesWith = (change: Partial<EvmNodes>): EvmNodes => {
    const never = () => Promise.reject(new AgentError("NODE_TIMEOUT", "none", "not in this test"));
    return {
      status: () => [],
      checkChain: never,
      head: never,
      finalBlock: never,
      counters: never,
      balance: never,
      code: never,
      fees: never,
      estimateGas: never,
      broadcast: () => Promise.resolve({ outcome: "unsent", text: "" }),
      receipt: never,
      finalReceipt: never,
      block: never,
      logs: never,
      call: never,
      close: () => undefined,
      ...change,
    };
  };
  const doorTo = (change: Partial<EvmNodes>) => createChainDoor(nodesWith(change), [token], () => 0);
  const tokenView = sentView(1, "included", 1, { contract: token, currency: "usdt", amountUnits: "500" });
  const transfer = (to: string, units: bigint, from = account, contract = token) => ({
    address: contract,
    topics: [transferTopic, addressTopic(from), addressTopic(to)],
    data: `0x${units.toString(16).padStart(64, "0")}`,
    logIndex: 0,
  });
  const verdict = async (status: 0 | 1, logs: readonly ReturnType<typeof transfer>[], view = tokenView) => {
    const receipt = {
      txHash: view.versions[0]!.txHash,
      blockNumber: 5,
      blockHash: "0x5",
      status,
      from: account,
      to: token,
      logs,
    };
    const door = doorTo({ finalReceipt: () => Promise.resolve({ ...receipt, gasUsed: 1n, effectiveGasPrice: 1n }) });
    const [found] = await door.confirm([{ withdrawal: view, txHashes: [receipt.txHash] }]);
    return found?.verdict?.outcome;
  };

  it("calls a token payment paid only for one exact Transfer out of the account", async () => {
    const right = transfer(tokenView.address, 500n);
    expect(await verdict(1, [right])).toBe("paid");
    expect(await verdict(1, [right, transfer(account, 9n, tokenView.address)])).toBe("paid");
    expect(await verdict(0, [])).toBe("reverted");
    expect(await verdict(1, [])).toBe("moved");
    expect(await verdict(1, [transfer(tokenView.address, 499n)])).toBe("moved");
    expect(await verdict(1, [transfer(account, 500n)])).toBe("moved");
    expect(await verdict(1, [transfer(tokenView.address, 500n, tokenView.address)])).toBe("moved");
    expect(await verdict(1, [transfer(tokenView.address, 500n, account, account)])).toBe("moved");
    expect(await verdict(1, [right, transfer("0x0000000000000000000000000000000000000fee", 1n)])).toBe("moved");
  });

  it("knows the native balance when a token's cannot be read", async () => {
    const door = doorTo({
      head: () => Promise.resolve({ number: 9, hash: "0x9", baseFeePerGas: 1n, timestamp: 1 }),
      finalBlock: () => Promise.resolve({ number: 8, hash: "0x8" }),
      fees: () => Promise.resolve({ baseFeePerGas: 1n, maxPriorityFeePerGas: 1n }),
      code: () => Promise.resolve("0x"),
      balance: (_account, contract) =>
        contract === "" ? Promise.resolve(7n) : Promise.reject(new AgentError("NODE_ANSWER", "none", "no word")),
    });
    expect([...(await door.facts(account)).balances]).toEqual([["", 7n]]);
    const away = doorTo({ code: () => Promise.resolve("0x") });
    await expect(away.facts(account)).rejects.toMatchObject({ code: "NODE_TIMEOUT" });
  });

  it("calls a payment in the native coin paid by its status", async () => {
    const native = sentView(1, "included");
    expect(await verdict(1, [], native)).toBe("paid");
    expect(await verdict(0, [], native)).toBe("reverted");
  });

  it("names 21000 gas to a plain address, an estimate and a quarter for the rest", async () => {
    const estimate = () => Promise.resolve({ ok: true as const, gas: 40_001n });
    const plain = doorTo({ code: () => Promise.resolve("0x"), estimateGas: estimate });
    const contract = doorTo({ code: () => Promise.resolve("0x00"), estimateGas: estimate });
    expect(await plain.gas(account, viewOf(1, "approved"))).toEqual({ ok: true, gasLimit: 21_000n });
    expect(await contract.gas(account, viewOf(1, "approved"))).toEqual({ ok: true, gasLimit: 50_002n });
    expect(await plain.gas(account, viewOf(1, "approved", { contract: token }))).toEqual({ ok: true, gasLimit: 50_002n });
  });

  it("answers from what it asked ahead, once and for seconds only", async () => {
    let asked = 0;
    let nowMs = 0;
    const nodes = nodesWith({
      estimateGas: () => {
        asked += 1;
        return Promise.resolve({ ok: true, gas: 40_000n });
      },
    });
    const door = createChainDoor(nodes, [], () => nowMs);
    const view = viewOf(1, "approved", { contract: token });
    await door.expect(account, { contract: token, address: view.address.toLowerCase(), amountUnits: view.amountUnits });
    expect(await door.gas(account, view)).toEqual({ ok: true, gasLimit: 50_000n });
    expect(asked).toBe(1);
    await door.gas(account, view);
    expect(asked).toBe(2);
    await door.expect(account, view);
    nowMs += 5000;
    await door.gas(account, view);
    expect(asked).toBe(4);
    await door.expect(account, { ...view, amountUnits: "1" });
    await door.gas(account, view);
    expect(asked).toBe(6);
  });

  it("tells a call that would revert from a node in trouble", async () => {
    const view = viewOf(1, "approved", { contract: token });
    const reverting = doorTo({ estimateGas: () => Promise.resolve({ ok: false, code: "NODE_WOULD_REVERT" }) });
    expect(await reverting.gas(account, view)).toMatchObject({ ok: false, wouldRevert: true });
    expect(await doorTo({}).gas(account, view)).toMatchObject({ ok: false, code: "NODE_TIMEOUT", wouldRevert: false });
  });

  it("leaves out what the nodes could not answer", async () => {
    const wanted = [1, 2].map((sequence) => {
      const view = sentView(sequence, "broadcast");
      return { withdrawal: view, txHashes: [view.versions[0]!.txHash] };
    });
    const door = doorTo({
      receipt: (txHash) =>
        txHash === wanted[0]!.txHashes[0]
          ? Promise.resolve(null)
          : Promise.reject(new AgentError("NODE_TIMEOUT", "none", "late")),
    });
    expect(await door.look(wanted)).toEqual([{ transactionId: wanted[0]!.withdrawal.transactionId, place: null }]);
  });
});

describe("the independent reading", () => {
  it("finds each single difference", async () => {
    const rig = await rigOn();
    const told: Partial<WithdrawalView>[] = [];
    rig.tamper = (verb, answer) => {
      if (verb === "admit" || verb === "release") {
        told.push(...((answer as unknown as { withdrawals?: Partial<WithdrawalView>[] }).withdrawals ?? []));
      }
      return answer;
    };
    const { transactionId } = rig.gateway.order({ address: receiver() });
    await paid(rig, transactionId);
    const view = Object.assign({}, ...told) as WithdrawalView;
    const version = view.versions[0]!;
    const read = createReadBack(rig.settings);
    expect(await read(view, version)).toBe("");
    const other = { ...rig.settings, chains: { local: { ...rig.settings.chains.local!, chainId: 1 } } };
    expect(await createReadBack(other)(view, version)).toContain("chain");
    const wrongs: readonly (readonly [object, object, string])[] = [
      [{ address: receiver() }, {}, "to"],
      [{ amountUnits: `${ether + 1n}` }, {}, "amount"],
      [{ amountUnits: `${ether + 1n}`, amount: "1.000000000000000001" }, {}, "value"],
      [{ nonce: `${Number(view.nonce) + 1}` }, {}, "nonce"],
      [{ contract: token }, {}, "contract"],
      [{ currency: "usdt" }, {}, "contract"],
      [{ network: "eip155:1" }, {}, "network"],
      [{ currency: "none" }, {}, "does not know"],
      [{}, { txHash: `0x${"00".repeat(32)}` }, "hash"],
      [{}, { gasLimit: "21001" }, "gas limit"],
      [{}, { maxFeePerGas: "1" }, "maxFeePerGas"],
      [{}, { maxPriorityFeePerGas: "7" }, "maxPriorityFeePerGas"],
      [{}, { raw: `${version.raw?.slice(0, -2)}00` }, "hash"],
      [{}, { raw: "0x02" }, "unreadable"],
    ];
    for (const [change, versionChange, word] of wrongs) {
      expect(await read({ ...view, ...change }, { ...version, ...versionChange })).toContain(word);
    }
  });
});

describe("the process", () => {
  startsTheBuild();
  const program = fileURLToPath(new URL("../dist/agent/courier/main.js", import.meta.url));
  const flags = ["--disable-proto=throw", "--disallow-code-generation-from-strings"];

  const start = (settings: object | null) => {
    const child = spawn(process.execPath, [...flags, program], {
      stdio: ["pipe", "pipe", "pipe"],
      env: { PATH: process.env.PATH },
    });
    const out = { stdout: "", stderr: "" };
    child.stdout.on("data", (chunk: Buffer) => {
      out.stdout += chunk.toString();
    });
    child.stderr.on("data", (chunk: Buffer) => {
      out.stderr += chunk.toString();
    });
    const ended = once(child, "exit").then(([code]) => code as number | null);
    cleanups.push(() => child.kill("SIGKILL"));
    if (settings !== null) {
      const text = Buffer.from(JSON.stringify(settings));
      const length = Buffer.alloc(4);
      length.writeUInt32BE(text.length);
      child.stdin.write(Buffer.concat([length, text]));
    }
    return { child, out, ended };
  };

  it.runIf(existsSync(program))("runs from its bootstrap to the end of its parent's pipe, and logs no secret", async () => {
    const rig = await rigOn();
    rig.stopCourier();
    const gatewayKey = publicKeyHex(rig.signer.gateway.key);
    const identity = { agent: agentId, epoch: 1, gatewayKey, linkSeed: rig.linkKey.seed, gatewayUrl: rig.gateway.url };
    writeLinkFile(rig.folder, identity);
    const { child, out, ended } = start(rig.settings);
    await until(() => out.stdout.includes('{"ready":true}\n'), 10_000);
    const to = receiver();
    const { transactionId } = rig.gateway.order({ address: to });
    await paid(rig, transactionId);
    expect(await balanceWei(anvil.url, to)).toBe(ether);
    child.stdin.end();
    expect(await ended).toBe(0);
    expect(out.stderr).toContain("the link is up");
    expect(out.stderr).not.toContain(Buffer.from(rig.linkKey.seed).toString("hex"));
    expect(out.stderr).not.toMatch(/"raw"/);
  });

  it.runIf(existsSync(program))("refuses to run without its link file, with an exit code that says configuration", async () => {
    const folder = mkdtempSync(join(tmpdir(), "courier-"));
    cleanups.push(() => rmSync(folder, { recursive: true }));
    const settings = {
      ...{ gatewayUrl: "http://127.0.0.1:1", chains: {}, currencies: {}, stateDir: folder, signerSocket: join(folder, "s") },
      logLevel: "info",
    };
    const { out, ended } = start(settings);
    expect(await ended).toBe(2);
    expect(out.stderr).toContain("LINK_FILE_MISSING");
  });

  it.runIf(existsSync(program))("ends quietly when its parent goes before it has said anything", async () => {
    const { child, ended } = start(null);
    child.stdin.end();
    expect(await ended).toBe(0);
  });
});

describe("metrics", () => {
  it("time a job from its frame to its signature on disk, and give the median of the newest", () => {
    let nowMs = 0;
    const metrics = createMetrics(() => nowMs);
    expect(metrics.durableMedianUs()).toBe(0);
    for (let job = 0; job < 600; job += 1) {
      metrics.approved(`job ${job}`, nowMs);
      metrics.approved(`job ${job}`, nowMs + 1_000_000); // a repeat of the frame does not begin anew
      nowMs += job < 400 ? 9 : 2.5;
      metrics.durable(`job ${job}`);
      metrics.durable(`job ${job}`);
    }
    metrics.durable("held, approved by a person");
    expect(metrics.durableMedianUs()).toBe(2_500);
  });
});
