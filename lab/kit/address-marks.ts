/** The file of deposit addresses beside a gateway's database, in memory. */
import {
  type AddressMark,
  type IssuedAddressMarks,
  makeAddressMarks,
} from "../../gateway/store/address-marks.ts";

/** Each line is durable at once, and `kept` has what a later start reads. */
export function memoryMarks(
  known: ReadonlyMap<string, AddressMark> = new Map(),
): IssuedAddressMarks & {
  readonly kept: ReadonlyMap<string, AddressMark>;
} {
  const kept = new Map(known);
  const append = (line: string): void => {
    const [account = "", next = "", ceiling = ""] = line.trim().split(" ");
    kept.set(account, { next: Number(next), ceiling: Number(ceiling) });
  };
  return {
    ...makeAddressMarks(known, {
      append,
      syncNow: () => {},
      sync: (done) => done(null),
      close: () => {},
    }),
    kept,
  };
}
