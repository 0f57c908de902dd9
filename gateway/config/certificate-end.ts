/** The end of a certificate, as `check`, `/ready`, log and alerts tell it. Pure. */
import { formatTimestampUtc } from "../../base/timestamp.ts";

/** Somebody is told from this time before the end on; most renewals come a month before it. */
const certificateWarningMs = 14 * 86_400_000;

export interface CertificateState {
  readonly left: "enough" | "little" | "none";
  readonly words: string; // "" while enough time is left
}

/** @param endsAtMs null without a certificate, which never ends */
export function certificateState(endsAtMs: number | null, nowMs: number): CertificateState {
  if (endsAtMs === null || endsAtMs - nowMs >= certificateWarningMs)
    return { left: "enough", words: "" };
  if (endsAtMs <= nowMs) {
    const words = `the certificate ended at ${formatTimestampUtc(endsAtMs)}: shops and agents refuse it; renew it, then reload`;
    return { left: "none", words };
  }
  return {
    left: "little",
    words: `the certificate ends at ${formatTimestampUtc(endsAtMs)}: renew it, then reload`,
  };
}
