/**
 * Reads bytes back before they are sent, as the courier does with ethers, by the simulated chain's
 * own reader.
 */

import type { CourierSettings } from "../../agent/config/settings.ts";
import type { ReadBack } from "../../agent/courier/nodes/read-back.ts";
import { isCancel, readRaw } from "./raw.ts";

export function readBack({ chains, currencies }: Pick<CourierSettings, "chains" | "currencies">): ReadBack {
  return (withdrawal, version) => {
    const read = readRaw(version.raw ?? "");
    const { payment } = read ?? { payment: null };
    const isCoin = withdrawal.mode === "topup" || !("contract" in (currencies[withdrawal.currency] ?? {}));
    const contract = isCoin ? "" : (currencies[withdrawal.currency]?.contract ?? "").toLowerCase();
    const isSame =
      read !== null &&
      payment !== null &&
      read.hash === version.txHash &&
      read.chainId === chains[withdrawal.chain]?.chainId &&
      `${read.nonce}` === withdrawal.slot &&
      (version.isCancel === true
        ? isCancel(read)
        : payment.contract === contract &&
          payment.receiver === withdrawal.address.toLowerCase() &&
          `${payment.units}` === withdrawal.amountUnits);
    return Promise.resolve(isSame ? "" : "the bytes say something else");
  };
}
