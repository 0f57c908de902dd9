/**
 * The hot loop that the gateway's CPU is compared with: the acts that one payout on EVM cannot do
 * without, each by the product's own function or by Node's, one after the other. No framework, no
 * session, no watcher's state: the difference to the gateway is the cost of all that.
 */
import { spawn } from "node:child_process";
import {
  createHash,
  createHmac,
  generateKeyPairSync,
  randomBytes,
  timingSafeEqual,
} from "node:crypto";
import { once } from "node:events";
import { familyOf } from "../../chains/families.ts";
import { moveLastJobFrom } from "../../gateway/store/agent-state.ts";
import { insertJob } from "../../gateway/store/jobs.ts";
import { markTokenSeen } from "../../gateway/store/jtis.ts";
import { keepOutgoing } from "../../gateway/store/outgoing-transactions.ts";
import { insertSignature } from "../../gateway/store/signatures.ts";
import { insertSlot } from "../../gateway/store/slots.ts";
import type { Database } from "../../gateway/store/store.ts";
import { keepFiatValue, recordOfOrder } from "../../gateway/store/transactions.ts";
import {
  endWithdrawal,
  insertWithdrawal,
  updateWithdrawal,
} from "../../gateway/store/withdrawals.ts";
import { parseAmount } from "../../protocol/amount.ts";
import { openEnvelope, sealEnvelope, signJob } from "../../protocol/envelope.ts";
import { deriveOrderTransactionId, jobHashOf, zeroHash } from "../../protocol/identity.ts";
import { type AgentKeys, gatewayDatabase, pairAgent, receiver } from "../kit/gateway-database.ts";
import type { ActsFigures } from "./acts.ts";
import { cpuUsOf, cpuUsOfEach } from "./cpu.ts";
import { rounded } from "./figures.ts";
import { ask, drain, overConnections } from "./requests.ts";

/** Payouts a commit as the same run had them; frames are shared alike. */
export interface GatewayActsAsked {
  readonly payoutsPerCommit: number;
  readonly times: number; // that each act is repeated
}

export interface GatewayActsFigures extends ActsFigures {
  readonly statements: number; // SQLite's, a payout
}

const network = "eip155:31337";
const merchant = "m1";
/** Commits that a payout takes part in: its order, its signature, its block, its end. */
const commitsOfPayout = 4;
const connections = 64;
const idOf = (number: number): string => number.toString(16).padStart(32, "0");
const hashOf = (number: number): string => `0x${number.toString(16).padStart(64, "0")}`;

/** The rows of payouts, by the store's own functions, in a database of its own. */
class Rows {
  readonly #made = gatewayDatabase();
  readonly #keys: AgentKeys = pairAgent(this.#made.store);
  readonly #database: Database;
  readonly #text: string;
  #number = 0;
  statements = 0;

  constructor(text: string) {
    this.#text = text;
    const { database } = this.#made.store;
    const counted = <A extends unknown[], R>(does: (...args: A) => R) => {
      return (...args: A): R => {
        this.statements += 1;
        return does(...args);
      };
    };
    this.#database = {
      run: counted(database.run),
      get: counted(database.get),
      all: counted(database.all),
    } as Database;
  }

  get payouts(): number {
    return this.#number;
  }

  /** So many payouts from order to end, in the commits that they share. */
  play(payouts: number): void {
    const from = this.#number + 1;
    this.#number += payouts;
    for (const act of [this.#order, this.#signed, this.#included, this.#ended]) {
      this.#made.store.write(() => {
        for (let number = from; number <= this.#number; number += 1) act(number);
      });
    }
  }

  close(): void {
    this.#made.remove();
  }

  readonly #order = (number: number): void => {
    const [id, orderId, now] = [idOf(number), `acts-${number}`, Date.now()];
    const times = { createdAt: now, changedAt: now, expiresAt: now + 3_600_000 };
    const money = { currency: "eth", network, amount: "0.000001", units: "1000000000000" };
    const { hotWalletAddress: payer, id: agent } = this.#keys;
    markTokenSeen(this.#database, {
      keyId: "k_bench",
      jti: `acts-${number}`,
      expiresAtMs: now + 60_000,
    });
    recordOfOrder(this.#database, { merchant, operation: "withdraw", orderId, renews: "" });
    insertWithdrawal(this.#database, {
      ...{ id, merchant, orderId, contentHash: zeroHash, ...money, ...times },
      ...({ operation: "withdraw", mode: "auto", renews: "", refundOf: "" } as const),
      ...{ receiver, payer, tag: "", stage: "queued", metadata: "" },
    });
    const hash = hashOf(number).slice(2);
    insertJob(this.#database, {
      agent,
      sequence: number,
      hash,
      text: this.#text,
      transactionId: id,
      answeredAt: null,
    });
    moveLastJobFrom(this.#database, agent, number - 1, number, hash);
  };

  readonly #signed = (number: number): void => {
    const { id: agent, hotWalletAddress: account } = this.#keys;
    const [transactionId, slot] = [idOf(number), `${number}`];
    insertSlot(this.#database, { network, account, slot }, transactionId);
    insertSignature(this.#database, {
      ...{
        transactionId,
        attempt: 1,
        agent,
        network,
        account,
        slot,
        txHash: hashOf(number),
        feeMax: "63000000000000",
      },
      ...{ seq: number, validUntilMs: 0, pin: "", cancel: 0 },
    });
    updateWithdrawal(this.#database, transactionId, { stage: "signed" }, Date.now());
  };

  readonly #included = (number: number): void => {
    updateWithdrawal(this.#database, idOf(number), { stage: "confirming" }, Date.now());
  };

  readonly #ended = (number: number): void => {
    const [id, txHash, block] = [idOf(number), hashOf(number), number];
    const end = {
      status: 1,
      stage: "completed",
      code: "",
      txHash,
      feeUnits: "21000000000000",
    } as const;
    endWithdrawal(this.#database, id, { ...end, finalBlock: block, changedAt: Date.now() });
    const { hotWalletAddress: account } = this.#keys;
    keepOutgoing(this.#database, {
      ...{
        network,
        account,
        slot: `${number}`,
        txHash,
        block,
        receiver,
        tag: "",
        contract: "",
        units: "1000000000000",
      },
      untold: 0,
    });
    keepFiatValue(this.#database, id, "");
  };
}

/** A server of Node's own that reads a body and answers a record's length: its CPU a request. */
async function httpUs(times: number): Promise<number> {
  const program = `require("node:http").createServer((request, response) => {
    request.resume().on("end", () => response.end("x".repeat(400)));
  }).listen(0, "127.0.0.1", function () { process.stdout.write(String(this.address().port)); });`;
  const child = spawn(process.execPath, ["-e", program], { stdio: ["ignore", "pipe", "inherit"] });
  try {
    const [port] = (await once(child.stdout, "data")) as [Buffer];
    const url = `http://127.0.0.1:${String(port).trim()}`;
    const shopKey = `k_${"0".repeat(16)}.${randomBytes(32).toString("base64url")}.${"0".repeat(32)}`;
    const list = Array.from({ length: times }, () => null);
    const send = (): Promise<void> =>
      overConnections(connections, list, async (_, agent) => {
        await drain(await ask(url, { path: "/autoWithdraw", shopKey, body, agent }));
      });
    await send();
    const before = cpuUsOf(child.pid ?? 0);
    await send();
    return (cpuUsOf(child.pid ?? 0) - before) / times;
  } finally {
    child.kill("SIGKILL");
  }
}

interface Act {
  readonly does: () => unknown;
  readonly payouts: number; // that share one
}

type Acts = Readonly<Record<string, Act>>;

const one = (does: () => unknown): Act => ({ does, payouts: 1 });
const body = JSON.stringify({
  currency: "eth",
  amount: "0.000001",
  orderId: "acts-77",
  address: receiver,
});
const job = {
  ...{
    agent: "a".repeat(16),
    wallet: "a".repeat(32),
    network,
    ledgerEpoch: 1,
    sequence: 77,
    previous: zeroHash,
  },
  ...{
    issuedAt: 1_800_000_000_000,
    expiresAt: 1_800_003_600_000,
    mode: "auto",
    transactionId: idOf(77),
    orderId: "acts-77",
  },
  ...{ currency: "eth", amount: "0.000001", address: receiver, tag: "" },
};

/** From the request to its answer, without the rows. */
function actsOfOrder(): Acts {
  const secret = randomBytes(32);
  const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");
  const claims = {
    iat: 1_800_000_000,
    exp: 1_800_000_060,
    jti: "a".repeat(22),
    bodyHash: zeroHash,
  };
  const [head, said] = [part({ alg: "HS256", kid: "k_0123456789abcdef" }), part(claims)];
  const claimed = createHmac("sha256", secret).update(`${head}.${said}`).digest("base64url");
  return {
    token: one(() => {
      for (const each of [head, said]) JSON.parse(Buffer.from(each, "base64url").toString("utf8"));
      const mac = createHmac("sha256", secret).update(`${head}.${said}`).digest();
      return timingSafeEqual(mac, Buffer.from(claimed, "base64url"));
    }),
    bodyHash: one(() => createHash("sha256").update(body).digest()),
    order: one(() => [
      ...[
        JSON.parse(body),
        parseAmount("0.000001", 18),
        familyOf(network).parseAddress(receiver, network),
      ],
      deriveOrderTransactionId({ merchant, operation: "withdraw", orderId: "acts-77" }),
    ]),
    answer: one(() => JSON.stringify({ ...job, status: 0, stage: "queued" })),
  };
}

/** The job, what the agent says of it, and its transaction in a block. */
function actsOfJob(payouts: number): Acts {
  const { privateKey, publicKey } = generateKeyPairSync("ed25519");
  const text = JSON.stringify(job);
  const signature = signJob(text, privateKey);
  const shared = Array.from({ length: Math.max(1, Math.round(payouts)) }, (_, at) => at);
  const jobs = {
    agent: job.agent,
    jobs: shared.map(() => text),
    signatures: shared.map(() => signature),
  };
  const of = {
    transactionId: idOf(77),
    attempt: 1,
    network,
    account: receiver,
    slot: "77",
    txHash: hashOf(77),
  };
  const entries = shared.map(() => ({ kind: "signed", ...of }));
  const statement = sealEnvelope("statement", { agent: job.agent, entries }, privateKey);
  const ack = { agent: job.agent, head: { seq: 77, hash: zeroHash } };
  const inBlock = JSON.stringify({
    ...{
      hash: hashOf(77),
      from: receiver,
      to: receiver,
      value: "0xe8d4a51000",
      nonce: "0x4d",
      input: "0x",
      blockNumber: "0x4d",
    },
    ...{
      gas: "0x5208",
      gasPrice: "0x3b9aca00",
      maxFeePerGas: "0x3b9aca00",
      v: "0x1",
      r: hashOf(1),
      s: hashOf(2),
    },
  });
  const read = (): unknown => {
    const { payload } = openEnvelope(statement, {
      kind: "statement",
      publicKey,
      bytesMax: 1_000_000,
    });
    return JSON.parse(Buffer.from(payload).toString("utf8"));
  };
  return {
    jobText: one(() => jobHashOf(JSON.stringify(job))),
    // The product signs each job twice, and compares.
    signJob: one(() => [signJob(text, privateKey), signJob(text, privateKey)]),
    frame: { does: () => sealEnvelope("jobs", jobs, privateKey), payouts },
    // Two: the signatures, and later the ends.
    statements: { does: () => [read(), read()], payouts },
    acknowledgements: {
      does: () => [1, 2].map(() => sealEnvelope("ack", ack, privateKey)),
      payouts,
    },
    block: one(() => JSON.parse(inBlock)),
  };
}

/** Takes some seconds of this process, and of a bare server beside it. */
export async function measureGatewayActs({
  payoutsPerCommit,
  times,
}: GatewayActsAsked): Promise<GatewayActsFigures> {
  const acts: Record<string, number> = { http: await httpUs(times) };
  const plain = { ...actsOfOrder(), ...actsOfJob(payoutsPerCommit) };
  for (const [name, { does, payouts }] of Object.entries(plain))
    acts[name] = cpuUsOfEach(times, does) / Math.max(1, payouts);
  const rows = new Rows("{}".padEnd(480, " "));
  try {
    const shared = Math.max(1, Math.round(commitsOfPayout * payoutsPerCommit));
    acts.rowsAndCommits = cpuUsOfEach(Math.ceil(times / shared), () => rows.play(shared)) / shared;
    const sumUs = Object.values(acts).reduce((sum, us) => sum + us, 0);
    return {
      acts: Object.fromEntries(Object.entries(acts).map(([name, us]) => [name, rounded(us, 2)])),
      ...{ sumUs: rounded(sumUs, 1), statements: rounded(rows.statements / rows.payouts, 1) },
    };
  } finally {
    rows.close();
  }
}
