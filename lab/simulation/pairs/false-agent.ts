/**
 * An agent of another merchant at the same gateway, who has turned against the first one: it has
 * keys, a link and jobs of its own, and its ledger is whatever it says. It says that others'
 * transactions are its own, decides others' withdrawals, takes others' slots, tells of ceilings and
 * of what no database ever had, and comes again with a new name once it is locked.
 */
import { families } from "../../../chains/families.ts";
import {
  openEnvelope,
  privateKeyFromSeed,
  publicKeyFromHex,
  publicKeyHex,
  sealEnvelope,
} from "../../../protocol/envelope.ts";
import { zeroHash } from "../../../protocol/identity.ts";
import {
  type AgentLedgerHead,
  type Entry,
  frameFormNumber,
  linkPathWithFormNumber,
} from "../../../protocol/messages.ts";
import { parseChallenge } from "../../../protocol/payloads.ts";
import { FakeSocket } from "../fakes/socket.ts";
import { kernel, note } from "../kernel/kernel.ts";
import type { Owner } from "../kernel/scheduler.ts";
import { othersAccounts } from "../world/others.ts";
import { receivers } from "../world/plan.ts";
import type { Scene } from "../world/scene.ts";
import {
  begun,
  contract,
  gatewayKey,
  gatewayUrl,
  hotWallet,
  network,
  pairedCurrencies,
  stage,
} from "../world/setting.ts";
import { waitingReceivers } from "../world/worlds.ts";

type Body = Entry extends infer E ? (E extends Entry ? Omit<E, "seq" | "at"> : never) : never;

/** By agent: slots of others, hashes of others, withdrawals of others, ceilings and doubts. */
const favourites = [
  [4, 4, 12],
  [0, 1, 2, 3],
  [5, 6, 7, 11],
  [8, 9, 10, 13],
] as const;
/** Of the one whose things are bad: it must have a payout of its own to be judged. */
const favouritesBad = [0, 4, 12] as const;
const tickMs = 2_500;
/** More addresses than a pass asks about (gateway/sweeps), each with less than its sweep costs. */
const dustMost = 24;
const dustAmount = "0.01";
const dustUnits = 10n ** 16n;
const againMs = 1_500;
const gatewayPublic = publicKeyFromHex(gatewayKey.publicKey);
const frames = {
  kinds: ["challenge", "welcome", "jobs", "ack", "heartbeat"],
  publicKey: gatewayPublic,
  bytesMax: 65_536,
} as const;
export class FalseAgent {
  readonly #world: Scene;
  readonly merchant: string;
  readonly #id: string;
  readonly #owner: Owner;
  readonly #seeds: readonly [Uint8Array, Uint8Array];
  readonly #at: number;
  #socket: FakeSocket | null = null;
  #handshake = "";
  #head: AgentLedgerHead = { seq: 0, hash: zeroHash };
  #orders = 0;
  #paidIn = 0;

  constructor(world: Scene, at: number) {
    this.#world = world;
    this.#at = at;
    this.merchant = `m${at + 2}`;
    this.#id = `${(0xb0 + at).toString(16)}`.repeat(8);
    this.#owner = { name: `false agent ${at}`, isAlive: true, hasPromises: false };
    this.#seeds = [new Uint8Array(32).fill(50 + at), new Uint8Array(32).fill(150 + at)];
  }

  get #hotWallet(): string {
    return othersAccounts(this.#at).accounts.find(({ purpose }) => purpose === "hot")?.id ?? "";
  }

  begin(): void {
    const { gateway, chainFixture } = this.#world;
    const { wallet, accounts } = othersAccounts(this.#at);
    const [signerKey, linkKey] = this.#seeds.map((seed) => publicKeyHex(privateKeyFromSeed(seed)));
    const deposits = accounts.find(({ purpose }) => purpose === "deposits")?.id ?? "";
    const first = families[stage.family].depositAddress(deposits, 0);
    const rows = accounts.map(({ family, purpose, id }) => ({
      family,
      purpose,
      id,
      firstAddress: purpose === "hot" ? id : first,
    }));
    gateway.admitAs(this.merchant, {
      ...{
        id: this.#id,
        wallet,
        ledgerEpoch: 1,
        signerKey: signerKey ?? "",
        linkKey: linkKey ?? "",
      },
      ...{
        accounts: JSON.stringify(rows),
        networks: JSON.stringify([network]),
        currencies: JSON.stringify(pairedCurrencies),
      },
    });
    chainFixture.payIn(this.#hotWallet, "", 10n ** BigInt(stage.coin.decimal + 2));
    kernel.scheduler.every(tickMs, this.#owner, () => {
      if (this.#world.isFaulty) this.#act();
    });
    const { bad } = this.#world.plan;
    // An address that cannot be read never leaves, and its order would wait.
    if (this.#isBad && bad.includes("dust") && !bad.includes("addresses")) this.#scatter();
    this.#dial();
  }

  /** Deposits that hold too little to be swept, so that each final block asks about all again. */
  #scatter(): void {
    const paid = new Map<string, string>(); // address by order
    kernel.scheduler.every(againMs, this.#owner, () => {
      const orders = Array.from({ length: dustMost }, (_, index) => `dust-${index + 1}`);
      for (const orderId of orders.filter((one) => !paid.has(one))) {
        const body = Buffer.from(
          JSON.stringify({ currency: stage.coin.id, amount: dustAmount, orderId }),
        );
        const pay = (address: string): void => {
          if (paid.has(orderId)) return;
          paid.set(orderId, address);
          this.#world.chainFixture.payIn(address, "", dustUnits);
        };
        this.#world.gateway.askDeposit(body, pay, this.merchant);
      }
    });
  }

  #dial(): void {
    const { scheduler } = kernel;
    scheduler.after(againMs, this.#owner, () => {
      // Before that the gateway must ask the first one again, no matter who says that it was rolled
      // back.
      if (!this.#isFirstCaughtUp) {
        this.#dial();
        return;
      }
      const socket = new FakeSocket(`${gatewayUrl}${linkPathWithFormNumber}`);
      this.#socket = socket;
      socket.on("message", (bytes: Buffer) => this.#receive(socket, bytes));
      socket.on("error", () => {});
      socket.on("close", () => {
        this.#handshake = "";
        if (this.#world.isFaulty) this.#dial();
      });
    });
  }

  get #isFirstCaughtUp(): boolean {
    const { gateway, machines } = this.#world;
    const sql = "SELECT id FROM agents WHERE id = ? AND caughtUp = ?";
    return gateway.all(sql, machines[0]?.id ?? "", gateway.run).length > 0;
  }

  #receive(socket: FakeSocket, bytes: Buffer): void {
    const { kind, payload } = openEnvelope(bytes, frames);
    if (kind === "challenge") {
      const { nonce } = parseChallenge(payload);
      const hello = {
        agent: this.#id,
        ledgerEpoch: 1,
        answers: nonce,
        nonce: "07".repeat(32),
        software: "false",
        kinds: frameFormNumber,
        open: [],
        at: this.#now,
      };
      socket.send(sealEnvelope("hello", hello, privateKeyFromSeed(this.#seeds[1])), {
        binary: true,
      });
      return;
    }
    const said = JSON.parse(Buffer.from(payload).toString("utf8")) as {
      challenge?: string;
      gatewayHead?: AgentLedgerHead | null;
    };
    if (kind !== "welcome") return;
    this.#handshake = said.challenge ?? "";
    this.#head = said.gatewayHead ?? { seq: 0, hash: zeroHash };
    if (this.#head.seq > 0) return;
    const ceiling = { kind: "ceiling", ceiling: 1_000 } as const; // without one no address of it leaves
    this.#state([
      { kind: "adopted", network, account: this.#hotWallet, slot: "0" },
      ...(this.#isBad ? [ceiling] : []),
    ]);
  }

  get #isBad(): boolean {
    return this.#at === 0 && this.#world.plan.bad.length > 0;
  }

  get #now(): number {
    return begun + Math.floor(kernel.scheduler.nowMs);
  }

  /** Orders of its own, statements of anybody's. */
  #act(): void {
    const { random } = kernel;
    if (this.#orders < 6 && random.below("it orders", 3) === 0) this.#order();
    if (this.#paidIn < 2 && random.below("it pays in", 3) === 0) this.#payIn();
    if (this.#handshake === "") return;
    this.#state(this.#lies());
  }

  #order(): void {
    const { random } = kernel;
    this.#orders += 1;
    const [paid] = [...this.#world.customers.paid.keys()];
    const shops = stage.family === "evm" ? receivers[1] : waitingReceivers[1];
    const address = random.below("to an address of the other", 2) === 0 ? (paid ?? shops) : shops;
    const body = {
      currency: stage.coin.id,
      amount: "0.3",
      orderId: `false-${this.#orders}`,
      address,
    };
    const asked = {
      merchant: this.merchant,
      mode: "auto",
      body: Buffer.from(JSON.stringify(body)),
      language: "en",
    } as const;
    this.#world.gateway.request(asked, (answer) =>
      note("it is answered", (answer as { kind: string }).kind),
    );
  }

  /** A token on an address of its own wants a sweep, and that a top-up, which it says it signed. */
  #payIn(): void {
    this.#paidIn += 1;
    const body = Buffer.from(
      JSON.stringify({ currency: "usdt", amount: "0.7", orderId: `false-${this.#paidIn}` }),
    );
    this.#world.gateway.askDeposit(
      body,
      (address) => this.#world.chainFixture.payIn(address, contract, 700_000n),
      this.merchant,
    );
  }

  /** The gateway's rows of anybody: an attacker sees the chain, and may guess the rest. */
  #lies(): readonly Body[] {
    const { random } = kernel;
    const { gateway } = this.#world;
    type Row = { readonly id: string; readonly merchant: string };
    const all = gateway.all<Row>(
      "SELECT id, merchant FROM deposits UNION ALL SELECT id, merchant FROM transfers",
    );
    const [own, others] = [
      all.filter(({ merchant }) => merchant === this.merchant),
      all.filter((one) => one.merchant !== this.merchant),
    ];
    const mine = random.pick("its own", own)?.id ?? "00".repeat(16);
    const theirs = random.pick("another's", others)?.id ?? "11".repeat(16);
    const hash = random.pick("a hash of others", [
      ...this.#hashes,
      stage.family === "evm" ? `0x${"cd".repeat(32)}` : "cd".repeat(32),
    ]);
    const validUntilMs = stage.family === "evm" ? {} : { validUntilMs: this.#now + 300_000 };
    const signed = {
      kind: "signed",
      attempt: 1,
      network,
      slot: `${random.below("its slot", 9)}`,
      txHash: hash,
      feeMax: "1000",
      ...validUntilMs,
    } as const;
    // A lie about its own withdrawals says nothing before it has one.
    if (own.length === 0 && this.#at < 2)
      return [{ kind: "adopted", network, account: this.#hotWallet, slot: "0" }];
    const lies = this.#isBad ? favouritesBad : (favourites[this.#at % favourites.length] ?? []);
    switch (random.pick("its lie", lies)) {
      case 0:
      case 1:
      case 2:
      case 3:
        return [{ ...signed, transactionId: mine, account: this.#hotWallet }];
      case 4:
        return [{ ...signed, transactionId: mine, account: hotWallet }];
      case 5:
        return [{ ...signed, transactionId: theirs, account: this.#hotWallet }];
      case 6:
        return [{ ...signed, transactionId: theirs, account: hotWallet }];
      case 7:
        return [
          {
            kind: "decision",
            transactionId: theirs,
            decision: random.pick("it decides", ["refused", "expired"]),
            code: "",
            address: "",
          },
        ];
      case 8:
        return [
          { kind: "ceiling", ceiling: random.pick("its ceiling", [1_000, 5_000, 0x7fffffff]) },
        ];
      case 9:
        return [
          {
            kind: "alarm",
            code: "LEDGER_FORKED",
            locked: random.below("it locks itself", 2) === 0,
          },
        ];
      case 10:
        return [
          {
            kind: "observed",
            transactionId: "22".repeat(16),
            stage: "final",
            outcome: "paid",
            txHash: hash,
          },
        ];
      case 11:
        return [
          {
            kind: "observed",
            transactionId: theirs,
            stage: "final",
            outcome: "conflicted",
            txHash: hash,
          },
        ];
      case 12:
        return [
          { kind: "decision", transactionId: mine, decision: "approved", code: "", address: "" },
        ];
      default:
        return [{ kind: "adopted", network, account: hotWallet, slot: "900" }];
    }
  }

  /** Everything that the network has seen. */
  get #hashes(): readonly string[] {
    const signed = this.#world.gateway.txHashes();
    return [...signed, ...this.#world.chainFixture.outside];
  }

  #state(bodies: readonly Body[]): void {
    const { seq: after, hash: previous } = this.#head;
    const entries = bodies.map((body, index) => ({
      ...body,
      seq: after + index + 1,
      at: this.#now,
    }));
    this.#head = {
      seq: after + bodies.length,
      hash: kernel.random.bytes("its ledger's hash", 32).toString("hex"),
    };
    const statement = {
      ...{
        agent: this.#id,
        ledgerEpoch: 1,
        handshake: this.#handshake,
        after,
        previous,
        head: this.#head,
        at: this.#now,
        entries,
      },
    };
    note("it says", bodies[0]?.kind ?? "");
    this.#socket?.send(sealEnvelope("statement", statement, privateKeyFromSeed(this.#seeds[0])), {
      binary: true,
    });
  }
}
