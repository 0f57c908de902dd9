/**
 * The agent's environment in the bench: a gateway that pairs, signs job frames and acknowledges
 * durably, and a chain node, in one process on loopback. It keeps a fixed number of jobs in flight
 * and takes the times.
 */
import { generateKeyPairSync, type KeyObject, randomBytes } from "node:crypto";
import { fdatasync, mkdirSync, openSync, write } from "node:fs";
import { createServer, type IncomingMessage, type Server } from "node:http";
import { join } from "node:path";
import { type WebSocket, WebSocketServer } from "ws";
import {
  frameKind,
  openEnvelope,
  publicKeyFromHex,
  publicKeyHex,
  sealEnvelope,
} from "../../protocol/envelope.ts";
import type { PairingGrant } from "../../protocol/grant.ts";
import { sealGrant } from "../../protocol/grant.ts";
import { agentIdOf } from "../../protocol/identity.ts";
import { type AgentLedgerHead, frameFormNumber } from "../../protocol/messages.ts";
import {
  gatewayFingerprintOf,
  parseSealedTranscript,
  parseTranscript,
  transcriptHashOf,
} from "../../protocol/pairing.ts";
import { parseHello, parseStatement } from "../../protocol/payloads.ts";
import { parseSightingsQuestion } from "../../protocol/sightings.ts";
import { createBenchChain } from "./chain.ts";
import { median } from "./figures.ts";
import { JobMaker, merchant, numberIn } from "./jobs.ts";

const chainId = 31337;
/** A run that takes longer is stuck. */
const runMsMax = 240_000;
/**
 * The agent sends no more of an account's payouts while 512 of them are in no block yet. With
 * blocks of a second that would be the rate, so a run of many has blocks at this pace.
 */
const loadBlockMs = 200;
/** Blocks of networks that people use come each second or slower. */
const blockMs = 1_000;
/** Most withdrawals that one acknowledgement calls ended (docs/protocol.md section 6.3). */
const endedMax = 256;
const network = `eip155:${chainId}`;

/** Times of one run at a fixed number of jobs in flight. */
export interface RunFigures {
  readonly inFlight: number;
  readonly jobs: number;
  readonly jobsPerSecond: number; // job frame sent → raw bytes at the node
  readonly durableMsMedian: number; // job frame sent → the signed, durable fact came back
  readonly releasedMsMedian: number; // job frame sent → raw bytes at the node
  readonly jobsPerFrame: number; // mean
  readonly jobsPerStatement: number; // mean of those statements that carry a signature
}

export interface World {
  readonly url: string;
  readonly apiKey: string;
  /** Resolves when the agent's link is up and it has adopted its account. */
  linked(): Promise<void>;
  /** Rejects when the last job has not arrived at the node within `runMsMax`. */
  run(jobs: number, inFlight: number): Promise<RunFigures>;
  /**
   * Jobs one after the other, each sent when the fact of the one before it is signed, durable and
   * back here. Nothing is acknowledged, so nothing is released and the agent writes no record
   * behind its signatures. `release` acknowledges, and ends with the last of them at the node.
   */
  runHeld(jobs: number): Promise<{ release(): Promise<void> }>;
  close(): Promise<void>;
}

interface Agent {
  readonly id: string;
  readonly wallet: string;
  readonly hotWalletAddress: string;
  readonly signerKey: KeyObject;
  readonly linkKey: KeyObject;
}

/** Rejects when `begin` has not called back within `runMsMax`. */
function within(what: string, begin: (done: () => void) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    const stuck = setTimeout(
      () => reject(new Error(`${what}: not within ${runMsMax} ms`)),
      runMsMax,
    );
    begin(() => {
      clearTimeout(stuck);
      resolve();
    });
  });
}

function withBody(request: IncomingMessage, take: (body: string) => void): void {
  const chunks: Buffer[] = [];
  request.on("data", (chunk: Buffer) => chunks.push(chunk));
  request.on("end", () => take(Buffer.concat(chunks).toString("utf8")));
}

/** Starts the world; `dir` holds the acknowledging side's file. */
export async function startWorld(dir: string): Promise<World> {
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  const { privateKey: gatewayKey } = generateKeyPairSync("ed25519");
  const gatewayHex = publicKeyHex(gatewayKey);
  const secret = randomBytes(32).toString("base64url");
  const keyId = `k_${randomBytes(8).toString("hex")}`;
  let agent: Agent | null = null;
  const chain = createBenchChain(chainId, () => agent?.hotWalletAddress ?? `0x${"22".repeat(20)}`);
  const file = openSync(join(dir, "gateway.log"), "a", 0o600);
  let socket: WebSocket | null = null;
  let gatewayHead: AgentLedgerHead | null = null;
  const maker = new JobMaker(network, gatewayKey);
  let onLinked: () => void = () => undefined;
  const linked = new Promise<void>((resolve) => {
    onLinked = resolve;
  });
  const sentAt = new Map<string, number>();
  let onDurable: (transactionId: string, arrivedAt: number) => void = () => undefined;
  let signedStatements = 0;

  const server: Server = createServer((request, response) => {
    withBody(request, (body) => {
      const answer = Buffer.from(
        request.url === "/agent/v1/pair" ? pair(body) : chain.answer(body),
      );
      response.writeHead(200, {
        "content-type": "application/json",
        "content-length": answer.length,
      });
      response.end(answer);
    });
  });
  server.keepAliveTimeout = 60_000;

  function pair(body: string): string {
    const { transcript } = parseSealedTranscript(body);
    const said = parseTranscript(transcript);
    const account = said.accounts[0]!;
    const id = agentIdOf({
      merchant,
      wallet: said.wallet,
      signerKey: said.signerKey,
      linkKey: said.linkKey,
    });
    agent = {
      id,
      wallet: said.wallet,
      hotWalletAddress: account.id,
      signerKey: publicKeyFromHex(said.signerKey),
      linkKey: publicKeyFromHex(said.linkKey),
    };
    const grant: PairingGrant = {
      version: 1,
      agent: id,
      merchant,
      ledgerEpoch: 1,
      transcript: transcriptHashOf(transcript),
      at: Date.now(),
    };
    return JSON.stringify(sealGrant(grant, gatewayKey));
  }

  // The acknowledging side: statements of one turn share one write and one sync, as a gateway's
  // database would.
  let pending: { frame: Uint8Array; head: AgentLedgerHead; signed: string[] }[] = [];
  let syncing = false;
  let held = false; // nothing is acknowledged
  // Final by the agent's word. Nothing else of this gateway looks at the chain, so it takes that
  // for true.
  const ended: string[] = [];
  function flush(): void {
    if (syncing || held || pending.length === 0) return;
    syncing = true;
    const taken = pending;
    pending = [];
    write(file, Buffer.concat(taken.map((one) => one.frame)), () =>
      fdatasync(file, () => {
        syncing = false;
        gatewayHead = taken.at(-1)!.head;
        if (agent !== null) {
          const ack = {
            agent: agent.id,
            ledgerEpoch: 1,
            head: gatewayHead,
            ended: ended.splice(0, endedMax),
            at: Date.now(),
          };
          socket?.send(sealEnvelope("ack", ack, gatewayKey));
        }
        flush();
      }),
    );
  }

  const hub = new WebSocketServer({ server, path: "/agent/v1/link", perMessageDeflate: false });
  hub.on("connection", (opened) => {
    const challenge = randomBytes(32).toString("hex");
    let runNonce = "";
    opened.send(
      sealEnvelope(
        "challenge",
        { nonce: challenge, kinds: frameFormNumber, at: Date.now() },
        gatewayKey,
      ),
    );
    opened.on("message", (data: Buffer) => {
      const arrivedAt = performance.now();
      const kind = frameKind(data);
      if (agent === null) return;
      if (kind === "hello") {
        const hello = parseHello(
          openEnvelope(data, { kind, publicKey: agent.linkKey, bytesMax: 262_144 }).payload,
        );
        runNonce = hello.nonce;
        const welcome = {
          agent: agent.id,
          wallet: agent.wallet,
          ledgerEpoch: 1,
          challenge,
          answers: hello.nonce,
          gatewayHead,
          jobs: maker.newest,
          at: Date.now(),
        };
        opened.send(sealEnvelope("welcome", welcome, gatewayKey));
        socket = opened;
      } else if (kind === "statement") {
        const statement = parseStatement(
          openEnvelope(data, { kind, publicKey: agent.signerKey, bytesMax: 262_144 }).payload,
        );
        const signed: string[] = [];
        for (const entry of statement.entries) {
          if (entry.kind === "signed") signed.push(entry.transactionId);
          if (entry.kind === "adopted") onLinked();
          if (entry.kind === "observed" && entry.stage === "final") ended.push(entry.transactionId);
        }
        if (signed.length > 0) signedStatements += 1;
        for (const transactionId of signed) onDurable(transactionId, arrivedAt);
        pending.push({ frame: data, head: statement.head, signed });
        setImmediate(flush);
      } else if (kind === "question") {
        // No chain is asked: the bench measures the way of a job, and its accounts are new.
        const question = parseSightingsQuestion(
          openEnvelope(data, { kind, publicKey: agent.linkKey, bytesMax: 262_144 }).payload,
        );
        const next = question.accounts.map((account) => ({
          ...account,
          slot: "0",
          isUnused: true,
        }));
        const { coins, orders } = question;
        const sightings = {
          agent: agent.id,
          ledgerEpoch: 1,
          answers: runNonce,
          coins,
          next,
          orders,
          at: Date.now(),
        };
        opened.send(sealEnvelope("sightings", sightings, gatewayKey));
      } else if (kind === "heartbeat") {
        opened.send(
          sealEnvelope(
            "heartbeat",
            { agent: agent.id, head: gatewayHead, at: Date.now() },
            gatewayKey,
          ),
        );
      }
    });
  });

  const framesMax = 64;

  async function run(jobs: number, inFlight: number): Promise<RunFigures> {
    const durableMs: number[] = [];
    const releasedMs: number[] = [];
    const sentByNumber = new Map<number, number>();
    // Made and signed before the clock starts: what an order costs a gateway is none of what is
    // measured.
    const made = maker.make(agent!, jobs);
    const statementsBefore = signedStatements;
    let frames = 0;
    let asked = 0;
    let done = 0;
    let free = inFlight;
    let scheduled = false;
    const began = performance.now();
    let stuck: NodeJS.Timeout | undefined;
    await new Promise<void>((resolve, reject) => {
      const fault = (): Error =>
        new Error(`${done} of ${jobs} jobs arrived at the node within ${runMsMax} ms`);
      stuck = setTimeout(() => reject(fault()), runMsMax);
      const send = (): void => {
        scheduled = false;
        while (free > 0 && asked < jobs) {
          const count = Math.min(free, jobs - asked, framesMax);
          const some = made.slice(asked, asked + count);
          const frame = maker.frame(agent!, gatewayHead, some);
          frames += 1;
          const now = performance.now();
          for (const { transactionId, number } of some) {
            sentAt.set(transactionId, now);
            sentByNumber.set(number, now);
          }
          asked += count;
          free -= count;
          socket?.send(frame);
        }
      };
      onDurable = (transactionId, arrivedAt) => {
        const at = sentAt.get(transactionId);
        if (at !== undefined) durableMs.push(arrivedAt - at);
        sentAt.delete(transactionId);
      };
      chain.onRaw = (raw) => {
        const number = numberIn(raw);
        const at = sentByNumber.get(number);
        if (at === undefined) return;
        sentByNumber.delete(number);
        releasedMs.push(performance.now() - at);
        done += 1;
        free += 1;
        if (done === jobs) resolve();
        else if (!scheduled) {
          scheduled = true;
          setImmediate(send);
        }
      };
      send();
    });
    clearTimeout(stuck);
    const seconds = (performance.now() - began) / 1000;
    chain.onRaw = () => undefined;
    return {
      inFlight,
      jobs,
      jobsPerSecond: jobs / seconds,
      durableMsMedian: median(durableMs),
      releasedMsMedian: median(releasedMs),
      jobsPerFrame: jobs / frames,
      jobsPerStatement: jobs / Math.max(1, signedStatements - statementsBefore),
    };
  }

  async function runHeld(jobs: number): Promise<{ release(): Promise<void> }> {
    const made = maker.make(agent!, jobs);
    held = true;
    for (const job of made) {
      await within(`job ${job.number} durable`, (done) => {
        onDurable = (transactionId) => transactionId === job.transactionId && done();
        socket?.send(maker.frame(agent!, gatewayHead, [job]));
      });
    }
    return {
      release: () =>
        within("the held jobs at the node", (done) => {
          const left = new Set(made.map(({ number }) => number));
          chain.onRaw = (raw) => left.delete(numberIn(raw)) && left.size === 0 && done();
          held = false;
          flush();
        }),
    };
  }

  let miner = setInterval(() => chain.mine(), blockMs);
  const pace = (ms: number): void => {
    clearInterval(miner);
    miner = setInterval(() => chain.mine(), ms);
  };
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  return {
    url: `http://127.0.0.1:${port}`,
    apiKey: `${keyId}.${secret}.${gatewayFingerprintOf(gatewayHex)}`,
    linked: () => linked,
    async run(jobs, inFlight) {
      pace(inFlight === 1 ? blockMs : loadBlockMs);
      try {
        return await run(jobs, inFlight);
      } finally {
        pace(blockMs);
      }
    },
    runHeld,
    async close() {
      clearInterval(miner);
      hub.close();
      socket?.terminate();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
