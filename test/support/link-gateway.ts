/**
 * The gateway's end of a link, as a test wants it: a real WebSocket server on loopback with real
 * envelopes and no database.
 */
import { type KeyObject, randomBytes } from "node:crypto";
import type { AddressInfo } from "node:net";
import { type WebSocket, WebSocketServer } from "ws";
import {
  openEnvelope,
  privateKeyFromSeed,
  publicKeyFromHex,
  publicKeyHex,
  sealEnvelope,
} from "../../protocol/envelope.ts";
import {
  type AgentLedgerHead,
  type EnvelopeKind,
  frameFormNumber,
  type Hello,
  type Welcome,
} from "../../protocol/messages.ts";
import { parseHello } from "../../protocol/payloads.ts";

export interface KeyPair {
  readonly privateKey: KeyObject;
  readonly publicKey: KeyObject;
  readonly hex: string;
  readonly seed: Uint8Array;
}

export function keyPair(): KeyPair {
  const seed = Uint8Array.from(randomBytes(32));
  const privateKey = privateKeyFromSeed(seed);
  const hex = publicKeyHex(privateKey);
  return { privateKey, publicKey: publicKeyFromHex(hex), hex, seed };
}

export interface LinkGatewayOptions {
  readonly key: KeyPair;
  readonly linkKey: KeyPair;
  readonly agent: string;
  readonly wallet: string;
  port?: number;
  /** Signs the challenge; another key plays an impostor. */
  challengeKey?: KeyPair;
  /** As the gateway of an earlier program, which names no kinds. */
  isOld?: true;
  /** False: sends nothing at all. */
  challenges?: boolean;
  /** Changes the welcome, or gives a whole frame in its place; null sends none. */
  welcome?: (welcome: Welcome) => Welcome | Uint8Array | null;
  gatewayHead?: AgentLedgerHead | null;
}

interface Peer {
  readonly socket: WebSocket;
  hello: Hello | null;
  readonly frames: Uint8Array[]; // after the hello
}

export interface LinkGateway {
  readonly url: string;
  readonly port: number;
  readonly options: LinkGatewayOptions;
  readonly peers: Peer[];
  readonly welcomes: Uint8Array[]; // as sent
  /** To the newest peer. */
  send(kind: EnvelopeKind, payload: object, key?: KeyPair): void;
  close(): Promise<void>;
}

export async function startLinkGateway(options: LinkGatewayOptions): Promise<LinkGateway> {
  const server = new WebSocketServer({
    host: "127.0.0.1",
    port: options.port ?? 0,
    perMessageDeflate: true,
  });
  await new Promise((resolve) => server.once("listening", resolve));
  const { port } = server.address() as AddressInfo;
  const peers: Peer[] = [];
  const welcomes: Uint8Array[] = [];
  server.on("connection", (socket) => {
    const peer: Peer = { socket, hello: null, frames: [] };
    peers.push(peer);
    socket.on("error", () => undefined);
    const nonce = randomBytes(32).toString("hex");
    if (options.challenges === false) return;
    const { privateKey } = options.challengeKey ?? options.key;
    const kinds = options.isOld === true ? {} : { kinds: frameFormNumber };
    socket.send(sealEnvelope("challenge", { nonce, ...kinds, at: 1 }, privateKey));
    socket.on("message", (data: Buffer) => {
      if (peer.hello !== null) {
        peer.frames.push(data);
        return;
      }
      const { payload } = openEnvelope(data, {
        kind: "hello",
        publicKey: options.linkKey.publicKey,
        bytesMax: 65_536,
      });
      peer.hello = parseHello(payload);
      if (peer.hello.answers !== nonce) throw new Error("the hello answers another challenge");
      const frame = welcomeFrame(options, peer.hello);
      if (frame === null) return;
      welcomes.push(frame);
      socket.send(frame);
    });
  });
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    options,
    peers,
    welcomes,
    send: (kind, payload, key = options.key) =>
      peers.at(-1)?.socket.send(sealEnvelope(kind, payload, key.privateKey)),
    close: () =>
      new Promise((resolve) => {
        for (const socket of server.clients) socket.terminate();
        server.close(() => resolve());
      }),
  };
}

function welcomeFrame(options: LinkGatewayOptions, hello: Hello): Uint8Array | null {
  const welcome: Welcome = {
    agent: options.agent,
    wallet: options.wallet,
    ledgerEpoch: hello.ledgerEpoch,
    challenge: hello.answers,
    answers: hello.nonce,
    gatewayHead: options.gatewayHead ?? null,
    jobs: { sequence: 0, hash: "0".repeat(64) },
    at: Date.now(),
  };
  const changed = options.welcome === undefined ? welcome : options.welcome(welcome);
  if (changed === null || changed instanceof Uint8Array) return changed;
  return sealEnvelope("welcome", changed, options.key.privateKey);
}
