/** Words of the made-up family's nodes for signed bytes, and their meaning. */
import type { RefusalRow } from "../../../chains/providers/broadcasts.ts";

export const refusals: readonly RefusalRow[] = [
  { form: /^have it$/, meaning: "known" },
  { form: /^page is written$/, meaning: "slot-used" },
  { form: /^offer (?<least>[0-9]+)$/, meaning: "price" },
];
