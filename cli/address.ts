/** `address`: where this agent is funded, from what pairing wrote down; needs no running daemon. */
import { exitCodes } from "../agent/launcher/verdict.ts";
import type { StateFolder } from "../agent/state-folder.ts";
import { AgentError } from "../protocol/fault.ts";
import { readProgress } from "./pair/progress.ts";
import { type Terminal, table } from "./terminal.ts";

/**
 * @throws AgentError STATE_NOT_PAIRED, COMMAND_CURRENCY
 * @public
 */
export function showAddress(state: StateFolder, currency: string | undefined, isJson: boolean, terminal: Terminal): number {
  const progress = readProgress(state);
  if (progress === null) throw new AgentError("STATE_NOT_PAIRED", "none", `${state.root} holds no paired agent`);
  const { address } = progress.wallet;
  const known = progress.currencies.map(({ id, network, contract }) => ({ currency: id, network, contract, address }));
  const wanted = currency === undefined ? known : known.filter((one) => one.currency === currency);
  if (wanted.length === 0) {
    throw new AgentError(
      "COMMAND_CURRENCY",
      "none",
      `this agent was not paired for ${JSON.stringify(currency?.slice(0, 64) ?? "any")}`,
      {
        hint:
          known.length === 0
            ? "no currency had a policy when it was paired"
            : `paired for: ${known.map((one) => one.currency).join(", ")}`,
      },
    );
  }
  const [only] = wanted;
  if (isJson)
    terminal.out(`${JSON.stringify(currency === undefined ? { ok: true, addresses: wanted } : { ok: true, ...only })}\n`);
  else if (currency !== undefined) terminal.out(`${address}\n`);
  else
    terminal.out(
      `${table(
        ["currency", "network", "address"],
        wanted.map((one) => [one.currency, one.network, one.address]),
        terminal.columns,
      )}\n`,
    );
  return exitCodes.fine;
}
