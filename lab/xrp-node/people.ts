/**
 * People on the stand-in's ledger: a faucet, customers with keys of their own that are the same in
 * every run, and the ways by which XRP comes to an account. All is encoded and signed by Ripple's
 * packages.
 */
import type { Chain } from "./chain.ts";
import { codecs, type Json, keysOf, sha512Half, signed } from "./codecs.ts";
import type { Result } from "./results.ts";
import { networkIdFree, takeFee } from "./rules.ts";
import type { State } from "./state.ts";
import { type ReadTransaction, readBlob, readFields } from "./transaction.ts";

export interface Person {
  readonly address: string; // classic
  readonly publicKey: string;
  readonly privateKey: string;
}

export interface SubmittedBlob {
  readonly hash: string;
  readonly blob: string;
  readonly result: Result;
}

const fullyCanonical = 0x8000_0000;
const partialPayment = 0x0002_0000;
const usualFee = "12";

/** The same key for the same name, in every run. */
export function person(name: string): Person {
  return keysOf(name);
}

export class People {
  readonly #chain: Chain;
  readonly faucet: Person;
  #tickets = 1;

  constructor(chain: Chain) {
    this.#chain = chain;
    this.faucet = chain.faucet;
  }

  /** From the faucet, into the open ledger. */
  fund(address: string, drops: bigint, tag?: number): SubmittedBlob {
    return this.pay(this.faucet, address, drops, tag);
  }

  /** A payment in XRP, into the open ledger, whatever its result. */
  pay(from: Person, to: string, drops: bigint, tag?: number, more: Json = {}): SubmittedBlob {
    return this.submit(from, { ...payment(to, String(drops), tag), ...more });
  }

  /** AccountSet with SetFlag: 1 RequireDest, 3 DisallowXRP, 9 DepositAuth. */
  setFlag(from: Person, flag: 1 | 3 | 9): SubmittedBlob {
    return this.submit(from, { TransactionType: "AccountSet", SetFlag: flag });
  }

  submit(from: Person, fields: Json): SubmittedBlob {
    const blob = this.sign(from, fields);
    const tx = readBlob(blob);
    return { hash: tx.hash, blob, result: this.#chain.open.submit(tx).result };
  }

  /** Signed, with the account's next sequence and a usual fee where the fields name none. */
  sign(from: Person, fields: Json): string {
    return signed({ ...this.#common(from.address), ...fields }, from);
  }

  nextSequence(address: string): number {
    const { open } = this.#chain;
    const last = open.queueOf(address).at(-1)?.sequence ?? -1;
    return Math.max(open.state.account(address)?.sequence ?? 1, last + 1);
  }

  /** A payment of up to `drops` by way of a token, of which fewer arrive. */
  payPartly(to: string, drops: bigint, deliveredDrops: bigint, tag?: number): string {
    const SendMax = { currency: "USD", issuer: person("issuer").address, value: "1" };
    const fields = {
      ...payment(to, String(drops), tag),
      SendMax,
      Flags: fullyCanonical + partialPayment,
    };
    return this.#arrive(this.#byFaucet(fields), to, deliveredDrops, String(deliveredDrops));
  }

  /** A payment in an issued token: no XRP moves. */
  payToken(to: string, value: string, tag?: number): string {
    const amount = { currency: "USD", issuer: person("issuer").address, value };
    return this.#arrive(this.#byFaucet(payment(to, amount, tag)), to, 0n, amount);
  }

  /** XRP that a finished escrow sets free: metadata tells no delivered amount. */
  finishEscrow(to: string, drops: bigint): string {
    const fields = {
      TransactionType: "EscrowFinish",
      Owner: this.faucet.address,
      OfferSequence: 1,
    };
    return this.#arrive(this.#byFaucet(fields), to, drops, null);
  }

  /** XRP of a check that its receiver cashes with a ticket, so that its sequence stays. */
  cashCheck(to: string, drops: bigint): string {
    const TicketSequence = this.#tickets;
    this.#tickets += 1;
    const CheckID = sha512Half(Buffer.from(`check ${TicketSequence}`));
    const fields = {
      TransactionType: "CheckCash",
      Account: to,
      Fee: usualFee,
      Sequence: 0,
      TicketSequence,
      CheckID,
    };
    // The receiver's key is its own: another one signs, which only submit would judge.
    const tx = taken({ ...fields, Amount: String(drops) }, this.faucet);
    const effect = (state: State): void =>
      state.add(to, drops - BigInt(usualFee), this.#chain.open.index);
    this.#chain.open.arrive(tx, effect, String(drops));
    return tx.hash;
  }

  #byFaucet(fields: Json): ReadTransaction {
    return taken({ ...this.#common(this.faucet.address), ...fields }, this.faucet);
  }

  /** A network above 1024 stands in each transaction. */
  #common(address: string): Json {
    const { networkId } = this.#chain.rules;
    const network = networkId > networkIdFree ? { NetworkID: networkId } : {};
    return { Account: address, Fee: usualFee, Sequence: this.nextSequence(address), ...network };
  }

  #arrive(tx: ReadTransaction, to: string, drops: bigint, delivered: unknown): string {
    const { open } = this.#chain;
    open.arrive(
      tx,
      (state) => {
        takeFee(tx, state);
        state.add(tx.account, -drops, open.index);
        if (drops > 0n) state.add(to, drops, open.index);
      },
      delivered,
    );
    return tx.hash;
  }
}

function payment(to: string, amount: unknown, tag: number | undefined): Json {
  const tagged = tag === undefined ? {} : { DestinationTag: tag };
  return {
    TransactionType: "Payment",
    Destination: to,
    Amount: amount,
    ...tagged,
    Flags: fullyCanonical,
  };
}

function taken(fields: Json, signer: Person): ReadTransaction {
  const blob = signed(fields, signer);
  return readFields(codecs().binary.decode(blob) as Json, blob);
}
