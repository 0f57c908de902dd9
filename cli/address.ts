/**
 * `address`: prints the addresses that fund this agent, from the file that pairing wrote; needs no
 * running daemon. For a user who may not read this file, the command asks the signer, which knows
 * the accounts.
 */

import type { StateFolder } from "../agent/files/state-folder.ts";
import { exitCodes } from "../agent/launcher/exit-status.ts";
import { unpairedFault } from "../agent/launcher/paired.ts";
import { AgentError } from "../base/fault.ts";
import { jsonText } from "../base/visible.ts";
import { askOperator } from "./operator.ts";
import { type Progress, readProgress } from "./pair/progress.ts";
import { accountsFor } from "./pair/transcript-fields.ts";
import { type Terminal, tableLines } from "./terminal.ts";

interface FundedAddress {
  readonly currency: string;
  readonly network: string; // CAIP-2
  readonly contract: string; // "" for the native coin
  readonly address: string;
}

/**
 * @throws AgentError STATE_NOT_PAIRED, COMMAND_CURRENCY; COMMAND_RIGHT when this user may neither
 * read the folder nor ask the signer
 */
export async function showAddress(
  state: StateFolder,
  currency: string | undefined,
  isJson: boolean,
  terminal: Terminal,
): Promise<number> {
  const progress = readable(state);
  const wanted =
    progress === "closed"
      ? await fromSigner(state, currency)
      : fromPairing(state, progress, currency);
  const [only] = wanted;
  if (isJson)
    terminal.out(
      `${jsonText(currency === undefined ? { ok: true, addresses: wanted } : { ok: true, ...only })}\n`,
    );
  else if (currency !== undefined) terminal.out(`${only?.address}\n`);
  else {
    const rows = wanted.map((one) => [one.currency, one.network, one.address]);
    terminal.out(`${tableLines(["currency", "network", "address"], rows)}\n`);
  }
  return exitCodes.fine;
}

/** "closed" if the file is there, or may be, but this user may not read it. */
function readable(state: StateFolder): Progress | null | "closed" {
  try {
    return readProgress(state);
  } catch (error) {
    if (error instanceof AgentError && error.code === "COMMAND_RIGHT") return "closed";
    throw error;
  }
}

function fromPairing(
  state: StateFolder,
  progress: Progress | null,
  currency: string | undefined,
): readonly FundedAddress[] {
  if (progress === null) throw unpairedFault(state);
  const hotWallets = accountsFor(progress.wallet.accounts, "hot", progress.networks);
  const known = progress.currencies.map(({ id, network, contract }) => {
    const address = hotWallets.find(({ networks }) => networks.includes(network))?.id ?? "";
    return { currency: id, network, contract, address };
  });
  return chosen(
    known,
    currency,
    "this agent was not paired for",
    "no currency had a policy when it was paired",
  );
}

async function fromSigner(
  state: StateFolder,
  currency: string | undefined,
): Promise<readonly FundedAddress[]> {
  const { accounts, limits } = (await askOperator(state, "status", {})).status;
  const hotWallets = accounts.filter(({ deposit }) => deposit !== true);
  const known = limits.map(({ currency: id, network, contract }) => {
    const address = hotWallets.find((one) => one.network === network)?.address ?? "";
    return { currency: id, network, contract, address };
  });
  return chosen(known, currency, "this agent pays nothing in", "no currency has a policy");
}

/** All of them, or the one that is asked for. @throws AgentError COMMAND_CURRENCY */
function chosen(
  known: readonly FundedAddress[],
  currency: string | undefined,
  unknown: string,
  none: string,
): readonly FundedAddress[] {
  const wanted = currency === undefined ? known : known.filter((one) => one.currency === currency);
  if (wanted.length > 0) return wanted;
  const names = known.map((one) => one.currency).join(", ");
  const hint = known.length === 0 ? none : `its currencies: ${names}`;
  throw new AgentError("COMMAND_CURRENCY", "none", `${unknown} ${quoted(currency)}`, { hint });
}

function quoted(currency: string | undefined): string {
  return JSON.stringify(currency?.slice(0, 64) ?? "any");
}
