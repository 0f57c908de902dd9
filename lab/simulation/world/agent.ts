/**
 * One agent's machine: a drive with a ledger, the signer's process and the courier's, both started
 * again when they end. The code is the real one, wired as the two `main.ts` do; what is simulated
 * is drive, clock, sockets and its end.
 */

import { createCourier } from "../../../agent/courier/courier.ts";
import { linkAddress } from "../../../agent/courier/link/address.ts";
import { createMetrics } from "../../../agent/courier/metrics.ts";
import { createChainAccess } from "../../../agent/courier/nodes/chain.ts";
import { ledgerDisk } from "../../../agent/ledger/disk.ts";
import { createLedger, openLedger } from "../../../agent/ledger/ledger.ts";
import type { FirstRecord } from "../../../agent/ledger/records.ts";
import { sealContextOfCheckpoint } from "../../../agent/ledger/seal.ts";
import { SignerRun } from "../../../agent/signer/handlers/context.ts";
import { readRules } from "../../../agent/signer/policy/rules.ts";
import { Signer } from "../../../agent/signer/runtime/signer.ts";
import { createCourierRequestHandler } from "../../../agent/signer/sockets/courier.ts";
import { createOperatorRequestHandler } from "../../../agent/signer/sockets/operator.ts";
import { Core, type CoreSnapshot } from "../../../agent/signer/state/core.ts";
import { ledgerTime } from "../../../agent/signer/state/ledger-time.ts";
import type { Vault } from "../../../agent/signer/vault/vault.ts";
import type { Answer, PushMessage, Request } from "../../../agent/socket/verbs.ts";
import { AgentError } from "../../../base/fault.ts";
import { openSender } from "../../../chains/connect.ts";
import { privateKeyFromSeed, publicKeyFromHex, publicKeyHex } from "../../../protocol/envelope.ts";
import { setImmediate, setTimeout } from "../fakes/timers.ts";
import { Drive } from "../kernel/drive.ts";
import { kernel, note } from "../kernel/kernel.ts";
import type { Owner } from "../kernel/scheduler.ts";
import { meetForgery } from "./forger.ts";
import { type ListeningSigner, LocalSocket, type RequestChange } from "./local-socket.ts";
import { logOf } from "./log.ts";
import type { Plan } from "./plan.ts";
import { readBack } from "./read-back.ts";
import {
  accounts,
  begun,
  chainName,
  contract,
  courierSettings,
  currencies,
  gatewayKey,
  gatewayUrl,
  linkDeadMs,
  merchant,
  seal,
  signerSettings,
  stage,
  vaultOf,
  wallet,
} from "./setting.ts";

const linkTimes = {
  baseMs: 100,
  capMs: 3_000,
  handshakeMs: 3_000,
  heartbeatMs: 6_000,
  settledMs: 3_000,
  closeMs: 500,
};
const lateMs = 15;
const tickMs = 2_000;
const roomBytesMin = 65_536;
/** If payments wait for minutes, nobody looks every two seconds. */
const pollMs = {
  evm: { min: 2_500, max: 4_000 },
  xrp: { min: 2_500, max: 4_000 },
  bitcoinregtest: { min: 2_500, max: 4_000 },
  litecoinregtest: { min: 2_500, max: 4_000 },
  tron: { min: 5_000, max: 8_000 },
} as const;
const statusMs = {
  evm: 2_000,
  xrp: 2_000,
  bitcoinregtest: 2_000,
  litecoinregtest: 2_000,
  tron: 6_000,
} as const;

/** The world as an agent's machine sees it. */
interface Environment {
  readonly plan: Plan;
  /** Everything that leaves the signer. */
  readonly seen: (machine: Machine, message: Answer | PushMessage) => void;
  /** The courier's requests to the signer, as they arrive. */
  readonly touched: RequestChange;
  /** The signer's requests to the world if it cannot go on. */
  readonly thrown: (owner: Owner, error: unknown) => void;
}

interface RunningSigner extends ListeningSigner {
  readonly signer: Signer;
  readonly operatorVerbs: (request: Request, answer: (answer: Answer) => void) => void;
}

export class Machine {
  readonly id: string;
  readonly name: string;
  readonly drive = new Drive();
  readonly vault: Vault;
  readonly linkSeed: Uint8Array;
  readonly #around: Environment;
  /** How far its clock is from the true time. */
  skewMs = 0;
  signer: RunningSigner | null = null;
  courier: Owner | null = null;
  /** Whether its processes are to run. */
  isOn = true;
  starts = 0;

  constructor(name: string, id: string, keySeed: number, around: Environment) {
    this.name = name;
    this.id = id;
    this.vault = vaultOf(keySeed);
    this.linkSeed = new Uint8Array(32).fill(keySeed + 100);
    this.#around = around;
    kernel.drives.set(`/${name}/ledger`, this.drive);
  }

  get linkKeyHex(): string {
    return publicKeyHex(privateKeyFromSeed(this.linkSeed));
  }

  readonly clock = (): number => begun + Math.floor(kernel.scheduler.nowMs) + this.skewMs;

  /** The content of a checkpoint's file. */
  stateIn({ file, seq }: FirstRecord): CoreSnapshot {
    const bytes =
      this.drive.entries.get(file)?.read(0, Number.MAX_SAFE_INTEGER) ?? new Uint8Array(0);
    const text = seal.open(sealContextOfCheckpoint(Number(/\d{8}/.exec(file)?.[0]), seq), bytes);
    return JSON.parse(Buffer.from(text ?? "").toString("utf8")) as CoreSnapshot;
  }

  /** Pairing, as far as the ledger goes. */
  pair(ledgerEpoch: number): void {
    const disk = ledgerDisk(`/${this.name}/ledger`);
    createLedger(
      disk,
      {
        kind: "PAIRED",
        agent: this.id,
        merchant,
        wallet,
        ledgerEpoch,
        gatewayKey: gatewayKey.publicKey,
      },
      this.clock,
      seal,
    );
  }

  startSigner(): void {
    const owner: Owner = { name: `${this.name} signer`, isAlive: true, hasPromises: false };
    kernel.scheduler.after(0, owner, () => {
      try {
        this.#runSigner(owner);
      } catch (error) {
        if (!owner.isAlive) return;
        if (!(error instanceof AgentError) || error.code !== "LEDGER_POISONED")
          this.#around.thrown(owner, error);
        this.signerEnds(owner);
      }
    });
    this.starting = owner;
  }

  /** The process that is on its way to be the signer. */
  starting: Owner | null = null;

  #runSigner(owner: Owner): void {
    const { plan } = this.#around;
    const { scheduler, random } = kernel;
    const monotonic = (): number => scheduler.nowMs;
    const settings = signerSettings(plan);
    const run = new SignerRun(random.bytes("run nonce", 32).toString("hex"), this.clock());
    const found = {
      disk: ledgerDisk(`/${this.name}/ledger`),
      seal,
      clock: () => ledgerTime(run, this.clock(), monotonic()),
      ...{ segmentBytesMax: plan.segmentBytesMax, roomBytesMin },
    };
    if (plan.isForged) meetForgery(this.drive, () => openLedger(found));
    const { ledger, checkpoint, records } = openLedger(found);
    if (!owner.isAlive) return;
    const core = new Core(
      readRules(settings, accounts),
      ledger.past,
      (checkpoint as CoreSnapshot | null) ?? undefined,
    );
    for (const record of records) core.apply(record);
    const sockets = new Set<LocalSocket>();
    const signer = new Signer({
      ...{
        core,
        ledger,
        vault: this.vault,
        run,
        clock: this.clock,
        monotonic,
        chains: settings.chains,
      },
      config: settings.config,
      push: (message) => {
        if (!owner.isAlive) return;
        for (const socket of sockets) socket.push(message);
      },
      log: (event, message, context) =>
        note(
          `says ${event}`,
          `${context?.code ?? ""}`,
          () => `${message} ${JSON.stringify(context ?? {})}`,
        ),
      soon: (act) => void scheduler.after(0, owner, act),
      later: (act) => void setTimeout(act, lateMs),
      next: (act) => void setImmediate(act),
      onPoisoned: () => this.signerEnds(owner),
    });
    const source = {
      ...{ config: settings.config, giveWay: () => {} },
      ...{ residentBytes: () => 0, syncs: () => ({ counts: [], sumUs: 0 }) },
    };
    const environment = {
      isolation: "L0",
      encKeyFrom: "config",
      config: settings.config,
      stuckAfterMinutes: settings.stuckAfterMinutes,
      isCourierConnected: () => true,
    } as const;
    this.signer = {
      ...{ owner, signer, sockets, courierVerbs: createCourierRequestHandler(signer, source) },
      operatorVerbs: createOperatorRequestHandler(signer, {
        ...environment,
        later: (act) => void scheduler.after(0, owner, act),
      }),
    };
    this.starts += 1;
    note(
      "recovered",
      core.heads.head.seq,
      () => `at ${core.heads.head.seq}, locked ${core.locked?.code ?? "no"}`,
    );
    scheduler.every(tickMs, owner, () => signer.tick());
  }

  /** The process is gone; its parent starts another one. */
  signerEnds(owner: Owner): void {
    if (!owner.isAlive) return;
    note("signer ends");
    owner.isAlive = false;
    const ended = this.signer?.owner === owner ? this.signer : null;
    if (ended !== null) {
      this.signer = null;
      for (const socket of [...ended.sockets]) socket.lost();
    }
    if (this.isOn)
      kernel.scheduler.after(
        kernel.random.between("signer back", 50, 1_500),
        kernel.scheduler.world,
        () => this.#again(),
      );
  }

  #again(): void {
    if (this.isOn && this.starting?.isAlive !== true) this.startSigner();
  }

  /** None of its own where the liars are the courier. */
  startCourier(): void {
    if (this.#around.plan.liars === "gateway and courier") return;
    const owner: Owner = { name: `${this.name} courier`, isAlive: true, hasPromises: true };
    this.courier = owner;
    kernel.scheduler.after(0, owner, () => this.#runCourier(owner));
  }

  #runCourier(owner: Owner): void {
    const { plan, thrown, seen, touched } = this.#around;
    const monotonic = (): number => kernel.scheduler.nowMs;
    const settings = courierSettings(plan);
    const chain = settings.chains[chainName];
    if (chain === undefined) throw new Error("the configuration names the chain");
    const nodes = openSender({
      chain,
      tokens: contract === "" ? [] : [{ contract, decimal: 6 }],
      clock: monotonic,
      log: () => {},
    });
    createCourier({
      ...{
        agent: this.id,
        address: linkAddress(gatewayUrl),
        gatewayKey: publicKeyFromHex(gatewayKey.publicKey),
      },
      linkKey: privateKeyFromSeed(this.linkSeed),
      chainAccess: new Map([[chainName, createChainAccess(nodes, monotonic)]]),
      ...{
        currencies,
        readBack: readBack(settings),
        software: "simulated",
        ...{ configDigest: "c0".repeat(32), configReadMs: 1, giveWay: () => {} },
        clock: this.clock,
        monotonic,
        linkTimes: { ...linkTimes, deadMs: linkDeadMs[stage.family] },
        statusMs: statusMs[stage.family],
      },
      random: () => kernel.random.below("courier random", 1_000) / 1_000,
      pollMs: pollMs[stage.family],
      ...{ log: logOf(owner), metrics: createMetrics(monotonic) },
      connectSigner: () =>
        new LocalSocket(owner, this.signer, (message) => seen(this, message), touched),
      onReady: () => note("courier ready"),
      onFatal: (fault) => thrown(owner, fault),
      onBug: (error) => {
        if (owner.isAlive) thrown(owner, error);
      },
    });
  }

  courierEnds(owner: Owner): void {
    if (!owner.isAlive) return;
    note("courier ends");
    owner.isAlive = false;
    if (this.courier === owner) this.courier = null;
    kernel.scheduler.after(
      kernel.random.between("courier back", 50, 1_500),
      kernel.scheduler.world,
      () => {
        if (this.isOn && this.courier === null) this.startCourier();
      },
    );
  }

  /** Nobody starts it again. */
  endForGood(): void {
    if (!this.isOn) return;
    this.isOn = false;
    this.powerFails();
  }

  /**
   * Everything on the machine stops at once, and what was not synced is at the mercy of the drive.
   */
  powerFails(): void {
    note("power fails");
    for (const owner of [this.signer?.owner, this.starting, this.courier])
      if (owner !== null && owner !== undefined) owner.isAlive = false;
    const sockets = [...(this.signer?.sockets ?? [])];
    this.signer = null;
    this.courier = null;
    for (const socket of sockets) socket.close();
    this.drive.loseUnsynced(kernel.random);
    if (this.isOn) this.powerReturns(kernel.random.between("power back", 200, 3_000));
  }

  powerReturns(afterMs: number): void {
    kernel.scheduler.after(afterMs, kernel.scheduler.world, () => {
      if (!this.isOn) return;
      this.#again();
      if (this.courier === null) this.startCourier();
    });
  }
}
