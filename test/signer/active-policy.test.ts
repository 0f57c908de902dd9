/**
 * The rules in force: their place in status with the used amounts, and the ledger's record of their
 * changes.
 */
import { describe, expect, it } from "vitest";
import type { SignerSettings } from "../../agent/config/settings.ts";
import { Policy } from "../../agent/signer/policy/policy.ts";
import { readRules } from "../../agent/signer/policy/rules.ts";
import { canonicalLimits, listLoosened } from "../../agent/signer/state/canonical.ts";
import { limitsInForce } from "../../agent/signer/state/in-force.ts";
import {
  begun,
  hotWallet,
  Kit,
  type KitOptions,
  other,
  own,
  settings,
  shop,
  txParams,
} from "../../lab/kit/signer-kit.ts";

const hourMs = 3_600_000;

const bare = { maxPerWithdrawal: "1000", maxPerDay: "1000000", maxFee: "0.01", maxFeePerDay: "10" };

const shownOf = (policy: SignerSettings["policy"]) =>
  limitsInForce(new Policy(readRules({ ...settings, policy }, own)), begun);

describe("limits in force", () => {
  it("stand in the order of config.json, with nothing where there is no such limit", () => {
    const all = {
      ...bare,
      ...{
        maxPerHour: "5",
        holdAbove: "0",
        twoApproversAbove: "3.5",
        manualReplaceAbove: "2",
        allow: [shop, other],
        deny: [hotWallet],
      },
      newDestination: { holdAbove: "1.25", delayMinutes: 90 },
    };
    const none = {
      maxPerHour: "",
      holdAbove: "",
      twoApproversAbove: "",
      manualReplaceAbove: "",
      newDestination: { holdAbove: "", delayMinutes: 0 },
    };
    const network = "eip155:31337";
    const used = { usedInHour: "0", usedInDay: "0", usedFeesInDay: "0" };
    const tip = { maxTip: "50", tipUnit: "gwei" };
    const { maxFee, maxFeePerDay } = bare;
    const sweeps = {
      ...{
        maxFee,
        maxFeePerDay,
        usedFeesInDay: "0",
        maxTopUp: maxFee,
        maxTopUpPerDay: maxFeePerDay,
      },
      ...{ usedTopUpsInDay: "0", usedTopUpFeesInDay: "0" },
    };
    expect(shownOf({ usdt: all, eth: bare })).toEqual([
      {
        currency: "usdt",
        network,
        contract: settings.currencies.usdt?.contract,
        ...all,
        ...tip,
        allow: 2,
        deny: 1,
        ...used,
        sweeps,
      },
      {
        currency: "eth",
        network,
        contract: "",
        ...bare,
        ...none,
        ...tip,
        allow: 0,
        deny: 0,
        ...used,
        sweeps,
      },
    ]);
    expect(
      shownOf({ eth: { ...bare, newDestination: { delayMinutes: 1 } } })[0]?.newDestination,
    ).toEqual({
      holdAbove: "",
      delayMinutes: 1,
    });
    expect(shownOf({})).toEqual([]);
  });

  it("limits of sweeps and top-ups are those of config.json, and null where sweeps are not allowed", () => {
    const own = {
      allowed: true,
      maxFee: "0.002",
      maxFeePerDay: "0.02",
      maxTopUp: "0.003",
      maxTopUpPerDay: "0.03",
    };
    const { allowed, ...amounts } = own;
    expect(allowed).toBe(true);
    expect(shownOf({ eth: { ...bare, sweeps: own } })[0]?.sweeps).toEqual({
      ...amounts,
      ...{ usedFeesInDay: "0", usedTopUpsInDay: "0", usedTopUpFeesInDay: "0" },
    });
    expect(shownOf({ eth: { ...bare, sweeps: { allowed: false } } })[0]?.sweeps).toBeNull();
  });

  it("say the larger of what was approved and what was bound within the hour and the day, and the dearest fees", () => {
    const kit = new Kit().ready();
    const used = () => {
      const { usedInHour, usedInDay, usedFeesInDay } = kit
        .operate("status")
        .status.limits.find(({ currency }) => currency === "eth")!;
      return [usedInHour, usedInDay, usedFeesInDay];
    };
    expect(used()).toEqual(["0", "0", "0"]);
    const { transactionId } = kit.request({
      currency: "eth",
      amount: "0.7",
      expiresAt: begun + 30 * hourMs,
    });
    const declined = kit.request({ currency: "eth", amount: "0.2" }).transactionId;
    expect(used()).toEqual(["0.9", "0.9", "0"]);
    kit.ask("decline", { transactionId: declined, code: "CHAIN_WOULD_REVERT" });
    kit.now += hourMs;
    expect(used()).toEqual(["0", "0.7", "0"]);
    kit.ask("sign", { transactionId, txParams });
    expect(used()).toEqual(["0.7", "0.7", "0.00013"]);
    kit.now += 24 * hourMs - 1;
    expect(used()).toEqual(["0", "0.7", "0.00013"]);
    kit.now += 1;
    expect(used()).toEqual(["0", "0", "0"]);
  });

  it("are those of the run, not of the file that was changed since, and its path and digest stand beside them", () => {
    const kit = new Kit().ready();
    expect(kit.operate("status").status.config).toEqual(settings.config);
    expect(kit.operate("status").status.limits.map(({ currency }) => currency)).toEqual([
      "eth",
      "usdt",
    ]);
  });
});

describe("limits beside those decided by before", () => {
  const linesOf = (policy: SignerSettings["policy"]) =>
    canonicalLimits(readRules({ ...settings, policy }, own));
  const full = {
    ...bare,
    ...{ maxPerHour: "5", holdAbove: "1", twoApproversAbove: "3", allow: [shop], deny: [other] },
    newDestination: { holdAbove: "1.25", delayMinutes: 90 },
  };

  it("are looser by whatever lets more through, and by nothing that lets less", () => {
    const said = (change: object): readonly string[] =>
      listLoosened(
        linesOf({ usdt: full }),
        linesOf({ usdt: { ...full, ...change } as typeof full }),
      );
    expect(said({})).toEqual([]);
    expect(said({ maxPerDay: "1000000.5" })).toEqual(["usdt maxPerDay 1000000.5, was 1000000"]);
    expect(said({ maxFee: "0.02" })).toEqual(["usdt maxFee 0.02, was 0.01"]);
    expect(said({ maxTip: "50.5" })).toEqual(["usdt maxTip 50.5, was 50"]);
    expect(said({ maxTip: "49" })).toEqual([]);
    expect(said({ maxPerHour: undefined })).toEqual(["usdt maxPerHour without limit, was 5"]);
    expect(said({ holdAbove: undefined, twoApproversAbove: "4" })).toEqual([
      "usdt holdAbove without limit, was 1",
      "usdt twoApproversAbove 4, was 3",
    ]);
    expect(said({ newDestination: undefined })).toEqual([
      "usdt newDestinationAbove without limit, was 1.25",
      "usdt newDestination.delayMinutes is shorter",
    ]);
    expect(said({ allow: [] })).toEqual(["usdt allow is another list"]);
    expect(said({ deny: [shop] })).toEqual(["usdt deny is another list"]);
    const tighter = {
      maxPerWithdrawal: "999",
      maxPerHour: "4",
      maxPerDay: "1",
      maxFee: "0.001",
      maxFeePerDay: "1",
      holdAbove: "0",
    };
    expect(said({ ...tighter, newDestination: { holdAbove: "1", delayMinutes: 91 } })).toEqual([]);
    expect(
      listLoosened(
        linesOf({ usdt: bare }),
        linesOf({ usdt: { ...bare, allow: [shop], deny: [other] } }),
      ),
    ).toEqual([]);
    expect(listLoosened(linesOf({ usdt: bare }), linesOf({ usdt: bare, eth: bare }))).toEqual([
      "eth is payable, and was not",
    ]);
    expect(listLoosened(linesOf({ usdt: bare, eth: bare }), linesOf({ usdt: bare }))).toEqual([]);
  });

  it("are shown by status from the start on, stay shown once decided by, and are told to the gateway", () => {
    const wider = { ...settings.policy, eth: { ...settings.policy.eth!, maxPerDay: "20" } };
    const config = { ...settings.config, digest: "c9".repeat(32) };
    const looser = ["eth maxPerDay 20, was 10"];
    const kit = new Kit().ready();
    kit.request();
    kit.receive();
    expect(kit.operate("status").status).toMatchObject({ policyLooser: [] });
    const digest = kit.operate("status").status.policyDigest;
    expect(kit.statements.at(-1)?.policy).toBe(digest);
    kit.settle();
    const again = new Kit({
      settings: { ...settings, policy: wider, config },
      found: kit.disk,
      gatewayKey: kit.gateway.key,
    });
    Object.assign(again.gateway, { stored: kit.gateway.stored, last: kit.gateway.last });
    again.now = kit.now;
    expect(again.operate("status").status.policyLooser).toEqual(looser);
    again.handshake();
    again.gateway.job({ orderId: "more" });
    again.admit(again.gateway.jobs(again.gateway.texts.slice(-1)));
    again.receive();
    expect(
      again
        .records()
        .filter(({ kind }) => kind === "POLICY")
        .at(-1),
    ).toMatchObject({
      limits: canonicalLimits(readRules({ ...settings, policy: wider }, own)),
    });
    expect(again.operate("status").status.policyLooser).toEqual(looser);
    expect(again.statements.at(-1)?.policy).not.toBe(digest);
    expect(again.statements.at(-1)?.policy).toBe(again.operate("status").status.policyDigest);
  });
});

describe("the line policy changed", () => {
  const underOther = (digest: string): SignerSettings => ({
    ...settings,
    config: {
      path: "/etc/autowithdraw/config.json",
      digest: digest.repeat(32),
      readAt: 2,
      readMs: 2,
    },
  });
  const next = (kit: Kit, options: KitOptions): Kit => {
    kit.settle();
    const again = new Kit({ ...options, found: kit.disk, gatewayKey: kit.gateway.key });
    Object.assign(again.gateway, { stored: kit.gateway.stored, last: kit.gateway.last });
    again.now = kit.now;
    return again;
  };
  const rulesIn = (kit: Kit) =>
    kit
      .records()
      .flatMap((record) =>
        record.kind === "POLICY" ? [[record.seq, record.digest.slice(0, 2), record.path]] : [],
      );

  it("comes before the first decision, once, and not again while the same is in force", () => {
    const kit = new Kit();
    expect(kit.operate("status").status.policyChangedAt).toBe(0);
    kit.ready();
    expect(kit.kinds()).toEqual(["PAIRED", "ADOPTED"]);
    kit.now += 5_000;
    kit.request();
    expect(kit.kinds().slice(2)).toEqual(["POLICY", "REQUESTED", "APPROVED"]);
    expect(kit.operate("status").status.policyChangedAt).toBe(kit.now);
    expect(kit.logged).toContain("info  policy changed");
    kit.start();
    kit.handshake();
    kit.request({ mode: "manual" });
    kit.request({ amount: "1000.5" });
    expect(rulesIn(kit)).toHaveLength(1);
  });

  it("comes again with another config.json, and with the first one once more", () => {
    const first = new Kit({ settings: underOther("c1") }).ready();
    first.request();
    const second = next(first, { settings: underOther("c2") });
    second.handshake();
    expect(rulesIn(second)).toHaveLength(1);
    second.gateway.job({ orderId: "another", mode: "manual" });
    expect(second.admit(second.gateway.jobs(second.gateway.texts))).toMatchObject({ ok: true });
    const third = next(second, { settings: underOther("c1") });
    expect(third.handshake()).toMatchObject({ ok: true });
    third.gateway.job({ orderId: "third" });
    expect(third.admit(third.gateway.jobs(third.gateway.texts))).toMatchObject({ ok: true });
    expect(rulesIn(third).map(([, digest, path]) => [digest, path])).toEqual([
      ["c1", "/etc/autowithdraw/config.json"],
      ["c2", "/etc/autowithdraw/config.json"],
      ["c1", "/etc/autowithdraw/config.json"],
    ]);
    for (const [seq] of rulesIn(third))
      expect(third.records()[seq as number]?.kind).toBe("REQUESTED");
  });

  it.each([
    [
      "an intent",
      (kit: Kit, id: string) => kit.ask("sign", { transactionId: id, txParams }),
      "INTENT",
    ],
    [
      "an operator's no",
      (kit: Kit, id: string) => kit.operate("refuse", { transactionId: id }),
      "REFUSED",
    ],
  ])("comes before %s of what another run approved", (_, act, kind) => {
    const kit = new Kit({ settings: underOther("c1") }).ready();
    const { transactionId } = kit.request();
    const again = next(kit, { settings: underOther("c2") });
    again.handshake();
    act(again, transactionId);
    const kinds = again.kinds();
    expect(kinds.slice(kinds.lastIndexOf("POLICY"), kinds.lastIndexOf("POLICY") + 2)).toEqual([
      "POLICY",
      kind,
    ]);
    expect(rulesIn(again)).toHaveLength(2);
  });

  it("is written by no run that was without a handshake, and so never in the place of a record that was forgotten", () => {
    const kit = new Kit({ settings: underOther("c1") }).ready();
    const { transactionId } = kit.request({ mode: "manual" });
    kit.settle();
    const files = new Map(kit.disk.files);
    kit.request();
    kit.acknowledge();
    for (const [name, bytes] of files) kit.disk.files.set(name, bytes);
    const old = next(kit, { settings: underOther("c2") });
    const before = old.kinds().length;
    const digest = old.show(transactionId).approvalDigest;
    const act = (): void => {
      old.operate("refuse", { transactionId });
      old.operate("approve", { transactionId, digest, address: "" });
      old.signer.tick();
    };
    act();
    expect(old.kinds()).toHaveLength(before);
    expect(old.handshake().code).toBe("SIGNER_LOCKED");
    expect(old.core.locked?.code).toBe("LEDGER_BEHIND_GATEWAY");
    act();
    expect(old.kinds().slice(before)).toEqual(["LOCKED"]);
  });

  it("survives a checkpoint", () => {
    const kit = new Kit({ segmentBytesMax: 500 }).ready();
    kit.request();
    kit.signer.tick();
    kit.settle();
    expect(kit.kinds().at(-1)).toBe("CHECKPOINT");
    kit.start();
    kit.handshake();
    kit.request();
    expect(rulesIn(kit)).toHaveLength(1);
    expect(kit.operate("status").status.policyChangedAt).toBe(begun);
  });
});
