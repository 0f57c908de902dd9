/**
 * The state after a block of the fake's chain: accounts with their coins, resources and TRC-10
 * tokens, and each holder's balance in each contract. A value: `fork` gives a copy, so that a
 * failed transaction or a replaced block costs nothing but forgetting it.
 */

export interface Account {
  readonly balanceSun: bigint;
  readonly isContract: boolean;
  readonly createdAtMs: number;
  readonly freeNet: Usage;
  readonly net: Usage & { readonly limit: number }; // bytes a day, by stake
  readonly energy: Usage & { readonly limit: number }; // a day, by stake
  readonly assets: Readonly<Record<string, bigint>>; // TRC-10, by id
}

/** Recovers in a straight line over a day. */
export interface Usage {
  readonly used: number;
  readonly atMs: number;
}

export type ContractKind = "usdt" | "plain" | "fee" | "paused" | "liar" | "disperse" | "staking";

export interface Contract {
  readonly kind: ContractKind;
  readonly name: string;
  readonly symbol: string;
  readonly decimals: number;
  readonly owner: string; // 41…, hex
}

export interface Asset {
  readonly id: string;
  readonly name: string;
  readonly owner: string;
  readonly supply: bigint;
}

const dayMs = 24 * 60 * 60 * 1000;

export class State {
  #accounts: Map<string, Account>;
  #tokenBalances: Map<string, bigint>; // by contract and holder
  readonly contracts: Map<string, Contract>;
  readonly assets: Map<string, Asset>;
  burnedSun: bigint;

  constructor(from?: State) {
    this.#accounts = new Map(from === undefined ? [] : from.#accounts);
    this.#tokenBalances = new Map(from === undefined ? [] : from.#tokenBalances);
    this.contracts = new Map(from === undefined ? [] : from.contracts);
    this.assets = new Map(from === undefined ? [] : from.assets);
    this.burnedSun = from?.burnedSun ?? 0n;
  }

  fork(): State {
    return new State(this);
  }

  /** Takes over what a fork of it came to. */
  become(fork: State): void {
    this.#accounts = fork.#accounts;
    this.#tokenBalances = fork.#tokenBalances;
    this.burnedSun = fork.burnedSun;
  }

  account(address: string): Account | undefined {
    return this.#accounts.get(address);
  }

  put(address: string, change: Partial<Account>): void {
    const before = this.#accounts.get(address) ?? fresh;
    this.#accounts.set(address, { ...before, ...change });
  }

  /** Adds coins; an account that was not there begins with them. */
  add(address: string, sun: bigint, nowMs: number): void {
    const before = this.#accounts.get(address);
    if (before === undefined) this.put(address, { balanceSun: sun, createdAtMs: nowMs });
    else this.put(address, { balanceSun: before.balanceSun + sun });
  }

  /** Coins that leave the world: java-tron burns fees. */
  burn(address: string, sun: bigint): void {
    this.add(address, -sun, 0);
    this.burnedSun += sun;
  }

  held(contract: string, holder: string): bigint {
    return this.#tokenBalances.get(`${contract} ${holder}`) ?? 0n;
  }

  hold(contract: string, holder: string, units: bigint): void {
    this.#tokenBalances.set(`${contract} ${holder}`, units);
  }
}

const fresh: Account = {
  balanceSun: 0n,
  isContract: false,
  createdAtMs: 0,
  freeNet: { used: 0, atMs: 0 },
  net: { used: 0, atMs: 0, limit: 0 },
  energy: { used: 0, atMs: 0, limit: 0 },
  assets: {},
};

/** The part of an allowance that is still used at a time. */
export function usedAt({ used, atMs }: Usage, nowMs: number): number {
  const elapsed = Math.max(0, nowMs - atMs);
  return elapsed >= dayMs ? 0 : Math.ceil((used * (dayMs - elapsed)) / dayMs);
}
