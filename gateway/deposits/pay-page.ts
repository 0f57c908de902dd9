/** The parts of a record for its payment page: the page's name, and the way back to the shop. */
import { isAllowedOrigin } from "../config/origin.ts";
import type { Service } from "../service.ts";
import { readMerchant } from "../store/merchants.ts";
import type { Database } from "../store/store.ts";

const payTokenBytes = 16;

/** Names the payment page. Nothing of the order goes into it, so nobody guesses it. */
export const newPayToken = ({ random }: Pick<Service, "random">): string =>
  Buffer.from(random(payTokenBytes)).toString("base64url");

/** True if the payment page may lead there: an origin on the merchant's list, or nowhere. */
export function mayReturnTo(database: Database, merchant: string, returnUrl: string): boolean {
  return (
    returnUrl === "" || isAllowedOrigin(readMerchant(database, merchant)?.origins ?? "", returnUrl)
  );
}
