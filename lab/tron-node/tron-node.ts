/**
 * A node of ours that stands in for java-tron in tests and in the demo, since no local one can be
 * had as a package: one chain in memory behind one or several providers' addresses on loopback.
 * Begins here for anybody who runs it inside their own process; command.ts runs it as one of its
 * own.
 */
import { Chain, type ChainOptions, type KeptTransactions } from "./chain.ts";
import { Front, type FrontOptions, type Trouble } from "./front.ts";
import { addressOf } from "./printing.ts";
import type { Contract, ContractKind, State } from "./state.ts";
import type { Json } from "./transaction.ts";

export interface TronNodeOptions extends ChainOptions {
  readonly fronts?: readonly FrontOptions[]; // default: one
  readonly isPaced?: boolean; // a block each slot by itself; default: on command
}

export interface NewContract extends Omit<Contract, "owner"> {
  readonly address: string; // the contract's
  readonly owner?: string; // takes the fees; default: the contract
}

const nameOfZeros = "41".padEnd(42, "0");

export class TronNode {
  readonly chain: Chain;
  readonly fronts: readonly Front[];
  #pace: NodeJS.Timeout | null = null;

  constructor(options: TronNodeOptions = {}) {
    this.chain = new Chain({ isWallClock: options.isPaced === true, ...options });
    const control = (verb: string, asked: Json): unknown => this.#control(verb, asked);
    this.fronts = (options.fronts ?? [{}]).map((front) => new Front(this.chain, front, control));
  }

  get urls(): readonly string[] {
    return this.fronts.map(({ url }) => url);
  }

  /** 0x and the last eight digits of the genesis block's id; the network is `tron:` and this. */
  get chainId(): string {
    return `0x${this.chain.blocks[0]!.id.slice(-8)}`;
  }

  /** Begins, or with false ends, making a block each slot. */
  pace(isPaced: boolean): void {
    if (this.#pace !== null) clearInterval(this.#pace);
    this.#pace = isPaced ? setInterval(() => this.chain.mine(), this.chain.slotMs) : null;
  }

  /** Coins out of nowhere; opens the account. Addresses as people write them, or hex. */
  fund(address: string, sun: bigint): void {
    this.chain.set((state) => state.add(hexOf(address), sun, this.chain.head.timestampMs));
  }

  deploy({ address, owner, ...contract }: NewContract): void {
    const at = hexOf(address);
    this.chain.set((state) => {
      state.put(at, { isContract: true });
      state.contracts.set(at, { ...contract, owner: owner === undefined ? at : hexOf(owner) });
    });
  }

  mint(contract: string, address: string, units: bigint): void {
    const [at, holder] = [hexOf(contract), hexOf(address)];
    this.chain.set((state) => state.hold(at, holder, state.held(at, holder) + units));
  }

  /** A TRC-10 token, all of it with one account. */
  issue(id: string, name: string, address: string, supply: bigint): void {
    const owner = hexOf(address);
    this.chain.set((state) => {
      state.assets.set(id, { id, name, owner, supply });
      state.put(owner, { assets: { ...state.account(owner)?.assets, [id]: supply } });
    });
  }

  /** Energy and bandwidth a day, as if coins were staked for them. */
  stake(
    address: string,
    { energy = 0, net = 0 }: { readonly energy?: number; readonly net?: number },
  ): void {
    const nothing = { used: 0, atMs: 0 };
    this.chain.set((state) =>
      state.put(hexOf(address), {
        energy: { ...nothing, limit: energy },
        net: { ...nothing, limit: net },
      }),
    );
  }

  /** The state of an account at the newest solidified block. */
  solidBalance(address: string, contract = ""): bigint {
    return held(this.chain.stateAt(this.chain.solid), address, contract);
  }

  balance(address: string, contract = ""): bigint {
    return held(this.chain.state, address, contract);
  }

  async close(): Promise<void> {
    this.pace(false);
    await Promise.all(this.fronts.map((front) => front.close()));
  }

  #control(verb: string, asked: Json): unknown {
    const at = typeof asked.front === "number" ? this.fronts[asked.front] : undefined;
    const text = (name: string): string => String(asked[name] ?? "");
    const units = (name: string): bigint => BigInt(text(name));
    const verbs: Readonly<Record<string, () => void>> = {
      mine: () => this.chain.mine(Number(asked.count ?? 1)),
      pace: () => this.pace(asked.isPaced === true),
      halt: () => this.chain.halt(Number(asked.ms ?? 0)),
      replace: () =>
        this.chain.replace(Number(asked.depth), {
          kept: (asked.kept ?? "all") as KeptTransactions,
          empty: Number(asked.empty ?? 0),
        }),
      hold: () => this.chain.hold(),
      release: () => this.chain.release(),
      fund: () => this.fund(text("address"), units("sun")),
      mint: () => this.mint(text("contract"), text("address"), units("units")),
      stake: () => this.stake(text("address"), asked as { energy?: number; net?: number }),
      issue: () => this.issue(text("id"), text("name"), text("address"), units("supply")),
      deploy: () => {
        const { kind, name, symbol } = asked as {
          kind: ContractKind;
          name: string;
          symbol: string;
        };
        this.deploy({
          address: text("address"),
          kind,
          name,
          symbol,
          decimals: Number(asked.decimals ?? 6),
        });
      },
      trouble: () => (at ?? this.fronts[0])!.suffer(asked as Trouble),
      state: () => undefined,
    };
    const act = Object.hasOwn(verbs, verb) ? verbs[verb] : undefined;
    if (act === undefined) throw new Error(`no such verb: ${verb}`);
    act();
    const { head, solid, nowMs, pending } = this.chain;
    const ids = { chainId: this.chainId, head: head.number, headId: head.id, solid };
    return { ...ids, nowMs, pending: pending.map(({ txId }) => txId), urls: this.urls };
  }
}

/** Resolves when every address answers. */
export async function startTronNode(options: TronNodeOptions = {}): Promise<TronNode> {
  const node = new TronNode(options);
  await Promise.all(node.fronts.map((front) => front.listen()));
  node.pace(options.isPaced === true);
  return node;
}

function held(state: State, address: string, contract: string): bigint {
  if (contract !== "") return state.held(hexOf(contract), hexOf(address));
  return state.account(hexOf(address))?.balanceSun ?? 0n;
}

function hexOf(address: string): string {
  const hex = addressOf(address);
  if (hex === "" || hex === nameOfZeros) throw new Error(`no address of Tron: ${address}`);
  return hex;
}
