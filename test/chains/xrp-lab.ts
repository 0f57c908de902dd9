/** The stand-in for rippled with an account of ours, and sender and watcher over its providers. */
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { Payment } from "../../chains/family.ts";
import type { Judgement, SenderNodes, WatcherNodes } from "../../chains/nodes.ts";
import { createXrpSender } from "../../chains/xrp/node-sender.ts";
import { createXrpWatcher } from "../../chains/xrp/node-watcher.ts";
import type { Trouble } from "../../lab/xrp-node/front.ts";
import { readBlob } from "../../lab/xrp-node/transaction.ts";
import { startXrpNode, type XrpNode, type XrpNodeOptions } from "../../lab/xrp-node/xrp-node.ts";
import { type Owner, owner, paymentOf, type SignedXrp, sign } from "./xrp-wallet.ts";

export const xrpOf = (whole: number): bigint => BigInt(whole) * 1_000_000n;

export interface XrpLab {
  readonly node: XrpNode;
  readonly from: Owner;
  readonly to: Owner;
  readonly sender: SenderNodes;
  readonly watcher: WatcherNodes;
  readonly events: string[];
  /** Troubles by provider, in their order; a provider without any is well. */
  suffer(...troubles: readonly Trouble[]): void;
  slot(): string;
  payment(fields?: Partial<Payment>): Payment;
  sign(payment: Payment, isCancel?: boolean, feeDrops?: string): SignedXrp;
  /** Puts signed bytes into the open ledger by the test's word, and closes it. */
  validate(signed: SignedXrp): void;
  judged(
    payment: Payment,
    signed: readonly Pick<SignedXrp, "txHash">[],
    payouts?: number,
  ): Promise<Judgement>;
  /** A sender over other addresses. */
  open(urls: readonly string[]): SenderNodes;
  close(): Promise<void>;
}

/** `from` has 100 XRP, `to` has 20. */
export async function openLab(providers = 2, options: XrpNodeOptions = {}): Promise<XrpLab> {
  const fronts = Array.from({ length: providers }, () => ({}));
  const node = await startXrpNode({ startAtMs: 1_790_000_000_000, fronts, ...options });
  const [from, to] = [owner("a payer"), owner("a receiver")];
  node.fund(from.address, xrpOf(100));
  node.fund(to.address, xrpOf(20));
  const events: string[] = [];
  const log = (event: string): void => void events.push(event);
  const limits = { networkId: 0, log, timeoutMs: 8_000, patienceMs: 12_000 };
  const clock = (): number => performance.now();
  const opened: { close(): void }[] = [];
  const kept = <T extends { close(): void }>(one: T): T => {
    opened.push(one);
    return one;
  };
  const open = (urls: readonly string[]): SenderNodes =>
    kept(createXrpSender({ urls, ...limits, clock }));
  const watcher = kept(createXrpWatcher({ urls: node.urls, ...limits }));
  const lab: XrpLab = {
    node,
    from,
    to,
    sender: open(node.urls),
    watcher,
    events,
    open,
    suffer: (...troubles) => {
      for (const [at, front] of node.fronts.entries()) front.suffer(troubles[at] ?? {});
    },
    slot: () => `${node.people.nextSequence(from.address)}`,
    payment: (fields) => paymentOf(from, { slot: lab.slot(), ...fields }),
    sign: (payment, isCancel = false, feeDrops = "12") =>
      sign(from, payment, { feeDrops, lastLedger: `${node.chain.head.index + 20}` }, isCancel),
    validate: ({ raw }) => {
      node.chain.open.submit(readBlob(raw.slice(2)), 0n);
      node.closeLedgers();
    },
    judged: async (payment, signed, payouts) => {
      const final = await watcher.finalTip();
      const hashes = signed.map(({ txHash }) => txHash);
      return watcher.pass(final, payouts).judge(payment, hashes, "");
    },
    close: async () => {
      for (const one of opened) one.close();
      await node.close();
    },
  };
  return lab;
}

export interface ChangingProvider {
  readonly url: string;
  close(): Promise<void>;
}

type Result = Record<string, unknown>;

/** A provider in front of another one, which changes the results of one method. */
export async function changing(
  url: string,
  method: string,
  change: (result: Result) => Result,
): Promise<ChangingProvider> {
  const server: Server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks).toString();
    const answer = (await (await fetch(url, { method: "POST", body })).json()) as {
      result: Result;
    };
    const isMeant = (JSON.parse(body) as { method: string }).method === method;
    response.end(JSON.stringify({ result: isMeant ? change(answer.result) : answer.result }));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const close = async (): Promise<void> => {
    const closed = new Promise((resolve) => server.close(resolve));
    server.closeAllConnections();
    await closed;
  };
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, close };
}
