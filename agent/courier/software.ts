/** What this courier calls itself towards the gateway. A test holds it to package.json. */

/** @public */
export const software = "autowithdraw/0.1.0";
