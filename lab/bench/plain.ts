/**
 * The plain build the bench compares with: what one would write first. One process, ethers Wallet,
 * SQLite with one synchronous commit a job, ethers' provider for broadcasting. It checks the
 * gateway's signature (node's own Ed25519) and nothing else: no policy, no jobs linked by hash, no
 * ledger, no release gate, no isolation, so every difference in duties is in its favour.
 */
import { generateKeyPairSync } from "node:crypto";
import { DatabaseSync } from "@photostructure/sqlite";
import { JsonRpcProvider, Wallet } from "ethers";
import { WebSocket } from "ws";
import {
  openEnvelope,
  publicKeyFromHex,
  publicKeyHex,
  sealEnvelope,
} from "../../protocol/envelope.ts";
import { walletFingerprintOf } from "../../protocol/identity.ts";
import { frameFormNumber, linkPathWithFormNumber } from "../../protocol/messages.ts";
import { sealTranscript, signTranscript } from "../../protocol/pairing.ts";

const [url = "", apiKey = "", databasePath = "", tuned = ""] = process.argv.slice(2);
const secret = apiKey.split(".")[1] ?? "";
// As ethers comes (it asks for gas and fees for every transaction, as the agent does), and tuned:
// no batching, and fees and gas made up instead of asked.
const provider =
  tuned === "tuned"
    ? new JsonRpcProvider(url, 31337, { staticNetwork: true, batchMaxCount: 1 })
    : new JsonRpcProvider(url);
const wallet = Wallet.createRandom(provider);
const fixedFees = {
  type: 2,
  chainId: 31337,
  gasLimit: 21_000n,
  maxFeePerGas: 3_000_000_000n,
  maxPriorityFeePerGas: 1_000_000_000n,
};
const signer = generateKeyPairSync("ed25519").privateKey;
const link = generateKeyPairSync("ed25519").privateKey;

const depositXpub =
  "xpub6BosfCnifzxcFwrSzQiqu2DBVTshkCXacvNsWGYJVVhhawA7d4R5WSWGFNbi8Aw6ZRc1brxMyWMzG3DSSSSoekkudhUd9yLb6qx39T9nMdj";
const accounts = [
  { family: "evm", purpose: "hot", id: wallet.address },
  { family: "evm", purpose: "deposits", id: depositXpub },
] as const;
const transcript = JSON.stringify({
  version: 1,
  keyId: apiKey.split(".")[0],
  gatewayFingerprint: apiKey.split(".")[2],
  signerKey: publicKeyHex(signer),
  linkKey: publicKeyHex(link),
  wallet: walletFingerprintOf(accounts),
  networks: ["eip155:31337"],
  accounts,
  currencies: [{ id: "eth", network: "eip155:31337", contract: "", decimal: 18, maxFee: "0.01" }],
  nonce: "11".repeat(32),
  at: Date.now(),
});
// The bench's own gateway looks at no proof: pairing is not measured.
const proven = { signerSignature: signTranscript(transcript, signer), proofs: [] };
const paired = await fetch(`${url}/agent/v1/pair`, {
  method: "POST",
  body: JSON.stringify(
    sealTranscript(transcript, { secret: Buffer.from(secret), linkKey: link, proven }),
  ),
});
const { grant, gatewayKey } = (await paired.json()) as { grant: string; gatewayKey: string };
const { agent } = JSON.parse(grant) as { agent: string };
const gateway = publicKeyFromHex(gatewayKey);

const database = new DatabaseSync(databasePath);
database.exec(
  "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; CREATE TABLE jobs (id TEXT PRIMARY KEY, job TEXT, raw TEXT, hash TEXT)",
);
const insert = database.prepare("INSERT INTO jobs VALUES (?, ?, ?, ?)");
let nonce = 0;
let seq = 0;

const socket = new WebSocket(`${url.replace("http", "ws")}${linkPathWithFormNumber}`, {
  perMessageDeflate: false,
});
const send = (kind: "hello" | "statement", payload: object): void =>
  socket.send(sealEnvelope(kind, payload, kind === "hello" ? link : signer));
const state = (entry: Record<string, unknown>): void => {
  seq += 1;
  const head = { seq, hash: "33".repeat(32) };
  send("statement", {
    agent,
    ledgerEpoch: 1,
    handshake: "",
    after: seq - 1,
    previous: (seq === 1 ? "00" : "33").repeat(32),
    head,
    at: Date.now(),
    entries: [{ seq, at: Date.now(), ...entry }],
  });
};

async function pay(text: string): Promise<void> {
  const job = JSON.parse(text) as { transactionId: string; address: string };
  const own = nonce;
  nonce += 1;
  const asked = { to: job.address, value: 1_000_000_000_000n, nonce: own };
  const raw = await wallet.signTransaction(
    tuned === "tuned" ? { ...asked, ...fixedFees } : await wallet.populateTransaction(asked),
  );
  insert.run(job.transactionId, text, raw, "");
  state({
    kind: "signed",
    transactionId: job.transactionId,
    attempt: 1,
    network: "eip155:31337",
    account: wallet.address,
    slot: String(own),
    txHash: `0x${"44".repeat(32)}`,
    feeMax: "63000000000000",
  });
  await provider.broadcastTransaction(raw);
}

socket.on("message", (data: Buffer) => {
  const { kind, payload } = openEnvelope(data, {
    kinds: ["challenge", "welcome", "jobs", "ack", "heartbeat"],
    publicKey: gateway,
    bytesMax: 65_536,
  });
  const message = JSON.parse(Buffer.from(payload).toString("utf8")) as Record<string, unknown>;
  if (kind === "challenge")
    send("hello", {
      agent,
      ledgerEpoch: 1,
      answers: message.nonce,
      nonce: "55".repeat(32),
      software: "plain",
      kinds: frameFormNumber,
      open: [],
      at: Date.now(),
    });
  else if (kind === "welcome")
    state({ kind: "adopted", network: "eip155:31337", account: wallet.address, slot: "0" });
  else if (kind === "jobs") for (const text of message.jobs as string[]) void pay(text);
});
socket.on("open", () => process.stdout.write("ready\n"));
// The handler holds the database: collected, it would be closed under its statement.
socket.on("close", () => {
  database.close();
  process.exit(0);
});
