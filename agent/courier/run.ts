/**
 * The courier during one run of the signer: desk, link, reports and watches, wired together. Begins with the signer's `hello` and
 * ends with its socket; the next run begins with the next `hello`, by the same steps.
 */
import type { KeyObject } from "node:crypto";
import type { Logger } from "pino";
import type { Head } from "../../protocol/messages.ts";
import type { CourierSettings } from "../settings.ts";
import type { CourierAnswers, CourierStatus, Push } from "../socket/verbs.ts";
import { createDesk, type DeskEvent, type DeskNo, step, waiting } from "./desk/desk.ts";
import { createHands, type Signer, settled } from "./hands.ts";
import { createLink, type Link, type LinkOptions } from "./link/link.ts";
import type { Metrics } from "./metrics.ts";
import type { ChainDoor } from "./nodes/chain.ts";
import { foresee } from "./nodes/foresight.ts";
import type { ReadBack } from "./nodes/read-back.ts";
import { createReporter, type Reporter } from "./report/report.ts";
import { createWatch } from "./watch/watch.ts";

const tickMs = 1000;
const tellMs = 2000;
/** The newest statement is acknowledged long before this, else its turn is over. */
const acknowledgedMs = 30_000;
const statusTextMax = 1024;
/** Stands where a fault of the nodes would, until the first of them has answered or not. */
const asking = "asking";

/** @public */
export interface RunOptions {
  readonly address: string; // of the link, from linkAddress()
  readonly gatewayKey: KeyObject;
  readonly linkKey: KeyObject;
  readonly doors: ReadonlyMap<string, ChainDoor>; // by chain name
  readonly currencies: CourierSettings["currencies"];
  readonly readBack: ReadBack;
  readonly software: string;
  readonly clock: () => number; // wall time, for what is sent
  readonly monotonic: () => number; // never back, for what waits
  readonly random: () => number;
  readonly pollMs: { readonly min: number; readonly max: number };
  readonly linkTimes?: LinkOptions["times"];
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly onBug: (error: unknown) => void;
}

type Hello = CourierAnswers["hello"];

/** What the parts of a run share. */
interface Shared {
  readonly options: RunOptions;
  readonly signer: Signer;
  readonly feed: (event: DeskEvent) => void;
  readonly state: RunState;
}

interface RunState {
  head: Head;
  link: "up" | "down";
  linkDetail: string;
  linkUps: number;
  isEnded: boolean;
  /** The newest statement handed to this connection, while nobody has looked whether it was acknowledged. */
  stated: { readonly seq: number; readonly atMs: number } | null;
  readonly chains: Map<string, { away: string; block: number; nativeBalance: string; hasCode: boolean }>;
}

/**
 * Takes over a connected signer that has answered `hello`. @returns what ends the run, with the signer's connection
 * @public
 */
export function beginRun(options: RunOptions, signer: Signer, hello: Hello): { end(): void } {
  const { monotonic, onBug } = options;
  const desk = createDesk();
  const state: RunState = {
    ...{ head: hello.head, link: "down", linkDetail: "dialling", linkUps: 0, isEnded: false, stated: null, chains: new Map() },
  };
  const feed = (event: DeskEvent): void => {
    if (state.isEnded) return;
    for (const effect of step(desk, event, monotonic())) carry(effect);
  };
  const shared: Shared = { options, signer, feed, state };
  const refresh = (): void => {
    askHello(shared).catch(onBug);
  };
  const carry = createHands({ ...options, signer, feed, refresh });
  const tell = (): void => {
    settled(signer.request("tell", { courier: statusOf(shared, waiting(desk)) })).catch(onBug);
  };

  feed({ kind: "hello", hello, isFresh: true, askedAtMs: monotonic() });
  const watches = hello.accounts.flatMap((account) => watchChain(shared, account.chain, account.address, tell));
  const { link, reporter } = openLink(shared, hello, tell);
  signer.onPush((push) => takePush(shared, reporter, push));
  const ticking = setInterval(() => {
    feed({ kind: "tick" });
    checkAcknowledged(shared, link).catch(onBug);
  }, tickMs);
  const telling = setInterval(tell, tellMs);
  tell();
  return {
    end() {
      if (state.isEnded) return;
      state.isEnded = true;
      clearInterval(ticking);
      clearInterval(telling);
      reporter.pause();
      link.close();
      for (const watch of watches) watch.close();
      signer.close();
    },
  };
}

async function askHello({ signer, feed, options }: Shared): Promise<Hello | DeskNo> {
  const askedAtMs = options.monotonic();
  const answer = await settled(signer.request("hello", {}));
  if (answer.ok) feed({ kind: "hello", hello: answer, isFresh: false, askedAtMs });
  return answer;
}

function openLink(shared: Shared, hello: Hello, tell: () => void): { readonly link: Link; readonly reporter: Reporter } {
  const { options, signer, state } = shared;
  const { log, metrics, onBug } = options;
  const { agent, wallet, epoch, nonce } = hello;
  const link = createLink({
    address: options.address,
    gatewayKey: options.gatewayKey,
    linkKey: options.linkKey,
    self: { agent, wallet, epoch, nonce },
    software: options.software,
    clock: options.clock,
    random: options.random,
    head: () => state.head,
    ...(options.linkTimes === undefined ? {} : { times: options.linkTimes }),
    onUp(_welcome, frame) {
      metrics.count("linkUp");
      state.linkUps += 1;
      greet(shared, link, reporter, frame, tell).catch(onBug);
    },
    onRecovery(frame) {
      keepOrder(shared, frame, tell).catch(onBug);
    },
    onFrame(envelope, frame) {
      const take = envelope === "jobs" ? admitJobs : release;
      take(shared, link, frame).catch(onBug);
      // While the signer verifies and writes, the nodes can already answer what will be asked for this job.
      if (envelope === "jobs") setImmediate(() => foresee(frame, hello.accounts, options));
    },
    onDown({ code, detail, wasUp, retryMs }) {
      metrics.count("linkDown");
      reporter.pause();
      const text = `${code}: ${detail}`;
      const isNews = wasUp || state.linkDetail !== text;
      state.link = "down";
      state.stated = null;
      state.linkDetail = text;
      log[isNews ? "warn" : "debug"]({ code, detail, retryMs }, "the link is down");
      tell();
    },
  });
  const reporter = createReporter({
    link,
    report: async (after) => {
      const answer = await settled(signer.request("report", { after }));
      if (!answer.ok) throw new Error(`the signer gave no statements: ${answer.code}`);
      return answer.frames;
    },
    onStatement(head) {
      metrics.count("statements");
      state.stated = { seq: head.seq, atMs: options.monotonic() };
      if (head.seq > state.head.seq) state.head = head;
    },
  });
  return { link, reporter };
}

/**
 * A statement or its acknowledgement may get lost on a line that stands, and the signer may refuse one while clocks are apart. Both come
 * again on another connection, and on no other occasion.
 */
async function checkAcknowledged(shared: Shared, link: Link): Promise<void> {
  const { state, options } = shared;
  const { stated } = state;
  if (stated === null || state.link !== "up" || options.monotonic() - stated.atMs < acknowledgedMs) return;
  state.stated = null;
  const hello = await askHello(shared);
  const isWaiting = "head" in hello && hello.locked === "" && hello.acked < stated.seq;
  if (isWaiting && state.stated === null) link.drop("LINK_RESUME", "no acknowledgement");
}

/** The signer hears the welcome before anything else of this connection; then the gateway hears what it has not acknowledged. */
async function greet(shared: Shared, link: Link, reporter: Reporter, frame: Uint8Array, tell: () => void): Promise<void> {
  const { signer, state, options } = shared;
  const connection = state.linkUps;
  const admitted = await settled(signer.request("admit", { frame: base64(frame) }));
  const isOver = (): boolean => state.isEnded || state.linkUps !== connection || !link.isUp;
  if (isOver()) return;
  if (!admitted.ok) {
    if (admitted.code === "GATEWAY_BEHIND") await tellBehind(shared, link, isOver);
    link.drop("LINK_REFUSED", admitted.code);
    return;
  }
  const hello = await askHello(shared);
  if (isOver()) return;
  if (!("head" in hello)) {
    link.drop("LINK_REFUSED", hello.code);
    return;
  }
  state.link = "up";
  state.linkDetail = "";
  if (hello.head.seq > state.head.seq) state.head = hello.head;
  options.log.info({ agent: hello.agent, epoch: hello.epoch, ledger: hello.head.seq }, "the link is up");
  // From the acknowledged head, not the echoed one: an acknowledgement lost on the way must come again, or its gate stays shut.
  reporter.resume(hello.acked);
  tell();
}

/** A gateway that went back cannot know it by itself: what follows the acknowledged head shows it what it lacks. */
async function tellBehind({ signer }: Shared, link: Link, isOver: () => boolean): Promise<void> {
  const said = await settled(signer.request("report", { after: 0 }));
  if (!said.ok || isOver()) return;
  for (const frame of said.frames) link.send(Buffer.from(frame, "base64"));
}

/** An order is for the signer to keep and for its operator to look at; the desk stands still from here. */
async function keepOrder(shared: Shared, frame: Uint8Array, tell: () => void): Promise<void> {
  const { signer, state, options } = shared;
  const kept = await settled(signer.request("admit", { frame: base64(frame) }));
  if (state.isEnded) return;
  if (!kept.ok) {
    options.log.warn({ code: kept.code }, "the signer did not take a recovery order");
    return;
  }
  state.linkDetail = "LINK_RECOVERY: the gateway offers a recovery";
  await askHello(shared);
  tell();
}

async function admitJobs({ signer, feed, options }: Shared, link: Link, frame: Uint8Array): Promise<void> {
  const arrivedAtMs = options.monotonic();
  options.metrics.count("jobFrames");
  const answer = await settled(signer.request("admit", { frame: base64(frame) }));
  if (answer.ok) {
    const { withdrawals } = answer;
    for (const { transactionId, state } of withdrawals) {
      if (state === "approved") options.metrics.approved(transactionId, arrivedAtMs);
    }
    feed({ kind: "views", withdrawals });
    for (const { transactionId, state, code, amount, currency } of withdrawals) {
      // An approved one is told of when it is signed.
      const level = state === "approved" ? "debug" : "info";
      options.log[level]({ transactionId, state, code, amount, currency }, "a withdrawal was admitted");
    }
  } else refusedFrame(options, link, answer);
}

async function release({ signer, feed, options }: Shared, link: Link, frame: Uint8Array): Promise<void> {
  options.metrics.count("ackFrames");
  const answer = await settled(signer.request("release", { frame: base64(frame) }));
  if (answer.ok) feed({ kind: "steps", withdrawals: answer.withdrawals });
  else refusedFrame(options, link, answer);
}

/** A frame that is not the gateway's word ends the connection; one that came out of order makes it begin anew. */
function refusedFrame({ log, metrics }: RunOptions, link: Link, { code, effect }: DeskNo): void {
  metrics.count("refusals");
  log.warn({ code }, "the signer did not take a frame of the gateway");
  if (effect !== "none" || code === "JOB_GAP" || code === "JOB_ORDER" || code === "SOCKET_BUSY") link.drop("LINK_RESUME", code);
  else if (/^(ENVELOPE|JSON|ADMISSION)_/.test(code)) link.drop("LINK_REFUSED", code);
}

function takePush({ feed, options, signer }: Shared, reporter: Reporter, push: Push): void {
  switch (push.push) {
    case "statement":
      reporter.push(push);
      break;
    case "changed":
      feed({ kind: "views", withdrawals: [push.withdrawal] });
      break;
    case "locked":
      options.log.error({ code: push.code }, "the signer is locked: a person must look");
      feed({ kind: "locked", code: push.code });
      break;
    case "recovered":
      options.log.info("the ledger was recovered: everything begins anew with its new epoch");
      signer.close();
  }
}

function watchChain({ options, feed, state }: Shared, chain: string, account: string, tell: () => void): { close(): void }[] {
  const door = options.doors.get(chain);
  if (door === undefined) return [];
  const { log, metrics, pollMs, onBug } = options;
  const known = { away: asking, block: 0, nativeBalance: "", hasCode: false };
  state.chains.set(chain, known);
  const watch = createWatch({
    door,
    account,
    pollMsMin: pollMs.min,
    pollMsMax: pollMs.max,
    clock: options.monotonic,
    onBug,
    onHead: (number) => feed({ kind: "head", chain, number }),
    onFacts(facts) {
      metrics.count("blocks");
      const isBack = known.away !== "";
      if (isBack) log.info({ chain, block: facts.number }, "the chain's nodes answer");
      if (facts.accountHasCode && !known.hasCode)
        log.error({ code: "COURIER_ACCOUNT_CODE", chain, account }, "a person must look");
      known.away = "";
      known.block = facts.number;
      known.hasCode = facts.accountHasCode;
      known.nativeBalance = `${facts.balances.get("") ?? ""}`;
      feed({ kind: "block", chain, facts });
      if (isBack) tell();
    },
    onAway(code) {
      metrics.count("nodeFaults");
      known.away = code;
      log.warn({ chain, code, nodes: nodesDetail(door) }, "the chain's nodes do not answer");
      feed({ kind: "away", chain, code });
      tell();
    },
  });
  return [watch];
}

function statusOf({ options, state }: Shared, waits: CourierStatus["waiting"]): CourierStatus {
  return {
    at: options.clock(),
    link: state.link,
    linkDetail: clip(state.linkDetail),
    chains: [...state.chains].map(([chain, known]) => {
      const door = options.doors.get(chain);
      const trouble = known.hasCode ? "COURIER_ACCOUNT_CODE" : known.away;
      const nodes = door === undefined ? "" : nodesDetail(door);
      const detail = [trouble, nodes].filter((part) => part !== "").join("; ") || `block ${known.block}`;
      const { block, nativeBalance } = known;
      return { chain, ok: trouble === "", isAsking: trouble === asking, detail: clip(detail), block, nativeBalance };
    }),
    waiting: waits,
    durableMedianUs: options.metrics.durableMedianUs(),
  };
}

function nodesDetail(door: ChainDoor): string {
  return door.nodes
    .status()
    .filter((node) => !node.ok)
    .map((node) => `${node.url} ${node.detail}`)
    .join("; ");
}

/** The signer takes texts of up to 1024 characters. */
function clip(text: string): string {
  return text.length <= statusTextMax ? text : `${text.slice(0, statusTextMax - 3)}...`;
}

function base64(frame: Uint8Array): string {
  return Buffer.from(frame.buffer, frame.byteOffset, frame.length).toString("base64");
}
