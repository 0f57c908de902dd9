/**
 * A courier between real neighbours: a complete signer in memory behind a real socket, a gateway on
 * loopback that keeps the rules of the link, and the nodes that the test names. Each neighbour can
 * be taken away and brought back.
 */
import { createPublicKey } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pino from "pino";
import { type WebSocket, WebSocketServer } from "ws";
import type { CourierSettings, SignerSettings } from "../../agent/config/settings.ts";
import { type Courier, createCourier } from "../../agent/courier/courier.ts";
import { createAlertMonitor } from "../../agent/courier/events/alert-monitor.ts";
import { linkAddress } from "../../agent/courier/link/address.ts";
import { createMetrics } from "../../agent/courier/metrics.ts";
import { createChainAccess } from "../../agent/courier/nodes/chain.ts";
import { createReadBack } from "../../agent/courier/nodes/read-back.ts";
import { type LineServer, listenLines } from "../../agent/signer/sockets/line-server.ts";
import { createSocketClient } from "../../agent/socket/client.ts";
import { courierLineBytesMax } from "../../agent/socket/line.ts";
import {
  type Answer,
  type CourierAnswers,
  type CourierRequests,
  type OperatorView,
  type PushMessage,
  type Request,
  requestFramesMax,
} from "../../agent/socket/verbs.ts";
import { createEvmNodes } from "../../chains/evm/node.ts";
import { createSender } from "../../chains/evm/node-sender.ts";
import { agentId, Kit, settings as kitSettings, vault } from "../../lab/kit/signer-kit.ts";
import { openEnvelope, sealEnvelope } from "../../protocol/envelope.ts";
import { zeroHash } from "../../protocol/identity.ts";
import { envelopeKinds, frameFormNumber, type Job } from "../../protocol/messages.ts";
import { parseHeartbeat, parseHello, parseStatement } from "../../protocol/payloads.ts";
import { type KeyPair, keyPair } from "./link-gateway.ts";

const linkTimes = {
  baseMs: 20,
  capMs: 200,
  handshakeMs: 2000,
  heartbeatMs: 1000,
  deadMs: 3000,
  settledMs: 1000,
  closeMs: 200,
};
const signerSettings: SignerSettings = {
  ...kitSettings,
  policy: { eth: { maxPerWithdrawal: "2", maxPerDay: "1000", maxFee: "0.1", maxFeePerDay: "10" } },
};

/** The gateway's end: stores statements in memory, acknowledges them, sends jobs. */
class KitGateway {
  readonly linkKey: KeyPair;
  readonly kit: Kit;
  acknowledges = true;
  /** So many statements to come get lost on the way; and how many did. */
  loses = 0;
  lost = 0;
  readonly sockets = new Set<WebSocket>();
  readonly statements: {
    readonly after: number;
    readonly head: number;
    readonly isHandshakeDone: boolean;
  }[] = [];
  connections = 0;
  /** Statements that showed the gateway a gap in its records. */
  gaps = 0;
  #server: WebSocketServer | null = null;
  #port = 0;
  #live: WebSocket | null = null;

  constructor(kit: Kit, linkKey: KeyPair) {
    this.kit = kit;
    this.linkKey = linkKey;
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  async start(): Promise<void> {
    const server = new WebSocketServer({
      host: "127.0.0.1",
      port: this.#port,
      perMessageDeflate: false,
    });
    await new Promise((resolve) => server.once("listening", resolve));
    this.#port = (server.address() as AddressInfo).port;
    this.#server = server;
    server.on("connection", (socket) => this.#talk(socket));
  }

  async stop(): Promise<void> {
    this.#live = null;
    for (const socket of this.sockets) socket.terminate();
    await new Promise((resolve) =>
      this.#server === null ? resolve(null) : this.#server.close(resolve),
    );
    this.#server = null;
  }

  /** Makes a job and sends it, when somebody is there. */
  order(change: Partial<Job> = {}): Job {
    const job = this.kit.gateway.job({ currency: "eth", amount: "1", ...change }, Date.now());
    this.send(this.kit.gateway.jobs([this.kit.gateway.texts.at(-1) ?? ""], { at: Date.now() }));
    return job;
  }

  send(frame: Uint8Array): void {
    this.#live?.send(frame);
  }

  #talk(socket: WebSocket): void {
    this.connections += 1;
    this.sockets.add(socket);
    socket.on("close", () => this.sockets.delete(socket));
    socket.on("error", () => undefined);
    const { gateway } = this.kit;
    const nonce = `${this.connections}`.padStart(64, "0");
    socket.send(
      sealEnvelope("challenge", { nonce, kinds: frameFormNumber, at: Date.now() }, gateway.key),
    );
    let isHandshakeDone = false;
    socket.on("message", (data: Buffer) => {
      if (!isHandshakeDone) {
        const hello = parseHello(
          openEnvelope(data, { kind: "hello", publicKey: this.linkKey.publicKey, bytesMax: 4096 })
            .payload,
        );
        if (hello.answers !== nonce) throw new Error("the hello answers another challenge");
        isHandshakeDone = true;
        this.#live = socket;
        socket.send(gateway.welcome(hello.nonce, { challenge: nonce, at: Date.now() }));
        const { texts } = gateway;
        const answered = this.kit.core.chain.sequence;
        if (texts.length > answered)
          socket.send(gateway.jobs(texts.slice(answered, answered + 200), { at: Date.now() }));
        return;
      }
      this.#take(socket, data, nonce);
    });
  }

  #take(socket: WebSocket, data: Buffer, nonce: string): void {
    const { gateway } = this.kit;
    if (data[1] === 7) {
      parseHeartbeat(
        openEnvelope(data, { kind: "heartbeat", publicKey: this.linkKey.publicKey, bytesMax: 4096 })
          .payload,
      );
      socket.send(
        sealEnvelope(
          "heartbeat",
          { agent: agentId, head: gateway.stored, at: Date.now() },
          gateway.key,
        ),
      );
      return;
    }
    if (data[1] === envelopeKinds.question) return;
    if (this.loses > 0) {
      this.loses -= 1;
      this.lost += 1;
      return;
    }
    const publicKey = createPublicKey(vault.signerKey);
    const statement = parseStatement(
      openEnvelope(data, { kind: "statement", publicKey, bytesMax: 262_144 }).payload,
    );
    const stored = gateway.stored?.seq ?? 0;
    if (statement.after > stored) {
      this.gaps += 1;
      socket.close(4009);
      return;
    }
    const isHandshakeDone = statement.handshake === nonce;
    this.statements.push({ after: statement.after, head: statement.head.seq, isHandshakeDone });
    if (statement.head.seq > stored) {
      if (statement.after !== stored || statement.previous !== (gateway.stored?.hash ?? zeroHash)) {
        this.gaps += 1;
        socket.close(4006);
        return;
      }
      gateway.stored = statement.head;
    }
    if (this.acknowledges && gateway.stored !== null)
      socket.send(gateway.ack(gateway.stored, { at: Date.now() }));
  }
}

export class CourierKit {
  readonly folder = mkdtempSync(join(tmpdir(), "courier-"));
  readonly signer = new Kit({ settings: signerSettings });
  readonly linkKey = keyPair();
  readonly gateway = new KitGateway(this.signer, this.linkKey);
  readonly logged: string[] = [];
  readonly bugs: unknown[] = [];
  readonly metrics = createMetrics(() => performance.now());
  /** The alerts that were sent. */
  readonly alerts: { readonly event: string; readonly subject: string }[] = [];
  readonly alertMonitor = createAlertMonitor({
    settings: {
      currencies: { eth: { chain: "local", decimal: 18 } },
      notify: {
        target: { kind: "command", command: ["/bin/true"] },
        stuckMinutes: 30,
        awayMinutes: 10,
        lowFunds: { eth: "1000000" },
      },
    },
    deliver: async (body) => {
      this.alerts.push(JSON.parse(body) as { event: string; subject: string });
      return "";
    },
    clock: () => Date.now(),
    monotonic: () => performance.now(),
    log: pino({ level: "silent" }),
  });
  /** Changes what the signer answers, as a broken or hostile signer would. */
  tamper: (verb: string, answer: Answer) => Answer = (_verb, answer) => answer;
  readonly asked: string[] = [];
  /** The courier's clock that only goes on is ahead of the others by this. */
  aheadMs = 0;
  courier: Courier | null = null;
  #server: LineServer | null = null;
  #ticking: NodeJS.Timeout | undefined;
  #nodes: readonly string[] = [];

  /** The courier's config.json; the signer's has the same digest, and the reading time 1. */
  config = { digest: "c0".repeat(32), readMs: 1 };
  gaveWay = 0;

  get socketPath(): string {
    return join(this.folder, "courier.sock");
  }

  get settings(): CourierSettings {
    return {
      gatewayUrl: this.gateway.url,
      chains: { local: { family: "evm", chainId: 31337, nodes: this.#nodes, confirmations: 2 } },
      currencies: signerSettings.currencies,
      stateDir: this.folder,
      signerSocket: this.socketPath,
      logLevel: "debug",
      ...{ configDigest: this.config.digest, configReadMs: this.config.readMs },
    };
  }

  async start(nodes: readonly string[]): Promise<this> {
    this.#nodes = nodes;
    await this.gateway.start();
    await this.startSigner();
    this.startCourier();
    return this;
  }

  startSigner(): Promise<void> {
    const { signer } = this;
    // As the process does it: what is pushed leaves at once, before any later answer.
    signer.pushes.push = (...pushes: PushMessage[]) => {
      for (const push of pushes) this.#server?.push(push);
      return 0;
    };
    signer.now = Date.now();
    this.#ticking = setInterval(() => {
      signer.now = Date.now();
      signer.signer.tick();
      signer.settle();
    }, 200);
    return new Promise((resolve, reject) => {
      this.#server = listenLines(this.socketPath, {
        onRequest: (request, answer) => this.#answer(request, answer),
        onListening: resolve,
        onFault: reject,
        connectionsMax: 4,
        outstandingMax: 1024,
        framesMax: requestFramesMax,
        requestBytesMax: courierLineBytesMax,
      });
    });
  }

  #answer({ id, verb, ...body }: Request, answer: (answer: Answer) => void): void {
    this.asked.push(verb);
    this.signer.now = Date.now();
    if (verb === "adopt") {
      // All tests share the chain, so the account was used before: an operator says yes at once.
      const said = this.signer.begin(String(body.slot), Number(body.quorum));
      answer(this.tamper(verb, { ...said, id } as unknown as Answer));
      return;
    }
    this.signer.send(verb, body, (given) =>
      answer(this.tamper(verb, { ...given, id } as unknown as Answer)),
    );
    this.signer.settle();
  }

  /** The signer's process ends and another begins on the same ledger. */
  async restartSigner(): Promise<void> {
    this.stopSigner();
    this.signer.crash();
    await this.startSigner();
  }

  stopSigner(): void {
    clearInterval(this.#ticking);
    this.#server?.close();
    this.#server = null;
  }

  startCourier(): void {
    const { settings } = this;
    const nodes = createEvmNodes({
      urls: this.#nodes,
      chainId: 31337,
      confirmations: 2,
      timeoutMs: 20_000,
    });
    const monotonic = () => performance.now() + this.aheadMs;
    this.courier = createCourier({
      agent: agentId,
      address: linkAddress(settings.gatewayUrl),
      gatewayKey: createPublicKey(this.signer.gateway.key),
      linkKey: this.linkKey.privateKey,
      chainAccess: new Map([
        ["local", createChainAccess(createSender(nodes, [], monotonic), monotonic)],
      ]),
      currencies: settings.currencies,
      readBack: createReadBack(settings),
      software: "test",
      ...{ configDigest: this.config.digest, configReadMs: this.config.readMs },
      giveWay: () => {
        this.gaveWay += 1;
      },
      clock: () => Date.now(),
      monotonic,
      random: () => 0.5,
      pollMs: { min: 30, max: 100 },
      linkTimes,
      log: pino({ level: "debug" }, { write: (line: string) => this.logged.push(line) }),
      metrics: this.metrics,
      alertMonitor: this.alertMonitor,
      connectSigner: () =>
        createSocketClient<CourierRequests, CourierAnswers>(this.socketPath, { timeoutMs: 20_000 }),
      onReady: () => undefined,
      onFatal: (fault) => this.bugs.push(fault),
      onBug: (error) => this.bugs.push(error),
    });
  }

  stopCourier(): void {
    this.courier?.close();
    this.courier = null;
  }

  view(transactionId: string): OperatorView | null {
    const withdrawal = this.signer.core.book.find(transactionId);
    return withdrawal === undefined || withdrawal.state === "requested"
      ? null
      : this.signer.show(transactionId);
  }

  stateOf(transactionId: string): string {
    return this.signer.core.book.find(transactionId)?.state ?? "";
  }

  async stop(): Promise<void> {
    this.stopCourier();
    this.stopSigner();
    await this.gateway.stop();
    rmSync(this.folder, { recursive: true, force: true });
  }
}
