/** A made-up family: one network, whose accounts are words and whose coins have no decimals. */

export const namespace = "madeup";
export const mainNetwork = `${namespace}:1`;
export const nativeDecimal = 0;

const addressForm = /^[a-z]{3,40}$/;

export function isAddress(text: string): boolean {
  return addressForm.test(text);
}
