/** The form of a line on either socket, before its verb is read. Only types. */

/** A line from client to signer. */
export type Request = { readonly id: number; readonly verb: string } & Readonly<
  Record<string, unknown>
>;
/** A line back. `effect` as in base/fault.ts. */
export type Answer =
  | ({ readonly id: number; readonly ok: true } & Readonly<Record<string, unknown>>)
  | {
      readonly id: number;
      readonly ok: false;
      readonly code: string;
      readonly detail: string;
      readonly effect: "none" | "done" | "unknown";
    };
