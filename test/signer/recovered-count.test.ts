/**
 * The chain's count in a recovery: no ledger begins before the nodes of each chain that counts have
 * said how far it is, and an operator may leave out a chain of which no node answers.
 */
import { describe, expect, it } from "vitest";
import type { SignerSettings } from "../../agent/config/settings.ts";
import type { RecoveryPlan } from "../../agent/socket/recovery-plan.ts";
import { families } from "../../chains/families.ts";
import type { FamilyName } from "../../chains/family.ts";
import { type AnyAnswer, Kit, keysOf, settings } from "../../lab/kit/signer-kit.ts";
import { network as xrpNetwork } from "../chains/xrp-values.ts";
import { type Contents, orderFrame } from "../support/recovery-offer.ts";

const evmNetwork = "eip155:31337";
const xrpSettings: SignerSettings = {
  ...settings,
  chains: { local: { family: "xrp", chainId: 0 } },
  currencies: { xrp: { chain: "local", decimal: 6 } },
  policy: {
    xrp: { maxPerWithdrawal: "100", maxPerDay: "1000", maxFee: "0.001", maxFeePerDay: "0.1" },
  },
};

interface Case {
  readonly network: string;
  readonly make: () => Kit;
  readonly next: string; // the next slot, as the gateway has it
  readonly count: string; // of the chain, past payments that both have forgotten
}

/** The families whose chains count an account's transactions. */
const counting: Partial<Record<FamilyName, Case>> = {
  evm: { network: evmNetwork, make: () => new Kit().ready(), next: "5", count: "7" },
  xrp: { network: xrpNetwork, make: xrpKit, next: "95000005", count: "95000007" },
};

function xrpKit(): Kit {
  const kit = new Kit({ settings: xrpSettings, keys: keysOf("xrp", [xrpNetwork]) });
  kit.handshake();
  kit.sight({
    next: [{ network: xrpNetwork, account: hotOf(kit), slot: "95000005", isUnused: true }],
  });
  expect(kit.ask("adopt", { chain: "local", slot: "95000005", quorum: 2 }).ok).toBe(true);
  return kit;
}

const hotOf = (kit: Kit): string =>
  kit.keys.vault.accounts.find(({ purpose }) => purpose === "hot")!.id;
const minuteMs = 60_000;

/** A gateway that was restored as well offers what it has; the courier has counted nothing yet. */
function offered({ network, make, next }: Case): Kit {
  const kit = make();
  const accounts = [{ network, account: hotOf(kit), next }];
  const contents: Contents = {
    ...{
      held: null,
      jobs: kit.gateway.last,
      accounts,
      spent: [],
      withdrawals: [],
      ended: [],
      outgoing: [],
    },
  };
  expect(kit.admit(orderFrame(kit, contents)).ok).toBe(true);
  return kit;
}

const ask = (
  kit: Kit,
  digest = "",
  uncounted: readonly string[] = [],
): AnyAnswer & { plan: RecoveryPlan } =>
  kit.operate("recover", {
    digest,
    bothRestored: true,
    ...(uncounted.length === 0 ? {} : { uncounted }),
  }) as AnyAnswer & {
    plan: RecoveryPlan;
  };

const counts = (kit: Kit, slot: string): AnyAnswer =>
  kit.ask("account", { chain: "local", slot, quorum: 2 });

it("the count is asked of every family whose chains count", () => {
  const names = Object.values(families).filter(({ slots }) => slots.isCounted);
  expect(names.map(({ name }) => name).sort()).toEqual(Object.keys(counting).sort());
});

describe.each(Object.entries(counting))("%s", (_family, at) => {
  it("shows no plan before its nodes have agreed on a count, and names the chain", () => {
    const kit = offered(at);
    expect(ask(kit)).toMatchObject({ code: "RECOVERY_COUNT", detail: "local" });
    expect(ask(kit, "00".repeat(32)).code).toBe("RECOVERY_NONE");
    counts(kit, at.count);
    const { plan } = ask(kit);
    expect(plan).toMatchObject({
      accounts: [{ chainCount: at.count, next: at.count }],
      uncounted: [],
    });
    expect(ask(kit, plan.digest)).toMatchObject({ ok: true, done: true });
    // The same count for as long as would lock a ledger that had begun below it.
    for (let minute = 0; minute < 10; minute += 1) {
      kit.now += minuteMs;
      counts(kit, at.count);
    }
    expect(kit.core.locked).toBeNull();
  });

  it("goes on without a count by an operator's word for that chain alone, and the plan says so", () => {
    const kit = offered(at);
    expect(ask(kit, "", ["elsewhere"])).toMatchObject({
      code: "CHAIN_UNKNOWN",
      detail: "elsewhere",
    });
    const { plan } = ask(kit, "", ["local"]);
    expect(plan).toMatchObject({
      accounts: [{ chainCount: "", next: at.next }],
      uncounted: [at.network],
    });
    // A look without that word asks for the count again; its refusal takes nothing from the yes.
    expect(ask(kit).code).toBe("RECOVERY_COUNT");
    expect(ask(kit, plan.digest)).toMatchObject({ ok: true, done: true });
  });

  it("takes a count that has arrived although its chain was left out", () => {
    const kit = offered(at);
    counts(kit, at.count);
    expect(ask(kit, "", ["local"]).plan).toMatchObject({
      accounts: [{ next: at.count }],
      uncounted: [],
    });
  });
});

it("a chain without a currency in the settings is not waited for, as nobody asks its nodes", () => {
  const { usdc: _usdc, ...currencies } = settings.currencies;
  const { accounts } = keysOf("evm", [evmNetwork, "eip155:1"]).vault;
  const of = (all: SignerSettings["currencies"]): Kit => {
    const kit = new Kit({
      settings: { ...settings, currencies: all },
      keys: keysOf("evm", [evmNetwork, "eip155:1"]),
    }).ready();
    counts(kit, "7");
    const account = accounts.find(({ purpose }) => purpose === "hot")!.id;
    const told = ["eip155:1", evmNetwork].map((network) => ({ network, account, next: "0" }));
    const contents = {
      held: null,
      jobs: kit.gateway.last,
      accounts: told,
      spent: [],
      withdrawals: [],
      ended: [],
      outgoing: [],
    };
    expect(kit.admit(orderFrame(kit, contents)).ok).toBe(true);
    return kit;
  };
  expect(ask(of(settings.currencies))).toMatchObject({ code: "RECOVERY_COUNT", detail: "mainnet" });
  expect(ask(of(currencies)).plan.accounts).toMatchObject([
    { network: "eip155:1", chainCount: "" },
    { network: evmNetwork, chainCount: "7" },
  ]);
});
