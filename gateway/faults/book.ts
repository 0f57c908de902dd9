/**
 * The faults of one chain's items. A question's answer is settled here: a fault is noted with its
 * time and the time of the next try, an answer clears it. When many items below one parent fail
 * alike in a pass, the parent has one fault and the items have none. Pure: the clock is an input.
 * Source: docs/architecture.md section 8.
 */
import type { AgentError } from "../../base/fault.ts";
import type { Result } from "../../base/result.ts";
import { isItemFault } from "./blame.ts";
import {
  type FaultDomain,
  faultDomains,
  isRestOver,
  restMsAfterTries,
  waitedRestMaxMs,
} from "./domains.ts";
import { type Fault, type FaultKey, keyText, parentFaultKeyOf } from "./fault.ts";

/*
 * Faults beyond the number that is kept one by one: one sum for each domain, merchant and code.
 * Pure.
 */

/** A sum that nothing was added to in this time is over. */
const sumMs = 30 * 60_000;
/** Items whose names a sum keeps, so that it counts each of them once. */
const namedMax = 4_096;

interface Sum {
  readonly shown: Omit<Fault, "count">;
  readonly items: Set<string>;
  readonly seenMs: number;
}

class FaultSums {
  readonly #sums = new Map<string, Sum>();

  add(
    {
      domain,
      network,
      merchant,
      id,
      ...worded
    }: FaultKey & Pick<Fault, "code" | "words" | "plain">,
    nowMs: number,
  ): void {
    const text = `${domain} ${network} ${merchant} ${worded.code}`;
    const before = this.#sums.get(text);
    const items = before?.items ?? new Set<string>();
    if (items.size < namedMax) items.add(keyText({ domain, network, id }));
    const times = { sinceMs: before?.shown.sinceMs ?? nowMs, tries: 1, retryAtMs: nowMs };
    this.#sums.set(text, {
      shown: { domain, network, merchant, id: "", ...worded, ...times },
      items,
      seenMs: nowMs,
    });
  }

  remove(key: FaultKey): void {
    for (const { items } of this.#sums.values()) items.delete(keyText(key));
  }

  forget(nowMs: number): void {
    for (const [text, { items, seenMs }] of this.#sums)
      if (items.size === 0 || nowMs - seenMs > sumMs) this.#sums.delete(text);
  }

  list(): readonly Fault[] {
    return [...this.#sums.values()].map(({ shown, items }) => ({ ...shown, count: items.size }));
  }
}

/** Faults that are kept one by one; beyond them, sums of a domain, a merchant and a code. */
export const keptMax = 4_096;
/** Items that fail alike below one parent before the fault is the parent's. */
const risenMin = 3;
/** Passes in which an item alone fails by a code of the chain before the fault is the item's. */
const suspectPasses = 3;
/** An item that nobody asks for any more is forgotten. */
const forgottenMs = 2 * 86_400_000;
const wordsMax = 300;

interface Failure {
  readonly key: FaultKey;
  readonly fault: AgentError;
  readonly before: Fault | undefined;
  readonly isWaited: boolean;
}

/** The items of one parent in one pass. */
interface Group {
  readonly parent: FaultKey;
  readonly asked: Set<string>;
  readonly failures: Map<string, Failure>;
}

export class FaultBook {
  readonly #clock: () => number;
  readonly #faults = new Map<string, Fault>();
  readonly #sums = new FaultSums();
  readonly #suspects = new Map<string, number>();
  #groups = new Map<string, Group>();

  constructor(clock: () => number) {
    this.#clock = clock;
  }

  /** Begins to count the items that are asked for. */
  beginPass(): void {
    this.#groups = new Map();
  }

  /** False while the item, or its currency, rests; then it takes no share of the pass. */
  isDue(key: FaultKey): boolean {
    const { retryAtMs = 0 } = this.standing(key) ?? {};
    if (!isRestOver(retryAtMs, faultDomains[key.domain].restMaxMs, this.#clock())) return false;
    // A currency is asked for by its own control question, and its items wait for the answer.
    const parent = parentFaultKeyOf(key);
    return parent?.domain !== "currency" || this.standing(parent) === null;
  }

  /**
   * Notes the fault, or clears it. `isWaited`: a person waits, so the rest is a minute at most.
   * @returns the value; null for a fault
   */
  settle<T>(key: FaultKey, answer: Result<T>, isWaited = false): T | null {
    const group = this.#groupOf(key);
    const text = keyText(key);
    group?.asked.add(text);
    if (answer.ok) {
      this.#clear(key);
      group?.failures.delete(text);
      return answer.value;
    }
    const { fault } = answer;
    const known = group?.failures.get(text);
    const before = known === undefined ? this.#faults.get(text) : known.before;
    group?.failures.set(text, { key, fault, before, isWaited });
    if (group === null || isItemFault(fault)) this.#note(key, fault, isWaited);
    return null;
  }

  /**
   * Parents of items that failed in this pass, which a control question can tell from their items.
   */
  doubts(): readonly FaultKey[] {
    return [...this.#groups.values()]
      .filter(({ failures }) => failures.size > 0)
      .map(({ parent }) => parent);
  }

  /** Ends the pass: faults rise. `controls`: answers to the control questions, by `keyText`. */
  endPass(controls: ReadonlyMap<string, Result<unknown>> = new Map()): void {
    const isHead = ({ parent }: Group): boolean => parent.domain === "head";
    for (const [text, group] of [...this.#groups])
      if (!isHead(group)) this.#judge(group, controls.get(text));
    // Parents that have risen are items here.
    for (const [text, group] of [...this.#groups])
      if (isHead(group)) this.#judge(group, controls.get(text));
    this.#groups = new Map();
    const nowMs = this.#clock();
    for (const [text, { retryAtMs }] of this.#faults)
      if (nowMs - retryAtMs > forgottenMs) this.#faults.delete(text);
    this.#sums.forget(nowMs);
    if (this.#suspects.size > keptMax) this.#suspects.clear();
  }

  standing(key: FaultKey): Fault | null {
    return this.#faults.get(keyText(key)) ?? null;
  }

  /** The fault of an item, or of a thing above it. */
  standingOver(key: FaultKey): Fault | null {
    const parent = parentFaultKeyOf(key);
    return this.standing(key) ?? (parent === null ? null : this.standingOver(parent));
  }

  /** Faults with these fields, oldest first, with the sums. */
  list(of: Partial<FaultKey> = {}): readonly Fault[] {
    const fields = Object.entries(of) as readonly (readonly [keyof FaultKey, string])[];
    return [...this.#faults.values(), ...this.#sums.list()]
      .filter((fault) => fields.every(([field, value]) => fault[field] === value))
      .sort((a, b) => a.sinceMs - b.sinceMs || (keyText(a) < keyText(b) ? -1 : 1));
  }

  /**
   * Sets what stands in a domain whose faults are rows of their own; they are no part of a pass.
   */
  keepStanding(domain: FaultDomain, all: readonly Fault[]): void {
    const names = new Set(all.map(keyText));
    for (const [text, one] of this.#faults)
      if (one.domain === domain && !names.has(text)) this.#faults.delete(text);
    for (const one of all)
      if (this.#faults.has(keyText(one)) || this.#faults.size < keptMax)
        this.#faults.set(keyText(one), one);
  }

  /** Forgets the items of a domain that are gone. */
  keepOnly(domain: FaultDomain, isThere: (id: string) => boolean): void {
    for (const [text, one] of this.#faults)
      if (one.domain === domain && !isThere(one.id)) this.#faults.delete(text);
  }

  /** Lets the item be asked for in the next pass. False if it has no fault. */
  retry(key: Omit<FaultKey, "merchant">): boolean {
    const fault = this.#faults.get(keyText(key));
    if (fault === undefined) return false;
    this.#faults.set(keyText(key), { ...fault, retryAtMs: this.#clock() });
    return true;
  }

  /** Takes faults of an earlier run: their age goes on, and they are asked for at once. */
  restore(kept: readonly Fault[]): void {
    const nowMs = this.#clock();
    for (const fault of kept.slice(0, keptMax))
      this.#faults.set(keyText(fault), {
        ...fault,
        sinceMs: begunBy(fault.sinceMs, nowMs),
        retryAtMs: nowMs,
      });
  }

  #note(key: FaultKey, fault: AgentError, isWaited: boolean): void {
    const text = keyText(key);
    const before = this.#faults.get(text);
    const nowMs = this.#clock();
    const worded = wordsOf(fault);
    if (before === undefined && this.#faults.size >= keptMax) {
      this.#sums.add({ ...key, ...worded }, nowMs);
      return;
    }
    const tries = (before?.tries ?? 0) + 1;
    const restMaxMs = Math.min(
      faultDomains[key.domain].restMaxMs,
      isWaited ? waitedRestMaxMs : Number.POSITIVE_INFINITY,
    );
    const restMs = restMsAfterTries(tries, restMaxMs);
    const sinceMs = begunBy(before?.sinceMs ?? nowMs, nowMs);
    const times = { sinceMs, retryAtMs: nowMs + restMs };
    this.#faults.set(text, { ...key, ...worded, ...times, tries, count: 1 });
  }

  #clear(key: FaultKey): void {
    this.#faults.delete(keyText(key));
    this.#suspects.delete(keyText(key));
    this.#sums.remove(key);
  }

  #groupOf(key: FaultKey): Group | null {
    const parent = parentFaultKeyOf(key);
    if (parent === null) return null;
    const text = keyText(parent);
    const group = this.#groups.get(text) ?? { parent, asked: new Set(), failures: new Map() };
    this.#groups.set(text, group);
    return group;
  }

  /** Decides if the items have their faults, or the parent has one. */
  #judge({ parent, asked, failures }: Group, control: Result<unknown> | undefined): void {
    const own = [...failures.values()].filter(({ fault }) => isItemFault(fault));
    const alike = mostAlike(own);
    const [first] = alike;
    // One merchant's things may be all that a pass asked for: an answer about nobody's decides
    // then.
    const isMany =
      alike.length >= risenMin && 2 * alike.length >= asked.size && control?.ok !== true;
    const isRefused = control?.ok === false && control.fault.code === first?.fault.code;
    const above = this.#groupOf(parent);
    above?.asked.add(keyText(parent));
    if (first !== undefined && (isMany || isRefused)) {
      this.#giveBack(own);
      const before = this.#faults.get(keyText(parent));
      const isWaited = alike.some((one) => one.isWaited);
      this.#note(parent, first.fault, isWaited);
      above?.failures.set(keyText(parent), { key: parent, fault: first.fault, before, isWaited });
      return;
    }
    if (asked.size > failures.size || control?.ok === true) this.#clear(parent);
    for (const one of failures.values())
      if (!isItemFault(one.fault)) this.#suspect(one, control?.ok === true);
  }

  /** The items have what they had before the pass. */
  #giveBack(failures: readonly Failure[]): void {
    for (const { key, before } of failures) {
      if (before === undefined) this.#faults.delete(keyText(key));
      else this.#faults.set(keyText(key), before);
    }
  }

  /** An item that fails by a code of the chain has the fault if the chain answers others. */
  #suspect({ key, fault, isWaited }: Failure, isAnswered: boolean): void {
    const text = keyText(key);
    const passes = isAnswered ? (this.#suspects.get(text) ?? 0) + 1 : 0;
    this.#suspects.set(text, passes);
    if (passes >= suspectPasses) this.#note(key, fault, isWaited);
  }
}

/**
 * The beginning of a fault, now at the latest. One that was noted while this machine's clock was
 * ahead would be young until the clock has come there, and cost nothing and be told to nobody.
 */
function begunBy(sinceMs: number, nowMs: number): number {
  return Math.min(sinceMs, nowMs);
}

/** The largest number of failures with one code. */
function mostAlike(failures: readonly Failure[]): readonly Failure[] {
  const byCode = new Map<string, Failure[]>();
  for (const one of failures)
    byCode.set(one.fault.code, [...(byCode.get(one.fault.code) ?? []), one]);
  return [...byCode.values()].sort((a, b) => b.length - a.length)[0] ?? [];
}

function wordsOf({ code, message, context }: AgentError): Pick<Fault, "code" | "words" | "plain"> {
  const node = typeof context.node === "string" ? `${context.node}: ` : "";
  return { code, words: `${node}${message}`.slice(0, wordsMax), plain: code };
}
